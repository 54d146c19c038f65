# SPDX-License-Identifier: BSD-2-Clause
"""Figures of what boards take: time, flash against time, stack, boards side by side.

The same reading gives the same bytes: fixed fonts, no dates, one colour, hatch and marker per library everywhere.
matplotlib is imported when a figure is drawn, so that no other command waits for it.
"""

import contextlib
import hashlib
import io
import itertools
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.outgoing import visible
from worldwise.base.units import parse_size, size_text
from worldwise.families.portable.boards import DHRYSTONE, board_rows, board_text, by_core, operation_text
from worldwise.libraries.portable import CURVES, OF_CURVE
from worldwise.read.lens import Reading, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Kind = Literal["time", "pareto", "stack", "boards"]
KINDS: tuple[Kind, ...] = ("time", "pareto", "stack", "boards")
FORMATS = ("svg", "png")
# In mm, as journals have it: one column of two, or the whole page.
WIDTHS = {"full": 170.0, "column": 85.0}

_MM = 1 / 25.4
_POINTS = 8.0
_DOTS_PER_INCH = 300
# Heights in mm: of a line with a bar, of what stands around a panel, of a panel of points, of a line of text.
_BAR_LINE, _AROUND, _POINTS_PANEL, _TEXT_LINE = 3.8, 19.0, 47.0, 3.6
_BOARD_LINE = 6.5
# Characters of text that a mm takes, for wrapping.
_PER_MM = 0.63
# A wider range than this is shown on a logarithmic axis.
_LINEAR_RANGE = 20
# Of an axis' length, what a bar's own label needs beyond the bar.
_LABEL_ROOM = {"full": 0.22, "column": 0.24}
_SYMMETRIC = "symmetric"
# What stands side by side in one figure of bars, so that it is no taller than half a page or so.
_PAGES = {"signatures": ("sign", "verify"), "keys": ("keygen", "ecdh"), _SYMMETRIC: (_SYMMETRIC,)}
_INK = "#222222"
_RC: Mapping[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": _POINTS,
    "axes.titlesize": _POINTS,
    "axes.labelsize": _POINTS,
    "xtick.labelsize": _POINTS,
    "ytick.labelsize": _POINTS,
    "legend.fontsize": _POINTS,
    "axes.linewidth": 0.6,
    "axes.edgecolor": _INK,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#d0d0d0",
    "hatch.linewidth": 0.45,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    # A name with dollar signs is no formula.
    "text.parse_math": False,
    "svg.hashsalt": "worldwise",
    "svg.fonttype": "path",
    "path.simplify": False,
}


@dataclass(frozen=True)
class Style:
    """How a library looks in every figure."""

    colour: str
    hatch: str
    marker: str


# Okabe and Ito's colours, which colour-blind people tell apart, with grey for their black.
STYLES: Mapping[str, Style] = {
    "micro-ecc": Style("#0072b2", "", "o"),
    "mbedtls36": Style("#d55e00", "////", "s"),
    "p256-m": Style("#cc79a7", "....", "v"),
    "p256-cortex-m4": Style("#6a6a6a", "----", "X"),
    "monocypher": Style("#009e73", "\\\\\\\\", "D"),
    "wolfssl": Style("#e69f00", "xxxx", "^"),
    "wolfssl-small": Style("#f0e442", "++++", "<"),
    "bearssl": Style("#56b4e9", "||||", "P"),
    "c25519": Style("#b8a000", "oo", ">"),
    "micro-ecc-fast": Style("#003f66", "**", "p"),
    "wolfssl-fast": Style("#8a5f00", "OO", "h"),
}
# For a user's own libraries: none of the above, and no two alike.
_OWN_COLOURS = ("#a03a6e", "#a6d854", "#7a6fd0", "#8c6239", "#7fd1b9", "#999933")
_OWN_HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "----")
_OWN_MARKERS = (">", "p", "h", "*", "d", "H")
_OWN = tuple(
    Style(colour, hatch, marker)
    for hatch, marker in zip(_OWN_HATCHES, _OWN_MARKERS, strict=True)
    for colour in _OWN_COLOURS
)


