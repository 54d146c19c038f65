# SPDX-License-Identifier: BSD-2-Clause
"""The figures of a page: Vega-Lite charts of a reading's rows, as data and as drawings.

A chart is data. vl-convert draws it once, as SVG, for readers without JavaScript and for paper; the page has the data
too, and the libraries that draw it anew with the values under the mouse.
"""

import functools
import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldwise.base.outgoing import visible
from worldwise.base.tables import count, factor
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.plan.spec import PLACES
from worldwise.read.models import Reading, Row
from worldwise.read.order import in_reading_order
from worldwise.report.counts import label
from worldwise.report.drawing.axes import LINEAR_RANGE
from worldwise.report.drawing.looks import styles

# The most figures of a page, of variants beside each other and of sizes; the tables have everything.
MOST_DOTS, MOST_LINES = 16, 8
_WIDTH = 440
# Of Vega-Lite, among those that vl-convert has.
_VERSION = "6.4"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
# A line needs so many sizes.
_LEAST_SIZES = 3
# Grey that shows on white and on black; the page's style sheet sets the colour of text.
_GRID, _RULE = "#80808040", "#808080"
_CONFIG: Mapping[str, Any] = {
    "background": None,
    # Names may be wider in the reader's font than in the one that the drawing was measured with.
    "padding": {"left": 20, "right": 20, "top": 5, "bottom": 5},
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "gridColor": _GRID,
        "domainColor": _RULE,
        "tickColor": _RULE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 260,
    },
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "symbolSize": 90,
        "symbolStrokeColor": _RULE,
        "labelLimit": 260,
    },
}


@dataclass(frozen=True)
class Chart:
    """One figure.

    Attributes:
        title: what it shows.
        words: the same in a sentence, for who does not see it.
        spec: the chart as Vega-Lite has it.
    """

    title: str
    words: str
    spec: Mapping[str, Any]

    @property
    def json(self) -> str:
        """The chart as JSON that can stand in a page."""
        return in_page(self.spec)

    def svg(self) -> str:
        """The drawing, with this chart's words for who does not see it."""
        drawn = _drawn(json.dumps(self.spec))
        return drawn.replace("<svg ", f'<svg role="img" aria-label="{html.escape(self.words)}" ', 1)


@functools.lru_cache(maxsize=256)
def _drawn(spec: str) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec, vl_version=_VERSION))


def in_page(data: Any) -> str:
    """JSON that no HTML parser takes for the end of a script."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


@functools.cache
def libraries() -> str:
    """Vega, Vega-Lite and vega-embed in one module, which puts vegaEmbed into the window.

    They come with vl-convert, whose version and digest requirements/ pins; nothing is fetched.
    """
    import vl_convert

    bundle = vl_convert.javascript_bundle(vl_version=_VERSION)  # type: ignore[call-arg] # the snippet has a default
    return str(bundle).replace("</script", "<\\/script")


def charts(reading: Reading) -> tuple[list[Chart], int]:
    """The figures of a run, and how many more there would be."""
    rows = in_reading_order(reading.rows)
    colours = {name: style.colour for name, style in styles(row.implementation for row in rows).items()}
    dots, lines = list(_by_variant(rows, colours)), list(_by_size(rows, colours))
    shown = [*dots[:MOST_DOTS], *lines[:MOST_LINES]]
    return shown, len(dots) + len(lines) - len(shown)


def _by_variant(rows: Iterable[Row], colours: Mapping[str, str]) -> Iterable[Chart]:
    """A figure for each thing that several variants do, or one does at several places."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.board, _system(row), row.operation, row.measure, row.parameters), []).append(row)
    sized = {id(row) for chart in _size_groups(rows).values() for row in chart}
    # What many variants do comes first: that is what a suite compares.
    for group in sorted(groups.values(), key=lambda group: -len({row.variant for row in group})):
        if len({(row.target, row.variant) for row in group}) > 1 and not all(id(row) in sized for row in group):
            yield _dots(group, colours)


