# SPDX-License-Identifier: BSD-2-Clause
"""How figures of boards are drawn: bars, points, lines."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from worldwise.base.outgoing import visible
from worldwise.families.portable.boards import board_text, clock_mhz, operation_text
from worldwise.libraries.boards import by_core
from worldwise.libraries.portable import CURVES
from worldwise.read.models import Row
from worldwise.report.drawing.axes import INK, LINEAR_RANGE, RING, compact, marker, scatter_axis, value_axis
from worldwise.report.drawing.figures import Drawing, Kind, Panel, Plot
from worldwise.report.drawing.looks import STYLES, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Heights in mm: of a line with a bar, of the margins around a panel, of a panel of points.
_BAR_LINE, _AROUND, _POINTS_PANEL = 3.8, 19.0, 47.0
_BOARD_LINE = 6.5
# The share of an axis that a bar's label needs beyond the bar.
_LABEL_ROOM = {"full": 0.22, "column": 0.24}


def _group(row: Row) -> str:
    return row.curve or operation_text(row.operation, row.size)


def grouped(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by curve, or by operation where there is none."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_group(row), []).append(row)
    return groups


def _bars_height(around: float) -> Callable[[Panel], float]:
    """The number of lines: one for each bar, each group's name, and each curve that no library has."""
    return lambda panel: _BAR_LINE * (len(panel.rows) + len(grouped(panel.rows)) + len(panel.nobodys)) + around


def _time_panel(axes: "Axes", panel: Panel, look: Mapping[str, Style], width: str) -> None:
    values = [row.median for row in panel.rows]
    log = max(values) > LINEAR_RANGE * min(values)
    start = min(values) / 3 if log else 0.0
    _bars(axes, panel, look, [lambda row: row.median], lambda row: compact(row.median), start)
    value_axis(axes, values, log, start, _LABEL_ROOM[width])
    axes.set_xlabel(f"instructions{' (log axis)' if log else ''}")
    clock = clock_mhz(panel.rows[0])
    if clock:
        cycles = clock * 1000

        def milliseconds(count: Any) -> Any:
            return count / cycles

        def instructions(time: Any) -> Any:
            return time * cycles

        above = axes.secondary_xaxis("top", functions=(milliseconds, instructions))
        above.set_xlabel(f"ms at {clock:g} MHz, one instruction per cycle")
        above.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if log:
            from matplotlib.ticker import NullFormatter

            above.xaxis.set_minor_formatter(NullFormatter())


def _stack_panel(axes: "Axes", panel: Panel, look: Mapping[str, Style], width: str) -> None:
    def label(row: Row) -> str:
        return f"{row.footprint.stack:,} + {row.footprint.heap:,}" if row.footprint.heap else f"{row.footprint.stack:,}"

    _bars(axes, panel, look, [lambda row: row.footprint.stack or 0, lambda row: row.footprint.heap or 0], label, 0)
    totals = [(row.footprint.stack or 0) + (row.footprint.heap or 0) for row in panel.rows]
    value_axis(
        axes, totals, False, 0, _LABEL_ROOM[width] * (1.75 if any(row.footprint.heap for row in panel.rows) else 1)
    )
    axes.set_xlabel(
        "bytes: stack, + heap (pale)" if any(row.footprint.heap for row in panel.rows) else "bytes of stack"
    )
    axes.spines["top"].set_visible(False)


def _bars(
    axes: "Axes",
    panel: Panel,
    look: Mapping[str, Style],
    parts: Sequence[Callable[[Row], float]],
    label: Callable[[Row], str],
    start: float,
) -> None:
    """Bars under the name of their group; a bar's further parts continue where the first ends, paler."""
    ticks: list[tuple[float, str]] = []
    y = 0
    headings: list[tuple[int, str]] = []
    groups: dict[str, list[Row]] = {**{curve: [] for curve in panel.nobodys}, **grouped(panel.rows)}
    for group in sorted(groups, key=lambda name: CURVES.index(name) if name in CURVES else len(CURVES)):
        headings.append((y, group if groups[group] else f"{group}: not available"))
        y += 1
        for row in groups[group]:
            style = look[row.implementation]
            left = start
            for number, part in enumerate(parts):
                size = part(row) - (0 if number else start)
                axes.barh(
                    y,
                    size,
                    left=left,
                    height=0.78,
                    color=style.colour,
                    alpha=0.35 if number else 1,
                    hatch=style.hatch,
                    edgecolor=INK,
                    linewidth=0.4,
                )
                left += size
            axes.annotate(label(row), (left, y), xytext=(2, 0), textcoords="offset points", va="center_baseline")
            ticks.append((y, visible(row.implementation)))
            y += 1
    axes.set_yticks([tick for tick, _ in ticks], [name for _, name in ticks])
    axes.tick_params(axis="y", length=0, pad=2)
    axes.set_ylim(y - 0.4, -0.7)
    _name_groups(axes, headings)
    axes.grid(axis="x")


