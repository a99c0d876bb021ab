"""Writes fixtures/luong.safetensors: the encoder-decoder of arXiv 1508.04025 by torch.nn.LSTM over packed sequences and a
decoder written out step by step, with general attention, input feeding, a bidirectional encoder, tied embeddings and
label smoothing, at small odd sizes: weights, a ragged batch, hidden states, every gradient, and the losses of ten AdamW
steps. Run: python tests/parity/make_fixtures_rnn.py"""
import math
import pathlib

import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

WIDTH, LAYERS, VOCABULARY = 13, 2, 23
SRC_LENGTHS, TGT_LENGTHS = [5, 1, 7, 3], [2, 6, 1, 5]


class Reference(torch.nn.Module):
    def __init__(self):
        super().__init__()
        linear = torch.nn.Linear
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = torch.nn.LSTM(WIDTH, WIDTH, LAYERS, batch_first=True, bidirectional=True)
        for layer in range(LAYERS):
            self.add_module(f"bridge_hidden_l{layer}", linear(2 * WIDTH, WIDTH))
            self.add_module(f"bridge_cell_l{layer}", linear(2 * WIDTH, WIDTH))
        self.attention = torch.nn.Module()
        self.attention.key = linear(2 * WIDTH, WIDTH, bias=False)
        self.decoder = torch.nn.LSTM(2 * WIDTH, WIDTH, LAYERS, batch_first=True)
        self.combine = linear(3 * WIDTH, WIDTH, bias=False)

    def embed(self, ids):
        return self.embedding(ids) * math.sqrt(WIDTH)

    def forward(self, src, src_pad, tgt):
        packed = pack_padded_sequence(self.embed(src), SRC_LENGTHS, batch_first=True, enforce_sorted=False)
        output, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(output, batch_first=True)
        both = [torch.cat([x[0::2], x[1::2]], -1) for x in last]  # the directions of a layer, side by side
        hidden = [self.get_submodule(f"bridge_hidden_l{l}")(both[0][l]).tanh() for l in range(LAYERS)]
        cell = [self.get_submodule(f"bridge_cell_l{l}")(both[1][l]) for l in range(LAYERS)]
        state = torch.stack(hidden), torch.stack(cell)
        attentional, result = torch.zeros(len(src), WIDTH), []
        for embedded in self.embed(tgt).unbind(1):
            h, state = self.decoder(torch.cat([embedded, attentional], -1)[:, None], state)
            scores = torch.einsum("bh,bsh->bs", h[:, 0], self.attention.key(memory))
            weights = scores.masked_fill(src_pad, -torch.inf).softmax(-1)
            context = torch.einsum("bs,bsv->bv", weights, memory)
            attentional = self.combine(torch.cat([context, h[:, 0]], -1)).tanh()
            result.append(attentional)
        return torch.stack(result, 1)


def padded(lengths):
    ids = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)))
    pad = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    return ids.masked_fill(pad, 0), pad


torch.manual_seed(20261121)
model = Reference()
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.3)
src, src_pad = padded(SRC_LENGTHS)
tgt, tgt_pad = padded(TGT_LENGTHS)
labels, _ = padded(TGT_LENGTHS)


def loss():
    hidden = model(src, src_pad, tgt)[~tgt_pad]
    logits = hidden @ model.embedding.weight.T
    return hidden, torch.nn.functional.cross_entropy(logits, labels[~tgt_pad], label_smoothing=0.1, reduction="sum")


tensors = {"weight." + name: parameter.detach().clone() for name, parameter in model.named_parameters()}
hidden, value = loss()
value.backward()
tensors |= {"gradient." + name: parameter.grad.clone() for name, parameter in model.named_parameters()}
tensors["hidden"] = hidden.detach()
for name, ids, pad in (("src", src, src_pad), ("tgt", tgt, tgt_pad), ("labels", labels, tgt_pad)):
    tensors[name] = ids[~pad]
tensors["src_lengths"], tensors["tgt_lengths"] = torch.tensor(SRC_LENGTHS), torch.tensor(TGT_LENGTHS)
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.01)
losses = []
for _ in range(10):
    optimiser.zero_grad()
    _, value = loss()
    value.backward()
    losses.append(value.item())
    optimiser.step()
tensors["losses"] = torch.tensor(losses)
save_file(tensors, pathlib.Path(__file__).parent / "fixtures" / "luong.safetensors")
print(losses)