def styles(names: Iterable[str]) -> dict[str, Style]:
    """The look of each library. One of the user's own has the same in every figure that has the same libraries.

    Its place among the free ones follows from its name; of two that want the same, the later by name takes the next.
    Raises WorldwiseError if there are more of them than looks.
    """
    chosen: dict[str, Style] = {}
    free = list(_OWN)
    for name in sorted(set(names)):
        if name in STYLES:
            chosen[name] = STYLES[name]
            continue
        if not free:
            raise WorldwiseError(
                f"library '{name}': a figure can show {len(_OWN)} libraries that are not worldwise's own, not more.",
                "choose fewer of them, by --board, --operation or --curve",
            )
        wanted = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % len(_OWN)
        # A colour that is free is better than a hatch that is: colours are what readers remember.
        taken = {style.colour for style in chosen.values()}
        ring = _OWN[wanted:] + _OWN[:wanted]
        fresh = [style for style in ring if style in free and style.colour not in taken]
        chosen[name] = fresh[0] if fresh else next(style for style in ring if style in free)
        free.remove(chosen[name])
    return chosen


@dataclass(frozen=True)
class Choice:
    """What of a run to show; an empty one is all there is. Sizes as `32B`, `1KiB`."""

    boards: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    optimisation: str = ""


@dataclass(frozen=True)
class Panel:
    """A part of a figure: its rows, and the curves that were asked for and that no library has."""

    title: str
    rows: tuple[Row, ...]
    nobodys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plot:
    """One figure, ready to be drawn; `name` is that of its file, without a suffix."""

    kind: Kind
    name: str
    title: str
    panels: tuple[Panel, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all its panels."""
        return tuple(row for panel in self.panels for row in panel.rows)


def plots(reading: Reading, kinds: Collection[str] = KINDS, choice: Choice = Choice()) -> list[Plot]:
    """The figures that a run gives: time and stack of each board, flash against time of each board and operation,
    boards side by side of each operation.

    Raises WorldwiseError if the run has no board, nothing of what was chosen, or not what a kind needs.
    """
    rows = _chosen(reading, choice)
    names = by_core(row.board for row in rows)
    found: list[Plot] = []
    for kind in KINDS:
        if kind not in kinds:
            continue
        if kind == "boards":
            found += _boards_plots(_one_optimisation(rows), names, alone=len(kinds) == 1)
        else:
            for name in names:
                found += _board_plots(kind, name, [row for row in rows if row.board == name], reading, choice)
    if not found:
        raise WorldwiseError(f"run {reading.run.id}: nothing in it makes a figure of kind {', '.join(kinds)}.")
    return found


def one_plot(found: Sequence[Plot]) -> Plot:
    """The only figure there is. Raises WorldwiseError that says what to choose if there are more."""
    if len(found) == 1:
        return found[0]
    boards = by_core(row.board for plot in found if plot.kind != "boards" for row in plot.rows)
    operations = dict.fromkeys(row.operation for plot in found for row in plot.rows)
    hints = [f"--kind: {', '.join(dict.fromkeys(plot.kind for plot in found))}"]
    hints += [f"--board: {', '.join(boards)}"] if len(boards) > 1 else []
    hints += [f"--operation: {', '.join(operations)}"] if len(operations) > 1 else []
    raise WorldwiseError(
        f"one file takes one figure; these are {len(found)}: {', '.join(plot.name for plot in found)}.",
        f"choose one, or name a directory. {'; '.join(hints)}",
    )


def draw(plot: Plot, reading: Reading, width: str = "full") -> "Figure":
    """The figure as matplotlib has it; `width` is a key of WIDTHS. Drawn within `house_style`, as in `to_bytes`."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    look = styles(row.implementation for row in reading.rows if row.board)
    millimetres = WIDTHS[width]
    columns = _columns(plot, width)
    lines = [plot.panels[start : start + columns] for start in range(0, len(plot.panels), columns)]
    heights = [max(_panel_height(plot.kind, panel) for panel in line) for line in lines]
    legend = _legend_handles(plot, look) if plot.kind in ("pareto", "boards") else []
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
        shared = first if plot.kind == "boards" else None
        axes = figure.add_subplot(grid[number // columns, number % columns], sharey=shared)
        first = first or axes
        _PANELS[plot.kind](axes, panel, look, width)
        axes.set_title(visible(panel.title), loc="left", fontweight="bold", pad=4)
        if plot.kind == "boards" and number % columns:
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


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Fonts and lines for `draw`, and nothing of a user's own matplotlibrc."""
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


def compact(value: float) -> str:
    """A number in three digits: `950`, `48.0k`, `1.23M`."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        # What would be rounded up to the next unit has it already.
        if value >= limit * 0.9995:
            scaled = value / limit
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"
    return f"{value:.0f}"


def _chosen(reading: Reading, choice: Choice) -> list[Row]:
    rows = [row for row in board_rows(reading) if row.operation != DHRYSTONE]
    if not rows:
        raise WorldwiseError(
            f"run {reading.run.id} has no measured case of a board.",
            "figures are of boards; such a run is made by: worldwise run mcu",
        )
    texts: list[tuple[str, tuple[str, ...], Callable[[Row], str]]] = [
        ("board", choice.boards, lambda row: row.board),
        ("operation", choice.operations, lambda row: row.operation),
        ("curve", choice.curves, lambda row: row.curve),
        ("size", tuple(size_text(parse_size(size)) for size in choice.sizes), _size),
        ("optimisation", (choice.optimisation,) if choice.optimisation else (), lambda row: row.optimisation),
    ]
    for kind, wanted, of in texts:
        there = list(dict.fromkeys(of(row) for row in rows if of(row)))
        for value in wanted:
            if value not in there:
                raise WorldwiseError(
                    f"{kind} '{value}' is not in this run with the rest that was chosen. "
                    f"There is: {', '.join(there) or 'none'}.",
                    did_you_mean(value, there),
                )
        # What has no message has no size, and stays.
        rows = [row for row in rows if not wanted or of(row) in wanted or (kind == "size" and not of(row))]
    return rows


def _size(row: Row) -> str:
    return "" if row.size is None else size_text(row.size)


def _one_optimisation(rows: list[Row]) -> list[Row]:
    """Those of -O2 if there are such, else all."""
    return [row for row in rows if row.optimisation == "O2"] or rows


def _one_size(rows: list[Row]) -> list[Row]:
    """Of one operation, the rows of one size: that of the most rows, of equals the one nearest to 32 bytes."""
    sizes = [row.size for row in rows if row.size is not None]
    if not sizes:
        return rows
    best = max(sorted(set(sizes)), key=lambda size: (sizes.count(size), -abs(size - 32)))
    return [row for row in rows if row.size in (best, None)]


def _families(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each operation on curves at one size; those of hashes and ciphers together."""
    families: dict[str, list[Row]] = {}
    for operation in dict.fromkeys(row.operation for row in rows):
        own = _one_size([row for row in rows if row.operation == operation])
        families.setdefault(operation if operation in OF_CURVE else _SYMMETRIC, []).extend(own)
    return families


def _family_title(family: str, rows: Sequence[Row]) -> str:
    if family == _SYMMETRIC:
        return "hash and AES" if len({row.operation for row in rows}) > 1 else operation_text(rows[0].operation)
    return operation_text(family, next((row.size for row in rows if row.size is not None), None))


def _group(row: Row) -> str:
    return row.curve or operation_text(row.operation, row.size)


def _grouped(rows: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_group(row), []).append(row)
    return groups


def _board_plots(kind: Kind, name: str, rows: list[Row], reading: Reading, choice: Choice) -> Iterable[Plot]:
    where = f"{name}, {board_text(name)}" if board_text(name) != name else name
    if kind == "pareto":
        for family, own in _families([row for row in rows if row.flash]).items():
            panels = tuple(Panel(group, tuple(members)) for group, members in _grouped(own).items())
            title = f"Flash against instructions, {_family_title(family, own)}: {where}"
            yield Plot(kind, f"{kind}-{name}-{family}", title, panels)
        return
    if kind == "stack":
        rows = [row for row in rows if row.stack is not None]
    what = "Time" if kind == "time" else "Stack and heap of one call"
    families = _families(_one_optimisation(rows))
    for page, members in _PAGES.items():
        panels = tuple(
            Panel(_family_title(family, own), tuple(own), _nobodys(family, name, reading, choice))
            for family, own in families.items()
            if family in members
        )
        if panels:
            yield Plot(kind, f"{kind}-{name}-{page}", f"{what}: {where}", panels)


def _nobodys(operation: str, name: str, reading: Reading, choice: Choice) -> tuple[str, ...]:
    """The curves that were asked for and that no library has for the operation."""
    there = {row.curve for row in reading.rows if (row.board, row.operation) == (name, operation)}
    lacking = {each.curve for each in reading.unavailable if (each.target, each.operation) == (name, operation)}
    return tuple(
        curve
        for curve in CURVES
        if curve in lacking and curve not in there and (not choice.curves or curve in choice.curves)
    )


def _boards_plots(rows: list[Row], names: Sequence[str], alone: bool) -> Iterable[Plot]:
    if len(names) < 2:
        # Not worth an error among other kinds.
        if alone:
            raise WorldwiseError(
                f"boards side by side needs at least two; there is {', '.join(names)}.",
                "worldwise run cores measures one library on many boards",
            )
        return
    for family, own in _families(rows).items():
        panels = tuple(Panel(group, tuple(members)) for group, members in _grouped(own).items())
        yield Plot("boards", f"boards-{family}", f"Boards side by side: {_family_title(family, own)}", panels)


def _columns(plot: Plot, width: str) -> int:
    most = 1 if width == "column" else 2 if plot.kind in ("time", "stack") else 3
    return min(most, len(plot.panels))


def _panel_height(kind: Kind, panel: Panel) -> float:
    if kind == "pareto":
        return _POINTS_PANEL
    if kind == "boards":
        return _BOARD_LINE * len({row.board for row in panel.rows}) + 16
    lines = len(panel.rows) + len(_grouped(panel.rows)) + len(panel.nobodys)
    return _BAR_LINE * lines + (_AROUND if kind == "time" else _AROUND - 6)


def _footer(plot: Plot, reading: Reading) -> str:
    levels = [level for level in ("Os", "O2") if any(row.optimisation == level for row in plot.rows)]
    state = "" if reading.run.state == "complete" else f" ({reading.run.state})"
    text = f"Run {reading.run.id}{state}; lab {reading.run.lab[:16] or 'none'}; -{' and -'.join(levels)}."
    if plot.kind == "stack":
        return f"{text} Bytes of the deepest call, measured on the emulated board."
    text += " Instructions, counted; medians."
    if plot.kind == "time":
        text += " Time assumes one instruction per cycle; it is not measured."
    return text


def _time_panel(axes: "Axes", panel: Panel, look: Mapping[str, Style], width: str) -> None:
    values = [row.median for row in panel.rows]
    log = max(values) > _LINEAR_RANGE * min(values)
    start = min(values) / 3 if log else 0.0
    _bars(axes, panel, look, [lambda row: row.median], lambda row: compact(row.median), start)
    _value_axis(axes, values, log, start, _LABEL_ROOM[width])
    axes.set_xlabel(f"instructions{' (log axis)' if log else ''}")
    clock = panel.rows[0].clock_mhz
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
        return f"{row.stack:,} + {row.heap:,}" if row.heap else f"{row.stack:,}"

    _bars(axes, panel, look, [lambda row: row.stack or 0, lambda row: row.heap or 0], label, 0)
    totals = [(row.stack or 0) + (row.heap or 0) for row in panel.rows]
    _value_axis(axes, totals, False, 0, _LABEL_ROOM[width] * (1.75 if any(row.heap for row in panel.rows) else 1))
    axes.set_xlabel("bytes: stack, + heap (pale)" if any(row.heap for row in panel.rows) else "bytes of stack")
    axes.spines["top"].set_visible(False)


def _bars(
    axes: "Axes",
    panel: Panel,
    look: Mapping[str, Style],
    parts: Sequence[Callable[[Row], float]],
    label: Callable[[Row], str],
    start: float,
) -> None:
    """Bars under the name of their group; further parts go on where the first ends, paler."""
    ticks: list[tuple[float, str]] = []
    y = 0
    headings: list[tuple[int, str]] = []
    groups: dict[str, list[Row]] = {**{curve: [] for curve in panel.nobodys}, **_grouped(panel.rows)}
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
                    edgecolor=_INK,
                    linewidth=0.4,
                )
                left += size
            axes.annotate(label(row), (left, y), xytext=(2, 0), textcoords="offset points", va="center_baseline")
            ticks.append((y, visible(row.implementation)))
            y += 1
    axes.set_yticks([tick for tick, _ in ticks], [name for _, name in ticks])
    axes.tick_params(axis="y", length=0, pad=2)
    axes.set_ylim(y - 0.4, -0.7)
    for line, text in headings:
        axes.annotate(
            visible(text),
            (0, line),
            xycoords=axes.get_yaxis_transform(),
            xytext=(2, 0),
            textcoords="offset points",
            va="center_baseline",
            fontweight="bold",
            color=_INK,
        )
    axes.grid(axis="x")


def _pareto_panel(axes: "Axes", panel: Panel, look: Mapping[str, Style], _width: str) -> None:
    front = pareto_front([(float(row.flash or 0), row.median) for row in panel.rows])
    if len(front) > 1:
        steps = [(x, y) for (_, y), (x, _) in itertools.pairwise(front)]
        corners = [point for pair in zip(front, steps, strict=False) for point in pair] + [front[-1]]
        axes.plot([x / 1024 for x, _ in corners], [y for _, y in corners], "--", color=_INK, linewidth=0.7, zorder=1)
    axes.plot([x / 1024 for x, _ in front], [y for _, y in front], "o", **_RING, zorder=2)
    for row in panel.rows:
        style = look[row.implementation]
        x, y = (row.flash or 0) / 1024, row.median
        axes.plot(x, y, style.marker, **_marker(style.colour, _INK, 0.5, 5, half=row.optimisation == "Os"), zorder=3)
    flash = [(row.flash or 0) / 1024 for row in panel.rows]
    _scatter_axis(axes, "x", flash, "flash, KiB", lambda value: f"{value:g}")
    _scatter_axis(axes, "y", [row.median for row in panel.rows], "instructions", compact)
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
            **_marker(style.colour, _INK, 0.4),
        )
    axes.set_yticks(range(len(names)), [visible(_short_board(name)) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    values = [row.median for row in panel.rows]
    _scatter_axis(axes, "x", values, "instructions", compact)
    axes.grid(axis="y", linestyle=":")
    axes.spines["top"].set_visible(False)


def _short_board(name: str) -> str:
    title = board_text(name)
    core = title.rpartition("(Cortex-")[2].rstrip(")") if "(Cortex-" in title else ""
    return f"{name} ({core})" if core else name


def _marker(face: str, edge: str, edge_width: float, size: float = 4.5, half: bool = False) -> dict[str, Any]:
    look = {"markersize": size, "markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": edge_width}
    # Hollow would lose a light colour on paper, and its inside in the narrow markers.
    return {**look, "fillstyle": "bottom", "markerfacecoloralt": "white"} if half else look


_RING = _marker("none", _INK, 0.7, size=9.5)
_PANELS = {"time": _time_panel, "pareto": _pareto_panel, "stack": _stack_panel, "boards": _boards_panel}


def _value_axis(axes: "Axes", values: Sequence[float], log: bool, start: float, room: float) -> None:
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


def _scatter_axis(axes: "Axes", which: str, values: Sequence[float], label: str, text: Callable[[float], str]) -> None:
    from matplotlib.ticker import MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = min(values), max(values)
    log = high > _LINEAR_RANGE / 2 * low
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


def _legend_handles(plot: Plot, look: Mapping[str, Style]) -> "list[Line2D]":
    from matplotlib.lines import Line2D

    handles = []
    for library in sorted({row.implementation for row in plot.rows}, key=lambda name: (name not in STYLES, name)):
        style = look[library]
        look_of = {"marker": style.marker, "color": style.colour, **_marker(style.colour, _INK, 0.4)}
        look_of["linestyle"] = "-" if plot.kind == "boards" else "none"
        handles.append(Line2D([], [], linewidth=0.9, label=visible(library), **look_of))
    if plot.kind == "pareto":
        if len({row.optimisation for row in plot.rows}) > 1:
            for half, text in ((False, "filled: -O2"), (True, "half filled: -Os")):
                face = _marker("#777777", _INK, 0.5, 5, half)
                handles.append(Line2D([], [], marker="o", linestyle="none", label=text, **face))
        front: dict[str, Any] = {"marker": "o", "color": _INK, "linestyle": "--", "linewidth": 0.7, **_RING}
        handles.append(Line2D([], [], label="Pareto front", **front))
    return handles
