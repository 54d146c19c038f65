# SPDX-License-Identifier: BSD-2-Clause
"""A plot of predictions against hardware: a panel for each core. The same run gives the same bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

from worldwise.report.drawing.figures import WIDTHS
from worldwise.report.drawing.vega import INK, axis, chart, panel_title
from worldwise.validation.record import FigureRow, Run

# Sets, and how their points look: those the cores' numbers may be fitted to are hollow.
_LOOKS = {
    ("calibration", "integer"): ("calibration", "circle", "transparent", "#888888"),
    ("calibration", "vector"): ("calibration, SIMD", "triangle-up", "transparent", "#888888"),
    ("validation", "integer"): ("held out", "circle", "#1b6ca8", "#1b6ca8"),
    ("validation", "vector"): ("held out, SIMD", "triangle-up", "#c8553d", "#c8553d"),
}
# Errors, in per cent, at which there are lines.
_WITHIN = 10
_LINES: Mapping[int, Mapping[str, Any]] = {
    -_WITHIN: {"strokeDash": [1, 2]},
    0: {"strokeWidth": 0.8},
    _WITHIN: {"strokeDash": [1, 2]},
}


def scatter(run: Run) -> bytes:
    """An SVG file: hardware's cycles on the one axis, the error in per cent on the other, a point for each figure."""
    cores = sorted({row.core for row in run.rows})
    names, shapes, fills, strokes = zip(*_LOOKS.values(), strict=True)
    looks = {
        channel: {
            "field": "set",
            "type": "nominal",
            "title": None,
            "scale": {"domain": names, "range": values},
            "legend": {"orient": "bottom", "symbolSize": 30, "symbolStrokeWidth": 1},
        }
        for channel, values in (("shape", shapes), ("fill", fills), ("stroke", strokes))
    }
    spec = {
        "concat": [_panel(core, [row for row in run.rows if row.core == core], looks) for core in cores],
        "columns": 2,
        "resolve": {"scale": dict.fromkeys(looks, "shared"), "legend": dict.fromkeys(looks, "shared")},
    }
    out = [row for row in run.rows if row.which == "validation"]
    within = sum(abs(row.error) <= _WITHIN for row in out)
    words = f"Of {len(out)} figures that were held out {within} are predicted within {_WITHIN} %, the dotted lines."
    title = "Errors of predicted cycles, by core"
    notes = "Hollow points are figures to which the models' numbers may be fitted."
    return chart("validation", "scatter", title, words, spec, ()).file("svg", WIDTHS["full"], notes)


def _panel(core: str, rows: Sequence[FigureRow], looks: dict[str, Any]) -> dict[str, Any]:
    cycles = [row.hardware for row in rows]
    values = [
        {"set": _LOOKS[row.which, row.kind][0], "cycles": row.hardware, "error": round(row.error, 3)} for row in rows
    ]
    y = {"field": "error", "type": "quantitative", "title": "error of the prediction, %", "scale": {"padding": 8}}
    x = {"field": "cycles", **axis(min(cycles) / 1.5, max(cycles) * 1.5, "cycles of the hardware")}
    lines = [
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "aria": False, "color": INK, **look},
            "encoding": {"y": {"datum": at}},
        }
        for at, look in _LINES.items()
    ]
    return {
        "title": panel_title(core),
        "height": 170,
        "data": {"values": values},
        "layer": [
            *lines,
            {
                "mark": {"type": "point", "size": 22, "strokeWidth": 1, "opacity": 1},
                "encoding": {"x": x, "y": y, **looks},
            },
        ],
    }
