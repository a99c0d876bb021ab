"""Parts of pages of results: tables, numbers with their noise, and pictures."""

import dataclasses
import html
import math
import statistics

from scores import pooled_deviation

TEST, VALID = "test_2016_flickr", "val"
LENGTHS = ("under 10", "10 to 19", "20 and more")
FAMILIES = {"bahdanau": "Bahdanau", "luong": "Luong", "fixed": "No attention", "transformer": "Transformer"}


def interval(score):
    return f"{score['score']:.1f} ({score['low']:.1f} to {score['high']:.1f})"


def of_tokens(millions):
    return f"{millions:g} M"


def table(heads, rows):
    """Without the columns whose cells are all blank."""
    columns = [cells for cells in zip(heads, ["---"] * len(heads), *rows, strict=True) if any(cells[2:]) or not rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in zip(*columns))


def options(named):
    """The table of (name, options as words of a command line)."""
    return table(["model", "options"], [[name, f"`{' '.join(options)}`" if options else ""] for name, options in named])


def section(text, content):
    return [text, content] if content else []


def in_order(results, names):
    return sorted(results, key=lambda row: list(names).index(row["kind"]))


def spread(values):
    """The smallest and the largest value, or one if they are equal."""
    ends = sorted({f"{value:.1f}" for value in values}, key=float)
    return " to ".join(dict.fromkeys([ends[0], ends[-1]]))


def sorted_set(results, key):
    return ", ".join(sorted({str(row[key]) for row in results}))


def made(results, recipe, text, folder):
    """The recipe, machine, version and days of the rows."""
    days = sorted({row["started"] for row in results})
    return (f"`recipes/{recipe}`: {text}; {sorted_set(results, 'processor')}, one thread per run, runs in parallel: "
            f"{sorted_set(results, 'rows_at_a_time')}; attend {sorted_set(results, 'attend')}; started "
            f"{' to '.join(dict.fromkeys([days[0], days[-1]]))}. `recipes/attention_pages` writes this page from the files in "
            f"[{folder}/]({folder}).\n")


def speed(row):
    return f"{row['tokens_per_second']:,.0f}" if row["tokens_per_second"] else ""


def blanks(results):
    """Below a table in which some rows have a speed."""
    measured = {bool(row["tokens_per_second"]) for row in results}
    return "\nTokens/s are blank where other work shared the processor.\n" if len(measured) > 1 else ""


def test_bleu(row):
    return row["sets"][TEST]["bleu"]


def by_kind(results):
    """The rows of every kind that has seed 1, in the order of seeds."""
    kinds = {row["kind"]: [] for row in results if row["seed"] == 1}
    for row in sorted(results, key=lambda row: row["seed"]):
        kinds.get(row["kind"], []).append(row)
    return kinds


def values(rows, metric="bleu"):
    return [row["sets"][TEST][metric]["score"] for row in rows]


def mean_bleu(rows):
    return statistics.mean(values(rows))


def bleu_between_seeds(kinds):
    """The standard deviation of BLEU between seeds, pooled over all kinds."""
    return pooled_deviation(map(values, kinds.values()))


@dataclasses.dataclass
class Difference:
    """Of test BLEU between two kinds, and the difference that noise alone may make."""
    mean: float
    seeds: float      # two standard deviations of the difference between the means over seeds
    sentences: float  # half of its bootstrap interval, for independent test sets

    @staticmethod
    def of(rows, others, between_seeds):
        halves = [statistics.mean((test_bleu(row)["high"] - test_bleu(row)["low"]) / 2 for row in side) for side in (rows, others)]
        return Difference(mean_bleu(rows) - mean_bleu(others), 2 * between_seeds * math.sqrt(1 / len(rows) + 1 / len(others)),
                          math.hypot(*halves))

    def beyond(self):
        """The kinds of noise that it exceeds."""
        return [name for name in ("seeds", "sentences") if abs(self.mean) > getattr(self, name)]


def text_at(x, y, anchor, words, style=""):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{style}>{html.escape(words)}</text>'


