"""Reads scores from runs, and formats and compares them."""

import json
import math
import statistics

from recipe import read


def events(run, *kinds):
    """The events of these kinds in the log of a training."""
    found = map(json.loads, (run / "train.jsonl").read_text().splitlines())
    return [event for event in found if event["event"] in kinds]


def validations(run):
    """For each validation of a run: minutes of training, tokens seen, and its metrics."""
    seconds = tokens = 0
    for event in events(run, "train", "valid"):
        if event["event"] == "train":
            seconds, tokens = event["seconds"], event["tokens"]
        else:
            yield seconds / 60, tokens, event


def deviation(values):
    """Mean and standard deviation as text; of a single value, that value."""
    values = list(values)
    mean = f"{statistics.mean(values):.1f}"
    return f"{mean} ± {statistics.stdev(values):.1f}" if len(values) > 1 else mean


def over_seeds(run, metric):
    """A metric in RUN/dev.json, by seed."""
    return [scores[metric] for scores in read(run / "dev.json")]


def difference(values, others):
    """Of two means, and "better" or "worse" if it exceeds the sum of both standard deviations, which a single value lacks."""
    gain = statistics.mean(values) - statistics.mean(others)
    noise = sum(statistics.stdev(side) if len(side) > 1 else math.inf for side in (values, others))
    return gain, "" if abs(gain) <= noise else "better" if gain > 0 else "worse"
