"""The page of recipes/bert_variants."""

from page_parts import by_kind, made, sorted_set, speed, table
from scores import cell, mean_and_deviation

BASELINE = "baseline"
TASKS = {"sst2": "SST-2 accuracy", "conll2003": "CoNLL-2003 F1"}


def difference(row, base, task):
    (ours, spread), (theirs, other) = (mean_and_deviation(of["tasks"][task]) for of in (row, base))
    beyond = abs(ours - theirs) > spread + other
    return f"{ours - theirs:+.1f}" + (" better" if beyond and ours > theirs else " worse" if beyond else "")


def scores(kinds):
    base = kinds.get(BASELINE, [None])[0]
    rows = []
    for kind, (row, *_) in kinds.items():
        compared = base and row is not base
        cells = [kind.replace("_", " "), f"{row['parameters'] / 1e6:.2f} M", f"{row['tokens'] / 1e6:.1f} M", speed(row),
                 f"{row['valid_loss']:.3f}", f"{row['valid_loss'] - base['valid_loss']:+.3f}" if compared else ""]
        for task in TASKS:
            cells += [cell(*mean_and_deviation(row["tasks"][task])), difference(row, base, task) if compared else ""]
        rows.append(cells)
    heads = [head for name in TASKS.values() for head in (name, "difference")]
    return table(["encoder", "parameters", "tokens seen", "tokens/s", "held-out loss", "difference", *heads], rows)


def page(kinds, results):
    options = [[kind.replace("_", " "), f"`{' '.join(row['options'])}`" if row["options"] else ""] for kind, (row, *_) in kinds.items()]
    return "\n".join([
        "# Parts of BERT\n",
        made(results, "bert_variants", "`recipes/pretraining mini` on English Wikipedia", "bert_variants"),
        f"Each encoder differs from the baseline (learned positions that start as sinusoids, post, layer norm, GELU) by the options below "
        f"and was pretrained for {sorted_set(results, 'minutes')} minutes: a slower one sees fewer tokens. Held-out loss: on a fixed "
        "15 % of the tokens. Fine-tuned by recipes/finetuning: validation scores in percent, mean ± deviation over three seeds of "
        "fine-tuning; better or worse than the baseline if the means differ by more than the sum of both deviations. The pretraining "
        "has one seed, whose noise is not in these deviations.\n",
        scores(kinds),
        "## Options\n",
        table(["encoder", "options"], options),
    ])


def files(results):
    kinds = by_kind(results)
    best_first = sorted(kinds, key=lambda kind: (kind != BASELINE, kinds[kind][0]["valid_loss"]))
    return {"bert_variants.md": page({kind: kinds[kind] for kind in best_first}, results)}
