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


def gain_and_noise(values, others):
    """The difference of two means, and the sum of both standard deviations, which a single value lacks: infinite."""
    return (statistics.mean(values) - statistics.mean(others),
            sum(statistics.stdev(side) if len(side) > 1 else math.inf for side in (values, others)))


def difference(values, others):
    """Of two means, and "better" or "worse" if it exceeds the noise."""
    gain, noise = gain_and_noise(values, others)
    return gain, "" if abs(gain) <= noise else "better" if gain > 0 else "worse"


def pooled_deviation(several):
    """The standard deviation within groups of values, pooled over those with several; infinite if none has."""
    several = [values for values in several if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    return math.sqrt(sum((len(values) - 1) * statistics.variance(values) for values in several) / freedom) if freedom else math.inf
