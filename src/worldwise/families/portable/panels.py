# SPDX-License-Identifier: BSD-2-Clause
"""How figures of boards are drawn: bars, points, lines."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldwise.base.output.safe_text import visible
from worldwise.families.portable.boards import board_text, clock_mhz, operation_text
from worldwise.libraries.boards import by_core
from worldwise.libraries.portable import CURVES
from worldwise.read.models import Row
from worldwise.report.drawing.figures import Kind
from worldwise.report.drawing.library_colours import STYLES, Style, outline
from worldwise.report.drawing.vega import INK, LINEAR_RANGE, Chart, axis, axis_of, chart, panel_title

# Heights in pixels: of a line with a bar or a board's name, of a panel of points.
_BAR_LINE, _BOARD_LINE, _POINTS_PANEL = 15, 24, 160
# The share of an axis that a bar's label needs beyond the bar; of stack and heap together.
_LABEL_ROOM, _SUM_ROOM = 0.24, 0.42
_LEGEND = {"orient": "bottom", "symbolStrokeColor": INK, "symbolStrokeWidth": 0.7, "symbolSize": 50, "labelOffset": 8}
# The room that a letter takes there, and what stands before a name.
_LEGEND_LETTER, _LEGEND_SIGN = 6, 34
_POINT = {"type": "point", "filled": True, "stroke": INK, "strokeWidth": 0.7, "size": 40, "opacity": 1}
# Of a line's key, which is its number and its name.
_NUMBER = 3
# Besides the libraries, in the legend of `pareto`: text -> colour, path.
_FRONT = "Pareto front"
_SIGNS: Mapping[str, tuple[str, str]] = {
    "filled: -O2": ("#777777", outline("o")),
    "half filled: -Os": ("#777777", outline("o", half=True)),
    _FRONT: ("transparent", "M-1.5,0A1.5,1.5,0,1,1,1.5,0A1.5,1.5,0,1,1,-1.5,0ZM-2.4,0h0.6M1.8,0h0.6"),
}


@dataclass(frozen=True)
class Panel:
    """A part of a figure: its rows, and the wanted curves that no library has."""

    title: str
    rows: tuple[Row, ...]
    nobodys: tuple[str, ...] = ()


def compact(value: float) -> str:
    """A number in three digits: `950`, `48.0k`, `1.23M`."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        # What would be rounded up to the next unit has it already.
        if value >= limit * 0.9995:
            scaled = value / limit
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"
    return f"{value:.0f}"


def figure(kind: Kind, name: str, title: str, panels: Sequence[Panel], look: Mapping[str, Style]) -> Chart:
    """One figure; `look` is that of each library of the run."""
    rows = tuple(row for panel in panels for row in panel.rows)
    draw, columns, told = _KINDS[kind]
    there = len({row.implementation for row in rows})
    words = f"{there} {'library' if there == 1 else 'libraries'}, {told(rows)} a call."
    signs = _signs(kind, rows, look)
    spec = {
        "concat": [
            {"title": panel_title(panel.title), **draw(panel, look, signs, number)}
            for number, panel in enumerate(panels)
        ],
        "columns": min(columns, len(panels)),
        "resolve": {"scale": {"color": "shared", "shape": "shared"}},
        "spacing": {"row": 14, "column": 12},
    }
    return chart(kind, name, title, words, spec, (), rows)


