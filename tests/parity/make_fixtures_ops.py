"""Writes fixtures/ops.safetensors: single ops of PyTorch at small odd sizes: inputs, outputs, and the gradients
of the inputs for given gradients of the outputs. Names are op.in.I, op.out, op.seed (the output's gradient) and op.grad.I.
Run: python tests/parity/make_fixtures_ops.py"""
import torch
import torch.nn.functional as F

from fixture_support import save

torch.manual_seed(11)
LENGTHS, HEADS, SIZE = [5, 1, 7], 3, 5
TOKENS, WIDTH, OUT, VOCABULARY = sum(LENGTHS), HEADS * SIZE, 11, 19
tensors = {}


def record(op, function, *inputs):
    inputs = [x.requires_grad_() for x in inputs]
    out = function(*inputs)
    seed = torch.randn_like(out)
    out.backward(seed)
    for i, x in enumerate(inputs):
        tensors[f"{op}.in.{i}"], tensors[f"{op}.grad.{i}"] = x.detach(), x.grad
    tensors[f"{op}.out"], tensors[f"{op}.seed"] = out.detach(), seed


def attention(causal):
    def per_sentence(q, k, v):
        out = []
        for sentence in zip(q.split(LENGTHS), k.split(LENGTHS), v.split(LENGTHS)):
            heads = [x.view(-1, HEADS, SIZE).transpose(0, 1) for x in sentence]
            out.append(F.scaled_dot_product_attention(*heads, is_causal=causal).transpose(0, 1).flatten(1))
        return torch.cat(out)

    return per_sentence


x = lambda width=WIDTH: torch.randn(TOKENS, width)
record("attention", attention(False), x(), x(), x())
record("attention_causal", attention(True), x(), x(), x())
activations = {"none": lambda y: y, "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
               "tanh": torch.tanh}
for name, activation in activations.items():
    record(f"linear_{name}", lambda x, w, b: activation(F.linear(x, w, b)), x(), torch.randn(OUT, WIDTH), torch.randn(OUT))
record("add_layer_norm", lambda x, residual, gamma, beta: F.layer_norm(x + residual, [WIDTH], gamma, beta, 1e-5),
       x(), x(), torch.randn(WIDTH), torch.randn(WIDTH))
labels = torch.randint(VOCABULARY, (TOKENS,))
tensors["cross_entropy.labels"] = labels
record("cross_entropy",
       lambda x, w, b: F.cross_entropy(F.linear(x, w, b), labels, label_smoothing=0.1, reduction="sum"),
       x(), torch.randn(VOCABULARY, WIDTH), torch.randn(VOCABULARY))
save("ops", tensors)
