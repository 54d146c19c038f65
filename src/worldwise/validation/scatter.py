# SPDX-License-Identifier: BSD-2-Clause
"""A plot of predictions against hardware: a panel for each core. The same run gives the same bytes."""

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from worldwise.report.drawing.axes import INK, compact
from worldwise.report.drawing.plot import house_style
from worldwise.validation.record import Row, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Sets, and how their points look: those the cores' numbers may be fitted to are hollow.
_LOOKS = {
    ("calibration", "integer"): ("o", "none", "#888888", "calibration"),
    ("calibration", "vector"): ("^", "none", "#888888", "calibration, SIMD"),
    ("validation", "integer"): ("o", "#1b6ca8", "#1b6ca8", "held out"),
    ("validation", "vector"): ("^", "#c8553d", "#c8553d", "held out, SIMD"),
}
# In inches: a panel, two of which stand side by side.
_PANEL = (3.35, 2.6)
# Beside the diagonal stand lines at this error, in per cent.
_LINES = (-10, 10)


def scatter(run: Run) -> bytes:
    """An SVG file: hardware's cycles on the one axis, the error in per cent on the other, a point for each figure."""
    from matplotlib.figure import Figure

    cores = sorted({row.core for row in run.rows})
    lines = (len(cores) + 1) // 2
    stream = io.BytesIO()
    with house_style():
        figure = Figure(figsize=(2 * _PANEL[0], lines * _PANEL[1]), layout="constrained")
        for number, core in enumerate(cores):
            axes = figure.add_subplot(lines, 2, number + 1)
            _panel(axes, core, [row for row in run.rows if row.core == core])
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": "worldwise"})
    return _named(stream.getvalue())


def _named(svg: bytes) -> bytes:
    """The plot with numbers for its clip paths: their names are digests of last bits, which differ by processor."""
    names = dict.fromkeys(re.findall(rb'<clipPath id="([^"]+)"', svg))
    for number, name in enumerate(names, 1):
        svg = svg.replace(name, b"panel%d" % number)
    return svg


def _panel(axes: "Axes", core: str, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for key, (shape, face, edge, name) in _LOOKS.items():
        some = [row for row in rows if (row.which, row.kind) == key]
        if some:
            x, y = [row.hardware for row in some], [row.error for row in some]
            axes.plot(x, y, shape, label=name, markersize=3.5, markerfacecolor=face, markeredgecolor=edge)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axhline(0, color=INK, linewidth=0.6)
    for line in _LINES:
        axes.axhline(line, color=INK, linewidth=0.4, linestyle=":")
    axes.set_title(core, loc="left", fontweight="bold")
    axes.set_xlabel("cycles of the hardware")
    axes.set_ylabel("error of the prediction, %")
    axes.legend(frameon=False, fontsize=6, loc="best")
