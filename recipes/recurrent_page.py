"""The page of recipes/rnn_attention."""

from page_parts import (LENGTHS, TEST, VALID, Bar, blanks, by_kind, chart, in_order, interval, made, options, section, speed, spread, table,
                        test_bleu)
from rates_page import note
from scores import deviation

NAMES = {
    "fixed": "no attention, the context once",
    "fixed_every": "no attention, the context at every step",
    "bahdanau": "Bahdanau (additive, GRU)",
    "luong_dot": "Luong, dot",
    "luong_scaled_dot": "Luong, scaled dot",
    "luong_general": "Luong, general",
    "luong_additive": "Luong, additive",
    "luong_location": "Luong, location",
    "luong_rbf": "Luong, rbf",
    "luong_elu1": "Luong, elu1",
    "luong_general_local_m": "Luong, general, local-m",
    "luong_general_local_p": "Luong, general, local-p",
    "luong_general_no_feeding": "Luong, general, no input feeding",
    "luong_general_hard": "Luong, general, hard attention",
    "luong_general_gru": "Luong, general, GRU",
    "luong_general_tanh": "Luong, general, tanh cells",
    "luong_general_cells": "Luong, general, keys and values from cells",
    "luong_general_sampling": "Luong, general, scheduled sampling",
    "luong_additive_coverage": "Luong, additive, coverage",
    "transformer": "Transformer of equal parameters",
}


def scores(results):
    rows = []
    for row in results:
        test, valid = row["sets"][TEST], row["sets"][VALID]
        aer = f"{row['aer']['score']:.1f}" if row["aer"] else "none"
        rows.append([NAMES[row["kind"]], f"{row['parameters'] / 1e6:.2f} M", interval(test["bleu"]), interval(test["chrf"]),
                     interval(valid["bleu"]), interval(valid["chrf"]), f"{row['valid_loss']:.3f}", speed(row), aer])
    return table(["model", "parameters", "BLEU, test", "chrF, test", "BLEU, val", "chrF, val", "loss, val", "tokens/s", "AER"], rows) + blanks(results)


def lengths(results):
    rows = []
    for row in results:
        parts = [row["bleu_by_length"][name] for name in LENGTHS]
        rows.append([NAMES[row["kind"]], *(interval(part) if part["sentences"] else "none" for part in parts)])
    counts = [results[0]["bleu_by_length"][name]["sentences"] for name in LENGTHS]
    return table(["model", *(f"{name} ({count:,} sentences)" for name, count in zip(LENGTHS, counts))], rows)


def repetitions(results):
    """Mean and standard deviation of the kinds with several seeds."""
    rows = []
    for kind in NAMES:
        bleu = [row["sets"][TEST]["bleu"]["score"] for row in results if row["kind"] == kind]
        chrf = [row["sets"][TEST]["chrf"]["score"] for row in results if row["kind"] == kind]
        if len(bleu) > 1:
            rows.append([NAMES[kind], ", ".join(f"{value:.1f}" for value in bleu), deviation(bleu), deviation(chrf)])
    return table(["model", "BLEU of each seed, test", "BLEU, test", "chrF, test"], rows) if rows else ""


def gaps(results):
    """BLEU with attention minus BLEU without, for the same seeds, by source length."""
    bleu = {(row["kind"], row["seed"]): [row["bleu_by_length"][name]["score"] for name in LENGTHS] for row in results
            if all(row["bleu_by_length"][name]["sentences"] for name in LENGTHS)}
    rows = []
    for kind in ("bahdanau", "luong_general"):
        seeds = sorted(seed for of, seed in bleu if of == kind and ("fixed", seed) in bleu)
        differences = [[a - b for a, b in zip(bleu[kind, seed], bleu["fixed", seed])] for seed in seeds]
        if len(differences) > 1:
            growth = [longest - shortest for shortest, *_, longest in differences]
            rows.append([NAMES[kind], *map(deviation, [*zip(*differences), growth])])
    return table(["model", *LENGTHS, f"{LENGTHS[-1]}, minus {LENGTHS[0]}"], rows) if rows else ""


def picture(results):
    """Every kind, best first."""
    def colour(kind):
        return "mark none" if kind.startswith("fixed") else "mark transformer" if kind == "transformer" else "mark"

    bars = [Bar(NAMES[kind], colour(kind), rows, test_bleu(rows[0])["score"]) for kind, rows in by_kind(results).items()]
    return chart("BLEU of every kind of recurrent attention on the test set", sorted(bars, key=lambda bar: -bar.number))


def page(results, rates):
    first = [row for row in results if row["seed"] == 1]
    tokens = spread(row["tokens"] / 1e6 for row in results)
    return "\n".join([
        "# Recurrent attention\n",
        made(results, "rnn_attention", "Multi30k English-German", "rnn_attention"),
        *note(results, rates),
        f"Every row uses the settings of recipes/rnn_attention.toml, the options below and the same joint tokenizer of 8,000 pieces, "
        f"and is trained on {tokens} million target tokens. Numbers are those of seed 1 unless stated otherwise. Translations use the average "
        "of the last three checkpoints and beam size 5. In brackets: 95 % intervals of sacreBLEU's bootstrap over sentences, which do not "
        "cover the variation between [seeds](#seeds). AER: alignment error rate in percent on the built-in corpus, from a separate small "
        "training.\n",
        "![BLEU on the test set of every row: its interval, and the scores of all its seeds](rnn_attention.svg)\n",
        scores(first),
        "## By length\n\nBLEU on test and val together, by number of source words.\n",
        lengths(first),
        *section("## Seeds\n\nMean ± standard deviation over seeds.\n", repetitions(results)),
        *section("## Gain from attention\n\nBLEU on test and val together minus that of the model without attention that reads the "
                 "context once, by number of source words: mean ± standard deviation over seeds.\n", gaps(results)),
        "## Options\n",
        options([(NAMES[row["kind"]], row["options"]) for row in first]),
    ])


def files(results, rates):
    results = in_order(results, NAMES)
    return {"rnn_attention.md": page(results, rates), "rnn_attention.svg": picture(results)}
