# SPDX-License-Identifier: BSD-2-Clause
"""The answers of calls on one screen: an empty one, and a payload by each kind of shared memory."""

from collections.abc import Mapping

from worldwise.base.tables import count
from worldwise.base.units import size_text
from worldwise.read.contests import Match
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.contests import side_by_side, variant_of
from worldwise.report.table_builder import answer, any_of, median_text, name, number, per_side
from worldwise.report.tables import ScreenAnswer

_KINDS = ("temporary", "registered", "partial", "allocated")
# One session, no parameters.
_LEAST = {"sessions": "1", "parameters": "0"}


def calls_answers(reading: Reading) -> list[ScreenAnswer]:
    """The client's whole call, with each payload and without any; nothing if the run has neither."""
    rows = [row for row in reading.rows if row.operation in ("payload", "call") and is_quiet(row)]
    return [*_payload_answer(rows), *_empty_answer(rows)]


def _payload_answer(rows: list[Row]) -> list[ScreenAnswer]:
    read = [row for row in rows if (row.operation, row.measure, row.place) == ("payload", "read", "client")]
    lines = side_by_side(read, lambda row: (row.variant, row.size), _kind, _KINDS)
    return answer(
        "What a call with a payload costs by each kind of shared memory: the client's whole call",
        sorted(lines.found, key=lambda line: (any_of(line).size or 0, any_of(line).variant)),
        [
            name("payload", lambda line: size_text(any_of(line).size or 0)),
            name("variant", lambda line: any_of(line).variant),
            *per_side({kind: f"{kind}\ninstr" for kind in _KINDS}),
            number("least", lambda line: _winner(line)[0]),
            number("less than\nthe next, %", lambda line: _winner(line)[1]),
        ],
        ("payload", "payload-once"),
        rows=read,
    )


def _winner(line: Mapping[str, Row]) -> tuple[str, str]:
    """The kind with the fewest instructions for one payload, and by how much it has fewer than the next."""
    match = Match(tuple(line[kind] for kind in _KINDS if kind in line))
    if len(match.rows) < 2:
        return "-", "-"
    least = match.least()
    if len(least) > 1:
        return " = ".join(map(_kind, least)), "0.0"
    first, second = match.ranked()[:2]
    return _kind(first), f"{100 * (1 - first.median / second.median):.1f}"


def _empty_answer(rows: list[Row]) -> list[ScreenAnswer]:
    empty = [
        row
        for row in rows
        if (row.operation, row.measure) == ("call", "oldest")
        and not row.size
        and all(row.given.get(key, least) == least for key, least in _LEAST.items())
    ]
    return answer(
        "What a call without parameters costs, in the only session there is",
        empty,
        [
            name("variant", variant_of),
            number("median\ninstr", median_text),
            number("worst\ninstr", lambda row: count(row.counts.worst)),
        ],
        ("calls",),
        rows=empty,
    )


def _kind(row: Row) -> str:
    return row.given.get("memory", _KINDS[0])
