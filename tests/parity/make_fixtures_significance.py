"""Writes fixtures/significance.json: two systems' translations, the samples that sacreBLEU 2.6.0 draws of them (seed 12345), its intervals
and p-values ("sacrebleu"), and from the same samples those that attend computes ("expected"; docs/compare.md describes how they differ).

Usage: make_fixtures_significance.py [OUTPUT]
"""

import json
import pathlib
import random
import sys

import numpy as np
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from make_fixtures_metrics import WORDS, perturbed

assert sacrebleu.__version__ == "2.6.0"
SEGMENTS, SAMPLES = 14, 1000


def tests_of(kind, systems, references):
    metrics = {"BLEU": BLEU(references=[references]), "chrF2": CHRF(references=[references]), "TER": TER(references=[references])}
    return PairedTest(systems, metrics, references=None, test_type=kind, n_samples=SAMPLES)()[1]


def expected(metric, a, b, references, resamples, kept):
    """Intervals of a and b, and two-sided p-values that count equal differences."""
    rows = [np.array(metric._extract_corpus_statistics(lines, [references]), dtype=float) for lines in (a, b)]

    def value(rows):
        return float(metric._aggregate_and_compute(rows.tolist()).score)

    scores = np.array([[value(system[sample]) for sample in resamples] for system in rows])
    difference = value(rows[1]) - value(rows[0])
    ordered = np.sort(scores)
    distances = np.abs(scores[1] - scores[0] - difference) * np.sqrt(SEGMENTS / (SEGMENTS - 3))
    trials = [value(np.where(keep, rows[0], rows[1])) - value(np.where(keep, rows[1], rows[0])) for keep in kept[:, :, None]]
    return {"low": ordered[:, SAMPLES // 40].tolist(), "high": ordered[:, -1 - SAMPLES // 40].tolist(),
            "p_bootstrap": (1 + int(np.sum(distances >= abs(difference) - 1e-9))) / (SAMPLES + 1),
            "p_randomisation": (1 + int(np.sum(np.abs(trials) >= abs(difference) - 1e-9))) / (SAMPLES + 1)}


def main():
    rng = random.Random(28)
    plain = [word for word in WORDS if word.isalpha()]
    references = [" ".join(rng.choices(plain, k=rng.randint(6, 18))) for _ in range(SEGMENTS)]
    a = [perturbed(rng, perturbed(rng, line)) for line in references]
    b = [perturbed(rng, line) for line in references]
    systems = [("a", a), ("b", b)]
    bootstrap, randomisation = tests_of("bs", systems, references), tests_of("ar", systems, references)
    resamples = np.random.default_rng(12345).choice(SEGMENTS, size=(SAMPLES, SEGMENTS), replace=True)
    kept = np.random.default_rng(12345).integers(2, size=(SAMPLES, SEGMENTS), dtype=bool)
    result = {
        "a": a, "b": b, "references": references,
        # One hexadecimal digit for each segment that is drawn.
        "resamples": ["".join(f"{segment:x}" for segment in row) for row in resamples],
        # The segments whose translations are not exchanged: those where sacreBLEU's draw is true.
        "kept": ["".join(str(int(bit)) for bit in row) for row in kept],
        "metrics": {
            name: {"scores": [result.score for result in bootstrap[name]],
                   "sacrebleu": {"means": [result.mean for result in bootstrap[name]], "half_widths": [result.ci for result in bootstrap[name]],
                                 "p_bootstrap": bootstrap[name][1].p_value, "p_randomisation": randomisation[name][1].p_value},
                   "expected": expected(metric, a, b, references, resamples, kept)}
            for name, metric in (("BLEU", BLEU()), ("chrF2", CHRF()), ("TER", TER()))}}
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "fixtures" / "significance.json")
    path.write_text(json.dumps(result, ensure_ascii=False, default=float) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
