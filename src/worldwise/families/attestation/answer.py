# SPDX-License-Identifier: BSD-2-Clause
"""The answers of calls without cryptography on one screen: what every call pays first, and what changes save."""

from collections.abc import Iterable, Sequence

from worldwise.base.tables import Table, count, factor
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.read.contests import matches
from worldwise.read.models import Reading, Row
from worldwise.report.contests import names
from worldwise.report.counts import label
from worldwise.report.surprises import clock_text, cold_surprises, milliseconds, spread_surprises
from worldwise.report.tables import Answer

_PLACE = "client"
Change = tuple[Row, Row]


def tried_on(row: Row) -> str:
    """The implementation from which that of a row differs by one change; empty if it is none that tries a change."""
    return IMPLEMENTATIONS[row.implementation].tries if row.implementation in IMPLEMENTATIONS else ""


def changes(rows: Iterable[Row]) -> list[Change]:
    """(unchanged, changed): the rows of each implementation that tries a change, beside the one that it tries it on.

    Both at one level, one measure and one place; in the order of `rows`.
    """
    listed = list(rows)
    known = {(row.case, row.measure, row.place): row for row in listed}
    found = []
    for row in listed:
        base = tried_on(row)
        case = row.case.replace(f"/{row.variant}/", f"/{base}-{row.optimisation}/")
        before = known.get((case, row.measure, row.place)) if base else None
        if before and before.median:
            found.append((before, row))
    return found


def change_answer(rows: Sequence[Row]) -> list[Answer]:
    """What each change saves its caller: of each measure that with which it costs least; nothing if the run tries none.

    The best changes of all measures are the most important lines, then the others.
    """
    before = {after.case + after.measure + after.place: base for base, after in changes(rows)}
    if not before:
        return []

    def base_of(row: Row) -> Row:
        return before[row.case + row.measure + row.place]

    tried = [row for row in rows if row.case + row.measure + row.place in before and row.place in (_PLACE, "linux")]
    cells, tiers = [], []
    for match in matches(tried, apart=lambda row: base_of(row).variant):
        for row in match.ranked():
            base = base_of(row)
            cells.append([label(row), row.place, base.variant, row.variant, count(row.median), _times(base, row)])
            tiers.append((row.place != _PLACE, row not in match.least()))
    order = sorted(range(len(cells)), key=lambda number: (tiers[number], number))
    headers = ["measure", "place", "before", "after: with the change", "after\ninstr", "after /\nbefore"]
    return [
        Answer(
            "What changes to OP-TEE give: medians",
            Table(headers, cells, 4),
            surprises=spread_surprises(tried),
            sections=("changes",),
            importance=tuple(order.index(number) for number in range(len(cells))),
            rank=10,
        )
    ]


def _times(before: Row, after: Row) -> str:
    return factor(after.median / before.median)


def call_answer(reading: Reading, rows: Sequence[Row]) -> list[Answer]:
    """For each call without a task of its own, who has the fewest and the most, at one level; nothing if there is none.

    `rows` are of the TEE, without implementations that try a change.
    """
    waiting = [row for row in rows if row.place == _PLACE]
    if not waiting:
        return []
    cells = []
    for match in matches(waiting, apart=lambda row: row.optimisation):
        least, most = match.least(), match.most()
        line = [label(match.first), f"-{match.first.optimisation}"]
        equal = len(match.rows) > 1 and not match.differs
        line += [f"all {len(match.rows)} equal" if equal else names(least), count(least[0].median)]
        line += [milliseconds(max(row.worst for row in least), reading)]
        cells.append([*line, count(most[0].median) if match.differs else "-"])
    headers = ["measure", "compiled", "fewest", "median\ninstr", f"worst, ms\nat {clock_text(reading)}"]
    headers += ["most: median\ninstr"]
    return [
        Answer(
            "What a call costs before any algorithm runs",
            Table(headers, cells, 3),
            surprises=(*cold_surprises(waiting), *spread_surprises(waiting)),
            sections=("calls-alone",),
        )
    ]
