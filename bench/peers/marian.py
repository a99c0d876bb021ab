"""Hugging Face Marian: training steps on Multi30k.

Usage: marian.py MULTI30K_DIR TOKENIZER fp32|bf16 [LAYERS WIDTH HEADS FEED_FORWARD MAX_TOKENS]

On $PEER_DEVICE (the CPU); by default a Transformer of 3+3 layers, d 256, 4 heads, feed-forward 1024. TOKENIZER is a SentencePiece file, such as one made by attend
vocab. Prints target tokens per second over STEPS batches, after three warm-up batches.
"""
import itertools, json, os, random, sys, time
import sentencepiece, torch
from transformers import MarianConfig, MarianMTModel, logging

logging.set_verbosity_error()
STEPS, DEVICE = 15, os.environ.get("PEER_DEVICE", "cpu")
LAYERS, WIDTH, HEADS, FEED_FORWARD, MAX_TOKENS = map(int, sys.argv[4:9] or (3, 256, 4, 1024, 4096))
torch.set_num_threads(len(os.sched_getaffinity(0))); torch.manual_seed(0); random.seed(0)
en, de = (f"{sys.argv[1]}/train.{side}" for side in ("en", "de"))
tokenizer = sentencepiece.SentencePieceProcessor(model_file=sys.argv[2])
PAD, EOS = tokenizer.pad_id(), tokenizer.eos_id()
src, tgt = ([tokenizer.encode(line) + [EOS] for line in open(path, encoding="utf8")] for path in (en, de))

batches, batch, longest = [], [], 0
for i in sorted(range(len(src)), key=lambda i: (len(tgt[i]), len(src[i]))):
    length = max(len(src[i]), len(tgt[i]))
    if batch and max(longest, length) * (len(batch) + 1) > MAX_TOKENS:
        batches.append(batch); batch, longest = [], 0
    batch.append(i); longest = max(longest, length)
random.shuffle(batches)

model = MarianMTModel(MarianConfig(vocab_size=tokenizer.get_piece_size(), d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
    encoder_ffn_dim=FEED_FORWARD, decoder_ffn_dim=FEED_FORWARD, dropout=0.1, activation_function="relu", scale_embedding=True, static_position_embeddings=True,
    max_position_embeddings=128, pad_token_id=PAD, eos_token_id=EOS, forced_eos_token_id=EOS, decoder_start_token_id=PAD)).to(DEVICE).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=True)


def pad(rows, value):
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows]).to(DEVICE)


def step(batch, bf16):
    source, target = pad([src[i] for i in batch], PAD), pad([tgt[i] for i in batch], -100)
    shifted = torch.cat([torch.full((len(batch), 1), PAD, device=DEVICE), target[:, :-1].clamp(min=0)], 1)
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=bf16):
        logits = model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=shifted, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=-100, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step(); optimizer.zero_grad(set_to_none=True)
    return sum(len(tgt[i]) for i in batch)


precision = sys.argv[3]
endless = itertools.cycle(batches)


def steps(count):
    """The target tokens of so many steps, once they are made."""
    tokens = sum(step(next(endless), precision == "bf16") for _ in range(count))
    if DEVICE != "cpu":
        torch.cuda.synchronize()
    return tokens


steps(3)
start = time.perf_counter()
tokens = steps(STEPS)
print(json.dumps({"peer": "transformers-marian", "job": "train", "precision": precision, "target_tokens_per_second": round(tokens / (time.perf_counter() - start))}))
