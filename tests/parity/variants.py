"""The Transformer of attend in plain PyTorch, with an option for each of its parts: sentence by sentence and head by head, from a
dictionary of parameters under attend's names. Without dropout."""
import dataclasses
import math

import torch
import torch.nn.functional as F

VOCABULARY = 23
CLIP = 16  # relative positions
SIDES = {"encoder": "src", "decoder": "tgt"}


@dataclasses.dataclass
class Options:
    width: int = 12
    heads: int = 3
    feed_forward: int = 19
    encoder_layers: int = 2
    decoder_layers: int = 3
    tie_embeddings: bool = True
    score: str = "scaled-dot"
    projections: str = "all"
    attention_bias: bool = True
    self_attention: str = "attention"
    self_attention_in: str = "both"
    self_window: int = 0
    positions: str = "sinusoidal"
    max_positions: int = 0
    norm: str = "post"
    norm_kind: str = "layer"
    residual: bool = True
    activation: str = "relu"
    output_bias: bool = False

    def within(self, stack):
        """What stands in for self-attention in a stack, its projections, and how far it sees."""
        if self.self_attention_in in ("both", stack):
            return self.self_attention, self.projections, self.self_window
        return "attention", "all", 0

    def num_fixed(self):
        """Heads with a fixed pattern: all but one, at most seven."""
        return min(self.heads - 1, 7)


def shapes(options):
    """The shape of each parameter and buffer, by attend's name."""
    o, result = options, {}
    width, heads, size = o.width, o.heads, o.width // o.heads

    def linear(name, out, columns=width, bias=True):
        result[name + ".weight"] = (out, columns)
        if bias:
            result[name + ".bias"] = (out,)

    def norm(name):
        if o.norm == "none":
            return
        result[name + ".weight"] = (width,)
        if o.norm_kind != "rms":
            result[name + ".bias"] = (width,)
        if o.norm_kind == "batch":
            result[name + ".running_mean"] = result[name + ".running_var"] = (width,)

    def score(name, heads):
        if o.score in ("general", "additive", "rbf", "elu1"):
            result[name + ".key.weight"] = (heads * size, size)
        if o.score == "additive":
            result[name + ".query.weight"] = (heads * size, size)
            result[name + ".energy.weight"] = (heads, size)
        if o.score == "rbf":
            result[name + ".log_precision"] = (heads,)
        if o.score == "cosine":
            result[name + ".scale"] = (heads,)

    def attention_within(name, stack):
        kind, projections, _ = o.within(stack)
        if kind == "fourier":
            return
        compares = kind in ("attention", "dense-attention", "random-attention", "patterns")
        if projections == "all" and compares and kind != "patterns":
            linear(name + ".in_proj", 3 * width, bias=o.attention_bias)
        else:
            compared = width - o.num_fixed() * size if kind == "patterns" else width
            if projections in ("all", "shared-qk") and (compares or kind == "dense"):
                linear(name + ".q_proj", compared, bias=o.attention_bias)
            if projections == "all" and compares:
                linear(name + ".k_proj", compared, bias=o.attention_bias)
            if projections != "none":
                linear(name + ".v_proj", width, bias=o.attention_bias)
        if projections != "none":
            linear(name + ".out_proj", width, bias=o.attention_bias)
        table = {"dense": (heads * o.max_positions, size), "random": (heads, o.max_positions, o.max_positions)}
        if kind == "dense":
            result[name + ".score.energy.weight"] = table["dense"]
        elif kind in ("random", "fixed-random"):
            result[name + ".score.energy"] = table["random"]
        elif kind == "dense-attention":
            result[name + ".score.synthesizer.energy.weight"] = table["dense"]
        elif kind == "random-attention":
            result[name + ".score.synthesizer.energy"] = table["random"]
        if kind in ("dense-attention", "random-attention"):
            result[name + ".score.mixture"] = (2 * heads,)
            score(name + ".score.attention", heads)
        elif kind == "patterns":
            score(name + ".score.learnt", heads - o.num_fixed())
        elif kind == "attention":
            score(name + ".score", heads)
        if o.positions == "t5":
            result[name + ".scope.table"] = (heads, 32)
        if o.positions == "transformer-xl":
            result[name + ".scope.positions"] = (heads, size, width)
            result[name + ".scope.bias"] = (heads, 1, size)
        if o.positions == "relative":
            distances = 2 * CLIP + 1 if stack == "encoder" else CLIP + 1
            result[name + ".scope.keys"] = result[name + ".scope.values"] = (distances, size)

    result["tgt_embedding.weight"] = (VOCABULARY, width)
    if o.output_bias:
        result["output_bias"] = (VOCABULARY,)
    if not o.tie_embeddings:
        result["src_embedding.weight"] = (VOCABULARY, width)
    for stack, layers in ("encoder", o.encoder_layers), ("decoder", o.decoder_layers):
        if o.positions == "learned":
            result[SIDES[stack] + "_position_embedding.weight"] = (o.max_positions, width)
        for layer in range(layers):
            name = f"{stack}.layers.{layer}."
            attention_within(name + "self_attn", stack)
            norm(name + "norm1")
            if stack == "decoder":
                linear(name + "multihead_attn.q_proj", width, bias=o.attention_bias)
                linear(name + "multihead_attn.kv_proj", 2 * width, bias=o.attention_bias)
                linear(name + "multihead_attn.out_proj", width, bias=o.attention_bias)
                score(name + "multihead_attn.score", heads)
                norm(name + "norm2")
            if o.feed_forward:
                gated = o.activation in ("geglu", "swiglu")
                inner = round(2 / 3 * o.feed_forward) if gated else o.feed_forward
                linear(name + "linear1", 2 * inner if gated else inner)
                linear(name + "linear2", width, inner)
                norm(name + ("norm3" if stack == "decoder" else "norm2"))
        if o.norm == "pre":
            norm(stack + ".norm")
    return result


