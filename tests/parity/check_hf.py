"""Compares a run with its export in transformers: ids of every piece, hidden states of [CLS], and probabilities for [MASK] or of
labels, on lines of text, or of two texts with a tab between them if the task reads pairs.

Usage: check_hf.py ATTEND RUN TEXT      RUN: of attend pretrain, or of finetune with one label per text
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import torch
from transformers import AutoModelForPreTraining, AutoModelForSequenceClassification, AutoTokenizer

attend, run, text = sys.argv[1:]
lines = [line for line in pathlib.Path(text).read_text(encoding="utf8").splitlines() if line.strip()][:200]
is_task = (pathlib.Path(run) / "task.toml").exists()


def ours(*words, lines=lines):
    out = subprocess.run([attend, *words, "--precision", "fp32"], input="".join(line + "\n" for line in lines), text=True, check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([attend, "export", run, "--output", f"{folder}/hf"], check=True)
    tokenizer = AutoTokenizer.from_pretrained(f"{folder}/hf")
    model = (AutoModelForSequenceClassification if is_task else AutoModelForPreTraining).from_pretrained(f"{folder}/hf").eval()


def theirs(line):
    with torch.no_grad():
        return model(**tokenizer(*line.split("\t"), return_tensors="pt"))


def first(line):
    with torch.no_grad():
        return model.base_model(**tokenizer(line, return_tensors="pt")).last_hidden_state[0, 0]


worst = {}


def compare(name, a, b):
    worst[name] = max(worst.get(name, 0.0), (torch.as_tensor(a) - b).abs().max().item())


if is_task:
    longest = tomllib.loads((pathlib.Path(run) / "config.toml").read_text())["length"]  # what is longer is cut, which theirs is not
    lines = [line for line in lines if len(tokenizer(*line.split("\t")).input_ids) <= longest]
    for line, answer in zip(lines, ours("predict", run, "--json", lines=lines), strict=True):
        labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
        compare("probabilities", [answer["probabilities"][label] for label in labels], theirs(line).logits[0].softmax(0))
else:
    for line, answer in zip(lines, ours("embed", run, "--pooling", "cls", "--json"), strict=True):
        compare("hidden states", answer["embedding"], first(line))
    masked = [" ".join(["[MASK]", *line.split()[1:]]) for line in lines]
    for line, (filled,) in zip(masked, ours("predict", run, "--fill-mask", "--top", "5", "--json", lines=masked), strict=True):
        ids = tokenizer(line.replace("[MASK]", tokenizer.mask_token), return_tensors="pt")
        told = theirs(line.replace("[MASK]", tokenizer.mask_token))
        logits = told.prediction_logits if "prediction_logits" in told else told.logits  # of BERT, and of RoBERTa-PreLayerNorm
        p = logits[0, ids.input_ids[0].tolist().index(tokenizer.mask_token_id)].softmax(0)
        compare("probabilities for [MASK]", [one["probability"] for one in filled], p.topk(5).values)
print(f"{len(lines)} lines, {type(model).__name__}, {type(tokenizer).__name__}")
for name, difference in worst.items():
    print(f"{name}: {difference:.2g} at most")
sys.exit(any(difference > 1e-5 for difference in worst.values()))
