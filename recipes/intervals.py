"""BLEU and chrF of each set of translations, and BLEU by the number of source words over all sets, with sacreBLEU's 95 % bootstrap
intervals (1,000 samples, seed 12345).

Usage: intervals.py HYPOTHESES REFERENCES SOURCES [HYPOTHESES REFERENCES SOURCES]...     prints one JSON object
"""

import json
import os
import pathlib
import sys

import sacrebleu

assert sacrebleu.__version__ == "2.6.0"
os.environ["SACREBLEU_SEED"] = "12345"
SAMPLES = 1000
LENGTHS = {"under 10": (0, 10), "10 to 19": (10, 20), "20 and more": (20, 10**9)}


def lines(path):
    return pathlib.Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")


def scored(metric, hypotheses, references):
    """The score and the bounds of its interval, which is around the mean of the samples, as in sacreBLEU."""
    score = metric.corpus_score(hypotheses, [references], n_bootstrap=SAMPLES)
    return {"score": float(score.score), "low": float(score._mean - score._ci), "high": float(score._mean + score._ci)}


def of_length(segments, low, high):
    chosen = [(hypothesis, reference) for hypothesis, reference, source in segments if low <= len(source.split()) < high]
    if not chosen:
        return {"sentences": 0}
    return {"sentences": len(chosen), **scored(sacrebleu.BLEU(), *map(list, zip(*chosen)))}


def main():
    paths, result, segments = sys.argv[1:], {"sets": {}}, []
    for files in zip(*[iter(paths)] * 3, strict=True):
        hypotheses, references, sources = map(lines, files)
        assert len(hypotheses) == len(references) == len(sources), files
        segments += zip(hypotheses, references, sources)
        result["sets"][pathlib.Path(files[1]).stem] = {
            "sentences": len(hypotheses), "bleu": scored(sacrebleu.BLEU(), hypotheses, references),
            "chrf": scored(sacrebleu.CHRF(), hypotheses, references)}
    result["bleu_by_length"] = {name: of_length(segments, *bounds) for name, bounds in LENGTHS.items()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
