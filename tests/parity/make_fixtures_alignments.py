"""Writes fixtures/alignments.json: word alignments made here, in every direction and base, and their scores by NLTK 3.9.1 and by the
equations of Och and Ney 2003 over Python sets.

Usage: make_fixtures_alignments.py [OUTPUT] [--files LINKS GOLD]
With --files the scores of two files (source-target, from 0) are printed instead, to compare at length.
"""

import argparse
import json
import pathlib
import random

import nltk
from nltk.translate.metrics import alignment_error_rate

assert nltk.__version__ == "3.9.1"


def sentence(rng, longest):
    """Sure links, possible ones besides them, and the links of an aligner that knows a part of both."""
    pairs = [(i, j) for i in range(rng.randint(1, longest)) for j in range(rng.randint(1, longest))]
    near = [pair for pair in pairs if abs(pair[0] - pair[1]) < 3] or pairs[:1]
    sure = set(rng.sample(near, rng.randint(0, len(near) // 2)))
    possible = set(rng.sample(near, rng.randint(0, len(near) // 2))) - sure
    known = [pair for pair in sorted(sure | possible) if rng.random() < 0.7]
    links = set(known) | set(rng.sample(pairs, rng.randint(0, min(3, len(pairs)))))
    return links, sure, possible


def written(rng, links, mark, base, reverse):
    return [f"{(j if reverse else i) + base}{mark}{(i if reverse else j) + base}" for i, j in links]


def lines(rng, sentences, base, reverse):
    """The text of both files: links in any order, some twice, a possible one also where it is sure."""
    for links, sure, possible in sentences:
        found = written(rng, links, "-", 0, False)
        gold = written(rng, sure, "-", base, reverse) + written(rng, possible, "?", base, reverse)
        gold += written(rng, rng.sample(sorted(sure), len(sure) // 3), "?", base, reverse) + gold[:1]
        rng.shuffle(gold), rng.shuffle(found)
        yield " ".join(found), " ".join(gold)


def scores(sentences):
    """Of a corpus: sets of (sentence, i, j)."""
    links, sure, possible = ({(n, *pair) for n, parts in enumerate(sentences) for pair in parts[k]} for k in range(3))
    possible |= sure
    error = 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))
    assert abs(error - alignment_error_rate(sure, links, possible)) < 1e-12
    return {"links": len(links), "sure": len(sure), "possible": len(possible), "aer": 100 * error,
            "precision": 100 * len(links & possible) / len(links) if links else 0, "recall": 100 * len(links & sure) / len(sure)}


def parsed(line):
    """The links of a line, sure ones and all."""
    links = [(token.replace("?", "-"), "?" in token) for token in line.split()]
    pairs = [(tuple(map(int, text.split("-"))), is_possible) for text, is_possible in links]
    return {pair for pair, is_possible in pairs if not is_possible}, {pair for pair, _ in pairs}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output", nargs="?", default=str(pathlib.Path(__file__).parent / "fixtures" / "alignments.json"))
    parser.add_argument("--files", nargs=2)
    args = parser.parse_args()
    if args.files:
        found, gold = ([parsed(line) for line in pathlib.Path(path).read_text().split("\n")[:-1]] for path in args.files)
        assert len(found) == len(gold)
        print(json.dumps(scores([(links, *parts) for (links, _), parts in zip(found, gold)]), indent=1))
        return
    rng, cases = random.Random(30), []
    for base, reverse in ((0, False), (0, True), (1, False), (1, True)):
        sentences = [sentence(rng, 12) for _ in range(25)]
        sentences[3] = (set(), {(0, 0)}, set())  # nothing found
        sentences[4] = ({(0, 0)}, set(), set())  # nothing to find
        found, gold = zip(*lines(rng, sentences, base, reverse))
        cases.append({"base": base, "direction": "target-source" if reverse else "source-target", "links": found, "gold": gold,
                      "scores": scores(sentences)})
    nothing = [(set(), {(0, 0), (1, 2)}, {(2, 2)})]
    cases.append({"base": 0, "direction": "source-target", "links": [""], "gold": ["0-0 1-2 2?2"], "scores": scores(nothing)})
    pathlib.Path(args.output).write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
