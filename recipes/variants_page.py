"""The page of recipes/transformer_variants: all its rows and those of recipes/rnn_attention in one table, with the noise of seeds and sentences."""

import statistics

from depth_picture import picture as depth_picture
from page_parts import (Bar, Difference, blanks, bleu_between_seeds, by_kind, chart, in_order, made, mean_bleu, options, speed, spread, table,
                        values)
from rates_page import note
from recurrent_page import NAMES
from scores import deviation

BASELINE = "transformer"
GROUPS = ("positions", "self-attention", "projections", "norm", "sub-layers", "activation", "together", "score", "window", "heads",
          "bias", "initialiser", "regularisation", "size", "depth")
CHANGES = GROUPS[:GROUPS.index("regularisation")]  # architectural modifications, as in 2102.11972


def name_of(kind):
    return "baseline (Transformer)" if kind == BASELINE else NAMES.get(kind, kind.replace("_", " "))


def groups_of(kinds):
    """The kinds by group, best first."""
    groups = {group: [] for group in ("recurrent", *GROUPS)}
    for kind, rows in kinds.items():
        if kind != BASELINE:
            groups[rows[0].get("group", "recurrent")].append(kind)
    return {group: sorted(of, key=lambda kind: -mean_bleu(kinds[kind])) for group, of in groups.items() if of}


def scores(kinds, between_seeds):
    def cells(kind):
        rows = kinds[kind]
        difference = Difference.of(rows, kinds[BASELINE], between_seeds)
        return [name_of(kind), f"{rows[0]['parameters'] / 1e6:.2f} M", deviation(values(rows)), deviation(values(rows, "chrf")),
                f"{statistics.mean(row['valid_loss'] for row in rows):.3f}", speed(rows[0]),
                *(["", ""] if kind == BASELINE else [f"{difference.mean:+.1f}", ", ".join(difference.beyond())])]

    rows = [cells(BASELINE)]
    for group, of in groups_of(kinds).items():
        rows += [[f"**{group}**", *[""] * 7], *map(cells, of)]
    return table(["model", "parameters", "BLEU, test", "chrF, test", "loss, val", "tokens/s", "difference", "beyond the noise of"], rows) + blanks(
        [first for first, *_ in kinds.values()])


def picture(kinds):
    """All kinds by group, best first, and a line at the baseline."""
    def bar(kind, colour):
        return Bar(name_of(kind), colour, kinds[kind], mean_bleu(kinds[kind]))

    bars = [bar(BASELINE, "mark transformer")]
    for group, of in groups_of(kinds).items():
        bars += [Bar(group), *(bar(kind, "mark none" if group == "recurrent" else "mark") for kind in of)]
    return chart("BLEU of every variant of the Transformer and of recurrent attention on the test set", bars, mean_bleu(kinds[BASELINE]))


def transfer(kinds, between_seeds):
    """The number of changes that improve BLEU: the main finding of 2102.11972."""
    changes = {kind: Difference.of(rows, kinds[BASELINE], between_seeds) for kind, rows in kinds.items()
               if rows[0].get("group") in CHANGES}
    if not changes:
        return []
    better = {kind: difference for kind, difference in changes.items() if difference.mean > 0}
    beyond = {noise: [name_of(kind) for kind, difference in better.items() if noise in difference.beyond()]
              for noise in ("seeds", "sentences")}
    lists = "; ".join(f"beyond the noise of {noise}: {len(names)}{' (' + ', '.join(names) + ')' if names else ''}"
                      for noise, names in beyond.items())
    holds = "holds" if len(beyond["seeds"]) < len(changes) / 2 else "does not hold"
    return [f"Changes of the architecture with higher BLEU than the baseline: {len(better)} of {len(changes)}; {lists}. The finding of 2102.11972 "
            f"that most modifications bring no meaningful improvement {holds} here.\n"]