def _signs(kind: Kind, rows: Sequence[Row], look: Mapping[str, Style]) -> dict[str, Any]:
    """Colour and shape of points by their field `look`, as all panels of a figure have them, with one legend."""
    names = sorted({row.implementation for row in rows}, key=lambda name: (name not in STYLES, name))
    shown = {visible(name): (look[name].colour, outline(look[name].marker)) for name in names}
    signs = {**shown, **{_half(name): (look[name].colour, outline(look[name].marker, half=True)) for name in names}}
    if kind == "pareto":
        both = len({row.optimisation for row in rows}) > 1
        shown |= {text: sign for text, sign in _SIGNS.items() if both or text == _FRONT}
    signs |= shown
    # As many side by side as there is room for.
    room = _LEGEND_LETTER * max(map(len, shown)) + _LEGEND_SIGN
    full, narrow = (max(1, min(most, pixels // room)) for most, pixels in ((4, 600), (2, 280)))
    columns = {"expr": f"columns > 1 ? {full} : {narrow}"}
    legend = {"title": None, "values": list(shown), "columns": columns, **_LEGEND}
    return {
        channel: {
            "field": "look",
            "type": "nominal",
            "scale": {"domain": list(signs), "range": list(values)},
            "legend": legend,
        }
        for channel, values in zip(("color", "shape"), zip(*signs.values(), strict=True), strict=True)
    }


def _half(name: str) -> str:
    return f"{visible(name)}, half"


def _group(row: Row) -> str:
    return row.curve or operation_text(row.operation, row.size)


def grouped(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by curve, or by operation where there is none."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_group(row), []).append(row)
    return groups


def _time(panel: Panel, look: Mapping[str, Style], *_: Any) -> dict[str, Any]:
    values = [row.median for row in panel.rows]
    low, high = min(values), max(values)
    log = high > LINEAR_RANGE * low
    start = low / 3 if log else 0.0
    # Powers differ by processor in their last bits.
    end = round(start * (high / start) ** (1 / (1 - _LABEL_ROOM))) if log else high / (1 - _LABEL_ROOM)
    spec = _bars(panel, look, [lambda row: row.median], lambda row: compact(row.median), start, end, "instructions")
    clock = clock_mhz(panel.rows[0])
    if not clock:
        return spec
    begins, ends = (count / clock / 1000 for count in (start, end))
    time = axis(begins, ends, "", log)
    title = f"ms at {clock:g} MHz, one instruction per cycle"
    time["axis"] |= {"orient": "top", "grid": False, "title": title, "labelExpr": "format(datum.value, ',~r')"}
    # Nothing but its axis is seen.
    above = {"mark": {"type": "tick", "opacity": 0, "aria": False}, "encoding": {"x": {"datum": begins, **time}}}
    counted = {"layer": spec.pop("layer"), "encoding": spec.pop("encoding")}
    return {**spec, "layer": [counted, above], "resolve": {"scale": {"x": "independent"}}}


def _stack(panel: Panel, look: Mapping[str, Style], *_: Any) -> dict[str, Any]:
    def stack(row: Row) -> int:
        return row.footprint.stack or 0

    def heap(row: Row) -> int:
        return row.footprint.heap or 0

    def label(row: Row) -> str:
        return f"{stack(row):,} + {heap(row):,}" if heap(row) else f"{stack(row):,}"

    allocates = any(map(heap, panel.rows))
    most = max(stack(row) + heap(row) for row in panel.rows)
    end = max(most, 1) / (1 - (_SUM_ROOM if allocates else _LABEL_ROOM))
    title = "bytes: stack, + heap (pale)" if allocates else "bytes of stack"
    return _bars(panel, look, [stack, heap], label, 0, end, title)


def _bars(
    panel: Panel,
    look: Mapping[str, Style],
    parts: Sequence[Callable[[Row], float]],
    label: Callable[[Row], str],
    start: float,
    most: float,
    title: str,
) -> dict[str, Any]:
    """Bars under the name of their group, on a logarithmic axis unless from 0; a bar's further parts continue where
    the first ends, paler.
    """
    lines: list[str] = []
    bars: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    groups: dict[str, list[Row]] = {**{curve: [] for curve in panel.nobodys}, **grouped(panel.rows)}
    for group in sorted(groups, key=lambda name: CURVES.index(name) if name in CURVES else len(CURVES)):
        lines.append(_key(lines, ""))
        texts.append({"line": lines[-1], "group": visible(group if groups[group] else f"{group}: not available")})
        for row in groups[group]:
            lines.append(_key(lines, row.implementation))
            end = 0.0
            for number, part in enumerate(parts):
                begin, end = end, end + part(row)
                same = {"line": lines[-1], "colour": look[row.implementation].colour}
                bars.append({**same, "from": begin or start, "to": end, "opacity": 0.35 if number else 1})
            texts.append({"line": lines[-1], "end": end, "label": label(row)})
    x = axis(start, most, title, log=start > 0, ticks=5)
    names = {"labelExpr": f"substring(datum.label, {_NUMBER})", "ticks": False}
    return {
        "height": {"step": _BAR_LINE},
        "data": {"values": bars},
        "encoding": {"y": {"field": "line", "type": "nominal", "sort": lines, "title": None, "axis": names}},
        "layer": [
            {
                "mark": {"type": "bar", "aria": False, "stroke": INK, "strokeWidth": 0.5, "height": {"band": 0.8}},
                "encoding": {
                    "x": {"field": "from", **x},
                    "x2": {"field": "to"},
                    "color": {"field": "colour", "type": "nominal", "scale": None},
                    "opacity": {"field": "opacity", "type": "quantitative", "scale": None},
                },
            },
            _texts(texts, "label", {"field": "end", **x}, dx=3),
            _texts(texts, "group", {"value": 3}, fontWeight="bold"),
        ],
    }


def _key(lines: Sequence[str], name: str) -> str:
    return f"{len(lines):0{_NUMBER}}{visible(name)}"


def _texts(values: Sequence[Mapping[str, Any]], field: str, x: Mapping[str, Any], **look: Any) -> dict[str, Any]:
    return {
        "data": {"values": [value for value in values if field in value]},
        "mark": {"type": "text", "aria": False, "align": "left", **look},
        "encoding": {"x": x, "text": {"field": field, "type": "nominal"}},
    }


def _pareto(panel: Panel, _look: Mapping[str, Style], signs: Mapping[str, Any], _number: int) -> dict[str, Any]:
    values: list[dict[str, Any]] = [
        {
            "look": _half(row.implementation) if row.optimisation == "Os" else visible(row.implementation),
            "flash": (row.footprint.flash or 0) / 1024,
            "median": row.median,
        }
        for row in panel.rows
    ]
    front = pareto_front([(value["flash"], value["median"]) for value in values])
    x = {"field": "flash", **axis_of([value["flash"] for value in values], "flash, KiB", 4)}
    y = {"field": "median", **axis_of([value["median"] for value in values], "instructions", 4)}
    border = {"data": {"values": [{"flash": flash, "median": median} for flash, median in front]}}
    dashed = {"type": "line", "interpolate": "step-after", "strokeDash": [4, 2], "strokeWidth": 1, "color": INK}
    ring = {"type": "point", "fill": "white", "stroke": INK, "strokeWidth": 1, "size": 190, "opacity": 1}
    return {
        "height": _POINTS_PANEL,
        "data": {"values": values},
        "encoding": {"x": x, "y": y},
        "layer": [{**border, "mark": dashed}, {**border, "mark": ring}, {"mark": _POINT, "encoding": signs}],
    }


def pareto_front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats in one coordinate without losing in the other, by the first coordinate."""
    front: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front


def _boards(panel: Panel, look: Mapping[str, Style], signs: Mapping[str, Any], number: int) -> dict[str, Any]:
    names = by_core(row.board for row in panel.rows)
    boards = [_short_board(name) for name in names]
    at = {(row.implementation, row.board): row.median for row in panel.rows}
    # Nothing where a library was not measured, so that its line ends there.
    values = [
        {
            "look": visible(library),
            "colour": look[library].colour,
            "board": boards[place],
            "place": place,
            "median": at.get((library, name)),
        }
        for library in dict.fromkeys(row.implementation for row in panel.rows)
        for place, name in enumerate(names)
    ]
    # A board's name stands once, at the left.
    names_of = {"grid": True, "labelExpr": f"{number} % columns ? '' : datum.label"}
    line = {
        "order": {"field": "place", "type": "quantitative"},
        "detail": {"field": "look"},
        # With the points' scale it would take their legend away.
        "stroke": {"field": "colour", "type": "nominal", "scale": None},
    }
    return {
        "height": {"step": _BOARD_LINE},
        "data": {"values": values},
        "encoding": {
            "x": {"field": "median", **axis_of([row.median for row in panel.rows], "instructions", 4)},
            "y": {"field": "board", "type": "nominal", "sort": boards, "title": None, "axis": names_of},
        },
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.2}, "encoding": line},
            {"transform": [{"filter": "isValid(datum.median)"}], "mark": _POINT, "encoding": signs},
        ],
    }


def _short_board(name: str) -> str:
    title = board_text(name)
    core = title.rpartition("(Cortex-")[2].rstrip(")") if "(Cortex-" in title else ""
    return visible(f"{name} ({core})" if core else name)


def _instructions(rows: Iterable[Row]) -> str:
    return f"{_range([row.median for row in rows], compact)} instructions"


def _bytes(rows: Iterable[Row]) -> str:
    return f"{_range([(row.footprint.stack or 0) + (row.footprint.heap or 0) for row in rows], '{:,}'.format)} bytes"


def _range(values: Collection[float], text: Callable[[float], str]) -> str:
    least, most = text(min(values)), text(max(values))
    return least if least == most else f"from {least} to {most}"


# How a panel is drawn, how many stand side by side, and what the words tell of the rows.
_KINDS: Mapping[Kind, tuple[Callable[..., dict[str, Any]], int, Callable[[Iterable[Row]], str]]] = {
    "time": (_time, 2, _instructions),
    "pareto": (_pareto, 3, _instructions),
    "stack": (_stack, 2, _bytes),
    "boards": (_boards, 3, _instructions),
}
