# SPDX-License-Identifier: BSD-2-Clause
"""Shared parts of the families' answers: time at a clock, and sentences on surprising figures."""

from collections.abc import Iterable

from worldwise.base.tables import factor, whole
from worldwise.base.units import INSTRUCTIONS, NANOSECONDS, parse_frequency
from worldwise.read.models import Reading, Row
from worldwise.report.sections.counts import row_text

# The clock at which an answer shows counts as time if the run has no budget.
CLOCK = "2 GHz"
# An answer mentions samples of a case that differ by more than this share of their median.
_WIDE = 0.05
# It mentions medians that are more than this factor above or below a published figure.
_FAR = 1.5
# It mentions a first call that takes more than this many times the median.
_COLD = 2


def clock_text(reading: Reading) -> str:
    """The clock at which an answer shows counts as time: the budget's, or CLOCK; for time itself the host's."""
    if reading.unit == NANOSECONDS:
        return "the host's clock"
    return reading.budget.clock if reading.budget else CLOCK


def milliseconds(count: float, reading: Reading) -> str:
    """A count as milliseconds at `clock_text`, if each instruction took one cycle."""
    a_second = 1e9 if reading.unit == NANOSECONDS else float(parse_frequency(clock_text(reading)))
    return f"{count * 1000 / a_second:,.3f}"


def cold_surprises(rows: Iterable[Row]) -> tuple[str, ...]:
    """A sentence on the first call that takes the most times its median; nothing if none takes more than twice that."""
    cold = [row for row in rows if row.median and row.counts.first > _COLD * row.median]
    if not cold:
        return ()
    row = max(cold, key=lambda row: row.counts.first / row.median)
    return (
        f"The first call is expensive: {row_text(row)} took {whole(row.counts.first)} {row.counts.unit} at first, "
        f"{row.counts.first / row.median:,.1f} times its median.",
    )


def spread_surprises(rows: Iterable[Row]) -> tuple[str, ...]:
    """A sentence on the case whose samples differ the most; nothing if all cases' samples are close."""
    found = [row for row in rows if row.median and row.counts.max - row.counts.min > _WIDE * row.median]
    if not found:
        return ()
    row = max(found, key=lambda row: (row.counts.max - row.counts.min) / row.median)
    more = len(found) - 1
    rows_more = f"{more:,} other rows" if more > 1 else "another row"
    others = f"; the range of {rows_more} is over {100 * _WIDE:g} % too" if more else ""
    share = 100 * (row.counts.max - row.counts.min) / row.median
    counts = f"{whole(row.counts.min)} to {whole(row.counts.max)} {row.counts.unit}"
    return (f"Samples differ: {row_text(row)} took {counts}, a range of {share:,.0f} % of the median{others}.",)


def published_surprises(rows: Iterable[Row]) -> tuple[str, ...]:
    """A sentence on the row furthest from a published count of instructions; nothing if all are close.

    Published times of a board are cycles: a sentence divides no instructions by them.
    """
    pairs = [
        (row, figure)
        for row in rows
        for figure in row.against.published
        if row.counts.unit == INSTRUCTIONS and not row.board
    ]
    far = [pair for pair in pairs if not 1 / _FAR <= pair[1].ratio <= _FAR]
    if not far:
        return ()
    row, figure = max(far, key=lambda pair: max(pair[1].ratio, 1 / pair[1].ratio))
    return (
        f"Unlike what was published: {row_text(row)} takes {factor(figure.ratio)} times the instructions "
        f"of {figure.source}; {len(far):,} of {len(pairs):,} figures are off by more than {_FAR:g} times.",
    )
