# SPDX-License-Identifier: BSD-2-Clause
"""The answer of calls without cryptography on one screen: what every call pays first."""

from collections.abc import Sequence

from worldwise.base.tables import count
from worldwise.read.contests import Match, matches
from worldwise.read.models import Reading, Row
from worldwise.report.contests import names
from worldwise.report.sections.counts import label
from worldwise.report.surprises import clock_text, cold_surprises, milliseconds, spread_surprises
from worldwise.report.table_builder import answer, name, number
from worldwise.report.tables import ScreenAnswer


def call_answer(reading: Reading, rows: Sequence[Row]) -> list[ScreenAnswer]:
    """For each call without a task of its own, who has the fewest and the most, at one level; nothing if there is none.

    `rows` are of the TEE, without implementations that try a change.
    """
    waiting = [row for row in rows if row.place == "client"]
    return answer(
        "What a call costs before any algorithm runs",
        matches(waiting, apart=lambda row: row.optimisation),
        [
            name("measure", lambda match: label(match.first)),
            name("compiled", lambda match: f"-{match.first.optimisation}"),
            name("fewest", _fewest),
            number("median\ninstr", lambda match: count(match.least()[0].median)),
            number(
                f"worst, ms\nat {clock_text(reading)}",
                lambda match: milliseconds(max(row.counts.worst for row in match.least()), reading),
            ),
            number("most: median\ninstr", lambda match: count(match.most()[0].median) if match.differs else "-"),
        ],
        ("calls-alone",),
        surprises=(*cold_surprises(waiting), *spread_surprises(waiting)),
    )


def _fewest(match: Match) -> str:
    equal = len(match.rows) > 1 and not match.differs
    return f"all {len(match.rows)} equal" if equal else names(match.least())
