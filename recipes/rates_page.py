"""The page of recipes/rates: held-out loss by learning rate and optimiser, with one line per family, and the rate that is chosen at each
amount."""

import math

from page_parts import FAMILIES, Axis, legend, line_chart, line_picture, made, of_tokens, table

NAMES = FAMILIES | {"transformer": "Transformer, 2 + 2 layers of 256"}
COLOURS = {"bahdanau": ("#0969da", "#4493f8"), "luong": ("#9a6700", "#d29922"), "fixed": ("#59636e", "#9198a1"),
           "transformer": ("#1a7f37", "#3fb950")}
OPTIMISERS = {"adamw": "AdamW", "muon": "Muon"}
FEWEST = 2  # a rate is chosen among at least so many
WIDTH, HEIGHT, LEFT, TOP = 420, 240, 48, 44


def losses(results, amount, warmup, optimiser="adamw"):
    """{family: {rate: held-out loss}}, by rate."""
    found = {}
    for row in sorted(results, key=lambda row: row["rate"]):
        if row["millions"] == amount and row["warmup"] == warmup and row["config"]["optimiser"] == optimiser:
            found.setdefault(row["kind"], {})[row["rate"]] = row["valid_loss"]
    return {kind: found[kind] for kind in NAMES if kind in found}


def best(by_rate):
    return min(by_rate, key=by_rate.get)


def of_rate(rate):
    """2e-3 for 0.002."""
    digits, exponent = f"{rate:e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def of_best(by_rate):
    """The best rate; in brackets if no higher or no lower rate was tried."""
    rate = best(by_rate)
    return f"({of_rate(rate)})" if rate in (min(by_rate), max(by_rate)) else of_rate(rate)


def losses_table(found, name_of=NAMES.get):
    rates = sorted({rate for by_rate in found.values() for rate in by_rate})

    def cell(by_rate, rate):
        if rate not in by_rate:
            return ""
        mark = "**" if rate == best(by_rate) and len(by_rate) >= FEWEST else ""
        return f"{mark}{by_rate[rate]:.3f}{mark}"

    return table(["model", *map(of_rate, rates)],
                 [[name_of(kind), *(cell(by_rate, rate) for rate in rates)] for kind, by_rate in found.items()])


def chosen_table(by_amount):
    """The best rate by amount."""
    def cell(by_rate):
        if len(by_rate) < FEWEST:
            return ""
        return of_best(by_rate)

    return table(["model", *map(of_tokens, by_amount)],
                 [[name, *(cell(found.get(kind, {})) for found in by_amount.values())] for kind, name in NAMES.items()])


def optimisers_table(by_optimiser):
    """Muon beside AdamW, each at its best rate, where both have one."""
    adamw, muon = (by_optimiser[optimiser] for optimiser in OPTIMISERS)
    cells = []
    for amount in adamw:
        for kind, name in NAMES.items():
            pair = [found.get(amount, {}).get(kind, {}) for found in (adamw, muon)]
            if all(len(by_rate) >= FEWEST for by_rate in pair):
                low = [min(by_rate.values()) for by_rate in pair]
                cells.append([name, of_tokens(amount), *(f"{loss:.3f} ({of_rate(best(by_rate))})" for loss, by_rate in zip(low, pair)),
                              f"{low[1] - low[0]:+.3f}"])
    return cells and table(["model", "target tokens", *OPTIMISERS.values(), "difference"], cells)


def warmup_table(results, short, usual):
    """The losses of rows that differ in their warm-up alone."""
    pairs = []
    for row in results:
        if row["warmup"] != short:
            continue
        other = losses(results, row["millions"], usual).get(row["kind"], {}).get(row["rate"])
        if other is not None:
            pairs.append([NAMES[row["kind"]], of_tokens(row["millions"]), of_rate(row["rate"]), f"{row['valid_loss']:.3f}", f"{other:.3f}"])
    return table(["model", "target tokens", "rate", f"warm-up {short:.0%}", f"warm-up {usual:.0%}"], sorted(pairs))


def picture(amount, found):
    numbers = [loss for by_rate in found.values() for loss in by_rate.values()]
    rates = sorted({rate for by_rate in found.values() for rate in by_rate})
    low, high = math.floor(5 * min(numbers)) / 5, math.ceil(5 * max(numbers)) / 5
    marks = [low + step / 5 for step in range(round(5 * (high - low)) + 1)]
    lines = [(kind, [(rate, loss, f"{NAMES[kind]}, {of_rate(rate)}: {loss:.3f}") for rate, loss in by_rate.items()])
             for kind, by_rate in found.items()]
    drawn = line_chart(LEFT, TOP, WIDTH, HEIGHT, f"Held-out loss by learning rate after {of_tokens(amount)} target tokens", lines,
                       Axis(rates[0], rates[-1], [(rate, of_rate(rate)) for rate in rates], logarithmic=True),
                       Axis(low, high, [(mark, f"{mark:.1f}") for mark in marks]))
    names = {kind: NAMES[kind] for kind in found}
    return line_picture(LEFT + WIDTH + 24, TOP + HEIGHT + 40 + 20 * len(names), "Held-out loss by learning rate", COLOURS,
                        [*drawn, *legend(LEFT, TOP + HEIGHT + 50, names)])


def usual_warmup(results):
    return max(row["warmup"] for row in results)


def files(results):
    short, usual = min(row["warmup"] for row in results), usual_warmup(results)
    amounts = sorted({row["millions"] for row in results})
    by_optimiser = {optimiser: {amount: losses(results, amount, usual, optimiser) for amount in amounts} for optimiser in OPTIMISERS}
    by_amount, of_muon = by_optimiser["adamw"], by_optimiser["muon"]
    has_muon = any(of_muon.values())
    largest = max(by_amount)
    lines = [
        "# Learning rates\n",
        made(results, "rates", "Multi30k English-German", "rates"),
        f"AdamW{' and Muon' * has_muon} with the settings of recipes/multi30k_rows.toml, one seed; a schedule as long as the training, of which the first {usual:.0%} are "
        "warm-up and the rest decays linearly. Held-out loss: nats per piece of val at the end of training; the lowest is bold. No test set is "
        "read.\n",
        f"![Held-out loss by learning rate{' of AdamW' * has_muon}](rates.svg)\n",
    ]
    if any(len(by_rate) >= FEWEST for found in by_amount.values() for by_rate in found.values()):
        lines += ["## The rate of each family\n\nBy target tokens of training. In brackets: no rate beyond it was tried. `--learning-rate auto` of "
                  "`attend train` follows from them" + " with AdamW" * has_muon + ".\n"]
        for optimiser, found in by_optimiser.items():
            if any(found.values()):
                lines += [f"### {OPTIMISERS[optimiser]}\n"] * has_muon + [chosen_table(found)]
    if compared := optimisers_table(by_optimiser):
        lines += ["## Muon beside AdamW\n\nHeld-out loss after the same updates, each optimiser at its best rate. An update with Muon takes longer: "
                  "by the orthogonal factors of its matrices, whatever the batch.\n", compared]
    for amount in reversed(amounts):
        for optimiser, found in by_optimiser.items():
            if found[amount]:
                lines += [f"## {of_tokens(amount)} target tokens" + f", {OPTIMISERS[optimiser]}" * has_muon + "\n", losses_table(found[amount])]
    if short != usual:
        lines += ["## Warm-up\n", warmup_table(results, short, usual)]
    return {"rates.md": "\n".join(lines), "rates.svg": picture(largest, by_amount[largest])}
