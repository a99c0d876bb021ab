"""Shared by the fixtures of models and ops: where they go, weights, ragged batches, and the losses of updates."""
import pathlib

import torch
from safetensors.torch import save_file

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


def save(name, tensors):
    save_file({key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}, FIXTURES / f"{name}.safetensors")
    if "losses" in tensors:
        print(name, tensors["losses"].tolist())


def scatter(model, shift=0.2):
    """Weights that no gradient vanishes under; `shift` is added to biases and the like."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (shift if parameter.dim() == 1 else 0))


def weights(model):
    return {"weight." + name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def gradients(model):
    return {"gradient." + name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def padded(lengths, vocabulary):
    """Random ids, zero behind the end of each sentence, and where that is."""
    ids = torch.randint(4, vocabulary, (len(lengths), max(lengths)))
    pad = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    return ids.masked_fill(pad, 0), pad


def pairs(src_lengths, tgt_lengths, vocabulary):
    """A ragged batch: (ids, pad) of the sources and of the targets, labels, and the tensors that a fixture has of them."""
    src, tgt = padded(src_lengths, vocabulary), padded(tgt_lengths, vocabulary)
    labels, _ = padded(tgt_lengths, vocabulary)
    named = (("src", *src), ("tgt", *tgt), ("labels", labels, tgt[1]))
    return src, tgt, labels, {name: ids[~pad] for name, ids, pad in named} | {
        "src_lengths": torch.tensor(src_lengths), "tgt_lengths": torch.tensor(tgt_lengths)}


def losses_of_updates(model, loss, count=10, rate=1e-3):
    """What loss() is before each of `count` updates by AdamW."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.01)
    losses = []
    for _ in range(count):
        optimiser.zero_grad()
        value = loss()
        value.backward()
        losses.append(value.item())
        optimiser.step()
    return torch.tensor(losses)
