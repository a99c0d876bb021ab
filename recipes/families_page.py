"""The page of recipes/variants: every change beside the baseline of its family, with the noise of seeds and sentences, and all learning rates."""

import statistics

from depth_picture import picture as depth_picture
from page_parts import (FAMILIES, LENGTHS, TEST, Bar, Difference, bleu_between_seeds, by_kind, chart, interval, made, mean_bleu, options, section,
                        spread, table, test_bleu, values)
from rates_page import losses_table, of_best
from recipe import words
from scores import deviation

AT_RATE = "_learning-rate_"
TABLES = {"recurrent": ("Recurrent attention", ("fixed", "luong", "bahdanau")), "transformer": ("The Transformer", ("transformer",))}
GROUPS = ("recurrent score", "recurrent window", "recurrent encoder", "recurrent decoder", "cells", "positions", "self-attention", "projections",
          "norm", "sub-layers", "activation", "together", "score", "window", "heads", "bias", "initialiser", "text", "size", "depth", "length",
          "optimiser", "as published")
CHANGES = GROUPS[:GROUPS.index("initialiser")]  # architectural modifications, as in 2102.11972


def name_of(kind):
    return FAMILIES.get(kind) or kind.replace("_", " ")


def loss_of(rows):
    return statistics.mean(row["best_loss"] for row in rows)


def by_rate(results):
    """The rows of seed 1 by kind and learning rate."""
    found = {}
    for row in sorted(results, key=lambda row: row["config"]["learning-rate"]):
        if row["seed"] == 1:
            found.setdefault(row["kind"].split(AT_RATE)[0], {})[row["config"]["learning-rate"]] = row
    return found


def losses(rows):
    return {rate: row["best_loss"] for rate, row in rows.items()}


def at_best_rates(results):
    """The rows of each kind at the rate with the lowest held-out loss; a family is its baseline, which has more seeds."""
    kinds = by_kind(results)
    best = {kind: min(rows.values(), key=lambda row: row["best_loss"])["kind"] for kind, rows in by_rate(results).items()}
    return {kind: kinds[kind if kind in FAMILIES else best[kind]] for kind in best if kind in kinds or kind not in FAMILIES}


EFFECT = ["loss, val", "change", "BLEU, test", "chrF, test", "BLEU over seeds", "difference", "beyond the noise of"]


def effect(rows, base, between_seeds):
    """Cells of a table: losses and scores, and their differences to those of the baseline."""
    difference = Difference.of(rows, base, between_seeds)
    first = rows[0]["sets"][TEST]
    return [f"{loss_of(rows):.3f}", "" if rows is base else f"{loss_of(rows) - loss_of(base):+.3f}", interval(first["bleu"]), interval(first["chrf"]),
            deviation(values(rows)) if len(rows) > 1 else "",
            *(["", ""] if rows is base else [f"{difference.mean:+.1f}", ", ".join(difference.beyond())])]


def groups_of(kinds, families):
    """The kinds of these families by group, the lowest loss first; baselines are left out."""
    groups = {group: [] for group in GROUPS}
    for kind, rows in kinds.items():
        if rows[0]["model"] in families and kind not in FAMILIES:
            groups[rows[0]["group"]].append(kind)
    return {group.removeprefix("recurrent "): sorted(of, key=lambda kind: loss_of(kinds[kind])) for group, of in groups.items() if of}


def effects(kinds, families, between_seeds):
    def cells(kind):
        rows = kinds[kind]
        aer = rows[0].get("aer")
        return [name_of(rows[0]["kind"]), f"{rows[0]['parameters'] / 1e6:.2f} M", *effect(rows, kinds[rows[0]["model"]], between_seeds),
                f"{aer['score']:.1f}" if aer else ""]

    lines = [cells(family) for family in families]
    for group, of in groups_of(kinds, families).items():
        lines += [[f"**{group}**", *[""] * 9], *map(cells, of)]
    return table(["model", "parameters", *EFFECT, "AER"], lines)


def picture(title, kinds, families):
    def bar(kind, colour="mark"):
        return Bar(name_of(kind), colour, kinds[kind], mean_bleu(kinds[kind]))

    bars = [bar(family, "mark transformer") for family in families]
    for group, of in groups_of(kinds, families).items():
        bars += [Bar(group), *map(bar, of)]
    return chart(title, bars, mean_bleu(kinds[families[0]]) if len(families) == 1 else None)


def best_table(trials):
    """The families, each at its best rate."""
    lines = []
    for family, name in FAMILIES.items():
        if family in trials:
            row = min(trials[family].values(), key=lambda row: row["best_loss"])
            test, lengths = row["sets"][TEST], row["bleu_by_length"]
            lines.append([name, f"{row['parameters'] / 1e6:.2f} M", of_best(losses(trials[family])), f"{row['best_loss']:.3f}", interval(test["bleu"]),
                          interval(test["chrf"]), *(interval(lengths[length]) if lengths[length]["sentences"] else "" for length in LENGTHS)])
    return table(["family", "parameters", "learning rate", "loss, val", "BLEU, test", "chrF, test", *(f"BLEU, {length} words" for length in LENGTHS)],
                 lines)


