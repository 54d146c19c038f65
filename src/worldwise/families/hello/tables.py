# SPDX-License-Identifier: BSD-2-Clause
"""Report parts of the example that increments a value."""

from worldwise.base.tables import Table, whole
from worldwise.read.models import Reading
from worldwise.report.surprises import clock_text, milliseconds, spread_surprises
from worldwise.report.tables import Answer, Tables

OPERATION = "hello"


def hello_answer(reading: Reading) -> list[Answer]:
    """What the increment costs, at each place; nothing if the run has none."""
    rows = [row for row in reading.rows if row.operation == OPERATION]
    if not rows:
        return []
    cells = [
        [row.variant, row.place, whole(row.median), whole(row.worst), milliseconds(row.worst, reading)] for row in rows
    ]
    headers = ["variant", "place", "median\ninstr", "worst call\ninstr", f"worst at\n{clock_text(reading)}, ms"]
    return [
        Answer(
            "What incrementing a value in a TA costs",
            Table(headers, cells, 2),
            surprises=spread_surprises(rows),
            sections=("increment", *(("time",) if any(row.microseconds for row in rows) else ())),
        )
    ]


TABLES = Tables(answers=hello_answer, operations={OPERATION: "a value incremented in the TA"})
