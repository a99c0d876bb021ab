"""CTranslate2 decoding on the CPU: a Transformer of 3+3 layers, d 256, with random weights, 16 forced tokens per sentence.

Usage: ctranslate2_decode.py TOKENIZER SENTENCES float32|bfloat16|int8 BEAM WORKERS THREADS
TOKENIZER is a SentencePiece file; SENTENCES is a file of lines, translated in batches of 32. Prints target tokens per second
after a warm-up batch.
"""
import json, sys, tempfile, time
import ctranslate2, numpy, sentencepiece
from ctranslate2.specs import transformer_spec

FORCED, BATCH = 16, 32


def save_random(vocab, path, layers=3, width=256, heads=4, ffn=1024):
    rng = numpy.random.default_rng(0)
    spec = transformer_spec.TransformerSpec.from_config((layers, layers), heads, pre_norm=True)

    def linear(layer, rows, columns):
        layer.weight = (rng.standard_normal((rows, columns)) * 0.05).astype("f"); layer.bias = numpy.zeros(rows, "f")

    def norm(layer):
        layer.gamma = numpy.ones(width, "f"); layer.beta = numpy.zeros(width, "f")

    embeddings = (rng.standard_normal((vocab, width)) * 0.05).astype("f")
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embeddings
    norm(spec.encoder.layer_norm); norm(spec.decoder.layer_norm)
    for block in list(spec.encoder.layer) + list(spec.decoder.layer):
        norm(block.self_attention.layer_norm)
        linear(block.self_attention.linear[0], 3 * width, width); linear(block.self_attention.linear[1], width, width)
        norm(block.ffn.layer_norm)
        linear(block.ffn.linear_0, ffn, width); linear(block.ffn.linear_1, width, ffn)
    for block in spec.decoder.layer:
        norm(block.attention.layer_norm)
        linear(block.attention.linear[0], width, width); linear(block.attention.linear[1], 2 * width, width); linear(block.attention.linear[2], width, width)
    tokens = ["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(3, vocab)]
    spec.register_source_vocabulary(tokens); spec.register_target_vocabulary(tokens)
    spec.validate(); spec.optimize(); spec.save(path)


tokenizer = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
vocab, eos = tokenizer.get_piece_size(), tokenizer.eos_id()
precision, beam, workers, threads = sys.argv[3], *map(int, sys.argv[4:])
# Pieces are passed as numbers; the first three are the special tokens above.
name = lambda piece: "</s>" if piece == eos else f"t{max(piece, 3)}"
with open(sys.argv[2], encoding="utf8") as lines:
    sources = [[name(piece) for piece in [*tokenizer.encode(line.strip()), eos]] for line in lines]
path = tempfile.mkdtemp()
save_random(vocab, path)
translator = ctranslate2.Translator(path, device="cpu", compute_type=precision, inter_threads=workers, intra_threads=threads)
options = dict(beam_size=beam, max_decoding_length=FORCED, min_decoding_length=FORCED)
translator.translate_batch(sources[:BATCH], **options)
start = time.perf_counter()
results = translator.translate_batch(sources, max_batch_size=BATCH, **options)
tokens = sum(len(result.hypotheses[0]) for result in results)
print(json.dumps({"peer": "ctranslate2", "job": "translate", "precision": precision, "beam": beam, "threads": f"{workers}x{threads}", "target_tokens_per_second": round(tokens / (time.perf_counter() - start))}))