def is_buffer(name, options):
    return "running_" in name or (options.self_attention == "fixed-random" and name.endswith("score.energy"))


def alibi_slopes(heads):
    """arXiv 2108.12409, and for numbers of heads that are no power of two its authors' program."""
    if heads & heads - 1 == 0:
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    lower = 2 ** int(math.log2(heads))
    return alibi_slopes(lower) + alibi_slopes(2 * lower)[::2][: heads - lower]


def t5_bucket(distance, causal):
    """The bucket of j - i (arXiv 1910.10683): half of a direction's are exact, the others logarithmic up to 128."""
    buckets = 32 if causal else 16
    first = 16 if not causal and distance > 0 else 0
    away = max(0, -distance) if causal else abs(distance)
    exact = buckets // 2
    if away < exact:
        return first + away
    return first + min(buckets - 1, exact + int(math.log(away / exact) / math.log(128 / exact) * (buckets - exact)))


def rotated(x):
    """Rows x [T, D] turned by their positions, each pair of neighbouring columns (arXiv 2104.09864, eq. 34)."""
    rows = []
    for t in range(x.shape[0]):
        for pair in range(x.shape[1] // 2):
            angle = t * 10000 ** (-2 * pair / x.shape[1])
            a, b = x[t, 2 * pair], x[t, 2 * pair + 1]
            rows += [a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)]
    return torch.stack(rows).view(x.shape)


