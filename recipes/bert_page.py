"""The page of recipes/bert_variants."""

from page_parts import blanks, by_kind, made, options, sorted_set, speed, table
from scores import deviation, difference

BASELINE = "baseline"
TASKS = {"conll2003": "CoNLL-2003 F1"}


def compare(row, base, task):
    gain, verdict = difference(row["tasks"][task], base["tasks"][task])
    return f"{gain:+.1f} {verdict}".strip()


def scores(kinds):
    base = kinds.get(BASELINE, [None])[0]
    rows = []
    for kind, (row, *_) in kinds.items():
        compared = base and row is not base
        cells = [kind.replace("_", " "), f"{row['parameters'] / 1e6:.2f} M", f"{row['tokens'] / 1e6:.1f} M", speed(row),
                 f"{row['valid_loss']:.3f}", f"{row['valid_loss'] - base['valid_loss']:+.3f}" if compared else ""]
        for task in TASKS:
            cells += [deviation(row["tasks"][task]), compare(row, base, task) if compared else ""]
        rows.append(cells)
    heads = [head for name in TASKS.values() for head in (name, "difference")]
    return table(["encoder", "parameters", "tokens seen", "tokens/s", "held-out loss", "difference", *heads], rows) + blanks([row for row, *_ in kinds.values()])


def page(kinds, results):
    return "\n".join([
        "# Parts of BERT\n",
        made(results, "bert_variants", "an encoder of four layers of width 128, pretrained on English Wikipedia", "bert_variants"),
        "Each encoder differs from the baseline (rotary positions, RMS norm, GEGLU, pre-norm, Muon 2e-3, 30 % and at the end 15 % of the tokens "
        f"masked) by the options below and was pretrained for {sorted_set(results, 'updates')} updates. Held-out loss: on a fixed 15 % of the tokens. "
        "Fine-tuned by recipes/finetuning on half of CoNLL-2003: validation scores in percent, mean ± standard deviation over three fine-tuning "
        "seeds; better or worse than the baseline if the means differ by more than the sum of both standard deviations. Pretraining has one "
        "seed, whose noise is not included.\n",
        scores(kinds),
        "## Options\n",
        options([(kind.replace("_", " "), row["options"]) for kind, (row, *_) in kinds.items()]),
    ])


def files(results):
    kinds = by_kind(results)
    best_first = sorted(kinds, key=lambda kind: (kind != BASELINE, kinds[kind][0]["valid_loss"]))
    return {"bert_variants.md": page({kind: kinds[kind] for kind in best_first}, results)}
