"""The page of recipes/small_data: what each option brings with 3,000 pairs, for both families, beside the noise of seeds."""

from families_page import EFFECT, effect, loss_of
from page_parts import Bar, bleu_between_seeds, by_kind, chart, made, mean_bleu, table

NAMES = {"transformer": "Transformer, 2 + 2 layers of 128", "bahdanau": "Bahdanau, width 128",
         "transformer_long": "The same Transformer in four times the updates"}


def model_of(kind):
    return max((name for name in NAMES if kind.startswith(name)), key=len)


def change_of(kind):
    """transformer_r-drop_5: r-drop 5"""
    return kind.removeprefix(model_of(kind)).replace("_", " ").strip() or "baseline"


def own_kinds(kinds, model):
    """The changes of a baseline, the lowest loss first: with the noise of one seed, the loss orders more surely than BLEU."""
    return sorted((kind for kind in kinds if model_of(kind) == model != kind), key=lambda kind: loss_of(kinds[kind]))


def effects(kinds, model, between_seeds):
    return table(["change", "seeds", *EFFECT], [[change_of(kind), str(len(kinds[kind])), *effect(kinds[kind], kinds[model], between_seeds)]
                                                for kind in [model, *own_kinds(kinds, model)]])


def picture(kinds):
    bars = []
    for model, name in NAMES.items():
        if model in kinds:
            own = own_kinds(kinds, model)
            bars += [Bar(name), Bar("baseline", "mark transformer", kinds[model], mean_bleu(kinds[model])),
                     *(Bar(change_of(kind), "mark", kinds[kind], mean_bleu(kinds[kind])) for kind in own)]
    return chart("BLEU on the test set with 3,000 pairs of text, by change of the training", bars)


def files(results):
    kinds = by_kind(results)
    models = [model for model in NAMES if model in kinds]
    between_seeds = bleu_between_seeds(kinds)
    several = sum(len(rows) > 1 for rows in kinds.values())
    noise = f"two standard deviations of the difference, from {between_seeds:.2f} BLEU, pooled over the {several} changes with several seeds"
    return {"small_data.svg": picture(kinds), "small_data.md": "\n".join([
        "# Little text\n",
        made(results, "small_data", "the first 3,000 pairs of Multi30k English-German", "small_data"),
        "Each row changes one option of a baseline, for as many updates. The baseline has dropout 0.3, label smoothing 0.1, AdamW with linear decay and "
        "the learning rate that is the best of those in the table by held-out loss. Changes are ordered by held-out loss, in nats per piece of val, at "
        "its lowest; pieces of another tokenizer (unigram) are not comparable by loss. BLEU and chrF: test_2016_flickr, beam 5, the best checkpoint, "
        f"with 95 % intervals of seed 1. Noise of seeds: {noise if several else 'unknown'}.\n",
        "![BLEU on the test set of every change: its interval, and the scores of all its seeds](small_data.svg)\n",
        *(part for model in models for part in (f"## {NAMES[model]}\n", effects(kinds, model, between_seeds))),
    ])}
