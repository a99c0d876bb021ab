"""Shared by the fixtures of whole models: ragged batches, and the losses of updates."""
import torch


def padded(lengths, vocabulary):
    """Random ids, zero behind the end of each sentence, and where that is."""
    ids = torch.randint(4, vocabulary, (len(lengths), max(lengths)))
    pad = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    return ids.masked_fill(pad, 0), pad


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
