"""Syntax in the reports of attend heads and attend probe: the part that recipes keep, and its tables."""

from page_parts import table

PROBES = ("Part of speech and relation: accuracy of linear probes; in parentheses, that with random weights, and selectivity. Unlabelled "
          "attachment of structural probes, in parentheses with random weights, and of linking every word to its left neighbour.")


def percent(score):
    return f"{100 * score:.1f}"


def percent_interval(score):
    return f"{percent(score['value'])} ({percent(score['low'])} to {percent(score['high'])})"


def relations_of(report):
    """The relations that one head finds significantly more often than the best fixed offset, those furthest above it first."""
    found = sorted((relation for relation in report["relations"] if relation["p_holm"] < 0.05),
                   key=lambda relation: relation["baseline"] - relation["accuracy"]["value"])
    heads = report["heads"]
    return [{"relation": relation["relation"], "to_head": relation["to_head"], "layer": heads[relation["chosen"]]["layer"],
             "head": heads[relation["chosen"]]["head"], "accuracy": relation["accuracy"], "baseline": relation["baseline"],
             "instances": relation["instances"]} for relation in found]


def probes_of(report):
    """The scores of probes, by layer."""
    tasks = {task["id"]: [{key: layer[key] for key in ("accuracy", "random", "selectivity")} for layer in task["layers"]]
             for task in report["tasks"]}
    return {"tasks": tasks, "left_neighbour": report["left_neighbour_attachment"],
            "attachment": [layer["attachment"] for layer in report["structure"]],
            "random_attachment": [layer["attachment"] for layer in report["random_structure"]]}


def relations(kind, found):
    """`found` has the relations of each model by name; `kind` heads the column of names."""
    lines = []
    for name, best in found.items():
        for relation in best:
            lines.append([name, relation["relation"], "dependent to head" if relation["to_head"] else "head to dependent",
                          f"{relation['layer']}, {relation['head']}",
                          percent_interval(relation["accuracy"]),
                          percent(relation["baseline"]), str(relation["instances"])])
    return table([kind, "relation", "from", "layer, head", "accuracy, %", "fixed offset, %", "instances"], lines)


def probes(kind, models):
    """`models` has the results of probes_of by name."""
    lines = []
    for name, model in models.items():
        for layer, attachment in enumerate(model["attachment"]):
            cells = [f"{percent(at[layer]['accuracy']['mean'])} ({percent(at[layer]['random']['mean'])}; {percent(at[layer]['selectivity']['mean'])})"
                     for at in (model["tasks"]["part_of_speech"], model["tasks"]["relation"])]
            lines.append([name, str(layer), *cells, f"{percent(attachment['mean'])} ({percent(model['random_attachment'][layer]['mean'])})",
                          percent(model["left_neighbour"])])
    return table([kind, "layer", "part of speech, %", "relation, %", "attachment, %", "left neighbour, %"], lines)