def _system(row: Row) -> str:
    """What is compared on one axis: the TEE with its Linux, each board and each plain Linux for itself."""
    return "" if row.target in ("optee", "linux") else row.target


def _dots(group: Sequence[Row], colours: Mapping[str, str]) -> Chart:
    several = len({row.target for row in group}) > 1
    values = [
        {
            "variant": visible(row.variant),
            "place": f"{row.place}, {row.target}" if several and row.target == "linux" != row.place else row.place,
            "median": row.median,
            "library": row.implementation,
            "first": row.first,
            "least": row.min,
            "most": row.max,
        }
        for row in group
    ]
    least, most = min(group, key=lambda row: row.median), max(group, key=lambda row: row.median)
    log = least.median > 0 and most.median > LINEAR_RANGE * least.median
    where = f" on {least.board or least.target}" if _system(least) else ""
    title = f"{label(least)}{where}"
    scale = {"type": "log", "nice": False, "padding": 12} if log else {"zero": True, "nice": True}
    spec = {
        "title": None,
        "width": _WIDTH,
        "height": {"step": 22},
        # Hollow: two places may have nearly the same count.
        "mark": {"type": "point", "filled": False, "size": 110, "strokeWidth": 2.2, "opacity": 1},
        "encoding": {
            "y": {"field": "variant", "type": "nominal", "sort": _order(group), "title": None, "axis": {"grid": True}},
            "x": {
                "field": "median",
                "type": "quantitative",
                "scale": scale,
                "title": "instructions, median" + (" (log axis)" if log else ""),
                "axis": {"format": "~s", "tickCount": 6},
            },
            "color": _colour(group, colours),
            "shape": {
                "field": "place",
                "type": "nominal",
                "title": "measured at",
                "sort": list(PLACES),
                "legend": {"orient": "bottom"} if len({value["place"] for value in values}) > 1 else None,
            },
            "tooltip": _tooltip("variant", "place", "median", "first", "least", "most"),
        },
    }
    if least.median == most.median:
        return _chart(title, f"All take {count(least.median)} instructions.", spec, values)
    words = f"{_named(least)} takes the fewest instructions, {count(least.median)}; {_named(most)} the most, "
    words += f"{count(most.median)}" + (
        f", {factor(most.median / least.median)} times as many." if least.median else "."
    )
    return _chart(title, words, spec, values)


def _order(group: Iterable[Row]) -> list[str]:
    """Variants by their outermost median, the least first."""
    medians: dict[str, float] = {}
    for row in group:
        medians[row.variant] = max(row.median, medians.get(row.variant, 0))
    return sorted((visible(name) for name in medians), key=lambda name: medians.get(name, math.inf))


