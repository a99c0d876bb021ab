#!/usr/bin/env python3
"""Writes fixtures/optimisers.json: ten updates of torch.optim's AdamW, Adadelta, SGD and Muon with decay on the matrix
alone and the norm clipped, in fp64 from numbers of fp32. The third parameter has its first gradient in update 7, as a head that
starts to learn late. Beside Muon, which updates the matrix, the other two have AdamW."""
import json

import torch

from fixture_support import FIXTURES

LATE = 6
# Of each: the class, its options, and the learning rate of the first update; the tenth has ten times as much.
OPTIMISERS = {
    "adamw": (torch.optim.AdamW, {"betas": (0.9, 0.98), "eps": 1e-8}, 0.01),
    "adadelta": (torch.optim.Adadelta, {"rho": 0.95, "eps": 1e-6}, 1.0),
    "sgd": (torch.optim.SGD, {}, 0.02),
    "muon": (torch.optim.Muon, {"momentum": 0.95, "nesterov": True, "adjust_lr_fn": "match_rms_adamw"}, 0.01),
}
torch.Tensor.bfloat16 = torch.Tensor.double  # to which Muon rounds


def flat(tensors):
    return [t.detach().flatten().tolist() for t in tensors]


def updates(start, gradients, kind, options, rate):
    parameters = [torch.nn.Parameter(p.double()) for p in start]
    matrix, others = {"params": parameters[:1], "weight_decay": 0.1}, {"params": parameters[1:], "weight_decay": 0.0}
    optimisers = [kind([matrix, others], lr=rate, **options)] if kind is not torch.optim.Muon else [
        kind([matrix], lr=rate, **options), torch.optim.AdamW([others], lr=rate, **OPTIMISERS["adamw"][1])]
    result = []
    for step, given in enumerate(gradients):
        for p, g in zip(parameters, given):
            p.grad = g.double()
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * (step + 1)
            optimiser.step()
            optimiser.zero_grad()
        result.append({"norm": norm.item(), "parameters": flat(parameters)})
    return {"rate": rate, "updates": result}


torch.manual_seed(7)
shapes = [(3, 5), (5,), (4,)]
start = [0.25 * torch.randn(shape) for shape in shapes]
gradients = [[torch.randn(shape) * (0.05 if step % 2 else 3.0) for shape in shapes[: 3 if step >= LATE else 2]]
             for step in range(10)]
fixture = {"start": flat(start), "gradients": [flat(given) for given in gradients]}
for name, made in OPTIMISERS.items():
    fixture[name] = updates(start, gradients, *made)
(FIXTURES / "optimisers.json").write_text(json.dumps(fixture) + "\n")
