"""Writes fixtures/hybrid.safetensors: a hybrid language model (Charpentier and Samuel 2024, arXiv 2410.24159) by torch.nn.TransformerEncoder,
which reads two texts under a causal mask, where each state predicts the next token, and three without a mask, where the state before each
masked token predicts it. Weights, states, every gradient of the mean over sequences, and the losses of ten AdamW steps.
Run: python tests/parity/make_fixtures_hybrid.py"""
import torch
from fixture_support import gradients, losses_of_updates, padded, save, scatter, weights

VOCABULARY, WIDTH, HEADS, INNER, LONGEST = 23, 12, 3, 19, 9
CAUSAL, MASKED = [7, 4], [5, 9, 3]  # lengths
PLACES = [[1, 3], [2, 3, 7], [1]]  # of masked tokens in each text


class Reference(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.position_embedding = torch.nn.Embedding(LONGEST, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, dropout=0, activation="gelu", batch_first=True, norm_first=True)
        self.decoder = torch.nn.TransformerEncoder(layer, 2, norm=torch.nn.LayerNorm(WIDTH), enable_nested_tensor=False)

    def forward(self, ids, pad, causal):
        length = ids.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1) if causal else None
        return self.decoder(self.embedding(ids) + self.position_embedding.weight[:length], mask, pad)


torch.manual_seed(20261128)
model = Reference()
scatter(model)
(causal, causal_pad), (masked, masked_pad) = padded(CAUSAL, VOCABULARY), padded(MASKED, VOCABULARY)
causal_labels = padded(CAUSAL, VOCABULARY)[0][~causal_pad]
rows, places = zip(*((text, place) for text, of_text in enumerate(PLACES) for place in of_text))
masked_labels = torch.randint(4, VOCABULARY, (len(rows),))
masked[rows, places] = torch.where(torch.arange(len(rows)) % 3 > 0, 3, masked[rows, places])  # [MASK], or the token itself
before = torch.tensor(places) - 1


def states():
    return model(causal, causal_pad, causal=True)[~causal_pad], model(masked, masked_pad, causal=False)[rows, before]


def loss():
    means = [torch.nn.functional.cross_entropy(hidden @ model.embedding.weight.T, labels)
             for hidden, labels in zip(states(), (causal_labels, masked_labels))]
    return (len(CAUSAL) * means[0] + len(MASKED) * means[1]) / (len(CAUSAL) + len(MASKED))


def ours(tensors):
    return {name.replace("in_proj_", "in_proj."): tensor for name, tensor in tensors.items()}


tensors = ours(weights(model))
loss().backward()
tensors |= ours(gradients(model))
begins = torch.tensor([0, *MASKED]).cumsum(0)[list(rows)]
tensors |= {"causal.ids": causal[~causal_pad], "causal.lengths": torch.tensor(CAUSAL), "causal.labels": causal_labels,
            "masked.ids": masked[~masked_pad], "masked.lengths": torch.tensor(MASKED), "masked.labels": masked_labels,
            "masked.rows": begins + torch.tensor(places)}
tensors["causal.hidden"], tensors["masked.hidden"] = states()
tensors["losses"] = losses_of_updates(model, loss)
save("hybrid", tensors)
