"""Writes fixtures/transformer_{post,pre}.safetensors: the Transformer of arXiv 1706.03762 by torch.nn.Transformer, with sinusoidal
positions and label smoothing, post-norm with tied embeddings and pre-norm without, at small odd sizes: weights, a ragged batch, hidden
states, every gradient, and the losses of ten AdamW steps. Its variants are written by make_fixtures_variants.py.
Run: python tests/parity/make_fixtures_transformer.py"""
import math
import pathlib

import torch
from safetensors.torch import save_file

from fixture_support import losses_of_updates, padded

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
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (0.2 if parameter.dim() == 1 else 0))
    src, src_pad = padded(SRC_LENGTHS, VOCABULARY)
    tgt, tgt_pad = padded(TGT_LENGTHS, VOCABULARY)
    labels, _ = padded(TGT_LENGTHS, VOCABULARY)
    tensors = {}

    def keep(prefix, named):
        for name, tensor in named:
            for own_name, part in ours(name, tensor):
                tensors[prefix + own_name] = part.detach().clone().contiguous()

    def loss():
        hidden = model(src, src_pad, tgt, tgt_pad)[~tgt_pad]
        logits = hidden @ model.tgt_embedding.weight.T
        return hidden, torch.nn.functional.cross_entropy(logits, labels[~tgt_pad], label_smoothing=0.1, reduction="sum")

    keep("weight.", model.named_parameters())
    hidden, value = loss()
    value.backward()
    keep("gradient.", [(name, parameter.grad) for name, parameter in model.named_parameters()])
    tensors["hidden"] = hidden.detach()
    for name, ids, pad in (("src", src, src_pad), ("tgt", tgt, tgt_pad), ("labels", labels, tgt_pad)):
        tensors[name] = ids[~pad].to(torch.int64)
    tensors["src_lengths"], tensors["tgt_lengths"] = torch.tensor(SRC_LENGTHS), torch.tensor(TGT_LENGTHS)
    tensors["losses"] = losses_of_updates(model, lambda: loss()[1])
    fixtures = pathlib.Path(__file__).parent / "fixtures"
    save_file(tensors, fixtures / f"transformer_{kind}.safetensors")
    print(kind, tensors["losses"].tolist())
