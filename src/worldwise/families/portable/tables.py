# SPDX-License-Identifier: BSD-2-Clause
"""Boards and plain Linux on one screen: the fastest and the smallest library of each operation; and their tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from worldwise.base.tables import count, count_or_dash, factor, ratio
from worldwise.families.portable.boards import (
    DHRYSTONE,
    USUAL_SIZE,
    board_columns,
    board_sections,
    board_text,
    board_time,
    operation_text,
)
from worldwise.families.portable.boards import board_rows as all_board_rows
from worldwise.families.portable.linux import library_rows, linux_columns, linux_sections, on_several_cores
from worldwise.families.portable.options import options_sections
from worldwise.families.portable.plots import board_figures
from worldwise.libraries.boards import by_core
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import CURVES, OF_CURVE
from worldwise.plan.availability import nobody_has
from worldwise.read.contests import Match, alike, flash_of, from_size, fullest, matches
from worldwise.read.models import Reading, Row
from worldwise.report.contests import CORE, Trait, columns, names
from worldwise.report.row_words import machine_of, options_text
from worldwise.report.surprises import published_surprises, spread_surprises
from worldwise.report.table_builder import Column, answer, name, number
from worldwise.report.tables import Columns, Group, ScreenAnswer, Tables

# What comes first: what is asked most.
_CURVES_FIRST = ("secp256r1", "ed25519", "x25519")
_OPERATIONS_FIRST = ("sign", "verify", "ecdh", "keygen")
# With so many boards each has a table of its own, with room for more columns.
_FEW_BOARDS = 2
# Before what else a suite has.
_RANK = 50
_SHORT = {"secp256r1": "P-256", "ed25519": "Ed25519", "x25519": "X25519"}


def portable_answers(reading: Reading) -> list[ScreenAnswer]:
    """The answers on boards, on plain Linux, and on build options: those that the run has."""
    return [*_boards_answers(reading), *_linux_answer(reading), *_options_answer(reading)]


def of_one_size(found: Iterable[Match]) -> list[Match]:
    """One match of each operation on a curve, on each machine: the size that most libraries have."""

    def of(row: Row) -> tuple[object, ...]:
        return (row.board, *machine_of(row), row.operation, row.curve, row.optimisation if not row.board else "")

    return fullest(found, of, from_size(USUAL_SIZE))


def _first(match: Match) -> tuple[int, ...]:
    """The order of importance: curves and operations that are asked most come first."""
    row = match.first
    curve = _CURVES_FIRST.index(row.curve) if row.curve in _CURVES_FIRST else len(_CURVES_FIRST)
    operation = _OPERATIONS_FIRST.index(row.operation) if row.operation in _OPERATIONS_FIRST else 9
    rest = CURVES.index(row.curve) if row.curve in CURVES else len(CURVES)
    return (int(row.operation not in OF_CURVE), curve, operation, rest, row.size or 0)


def _what(row: Row) -> str:
    """`P-256 sign 32B`: curve, operation and size, without which two lines could be told apart by nothing."""
    return " ".join(filter(None, (_SHORT.get(row.curve, row.curve), operation_text(row.operation, row.size))))


def _boards_answers(reading: Reading) -> list[ScreenAnswer]:
    rows = [row for row in all_board_rows(reading) if row.operation != DHRYSTONE]
    order = by_core(row.board for row in rows)
    found = sorted(of_one_size(matches(rows)), key=lambda match: (_first(match), order.index(match.first.board)))
    surprises = (*_unavailable(reading), *spread_surprises(rows), *published_surprises(rows))
    columns = _board_columns(reading)
    if len(order) > _FEW_BOARDS:
        narrow = [name("board", lambda match: match.first.board), *columns[:4], *columns[5:7]]
        return answer(_QUESTION, found, narrow, ("board", "boards"), surprises=surprises, rank=_RANK)
    return [
        one
        for each in order
        for one in answer(
            f"{_QUESTION}: {each}, {board_text(each)}",
            [match for match in found if match.first.board == each],
            columns,
            (f"board-{each}", "boards"),
            surprises=surprises if each == order[-1] else (),
            rank=_RANK,
        )
    ]


_QUESTION = "Which library is fastest and which is smallest"


def _board_columns(reading: Reading) -> list[Column[Match]]:
    return [
        name("operation", lambda match: _what(match.first)),
        name("fastest", lambda match: names(match.least())),
        number("median\ninstr", _least_median),
        number("ms at its\nclock", lambda match: board_time(match.least()[0], reading), spare=2),
        number("flash\nbytes", lambda match: count_or_dash(match.least()[0].footprint.flash)),
        number("smallest", _of_smallest(names)),
        number("flash\nbytes", _of_smallest(lambda rows: count_or_dash(rows[0].footprint.flash))),
        number("median\ninstr", _of_smallest(lambda rows: count(min(row.median for row in rows))), spare=1),
    ]


def _least_median(match: Match) -> str:
    return count(match.least()[0].median)


def _of_smallest(text: Callable[[Sequence[Row]], str]) -> Callable[[Match], str]:
    """What is said of the smallest ones; `-` of a board behind a probe, which has no sizes."""

    def cell(match: Match) -> str:
        smallest = match.least(flash_of)
        return "-" if smallest[0].footprint.flash is None else text(smallest)

    return cell


def _unavailable(reading: Reading) -> tuple[str, ...]:
    none = {
        f"{each.operation} on {each.curve}"
        for each in reading.unavailable
        if each.curve and nobody_has(each.curve, each.target)
    }
    return (f"No board has {', '.join(sorted(none))}.",) if none else ()


def _linux_answer(reading: Reading) -> list[ScreenAnswer]:
    rows = library_rows(reading)
    if not rows:
        return []
    # A ratio of two levels would say more of the compiler than of the libraries.
    found = of_one_size(matches(rows, apart=lambda row: row.optimisation))
    found = fullest(found, lambda row: (*machine_of(row), row.operation, row.curve, row.size))
    found = sorted(
        (match for match in found if match.libraries > 1),
        # Other cores run the same instructions, but for what a library chooses by the core.
        key=lambda match: ("core" in match.first.given, _first(match), machine_of(match.first)),
    )
    if not found:
        return []
    machines, where = columns([match.first for match in found], (Trait("machine", _target_text), CORE))
    return answer(
        _titled("Which library is fastest, of those compiled alike", where),
        found,
        [
            *(_of_first(trait) for trait in machines),
            name("operation", lambda match: _what(match.first)),
            number("libra-\nries", lambda match: str(match.libraries)),
            number("fastest", lambda match: names(match.least())),
            number("median\ninstr", _least_median),
            number("slowest", lambda match: names(match.most()) if match.differs else "all equal"),
            number("slowest /\nfastest", lambda match: ratio(match.times) if match.differs else "-"),
        ],
        ("linux", *(("linux-cores",) if on_several_cores(rows) else ())),
        surprises=(*spread_surprises(rows), *published_surprises(rows)),
        rank=_RANK,
    )


def _of_first(trait: Trait) -> Column[Match]:
    return name(trait.header, lambda match: trait.text(match.first))


def _titled(question: str, where: str) -> str:
    """A question, and what all its lines have in common."""
    return f"{question}: {where}" if where else question


def _target_text(row: Row) -> str:
    return machine_of(row)[0]


def _options_answer(reading: Reading) -> list[ScreenAnswer]:
    rows = [row for row in reading.rows if row.operation in OF_CURVE and row.target in PLAIN_TARGETS]
    swept = [
        _Swept(usual, match)
        for match in matches(rows, alike("options"), apart=lambda row: row.variant)
        if len(match.rows) > 1 and (usual := next((row for row in match.rows if not options_text(row)), None))
    ]
    if not swept:
        return []
    machines, where = columns([one.usual for one in swept], (Trait("machine", _target_text), CORE))
    return answer(
        _titled("Which build options are fastest", where),
        # The greatest gain first.
        sorted(swept, key=lambda one: one.times),
        [
            *(_of_usual(trait) for trait in machines),
            name("library", lambda one: one.usual.variant),
            name("operation", lambda one: _what(one.usual)),
            # The ratio says more than the two counts.
            number("default\ninstr", lambda one: count(one.usual.median), spare=2),
            number("best\ninstr", lambda one: count(one.best[0].median), spare=1),
            number("best /\ndefault", lambda one: factor(one.times)),
            number("best options", _best_options),
        ],
        ("options",),
        surprises=(),
        rank=_RANK,
    )


class _Swept(NamedTuple):
    """Build options of one library for one thing to do: the default ones, and all that were measured."""

    usual: Row
    match: Match

    @property
    def best(self) -> tuple[Row, ...]:
        """The fastest ones."""
        return self.match.least()

    @property
    def times(self) -> float:
        """How much of the default's instructions the best ones take."""
        return self.best[0].median / self.usual.median


def _of_usual(trait: Trait) -> Column[_Swept]:
    return name(trait.header, lambda one: trait.text(one.usual))


def _best_options(one: _Swept) -> str:
    return "the default" if one.usual in one.best else names(one.best, options_text)


TABLES = Tables(
    groups=(Group(480, board_sections), Group(500, linux_sections), Group(520, options_sections)),
    answers=portable_answers,
    operations={"keygen": "key generation", "sign": "signature", "verify": "verification", "ecdh": "shared secret"},
    figures=board_figures,
    columns=(Columns(10, board_columns), Columns(30, linux_columns)),
)
