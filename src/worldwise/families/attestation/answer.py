# SPDX-License-Identifier: BSD-2-Clause
"""The answer of an attestation on one screen: the cost that a client sees, and whether it fits the budget."""

from collections.abc import Sequence

from worldwise.base.tables import Table, whole
from worldwise.read.models import Reading, Row
from worldwise.report.counts import label
from worldwise.report.surprises import (
    clock_text,
    milliseconds,
    published_surprises,
    spread_surprises,
)
from worldwise.report.tables import ANSWER_LINES, Answer


def attestation_answer(reading: Reading, rows: Sequence[Row]) -> Answer | None:
    """For each measure, the variants with the fewest and with the most instructions, as the client sees them.

    `rows` are of the TEE. None if no client was measured.
    """
    waiting: dict[str, list[Row]] = {}
    for row in rows:
        if row.place == "client":
            waiting.setdefault(label(row), []).append(row)
    if not waiting:
        return None
    cells = [_line(name, group, reading) for name, group in waiting.items()][:ANSWER_LINES]
    headers = [
        "measure",
        "fewest: variant",
        "median\ninstr",
        "worst call\ninstr",
        f"worst, ms\nat {clock_text(reading)}",
    ]
    headers.append("most: median\ninstr")
    judged = reading.budget is not None
    return Answer(
        "What a client of the TEE waits for",
        Table([*headers, *(["over the\nbudget"] if judged else [])], cells, 2),
        surprises=(*_cold(rows), *spread_surprises(rows), *published_surprises(rows)),
        sections=("price", "published", *(["budget"] if judged else [])),
    )


def _line(name: str, rows: Sequence[Row], reading: Reading) -> list[str]:
    ranked = sorted(rows, key=lambda row: (row.median, row.variant))
    fewest, most = ranked[0], ranked[-1]
    line = [name, fewest.variant, whole(fewest.median), whole(fewest.worst), milliseconds(fewest.worst, reading)]
    line.append(whole(most.median) if most is not fewest else "-")
    if reading.budget:
        verdicts = [row.verdict for row in rows if row.verdict]
        line.append(f"{sum(not one.fits for one in verdicts)} of {len(verdicts)}" if verdicts else "-")
    return line


def _cold(rows: Sequence[Row]) -> tuple[str, ...]:
    """A sentence on the first call that takes more than twice the median."""
    cold = [row for row in rows if row.place == "client" and row.first > 2 * row.median]
    if not cold:
        return ()
    row = max(cold, key=lambda row: row.first / row.median)
    return (
        f"The first call is dear: {row.variant}, {label(row)} took {whole(row.first)} {row.unit} at first, "
        f"{row.first / row.median:,.1f} times its median.",
    )
