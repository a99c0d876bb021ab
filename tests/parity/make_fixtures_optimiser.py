#!/usr/bin/env python3
"""Writes fixtures/adamw.json: ten updates of torch.optim.AdamW with decay on the matrix alone and the norm clipped. The
third parameter has its first gradient in update 7, as a head that starts to learn late."""
import json
import pathlib

import torch

LATE = 6
torch.manual_seed(7)
matrix, bias = torch.nn.Parameter(torch.randn(3, 5)), torch.nn.Parameter(torch.randn(5))
late = torch.nn.Parameter(torch.randn(4))
parameters = [matrix, bias, late]
optimizer = torch.optim.AdamW(
    [{"params": [matrix], "weight_decay": 0.1}, {"params": [bias, late], "weight_decay": 0.0}],
    lr=0.01, betas=(0.9, 0.98), eps=1e-8)
fixture = {"start": [p.detach().flatten().tolist() for p in parameters], "updates": []}
for step in range(10):
    gradients = [torch.randn_like(p) * (0.05 if step % 2 else 3.0) for p in parameters[: 3 if step >= LATE else 2]]
    for p, g in zip(parameters, gradients):
        p.grad = g.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    for group in optimizer.param_groups:
        group["lr"] = 0.01 * (step + 1)
    optimizer.step()
    fixture["updates"].append({"gradients": [g.flatten().tolist() for g in gradients], "norm": norm.item(),
                               "parameters": [p.detach().flatten().tolist() for p in parameters]})
path = pathlib.Path(__file__).parent / "fixtures" / "adamw.json"
path.write_text(json.dumps(fixture) + "\n")
