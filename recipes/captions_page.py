"""The page of recipes/captions."""

from families_page import EFFECT, effect
from page_parts import Bar, bleu_between_seeds, by_kind, chart, made, mean_bleu, table

NAMES = {
    "pairs": "pairs alone",
    "back_translation": "+ back-translation of German captions",
    "self_training": "+ self-training on English captions",
    "both": "+ both",
    "distillation": "distillation of the pairs",
}


def files(results):
    kinds = by_kind(results)
    if "pairs" not in kinds:
        return {}
    between_seeds = bleu_between_seeds(kinds)
    bars = [Bar(name, "mark", kinds[kind], mean_bleu(kinds[kind])) for kind, name in NAMES.items() if kind in kinds]
    effects = [[name, str(len(kinds[kind])), *effect(kinds[kind], kinds["pairs"], between_seeds)] for kind, name in NAMES.items() if kind in kinds]
    return {"captions.svg": chart("BLEU on the test set by training text", bars), "captions.md": "\n".join([
        "# Translation with monolingual captions\n",
        made(results, "captions", "the first 3,000 pairs of Multi30k English-German, and 20,000 captions of each language, which are not translations",
             "captions"),
        f"The Transformer of [small_data.md](small_data.md), trained for {results[0]['updates']:,} updates on each text. Loss: nats per piece of val, at "
        "its lowest. BLEU and chrF: test_2016_flickr, beam 5, the best checkpoint, with 95 % intervals of seed 1. Difference: mean BLEU minus that of "
        "the pairs alone; noise of seeds: two standard deviations of it.\n",
        "![BLEU on the test set by training text](captions.svg)\n",
        table(["text", "seeds", *EFFECT], effects),
    ])}
