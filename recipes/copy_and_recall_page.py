"""The page of recipes/copy_and_recall: exact answers by length and by updates, and the parts of a model that decide whether it goes beyond the
lengths of training."""

import statistics

from page_parts import Axis, legend, line_chart, line_picture, made, options, section, table
from scores import deviation

LENGTHS = (5, 10, 15, 20, 25, 30, 40)
LONGEST_IN_TRAINING = {"copy": 20, "recall": 10}
FEW = 4  # words of the sequences that repeat them
CURVE_LENGTH = 10  # of the picture by updates
NAMES = {
    "fixed": "No attention", "luong": "Luong, general", "luong_no_feeding": "Luong, general, no input feeding",
    "luong_additive": "Luong, additive", "luong_location": "Luong, location", "bahdanau": "Bahdanau, additive",
    "bahdanau_general": "Bahdanau, general", "transformer_sinusoidal": "Transformer, sinusoidal", "transformer_rotary": "Transformer, rotary",
    "transformer_relative": "Transformer, relative", "transformer_alibi": "Transformer, alibi", "transformer_none": "Transformer, no positions",
    "transformer_patterns": "Transformer, patterned heads", "transformer_guided": "Transformer, guided head", "gpt": "GPT, rotary",
    "lstm": "LSTM language model",
}
# Charts beside each other: title, task, and the kinds that are drawn.
CHARTS = (
    ("Copying: recurrent models", "copy", ("fixed", "luong", "luong_no_feeding", "luong_additive", "luong_location", "bahdanau",
                                           "bahdanau_general", "lstm")),
    ("Copying: Transformers", "copy", ("transformer_sinusoidal", "transformer_rotary", "transformer_relative", "transformer_alibi",
                                       "transformer_none", "transformer_patterns", "transformer_guided", "gpt")),
    ("Recall", "recall", ("fixed", "luong", "bahdanau", "transformer_rotary", "transformer_guided", "gpt", "lstm")),
)
# Pairs of kinds that differ in one part.
EXCHANGED = (("the score: general, additive", "luong", "luong_additive"), ("the score: general, additive", "bahdanau_general", "bahdanau"),
             ("input feeding: with, without", "luong", "luong_no_feeding"),
             ("the encoder's heads: fixed patterns, learnt", "transformer_patterns", "transformer_sinusoidal"))
COLOURS = {f"line{place}": pair for place, pair in enumerate((
    ("#59636e", "#9198a1"), ("#9a6700", "#d29922"), ("#cf222e", "#f85149"), ("#8250df", "#ab7df8"), ("#1a7f37", "#3fb950"),
    ("#0969da", "#4493f8"), ("#bf3989", "#f778ba"), ("#1f2328", "#e6edf3")))}
WIDTH, HEIGHT, LEFT, GAP, TOP = 300, 240, 48, 70, 44


def rows_of(results, task):
    """{kind: row} in the order of NAMES."""
    found = {row["kind"].partition("_")[2]: row for row in results if row["kind"].partition("_")[0] == task}
    return {kind: found[kind] for kind in NAMES if kind in found}


def accuracies(row, length):
    return [seed["accuracy"][str(length)] for seed in row["seeds"]]


def picture(results, title, points_of, axis_of):
    """Charts of exact answers; points_of(row): the pairs (x, percent), axis_of(rows): the axis across."""
    drawn, most, left = [], 0, LEFT
    for heading, task, kinds in CHARTS:
        rows = {kind: row for kind, row in rows_of(results, task).items() if kind in kinds}
        if not rows:
            continue
        classes = {kind: f"line{kinds.index(kind)}" for kind in rows}
        lines = [(classes[kind], [(x, percent, f"{NAMES[kind]}, {x:,}: {percent:.1f} %") for x, percent in points_of(row)])
                 for kind, row in rows.items()]
        drawn += line_chart(left, TOP, WIDTH, HEIGHT, heading, lines, axis_of(rows.values()),
                            Axis(0, 100, [(percent, f"{percent} %") for percent in range(0, 101, 25)]))
        drawn += legend(left, TOP + HEIGHT + 50, {classes[kind]: NAMES[kind] for kind in rows})
        most, left = max(most, len(rows)), left + WIDTH + GAP
    return line_picture(left - GAP + 24, TOP + HEIGHT + 40 + 20 * most, title, COLOURS, drawn)


def by_length(results):
    return picture(results, "Exact answers by length", lambda row: [(length, statistics.mean(accuracies(row, length))) for length in LENGTHS],
                   lambda rows: Axis(LENGTHS[0], LENGTHS[-1], [(length, str(length)) for length in LENGTHS]))


