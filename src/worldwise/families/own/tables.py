# SPDX-License-Identifier: BSD-2-Clause
"""Report parts of a user's own code: its regions by what they cost."""

from worldwise.base.tables import Section, Table, whole
from worldwise.plan.spec import OWN
from worldwise.read.models import Reading, Row
from worldwise.report.tables import Answer, Group, Tables

_SECTION = "own-code"
_TITLE = "Own code: its regions, the dearest first"


def _total(row: Row) -> float:
    return row.first + row.mean * row.n


def _rows(reading: Reading) -> list[Row]:
    return sorted((row for row in reading.rows if row.target == OWN), key=lambda row: (-_total(row), row.case))


def _table(rows: list[Row]) -> Table:
    cells = [
        [row.implementation, row.operation, f"{row.n + 1:,}", f"{row.first:,}", whole(row.median), whole(row.worst)]
        for row in rows
    ]
    headers = ["code", "region", "calls", "first\ninstr", "median\ninstr", "worst\ninstr"]
    return Table(headers, cells, 2)


def _sections(reading: Reading, _full: bool) -> list[Section]:
    rows = _rows(reading)
    return [Section(_TITLE, _table(rows), name=_SECTION)] if rows else []


def own_answer(reading: Reading) -> list[Answer]:
    """The regions by what all their calls cost together; nothing if the run has none."""
    rows = _rows(reading)
    return [Answer(_TITLE, _table(rows), sections=(_SECTION,))] if rows else []


TABLES = Tables(groups=(Group(10, _sections),), answers=own_answer)