def _size_groups(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Rows that differ in the size of the message: by what else they have in common, at the outermost place."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.size is not None:
            others = {
                key: value for key, value in parameters_of(row.parameters).items() if key not in ("size", "chunk")
            }
            text = ",".join(f"{key}={value}" for key, value in others.items())
            groups.setdefault((row.target, row.operation, row.measure, row.place, text), []).append(row)
    return {key: lines for key, group in groups.items() if (lines := _lines(group))}


def _lines(group: Iterable[Row]) -> list[Row]:
    """The rows of variants that have enough sizes for a line; of rows in chunks only if there are no others."""
    listed = list(group)
    whole = [row for row in listed if row.chunk is None] or listed
    sizes: dict[str, set[int | None]] = {}
    for row in whole:
        sizes.setdefault(row.variant, set()).add(row.size)
    return [row for row in whole if len(sizes[row.variant]) >= _LEAST_SIZES]


def _by_size(rows: Sequence[Row], colours: Mapping[str, str]) -> Iterable[Chart]:
    for (target, operation, measure, place, others), whole in _size_groups(rows).items():
        if min(row.median for row in whole) <= 0:
            continue
        words = operation if operation == measure else f"{operation} {measure}"
        title = f"{words} against the size of the message, on {target}, at {place}" + (f", {others}" if others else "")
        values = [
            {
                "variant": visible(row.variant),
                "size": row.size,
                "bytes": size_text(row.size or 0),
                "median": row.median,
                "library": row.implementation,
                "level": f"-{row.optimisation}",
            }
            for row in whole
            if row.size
        ]
        smallest, largest = min(row.size or 0 for row in whole), max(row.size or 0 for row in whole)
        ends = [row for row in whole if row.size == largest]
        least, most = min(ends, key=lambda row: row.median), max(ends, key=lambda row: row.median)
        spec = {
            "title": None,
            "width": _WIDTH,
            "height": 260,
            "mark": {"type": "line", "point": {"size": 60}},
            "encoding": {
                "x": {
                    "field": "size",
                    "type": "quantitative",
                    "scale": {"type": "log", "base": 2},
                    "title": "bytes (log axis)",
                },
                "y": {
                    "field": "median",
                    "type": "quantitative",
                    "scale": {"type": "log"},
                    "title": "instructions, median (log axis)",
                    "axis": {"format": "~s", "tickCount": 6},
                },
                "color": _colour(whole, colours) | {"legend": {"title": "library"}},
                "detail": {"field": "variant"},
                "strokeDash": {"field": "level", "type": "nominal", "title": "compiled with"},
                "tooltip": _tooltip("variant", "bytes", "median"),
            },
        }
        text = f"From {size_text(smallest)} to {size_text(largest)}; of the largest {_named(least)} takes the fewest "
        text += f"instructions, {count(least.median)}, and {_named(most)} the most, {count(most.median)}."
        yield _chart(title, text, spec, values)


def over_runs(title: str, points: Sequence[tuple[str, str, float]], steps: Sequence[str]) -> Chart:
    """Medians over runs, oldest first: each the run's id, a revision and the median; `steps` are runs that differ."""
    values = [
        {"run": visible(run), "revision": visible(revision), "median": median, "step": run in steps}
        for run, revision, median in points
    ]
    least, most = min(median for _, _, median in points), max(median for _, _, median in points)
    colour = {"condition": {"test": "datum.step", "value": "#d55e00"}, "value": "#0072b2"}
    spec = {
        "title": None,
        "width": _WIDTH,
        "height": 160,
        "encoding": {
            "x": {"field": "run", "type": "ordinal", "title": None, "axis": {"labelAngle": -30, "labelLimit": 180}},
            "y": {
                "field": "median",
                "type": "quantitative",
                "title": "instructions, median",
                "scale": {"zero": False, "nice": True, "padding": 8},
                "axis": {"format": ",d", "tickCount": 5},
            },
            "tooltip": _tooltip("run", "revision", "median"),
        },
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after", "color": "#0072b2"}},
            {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}, "encoding": {"color": colour}},
        ],
    }
    words = f"{len(points)} runs, from {count(least)} to {count(most)}; steps at {', '.join(steps)}."
    return _chart(title, words, spec, values)


def _named(row: Row) -> str:
    return f"{row.variant} at {row.place}"


def _colour(group: Iterable[Row], colours: Mapping[str, str]) -> dict[str, Any]:
    """The library's own colour, which is the same in every figure; the axis names the variants."""
    names = list(dict.fromkeys(row.implementation for row in group))
    scale = {"domain": names, "range": [colours[name] for name in names]}
    return {"field": "library", "type": "nominal", "scale": scale, "legend": None}


def _tooltip(*names: str) -> list[dict[str, str]]:
    exact = {"median", "first", "least", "most"}
    return [
        {"field": name, "type": "quantitative", "format": ",", "title": name}
        if name in exact
        else {"field": name, "type": "nominal", "title": name}
        for name in names
    ]


def _chart(title: str, words: str, spec: Mapping[str, Any], values: Sequence[Mapping[str, Any]]) -> Chart:
    whole = {"$schema": _SCHEMA, "description": visible(words), "config": _CONFIG, "data": {"values": values}}
    return Chart(visible(title), visible(words), {**whole, **spec})
