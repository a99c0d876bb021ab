"""Writes fixtures/hf/: BERT and, with the norm before its sub-layers, RoBERTa-PreLayerNorm as transformers saves them, with the
heads of pretraining and with one that tells three labels, a WordPiece vocabulary made here, and in recorded.json the outputs of
transformers for some texts.
Run: python tests/parity/make_fixtures_hf.py"""
import json
import pathlib

import torch
from transformers import (BertConfig, BertForPreTraining, BertForSequenceClassification, BertTokenizer, RobertaPreLayerNormConfig,
                          RobertaPreLayerNormForMaskedLM, RobertaPreLayerNormForSequenceClassification)

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "hf"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "the dog cat sees small house ##es ##ing . , ! é 犬".split()
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + c for c in LETTERS), *WORDS]
TEXTS = ["The dog sees a small house.", "Cats, dogs!", "x", "Élan 犬 vital qui zz", "seeing is believing, the cat sees"]
FILLED = ["The [MASK] sees a house.", "a small [MASK]"]

torch.manual_seed(20261122)
shape = dict(vocab_size=len(PIECES), hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
             max_position_embeddings=40)
labels = dict(id2label={0: "bad", 1: "fair", 2: "good"}, label2id={"bad": 0, "fair": 1, "good": 2})
pre = dict(type_vocab_size=2, pad_token_id=0)
kinds = {"pretraining": BertForPreTraining(BertConfig(**shape)),
         "labels": BertForSequenceClassification(BertConfig(**shape, **labels)),
         "pretraining_pre": RobertaPreLayerNormForMaskedLM(RobertaPreLayerNormConfig(**shape, **pre)),
         "labels_pre": RobertaPreLayerNormForSequenceClassification(RobertaPreLayerNormConfig(**shape, **pre, **labels))}
recorded = {"texts": TEXTS}
for kind, model in kinds.items():
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + ("norm.weight" in name.lower()))
        if kind.endswith("_pre"):
            model.base_model.embeddings.position_embeddings.weight[0] = 0
    model.eval()
    folder = FIXTURES / kind
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf8")
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"))

    def out(text):
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt"))

    def first(text):
        with torch.no_grad():
            return model.base_model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0].tolist()

    recorded[kind] = {}
    if kind.startswith("pretraining"):
        recorded[kind]["first"] = [first(text) for text in TEXTS]
        recorded[kind]["filled"] = []
        for text in FILLED:
            place = tokenizer(text).input_ids.index(tokenizer.mask_token_id)
            told = out(text)
            p = (told.logits if kind.endswith("_pre") else told.prediction_logits)[0, place].softmax(0)
            recorded[kind]["filled"].append({"text": text, "probabilities": dict(zip(PIECES, p.tolist()))})
    else:
        recorded[kind]["probabilities"] = [out(text).logits[0].softmax(0).tolist() for text in TEXTS]
(FIXTURES / "recorded.json").write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf8")
