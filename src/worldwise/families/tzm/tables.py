# SPDX-License-Identifier: BSD-2-Clause
"""Reports of TrustZone-M: ways between the states, what is refused, and libraries direct and behind the gateway."""

from collections.abc import Sequence

from worldwise.base.tables import Section, Table, count, count_or_dash, factor
from worldwise.base.units import size_text
from worldwise.libraries.boards import boards, by_core
from worldwise.plan.parameters import ACCESSES, FLOATS, WAYS
from worldwise.read.models import Reading, Row
from worldwise.report.contests import side_by_side
from worldwise.report.table_builder import answer, any_of, name, number, per_side, section
from worldwise.report.tables import Group, ScreenAnswer, Tables

WAY, REFUSED = "gateway", "refused"
_WORDS = {
    "plain": "a function of the same state",
    "empty": "a gate that does nothing",
    "checked": "a gate that checks an address range",
    "psa-call": "a gate that checks two vectors in and one out",
    "callback": "a gate that calls back",
    "callback-lazy": "the same, floating-point registers in use",
    "callback-float": "the same, and disturbed by the one called",
    "irq-s-in-s": "a secure interrupt in the secure state",
    "irq-ns-in-s": "a non-secure interrupt in the secure state",
    "irq-s-in-ns": "a secure interrupt in the non-secure state",
    "read": "reading secure memory",
    "write": "writing secure memory",
    "execute": "a jump to a secure address that is no gate",
    "veneer": "a jump into a gate, behind its first instruction",
    "controller": "reading what the memory's controller keeps secure",
    "pointer": "a pointer into secure memory, given to a gate",
}
# The one that an answer shows comes first.
_LEVELS = ("O2", "Os")
_BY = {
    "read": "the core: secure fault, attribution",
    "write": "the core: secure fault, attribution",
    "execute": "the core: secure fault, invalid entry",
    "veneer": "the core: secure fault, invalid entry",
    "controller": "the memory's controller: bus fault",
    "pointer": "the gate's check",
}


def _section(reading: Reading, operation: str, key: str, names: Sequence[str], title: str, notes: list[str]) -> Section:
    """A line for each way that was measured, and a column for each board and kind of floating point."""
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for row in reading.rows:
        if row.operation == operation:
            given = row.given
            kind = (row.board, given.get("float", FLOATS[0]))
            found.setdefault((given[key], row.optimisation), {})[kind] = row.median
    order = by_core(name for line in found.values() for name, _ in line)
    there = {kind for line in found.values() for kind in line}
    kinds = sorted(there, key=lambda kind: (order.index(kind[0]), FLOATS.index(kind[1])))
    both = len({kind for _, kind in kinds}) > 1
    headers = [key, "what happens", *(["refused by"] if operation == REFUSED else []), "compiled"]
    headers += [f"{name}{f', {kind}' if both else ''}\ninstr" for name, kind in kinds]
    cells = [
        [name, _WORDS[name], *([_BY[name]] if operation == REFUSED else []), f"-{level}"]
        + [count_or_dash(found[name, level].get(kind)) for kind in kinds]
        for name, level in sorted(found, key=lambda pair: (names.index(pair[0]), pair[1]))
    ]
    return Section(title, Table(headers, cells, len(headers) - len(kinds)), notes, name=operation)


def _direct_of(name: str) -> str:
    """The board with one program that is the same emulated machine; empty if there is none."""
    known = boards()
    if name not in known or not known[name].secure:
        return ""
    machine = known[name].emulated.machine
    return next((each for each, one in known.items() if not one.secure and one.emulated.machine == machine), "")


def behind_lines(reading: Reading) -> list[tuple[Row, Row]]:
    """The rows of libraries behind the gateway, each behind that of its direct call on the same machine."""

    def key(row: Row, board: str) -> tuple[str, ...]:
        return (board, row.variant, row.operation, row.measure, row.parameters)

    rows = {key(row, row.board): row for row in reading.rows if row.board}
    found = [
        (rows[key(row, direct)], row)
        for row in rows.values()
        if (direct := _direct_of(row.board)) and key(row, direct) in rows
    ]
    order = by_core(row.board for _, row in found)
    return sorted(found, key=lambda pair: order.index(pair[1].board))