def depth(kinds):
    """The table of the rows with --watch; the picture shows their layers."""
    deep = {kind: rows[0] for kind, rows in kinds.items() if rows[0].get("watch")}
    rows = []
    for kind, row in deep.items():
        ends = row["watch"]["start"], row["watch"]["trained"]
        last = f"rank_one/encoder.{row['config']['encoder-layers']}"
        rows.append([name_of(kind), deviation(values(kinds[kind])), f"{row['valid_loss']:.3f}",
                     *(f"{event[last]:.3f}" if event.get(last) is not None else "" for event in ends)])
    if not rows:
        return []
    return ["## Depth\n\nNarrower models with the parameters of the baseline (without feed-forward: fewer), with the statistics of `--watch` at "
            "the first and last update. Distance from rank one: ‖X − 1xᵀ‖ / ‖X‖ of the encoder's last hidden states, 0 where all tokens of "
            "a sentence are equal (2103.03404).\n",
            table(["model", "BLEU, test", "loss, val", "distance from rank one, start", "trained"], rows),
            "![Gradient, output of sub-layers relative to their input, and distance from rank one, by layer, at the start and trained]"
            "(transformer_variants_depth.svg)\n"]


def commands(kinds):
    base = kinds[BASELINE][0]["options"]

    def own(words):
        pairs = list(zip(base[::2], base[1::2]))
        return [word for pair in zip(words[::2], words[1::2]) if pair not in pairs for word in pair]

    return options([(name_of(BASELINE), base), *((name_of(kind), own(kinds[kind][0]["options"])) for group, of in groups_of(kinds).items()
                                                 if group != "recurrent" for kind in of)])


def page(kinds, variants, rates):
    between_seeds = bleu_between_seeds(kinds)
    everything = [row for rows in kinds.values() for row in rows]
    several = sum(len(rows) > 1 for rows in kinds.values())
    noise = (f"two standard deviations of the difference, from {between_seeds:.2f} BLEU, the standard deviation between seeds "
             f"pooled over the {several} models with several seeds (baseline: {deviation(values(kinds[BASELINE]))})")
    return "\n".join([
        "# Variants of the Transformer\n",
        made(variants, "transformer_variants", "Multi30k English-German", "transformer_variants"),
        *note(everything, rates),
        "Each row changes one part of the baseline, the Transformer of [recurrent attention](rnn_attention.md), by the options below. All "
        f"use the settings of recipes/rnn_attention.toml and the same joint tokenizer of 8,000 pieces, and are trained on "
        f"{spread(row['tokens'] / 1e6 for row in everything)} million target tokens. Where an option adds or removes more than 0.5 % of the trained "
        "parameters, the feed-forward size compensates, except in the group \"size\" and in rows without feed-forward or named \"as it is\". "
        "Translations use the average of the last three checkpoints and beam size 5. Numbers are those of seed 1, or mean ± standard "
        "deviation over seeds.\n",
        f"Difference: BLEU minus that of the baseline. Noise of seeds: {noise if several else 'unknown'}. Noise of sentences: √(a² + b²), where a and b "
        "are half the widths of both models' 95 % intervals by sacreBLEU's bootstrap.\n",
        "![BLEU on the test set of every row by group: its interval, and the scores of all its seeds](transformer_variants.svg)\n",
        scores(kinds, between_seeds),
        *(transfer(kinds, between_seeds) if several else []),
        *depth(kinds),
        "## Options\n\nIn addition to those of the baseline.\n",
        commands(kinds),
    ])


def files(recurrent, variants, rates):
    """`recurrent` has the baseline."""
    kinds = by_kind([*in_order(recurrent, NAMES), *variants])
    if BASELINE not in kinds:
        return {}
    result = {"transformer_variants.md": page(kinds, variants, rates), "transformer_variants.svg": picture(kinds)}
    watched = {kind: rows[0] for kind, rows in kinds.items() if rows[0].get("watch")}
    return result | ({"transformer_variants_depth.svg": depth_picture(watched)} if watched else {})
