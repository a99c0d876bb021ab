"""Writes fixtures/text_model_{classification,multi-label,regression,spans,tags}.safetensors: Hugging Face's BERT with the
head of each task at small odd sizes: weights, a ragged batch with labels, answers, the loss, every gradient, and the
losses of ten AdamW steps.
Run: python tests/parity/make_fixtures_text_model.py"""
import torch
from transformers import (
    BertConfig, BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification)

from bert_support import LENGTHS, batch, config, ours
from fixture_support import losses_of_updates, save, scatter

LABELS = 3


for task in ("classification", "multi-label", "regression", "spans", "tags"):
    torch.manual_seed(20261122)
    kind = {"spans": BertForQuestionAnswering, "tags": BertForTokenClassification}.get(task, BertForSequenceClassification)
    problem = {"classification": "single_label_classification", "multi-label": "multi_label_classification"}.get(task)
    model = kind(config(BertConfig, num_labels={"regression": 1, "spans": 2}.get(task, LABELS), problem_type=problem))
    scatter(model)
    ids, segments, real = batch()
    tensors = {f"weight.{name}": tensor for name, tensor in ours(model.state_dict()).items()}
    tensors |= {"ids": ids[real], "segments": segments[real], "lengths": torch.tensor(LENGTHS)}
    shape = {"multi-label": (len(LENGTHS), LABELS), "tags": real.shape}.get(task, (len(LENGTHS),))
    labels = torch.rand(shape) * 5 if task == "regression" else torch.randint(0, 2 if task == "multi-label" else LABELS, shape)
    if task == "multi-label":
        labels = labels.float()
    begin, end = torch.tensor([2, 0, 7, 1]), torch.tensor([4, 0, 12, 5])
    first = (torch.rand(real.shape) < 0.6) & real  # tokens that carry a tag

    def forward():
        options = {"input_ids": ids, "attention_mask": real.long(), "token_type_ids": segments}
        if task == "spans":
            return model(**options, start_positions=begin, end_positions=end)
        return model(**options, labels=labels.masked_fill(~first, -100) if task == "tags" else labels)

    def objective():
        # Padding is left out of the softmax over places, as attend has none; Hugging Face lets it in.
        if task != "spans":
            return forward().loss
        out = forward()
        masked = [logits.masked_fill(~real, float("-inf")) for logits in (out.start_logits, out.end_logits)]
        return sum(torch.nn.functional.cross_entropy(m, t) for m, t in zip(masked, (begin, end))) / 2

    with torch.no_grad():
        out = forward()
    if task == "spans":
        tensors |= {"answers": torch.stack([out.start_logits[real], out.end_logits[real]], 1),
                    "labels": torch.stack([begin, end], 1)}
    elif task == "tags":
        tensors |= {"answers": out.logits[first], "labels": labels[first], "places": first[real].nonzero().squeeze(1)}
    else:
        tensors |= {"answers": out.logits.squeeze(1) if task == "regression" else out.logits, "labels": labels}
    objective().backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    tensors |= {f"gradient.{name}": tensor for name, tensor in ours(gradients).items()}
    model.zero_grad()
    tensors["losses"] = losses_of_updates(model, objective)
    save(f"text_model_{task}", {name.replace("qa_outputs", "classifier"): tensor for name, tensor in tensors.items()})
