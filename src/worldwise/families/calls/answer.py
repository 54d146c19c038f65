# SPDX-License-Identifier: BSD-2-Clause
"""The answer of calls on one screen: an empty one, and a payload by each kind of shared memory."""

from worldwise.base.tables import Table, whole
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer

_KINDS = ("temporary", "registered", "partial", "allocated")


def calls_answer(reading: Reading) -> Answer | None:
    """The client's whole call; None if the run has neither calls nor payloads."""
    rows = [row for row in reading.rows if row.operation in ("payload", "call") and is_quiet(row)]
    if not rows:
        return None
    empty = {row.variant: row for row in rows if row.measure == "oldest" and _is_empty(row)}
    payloads: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        if (row.operation, row.measure, row.place) == ("payload", "read", "client"):
            kind = parameters_of(row.parameters).get("memory", _KINDS[0])
            payloads.setdefault((row.variant, row.size or 0), {})[kind] = row
    cells = [[variant, "no payload", whole(row.median), *["-"] * (len(_KINDS) - 1)] for variant, row in empty.items()]
    for variant, size in sorted(payloads):
        found = payloads[variant, size]
        line = [whole(found[kind].median) if kind in found else "-" for kind in _KINDS]
        cells.append([variant, size_text(size), *line])
    best = [min(found, key=lambda kind: found[kind].median) for found in payloads.values()]
    verdict = f"The least is with {', '.join(dict.fromkeys(best))} memory, by size." if best else ""
    return Answer(
        "What a call costs, and what a payload adds by each kind of shared memory",
        Table(["variant", "payload", *(f"{kind}\ninstr" for kind in _KINDS)], cells[:ANSWER_LINES], 2),
        verdict,
        spread_surprises(rows),
        ("payload", "calls"),
    )


def _is_empty(row: Row) -> bool:
    """Whether a call has one session, no parameters and no memory."""
    given = parameters_of(row.parameters)
    return (given.get("sessions", "1"), given.get("parameters", "0"), row.size or 0) == ("1", "0", 0)
