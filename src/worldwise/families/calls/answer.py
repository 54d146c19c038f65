# SPDX-License-Identifier: BSD-2-Clause
"""The answers of calls on one screen: an empty one, and a payload by each kind of shared memory."""

from worldwise.base.tables import Table, count
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.contests import Match
from worldwise.read.models import Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import Answer

_KINDS = ("temporary", "registered", "partial", "allocated")


def calls_answers(reading: Reading) -> list[Answer]:
    """The client's whole call, with each payload and without any; nothing if the run has neither."""
    rows = [row for row in reading.rows if row.operation in ("payload", "call") and is_quiet(row)]
    return [*_payload_answer(rows), *_empty_answer(rows)]


def _payload_answer(rows: list[Row]) -> list[Answer]:
    read = [row for row in rows if (row.operation, row.measure, row.place) == ("payload", "read", "client")]
    lines = side_by_side(read, lambda row: (row.variant, row.size), _kind, _KINDS)
    cells = []
    for line in sorted(lines.found, key=lambda line: (next(iter(line.values())).size or 0, _variant(line))):
        match = Match(tuple(line[kind] for kind in _KINDS if kind in line))
        cell = [size_text(match.first.size or 0), match.first.variant]
        cell += [count(line[kind].median) if kind in line else "-" for kind in _KINDS]
        cells.append([*cell, *_winner(match)])
    if not cells:
        return []
    headers = ["payload", "variant", *(f"{kind}\ninstr" for kind in _KINDS), "least", "less than\nthe next, %"]
    return [
        Answer(
            "What a call with a payload costs by each kind of shared memory: the client's whole call",
            Table(headers, cells, 2),
            surprises=spread_surprises(read),
            sections=("payload", "payload-once"),
        )
    ]


def _winner(match: Match) -> list[str]:
    """The kind with the fewest instructions for one payload, and by how much it has fewer than the next."""
    if len(match.rows) < 2:
        return ["-", "-"]
    least = match.least()
    if len(least) > 1:
        return [" = ".join(map(_kind, least)), "0.0"]
    first, second = match.ranked()[:2]
    return [_kind(first), f"{100 * (1 - first.median / second.median):.1f}"]


def _empty_answer(rows: list[Row]) -> list[Answer]:
    empty = [row for row in rows if row.operation == "call" and row.measure == "oldest" and _is_empty(row)]
    if not empty:
        return []
    cells = [[row.variant, count(row.median), count(row.worst)] for row in empty]
    return [
        Answer(
            "What a call without parameters costs, in the only session there is",
            Table(["variant", "median\ninstr", "worst\ninstr"], cells, 1),
            surprises=spread_surprises(empty),
            sections=("calls",),
        )
    ]


def _kind(row: Row) -> str:
    return parameters_of(row.parameters).get("memory", _KINDS[0])


def _variant(line: dict[str, Row]) -> str:
    return next(iter(line.values())).variant


def _is_empty(row: Row) -> bool:
    """Whether a call has one session, no parameters and no memory."""
    given = parameters_of(row.parameters)
    return (given.get("sessions", "1"), given.get("parameters", "0"), row.size or 0) == ("1", "0", 0)
