"""Reads scores from runs, and formats and compares them."""

import json
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


def mean_and_deviation(values, factor=1):
    """Mean and standard deviation, times the factor."""
    values = [factor * value for value in values]
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0


def deviation(values, factor=1):
    """The same as text."""
    return "{:.1f} ± {:.1f}".format(*mean_and_deviation(values, factor))


def over_seeds(run, metric):
    """A metric in RUN/dev.json, by seed."""
    return [scores[metric] for scores in read(run / "dev.json")]


def difference(values, others, factor=1):
    """Of two means; and "better" or "worse" if it exceeds the sum of both standard deviations."""
    (ours, spread), (theirs, other) = (mean_and_deviation(side, factor) for side in (values, others))
    gain = ours - theirs
    return gain, "" if abs(gain) <= spread + other else "better" if gain > 0 else "worse"
