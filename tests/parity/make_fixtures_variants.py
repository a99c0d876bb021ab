"""Writes fixtures/transformer_*.safetensors of the variants of the Transformer, by the plain formulation in variants.py in double
precision, at small odd sizes: weights, a ragged batch, hidden states (in inference), every gradient, and the losses of ten AdamW
steps. Before that, the formulation itself is compared: with torch.nn.Transformer, whose numbers are in transformer_post and
transformer_pre, and, if transformers can be imported, with its formulas of positions.
Run: python tests/parity/make_fixtures_variants.py [CASE ...]"""
import sys

import torch
from safetensors.torch import load_file

from fixture_support import FIXTURES, losses_of_updates, save
from variants import VOCABULARY, Options, Transformer, alibi_slopes, is_buffer, rotated, shapes, t5_bucket

SHORT = [5, 1, 7, 3], [2, 6, 1, 5]
MANY = [5, 1, 7, 3, 6, 9, 4, 8], [2, 6, 1, 5, 7, 3, 8, 4]  # for statistics of batches
LONG = [5, 1, 21, 3], [2, 19, 1, 5]  # beyond clipped distances and into logarithmic buckets
CASES = {
    "cosine": (Options(score="cosine"), SHORT),
    "alibi": (Options(positions="alibi"), SHORT),
    "dot": (Options(score="dot", projections="shared-qk", activation="gelu"), SHORT),
    "general": (Options(score="general", attention_bias=False, activation="gelu-tanh"), SHORT),
    "additive": (Options(score="additive", positions="learned", max_positions=5, activation="swish"), SHORT),
    "rbf": (Options(score="rbf", norm="pre", norm_kind="rms", activation="geglu"), SHORT),
    "elu1": (Options(score="elu1", norm_kind="batch", activation="gelu"), MANY),
    "values_only": (Options(projections="values-only", norm="pre", norm_kind="batch", activation="swish",
                            tie_embeddings=False), MANY),
    "parameter_free": (Options(projections="none", positions="learned", max_positions=5, tie_embeddings=False), SHORT),
    "no_norm": (Options(norm="none", positions="none", self_attention="uniform", feed_forward=7), SHORT),
    "no_residual": (Options(residual=False, feed_forward=0, self_window=2), SHORT),
    "relative": (Options(positions="relative", activation="swiglu"), LONG),
    "t5": (Options(positions="t5", self_window=11), LONG),
    "xl": (Options(positions="transformer-xl", self_window=11, activation="gelu"), LONG),
    "modern": (Options(positions="rotary", norm="pre", norm_kind="rms", activation="swiglu", attention_bias=False), SHORT),
    "dense": (Options(self_attention="dense", max_positions=5, positions="none"), SHORT),
    "random": (Options(self_attention="random", max_positions=5, self_window=2), SHORT),
    "fixed_random": (Options(self_attention="fixed-random", max_positions=5, self_attention_in="decoder"), SHORT),
    "dense_attention": (Options(self_attention="dense-attention", max_positions=5, positions="alibi"), SHORT),
    "random_attention": (Options(self_attention="random-attention", max_positions=5, score="general", projections="shared-qk",
                                 positions="rotary"), SHORT),
    "patterns": (Options(self_attention="patterns", self_attention_in="encoder", score="general", width=18, heads=9,
                         feed_forward=5), SHORT),
    "output_bias": (Options(output_bias=True, activation="swish"), SHORT),
    "fourier": (Options(self_attention="fourier", self_attention_in="encoder", norm="pre"), SHORT),
}
# Other seeds where one leaves the input of a relu within bf16's rounding of 0, on whose sign gradients depend.
SEEDS = {"cosine": 1, "no_norm": 1, "dense": 1, "dense_attention": 1}


def close(ours, theirs, what, tolerance=1e-4):
    error, size = (ours - theirs).abs().max(), theirs.abs().max().clamp_min(0.1)
    assert error <= tolerance * size, f"{what}: {error} of {size}"