def svg(width, height, title, size, styles, light, dark, drawn):
    """A picture with light and dark colours, one of which the reader's settings choose."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{title}</title>",
        f"<style>text{{font:{size}px sans-serif;fill:#1f2328}}.grid{{stroke:#d1d9e0}}{styles}{light}@media(prefers-color-scheme:dark){{"
        f"text{{fill:#e6edf3}}.grid{{stroke:#3d444d}}{dark}}}</style>",
        *drawn, "</svg>\n"])


@dataclasses.dataclass
class Axis:
    """Values from `low` to `high`, and its ticks (value, label)."""
    low: float
    high: float
    ticks: list
    logarithmic: bool = False

    def share(self, value):
        """The place of a value: 0 at `low`, 1 at `high`."""
        low, high, value = (math.log10(number) if self.logarithmic else number for number in (self.low, self.high, value))
        return (value - low) / ((high - low) or 1)


def line_chart(left, top, width, height, title, lines, across, up):
    """Lines (class, points), a point being (x, y, words), on the axes `across` and `up`; a point with words has a dot, which shows them."""
    def x(value):
        return f"{left + width * across.share(value):.1f}"

    def y(value):
        return f"{top + height * (1 - up.share(value)):.1f}"

    drawn = [text_at(left, top - 18, "start", title)]
    for value, label in up.ticks:
        drawn += [f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y(value)}" y2="{y(value)}"/>',
                  text_at(left - 8, f"{float(y(value)) + 4:.1f}", "end", label)]
    drawn += [text_at(x(value), top + height + 20, "middle", label) for value, label in across.ticks]
    for kind, points in lines:
        drawn.append(f'<polyline class="{kind}" points="{" ".join(f"{x(place)},{y(value)}" for place, value, _ in points)}"/>')
        drawn += [f'<circle class="{kind}" cx="{x(place)}" cy="{y(value)}" r="3"><title>{html.escape(words)}</title></circle>'
                  for place, value, words in points if words]
    return drawn


def legend(left, top, names):
    """One name per line, with the line of its class."""
    drawn = []
    for place, (kind, name) in enumerate(names.items()):
        y = top + 20 * place
        drawn += [f'<polyline class="{kind}" points="{left},{y - 4} {left + 28},{y - 4}"/>', text_at(left + 36, y, "start", name)]
    return drawn


def line_picture(width, height, title, colours, drawn, styles=""):
    """A picture of line charts; `colours` has the light and the dark colour of each class."""
    light, dark = ("".join(f".{kind}{{stroke:{pair[shade]};--fill:{pair[shade]}}}" for kind, pair in colours.items()) for shade in (0, 1))
    return svg(width, height, title, 13, "polyline{fill:none;stroke-width:2}circle{fill:var(--fill)}" + styles, light, dark, drawn)


@dataclasses.dataclass
class Bar:
    """A line of a chart: the interval of the first seed, a dot for every seed, and a number; without rows, a heading."""
    label: str
    colour: str = ""
    rows: list = dataclasses.field(default_factory=list)
    number: float = 0


def chart(title, bars, reference=None):
    """Bars of test BLEU, and a vertical line at the reference."""
    first = [test_bleu(bar.rows[0]) for bar in bars if bar.rows]
    left, right, top, step = 300, 730, 34, 22
    lowest = 10 * (min(score["low"] for score in first) // 10)
    highest = 10 * (max(score["high"] for score in first) // 10 + 1)
    bottom = top + step * len(bars)

    def x(score):
        return f"{left + (right - left) * (score - lowest) / (highest - lowest):.1f}"

    lines = []
    for score in range(int(lowest), int(highest) + 1, 10):
        lines += [f'<line class="grid" x1="{x(score)}" x2="{x(score)}" y1="{top - 8}" y2="{bottom}"/>',
                  text_at(x(score), top - 14, "middle", f"{score} BLEU" if score == lowest else str(score))]
    if reference is not None:
        lines.append(f'<line class="transformer" stroke-dasharray="4 3" x1="{x(reference)}" x2="{x(reference)}" y1="{top - 8}" '
                     f'y2="{bottom}"/>')
    for place, bar in enumerate(bars):
        y = top + step * place + step // 2
        if not bar.rows:
            lines.append(text_at(12, y + 4, "start", bar.label, ' style="font-weight:bold"'))
            continue
        score = test_bleu(bar.rows[0])
        lines += [text_at(left - 12, y + 4, "end", bar.label),
                  f'<line class="{bar.colour}" x1="{x(score["low"])}" x2="{x(score["high"])}" y1="{y}" y2="{y}"/>',
                  *(f'<circle class="{bar.colour}" cx="{x(test_bleu(row)["score"])}" cy="{y}" r="3.5"/>' for row in bar.rows),
                  text_at(right + 12, y + 4, "start", f"{bar.number:.1f}")]
    return svg(790, bottom + 12, title, 13, "", ".mark{stroke:#0969da;fill:#0969da;stroke-width:2}"
               ".transformer{stroke:#1a7f37;fill:#1a7f37}",
               ".mark{stroke:#4493f8;fill:#4493f8}.transformer{stroke:#3fb950;fill:#3fb950}", lines)
