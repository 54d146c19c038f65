# SPDX-License-Identifier: BSD-2-Clause
"""Report parts of the example that increments a value."""

from worldwise.base.tables import Table, whole
from worldwise.read.models import Reading
from worldwise.report.surprises import clock_text, milliseconds, spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer, Tables

OPERATION = "hello"


def hello_answer(reading: Reading) -> Answer | None:
    """What the increment costs, at each place; None if the run has none."""
    rows = [row for row in reading.rows if row.operation == OPERATION]
    if not rows:
        return None
    cells = [
        [row.variant, row.place, whole(row.median), whole(row.worst), milliseconds(row.worst, reading)] for row in rows
    ]
    headers = ["variant", "place", "median\ninstr", "worst call\ninstr", f"worst at\n{clock_text(reading)}, ms"]
    return Answer(
        "What incrementing a value in a TA costs",
        Table(headers, cells[:ANSWER_LINES], 2),
        surprises=spread_surprises(rows),
        sections=("increment", "time"),
    )


TABLES = Tables(answer=hello_answer, operations={OPERATION: "a value incremented in the TA"})