def sinusoid(distance, width):
    """R of a distance i - j, sines and cosines in turn (arXiv 1901.02860, section 3.3)."""
    angles = [distance * 10000 ** (-2 * pair / width) for pair in range(width // 2)]
    return torch.tensor([f(angle) for angle in angles for f in (math.sin, math.cos)], dtype=torch.double)


def pattern(head, length):
    """The fixed weights of a head, [T, T] (arXiv 2002.10260, section 3)."""
    rows, last = torch.zeros(length, length), length - 1
    for i in range(length):
        one = {0: i, 1: max(i - 1, 0), 2: min(i + 1, last)}
        if head in one:
            seen = {one[head]: 1}
        elif head == 3:
            seen = {j: (j + 1) ** 3 for j in range(max(i - 1, 1))}
        elif head == 4:
            seen = {j: (length - j) ** 3 for j in range(min(i + 2, last), length)}
        else:
            seen = {j: (j + 1 if head == 5 else length - j) ** 3 for j in range(length)}
        for j, number in seen.items():
            rows[i, j] = number / sum(seen.values())
    return rows


class Transformer:
    def __init__(self, options, tensors):
        self.options, self.tensors = options, tensors
        self.training = True

    def parameters(self):
        return [tensor for name, tensor in self.tensors.items() if not is_buffer(name, self.options)]

    def linear(self, name, x):
        """x where there is no such map."""
        weight = self.tensors.get(name + ".weight")
        return x if weight is None else F.linear(x, weight, self.tensors.get(name + ".bias"))

    def norm(self, name, x):
        eps, weight, bias = 1e-5, self.tensors[name + ".weight"], self.tensors.get(name + ".bias")
        if self.options.norm_kind == "rms":
            return x / (x.square().mean(1, keepdim=True) + eps).sqrt() * weight
        if self.options.norm_kind == "layer":
            centred = x - x.mean(1, keepdim=True)
            return centred / (centred.square().mean(1, keepdim=True) + eps).sqrt() * weight + bias
        mean, variance = self.tensors[name + ".running_mean"], self.tensors[name + ".running_var"]
        if self.training:
            mean, variance = x.mean(0), (x - x.mean(0)).square().mean(0)
        return (x - mean) / (variance + eps).sqrt() * weight + bias

    def energies(self, name, head, q, k):
        """The score of one head: q [T, D], k [S, D] to [T, S]."""
        size = q.shape[1]
        own = lambda matrix: self.tensors[f"{name}.{matrix}.weight"][head * size:(head + 1) * size]
        kind = self.options.score
        if kind == "scaled-dot":
            return q @ k.T / math.sqrt(size)
        if kind == "dot":
            return q @ k.T
        if kind == "cosine":
            return self.tensors[name + ".scale"][head] * torch.cosine_similarity(q[:, None], k[None], dim=2)
        keys = k @ own("key").T
        if kind == "general":
            return q @ keys.T
        if kind == "additive":
            queries, energy = q @ own("query").T, self.tensors[name + ".energy.weight"][head]
            return torch.tanh(queries[:, None] + keys[None]) @ energy
        if kind == "rbf":
            return -self.tensors[name + ".log_precision"][head].exp() * (q[:, None] - keys[None]).square().sum(2)
        return ((F.elu(q) + 1) @ (F.elu(keys) + 1).T).log()  # elu1

    def synthesized(self, name, head, q):
        """The energies of a Synthesizer (arXiv 2005.00743): dense from the queries, random from their positions."""
        length, longest = q.shape[0], self.options.max_positions
        at = torch.arange(length).clamp_max(longest - 1)
        if name + ".energy" in self.tensors:
            return self.tensors[name + ".energy"][head][at][:, at]
        return F.relu(q) @ self.tensors[name + ".energy.weight"][head * longest:(head + 1) * longest][at].T

    def energies_within(self, name, kind, head, q, k):
        if kind == "uniform":
            return torch.zeros(len(q), len(k))
        if kind in ("dense", "random", "fixed-random"):
            return self.synthesized(name, head, q)
        if kind == "patterns":
            return self.energies(name + ".learnt", head - self.options.num_fixed(), q, k)
        if kind == "attention":
            return self.energies(name, head, q, k)
        shares = self.tensors[name + ".mixture"].view(2, -1)[:, head].softmax(0)
        return (shares[0] * self.synthesized(name + ".synthesizer", head, q)
                + shares[1] * self.energies(name + ".attention", head, q, k))

    def attend_within(self, name, stack, x):
        """Self-attention of a sentence x [T, H]."""
        o, causal = self.options, stack == "decoder"
        kind, projections, window = o.within(stack)
        if kind == "fourier":
            return torch.fft.fft2(x).real
        length, size = len(x), o.width // o.heads
        if name + ".in_proj.weight" in self.tensors:
            queries, keys, values = self.linear(name + ".in_proj", x).chunk(3, 1)
        else:
            queries, values = self.linear(name + ".q_proj", x), self.linear(name + ".v_proj", x)
            keys = queries if projections == "shared-qk" else self.linear(name + ".k_proj", x)
        if kind == "patterns":  # fixed heads have neither
            missing = (o.num_fixed() * size if projections == "all" else 0, 0)
            queries, keys = F.pad(queries, missing), F.pad(keys, missing)
        distance = torch.tensor([[j - i for j in range(length)] for i in range(length)])
        outside = torch.zeros(length, length, dtype=torch.bool)
        if causal:
            outside |= distance > 0
        if window:
            outside |= distance.abs() > window
        contexts = []
        for head in range(o.heads):
            columns = slice(head * size, (head + 1) * size)
            q, k, v = queries[:, columns], keys[:, columns], values[:, columns]
            if kind == "patterns" and head < o.num_fixed():
                contexts.append(pattern(head, length) @ v)
                continue
            if o.positions == "rotary":
                q, k = rotated(q), rotated(k)
            energies = self.energies_within(name + ".score", kind, head, q, k)
            clipped = distance.clamp(-CLIP, CLIP) + CLIP
            if o.positions == "relative":
                energies = energies + torch.einsum("td,tsd->ts", q, self.tensors[name + ".scope.keys"][
                    clipped.masked_fill(outside, 0)]) / math.sqrt(size)
            if o.positions == "alibi":
                energies = energies - alibi_slopes(o.heads)[head] * distance.abs()
            if o.positions == "t5":
                buckets = [[t5_bucket(int(d), causal) for d in row] for row in distance]
                energies = energies + self.tensors[name + ".scope.table"][head][torch.tensor(buckets)]
            if o.positions == "transformer-xl":
                sinusoids = torch.stack([sinusoid(d, o.width) for d in range(1 - length, length)])
                products = (q + self.tensors[name + ".scope.bias"][head]) @ (sinusoids @ self.tensors[name + ".scope.positions"][head].T).T
                energies = energies + products.gather(1, length - 1 - distance) / math.sqrt(size)
            weights = energies.masked_fill(outside, -torch.inf).softmax(1)
            context = weights @ v
            if o.positions == "relative":
                context = context + torch.einsum("ts,tsd->td", weights, self.tensors[name + ".scope.values"][
                    clipped.masked_fill(outside, 0)])
            contexts.append(context)
        return self.linear(name + ".out_proj", torch.cat(contexts, 1))

    def attend_to(self, name, x, memory):
        """Attention of a sentence x [T, H] to the one that it translates, memory [S, H]."""
        o, size = self.options, self.options.width // self.options.heads
        queries, (keys, values) = self.linear(name + ".q_proj", x), self.linear(name + ".kv_proj", memory).chunk(2, 1)
        contexts = []
        for head in range(o.heads):
            columns = slice(head * size, (head + 1) * size)
            energies = self.energies(name + ".score", head, queries[:, columns], keys[:, columns])
            contexts.append(energies.softmax(1) @ values[:, columns])
        return self.linear(name + ".out_proj", torch.cat(contexts, 1))

    def feed_forward(self, name, x):
        inner = self.linear(name + "linear1", x)
        swish, kind = lambda x: x * x.sigmoid(), self.options.activation
        if kind in ("geglu", "swiglu"):
            active, gate = inner.chunk(2, 1)
            inner = (F.gelu(active) if kind == "geglu" else swish(active)) * gate
        else:
            gelu_tanh = lambda x: F.gelu(x, approximate="tanh")
            inner = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": gelu_tanh, "swish": swish}[kind](inner)
        return self.linear(name + "linear2", inner)

    def stack(self, stack, sentences, memories=None):
        o, lengths = self.options, [len(x) for x in sentences]
        each = lambda f, x: torch.cat([f(b, x_b) for b, x_b in enumerate(x.split(lengths))])
        x = torch.cat(sentences)
        for layer in range(o.encoder_layers if stack == "encoder" else o.decoder_layers):
            name = f"{stack}.layers.{layer}."
            sub_layers = [lambda x: each(lambda b, x_b: self.attend_within(name + "self_attn", stack, x_b), x)]
            if memories is not None:
                sub_layers.append(
                    lambda x: each(lambda b, x_b: self.attend_to(name + "multihead_attn", x_b, memories[b]), x))
            if o.feed_forward:
                sub_layers.append(lambda x: self.feed_forward(name, x))
            for number, sub_layer in enumerate(sub_layers, 1):
                norm = f"{name}norm{number}"
                y = sub_layer(self.norm(norm, x) if o.norm == "pre" else x)
                x = x + y if o.residual else y
                if o.norm == "post":
                    x = self.norm(norm, x)
        return self.norm(stack + ".norm", x) if o.norm == "pre" else x

    def embed(self, side, sentences):
        o = self.options
        table = self.tensors[("tgt" if o.tie_embeddings else side) + "_embedding.weight"]
        result = []
        for ids in sentences:
            x = table[ids] * math.sqrt(o.width)
            place = torch.arange(len(ids))
            if o.positions == "sinusoidal":
                angle = place[:, None] / 10000 ** (torch.arange(0, o.width, 2) / o.width)
                x = x + torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
            if o.positions == "learned":
                x = x + self.tensors[side + "_position_embedding.weight"][place.clamp_max(o.max_positions - 1)]
            result.append(x)
        return result

    def forward(self, src, tgt):
        """Hidden states of all target tokens, [M, H], of lists of sentences."""
        memory = self.stack("encoder", self.embed("src", src)).split([len(ids) for ids in src])
        return self.stack("decoder", self.embed("tgt", tgt), memory)

    def loss(self, src, tgt, labels):
        logits = F.linear(self.forward(src, tgt), self.tensors["tgt_embedding.weight"], self.tensors.get("output_bias"))
        return F.cross_entropy(logits, labels, label_smoothing=0.1, reduction="sum")
