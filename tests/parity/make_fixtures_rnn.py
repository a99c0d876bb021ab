"""Writes fixtures/{luong,bahdanau,fixed}*.safetensors: recurrent encoder-decoders by torch.nn.LSTM, GRU and RNN over packed sequences
and a decoder written out step by step, with label smoothing, at small odd sizes: weights, a ragged batch, hidden states, attention
weights, every gradient, and the losses of ten AdamW steps. The orders are those of arXiv 1508.04025 (luong), 1409.0473 (bahdanau),
and 1409.3215 and 1406.1078 (fixed). Run: python tests/parity/make_fixtures_rnn.py"""
import math

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fixture_support import gradients, losses_of_updates, pairs, save, scatter, weights

VOCABULARY = 23
SRC_LENGTHS, TGT_LENGTHS = [5, 1, 7, 3], [2, 6, 1, 5]
CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "tanh": torch.nn.RNN}
Linear = torch.nn.Linear


def phi(x):
    return torch.where(x > 0, x + 1, x.exp())


class Score(torch.nn.Module):
    """Of queries [B, H] and the memory [B, S, W], plus what coverage adds to the keys [B, S, A]."""

    def __init__(self, kind, width, memory, longest):
        super().__init__()
        self.kind = kind
        if kind in ("general", "rbf", "elu1", "additive"):
            self.key = Linear(memory, width, bias=False)
        if kind == "additive":
            self.query = Linear(width, width, bias=False)
            self.energy = Linear(width, 1, bias=False)
        if kind == "location":
            self.position = Linear(width, longest, bias=False)
        if kind == "rbf":
            self.log_precision = torch.nn.Parameter(torch.zeros(1))
        if kind == "cosine":
            self.scale = torch.nn.Parameter(torch.zeros(1))

    def forward(self, q, memory, more):
        if self.kind == "location":
            return self.position(q)[:, : memory.shape[1]]
        keys = self.key(memory) if hasattr(self, "key") else memory
        if self.kind == "scaled_dot":
            keys = keys / math.sqrt(keys.shape[-1])
        keys = keys + more
        if self.kind == "additive":
            return self.energy(torch.tanh(self.query(q)[:, None] + keys))[..., 0]
        if self.kind == "rbf":
            return -self.log_precision.exp() * ((q[:, None] - keys) ** 2).sum(-1)
        if self.kind == "cosine":
            return self.scale * torch.cosine_similarity(q[:, None], keys, dim=-1)
        if self.kind == "elu1":
            return (phi(q)[:, None] * phi(keys)).sum(-1).log()
        return (q[:, None] * keys).sum(-1)


