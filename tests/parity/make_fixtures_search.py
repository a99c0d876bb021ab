"""Writes fixtures/search.json: scores of next tokens before and after processors of Transformers 5.24, alone and together in the order of
its `generate`, for options named as attend's. `kept`: the ids and scores of the tokens that are not excluded.

Usage: make_fixtures_search.py [OUTPUT]
"""
import json
import pathlib
import sys

import torch
import transformers
from transformers import (EpsilonLogitsWarper, MinPLogitsWarper, NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor,
                          TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

assert transformers.__version__.startswith("5.")
SPECIAL, VOCABULARY = 3, 203  # pad, bos and eos, the first ids, are excluded beforehand
PROCESSORS = {"repetition-penalty": RepetitionPenaltyLogitsProcessor, "no-repeat-ngram": NoRepeatNGramLogitsProcessor,
              "temperature": TemperatureLogitsWarper, "top-k": TopKLogitsWarper, "top-p": TopPLogitsWarper,
              "min-p": MinPLogitsWarper, "epsilon": EpsilonLogitsWarper}
CASES = [{"repetition-penalty": 1.3}, {"repetition-penalty": 0.7}, {"no-repeat-ngram": 1}, {"no-repeat-ngram": 2},
         {"no-repeat-ngram": 3}, {"temperature": 0.6}, {"temperature": 1.7}, {"top-k": 1}, {"top-k": 7}, {"top-k": 201},
         {"top-p": 0.3}, {"top-p": 0.9}, {"top-p": 0.999}, {"min-p": 0.05}, {"min-p": 1.0}, {"epsilon": 0.004}, {"epsilon": 0.9},
         {"top-k": 20, "top-p": 0.8}, {"top-p": 0.9, "min-p": 0.1, "epsilon": 0.03},
         {"repetition-penalty": 1.2, "no-repeat-ngram": 2, "temperature": 1.4, "top-k": 60, "top-p": 0.93, "min-p": 0.02,
          "epsilon": 0.012}]


def main(output):
    torch.manual_seed(7)
    cases = []
    for number, options in enumerate(CASES):
        scores = torch.log_softmax(torch.randn(VOCABULARY) * (1 + number % 3), 0).round(decimals=6)
        assert len(scores.unique()) == VOCABULARY
        likely = scores[SPECIAL:].topk(4).indices + SPECIAL
        ids = likely[torch.tensor([0, 1, 2, 0, 1, 3, 0, 1])] if number % 2 == 0 else likely[torch.tensor([2, 2, 0, 3, 2])]
        after = scores[None].clone()
        after[:, :SPECIAL] = -torch.inf
        for name, kind in PROCESSORS.items():
            if name in options:
                after = kind(options[name])(torch.cat([torch.tensor([1]), ids])[None], after)
        cases.append({"options": options, "ids": ids.tolist(), "scores": [round(value, 6) for value in scores.tolist()],
                      "kept": [[id, round(value, 6)] for id, value in enumerate(after[0].tolist()) if value > -torch.inf]})
    output.write_text(json.dumps({"transformers": transformers.__version__, "cases": cases}) + "\n")


main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "fixtures" / "search.json"))