def compare_with_pytorch(kind, options):
    """The formulation gives what torch.nn.Transformer gave for the weights of an earlier fixture."""
    theirs = load_file(FIXTURES / f"transformer_{kind}.safetensors")
    names = {name.removeprefix("weight.") for name in theirs if name.startswith("weight.")}
    assert names == shapes(options).keys(), names ^ shapes(options).keys()
    model = Transformer(options, {name: theirs["weight." + name].double().requires_grad_() for name in names})
    split = lambda name: list(theirs[name].split(theirs[name + "_lengths"].tolist()))
    src, tgt = split("src"), split("tgt")
    close(model.forward(src, tgt), theirs["hidden"].double(), "hidden")
    loss = lambda: model.loss(src, tgt, theirs["labels"])
    loss().backward()
    for name in names:
        close(model.tensors[name].grad, theirs["gradient." + name].double(), name)
    close(losses_of_updates(model, loss), theirs["losses"], "losses")


def compare_with_transformers():
    """Of positions: the buckets of T5, the turns of GPT-J, whose pairs are neighbours as ours, and the slopes of MPT."""
    try:
        from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions
        from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
        from transformers.models.t5.modeling_t5 import T5Attention
    except ImportError:
        print("without transformers: its formulas of positions are not compared")
        return
    distances = torch.arange(-200, 201)
    for causal in True, False:
        theirs = T5Attention._relative_position_bucket(distances, bidirectional=not causal)
        assert [t5_bucket(int(d), causal) for d in distances] == theirs.tolist()
    x = torch.randn(30, 8)
    sine, cosine = create_sinusoidal_positions(30, 8)[None].chunk(2, 2)
    close(rotated(x), apply_rotary_pos_emb(x[None, :, None], sine, cosine)[0, :, 0], "rotary", 1e-5)
    for heads in 1, 2, 3, 6, 8, 12:  # the bias at distance 1
        theirs = build_mpt_alibi_tensor(heads, 2)[:, 0, 0]
        if heads & heads - 1 == 0:  # else MPT has another order of the heads
            close(-torch.tensor(alibi_slopes(heads)), theirs, "alibi", 1e-6)
        close(-torch.tensor(sorted(alibi_slopes(heads))), theirs.sort(descending=True).values, "alibi", 1e-6)


def sentences(lengths):
    return [torch.randint(4, VOCABULARY, (length,)) for length in lengths]


def initial(name, shape, options):
    tensor = torch.randn(shape) * 0.3 + (0.2 if len(shape) == 1 else 0)
    if name.endswith("running_var"):
        tensor = tensor.square() + 0.5
    return tensor.float().double().requires_grad_(not is_buffer(name, options))  # the numbers that the fixture has


torch.set_default_dtype(torch.float64)
compare_with_pytorch("post", Options())
compare_with_pytorch("pre", Options(norm="pre", tie_embeddings=False))
compare_with_transformers()
for case in sys.argv[1:] or CASES:
    options, (src_lengths, tgt_lengths) = CASES[case]
    torch.manual_seed(SEEDS.get(case, 20261125))
    model = Transformer(options, {name: initial(name, shape, options) for name, shape in shapes(options).items()})
    src, tgt = sentences(src_lengths), sentences(tgt_lengths)
    labels = torch.cat(sentences(tgt_lengths))
    tensors = {"weight." + name: tensor.detach().clone() for name, tensor in model.tensors.items()}
    model.training = False
    tensors["hidden"] = model.forward(src, tgt).detach()
    model.training = True
    loss = lambda: model.loss(src, tgt, labels)
    loss().backward()
    for name, tensor in model.tensors.items():
        if not is_buffer(name, options):
            tensors["gradient." + name] = tensor.grad.clone()
    tensors["losses"] = losses_of_updates(model, loss)
    tensors = {name: tensor.float() for name, tensor in tensors.items()}
    tensors |= {"src": torch.cat(src), "tgt": torch.cat(tgt), "labels": labels,
                "src_lengths": torch.tensor(src_lengths), "tgt_lengths": torch.tensor(tgt_lengths)}
    save(f"transformer_{case}", tensors)
