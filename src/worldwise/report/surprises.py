# SPDX-License-Identifier: BSD-2-Clause
"""What the answers of families have in common: time at a clock, and what one would not expect of the figures."""

from collections.abc import Iterable

from worldwise.base.tables import factor, whole
from worldwise.base.units import parse_frequency
from worldwise.read.models import Reading, Row
from worldwise.report.counts import label

# At which an answer shows counts as time if the run has no budget.
CLOCK = "2 GHz"
# Samples of a case that differ by more than this share of their median are told of.
_WIDE = 0.05
# So are medians that are further than this from a published figure, either way.
_FAR = 1.5


def clock_text(reading: Reading) -> str:
    """The clock at which an answer shows counts as time: the budget's, or CLOCK."""
    return reading.budget.clock if reading.budget else CLOCK


def milliseconds(instructions: float, reading: Reading) -> str:
    """A count as milliseconds at `clock_text`, if each instruction took one cycle."""
    return f"{instructions * 1000 / float(parse_frequency(clock_text(reading))):,.3f}"


def spread_surprises(rows: Iterable[Row]) -> tuple[str, ...]:
    """The case whose samples differ the most, in a sentence; nothing if no case's differ by much."""
    found = [row for row in rows if row.median and row.max - row.min > _WIDE * row.median]
    if not found:
        return ()
    row = max(found, key=lambda row: (row.max - row.min) / row.median)
    more = len(found) - 1
    rows_more = f"{more:,} other rows" if more > 1 else "another row"
    others = f", and those of {rows_more} by more than {100 * _WIDE:g} %" if more else ""
    share = 100 * (row.max - row.min) / row.median
    return (
        f"Samples differ: {row.variant}, {label(row)} at {row.place} took {whole(row.min)} to {whole(row.max)} "
        f"instructions, which is {share:,.0f} % of the median{others}.",
    )


def published_surprises(rows: Iterable[Row]) -> tuple[str, ...]:
    """The row that is furthest from a published figure, in a sentence; nothing if none is far."""
    pairs = [(row, figure) for row in rows for figure in row.published]
    far = [pair for pair in pairs if not 1 / _FAR <= pair[1].ratio <= _FAR]
    if not far:
        return ()
    row, figure = max(far, key=lambda pair: max(pair[1].ratio, 1 / pair[1].ratio))
    return (
        f"Unlike what was published: {row.variant}, {label(row)} takes {factor(figure.ratio)} times the instructions "
        f"of {figure.source}; {len(far):,} of {len(pairs):,} figures are off by more than {_FAR:g} times.",
    )
