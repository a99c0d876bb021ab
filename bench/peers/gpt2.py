"""Hugging Face GPT-2: training steps, and greedy generation; eager, fp32, on the CPU, or on $PEER_DEVICE in bf16.

Usage: gpt2.py train TOKENIZER THREADS SHAPE STEPS WARM_UP TRAIN VALID|- [compile]
       gpt2.py generate TOKENIZER THREADS MODEL PROMPTS NEW BATCHES

train: segments of 128 tokens (of shape base 1,024), 16 per batch, of documents with the end token before each; prints tokens per second
after WARM_UP steps and the held-out loss per token of the first 50,000 tokens of VALID. generate: the lines of PROMPTS, which have equally many
pieces, are one batch, continued BATCHES times after a warm-up; prints generated tokens per second.
"""
import itertools, json, os, sys, time
import sentencepiece, torch
from transformers import GPT2Config, GPT2LMHeadModel, logging

logging.set_verbosity_error()
SHAPES = {"mini": (4, 256, 4), "small": (4, 512, 8), "base": (12, 768, 12)}
BATCH, LENGTH, POSITIONS, HELD_OUT = 16, *((1024, 1024) if "base" in sys.argv else (128, 256)), 50000
DEVICE = os.environ.get("PEER_DEVICE", "cpu")
DROPOUT = 0 if DEVICE == "cpu" else 0.1


def stream(path):
    """Pieces of all documents, each after the end token; a blank line ends a document."""
    ids, before = [], ""
    with open(path, encoding="utf8") as lines:
        for line in map(str.strip, lines):
            if line:
                ids += tokenizer.encode(line) if before else [end, *tokenizer.encode(line)]
            before = line
    return ids


def segments(path):
    """Segments with the token after each, [N, LENGTH + 1]."""
    return torch.tensor(stream(path), device=DEVICE).unfold(0, LENGTH + 1, LENGTH)


def loss_of(batch, reduction="mean"):
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE != "cpu"):
        logits = model(input_ids=batch[:, :-1], use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten(), reduction=reduction)


def wait():
    if DEVICE != "cpu":
        torch.cuda.synchronize()


def step(number):
    optimizer.param_groups[0]["lr"] = 1e-3 * min(1, number / warm_up)
    loss_of(next(batches)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step(); optimizer.zero_grad(set_to_none=True)


job, tokenizer = sys.argv[1], sentencepiece.SentencePieceProcessor(model_file=sys.argv[2])
end = tokenizer.eos_id()
torch.set_num_threads(int(sys.argv[3])); torch.manual_seed(0)
if job == "train":
    (layers, width, heads), (steps, warm_up) = SHAPES[sys.argv[4]], map(int, sys.argv[5:7])
    model = GPT2LMHeadModel(GPT2Config(vocab_size=tokenizer.get_piece_size(), n_positions=POSITIONS, n_embd=width, n_layer=layers, n_head=heads,
        activation_function="gelu", resid_pdrop=DROPOUT, embd_pdrop=DROPOUT, attn_pdrop=DROPOUT, layer_norm_epsilon=1e-12, initializer_range=0.5 * width**-0.5,
        bos_token_id=end, eos_token_id=end)).to(DEVICE).train()
    if "compile" in sys.argv[9:]:
        model.compile()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0, betas=(0.9, 0.999), eps=1e-6, weight_decay=0, fused=True)
    text = segments(sys.argv[7])
    batches = itertools.cycle(batch for batch in text[torch.randperm(len(text))].split(BATCH) if len(batch) == BATCH)
    for number in range(1, warm_up + 1):
        step(number)
    wait()
    start = time.perf_counter()
    for number in range(warm_up + 1, steps + 1):
        step(number)
    wait()
    speed = (steps - warm_up) * BATCH * LENGTH / (time.perf_counter() - start)
    found = {"peer": "transformers", "job": job, "tokens_per_second": round(speed, 1)}
    if sys.argv[8] != "-":
        held_out = segments(sys.argv[8])[:-(-HELD_OUT // (BATCH * LENGTH)) * BATCH]
        model.eval()
        with torch.inference_mode():
            found["held_out_loss"] = round(sum(loss_of(batch, "sum").item() for batch in held_out.split(BATCH)) / (len(held_out) * LENGTH), 4)
    print(json.dumps(found))
else:
    model = GPT2LMHeadModel.from_pretrained(sys.argv[4]).eval()
    with open(sys.argv[5], encoding="utf8") as lines:
        prompts = torch.tensor([[end, *tokenizer.encode(line.strip())] for line in lines])
    options = dict(attention_mask=torch.ones_like(prompts), max_new_tokens=int(sys.argv[6]), do_sample=False, pad_token_id=end, eos_token_id=end)
    model.generate(prompts, **options)
    start, tokens = time.perf_counter(), 0
    for _ in range(int(sys.argv[7])):
        tokens += (model.generate(prompts, **options)[:, prompts.shape[1]:] != end).sum().item()
    speed = tokens / (time.perf_counter() - start)
    print(json.dumps({"peer": "transformers", "job": job, "tokens_per_second": round(speed, 1)}))
