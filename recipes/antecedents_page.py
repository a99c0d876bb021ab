"""The page of recipes/antecedents."""

import statistics

from page_parts import by_kind, made, sorted_set, table
from scores import deviation

NAMES = {"luong": "Luong", "bahdanau": "Bahdanau", "transformer": "Transformer", "bert": "BERT", "gpt": "GPT"}
CANDIDATES = {"one_candidate": "one candidate", "two_candidates": "two candidates"}
DISTANCES = ((1, 3), (4, 6), (7, 9), (10, 12))
FORMS = ("er", "sie", "es", "ihn", "ihm", "ihr")


def accuracy(row, chosen):
    """Percent of the pairs for which chosen(candidates, distance, pronoun) holds."""
    counts = [(pairs, right) for candidates, distance, pronoun, pairs, right in row["pairs"] if chosen(candidates, distance, pronoun)]
    return 100 * sum(right for _, right in counts) / sum(pairs for pairs, _ in counts)


def accuracies(kinds):
    def line(name, detail, chosen):
        return [name, detail, *(deviation(accuracy(row, chosen) for row in found) for found in kinds.values())]

    lines = []
    for candidates, name in CANDIDATES.items():
        lines.append(line(name, "", lambda kind, *_, wanted=candidates: kind == wanted))
        lines += [line("", f"distance {low} to {high}",
                       lambda kind, distance, _, wanted=candidates, low=low, high=high: kind == wanted and low <= distance <= high)
                  for low, high in DISTANCES]
    lines += [line("by pronoun" if form == FORMS[0] else "", form, lambda _, __, pronoun, form=form: pronoun == form) for form in FORMS]
    return table(["pairs", "", *(NAMES[kind] for kind in kinds)], lines)


def gain(head):
    return head["share"] - head["expected"]


def attention(kinds):
    """For each place, the head of each seed whose share is furthest above the expected one, and the mean of all heads."""
    lines = []
    for kind, found in kinds.items():
        for place in dict.fromkeys(head["place"] for head in found[0]["attention"]):
            heads = [[head for head in row["attention"] if head["place"] == place] for row in found]
            best = [max(of_seed, key=gain) for of_seed in heads]
            lines.append([NAMES[kind], place, ", ".join(f"{head['layer']}.{head['head']}" for head in best),
                          *(deviation(100 * head[number] for head in best) for number in ("share", "expected")),
                          *(deviation(100 * statistics.mean(head[number] for head in of_seed) for of_seed in heads)
                            for number in ("share", "expected"))])
    return table(["model", "place", "head by seed", "its weight on the noun, %", "from position alone, %", "mean of all heads, %",
                  "from position alone, %"], lines)


def effects(kinds):
    lines = []
    for kind, found in kinds.items():
        for change in found[0]["effects"]:
            measured = [row["effects"][change] for row in found]
            lines.append([NAMES[kind] if change == "all" else "", {"all": "none"}.get(change, change),
                          deviation(100 * one["right"] / row["instances"] for one, row in zip(measured, found)),
                          deviation(one["margin"] for one in measured)])
    return table(["model", "change", "right, %", "log p(right) - log p(other gender), nats"], lines)


def page(results):
    found = by_kind(results)
    kinds = {kind: found[kind] for kind in NAMES if kind in found}
    return "\n".join([
        "# Who is \"it\"?\n",
        made(results, "antecedents", "models of recipes/toy_*.toml, trained on 20,000 sentence pairs of the built-in corpus", "antecedents"),
        "German says er, sie or es (ihn, ihm, ihr) for \"it\", by the gender of the noun that it stands for. The BERT and the GPT read the German "
        f"sentences alone. Seeds: {sorted_set(results, 'seed')}; updates: {sorted_set(results, 'updates')}; mean ± standard "
        "deviation over seeds.\n",
        "## Is the pronoun right?\n\nHow often, in percent, the pronoun is more probable than one of another gender in the minimal pairs of "
        "`attend toy --challenge`; chance is 50. With two candidates, the other gender is that of the second one, which the meaning excludes. Distances "
        "are in German words.\n",
        accuracies(kinds),
        f"## Does it attend to its noun?\n\nThe mean weight of the pronoun on its noun in {results[0]['instances']} test sentences, in percent: of the "
        "English pronoun in the encoder of a translation model, and where the German one is predicted in cross-attention (on the English noun) and in "
        "the decoder (on the German one). Beside it, the weight that the same head gives, from the pronouns of other sentences, to the word at the same "
        "distance. The head is the one furthest above that, chosen on the same sentences, which favours it.\n",
        attention(kinds),
        "## Is the noun used?\n\nThe same sentences against the same with a pronoun of another gender, after a change: the noun, or the nearest other "
        "noun before the pronoun, is removed from the source (BERT and GPT: from the text, where its article still tells the gender), or the "
        "pronoun's attention to it is cut in all heads of a place. The German words before the pronoun are given, so that a decoder may take its gender "
        "from them.\n",
        effects(kinds),
    ])


def files(results):
    return {"antecedents.md": page(results)}
