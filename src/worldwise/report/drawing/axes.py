# SPDX-License-Identifier: BSD-2-Clause
"""Axes, points and numbers of figures."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A wider range than this is shown on a logarithmic axis.
LINEAR_RANGE = 20
INK = "#222222"


def compact(value: float) -> str:
    """A number in three digits: `950`, `48.0k`, `1.23M`."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        # What would be rounded up to the next unit has it already.
        if value >= limit * 0.9995:
            scaled = value / limit
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"
    return f"{value:.0f}"


def marker(face: str, edge: str, edge_width: float, size: float = 4.5, half: bool = False) -> dict[str, Any]:
    """How a point looks, for matplotlib; `half` of it filled."""
    look = {"markersize": size, "markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": edge_width}
    # Hollow would lose a light colour on paper, and its inside in the narrow markers.
    return {**look, "fillstyle": "bottom", "markerfacecoloralt": "white"} if half else look


def value_axis(axes: "Axes", values: Sequence[float], log: bool, start: float, room: float) -> None:
    """The axis of bars: from `start` to where the longest bar's label ends."""
    from matplotlib.ticker import MaxNLocator

    highest = max(max(values), 1)
    if log:
        axes.set_xscale("log")
        axes.set_xlim(start, start * (highest / start) ** (1 / (1 - room)))
        _log_ticks(axes, "x", highest / start, compact)
    else:
        axes.set_xlim(0, highest / (1 - room))
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(lambda value, _: _tick(value))


def scatter_axis(axes: "Axes", which: str, values: Sequence[float], label: str, text: Callable[[float], str]) -> None:
    """The axis `which`, x or y, of points: from 0, or logarithmic where the values differ much."""
    from matplotlib.ticker import MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = min(values), max(values)
    log = high > LINEAR_RANGE / 2 * low
    limits = (low / 1.6, high * 1.6) if log else (0, high * 1.12)
    if which == "x":
        axes.set_xscale("log" if log else "linear")
        axes.set_xlim(*limits)
    else:
        axes.set_yscale("log" if log else "linear")
        axes.set_ylim(*limits)
    if log:
        _log_ticks(axes, which, limits[1] / limits[0], text)
    else:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(lambda value, _: _tick(value) if text is compact else text(value))
    axis.set_label_text(f"{label} (log axis)" if log else label)
    axes.grid(axis="both" if which == "y" else "x")


def _log_ticks(axes: "Axes", which: str, times: float, text: Callable[[float], str]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    # Over few decades these alone would be too far apart.
    subs = (1.0,) if times > 200 else (1.0, 3.0) if times > 30 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(10, subs=subs))
    axis.set_major_formatter(lambda value, _: _tick(value) if text is compact else text(value))
    axis.set_minor_formatter(NullFormatter())


def _tick(value: float) -> str:
    """A round number: `2M`, `500k`, `2.5k`."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


RING = marker("none", INK, 0.7, size=9.5)
