"""The picture of the statistics that --watch records by layer: small charts with logarithmic axes, encoder left and decoder right."""

import math

from page_parts import svg, text_at

# Kinds of rows and the classes of their lines.
DEPTH = {"layers_12_pre": "a", "layers_12_post": "b", "layers_12_pre_no_residual": "c", "layers_12_post_no_residual": "d"}
RANK = {"layers_12_pre": "a", "layers_12_pre_no_residual": "c", "layers_12_pre_no_feed-forward": "e", "layers_12_pre_neither": "f"}
CHARTS = (
    ("gradient", "norm of the gradient", DEPTH),
    ("self_attention", "‖F(x)‖ / ‖x‖ of self-attention", DEPTH),
    ("feed_forward", "‖F(x)‖ / ‖x‖ of the feed-forward", DEPTH),
    ("rank_one", "distance from rank one", RANK),
)
WIDTH, HEIGHT, LEFT, GAP, TOP = 300, 170, 64, 60, 60
LOWEST = 1e-8  # smaller numbers are drawn at this one
COLOURS = {"a": ("#1a7f37", "#3fb950"), "b": ("#0969da", "#4493f8"), "c": ("#cf222e", "#f85149"), "d": ("#8250df", "#ab7df8"),
           "e": ("#9a6700", "#d29922"), "f": ("#1f2328", "#e6edf3")}


def by_layer(event, quantity, stack):
    """The pairs (layer, number) of an event; layers without a finite number are left out, as is the norm after the last layer."""
    start = f"{quantity}/{stack}."
    layers = {name.removeprefix(start): number for name, number in event.items() if name.startswith(start)}
    return sorted((int(layer), max(number, LOWEST)) for layer, number in layers.items() if layer.isdigit() and number is not None)


def small_chart(left, top, title, lines):
    """`lines` has the class, style, and numbers by layer of each line."""
    numbers = [number for *_, points in lines for _, number in points]
    layers = [layer for *_, points in lines for layer, _ in points]
    if not numbers:
        return []
    lowest, highest = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
    highest = max(highest, lowest + 1)
    first, last = min(layers), max(max(layers), min(layers) + 1)

    def x(layer):
        return left + WIDTH * (layer - first) / (last - first)

    def y(number):
        return top + HEIGHT * (highest - math.log10(number)) / (highest - lowest)

    drawn = [text_at(left, top - 10, "start", title)]
    for power in range(lowest, highest + 1, max(1, (highest - lowest) // 4)):
        drawn += [f'<line class="grid" x1="{left}" x2="{left + WIDTH}" y1="{y(10.0**power):.1f}" y2="{y(10.0**power):.1f}"/>',
                  text_at(left - 6, round(y(10.0**power) + 4), "end", f"{10.0**power:g}")]
    drawn += [text_at(round(x(layer)), top + HEIGHT + 16, "middle", str(layer)) for layer in sorted(set(layers))[::2]]
    for colour, style, points in lines:
        path = " ".join(f"{x(layer):.1f},{y(number):.1f}" for layer, number in points)
        drawn.append(f'<polyline class="{colour} {style}" points="{path}"/>')
    return drawn


def picture(watched):
    """`watched` has the rows by kind, with their events at the start and at the end of training."""
    drawn, top = [], TOP
    for quantity, title, kinds in CHARTS:
        shown = [kind for kind in kinds if kind in watched]
        if not shown:
            continue
        across = LEFT
        for kind in shown:
            label = kind.removeprefix("layers_12_").replace("_", " ")
            drawn += [f'<line class="{kinds[kind]}" x1="{across}" x2="{across + 18}" y1="{top - 4}" y2="{top - 4}"/>',
                      text_at(across + 23, top, "start", label)]
            across += 40 + 7 * len(label)
        for place, stack in enumerate(("encoder", "decoder")):
            lines = [(kinds[kind], style, by_layer(watched[kind]["watch"][style], quantity, stack)) for kind in shown
                     for style in ("start", "trained")]
            drawn += small_chart(LEFT + place * (WIDTH + GAP), top + 36, f"{title}, {stack}", [line for line in lines if line[2]])
        top += HEIGHT + 92
    light = "".join(f".{name}{{stroke:{colour}}}" for name, (colour, _) in COLOURS.items())
    dark = "".join(f".{name}{{stroke:{colour}}}" for name, (_, colour) in COLOURS.items())
    width, height = LEFT + 2 * WIDTH + GAP + 20, top - TOP + 20
    drawn.insert(0, text_at(LEFT, 20, "start", "Models of 12 + 12 layers, by layer: dashed at the first update, solid at the last."))
    return svg(width, height, "Gradient, sub-layers and distance from rank one by layer", 12,
               "line,polyline{stroke-width:2;fill:none}.grid{stroke-width:1}.start{stroke-dasharray:4 3}", light, dark, drawn)
