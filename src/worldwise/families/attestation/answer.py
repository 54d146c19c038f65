# SPDX-License-Identifier: BSD-2-Clause
"""The answer of calls without cryptography on one screen: what every call pays first."""

from collections.abc import Sequence

from worldwise.base.tables import Table, count
from worldwise.read.contests import matches
from worldwise.read.models import Reading, Row
from worldwise.report.contests import names
from worldwise.report.counts import label
from worldwise.report.surprises import clock_text, cold_surprises, milliseconds, spread_surprises
from worldwise.report.tables import Answer

_PLACE = "client"


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