def transfer(kinds, between_seeds):
    """The number of changes that improve BLEU: the main finding of 2102.11972."""
    changes = {kind: Difference.of(rows, kinds["transformer"], between_seeds) for kind, rows in kinds.items()
               if rows[0]["model"] == "transformer" and rows[0]["group"] in CHANGES}
    better = [name_of(kind) for kind, difference in changes.items() if difference.mean > 0 and "seeds" in difference.beyond()]
    return [f"Changes of the architecture that are better than the baseline by more than the noise of seeds: {len(better)} of {len(changes)}"
            f"{' (' + ', '.join(better) + ')' if better else ''}. The finding of 2102.11972 that most modifications bring no meaningful improvement "
            f"{'holds' if len(better) < len(changes) / 2 else 'does not hold'} here.\n"] if changes else []


def depth(watched):
    """The table of the rows with --watch; the picture shows their layers."""
    lines = []
    for kind, row in watched.items():
        last = f"rank_one/encoder.{row['config']['encoder-layers']}"
        ends = (row["watch"][when].get(last) for when in ("start", "trained"))
        lines.append([name_of(kind), f"{test_bleu(row)['score']:.1f}", f"{row['best_loss']:.3f}",
                      *(f"{end:.3f}" if end is not None else "" for end in ends)])
    return ["### Depth\n\nNarrower models with the parameters of the baseline (without feed-forward: fewer), with the statistics of `--watch` at "
            "the first and last update. Distance from rank one: ‖X − 1xᵀ‖ / ‖X‖ of the encoder's last hidden states, 0 where all tokens of "
            "a sentence are equal (2103.03404).\n",
            table(["model", "BLEU, test", "loss, val", "distance from rank one, start", "trained"], lines),
            "![Gradient, output of sub-layers relative to their input, and distance from rank one, by layer, at the start and trained]"
            "(variants_depth.svg)\n"] if lines else []


def files(results):
    kinds, trials = at_best_rates(results), by_rate(results)
    between_seeds = bleu_between_seeds(kinds)
    several = sum(len(rows) > 1 for rows in kinds.values())
    noise = f"two standard deviations of the difference, from {between_seeds:.2f} BLEU, pooled over the {several} models with several seeds"
    # A family has a table as soon as its baseline exists.
    kinds = {kind: rows for kind, rows in kinds.items() if rows[0]["model"] in kinds}
    watched = {kind: rows[0] for kind, rows in kinds.items() if rows[0].get("watch")}
    found, parts = {"variants_depth.svg": depth_picture(watched)} if watched else {}, []
    for name, (title, families) in TABLES.items():
        families = [family for family in families if family in kinds]
        if families:
            found[f"variants_{name}.svg"] = picture(f"BLEU of every row on the test set: {title}", kinds, families)
            parts += [f"## {title}\n", f"![BLEU on the test set of every row: its interval, and the scores of all its seeds](variants_{name}.svg)\n",
                      effects(kinds, families, between_seeds)]
        if "transformer" in families:
            parts += [*(transfer(kinds, between_seeds) if several else []), *depth(watched)]
    several_rates = {kind: losses(rows) for kind, rows in trials.items() if len(rows) > 1}
    changes = [(name_of(kind), words(rows[0]["change"])) for kind, rows in kinds.items() if rows[0]["change"]]
    return found | {"variants.md": "\n".join([
        "# Parts of recurrent attention and of the Transformer\n",
        made(results, "variants", "the first 10,000 pairs of Multi30k English-German", "variants"),
        "Each row changes one part of its family's baseline, which has width 128, dropout 0.3, label smoothing 0.1 and AdamW with linear decay, and is "
        f"trained on {spread(row['tokens'] / 1e6 for row in results if row['group'] != 'length')} million target tokens (group \"length\": twice as many). "
        "Learning rates are chosen by held-out loss, in nats per piece of val, at its lowest; rows of several rates are shown at their best, and losses "
        "of words (luong words) are not comparable. The Transformer's rows have its parameters, except in the group \"size\", without feed-forward or \"as it is\". BLEU and chrF: "
        "test_2016_flickr, beam 5, the best checkpoint, with 95 % intervals of sacreBLEU's bootstrap, of seed 1. AER: alignment error rate in percent "
        "on the built-in corpus, from a separate small training.\n",
        "Difference: mean BLEU minus that of the family's baseline. Noise of seeds: "
        f"{noise if several else 'unknown'}. Noise of sentences: √(a² + b²), where a and b are half the widths of both models' 95 % intervals.\n",
        "## The families\n\nEach at its best learning rate; in brackets: no rate beyond it was tried.\n",
        best_table(trials), *parts,
        *section("## Learning rates\n\nHeld-out loss; the lowest is bold.\n", several_rates and losses_table(several_rates, name_of)),
        *section("## Options\n\nIn addition to those of the baseline.\n", changes and options(changes)),
    ])}