class Reference(torch.nn.Module):
    def __init__(self, family="luong", cell="lstm", reading="both", feeding=True, tied=True, encoder_layers=2, decoder_layers=2, width=13,
                 score="general", scope="global", window=0, keys="hidden", values="hidden", coverage=False, every=False,
                 longest=8):
        super().__init__()
        both = reading == "both"
        direction = width // 2 if both and score in ("dot", "scaled_dot", "cosine") else width
        memory = (2 if both else 1) * direction
        self.__dict__.update(family=family, cell=cell, reading=reading, feeding=feeding, decoder_layers=decoder_layers, width=width,
                             scope_kind=scope, window=window, keys=keys, values=values, every=every, direction=direction)
        if tied:
            self.embedding = torch.nn.Embedding(VOCABULARY, width)
        else:
            self.tgt_embedding = torch.nn.Embedding(VOCABULARY, width)
            self.src_embedding = torch.nn.Embedding(VOCABULARY, width)
        self.tables = (self.embedding, self.embedding) if tied else (self.src_embedding, self.tgt_embedding)
        self.encoder = CELLS[cell](width, direction, encoder_layers, batch_first=True, bidirectional=both)
        for layer in range(decoder_layers):
            for part in ("hidden", "cell") if cell == "lstm" else ("hidden",):
                self.add_module(f"bridge_{part}_l{layer}", Linear(direction if family == "bahdanau" else memory, width))
        if family != "fixed":
            self.attention = Score(score, width, memory, longest)
        if scope == "local_p":
            self.scope = torch.nn.Module()
            self.scope.inner = Linear(width, width, bias=False)
            self.scope.centre = Linear(width, 1, bias=False)
        if coverage:
            self.coverage = torch.nn.Module()
            self.coverage.weight = torch.nn.Parameter(torch.zeros(width))
        more = {"luong": width if feeding else 0, "bahdanau": memory, "fixed": memory if every else 0}[family]
        self.decoder = CELLS[cell](width + more, width, decoder_layers, batch_first=True)
        if family == "bahdanau":
            self.readout = Linear(2 * width + memory, 2 * width)
        else:
            self.combine = Linear((memory if family == "luong" or every else 0) + width, width, bias=False)

    def encode(self, src):
        """Hidden states and, of a forward LSTM of one layer, memories of every token; the final states of each layer as parts."""
        x = self.tables[0](src) * math.sqrt(self.width)
        lengths = torch.tensor(SRC_LENGTHS)
        if self.reading == "reversed":
            at = (lengths[:, None] - 1 - torch.arange(x.shape[1])).clamp_min(0)[..., None]
            x = x.gather(1, at.expand_as(x))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, last = self.encoder(packed)
        hidden, _ = pad_packed_sequence(output, batch_first=True)
        if self.reading == "reversed":
            hidden = hidden.gather(1, at.expand(-1, -1, hidden.shape[2]))
        cells, state = [], None
        if "cell" in (self.keys, self.values):
            for t in range(x.shape[1]):
                _, state = self.encoder(x[:, t : t + 1], state)
                cells.append(state[1][-1])
        parts = last if isinstance(last, tuple) else (last,)
        if self.reading == "both":  # the directions of a layer, side by side
            parts = [torch.cat([part[0::2], part[1::2]], -1) for part in parts]
        return {"hidden": hidden, "cell": torch.stack(cells, 1) if cells else None}, parts

    def attend(self, query, memory, pad, step, past):
        more = past[..., None] * self.coverage.weight if hasattr(self, "coverage") else 0
        energies = self.attention(query, memory[self.keys], more)
        position, lengths = torch.arange(energies.shape[1]), torch.tensor(SRC_LENGTHS)[:, None]
        outside, factor = pad, 1
        if self.scope_kind == "local_m":
            outside = outside | ((position - (lengths - 1).clamp_max(step)).abs() > self.window)
        if self.scope_kind == "local_p":
            centre = lengths * torch.sigmoid(self.scope.centre(torch.tanh(self.scope.inner(query))))
            outside = outside | ((position - centre).abs() > self.window)
            factor = torch.exp(-((position - centre) ** 2) / (2 * (self.window / 2) ** 2))
        weights = energies.masked_fill(outside, -torch.inf).softmax(-1) * factor
        return torch.einsum("bs,bsv->bv", weights, memory[self.values]), weights

    def forward(self, src, src_pad, tgt):
        memory, last = self.encode(src)
        state = []
        for part, name in enumerate(("hidden", "cell")[: len(last)]):
            layers = []
            for layer in range(self.decoder_layers):
                of = last[part][min(layer, len(last[part]) - 1)]
                if self.family == "bahdanau":
                    of = of[:, -self.direction :]
                if self.family == "fixed":
                    of = last[0][-1]
                start = self.get_submodule(f"bridge_{name}_l{layer}")(of)
                layers.append(start.tanh() if name == "hidden" else start)
            state.append(torch.stack(layers))
        state = tuple(state) if len(state) > 1 else state[0]
        fixed = last[0][-1]
        previous, past, result, attention = torch.zeros(len(src), self.width), torch.zeros(src.shape), [], []
        for step, e in enumerate((self.tables[1](tgt) * math.sqrt(self.width)).unbind(1)):
            weights = torch.zeros(src.shape)
            if self.family == "luong":
                h, state = self.decoder((torch.cat([e, previous], -1) if self.feeding else e)[:, None], state)
                context, weights = self.attend(h[:, 0], memory, src_pad, step, past)
                previous = self.combine(torch.cat([context, h[:, 0]], -1)).tanh()
            elif self.family == "bahdanau":
                query = (state[0] if isinstance(state, tuple) else state)[-1]
                context, weights = self.attend(query, memory, src_pad, step, past)
                _, state = self.decoder(torch.cat([e, context], -1)[:, None], state)
                t = self.readout(torch.cat([query, e, context], -1))
                previous = torch.maximum(t[:, 0::2], t[:, 1::2])
            else:
                h, state = self.decoder((torch.cat([e, fixed], -1) if self.every else e)[:, None], state)
                previous = self.combine(torch.cat([fixed, h[:, 0]], -1) if self.every else h[:, 0]).tanh()
            past = past + weights
            result.append(previous)
            attention.append(weights)
        return torch.stack(result, 1), torch.stack(attention, 1)


def write(file, **config):
    torch.manual_seed(20261121)
    model = Reference(**config)
    scatter(model, shift=0)
    (src, src_pad), (tgt, tgt_pad), labels, tensors = pairs(SRC_LENGTHS, TGT_LENGTHS, VOCABULARY)

    def loss():
        states, attention = model(src, src_pad, tgt)
        hidden = states[~tgt_pad]
        logits = hidden @ model.tables[1].weight.T
        return hidden, attention, torch.nn.functional.cross_entropy(logits, labels[~tgt_pad], label_smoothing=0.1, reduction="sum")

    tensors |= weights(model)
    tensors["hidden"], attention, value = loss()
    value.backward()
    tensors |= gradients(model)
    if model.family != "fixed":
        tensors["attention"] = (attention * ~tgt_pad[..., None])[:, None]  # [B, 1, T, S]; no padding asks
    tensors["losses"] = losses_of_updates(model, lambda: loss()[2])
    save(file, tensors)


write("luong")
write("luong_one_way", reading="forward", feeding=False, tied=False, encoder_layers=1)
for score in "dot", "scaled_dot", "cosine":
    write(f"luong_{score}", width=14, score=score)
for score in "additive", "location", "rbf", "elu1":
    write(f"luong_{score}", score=score)
for cell in "gru", "tanh":
    write(f"luong_{cell}", cell=cell)
write("luong_local_m", scope="local_m", window=2)
write("luong_local_p", scope="local_p", window=2)
write("luong_memory", reading="forward", encoder_layers=1, keys="cell", values="cell")
write("luong_coverage", score="additive", coverage=True)
write("bahdanau", family="bahdanau", cell="gru", score="additive", encoder_layers=1, decoder_layers=1)
write("bahdanau_lstm", family="bahdanau", reading="reversed", score="general")
write("fixed", family="fixed", reading="reversed")
write("fixed_every", family="fixed", cell="gru", every=True)
