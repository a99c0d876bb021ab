"""Hugging Face BERT: pretraining steps and encoding. Usage: bert.py SHAPE fp32|bf16 [compile] [JOB]

On $PEER_DEVICE (the CPU), in batches of $PEER_BATCH (32) sequences.
One shape and precision per process; with a JOB (pretrain, encode or "encode 8-128") only that job, so that the maximum resident
set size is its own.
"""
import json, os, random, resource, sys, time
import torch
from transformers import BertConfig, BertForPreTraining, logging

logging.set_verbosity_error()
SHAPES = {"tiny": (2, 128, 2, 512), "mini": (4, 256, 4, 1024), "small": (4, 512, 8, 2048), "base": (12, 768, 12, 3072)}
BATCH, LENGTH, SECONDS = int(os.environ.get("PEER_BATCH", 32)), 128, 8
DEVICE = os.environ.get("PEER_DEVICE", "cpu")


def wait():
    if DEVICE != "cpu":
        torch.cuda.synchronize()


def rate(step, units):
    step(); step()
    wait()
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        step(); n += 1
    wait()
    return round(n * units / (time.perf_counter() - start), 1)


def show(**figures):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"peer": "transformers" + (" compiled" if compiled else ""), "shape": name, "precision": precision, **figures, "maximum_resident_mb": memory}), flush=True)


torch.set_num_threads(2); torch.manual_seed(0); random.seed(0)
name, precision, compiled = sys.argv[1], sys.argv[2], "compile" in sys.argv[3:]
jobs = [word for word in sys.argv[3:] if word != "compile"] or ["pretrain", "encode", "encode 8-128"]
layers, hidden, heads, ffn = SHAPES[name]
vocab = 30522 if name == "base" else 8192
model = BertForPreTraining(BertConfig(vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=ffn)).to(DEVICE)
if compiled:
    model.compile(); model.bert.compile()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
autocast = lambda: torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=precision == "bf16")


def inputs_of(lengths):
    """A batch of sequences of these lengths, padded to the longest."""
    ids = torch.randint(5, vocab, (len(lengths), max(lengths)))
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    segments = torch.zeros_like(ids); segments[:, max(lengths) // 2:] = 1
    return {name: x.to(DEVICE) for name, x in dict(input_ids=ids * mask, attention_mask=mask.long(), token_type_ids=segments).items()}


inputs = inputs_of([LENGTH] * BATCH)
chosen = torch.rand(BATCH, LENGTH, device=DEVICE) < 0.15
labels = torch.where(chosen, inputs["input_ids"], torch.tensor(-100, device=DEVICE))
is_random = torch.randint(0, 2, (BATCH,), device=DEVICE)


def step():
    with autocast():
        loss = model(**inputs, labels=labels, next_sentence_label=is_random).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step(); optimizer.zero_grad(set_to_none=True)


if "pretrain" in jobs:
    model.train()
    show(job="pretrain", tokens_per_second=rate(step, BATCH * LENGTH))
model.eval()
with torch.inference_mode(), autocast():
    if "encode" in jobs:
        show(job="encode", sequences_per_second=rate(lambda: model.bert(**inputs), BATCH))
    if "encode 8-128" in jobs:
        mixed = [inputs_of([random.randint(8, LENGTH) for _ in range(BATCH)]) for _ in range(4)]
        show(job="encode 8-128", sequences_per_second=rate(lambda: [model.bert(**batch) for batch in mixed], 4 * BATCH))
