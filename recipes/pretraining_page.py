"""The page of recipes/pretraining, fine-tuned by recipes/finetuning, and of recipes/choices."""

from page_parts import table
from scores import verdict, written

MINUTES = 10


def every(minutes, curve):
    """The first point at or after each multiple of `minutes`, and the last."""
    due = minutes
    for point in curve[:-1]:
        if point["minutes"] >= due:
            yield point
            due = minutes * (point["minutes"] // minutes + 1)
    yield curve[-1]


def made(results):
    lines = [[result["shape"], result["precision"], str(result["threads"]), result["started"], f"{last['tokens'] / 1e6:.1f}",
              f"{last['loss']:.3f}", f"{last['accuracy']:.1f}"] for result in results for last in result["curve"][-1:]]
    return table(["encoder", "precision", "threads", "started", "million tokens", "held-out loss", "held-out accuracy"], lines)


def scored(row):
    random = row["random"]
    return f"{written(row['pretrained'])} ({written(random)}) {verdict(row['pretrained'], random)}".strip() if random else written(row["pretrained"])


def fine_tuned(results):
    """The scores of all encoders, a line for each task, metric and share of labelled examples."""
    lines = {}
    for result in results:
        for row in result["scores"]:
            lines.setdefault((row["labels"], row["task"], row["metric"], row["passes"]), {})[result["shape"]] = scored(row)
    cells = [[task, metric, f"{labels:.0%}", str(passes), *(found.get(result["shape"], "") for result in results)]
             for (labels, task, metric, passes), found in sorted(lines.items(), key=lambda line: -line[0][0])]
    return table(["task", "metric", "labels", "passes", *(result["shape"] for result in results)], cells)


def curve(result):
    lines = [[f"{point['minutes']:.0f}", f"{point['tokens'] / 1e6:.1f}", f"{point['loss']:.3f}", f"{point['ppl']:.1f}", f"{point['accuracy']:.1f}"]
             for point in every(MINUTES, result["curve"])]
    return f"### {result['shape'][0].upper()}{result['shape'][1:]}\n\n" + table(["minutes", "million tokens", "loss", "perplexity", "accuracy"], lines)


def choices(result):
    lines = [[row["choice"], f"{row['loss']:.3f}", f"{row['accuracy']:.1f}", *(written(row["tasks"][task]) for task in ("sst2", "stsb"))]
             for row in result["rows"]]
    return "\n".join([
        "## Choices of pretraining\n",
        f"`recipes/choices`, {result['shape']}, {result['started']}: each encoder differs from the baseline in one setting and was trained on the same "
        "number of tokens. Held-out loss and accuracy use the masks of BERT (15 %, 80/10/10) for all encoders. `recipes/bert_variants` "
        "changes parts of the architecture.\n",
        table(["encoder", "held-out loss", "accuracy", "SST-2 accuracy", "STS-B Pearson"], lines)])


def files(results, ablation):
    """`ablation` has the figures of recipes/choices, or is nothing."""
    results = sorted(results, key=lambda result: -result["curve"][-1]["loss"])
    return {"pretraining.md": "\n".join([
        "# Pretraining\n",
        "Encoders of several shapes, pretrained by `recipes/pretraining SHAPE` on English Wikipedia with a vocabulary of 8,192 pieces and the settings "
        "of recipes/wikipedia_en.toml, and fine-tuned by `recipes/finetuning`. Those named BERT have BERT's own parts and optimiser "
        "(wikipedia_en_bert.toml). Accuracy and scores are in percent. `recipes/attention_pages` writes this page from the files in [pretraining/](pretraining) and "
        "[choices.json](choices.json).\n",
        made(results),
        "## Fine-tuned\n",
        "Validation scores, mean ± standard deviation over three seeds; in brackets, the same architecture from random initialisation; better or worse "
        "if the means differ by more than the sum of both standard deviations; blank: not run.\n",
        fine_tuned(results),
        "## Held-out text\n",
        "In sequences of 64 tokens, with a fixed 15 % of them masked.\n",
        *map(curve, results),
        *([choices(ablation)] if ablation else [])])}
