"""Writes fixtures/transformer_{post,pre}.safetensors: the Transformer of arXiv 1706.03762 by torch.nn.Transformer, with sinusoidal
positions and label smoothing, post-norm with tied embeddings and pre-norm without, at small odd sizes: weights, a ragged batch, hidden
states, every gradient, and the losses of ten AdamW steps. Its variants are written by make_fixtures_variants.py.
Run: python tests/parity/make_fixtures_transformer.py"""
import math

import torch

from fixture_support import gradients, losses_of_updates, pairs, save, scatter, weights

WIDTH, HEADS, INNER, VOCABULARY = 12, 3, 19, 23
SRC_LENGTHS, TGT_LENGTHS = [5, 1, 7, 3], [2, 6, 1, 5]


class Reference(torch.nn.Module):
    def __init__(self, kind):
        pre_norm = kind == "pre"
        super().__init__()
        self.tgt_embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        if pre_norm:  # and untied
            self.src_embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.tables = (self.src_embedding if pre_norm else self.tgt_embedding), self.tgt_embedding
        core = torch.nn.Transformer(WIDTH, HEADS, 2, 3, INNER, dropout=0, batch_first=True, norm_first=pre_norm)
        self.encoder, self.decoder = core.encoder, core.decoder
        if not pre_norm:  # the paper normalises inside the blocks only
            self.encoder.norm = self.decoder.norm = None

    def embed(self, ids, table):
        place = torch.arange(ids.shape[1], dtype=torch.float64)[:, None]
        angle = place / 10000 ** (torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
        positions = torch.stack([angle.sin(), angle.cos()], -1).flatten(1).float()
        return table(ids) * math.sqrt(WIDTH) + positions

    def forward(self, src, src_pad, tgt, tgt_pad):
        memory = self.encoder(self.embed(src, self.tables[0]), src_key_padding_mask=src_pad)
        causal = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
        return self.decoder(self.embed(tgt, self.tables[1]), memory, tgt_mask=causal, tgt_key_padding_mask=tgt_pad,
                            memory_key_padding_mask=src_pad)


def ours(name, tensor):
    """PyTorch's name and tensor as attend has them: in_proj of cross-attention is q_proj over kv_proj."""
    for kind in ("weight", "bias"):
        if name.endswith("multihead_attn.in_proj_" + kind):
            stem = name.removesuffix("in_proj_" + kind)
            return [(stem + "q_proj." + kind, tensor[:WIDTH]), (stem + "kv_proj." + kind, tensor[WIDTH:])]
        name = name.replace("in_proj_" + kind, "in_proj." + kind)
    return [(name, tensor)]


for kind in ("post", "pre"):
    torch.manual_seed(20261121)
    model = Reference(kind)
    scatter(model)
    (src, src_pad), (tgt, tgt_pad), labels, tensors = pairs(SRC_LENGTHS, TGT_LENGTHS, VOCABULARY)

    def loss():
        hidden = model(src, src_pad, tgt, tgt_pad)[~tgt_pad]
        logits = hidden @ model.tgt_embedding.weight.T
        return hidden, torch.nn.functional.cross_entropy(logits, labels[~tgt_pad], label_smoothing=0.1, reduction="sum")

    named = weights(model)
    tensors["hidden"], value = loss()
    value.backward()
    tensors |= dict(part for name, tensor in (named | gradients(model)).items() for part in ours(name, tensor))
    tensors["losses"] = losses_of_updates(model, lambda: loss()[1])
    save(f"transformer_{kind}", tensors)
