"""The page of recipes/curves: BLEU by amount of training and of text, with one line per kind of model."""

import math

import rates_page
from page_parts import TEST, Axis, interval, legend, line_chart, line_picture, made, of_tokens, options, table, test_bleu

NAMES = {"bahdanau": "Bahdanau", "luong": "Luong", "fixed": "No attention", "transformer": "Transformer, 4 + 4 layers of 128",
         "transformer_wide": "Transformer, 2 + 2 layers of 256"}
COLOURS = rates_page.COLOURS | {"transformer_wide": ("#8250df", "#ab7df8")}
# The kinds of recipes/rnn_attention whose rows are those with 4 million target tokens.
SHARED = {"fixed": "fixed", "luong_general": "luong", "bahdanau": "bahdanau", "transformer": "transformer_wide"}
WHOLE = 29000  # pairs of the whole text
WIDTH, HEIGHT, LEFT, GAP, TOP = 300, 280, 48, 90, 44


def shared_rows(recurrent):
    """The rows of recipes/rnn_attention as rows of recipes/curves."""
    return [row | {"row": f"{SHARED[row['kind']]}_4M", "kind": SHARED[row["kind"]], "pairs": None}
            for row in recurrent if row["seed"] == 1 and row["kind"] in SHARED]


def amount(row):
    """The amount of training in millions of target tokens, as in the row's name, or of text in pairs."""
    return row["pairs"] or float(row["row"].rsplit("_", 1)[1].removesuffix("M"))


def lines_of(results, text):
    """The points (amount, row) of each kind in the chart of text or of training. The row of 8 million tokens is the point of the whole text."""
    lines = {}
    for row in results:
        if text and row["pairs"] is None and amount(row) == 8:
            lines.setdefault(row["kind"], []).append((WHOLE, row))
        elif (row["pairs"] is not None) == text:
            lines.setdefault(row["kind"], []).append((amount(row), row))
    return {kind: sorted(lines[kind], key=lambda point: point[0]) for kind in NAMES if kind in lines}


def amounts_of(lines):
    return sorted({place for points in lines.values() for place, _ in points})


def small_chart(left, title, lines, label):
    amounts = amounts_of(lines)
    top_score = 5 * math.ceil(max(test_bleu(row)["score"] for points in lines.values() for _, row in points) / 5)
    drawn = [(kind, [(place, test_bleu(row)["score"], f"{NAMES[kind]}, {label(place)}: {test_bleu(row)['score']:.1f}")
                     for place, row in points]) for kind, points in lines.items()]
    return line_chart(left, TOP, WIDTH, HEIGHT, title, drawn,
                      Axis(amounts[0], amounts[-1], [(place, label(place)) for place in amounts], logarithmic=True),
                      Axis(0, top_score, [(score, str(score)) for score in range(0, top_score + 1, 5)]))


def of_pairs(pairs):
    return f"{pairs / 1000:g}k"


def picture(results):
    training, text = lines_of(results, False), lines_of(results, True)
    width = LEFT + WIDTH + (WIDTH + GAP if training and text else 0) + 24
    height = TOP + HEIGHT + 40 + 20 * len(NAMES)
    drawn = [*(small_chart(LEFT, "BLEU by target tokens of training", training, of_tokens) if training else []),
             *(small_chart(LEFT + (WIDTH + GAP if training else 0), "BLEU by sentence pairs of text", text, of_pairs) if text else []),
             *legend(LEFT, TOP + HEIGHT + 50, {kind: NAMES[kind] for kind in training | text})]
    return line_picture(width, height, "BLEU on the test set by target tokens of training and by sentence pairs of text", COLOURS, drawn)


def scores(lines, label):
    amounts = amounts_of(lines)
    rows = []
    for kind, points in lines.items():
        found = {place: interval(test_bleu(row)) for place, row in points}
        rows.append([NAMES[kind], *(found.get(place, "") for place in amounts)])
    return table(["model", *map(label, amounts)], rows)


def gaps(lines, label):
    """BLEU of each Transformer minus that of each recurrent model, by amount."""
    amounts = amounts_of(lines)
    found = {kind: {place: test_bleu(row)["score"] for place, row in points} for kind, points in lines.items()}
    rows = [[f"{NAMES[kind]} - {NAMES[other]}", *(f"{ours[place] - theirs[place]:+.1f}" if place in ours and place in theirs else ""
                                                  for place in amounts)]
            for kind, ours in found.items() if kind.startswith("transformer")
            for other, theirs in found.items() if not other.startswith("transformer")]
    return table(["difference", *map(label, amounts)], rows)


def chart_section(title, lines, label, words):
    return [f"## {title}\n\n{words}\n", scores(lines, label), gaps(lines, label)] if lines else []


def page(results, recurrent, rates):
    training, text = lines_of(results, False), lines_of(results, True)
    shared = (" The rows with 4 million tokens, but for the Transformer of width 128, are those of seed 1 of "
              "[rnn_attention](rnn_attention.md), which has more seeds.") if recurrent else ""
    return "\n".join([
        "# BLEU by amount of training and of text\n",
        made(results, "curves", "Multi30k English-German", "curves"),
        *rates_page.note(results, rates),
        f"BLEU on {TEST} with 95 % intervals, one seed; translations with the average of the last three checkpoints and beam size 5. The "
        "settings of a model do not depend on the amount; the warm-up takes the same share of each training. Where a difference changes its sign, "
        "the curves of two models cross.\n",
        "![BLEU by the amount of training and of text](curves.svg)\n",
        *chart_section("By amount of training", training, of_tokens,
                       "All 29,000 pairs, the joint tokenizer of 8,000 pieces, and a schedule as long as the training." + shared),
        *chart_section("By amount of text", text, of_pairs,
                       "The first pairs of the text, seen a hundred times but for at most 8 million target tokens, with a joint tokenizer of 1,000, "
                       "2,000 and 4,000 pieces for 1,000, 3,000 and 10,000 pairs."),
        "## Settings\n\nIn addition to those of recipes/rnn_attention.toml; the warm-up is that of the largest amount here.\n",
        options([(NAMES[kind], points[-1][1]["options"]) for kind, points in (text | training).items()]),
    ])


def files(results, recurrent, rates):
    together = results + shared_rows(recurrent)
    return {"curves.md": page(together, recurrent, rates), "curves.svg": picture(together)}
