"""CTranslate2 on the CPU, fp32: greedy generation by a GPT-2 in Hugging Face's format, which is converted first.

Usage: ctranslate2_generate.py generate TOKENIZER THREADS MODEL PROMPTS NEW BATCHES
The words are those of gpt2.py generate. Prints generated tokens per second after a warm-up batch.
"""
import json, sys, tempfile, time
import ctranslate2, sentencepiece
from ctranslate2.converters import TransformersConverter

job, tokenizer = sys.argv[1], sentencepiece.SentencePieceProcessor(model_file=sys.argv[2])
threads, new, batches = int(sys.argv[3]), *map(int, sys.argv[6:8])
end = tokenizer.id_to_piece(tokenizer.eos_id())
with open(sys.argv[5], encoding="utf8") as lines:
    prompts = [[end, *tokenizer.encode(line.strip(), out_type=str)] for line in lines]
with tempfile.TemporaryDirectory() as folder:
    TransformersConverter(sys.argv[4]).convert(folder, force=True)
    generator = ctranslate2.Generator(folder, device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads)
options = dict(beam_size=1, max_length=new, include_prompt_in_result=False)
generator.generate_batch(prompts, **options)
start, tokens = time.perf_counter(), 0
for _ in range(batches):
    tokens += sum(len(result.sequences_ids[0]) for result in generator.generate_batch(prompts, **options))
speed = tokens / (time.perf_counter() - start)
print(json.dumps({"peer": "ctranslate2", "job": job, "tokens_per_second": round(speed, 1)}))
