"""Shared by the fixtures of BERT: its tensors under attend's names, and a ragged batch of pairs."""
import torch

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


def config(config_class, **options):
    return config_class(
        vocab_size=VOCABULARY, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=19,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, max_position_embeddings=17, **options)


def batch():
    """ids, segments and where there is a token; piece 0 is padding: its input has no gradient there."""
    width = max(LENGTHS)
    place = torch.arange(width)[None].expand(len(LENGTHS), width)
    real = place < torch.tensor(LENGTHS)[:, None]
    ids = torch.randint(1, VOCABULARY, real.shape).masked_fill(~real, 0)
    segments = (place >= torch.tensor(FIRST_PARTS)[:, None]).long().masked_fill(~real, 0)
    return ids, segments, real
