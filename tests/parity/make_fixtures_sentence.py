"""Writes fixtures/hf/sentence/: a small random BERT as sentence-transformers saves it, with the mean of all tokens scaled to length 1
and texts cut to 12 tokens, and in sentence.json the vectors of sentence-transformers for some texts: those means, and those of [CLS].
Run: python tests/parity/make_fixtures_sentence.py   (pip install sentence-transformers)"""
import json
import pathlib
import shutil
import tempfile

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizer

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "hf"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "the dog cat sees small house ##es ##ing . , ! é 犬".split()
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + c for c in LETTERS), *WORDS]
TEXTS = ["The dog sees a small house.", "Cats, dogs!", "x", "", "  Élan 犬 vital qui zz ", "seeing is believing, the cat sees the dog sees the house"]

torch.manual_seed(20261124)
model = BertModel(BertConfig(vocab_size=len(PIECES), hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
                             max_position_embeddings=40))
with torch.no_grad():
    for name, parameter in model.named_parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.3 + ("norm.weight" in name.lower()))
folder = FIXTURES / "sentence"
shutil.rmtree(folder, ignore_errors=True)
recorded = {"texts": TEXTS}
with tempfile.TemporaryDirectory() as plain:
    model.save_pretrained(plain)
    vocabulary = pathlib.Path(plain, "vocab.txt")
    vocabulary.write_text("\n".join(PIECES) + "\n", encoding="utf8")
    BertTokenizer(vocab=str(vocabulary)).save_pretrained(plain)
    encoder = Transformer(plain, max_seq_length=12)
    for name, parts in (("mean", [Pooling(12, pooling_mode="mean"), Normalize()]), ("cls", [Pooling(12, pooling_mode="cls")])):
        sentences = SentenceTransformer(modules=[encoder, *parts], device="cpu")
        recorded[name] = [vector.tolist() for vector in sentences.encode(TEXTS)]
        if name == "mean":
            sentences.save(str(folder))
(folder / "README.md").unlink()
(FIXTURES / "sentence.json").write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf8")
