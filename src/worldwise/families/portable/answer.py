# SPDX-License-Identifier: BSD-2-Clause
"""The answers of boards, and of plain Linux, on one screen: the fastest and the smallest library of each operation."""

from collections.abc import Iterable

from worldwise.base.tables import Table, count, count_or_dash, factor, ratio
from worldwise.families.portable.boards import DHRYSTONE, board_text, board_time, operation_text
from worldwise.families.portable.boards import board_rows as all_board_rows
from worldwise.families.portable.linux import library_rows, on_several_cores
from worldwise.libraries.boards import by_core
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import CURVES, OF_CURVE
from worldwise.plan.availability import nobody_has
from worldwise.plan.case import parameters_of
from worldwise.read.contests import Match, alike, flash_of, from_size, fullest, matches
from worldwise.read.models import Reading, Row
from worldwise.report.comparing import machine_of, options_text
from worldwise.report.contests import CORE, Trait, columns, names
from worldwise.report.surprises import published_surprises, spread_surprises
from worldwise.report.tables import Answer

# Of equally full sizes of a message the one nearest to this is shown: a digest.
USUAL_SIZE = 32
# What comes first: what is asked most.
_CURVES_FIRST = ("secp256r1", "ed25519", "x25519")
_OPERATIONS_FIRST = ("sign", "verify", "ecdh", "keygen")
# With so many boards each has a table of its own, with room for more columns.
_FEW_BOARDS = 2
# Before what else a suite has.
_RANK = 50
_SHORT = {"secp256r1": "P-256", "ed25519": "Ed25519", "x25519": "X25519"}


def portable_answers(reading: Reading) -> list[Answer]:
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


def _boards_answers(reading: Reading) -> list[Answer]:
    rows = [row for row in all_board_rows(reading) if row.operation != DHRYSTONE]
    if not rows:
        return []
    order = by_core(row.board for row in rows)
    found = sorted(of_one_size(matches(rows)), key=lambda match: (_first(match), order.index(match.first.board)))
    surprises = (*_unavailable(reading), *spread_surprises(rows), *published_surprises(rows))
    if len(order) > _FEW_BOARDS:
        headers = ["board", *_HEADERS[:4], *_HEADERS[5:7]]
        cells = [
            [match.first.board, *line[:4], *line[5:7]] for match in found for line in [_board_line(match, reading)]
        ]
        return [Answer(_QUESTION, Table(headers, cells, 3), "", surprises, ("board", "boards"), rank=_RANK)]
    return [
        Answer(
            f"{_QUESTION}: {name}, {board_text(name)}",
            Table(_HEADERS, [_board_line(match, reading) for match in found if match.first.board == name], 2),
            surprises=surprises if name == order[-1] else (),
            sections=(f"board-{name}", "boards"),
            # The smallest one's count.
            optional=(7,),
            rank=_RANK,
        )
        for name in order
    ]


_QUESTION = "Which library is fastest and which is smallest"
_HEADERS = ["operation", "fastest", "median\ninstr", "ms at its\nclock", "flash\nbytes"]
_HEADERS += ["smallest", "flash\nbytes", "median\ninstr"]


def _board_line(match: Match, reading: Reading) -> list[str]:
    fastest, smallest = match.least(), match.least(flash_of)
    line = [_what(match.first), names(fastest), count(fastest[0].median), board_time(fastest[0], reading)]
    line += [count_or_dash(fastest[0].footprint.flash)]
    # A board behind a probe has no sizes.
    if smallest[0].footprint.flash is None:
        return [*line, "-", "-", "-"]
    quickest = min(smallest, key=lambda row: row.median)
    return [*line, names(smallest), count_or_dash(quickest.footprint.flash), count(quickest.median)]


def _unavailable(reading: Reading) -> tuple[str, ...]:
    none = {
        f"{each.operation} on {each.curve}" for each in reading.unavailable if each.curve and nobody_has(each.curve)
    }
    return (f"No library here has {', '.join(sorted(none))}.",) if none else ()


def _linux_answer(reading: Reading) -> list[Answer]:
    rows = library_rows(reading)
    if not rows:
        return []
    # A ratio of two levels would say more of the compiler than of the libraries.
    found = of_one_size(matches(rows, apart=lambda row: row.optimisation))
    found = fullest(found, lambda row: (*machine_of(row), row.operation, row.curve, row.size))
    found = sorted(
        (match for match in found if match.libraries > 1),
        # Other cores run the same instructions, but for what a library chooses by the core.
        key=lambda match: ("core" in parameters_of(match.first.parameters), _first(match), machine_of(match.first)),
    )
    if not found:
        return []
    machines, where = columns([match.first for match in found], (Trait("machine", _target_text), CORE))
    cells = []
    for match in found:
        fewest, most = match.least(), match.most()
        line = [*(trait.text(match.first) for trait in machines), _what(match.first), str(match.libraries)]
        line += [names(fewest), count(fewest[0].median)]
        cells.append([*line, *([names(most), ratio(match.times)] if match.differs else ["all equal", "-"])])
    headers = [*(trait.header for trait in machines), "operation", "libra-\nries", "fastest", "median\ninstr"]
    return [
        Answer(
            _titled("Which library is fastest, of those compiled alike", where),
            Table([*headers, "slowest", "slowest /\nfastest"], cells, len(machines) + 1),
            surprises=(*spread_surprises(rows), *published_surprises(rows)),
            sections=("linux", *(("linux-cores",) if on_several_cores(rows) else ())),
            rank=_RANK,
        )
    ]


def _titled(question: str, where: str) -> str:
    """A question, and what all its lines have in common."""
    return f"{question}: {where}" if where else question


def _target_text(row: Row) -> str:
    return machine_of(row)[0]


def _options_answer(reading: Reading) -> list[Answer]:
    rows = [row for row in reading.rows if row.operation in OF_CURVE and row.target in PLAIN_TARGETS]
    swept = []
    for match in matches(rows, alike("options"), apart=lambda row: row.variant):
        usual = next((row for row in match.rows if not options_text(row)), None)
        if usual and len(match.rows) > 1:
            swept.append((match.least()[0].median / usual.median, usual, match))
    if not swept:
        return []
    machines, where = columns([usual for _, usual, _ in swept], (Trait("machine", _target_text), CORE))
    cells = []
    # The greatest gain first.
    for times, usual, match in sorted(swept, key=lambda one: one[0]):
        best = match.least()
        line = [*(trait.text(usual) for trait in machines), usual.variant, _what(usual), count(usual.median)]
        line += [count(best[0].median), factor(times), "the default" if usual in best else names(best, options_text)]
        cells.append(line)
    headers = [*(trait.header for trait in machines), "library", "operation", "default\ninstr", "best\ninstr"]
    table = Table([*headers, "best /\ndefault", "best options"], cells, len(machines) + 2)
    # The ratio says more than the two counts.
    counts = (len(headers) - 1, len(headers) - 2)
    return [
        Answer(
            _titled("Which build options are fastest", where),
            table,
            sections=("options",),
            optional=counts,
            rank=_RANK,
        )
    ]
