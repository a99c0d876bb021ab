"""Writes fixtures/language_{lstm,gru,tanh}.safetensors: recurrent language models by torch.nn.LSTM, GRU and RNN over packed texts, whose
output table is that of the embeddings, with label smoothing, at small odd sizes. Two segments of each text are read one after another,
the second from the state after the first, without its gradient: weights, hidden states, states, every gradient of the sum of both losses,
and the losses of ten AdamW steps. Run: python tests/parity/make_fixtures_language.py"""
import math

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fixture_support import gradients, losses_of_updates, padded, save, scatter, weights

VOCABULARY, WIDTH, LAYERS = 23, 13, 2
LENGTHS = {"first": [5, 1, 7, 3], "second": [2, 6, 1, 4]}  # of each text's segments
CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "tanh": torch.nn.RNN}


class Reference(torch.nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.layers = CELLS[cell](WIDTH, WIDTH, LAYERS, batch_first=True)

    def forward(self, ids, lengths, state):
        x = self.embedding(ids) * math.sqrt(WIDTH)
        output, state = self.layers(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False), state)
        return pad_packed_sequence(output, batch_first=True)[0], state


def parts_of(state):
    """The parts of each layer's state, from the bottom: an LSTM's hidden state and cell."""
    parts = state if isinstance(state, tuple) else (state,)
    return [part[layer] for layer in range(LAYERS) for part in parts]


def write(cell):
    torch.manual_seed(20261126)
    model = Reference(cell)
    scatter(model, shift=0)
    segments = {name: padded(lengths, VOCABULARY) for name, lengths in LENGTHS.items()}
    labels = {name: padded(lengths, VOCABULARY)[0] for name, lengths in LENGTHS.items()}

    def read():
        """The hidden states and the state after each segment, and the sum of the losses."""
        hidden, states, state, loss = {}, {}, None, 0
        for name, (ids, pad) in segments.items():
            output, state = model(ids, torch.tensor(LENGTHS[name]), state)
            state = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
            hidden[name], states[name] = output[~pad], parts_of(state)
            logits = hidden[name] @ model.embedding.weight.T
            loss = loss + torch.nn.functional.cross_entropy(logits, labels[name][~pad], label_smoothing=0.1, reduction="sum")
        return hidden, states, loss

    tensors = weights(model)
    hidden, states, loss = read()
    loss.backward()
    tensors |= gradients(model)
    for name, (ids, pad) in segments.items():
        tensors |= {f"{name}.ids": ids[~pad], f"{name}.labels": labels[name][~pad], f"{name}.lengths": torch.tensor(LENGTHS[name]),
                    f"{name}.hidden": hidden[name]}
        tensors |= {f"{name}.state.{i}": part for i, part in enumerate(states[name])}
    tensors["losses"] = losses_of_updates(model, lambda: read()[2])
    save(f"language_{cell}", tensors)


for cell in CELLS:
    write(cell)
