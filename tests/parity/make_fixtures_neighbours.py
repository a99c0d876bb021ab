"""Writes fixtures/neighbours.json: word vectors, analogies and rated pairs made here, and gensim 4.4.0's results for them. 3CosMul is
written out in NumPy: gensim adds 1e-6 to the denominator, Levy and Goldberg 2014 (equation 4) 0.001.

Usage: make_fixtures_neighbours.py     (pip install gensim==4.4.0)
"""

import json
import pathlib
import random
import tempfile

import gensim
import numpy

assert gensim.__version__ == "4.4.0"

WIDTH = 8
SETTINGS = [(False, 300000), (False, 50), (True, 300000), (True, 70)]  # ignore case, limit


def vectors(rng):
    """Stems with three endings, of which each adds about the same to the vector; some also in upper case. Frequent words come first."""
    noise = lambda: numpy.array([rng.gauss(0, 0.45) for _ in range(WIDTH)])
    endings = {ending: 2 * noise() for ending in ("", "s", "ed")}
    table = {}
    for stem in ("walk", "talk", "call", "jump", "play", "look", "turn", "open", "work", "end", "ask", "help", "land", "love", "mark", "plan", "rest",
                 "sail", "trust", "wait", "want", "wish", "état", "ärger"):
        base = 2 * noise()
        for ending, shift in endings.items():
            table[stem + ending] = base + shift + noise()
    for word in rng.sample(sorted(table), 12):
        table[word.upper() if rng.random() < 0.5 else word.capitalize()] = table[word] + noise()
    words = sorted(table)
    rng.shuffle(words)
    return "".join(f"{word} {' '.join(f'{x:.3f}' for x in table[word])}\n" for word in words), words


def questions(rng, words):
    stems = sorted({word[:-2] for word in words if word.endswith("ed")})
    text = ""
    for ending in "s", "ed":
        text += f": {ending} of verbs\n"
        for _ in range(60):
            one, other = rng.sample(stems, 2)
            asked = [one, one + ending, other, other + ending]
            if rng.random() < 0.3:
                asked = [word.capitalize() for word in asked]
            if rng.random() < 0.1:
                asked[rng.randrange(4)] = "unheard"
            text += " ".join(asked) + "\n"
    return text + ": none is known\nno such words here\n"


def mul_scores(keyed, a, b, c):
    unit = keyed.vectors.astype(float) / numpy.linalg.norm(keyed.vectors.astype(float), axis=1, keepdims=True)
    to_a, to_b, to_c = ((1 + unit @ unit[keyed.key_to_index[word]]) / 2 for word in (a, b, c))
    scores = to_b * to_c / (to_a + 0.001)
    scores[[keyed.key_to_index[word] for word in (a, b, c)]] = -numpy.inf
    return scores


def best(keyed, scores, count):
    return [[keyed.index_to_key[i], float(scores[i])] for i in numpy.argsort(-scores)[:count]]


rng = random.Random(20130616)
text, words = vectors(rng)
asked = questions(rng, words)
pairs = "# two words and a score\n" + "".join(f"{rng.choice(words)}\t{rng.choice(words + ['unheard'])}\t{rng.uniform(0, 10):.2f}\n" for _ in range(90))
with tempfile.TemporaryDirectory() as directory:
    for name, content in ("vectors", text), ("questions", asked), ("pairs", pairs):
        pathlib.Path(directory, name).write_text(content, encoding="utf8")
    keyed = gensim.models.KeyedVectors.load_word2vec_format(f"{directory}/vectors", no_header=True)
    assert keyed.index_to_key == words
    tests = []
    for ignore_case, limit in SETTINGS:
        options = {"restrict_vocab": limit, "case_insensitive": ignore_case}
        sections = keyed.evaluate_word_analogies(f"{directory}/questions", **options)[1][:-1]
        _, spearman, left_out = keyed.evaluate_word_pairs(f"{directory}/pairs", **options)
        tests.append({"ignore_case": ignore_case, "limit": limit, "spearman": float(spearman[0]), "pairs_left_out": round(left_out / 100 * 90),
                      "sections": [[one["section"], len(one["correct"]), len(one["correct"]) + len(one["incorrect"])] for one in sections]})
neighbours = {word: keyed.most_similar(word, topn=10) for word in words[:5]}
analogies, multiplied = [], 0
for line in asked.splitlines():
    a, *others = line.split()
    if len(others) != 3 or not set([a, *others]) <= set(words):
        continue
    b, c, d = others
    product = best(keyed, mul_scores(keyed, a, b, c), 5)
    multiplied += product[0][0] == d
    if len(analogies) < 20:
        analogies.append({"a": a, "b": b, "c": c, "add": keyed.most_similar(positive=[b, c], negative=[a], topn=5), "multiply": product})
assert any(one["add"][0][0] != one["multiply"][0][0] for one in analogies), "the methods do not differ"
fixture = {"vectors": text, "questions": asked, "pairs": pairs, "neighbours": neighbours, "analogies": analogies, "multiply_correct": multiplied, "tests": tests}
path = pathlib.Path(__file__).parent / "fixtures" / "neighbours.json"
path.write_text(json.dumps(fixture, ensure_ascii=False, indent=0) + "\n", encoding="utf8")
print(path, path.stat().st_size, "bytes")