def _behind_operation(pair: tuple[Row, Row]) -> str:
    size = pair[1].size
    return pair[1].operation + (f" {size_text(size)}" if size else "")


def _behind_section(reading: Reading) -> Section | None:
    return section(
        "A library called directly, and behind the gateway",
        "behind-gateway",
        behind_lines(reading),
        [
            name("board", lambda pair: pair[1].board),
            name("operation", _behind_operation),
            name("curve\nor scheme", lambda pair: pair[1].curve or pair[1].given.get("scheme", "-")),
            name("library", lambda pair: pair[1].variant),
            number("direct\ninstr", lambda pair: count(pair[0].median)),
            number("behind\ninstr", lambda pair: count(pair[1].median)),
            number("more\ninstr", lambda pair: count(pair[1].median - pair[0].median)),
            number("times", lambda pair: factor(pair[1].median / pair[0].median)),
        ],
        [
            "direct: the library and its caller in one program, on the same machine. behind: the library in the secure "
            "program, called by the non-secure one with vectors of addresses and lengths; the gate copies the vectors, "
            "checks that the caller may use what they name, and copies no data. Stack and heap of such a row are "
            "the caller's alone."
        ],
    )


def tzm_sections(reading: Reading, _full: bool = False) -> list[Section]:
    """The sections on TrustZone-M; empty if the run has no such rows."""
    there = {row.operation for row in reading.rows}
    parts: list[Section | None] = []
    if WAY in there:
        notes = [
            "Instructions of both states, by the non-secure timer. hard, soft: how functions pass floating-point "
            "numbers; with hard the compiler clears floating-point registers at a crossing. Stacking and "
            "clearing by the core itself take cycles but are not instructions: an interrupt in the other state "
            "costs more than these rows say."
        ]
        parts.append(_section(reading, WAY, "way", WAYS, "Ways between the security states", notes))
    if REFUSED in there:
        notes = [
            "The program tries each, and a case fails if the core does not refuse it in this way, or if the "
            "secure word changed."
        ]
        parts.append(_section(reading, REFUSED, "access", ACCESSES, "Refused accesses of the non-secure state", notes))
    parts.append(_behind_section(reading))
    return [part for part in parts if part]


def tzm_answer(reading: Reading) -> list[ScreenAnswer]:
    """What the gateway costs on each board; nothing if the run has no way between the states."""
    level = min((row.optimisation for row in reading.rows if row.operation == WAY), key=_LEVELS.index, default="")
    rows = [row for row in reading.rows if row.operation == WAY and row.optimisation == level]
    if not rows:
        return []
    lines = side_by_side(
        rows, lambda row: (_way(row), _float(row)), lambda row: row.board, by_core(row.board for row in rows)
    )
    # What is asked first: the gate, and what stands beside it.
    ways = [*_ASKED, *(way for way in WAYS if way not in _ASKED)]
    return answer(
        f"What a call into the secure state costs, compiled at -{level}: medians",
        sorted(lines.found, key=lambda line: (FLOATS.index(_float(any_of(line))), ways.index(_way(any_of(line))))),
        [
            name("way", lambda line: _way(any_of(line))),
            name("what happens", lambda line: _WORDS[_way(any_of(line))]),
            name("floats", lambda line: _float(any_of(line))),
            *per_side({board: f"{board}\ninstr" for board in lines.sides}),
        ],
        (one.name for one in tzm_sections(reading)),
        surprises=(),
        # Libraries behind the gate come after it.
        rank=10,
    )


def _way(row: Row) -> str:
    return row.given["way"]


def _float(row: Row) -> str:
    return row.given.get("float", FLOATS[0])


_ASKED = ("empty", "plain", "checked", "psa-call", "callback")


TABLES = Tables(
    groups=(Group(475, tzm_sections),),
    answers=tzm_answer,
    operations={WAY: "a way between the states of TrustZone-M", REFUSED: "an access that must be refused"},
    own=(WAY, REFUSED),
    # Whose libraries stand behind the gate.
)
