"""CTranslate2 on the CPU, fp32: greedy translation by a Transformer of attend train, exported and converted, beside attend's own.

Usage: ctranslate2_marian.py ATTEND RUN SOURCE [LINES] [THREADS]
Prints how many of the first lines (1,000) have the same translation, and the first that differ. The run has one tokenizer for both languages.
"""
import json, subprocess, sys, tempfile
import ctranslate2, sentencepiece
from ctranslate2.converters import TransformersConverter

LONGEST = 200  # pieces, so that a repetition without end ends at the same place
attend, run, source = sys.argv[1:4]
count, threads = (int(word) for word in sys.argv[4:] + ["1000", "1"][len(sys.argv) - 4:])
with open(source, encoding="utf8", newline="\n") as lines:
    texts = [line.rstrip("\n") for _, line in zip(range(count), lines)]
with tempfile.TemporaryDirectory() as folder:
    exported, converted = f"{folder}/exported", f"{folder}/converted"
    subprocess.run([attend, "export", run, "--output", exported], check=True)
    TransformersConverter(exported).convert(converted)
    reader, writer = (sentencepiece.SentencePieceProcessor(model_file=f"{exported}/{side}.spm") for side in ("source", "target"))
    translator = ctranslate2.Translator(converted, device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads)
    results = translator.translate_batch([[*reader.encode(text, out_type=str), "</s>"] for text in texts], beam_size=1, max_batch_size=32,
                                         max_decoding_length=LONGEST)
theirs = [writer.decode_pieces(result.hypotheses[0]).strip() for result in results]
words = [attend, "translate", run, "--beam", "1", "--precision", "fp32", "--threads", str(threads), "--max-length", str(LONGEST)]
said = subprocess.run(words, input="".join(text + "\n" for text in texts), capture_output=True, check=True, encoding="utf8").stdout
ours = [line.strip() for line in said.split("\n")[:len(texts)]]
different = [i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]]
print(json.dumps({"peer": "ctranslate2", "job": "marian", "lines": len(texts), "equal": len(texts) - len(different)}))
for i in different[:5]:
    print(f"{i + 1}: {ours[i]}\n   {theirs[i]}")
sys.exit(bool(different))
