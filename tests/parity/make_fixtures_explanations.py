"""Writes fixtures/explanations.json: Kendall's τ-b and its p-value by SciPy, of rankings with and without ties, of few items and
of many; and attention rollout of random weights by NumPy (Abnar and Zuidema 2020, arXiv 2005.00928, section 3).
Run: python tests/parity/make_fixtures_explanations.py"""
import json
import pathlib

import numpy as np
from scipy.stats import kendalltau

draw = np.random.default_rng(3)


def kendall(n, values):
    a = draw.integers(values, size=n) if values else draw.permutation(n)
    b = draw.integers(values, size=n) + a // 2 if values else (draw.random(n) * n + a / 2).argsort().argsort()
    found = kendalltau(a, b)
    return {"a": a.tolist(), "b": b.tolist(), "tau": found.statistic, "p": found.pvalue}


def rollout(layers, length):
    weights = draw.dirichlet(np.full(length, 0.5), size=(layers, length))
    product = np.eye(length)
    for of_layer in weights:
        product = (0.5 * of_layer + 0.5 * np.eye(length)) @ product
    return {"layers": weights.tolist(), "rollout": product.tolist()}


content = {"kendall": [kendall(n, values) for n, values in ((2, 0), (5, 0), (12, 0), (33, 0), (60, 0), (6, 4), (20, 5), (50, 8))],
           "rollout": rollout(3, 5)}
path = pathlib.Path(__file__).parent / "fixtures" / "explanations.json"
path.write_text(json.dumps(content) + "\n")
