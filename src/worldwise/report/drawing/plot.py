# SPDX-License-Identifier: BSD-2-Clause
"""Figures, drawn.

The same reading gives the same bytes: fixed fonts, no dates, one colour, hatch and marker per library everywhere.
matplotlib is imported when a figure is drawn, so that no other command waits for it.
"""

import contextlib
import io
import math
import textwrap
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.outgoing import visible
from worldwise.read.models import Reading
from worldwise.report.drawing import library
from worldwise.report.drawing.axes import INK
from worldwise.report.drawing.figures import KINDS, WIDTHS, Choice, Plot
from worldwise.report.drawing.looks import styles
from worldwise.report.tables import declared_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MM = 1 / 25.4
_POINTS = 8.0
_DOTS_PER_INCH = 300
# The height of a line of text, in mm.
_TEXT_LINE = 3.6
# Characters of text per mm, for wrapping.
_PER_MM = 0.63
_RC: Mapping[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": _POINTS,
    "axes.titlesize": _POINTS,
    "axes.labelsize": _POINTS,
    "xtick.labelsize": _POINTS,
    "ytick.labelsize": _POINTS,
    "legend.fontsize": _POINTS,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#d0d0d0",
    "hatch.linewidth": 0.45,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    # Dollar signs in a name must not make it a formula.
    "text.parse_math": False,
    "svg.hashsalt": "worldwise",
    "svg.fonttype": "path",
    "path.simplify": False,
}


# All there is.
_ALL = Choice()


def plots(reading: Reading, kinds: Collection[str] = KINDS, choice: Choice = _ALL) -> list[Plot]:
    """The figures that a run gives, family by family: see `Tables.figures`.

    Raises WorldwiseError if the run has nothing to draw, or lacks what was chosen or what a kind of figure needs.
    """
    drawing = [tables.figures for tables in declared_tables().values() if tables.figures]
    found = [plot for figures in drawing for plot in figures(reading, kinds, choice)]
    if not found:
        raise WorldwiseError(f"run {reading.run.id}: it has nothing for a figure of kind {', '.join(kinds)}.")
    return found


def draw(plot: Plot, reading: Reading, width: str = "full") -> "Figure":
    """The figure as matplotlib has it; `width` is a key of WIDTHS. Drawn within `house_style`, as in `to_bytes`."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    look = styles(row.implementation for row in reading.rows if row.board)
    millimetres = WIDTHS[width]
    columns = min(1 if width == "column" else plot.drawing.columns, len(plot.panels))
    lines = [plot.panels[start : start + columns] for start in range(0, len(plot.panels), columns)]
    heights = [max(plot.drawing.height(panel) for panel in line) for line in lines]
    legend = plot.drawing.legend(plot, look)
    legend_columns = 4 if width == "full" else 2
    legend_height = _TEXT_LINE * 1.25 * math.ceil(len(legend) / legend_columns) + 2 if legend else 0
    title = textwrap.wrap(visible(plot.title), int(millimetres * _PER_MM * 0.88))
    footer = textwrap.wrap(visible(_footer(plot, reading)), int(millimetres * _PER_MM))
    top, bottom = _TEXT_LINE * len(title) * 1.15 + 1.5, _TEXT_LINE * len(footer) + 2
    height = sum(heights) + legend_height + top + bottom
    layout = ConstrainedLayoutEngine(
        rect=(0, bottom / height, 1, 1 - (top + bottom) / height), w_pad=0.04, h_pad=0.03, wspace=0.05
    )
    figure = Figure(figsize=(millimetres * _MM, height * _MM), dpi=_DOTS_PER_INCH, layout=layout)
    grid = figure.add_gridspec(
        len(lines) + bool(legend), columns, height_ratios=[*heights, *([legend_height] if legend else [])]
    )
    first: Axes | None = None
    for number, panel in enumerate(plot.panels):
        # A board's name stands once, at the left.
        shared = first if plot.drawing.shares_lines else None
        axes = figure.add_subplot(grid[number // columns, number % columns], sharey=shared)
        first = first or axes
        plot.drawing.panel(axes, panel, look, width)
        axes.set_title(visible(panel.title), loc="left", fontweight="bold", pad=4)
        if plot.drawing.shares_lines and number % columns:
            axes.tick_params(axis="y", labelleft=False)
    if legend:
        place = figure.add_subplot(grid[-1, :])
        place.axis("off")
        place.legend(
            handles=legend, loc="center", ncols=legend_columns, frameon=False, handletextpad=0.4, columnspacing=1.2
        )
    figure.text(1.5 / millimetres, 1 - 1 / height, "\n".join(title), va="top", fontsize=_POINTS + 1, fontweight="bold")
    figure.text(1.5 / millimetres, 1 / height, "\n".join(footer), va="bottom", color="#444444", linespacing=1.15)
    return figure


def _footer(plot: Plot, reading: Reading) -> str:
    levels = [level for level in ("Os", "O2") if any(row.optimisation == level for row in plot.rows)]
    return f"{run_text(reading)}; -{' and -'.join(levels)}. {plot.drawing.notes}"


def run_text(reading: Reading) -> str:
    """The run and its lab, for a figure's notes."""
    state = "" if reading.run.state == "complete" else f" ({reading.run.state})"
    differs = f"; {reading.run.differs}" if reading.run.differs else ""
    return f"Run {reading.run.id}{state}; lab {reading.run.lab[:16] or 'none'}{differs}"


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Fonts and lines for `draw`; ignores the user's own matplotlibrc."""
    library.require()
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def to_bytes(plot: Plot, reading: Reading, form: str, width: str = "full") -> bytes:
    """The figure as a file's content; `form` is one of FORMATS."""
    stream = io.BytesIO()
    with house_style():
        figure = draw(plot, reading, width)
        empty: dict[str, str | None] = {"Date": None, "Creator": "worldwise"} if form == "svg" else {"Software": None}
        figure.savefig(stream, format=form, metadata=empty)
    return stream.getvalue()
