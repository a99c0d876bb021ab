"""The page of recipes/curves: BLEU by amount of text, with one line per family."""

import math

from page_parts import FAMILIES, Axis, interval, legend, line_chart, line_picture, made, table, test_bleu
from rates_page import COLOURS

WIDTH, HEIGHT, LEFT, TOP = 420, 280, 48, 44
OTHERS = [family for family in FAMILIES if family != "transformer"]


def trials_of(results):
    """The rows by family, number of pairs and learning rate."""
    found = {}
    for row in sorted(results, key=lambda row: row["pairs"]):
        found.setdefault(row["model"], {}).setdefault(row["pairs"], {})[row["config"]["learning-rate"]] = row
    return {family: found[family] for family in FAMILIES if family in found}


def score(row):
    return test_bleu(row)["score"]


def of_pairs(pairs):
    return f"{pairs / 1000:g}k"


def picture(best, amounts):
    lines = [(family, [(pairs, score(row), f"{FAMILIES[family]}, {pairs:,} pairs: {score(row):.1f}") for pairs, row in rows.items()])
             for family, rows in best.items()]
    top = 5 * math.ceil(max(score for _, points in lines for _, score, _ in points) / 5)
    drawn = line_chart(LEFT, TOP, WIDTH, HEIGHT, "BLEU by sentence pairs of text", lines,
                       Axis(amounts[0], amounts[-1], [(pairs, of_pairs(pairs)) for pairs in amounts], logarithmic=True),
                       Axis(0, top, [(mark, str(mark)) for mark in range(0, top + 1, 5)]))
    return line_picture(LEFT + WIDTH + 24, TOP + HEIGHT + 40 + 20 * len(best), "BLEU on the test set by sentence pairs of text", COLOURS,
                        [*drawn, *legend(LEFT, TOP + HEIGHT + 50, {family: FAMILIES[family] for family in best})])


def by_amount(head, amounts, lines):
    """A table of (name, cells by amount)."""
    return table([head, *(f"{pairs:,} pairs" for pairs in amounts)], [[name, *(cells.get(pairs, "") for pairs in amounts)] for name, cells in lines])


def gaps(best, family):
    """BLEU of the Transformer minus that of a family, where both have rows."""
    ours, theirs = best.get("transformer", {}), best.get(family, {})
    return {pairs: score(ours[pairs]) - score(theirs[pairs]) for pairs in ours if pairs in theirs}


def crossing(family, gap):
    """Where the curve of the Transformer crosses that of a family."""
    name, amounts = FAMILIES[family], list(gap)
    crossed = [f"between {low:,} and {high:,} pairs" for low, high in zip(amounts, amounts[1:]) if (gap[low] > 0) != (gap[high] > 0)]
    leader = "Transformer" if gap[amounts[-1]] > 0 else name
    return f"- {name}: {'crossed ' + ' and '.join(crossed) + f'; {leader} is better with more text' if crossed else f'{leader} is better throughout'}"


def files(results, variants):
    """`variants` are the rows of recipes/variants, which has those of 10,000 pairs."""
    shared = [row for row in variants if row["seed"] == 1 and row["group"] in ("learning rate", "baseline")]
    trials = trials_of([*results, *shared])
    best = {family: {pairs: min(rows.values(), key=lambda row: row["best_loss"]) for pairs, rows in by_pairs.items()}
            for family, by_pairs in trials.items()}
    amounts = sorted({pairs for rows in best.values() for pairs in rows})
    found = {family: gap for family in OTHERS if (gap := gaps(best, family))}
    return {"curves.svg": picture(best, amounts), "curves.md": "\n".join([
        "# BLEU by amount of text\n",
        made(results, "curves", "Multi30k English-German", "curves"),
        "The families of [variants](variants.md), whose rows are those of 10,000 pairs: width 128, on the first pairs of the text, with a joint "
        "tokenizer of 1,000, 2,000, 4,000 and 8,000 pieces for 1,000, 3,000, 10,000 and 29,000 pairs; 1,500 updates, 4,500 with 29,000 pairs. Each "
        "family has the learning rate that is the best with 10,000 pairs by held-out loss. BLEU: test_2016_flickr, beam 5, the best checkpoint by "
        "held-out loss, one seed, with 95 % intervals.\n",
        "![BLEU by amount of text](curves.svg)\n",
        by_amount("BLEU", amounts, [(FAMILIES[family], {pairs: interval(test_bleu(row)) for pairs, row in rows.items()})
                                    for family, rows in best.items()]),
        *(["## Where the Transformer crosses them\n", by_amount("Transformer minus", amounts, [
            (FAMILIES[family], {pairs: f"{value:+.1f}" for pairs, value in gap.items()}) for family, gap in found.items()]),
           "\n".join(crossing(family, gap) for family, gap in found.items()) + "\n"] if found else []),
        "## Held-out loss\n\nNats per piece of val, whose pieces differ by amount.\n",
        by_amount("loss, val", amounts, [(FAMILIES[family], {pairs: f"{row['best_loss']:.3f}" for pairs, row in rows.items()})
                                         for family, rows in best.items()]),
    ])}
