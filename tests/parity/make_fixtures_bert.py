"""Writes fixtures/bert{,_gelu_tanh}.safetensors: BertForPreTraining of Hugging Face at small odd sizes: weights, a ragged
batch of masked pairs, hidden states, the attention of every layer and head, both losses, every gradient, and the losses of ten AdamW steps; and
fixtures/bert_learns.safetensors: weights, twenty batches with something to learn, and the losses of 300 steps on them in turn.
Run: python tests/parity/make_fixtures_bert.py"""
import itertools

import torch
from transformers import BertConfig, BertForPreTraining

from bert_support import LENGTHS, VOCABULARY, batch, config, ours
from fixture_support import losses_of_updates, save, scatter

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
    model.set_attn_implementation("eager")  # the others give no weights
    attention = model(input_ids=ids, attention_mask=real.long(), token_type_ids=segments, output_attentions=True).attentions
    model.set_attn_implementation("sdpa")
    tensors = {f"weight.{name}": tensor for name, tensor in ours(model.state_dict()).items()}
    tensors |= {"hidden": hidden[real].detach(), "masked_loss": masked.detach(), "sequence_loss": sequence.detach()}
    tensors["attention"] = (torch.stack(attention) * real[:, None, :, None]).detach()  # [layers, B, N, T, S]; no padding asks
    tensors |= {"ids": ids[real], "segments": segments[real], "lengths": torch.tensor(LENGTHS), "relations": relations,
                "masked": chosen[real].nonzero().squeeze(1), "labels": labels[chosen]}
    objective().backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    tensors |= {f"gradient.{name}": tensor for name, tensor in ours(gradients).items()}
    model.zero_grad()
    tensors["losses"] = losses_of_updates(model, objective)
    save(file, tensors)


def topics(batches=20, count=6, length=11, mask=1):
    """Masked sequences of two neighbouring pieces each, of two others in the second part where the relation is 1; a row a batch."""
    relations = torch.randint(0, 2, (batches, count))
    second = (torch.arange(length) >= length // 2).long()
    first = torch.randint(0, VOCABULARY - 2, (batches, count, 1)) + 9 * relations[..., None] * second
    ids = (2 + (first + torch.randint(0, 2, (batches, count, length))) % (VOCABULARY - 2)).flatten(1)
    masked = torch.stack([torch.arange(i % 4, ids.shape[1], 4)[: ids.shape[1] // 4] for i in range(batches)])
    return {"ids": ids.scatter(1, masked, mask), "segments": second.repeat(batches, count), "labels": ids.gather(1, masked),
            "masked": masked, "relations": relations, "lengths": torch.full((batches, count), length)}


torch.manual_seed(20261122)
model = BertForPreTraining(config(BertConfig, initializer_range=0.1))
data = topics()
tensors = {f"weight.{name}": tensor for name, tensor in ours(model.state_dict()).items()} | data
turns = itertools.cycle(range(len(data["ids"])))


def loss_of_next():
    turn = next(turns)
    batch = {name: tensor[turn] for name, tensor in data.items()}
    sequences = (len(batch["lengths"]), -1)
    out = model(input_ids=batch["ids"].reshape(sequences), token_type_ids=batch["segments"].reshape(sequences))
    logits = out.prediction_logits.flatten(0, 1)[batch["masked"]]
    return (torch.nn.functional.cross_entropy(logits, batch["labels"])
            + torch.nn.functional.cross_entropy(out.seq_relationship_logits, batch["relations"]))


tensors["losses"] = losses_of_updates(model, loss_of_next, count=300, rate=3e-3)
save("bert_learns", tensors)
