"""Compares attend's search with `generate` of transformers on the same weights and prints for each option how many lines have the same
translation, and the largest difference of the scores of those: python tests/parity/search_beside_transformers.py ATTEND RUN SOURCE
[LINES]. RUN is a translation run that attend can export as MarianMT. Differences are ties that rounding decides, with nearly equal scores.
(pip install transformers sentencepiece torch)"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import MarianMTModel, MarianTokenizer

LONGEST = 60  # pieces


def translate(attend, run, lines, options, folder):
    """Texts and scores of attend."""
    scores = folder / "scores.jsonl"
    scores.unlink(missing_ok=True)
    text = subprocess.run([attend, "translate", run, "--precision", "fp32", "--max-length", str(LONGEST), "--scores", scores,
                           *map(str, options)], input="\n".join(lines) + "\n", text=True, check=True, capture_output=True).stdout
    return [line.strip() for line in text.splitlines()], [json.loads(line)["score"] for line in scores.read_text().splitlines()]


def generate(model, tokenizer, lines, beam, options, prefix):
    """Texts and, with a beam, scores of transformers; line by line, so that padding plays no part."""
    texts, scores = [], []
    for line in lines:
        inputs = tokenizer([line], return_tensors="pt")
        begin = torch.tensor([[model.config.decoder_start_token_id, *prefix]])
        out = model.generate(**inputs, decoder_input_ids=begin, num_beams=beam, early_stopping=beam > 1, do_sample=False,
                             max_new_tokens=LONGEST - len(prefix), max_length=None, forced_eos_token_id=None,
                             return_dict_in_generate=True, output_scores=True, **options)
        texts.append(tokenizer.decode(out.sequences[0], skip_special_tokens=True).strip())
        scores.append(out.sequences_scores[0].item() if beam > 1 else None)
    return texts, scores


def main():
    attend, run, source = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()[:count]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([attend, "export", run, "--output", folder / "hf"], check=True, capture_output=True)
        model, tokenizer = MarianMTModel.from_pretrained(folder / "hf").eval(), MarianTokenizer.from_pretrained(folder / "hf")
        model.generation_config.bad_words_ids = None
        pad = [[model.config.pad_token_id]]
        first = translate(attend, run, lines, ["--beam", 4], folder)[0]
        word = max(set(" ".join(first).split()), key=" ".join(first).split().count)  # of most translations
        pieces = tokenizer(text_target=word, add_special_tokens=False)["input_ids"]
        (folder / "forbid.txt").write_text(f"{word}\n", encoding="utf-8")
        (folder / "prefix.txt").write_text(f"{word}\n" * len(lines), encoding="utf-8")
        forbid, prefix = ["--forbid", folder / "forbid.txt"], ["--prefix", folder / "prefix.txt"]
        cases = [  # name, beam, options of attend, options of generate, prefix
            ("greedy", 1, [], {}, []),
            ("beam 4", 4, [], {}, []),
            ("beam 4, length penalty 0.6", 4, ["--length-penalty", 0.6], {"length_penalty": 0.6}, []),
            ("beam 4, minimum length 12", 4, ["--min-length", 12], {"min_new_tokens": 12}, []),
            ("beam 4, no repeated 2-gram", 4, ["--no-repeat-ngram", 2], {"no_repeat_ngram_size": 2}, []),
            ("beam 4, repetition penalty 1.3", 4, ["--repetition-penalty", 1.3], {"repetition_penalty": 1.3}, []),
            ("greedy, no repeated 2-gram", 1, ["--no-repeat-ngram", 2], {"no_repeat_ngram_size": 2}, []),
            (f"beam 4, without {word}", 4, forbid, {"bad_words_ids": [pieces]}, []),
            # Scores of transformers leave the prefix out, so that only without a length penalty they rank as ours.
            (f"beam 4, beginning with {word}", 4, [*prefix, "--length-penalty", 0], {"length_penalty": 0.0}, pieces),
        ]
        for name, beam, ours, theirs, begin in cases:
            texts, scores = translate(attend, run, lines, ["--beam", beam, *ours], folder)
            theirs = theirs | {"bad_words_ids": pad + theirs.get("bad_words_ids", [])}
            their_texts, their_scores = generate(model, tokenizer, lines, beam, theirs, begin)
            same = [a == b for a, b in zip(texts, their_texts, strict=True)]
            difference = max((abs(a - b) for a, b, equal in zip(scores, their_scores, same) if equal and b is not None and not begin),
                             default=0)
            print(f"{name}: {sum(same)} of {len(lines)} equal, scores within {difference:.1e}", flush=True)
            for i in [i for i, equal in enumerate(same) if not equal][:3]:
                print(f"  line {i + 1}: {texts[i]} ({scores[i]:.5f})\n  transformers: {their_texts[i]} ({their_scores[i]})")


main()
