"""The picture of the statistics that --watch records by layer: small charts with logarithmic axes, encoder left and decoder right."""

import math

from page_parts import Axis, legend, line_chart, line_picture, text_at

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


def chart(left, top, title, lines):
    """`lines` has the class and the numbers by layer of each line."""
    points = [point for _, points in lines for point in points]
    if not points:
        return []
    layers = sorted({layer for layer, _ in points})
    numbers = [number for _, number in points]
    lowest, highest = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
    highest = max(highest, lowest + 1)
    powers = [10.0**power for power in range(lowest, highest + 1, max(1, (highest - lowest) // 4))]
    return line_chart(left, top, WIDTH, HEIGHT, title, [(kind, [(*point, "") for point in points]) for kind, points in lines],
                      Axis(layers[0], max(layers[-1], layers[0] + 1), [(layer, str(layer)) for layer in layers[::2]]),
                      Axis(10.0**lowest, 10.0**highest, [(power, f"{power:g}") for power in powers], logarithmic=True))


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
            drawn += legend(across, top, {kinds[kind]: label})
            across += 56 + 7 * len(label)
        for place, stack in enumerate(("encoder", "decoder")):
            lines = [(f"{kinds[kind]} {style}", by_layer(watched[kind]["watch"][style], quantity, stack)) for kind in shown
                     for style in ("start", "trained")]
            drawn += chart(LEFT + place * (WIDTH + GAP), top + 44, f"{title}, {stack}", [line for line in lines if line[1]])
        top += HEIGHT + 100
    width, height = LEFT + 2 * WIDTH + GAP + 20, top - TOP + 30
    drawn.insert(0, text_at(LEFT, 20, "start", "Models of 12 + 12 layers, by layer: dashed at the first update, solid at the last."))
    return line_picture(width, height, "Gradient, sub-layers and distance from rank one by layer", COLOURS, drawn, ".start{stroke-dasharray:4 3}")
