"""Writes fixtures/language_{lstm,gru,tanh}.safetensors: recurrent language models by torch.nn.LSTM, GRU and RNN over packed texts, whose
output table is that of the embeddings, with label smoothing, at small odd sizes. Two segments of each text are read one after another,
the second from the state after the first, without its gradient: weights, hidden states, states, every gradient of the sum of both losses,
and the losses of ten AdamW steps. Run: python tests/parity/make_fixtures_language.py"""
import math
import pathlib

import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fixture_support import losses_of_updates, padded

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
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
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

    tensors = {"weight." + name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    hidden, states, loss = read()
    loss.backward()
    tensors |= {"gradient." + name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    for name, (ids, pad) in segments.items():
        tensors |= {f"{name}.ids": ids[~pad], f"{name}.labels": labels[name][~pad], f"{name}.lengths": torch.tensor(LENGTHS[name]),
                    f"{name}.hidden": hidden[name].detach()}
        tensors |= {f"{name}.state.{i}": part.clone() for i, part in enumerate(states[name])}
    tensors["losses"] = losses_of_updates(model, lambda: read()[2])
    save_file(tensors, pathlib.Path(__file__).parent / "fixtures" / f"language_{cell}.safetensors")
    print(cell, tensors["losses"].tolist())


for cell in CELLS:
    write(cell)
