# SPDX-License-Identifier: BSD-2-Clause
"""Figures that the rows of any family give: by variant and place, against the size of the message, the TEE's price,
cycles against instructions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from worldwise.base.output.safe_text import visible
from worldwise.base.tables import count, factor, section_name
from worldwise.base.units import size_text
from worldwise.plan.spec import PLACES
from worldwise.read.contests import Match, matches
from worldwise.read.line_fit import LEAST_POINTS, FittedLine, fit_line
from worldwise.read.models import Reading, Row
from worldwise.read.rows import differ, in_reading_order, whole_calls
from worldwise.report import contests
from worldwise.report.drawing.library_colours import styles
from worldwise.report.drawing.vega import WIDTH, Chart, axis, axis_of, chart, colour_of, tooltip
from worldwise.report.predictions import lines_of
from worldwise.report.sections.counts import label

# An axis of sizes has them in the units in which suites name them.
_SIZE_LABEL = (
    "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB'"
    " : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)
# What grows less with the size is taken not to depend on it; an axis shows at least so many times its least count.
_GROWS, _LEAST_RANGE = 1.05, 4
# A line to compare with, which says nothing itself.
_DASHED = {"strokeDash": [4, 3], "color": "#808080"}
# The most lines of a figure of prices.
_MOST_PRICES = 40
# Points of a fitted line, which is a curve where both axes are logarithmic.
_CURVE = 40


def colours_of(reading: Reading) -> dict[str, str]:
    """The colour of each library of a run."""
    return {name: style.colour for name, style in styles(row.implementation for row in reading.rows).items()}


def by_variant(rows: Iterable[Row], colours: Mapping[str, str]) -> Iterable[Chart]:
    """A figure for each thing that several variants do, or one does at several places."""
    listed = list(rows)
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in listed:
        groups.setdefault((row.board, _system(row), row.operation, row.measure, row.parameters), []).append(row)
    sized = {id(row) for group in _size_groups(listed).values() if _growth(group) > _GROWS for row in group}
    # What many variants do comes first: that is what a suite compares. What makes no difference comes last.
    for group in sorted(groups.values(), key=lambda group: (not differ(group), -len({row.variant for row in group}))):
        there = {_series(row) for row in group}
        # Unless a figure against the size has them all.
        if len(there) > 1 and there != {_series(row) for row in group if id(row) in sized}:
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
            "first": row.counts.first,
            "least": row.counts.min,
            "most": row.counts.max,
        }
        for row in group
    ]
    # Of whole calls of one system, the TEE's if they are there. All, if that is one row: then places are compared.
    match = max(matches(whole_calls(group)), key=lambda match: (len(match.rows), match.first.target == "optee"))
    compared = match if len(match.rows) > 1 else Match(tuple(group))
    least, most = compared.least()[0], compared.most()[0]
    where = f" on {least.board or least.target}" if _system(least) else ""
    title = f"{label(least)}{where}"
    spec = {
        "width": WIDTH,
        "height": {"step": 22},
        # Hollow: two places may have nearly the same count.
        "mark": {"type": "point", "filled": False, "size": 110, "strokeWidth": 2.2, "opacity": 1},
        "encoding": {
            "y": {"field": "variant", "type": "nominal", "sort": _order(group), "title": None, "axis": {"grid": True}},
            "x": {"field": "median", **axis_of([row.median for row in group], "instructions, median")},
            "color": colour_of(group, colours),
            "shape": {
                "field": "place",
                "type": "nominal",
                "title": "measured at",
                "sort": list(PLACES),
                "legend": {"orient": "bottom"} if len({value["place"] for value in values}) > 1 else None,
            },
            "tooltip": tooltip(("median", "first", "least", "most"), "variant", "place"),
        },
    }
    if least.median == most.median:
        words = f"All take {count(least.median)} instructions."
    else:
        words = f"{_winners(compared.least())} the fewest instructions, {count(least.median)}; "
        words += f"{contests.names(compared.most(), _named)} the most, "
        words += count(most.median)
        words += f", {factor(most.median / least.median)} times as many." if least.median else "."
    return chart("variants", section_name("variants", title), title, words, spec, values)


def _winners(rows: Sequence[Row]) -> str:
    return f"{contests.names(rows, _named)} {'takes' if len(rows) == 1 else 'take'}"


def _order(group: Iterable[Row]) -> list[str]:
    """Variants by their outermost median, the least first."""
    medians: dict[str, float] = {}
    for row in group:
        medians[row.variant] = max(row.median, medians.get(row.variant, 0))
    return sorted((visible(name) for name in medians), key=lambda name: medians.get(name, math.inf))


def _named(row: Row) -> str:
    return f"{row.variant} at {row.place}"


def _size_groups(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Rows that differ in the size of the message, by what else they have in common: the TEE and its Linux together.

    Of a target there is the outermost place. Variants that have too few sizes for a line are left out.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.size is not None:
            others = row.given
            text = " ".join(f"{key}={value}" for key, value in others.items() if key not in ("size", "chunk"))
            groups.setdefault((row.board, _system(row), row.operation, row.measure, text), []).append(row)
    return {key: lines for key, group in groups.items() if (lines := _lines(group))}


def _lines(group: Iterable[Row]) -> list[Row]:
    """The rows of variants that have enough sizes for a line; of rows in chunks only if there are no others."""
    listed = list(group)
    whole = [row for row in listed if row.chunk is None] or listed
    whole = [row for row in whole_calls(whole) if row.size]
    sizes: dict[tuple[str, str], set[int | None]] = {}
    for row in whole:
        sizes.setdefault(_series(row), set()).add(row.size)
    return [row for row in whole if len(sizes[_series(row)]) >= LEAST_POINTS]


def _series(row: Row) -> tuple[str, str]:
    return row.target, row.variant


def by_size(rows: Iterable[Row], colours: Mapping[str, str]) -> Iterable[Chart]:
    """A figure for each thing that was done with messages of several sizes: counts, and a line through each.

    What grows most comes first. What no size changes by more than a twentieth has none.
    """
    groups = {key: group for key, group in _size_groups(rows).items() if _growth(group) > _GROWS}
    for (board, system, operation, measure, others), group in sorted(
        groups.items(), key=lambda item: -_growth(item[1])
    ):
        words = operation if operation == measure else f"{operation} {measure}"
        where = f", on {board or system}" if system else ""
        title = f"{words} against the size of the message{where}" + (f": {others}" if others else "")
        yield against_size(
            section_name("sizes", f"{words} {others} {system}"),
            title,
            group,
            colour_of(group, colours, legend=True),
            {row.case: {"library": row.implementation, "level": f"-{row.optimisation}"} for row in group},
        )


def _growth(group: Sequence[Row]) -> float:
    """How many times the instructions of its least size the greatest one takes, at most; 0 if one takes none."""
    series: dict[tuple[str, str], list[float]] = {}
    for row in group:
        series.setdefault(_series(row), []).append(row.median)
    return max(max(medians) / min(medians) if min(medians) > 0 else 0 for medians in series.values())


def against_size(
    name: str,
    title: str,
    rows: Sequence[Row],
    colour: Mapping[str, Any],
    given: Mapping[str, Mapping[str, str]],
    names: Mapping[str, str] | None = None,
) -> Chart:
    """Counts against the sizes of the rows, which all have one, both axes logarithmic: a point for each row, and the
    straight line that fits a target's and a variant's points best, a curve on such axes.

    `given` are the fields that the points and the line of a row's case have besides, `level` among them; `names`
    is what words call a case, else its variant and place.
    """
    groups: dict[tuple[str, str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        groups.setdefault((*_series(row), tuple(given[row.case].values())), []).append(row)
    values: list[dict[str, Any]] = []
    fits: list[tuple[Row, FittedLine]] = []
    for number, group in enumerate(groups.values()):
        fields = {"variant": visible(group[0].variant), "place": group[0].place, **given[group[0].case]}
        values += [
            {**fields, "size": row.size, "bytes": size_text(row.size or 0), "median": row.median} for row in group
        ]
        line = fit_line({row.size or 0: row.median for row in group})
        if line:
            fits.append((max(group, key=lambda row: row.size or 0), line))
            fields |= {"line": str(number), "fit": _fitted(line)}
            values += [{**fields, "size": x, "fitted": y} for x, y in _curve(line) if y > 0]

    def named(row: Row) -> str:
        return names[row.case] if names else _named(row)

    largest = max(row.size or 0 for row in rows)
    ends = [row for row in rows if row.size == largest]
    # Of kinds that words tell apart all are compared; else one system, the TEE if it is there.
    rivals = [Match(tuple(ends))] if names else matches(ends)
    match = max(rivals, key=lambda match: (len(match.rows), match.first.target == "optee"))
    least, most = match.least()[0], match.most()[0]
    low, high = min(row.median for row in rows), max(row.median for row in rows)
    x = {
        "field": "size",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False, "padding": 8},
        "title": "size (log axis)",
        "axis": {"labelExpr": _SIZE_LABEL, "tickCount": 8},
    }
    # Never so near that small differences look like large ones.
    y = axis(low / 1.2, max(1.2 * high, _LEAST_RANGE * low), "instructions, median")
    places = list(dict.fromkeys(row.place for row in rows))
    dash = {"field": "place", "type": "nominal", "title": "measured at", "sort": list(PLACES)}
    shape = {"field": "level", "type": "nominal", "title": "compiled with"}
    spec = {
        "width": WIDTH,
        "height": 260,
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.fitted)"}],
                "mark": {"type": "line", "strokeWidth": 1.4},
                "encoding": {
                    "x": x,
                    "y": {"field": "fitted", **y},
                    "color": colour,
                    "detail": {"field": "line"},
                    "strokeDash": {**dash, "legend": {} if len(places) > 1 else None},
                    "tooltip": tooltip((), "variant", "place", "fit"),
                },
            },
            {
                "transform": [{"filter": "isValid(datum.median)"}],
                "mark": {"type": "point", "size": 55, "filled": True, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": {"field": "median", **y},
                    "color": colour,
                    "shape": {**shape, "legend": {} if len({row.optimisation for row in rows}) > 1 else None},
                    "tooltip": tooltip(("median",), "variant", "place", "bytes"),
                },
            },
        ],
    }
    words = "Points are counts, lines a fixed cost and a cost per byte fitted to them. "
    who, last = contests.names(match.least(), named), contests.names(match.most(), named)
    takes = "takes" if len(match.least()) == 1 else "take"
    if not match.differs:
        words += f"Of {size_text(largest)} {who} {takes} {count(least.median)} instructions."
    else:
        words += f"Of {size_text(largest)} {who} {takes} the fewest instructions, {count(least.median)}, and "
        words += f"{last} the most, {count(most.median)}."
    words += "".join(f" {named(row)}: {_fitted(line)}." for row, line in fits if row is least or row is most)
    return chart("sizes", name, title, words, spec, values)


def _fitted(line: FittedLine) -> str:
    return f"{line.fixed:,.0f} + {line.slope:,.2f} per byte"


def _curve(line: FittedLine) -> Iterable[tuple[float, float]]:
    least, most = min(line.residuals), max(line.residuals)
    for step in range(_CURVE + 1):
        # Powers differ by processor in their last bits.
        size = round(least * (most / least) ** (step / _CURVE), 3)
        yield size, line.fixed + line.slope * size


def price(rows: Iterable[Row], colours: Mapping[str, str]) -> Iterable[Chart]:
    """What the TEE costs, a figure for each operation: how many times the instructions of the same library in Linux."""
    priced: dict[str, list[Row]] = {}
    for row in rows:
        if row.against.ratio_to_linux is not None and row.place != "linux":
            priced.setdefault(row.operation, []).append(row)
    for operation, group in priced.items():
        yield _price(operation, group, colours)


def _price(operation: str, priced: Sequence[Row], colours: Mapping[str, str]) -> Chart:
    named = {row.case + row.measure: f"{label(row).removeprefix(f'{operation} ')}, {row.variant}" for row in priced}
    # All places of a line, or none.
    shown = set(list(dict.fromkeys(named.values()))[:_MOST_PRICES])
    left = len(set(named.values()) - shown)
    priced = [row for row in priced if named[row.case + row.measure] in shown]
    values = [
        {
            "what": visible(named[row.case + row.measure]),
            "place": row.place,
            "times": round(row.against.ratio_to_linux or 0, 4),
            "median": row.median,
            "library": row.implementation,
        }
        for row in priced
    ]
    spec = {
        "width": WIDTH,
        "height": {"step": 18},
        "layer": [
            {"mark": {"type": "rule", "aria": False, **_DASHED}, "encoding": {"x": {"datum": 1}}},
            {
                "mark": {"type": "point", "filled": False, "size": 90, "strokeWidth": 2.2, "opacity": 1},
                "encoding": {
                    "y": {"field": "what", "type": "nominal", "sort": None, "title": None, "axis": {"grid": True}},
                    "x": {
                        "field": "times",
                        "type": "quantitative",
                        "scale": {"zero": False, "nice": False, "padding": 12},
                        "title": "times the instructions of the same library in Linux",
                    },
                    "color": colour_of(priced, colours),
                    "shape": {
                        "field": "place",
                        "type": "nominal",
                        "title": "measured at",
                        "sort": list(PLACES),
                        "legend": {"orient": "bottom"},
                    },
                    "tooltip": tooltip(("times", "median"), "what", "place"),
                },
            },
        ],
    }
    dearest = max(priced, key=lambda row: row.against.ratio_to_linux or 0)
    times = factor(dearest.against.ratio_to_linux or 0)
    words = f"The most expensive is {label(dearest)}, {_named(dearest)}: {times} times Linux."
    words += f" {left:,} more are in the report's table." if left else ""
    title = f"The price of the TEE: {operation}"
    return chart("price", section_name("price", operation), title, words, spec, values)


def cycles(reading: Reading, colours: Mapping[str, str]) -> Iterable[Chart]:
    """Predicted cycles against counted instructions, a figure for each core."""
    lines = lines_of(reading)
    rows = {row.variant: row for row in in_reading_order(reading.rows)}
    for core in dict.fromkeys(line.estimate.core for line in lines):
        chosen = [line for line in lines if line.estimate.core == core and line.instructions > 0]
        known = [line for line in chosen if line.case.variant in rows]
        if not known:
            continue
        values = [
            {
                "what": visible(line.label),
                "variant": visible(line.case.variant),
                "state": line.estimate.state,
                "library": rows[line.case.variant].implementation,
                "instructions": line.instructions,
                "cycles": line.estimate.cycles,
                "each": round(line.estimate.cycles / line.instructions, 3),
            }
            for line in known
        ]
        both = [one for line in known for one in (line.instructions, line.estimate.cycles)]
        low, high = min(both) / 1.3, max(both) * 1.3
        spec = {
            "width": WIDTH,
            "height": 300,
            "layer": [
                {
                    "data": {"values": [{"x": low, "y": low}, {"x": high, "y": high}]},
                    "mark": {"type": "line", "aria": False, "strokeWidth": 1, **_DASHED},
                    "encoding": {
                        "x": {"field": "x", "type": "quantitative"},
                        "y": {"field": "y", "type": "quantitative"},
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.9},
                    "encoding": {
                        "x": {"field": "instructions", **axis(low, high, "instructions, counted")},
                        "y": {"field": "cycles", **axis(low, high, f"cycles on {core}, predicted")},
                        "color": colour_of([rows[line.case.variant] for line in known], colours, legend=True),
                        "shape": {"field": "state", "type": "nominal", "title": "call"},
                        "tooltip": tooltip(("instructions", "cycles", "each"), "what", "variant", "state"),
                    },
                },
            ],
        }
        ratios = sorted(line.estimate.cycles / line.instructions for line in known)
        words = f"Above the dashed line a call takes more cycles than instructions: from {ratios[0]:.2f} to "
        words += f"{ratios[-1]:.2f} cycles each, by a model whose error the report's tables have."
        title = f"Predicted cycles on {core} against counted instructions"
        yield chart("cycles", section_name("cycles", core), title, words, spec, values)
