"""Writes fixtures/labels.json: labels, numbers, tags and answers made here, and their scores by scikit-learn, SciPy, seqeval and
the two official scripts of SQuAD.

Usage: make_fixtures_labels.py SQUAD_1 SQUAD_2     the scripts: compute_score.py of metrics/squad and of metrics/squad_v2
in github.com/huggingface/evaluate
"""

import importlib.util
import json
import math
import pathlib
import random
import sys
import warnings

import scipy.stats
import seqeval.metrics
import sklearn.metrics

warnings.simplefilter("ignore")


def script(path):
    spec = importlib.util.spec_from_file_location("script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(x):
    return None if math.isnan(x) else float(x)


def label_cases(rng):
    for size, kinds, right in ((200, 2, 0.8), (97, 3, 0.5), (50, 7, 0.3), (1, 2, 1), (12, 1, 1), (40, 2, 0)):
        gold = [rng.randrange(kinds) for _ in range(size)]
        predicted = [label if rng.random() < right else rng.randrange(kinds) for label in gold]
        yield predicted, gold
    yield [0] * 30, [rng.randrange(2) for _ in range(30)]  # one label only
    yield [0, 0, 0], [0, 0, 0]  # no positive anywhere


def number_cases(rng):
    for size, noise in ((120, 0.5), (31, 3), (2, 1)):
        gold = [round(rng.uniform(0, 5), 1) for _ in range(size)]
        yield [x + rng.gauss(0, noise) for x in gold], gold
    gold = [rng.randrange(4) for _ in range(60)]  # many ties
    yield [rng.randrange(3) for _ in gold], gold
    yield [1.5] * 20, [rng.random() for _ in range(20)]  # constant
    yield [1e9 + i for i in range(10)], [float(i * i) for i in range(10)]


def tag_cases(rng):
    tags = ["O", "O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B", "E-PER", "S-LOC"]
    for count, kinds in ((30, 5), (40, 9), (40, len(tags))):
        gold = [[rng.choice(tags[:kinds]) for _ in range(rng.randint(1, 9))] for _ in range(count)]
        predicted = [[tag if rng.random() < 0.7 else rng.choice(tags[:kinds]) for tag in sentence] for sentence in gold]
        yield predicted, gold
    yield [["I-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]]
    yield [["O", "O"]], [["O", "O"]]
    yield [["B-X"], ["I-X"]], [["B-X"], ["B-X"]]


ANSWERS = """the cat|The U.S.A.|a-an-the|“The” x|éa a b|in 1,066 AD|THE|a|an apple a day|  spaced   out |x.y.z|naïve café|№ 5 and ½ a mile
İstanbul|ΑΣ ΣΑΣ|東京 the 2|the_cat the|theory of the an|a the|word|two words|no|five hundred and one|...|$5 million|"quoted" text""".replace("\n", "|").split("|")


def answer_cases(rng, one, two):
    for predicted in ANSWERS + [""]:
        for _ in range(6):
            gold = rng.sample(ANSWERS, rng.randint(1, 3))
            if rng.random() < 0.4:
                gold.append(rng.choice([predicted.upper(), "the " + predicted, predicted + ".", "" if rng.random() < 0.5 else predicted]))
            best = lambda f: max(f(predicted, answer) for answer in gold)
            kept = [answer for answer in gold if two.normalize_answer(answer)] or [""]
            yield {
                "predicted": predicted, "gold": gold, "normalised": one.normalize_answer(predicted),
                "exact": float(best(one.exact_match_score)), "f1": float(best(one.f1_score)),
                "exact_2": float(max(two.compute_exact(answer, predicted) for answer in kept)),
                "f1_2": float(max(two.compute_f1(answer, predicted) for answer in kept)),
            }


def threshold_cases(rng, two):
    for size in (1, 7, 60):
        ids = [str(i) for i in range(size)]
        has = {i: rng.random() < 0.6 for i in ids}
        answers = {i: rng.choice(["x", ""]) for i in ids}
        scores = {i: (rng.random() if answers[i] and has[i] else float(not answers[i] and not has[i])) for i in ids}
        no_answer = {i: rng.random() for i in ids}
        best, threshold = two.find_best_thresh(answers, scores, no_answer, has)
        yield {"questions": [[no_answer[i], has[i], bool(answers[i]), scores[i]] for i in ids], "best": best, "threshold": threshold}


one, two = script(sys.argv[1]), script(sys.argv[2])
rng = random.Random(20261121)
result = {"labels": [], "numbers": [], "tags": []}
for predicted, gold in label_cases(rng):
    result["labels"].append({
        "predicted": predicted, "gold": gold, "accuracy": sklearn.metrics.accuracy_score(gold, predicted),
        "f1": sklearn.metrics.f1_score(gold, predicted, pos_label=1, average=None, labels=[1], zero_division=0)[0],
        "matthews": sklearn.metrics.matthews_corrcoef(gold, predicted)})
for predicted, gold in number_cases(rng):
    result["numbers"].append({
        "predicted": predicted, "gold": gold, "pearson": plain(scipy.stats.pearsonr(predicted, gold)[0]),
        "spearman": plain(scipy.stats.spearmanr(predicted, gold)[0])})
for predicted, gold in tag_cases(rng):
    result["tags"].append({
        "predicted": predicted, "gold": gold, "accuracy": seqeval.metrics.accuracy_score(gold, predicted),
        "conlleval": [getattr(seqeval.metrics, metric + "_score")(gold, predicted, zero_division=0)
                      for metric in ("precision", "recall", "f1")]})
result["answers"] = list(answer_cases(rng, one, two))
result["thresholds"] = list(threshold_cases(rng, two))
path = pathlib.Path(__file__).parent / "fixtures" / "labels.json"
path.write_text(json.dumps(result, ensure_ascii=False, indent=0) + "\n", encoding="utf8")
print(path, path.stat().st_size, "bytes")
