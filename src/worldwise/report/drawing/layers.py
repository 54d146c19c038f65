# SPDX-License-Identifier: BSD-2-Clause
"""Figures of explanations: where the instructions of each case go, stacked by layer."""

from collections import Counter
from collections.abc import Iterable, Sequence

from worldwise.base.output.safe_text import visible
from worldwise.base.tables import section_name
from worldwise.explain.explanation import Explanation
from worldwise.report.drawing.flame_graph import COLOURS, kind
from worldwise.report.drawing.vega import WIDTH, Chart, chart, tooltip


def by_layer(explanations: Iterable[Explanation]) -> Iterable[Chart]:
    """A figure for each measure: a bar for each case, in the colours of the flame graphs; layers under the mouse."""
    groups: dict[tuple[str, str, str], list[Explanation]] = {}
    for one in explanations:
        key = (one.case.operation, one.measure, one.case.parameter_text)
        groups.setdefault(key, []).append(one)
    for (operation, measure, parameters), group in groups.items():
        words = operation if operation == measure else f"{operation} {measure}"
        title = f"Where the instructions go: {words} {parameters}".strip()
        yield _stacked(title, section_name("layers", words, parameters), group)


def _stacked(title: str, name: str, group: Sequence[Explanation]) -> Chart:
    values = []
    for one in group:
        parts: Counter[tuple[str, str]] = Counter()
        for stack, count in one.stacks.items():
            parts[kind(stack[-1]), stack[-1].layer] += count
        values += [
            {
                "case": visible(f"{one.case.variant}, {one.case.target}"),
                "where": where,
                "layer": visible(layer),
                "instructions": count,
                "rank": list(COLOURS).index(where),
            }
            for (where, layer), count in sorted(parts.items(), key=lambda item: (item[0][0], -item[1]))
            if count
        ]
    there = [where for where in COLOURS if any(value["where"] == where for value in values)]
    colours = [f"rgb({red},{green},{blue})" for red, green, blue in (COLOURS[where] for where in there)]
    spec = {
        "width": WIDTH,
        "height": {"step": 26},
        "mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.25},
        "encoding": {
            "y": {"field": "case", "type": "nominal", "sort": None, "title": None},
            "x": {
                "field": "instructions",
                "type": "quantitative",
                "aggregate": "sum",
                "title": "instructions of the median call, explained",
                "axis": {"format": "~s", "tickCount": 6},
            },
            "color": {
                "field": "where",
                "type": "nominal",
                "title": None,
                "scale": {"domain": there, "range": colours},
                "legend": {"orient": "bottom", "columns": 3},
            },
            "order": {"field": "rank", "type": "quantitative"},
            "detail": {"field": "layer"},
            "tooltip": tooltip(("instructions",), "case", "where", "layer"),
        },
    }
    sums = Counter[str]()
    for value in values:
        sums[str(value["where"])] += int(str(value["instructions"]))
    total = sums.total()
    shares = ", ".join(f"{where} {100 * sums[where] / total:.1f} %" for where in there if sums[where])
    words = f"Of all instructions: {shares}."
    return chart("layers", name, title, words, spec, values)
