"""The page of recipes/captions."""

from page_parts import Bar, by_kind, chart, interval, made, spread, table, test_bleu
from scores import deviation

NAMES = {
    "pairs": "pairs alone",
    "back_translation": "+ back-translation of German captions",
    "self_training": "+ self-training on English captions",
    "both": "+ both",
    "distillation": "distillation of the pairs",
}


def bleu(rows):
    """The interval of one seed, or the mean and standard deviation of several."""
    scores = [test_bleu(row)["score"] for row in rows]
    return deviation(scores) if len(scores) > 1 else interval(test_bleu(rows[0]))


def scores(kinds):
    return table(["text", "seeds", "BLEU, test", "loss, val"],
                 [[name, str(len(kinds[kind])), bleu(kinds[kind]), f"{kinds[kind][0]['valid_loss']:.3f}"]
                  for kind, name in NAMES.items() if kind in kinds])


def page(results):
    first = results[0]
    return "\n".join([
        "# Translation with monolingual captions\n",
        made(results, "captions", "29,000 pairs of Multi30k English-German, with 141,433 German and 115,549 English captions of the same images",
             "captions"),
        f"In every row, a Transformer of {first['parameters'] / 1e6:.2f} million parameters (recipes/multi30k_en_de_transformer.toml with "
        f"`{' '.join(first['options'])}`) is trained on {spread(row['tokens'] / 1e6 for row in results)} million target tokens. The scores are not "
        "comparable with those of other pages, whose models see the pairs alone.\n",
        "![BLEU on the test set by training text](captions.svg)\n",
        scores(by_kind(results)),
    ])


def files(results):
    kinds = by_kind(results)
    bars = [Bar(name, "mark", kinds[kind], sum(test_bleu(row)["score"] for row in kinds[kind]) / len(kinds[kind]))
            for kind, name in NAMES.items() if kind in kinds]
    return {"captions.md": page(results), "captions.svg": chart("BLEU on the test set by training text", bars)}
