"""Writes fixtures/permuted_{learned,rotary}.safetensors: two-stream attention (Yang et al. 2019, arXiv 1906.08237, section 2.3) in plain
PyTorch, sentence by sentence, head by head and one token at a time: weights, a ragged batch with the ranks of its tokens, the query stream
of those that are predicted, the loss, every gradient, and the losses of ten AdamW steps.
Run: python tests/parity/make_fixtures_permuted.py"""
import types

import torch
import torch.nn.functional as F

from fixture_support import losses_of_updates, save

VOCABULARY, QUERY, WIDTH, HEADS, INNER, LAYERS, LONGEST = 17, 4, 8, 2, 11, 2, 9
# Of each sentence: when its tokens become known, and which of them are predicted.
RANKS = [[0, 2, 4, 1, 3, 0], [0, 1, 0], [3, 0, 6, 1, 7, 2, 5, 4], [0, 0, 1, 1, 1]]
PREDICTED = [[2], [1], [2, 4, 6], [2, 4]]


def parameters(positions):
    """Random ones, by attend's names."""
    shapes = {"bert.embeddings.word_embeddings.weight": (VOCABULARY, WIDTH), "bert.embeddings.token_type_embeddings.weight": (2, WIDTH)}
    if positions == "learned":
        shapes["bert.embeddings.position_embeddings.weight"] = (LONGEST, WIDTH)

    def add(name, out, columns=None):
        shapes[name + ".weight"] = (out,) if columns is None else (out, columns)
        shapes[name + ".bias"] = (out,)

    add("bert.embeddings.LayerNorm", WIDTH)
    for layer in range(LAYERS):
        name = f"bert.encoder.layers.{layer}."
        add(name + "self_attn.in_proj", 3 * WIDTH, WIDTH)
        add(name + "self_attn.out_proj", WIDTH, WIDTH)
        add(name + "norm1", WIDTH)
        add(name + "linear1", INNER, WIDTH)
        add(name + "linear2", WIDTH, INNER)
        add(name + "norm2", WIDTH)
    shapes["predictions.bias"] = (VOCABULARY,)
    add("predictions.dense", WIDTH, WIDTH)
    add("predictions.LayerNorm", WIDTH)
    add("pooler.dense", WIDTH, WIDTH)  # this and the next are not read
    add("seq_relationship", 2, WIDTH)
    return {name: (torch.randn(shape) * 0.3 + (0.2 if len(shape) == 1 else 0)).requires_grad_() for name, shape in shapes.items()}


def turned(vector, place, positions):
    """Rotary positions (arXiv 2104.09864, eq. 34)."""
    if positions != "rotary":
        return vector
    columns = torch.arange(0, len(vector), 2)
    angle = place * 10000 ** (-columns / len(vector))
    even, odd = vector[columns], vector[columns + 1]
    return torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], 1).flatten()


class Model:
    def __init__(self, positions):
        self.positions, self.p = positions, parameters(positions)

    def linear(self, x, name):
        return x @ self.p[name + ".weight"].T + self.p[name + ".bias"]

    def norm(self, x, name):
        return F.layer_norm(x, (WIDTH,), self.p[name + ".weight"], self.p[name + ".bias"], 1e-12)

    def embedded(self, piece, place):
        x = self.p["bert.embeddings.word_embeddings.weight"][piece] + self.p["bert.embeddings.token_type_embeddings.weight"][0]
        if self.positions == "learned":
            x = x + self.p["bert.embeddings.position_embeddings.weight"][place]
        return self.norm(x, "bert.embeddings.LayerNorm")

    def block(self, name, x, place, seen):
        """What a row x at a place becomes that reads the rows `seen`, {place: row}."""
        weights, biases = (self.p[f"{name}.self_attn.in_proj.{part}"].chunk(3) for part in ("weight", "bias"))
        heads = []
        for head in range(HEADS):
            columns = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            q = turned((weights[0] @ x + biases[0])[columns], place, self.positions)
            keys = torch.stack([turned((weights[1] @ row + biases[1])[columns], j, self.positions) for j, row in seen.items()])
            values = torch.stack([(weights[2] @ row + biases[2])[columns] for row in seen.values()])
            heads.append(torch.softmax(keys @ q / (WIDTH // HEADS) ** 0.5, 0) @ values)
        x = self.norm(x + self.linear(torch.cat(heads), name + ".self_attn.out_proj"), name + ".norm1")
        return self.norm(x + self.linear(F.gelu(self.linear(x, name + ".linear1")), name + ".linear2"), name + ".norm2")

    def queries(self, ids, ranks, predicted):
        """The query stream of the predicted tokens of a sentence."""
        content = {place: self.embedded(piece, place) for place, piece in enumerate(ids)}
        query = {place: self.embedded(QUERY, place) for place in predicted}
        for layer in range(LAYERS):
            name = f"bert.encoder.layers.{layer}"
            query = {i: self.block(name, g, i, {j: h for j, h in content.items() if ranks[j] < ranks[i]}) for i, g in query.items()}
            content = {i: self.block(name, h, i, {j: k for j, k in content.items() if ranks[j] <= ranks[i]}) for i, h in content.items()}
        return torch.stack(list(query.values()))

    def loss(self, hidden, labels):
        read = self.norm(F.gelu(self.linear(hidden, "predictions.dense")), "predictions.LayerNorm")
        logits = read @ self.p["bert.embeddings.word_embeddings.weight"].T + self.p["predictions.bias"]
        return F.cross_entropy(logits, labels)


for positions in "learned", "rotary":
    torch.manual_seed(20261126)
    model = Model(positions)
    sentences = [torch.randint(5, VOCABULARY, (len(ranks),)).tolist() for ranks in RANKS]
    labels = torch.tensor([ids[place] for ids, places in zip(sentences, PREDICTED) for place in places])

    def queries():
        return torch.cat([model.queries(*sentence) for sentence in zip(sentences, RANKS, PREDICTED)])

    def objective():
        return model.loss(queries(), labels)

    begins = [sum(map(len, sentences[:b])) for b in range(len(sentences))]
    tensors = {f"weight.{name}": parameter.detach().clone() for name, parameter in model.p.items()}
    tensors |= {"ids": torch.tensor(sum(sentences, [])), "lengths": torch.tensor([len(ids) for ids in sentences]),
                "ranks": torch.tensor(sum(RANKS, [])), "labels": labels,
                "predicted": torch.tensor([begin + place for begin, places in zip(begins, PREDICTED) for place in places]),
                "queries": queries().detach(), "loss": objective().detach()}
    objective().backward()
    tensors |= {f"gradient.{name}": torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
                for name, parameter in model.p.items()}
    tensors["losses"] = losses_of_updates(types.SimpleNamespace(parameters=lambda: list(model.p.values())), objective)
    save(f"permuted_{positions}", tensors)
