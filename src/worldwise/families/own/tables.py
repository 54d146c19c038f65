# SPDX-License-Identifier: BSD-2-Clause
"""Report parts of a user's own code: its regions by what they cost."""

from worldwise.base.tables import Section, whole
from worldwise.plan.spec import OWN
from worldwise.read.models import Reading, Row
from worldwise.report.table_builder import Column, answer, name, number, section
from worldwise.report.tables import Group, ScreenAnswer, Tables

_SECTION = "own-code"
_TITLE = "Own code: its regions, the dearest first"


def _total(row: Row) -> float:
    return row.counts.first + row.counts.mean * row.counts.n


def _rows(reading: Reading) -> list[Row]:
    return sorted((row for row in reading.rows if row.target == OWN), key=lambda row: (-_total(row), row.case))


_COLUMNS: list[Column[Row]] = [
    name("code", lambda row: row.implementation),
    name("region", lambda row: row.operation),
    number("calls", lambda row: f"{row.counts.n + 1:,}"),
    number("first\ninstr", lambda row: f"{row.counts.first:,}"),
    number("median\ninstr", lambda row: whole(row.median)),
    number("worst\ninstr", lambda row: whole(row.counts.worst)),
]


def _sections(reading: Reading, _full: bool) -> list[Section]:
    found = section(_TITLE, _SECTION, _rows(reading), _COLUMNS)
    return [found] if found else []


def own_answer(reading: Reading) -> list[ScreenAnswer]:
    """The regions by what all their calls cost together; empty if the run has no such rows."""
    return answer(_TITLE, _rows(reading), _COLUMNS, (_SECTION,), surprises=())


TABLES = Tables(groups=(Group(10, _sections),), answers=own_answer)
