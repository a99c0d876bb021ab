"""Writes fixtures/poolings.safetensors: every pooling of hidden states in PyTorch at small odd sizes, two texts per sequence, one
of them empty in one sequence: weights, outputs and the gradient of everything; and fixtures/text_model_lstm_{last,alignment}
.safetensors: a bidirectional torch.nn.LSTM below a head of labels with such a pooling: logits, every gradient, and the losses of
ten AdamW steps.
Run: python tests/parity/make_fixtures_poolings.py"""
import math

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bert_support import LENGTHS, VOCABULARY, batch
from fixture_support import gradients, losses_of_updates, save, scatter, weights

WIDTH, LABELS = 10, 3


class Cls(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden, last, real, second):
        return self.dense(hidden[:, 0]).tanh()


class Last(torch.nn.Module):
    def forward(self, hidden, last, real, second):
        return last


class Mean(torch.nn.Module):
    def forward(self, hidden, last, real, second):
        return torch.stack([states[there].mean(0) for states, there in zip(hidden, real)])


class Attention(torch.nn.Module):
    """Yang et al. 2016, eq. 5 to 7."""

    def __init__(self):
        super().__init__()
        self.projection, self.query = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 1, bias=False)

    def forward(self, hidden, last, real, second):
        scores = self.query(self.projection(hidden).tanh()).squeeze(2)
        weights = scores.masked_fill(~real, -torch.inf).softmax(1)
        return (weights[:, :, None] * hidden).sum(1)


class Alignment(torch.nn.Module):
    """arXiv 1606.01933 and 1609.06038, one sequence after another; a text without tokens gives zeros."""

    def __init__(self):
        super().__init__()
        self.compare, self.dense = torch.nn.Linear(4 * WIDTH, WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def of_text(self, text, other):
        if len(text) == 0:
            return torch.zeros(2 * WIDTH)
        met = torch.zeros_like(text)
        if len(other) > 0:
            met = torch.softmax(text @ other.T / math.sqrt(WIDTH), 1) @ other
        compared = torch.cat([text, met, text - met, text * met], 1)
        compared = self.compare(compared).relu()
        return torch.cat([compared.mean(0), compared.max(0).values])

    def forward(self, hidden, last, real, second):
        rows = []
        for states, there, of_second in zip(hidden, real, second):
            a, b = states[there & ~of_second], states[there & of_second]
            rows.append(torch.cat([self.of_text(a, b), self.of_text(b, a)]))
        return self.dense(torch.stack(rows)).tanh()


class LstmModel(torch.nn.Module):
    def __init__(self, pooling, layers):
        super().__init__()
        self.lstm = torch.nn.Module()
        self.lstm.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.lstm.layers = torch.nn.LSTM(WIDTH, WIDTH // 2, layers, batch_first=True, bidirectional=True)
        self.pooler = pooling
        self.classifier = torch.nn.Linear(WIDTH, LABELS)

    def forward(self, ids, real, second):
        embedded = self.lstm.embedding(ids) * math.sqrt(WIDTH)
        packed = pack_padded_sequence(embedded, LENGTHS, batch_first=True, enforce_sorted=False)
        output, (last, _) = self.lstm.layers(packed)
        hidden, _ = pad_packed_sequence(output, batch_first=True)
        return self.classifier(self.pooler(hidden, torch.cat([last[-2], last[-1]], 1), real, second))


torch.manual_seed(20261124)
ids, segments, real = batch()
segments[1] = 0  # no second text
second = segments.bool()
hidden = torch.randn(*ids.shape, WIDTH, requires_grad=True)
last = torch.randn(len(LENGTHS), WIDTH, requires_grad=True)
upstream = torch.randn(len(LENGTHS), WIDTH)
tensors = {"segments": segments[real], "ids": ids[real], "lengths": torch.tensor(LENGTHS), "hidden": hidden[real], "last": last,
           "upstream": upstream}
for name, pooling in ("cls", Cls()), ("last", Last()), ("mean", Mean()), ("attention", Attention()), ("alignment", Alignment()):
    scatter(pooling)
    hidden.grad = last.grad = None
    output = pooling(hidden, last, real, second)
    (output * upstream).sum().backward()
    tensors[f"{name}.output"] = output
    tensors[f"{name}.gradient.hidden"] = torch.zeros_like(hidden)[real] if hidden.grad is None else hidden.grad[real]
    tensors[f"{name}.gradient.last"] = torch.zeros_like(last) if last.grad is None else last.grad
    for parameter, tensor in pooling.named_parameters():
        tensors |= {f"{name}.weight.{parameter}": tensor, f"{name}.gradient.{parameter}": tensor.grad}
save("poolings", tensors)

for name, pooling, layers in ("lstm_last", Last(), 1), ("lstm_alignment", Alignment(), 2):
    model = LstmModel(pooling, layers)
    scatter(model)
    labels = torch.randint(0, LABELS, (len(LENGTHS),))
    tensors = weights(model)
    logits = model(ids, real, second)

    def objective():
        return torch.nn.functional.cross_entropy(model(ids, real, second), labels)

    objective().backward()
    tensors |= gradients(model)
    model.zero_grad()
    tensors |= {"ids": ids[real], "segments": segments[real], "lengths": torch.tensor(LENGTHS), "labels": labels, "answers": logits,
                "losses": losses_of_updates(model, objective)}
    save(f"text_model_{name}", tensors)
