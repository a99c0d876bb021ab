"""What the fixtures of whole models share: ragged batches, and the losses of ten updates."""
import torch


def padded(lengths, vocabulary):
    """Random ids, zero behind the end of each sentence, and where that is."""
    ids = torch.randint(4, vocabulary, (len(lengths), max(lengths)))
    pad = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    return ids.masked_fill(pad, 0), pad


def losses_of_updates(model, loss):
    """What loss() is before each of ten updates by AdamW."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.01)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        value = loss()
        value.backward()
        losses.append(value.item())
        optimiser.step()
    return torch.tensor(losses)