def _name_groups(axes: "Axes", headings: Iterable[tuple[int, str]]) -> None:
    for line, text in headings:
        axes.annotate(
            visible(text),
            (0, line),
            xycoords=axes.get_yaxis_transform(),
            xytext=(2, 0),
            textcoords="offset points",
            va="center_baseline",
            fontweight="bold",
            color=INK,
        )


def _pareto_panel(axes: "Axes", panel: Panel, look: Mapping[str, Style], _width: str) -> None:
    front = pareto_front([(float(row.footprint.flash or 0), row.median) for row in panel.rows])
    if len(front) > 1:
        steps = [(x, y) for (_, y), (x, _) in itertools.pairwise(front)]
        corners = [point for pair in zip(front, steps, strict=False) for point in pair] + [front[-1]]
        axes.plot([x / 1024 for x, _ in corners], [y for _, y in corners], "--", color=INK, linewidth=0.7, zorder=1)
    axes.plot([x / 1024 for x, _ in front], [y for _, y in front], "o", **RING, zorder=2)
    for row in panel.rows:
        style = look[row.implementation]
        x, y = (row.footprint.flash or 0) / 1024, row.median
        axes.plot(x, y, style.marker, **marker(style.colour, INK, 0.5, 5, half=row.optimisation == "Os"), zorder=3)
    flash = [(row.footprint.flash or 0) / 1024 for row in panel.rows]
    scatter_axis(axes, "x", flash, "flash, KiB", lambda value: f"{value:g}")
    scatter_axis(axes, "y", [row.median for row in panel.rows], "instructions", compact)
    axes.spines["top"].set_visible(False)


def pareto_front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats in one coordinate without losing in the other, by the first coordinate."""
    front: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front


def _boards_panel(axes: "Axes", panel: Panel, look: Mapping[str, Style], _width: str) -> None:
    names = by_core(row.board for row in panel.rows)
    for library in dict.fromkeys(row.implementation for row in panel.rows):
        style = look[library]
        at = {row.board: row.median for row in panel.rows if row.implementation == library}
        line = [at.get(name, math.nan) for name in names]
        axes.plot(
            line,
            range(len(names)),
            marker=style.marker,
            color=style.colour,
            linewidth=0.9,
            **marker(style.colour, INK, 0.4),
        )
    axes.set_yticks(range(len(names)), [visible(_short_board(name)) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    values = [row.median for row in panel.rows]
    scatter_axis(axes, "x", values, "instructions", compact)
    axes.grid(axis="y", linestyle=":")
    axes.spines["top"].set_visible(False)


def _short_board(name: str) -> str:
    title = board_text(name)
    core = title.rpartition("(Cortex-")[2].rstrip(")") if "(Cortex-" in title else ""
    return f"{name} ({core})" if core else name


def _legend_handles(plot: Plot, look: Mapping[str, Style]) -> "list[Line2D]":
    from matplotlib.lines import Line2D

    handles = []
    for library in sorted({row.implementation for row in plot.rows}, key=lambda name: (name not in STYLES, name)):
        style = look[library]
        look_of = {"marker": style.marker, "color": style.colour, **marker(style.colour, INK, 0.4)}
        look_of["linestyle"] = "-" if plot.kind == "boards" else "none"
        handles.append(Line2D([], [], linewidth=0.9, label=visible(library), **look_of))
    if plot.kind == "pareto":
        if len({row.optimisation for row in plot.rows}) > 1:
            for half, text in ((False, "filled: -O2"), (True, "half filled: -Os")):
                face = marker("#777777", INK, 0.5, 5, half)
                handles.append(Line2D([], [], marker="o", linestyle="none", label=text, **face))
        front: dict[str, Any] = {"marker": "o", "color": INK, "linestyle": "--", "linewidth": 0.7, **RING}
        handles.append(Line2D([], [], label="Pareto front", **front))
    return handles


def _no_legend(_plot: Plot, _look: Mapping[str, Style]) -> "list[Line2D]":
    return []


_COUNTED = "Instructions, counted; medians."
DRAWINGS: Mapping[Kind, Drawing] = {
    "time": Drawing(
        _time_panel,
        _bars_height(_AROUND),
        2,
        _no_legend,
        f"{_COUNTED} Time assumes one instruction per cycle; it is not measured.",
    ),
    "pareto": Drawing(_pareto_panel, lambda _: _POINTS_PANEL, 3, _legend_handles, _COUNTED),
    "stack": Drawing(
        _stack_panel,
        _bars_height(_AROUND - 6),
        2,
        _no_legend,
        "Bytes of the deepest call, measured on the emulated board.",
    ),
    "boards": Drawing(
        _boards_panel,
        lambda panel: _BOARD_LINE * len({row.board for row in panel.rows}) + 16,
        3,
        _legend_handles,
        _COUNTED,
        shares_lines=True,
    ),
}
