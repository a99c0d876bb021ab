"""Writes fixtures/bert{,_gelu_tanh}.safetensors: BertForPreTraining of Hugging Face at small odd sizes: weights, a ragged
batch of masked pairs, hidden states, pooled states, both losses, every gradient, and the losses of ten AdamW steps.
Run: python tests/parity/make_fixtures_bert.py"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForPreTraining

from bert_support import LENGTHS, VOCABULARY, batch, config, ours, scatter
from fixture_support import losses_of_updates

for file, activation in (("bert", "gelu"), ("bert_gelu_tanh", "gelu_pytorch_tanh")):
    torch.manual_seed(20261121)
    model = BertForPreTraining(config(BertConfig, hidden_act=activation))
    scatter(model)
    ids, segments, real = batch()
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
    model.zero_grad()
    tensors["losses"] = losses_of_updates(model, objective)
    save_file(tensors, pathlib.Path(__file__).parent / "fixtures" / f"{file}.safetensors")
    print(file, tensors["losses"].tolist())
