"""Writes fixtures/bert{,_gelu_tanh}.safetensors: BertForPreTraining of Hugging Face at small odd sizes: weights, a ragged
batch of masked pairs, hidden states, pooled states, both losses, every gradient, and the losses of ten AdamW steps.
Run: python tests/parity/make_fixtures_bert.py"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForPreTraining

VOCABULARY, LENGTHS, FIRST_PARTS = 29, [9, 4, 13, 6], [5, 2, 7, 3]  # tokens a sequence, and of its first part


def ours(state):
    """Hugging Face's tensors under attend's names: query, key and value are one product."""
    tensors = {}
    for name, tensor in state.items():
        if name in ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"):  # tied
            continue
        for theirs, mine in (
            ("bert.pooler.", "pooler."), ("cls.predictions.transform.", "predictions."), ("cls.", ""),
            ("bert.encoder.layer.", "bert.encoder.layers."), ("attention.output.dense", "self_attn.out_proj"),
            ("attention.output.LayerNorm", "norm1"), ("intermediate.dense", "linear1"), ("output.dense", "linear2"),
            ("output.LayerNorm", "norm2"),
        ):
            name = name.replace(theirs, mine)
        tensors[name] = tensor
    for name in [name for name in tensors if "attention.self.query" in name]:
        parts = [tensors.pop(name.replace("query", part)) for part in ("query", "key", "value")]
        tensors[name.replace("attention.self.query", "self_attn.in_proj")] = torch.cat(parts)
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


for file, activation in (("bert", "gelu"), ("bert_gelu_tanh", "gelu_pytorch_tanh")):
    torch.manual_seed(20261121)
    model = BertForPreTraining(BertConfig(
        vocab_size=VOCABULARY, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=19,
        hidden_act=activation, hidden_dropout_prob=0, attention_probs_dropout_prob=0, max_position_embeddings=17))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (0.2 if parameter.dim() == 1 else 0))
    width = max(LENGTHS)
    place = torch.arange(width)[None].expand(len(LENGTHS), width)
    real = place < torch.tensor(LENGTHS)[:, None]
    ids = torch.randint(1, VOCABULARY, real.shape).masked_fill(~real, 0)  # piece 0 is padding: its input has no gradient there
    segments = (place >= torch.tensor(FIRST_PARTS)[:, None]).long().masked_fill(~real, 0)
    chosen = (torch.rand(real.shape) < 0.3) & real
    labels = torch.randint(0, VOCABULARY, real.shape)
    relations = torch.tensor([0, 1, 1, 0])

    def losses():
        out = model(input_ids=ids, attention_mask=real.long(), token_type_ids=segments, output_hidden_states=True)
        masked = torch.nn.functional.cross_entropy(out.prediction_logits[chosen], labels[chosen], reduction="sum")
        sequence = torch.nn.functional.cross_entropy(out.seq_relationship_logits, relations, reduction="sum")
        return out.hidden_states[-1], masked, sequence

    def objective():
        _, masked, sequence = losses()
        return masked / chosen.sum() + sequence / len(LENGTHS)

    hidden, masked, sequence = losses()
    tensors = {f"weight.{name}": tensor for name, tensor in ours(model.state_dict()).items()}
    tensors |= {"hidden": hidden[real].detach(), "masked_loss": masked.detach(), "sequence_loss": sequence.detach()}
    tensors |= {"ids": ids[real], "segments": segments[real], "lengths": torch.tensor(LENGTHS), "relations": relations,
                "masked": chosen[real].nonzero().squeeze(1), "labels": labels[chosen]}
    objective().backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    tensors |= {f"gradient.{name}": tensor for name, tensor in ours(gradients).items()}
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.01)
    values = []
    for _ in range(10):
        optimiser.zero_grad()
        value = objective()
        value.backward()
        values.append(value.item())
        optimiser.step()
    tensors["losses"] = torch.tensor(values)
    save_file(tensors, pathlib.Path(__file__).parent / "fixtures" / f"{file}.safetensors")
    print(file, values)
