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


def summary(values):
    """Mean and standard deviation; a single value has none."""
    values = list(values)
    return {"mean": statistics.mean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}


def written(found):
    """A summary as text."""
    return f"{found['mean']:.1f}" + (f" ± {found['deviation']:.1f}" if found["deviation"] is not None else "")


def deviation(values):
    return written(summary(values))


def over_seeds(run, metric):
    """A metric in RUN/dev.json, by seed."""
    return [scores[metric] for scores in read(run / "dev.json")]


def compared(ours, theirs):
    """The difference of the means of two summaries, and the sum of both standard deviations, which a single value lacks: infinite."""
    return ours["mean"] - theirs["mean"], sum(math.inf if side["deviation"] is None else side["deviation"] for side in (ours, theirs))


def gain_and_noise(values, others):
    return compared(summary(values), summary(others))


def verdict(ours, theirs):
    """"better" or "worse" if the difference exceeds the noise."""
    gain, noise = compared(ours, theirs)
    return "" if abs(gain) <= noise else "better" if gain > 0 else "worse"


def difference(values, others):
    ours, theirs = summary(values), summary(others)
    return compared(ours, theirs)[0], verdict(ours, theirs)


def pooled_deviation(several):
    """The standard deviation within groups of values, pooled over those with several; infinite if none has."""
    several = [values for values in several if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    return math.sqrt(sum((len(values) - 1) * statistics.variance(values) for values in several) / freedom) if freedom else math.inf
