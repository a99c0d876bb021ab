"""Writes fixtures/luong*.safetensors: the encoder-decoder of arXiv 1508.04025 by torch.nn.LSTM over packed sequences and a
decoder written out step by step, with label smoothing, at small odd sizes: weights, a ragged batch, hidden states, attention
weights, every gradient, and the losses of ten AdamW steps. `luong` has the general score, a bidirectional encoder, input feeding and tied
embeddings; luong_one_way none of the last three, and a decoder deeper than its encoder; the others have another score.
Run: python tests/parity/make_fixtures_rnn.py"""
import math
import pathlib

import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fixture_support import losses_of_updates, padded

VOCABULARY = 23
SRC_LENGTHS, TGT_LENGTHS = [5, 1, 7, 3], [2, 6, 1, 5]


# Of queries [B, H] and keys [B, S, A].
SCORES = {
    "dot": lambda q, k: torch.einsum("bh,bsh->bs", q, k),
    "scaled_dot": lambda q, k: torch.einsum("bh,bsh->bs", q, k) / math.sqrt(k.shape[-1]),
    "general": lambda q, k: torch.einsum("bh,bsh->bs", q, k),  # over keys that were mapped
}


class Reference(torch.nn.Module):
    def __init__(self, both_ways, feeding, tied, encoder_layers, decoder_layers, width=13, score="general"):
        super().__init__()
        direction = width if score == "general" or not both_ways else width // 2
        linear, memory = torch.nn.Linear, (2 if both_ways else 1) * direction
        self.width, self.score = width, SCORES[score]
        self.both_ways, self.feeding, self.decoder_layers = both_ways, feeding, decoder_layers
        if tied:
            self.embedding = torch.nn.Embedding(VOCABULARY, width)
        else:
            self.tgt_embedding = torch.nn.Embedding(VOCABULARY, width)
            self.src_embedding = torch.nn.Embedding(VOCABULARY, width)
        self.tables = (self.embedding, self.embedding) if tied else (self.src_embedding, self.tgt_embedding)
        self.encoder = torch.nn.LSTM(width, direction, encoder_layers, batch_first=True, bidirectional=both_ways)
        for layer in range(decoder_layers):
            self.add_module(f"bridge_hidden_l{layer}", linear(memory, width))
            self.add_module(f"bridge_cell_l{layer}", linear(memory, width))
        self.attention = torch.nn.Module()
        if score == "general":
            self.attention.key = linear(memory, width, bias=False)
        self.decoder = torch.nn.LSTM(2 * width if feeding else width, width, decoder_layers, batch_first=True)
        self.combine = linear(memory + width, width, bias=False)

    def forward(self, src, src_pad, tgt):
        embedded_src, embedded_tgt = (table(ids) * math.sqrt(self.width) for table, ids in zip(self.tables, (src, tgt)))
        packed = pack_padded_sequence(embedded_src, SRC_LENGTHS, batch_first=True, enforce_sorted=False)
        output, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(output, batch_first=True)
        # The directions of a layer, side by side; a deeper decoder starts from the top.
        hidden, cell = ([torch.cat([x[0::2], x[1::2]], -1)[l] if self.both_ways else x[l] for l in range(len(x) // (1 + self.both_ways))]
                        for x in last)
        layers = [(l, min(l, len(hidden) - 1)) for l in range(self.decoder_layers)]
        state = (torch.stack([self.get_submodule(f"bridge_hidden_l{l}")(hidden[of]).tanh() for l, of in layers]),
                 torch.stack([self.get_submodule(f"bridge_cell_l{l}")(cell[of]) for l, of in layers]))
        attentional, result, attention = torch.zeros(len(src), self.width), [], []
        for embedded in embedded_tgt.unbind(1):
            step = torch.cat([embedded, attentional], -1) if self.feeding else embedded
            h, state = self.decoder(step[:, None], state)
            keys = self.attention.key(memory) if hasattr(self.attention, "key") else memory
            weights = self.score(h[:, 0], keys).masked_fill(src_pad, -torch.inf).softmax(-1)
            context = torch.einsum("bs,bsv->bv", weights, memory)
            attentional = self.combine(torch.cat([context, h[:, 0]], -1)).tanh()
            result.append(attentional)
            attention.append(weights)
        return torch.stack(result, 1), torch.stack(attention, 1)


def write(file, model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    src, src_pad = padded(SRC_LENGTHS, VOCABULARY)
    tgt, tgt_pad = padded(TGT_LENGTHS, VOCABULARY)
    labels, _ = padded(TGT_LENGTHS, VOCABULARY)

    def loss():
        states, attention = model(src, src_pad, tgt)
        hidden = states[~tgt_pad]
        logits = hidden @ model.tables[1].weight.T
        return hidden, attention, torch.nn.functional.cross_entropy(logits, labels[~tgt_pad], label_smoothing=0.1, reduction="sum")

    tensors = {"weight." + name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    hidden, attention, value = loss()
    value.backward()
    tensors |= {"gradient." + name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    tensors["hidden"] = hidden.detach()
    tensors["attention"] = (attention * ~tgt_pad[..., None]).detach()[:, None]  # [B, 1, T, S]; no padding asks
    for name, ids, pad in (("src", src, src_pad), ("tgt", tgt, tgt_pad), ("labels", labels, tgt_pad)):
        tensors[name] = ids[~pad]
    tensors["src_lengths"], tensors["tgt_lengths"] = torch.tensor(SRC_LENGTHS), torch.tensor(TGT_LENGTHS)
    tensors["losses"] = losses_of_updates(model, lambda: loss()[2])
    save_file(tensors, pathlib.Path(__file__).parent / "fixtures" / f"{file}.safetensors")
    print(file, tensors["losses"].tolist())


torch.manual_seed(20261121)
write("luong", Reference(both_ways=True, feeding=True, tied=True, encoder_layers=2, decoder_layers=2))
write("luong_one_way", Reference(both_ways=False, feeding=False, tied=False, encoder_layers=1, decoder_layers=2))
for score in "dot", "scaled_dot":
    write(f"luong_{score}", Reference(both_ways=True, feeding=True, tied=True, encoder_layers=2, decoder_layers=2, width=14, score=score))