def by_updates(results):
    def axis(rows):
        last = max(row["updates"] for row in rows)
        return Axis(0, last, [(step, f"{step:,}") for step in range(0, last + 1, max(last // 4, 1))])

    return picture(results, f"Exact answers of {CURVE_LENGTH} words or pairs by updates",
                   lambda row: [(0, 0), *((int(step), percent) for step, percent in row["curve"].items())], axis)


def accuracy_table(rows):
    lines = [[NAMES[kind], row["rate"], f"{row['valid_loss']:.3f}", *(deviation(accuracies(row, length)) for length in LENGTHS)]
             for kind, row in rows.items()]
    return table(["model", "rate", "held-out loss", *map(str, LENGTHS)], lines)


def lengths_from(task):
    """The longest length of training and those beyond it."""
    return [length for length in LENGTHS if length >= LONGEST_IN_TRAINING[task]]


def exchanged_table(rows):
    lengths = lengths_from("copy")

    def cells(kind):
        return [deviation(accuracies(rows[kind], length)) for length in lengths]

    lines = [[part, f"{NAMES[first]} / {NAMES[second]}", *(" / ".join(pair) for pair in zip(cells(first), cells(second), strict=True))]
             for part, first, second in EXCHANGED if first in rows and second in rows]
    return lines and table(["exchanged", "models", *map(str, lengths)], lines)


def few_table(rows):
    length = LONGEST_IN_TRAINING["copy"]
    lines = [[NAMES[kind], deviation(accuracies(row, length)), deviation(seed["few"] for seed in row["seeds"])] for kind, row in rows.items()]
    return lines and table(["model", f"{length} words", f"{length} words, only {FEW} distinct"], lines)


def attended_table(rows, task):
    """The share of right source words in each third of the source, over seeds."""
    lengths = lengths_from(task)

    def cell(row, length):
        seeds = [seed["attended"][str(length)] for seed in row["seeds"]]
        thirds = [[share for share in third if share is not None] for third in zip(*seeds, strict=True)]
        return ", ".join(f"{statistics.mean(third):.0f}" if third else "-" for third in thirds)

    lines = [[NAMES[kind], *(cell(row, length) for length in lengths)] for kind, row in rows.items() if row["seeds"][0]["attended"]]
    return lines and table(["model", *map(str, lengths)], lines)


def page(results):
    copy, recall = rows_of(results, "copy"), rows_of(results, "recall")
    words, pairs = LONGEST_IN_TRAINING["copy"], LONGEST_IN_TRAINING["recall"]
    parts = [
        "# Copying and recall by length\n",
        made(results, "copy_and_recall", "sequences of `attend toy --copy --recall`", "copy_and_recall"),
        f"Sequences of 1 to {words} words are learnt, or 1 to {pairs} pairs of key and value, of which the value of one key is asked; no model has "
        "seen a longer one. Percent of exact answers by greedy search: mean ± standard deviation over seeds 1, 2 and 3, at the rate of three that "
        "has the lowest held-out loss with seed 1. A language model reads source and target in one text, whose words its loss includes; its "
        "segments of 128 tokens hold several such texts, so that no position there is new to it, but the distance is.\n",
        "![Exact answers by length](copy_and_recall_length.svg)\n",
        f"![Exact answers by updates, {CURVE_LENGTH} words or pairs, seed 1](copy_and_recall_updates.svg)\n",
    ]
    for heading, rows in ("Copying, by number of words", copy), ("Recall, by number of pairs", recall):
        if rows:
            parts += [f"## {heading}\n", accuracy_table(rows)]
    parts += [
        *section("## What goes beyond the training lengths\n\nModels that differ in one part; percent of exact copies by number of words.\n",
                 exchanged_table(copy)),
        *section("## Where they look\n\nPercent of the target words whose strongest source word is the one that they repeat, given the right "
                 "words before them: in the first, the middle and the last third of the source (of Transformers: the mean of the heads of the "
                 "last layer). A model that counts places from both ends of the source knows both ends of a longer one, but not a middle that is "
                 "far from either; one that compares words has seen all that it needs.\n", attended_table(copy, "copy")),
        *section("Of recall, by where the asked key stands:\n", attended_table(recall, "recall")),
        *section(f"## By words or by places\n\nExact copies of sequences of {words} words that are drawn from {FEW} alone: a model that finds its "
                 "place by the words around it loses it there, one that counts does not.\n", few_table(copy)),
        "## Options\n",
        options([(f"{NAMES[kind]}{note}", row["options"]) for rows, note in ((copy, ""), (recall, ", recall")) for kind, row in rows.items()]),
    ]
    return "\n".join(parts)


def files(results):
    return {"copy_and_recall.md": page(results), "copy_and_recall_length.svg": by_length(results), "copy_and_recall_updates.svg": by_updates(results)}
