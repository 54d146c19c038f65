# SPDX-License-Identifier: BSD-2-Clause
"""Report parts of the example that increments a value."""

from worldwise.base.tables import whole
from worldwise.read.models import Reading
from worldwise.report.contests import variant_of
from worldwise.report.surprises import clock_text, milliseconds
from worldwise.report.table_builder import answer, name, number
from worldwise.report.tables import ScreenAnswer, Tables

OPERATION = "hello"


def hello_answer(reading: Reading) -> list[ScreenAnswer]:
    """What the increment costs, at each place; empty if the run has no such rows."""
    rows = [row for row in reading.rows if row.operation == OPERATION]
    return answer(
        "What incrementing a value in a TA costs",
        rows,
        [
            name("variant", variant_of),
            name("place", lambda row: row.place),
            number("median\ninstr", lambda row: whole(row.median)),
            number("worst call\ninstr", lambda row: whole(row.counts.worst)),
            number(f"worst at\n{clock_text(reading)}, ms", lambda row: milliseconds(row.counts.worst, reading)),
        ],
        ("increment", *(("time",) if any(row.against.microseconds for row in rows) else ())),
        rows=rows,
    )


TABLES = Tables(answers=hello_answer, operations={OPERATION: "a value incremented in the TA"})
