# SPDX-License-Identifier: BSD-2-Clause
"""The figures of a page: of those that `worldwise plot` draws as many as a page takes; and counts over runs."""

from collections.abc import Iterable, Sequence

from worldwise.base.output.safe_text import visible
from worldwise.base.tables import count
from worldwise.explain.explanation import Explanation
from worldwise.read.models import Reading
from worldwise.report.drawing import charts as drawing
from worldwise.report.drawing.figures import CHART_KINDS
from worldwise.report.drawing.vega import WIDTH, Chart, chart, tooltip

# The most figures of a kind that a page has; the tables have everything.
MOST = {"variants": 16}
_MOST_OTHERS = 8
# A run's id begins with when it was made; the rest has no room below an axis.
_TIME_OF_RUN = "substring(datum.label, 0, 15)"


def charts(reading: Reading, explanations: Iterable[Explanation] = ()) -> tuple[list[Chart], int]:
    """The figures of a run, and how many more there would be."""
    found = drawing.charts(reading, explanations)
    shown: list[Chart] = []
    for kind in CHART_KINDS:
        shown += [one for one in found if one.kind == kind][: MOST.get(kind, _MOST_OTHERS)]
    return shown, len(found) - len(shown)


def over_runs(title: str, points: Sequence[tuple[str, str, float]], steps: Sequence[str]) -> Chart:
    """Medians over runs, oldest first: each the run's id, a revision and the median; `steps` are runs that differ."""
    values = [
        {"run": visible(run), "revision": visible(revision), "median": median, "step": run in steps}
        for run, revision, median in points
    ]
    least, most = min(median for _, _, median in points), max(median for _, _, median in points)
    colour = {"condition": {"test": "datum.step", "value": "#d55e00"}, "value": "#0072b2"}
    spec = {
        "width": WIDTH,
        "height": 160,
        "encoding": {
            "x": {
                "field": "run",
                "type": "ordinal",
                "title": None,
                "axis": {"labelAngle": -30, "labelExpr": _TIME_OF_RUN},
            },
            "y": {
                "field": "median",
                "type": "quantitative",
                "title": "instructions, median",
                "scale": {"zero": False, "nice": True, "padding": 8},
                "axis": {"format": "~s", "tickCount": 5},
            },
            "tooltip": tooltip(("median",), "run", "revision"),
        },
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after", "color": "#0072b2"}},
            {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}, "encoding": {"color": colour}},
        ],
    }
    words = f"{len(points)} runs, from {count(least)} to {count(most)}; steps at {', '.join(steps)}."
    return chart("history", "", title, words, spec, values)
