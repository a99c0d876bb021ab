"""Writes fixtures/hf/: two BERTs as transformers saves them, one with the heads of pretraining and one that tells three labels,
with a WordPiece vocabulary made here, and in recorded.json what transformers says of some texts.
Run: python tests/parity/make_fixtures_hf.py"""
import json
import pathlib

import torch
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, BertTokenizer

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "hf"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "the dog cat sees small house ##es ##ing . , ! é 犬".split()
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + c for c in LETTERS), *WORDS]
TEXTS = ["The dog sees a small house.", "Cats, dogs!", "x", "Élan 犬 vital qui zz", "seeing is believing, the cat sees"]
FILLED = ["The [MASK] sees a house.", "a small [MASK]"]

torch.manual_seed(20261122)
shape = dict(vocab_size=len(PIECES), hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
             max_position_embeddings=40)
kinds = {"pretraining": BertForPreTraining(BertConfig(**shape)),
         "labels": BertForSequenceClassification(BertConfig(**shape, id2label={0: "bad", 1: "fair", 2: "good"},
                                                            label2id={"bad": 0, "fair": 1, "good": 2}))}
recorded = {"texts": TEXTS}
for kind, model in kinds.items():
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + ("LayerNorm.weight" in name))
    model.eval()
    folder = FIXTURES / kind
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf8")
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"))

    def out(text):
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)

    if kind == "pretraining":
        recorded["first"] = [out(text).hidden_states[-1][0, 0].tolist() for text in TEXTS]
        recorded["filled"] = []
        for text in FILLED:
            place = tokenizer(text).input_ids.index(tokenizer.mask_token_id)
            p = out(text).prediction_logits[0, place].softmax(0)
            recorded["filled"].append({"text": text, "probabilities": dict(zip(PIECES, p.tolist()))})
    else:
        recorded["probabilities"] = [out(text).logits[0].softmax(0).tolist() for text in TEXTS]
(FIXTURES / "recorded.json").write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf8")
