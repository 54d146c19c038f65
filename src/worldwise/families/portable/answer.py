# SPDX-License-Identifier: BSD-2-Clause
"""The answer of boards, and of plain Linux, on one screen: the fastest and the smallest library of each operation."""

from collections.abc import Callable, Sequence

from worldwise.base.tables import Table, count_or_dash, factor, whole
from worldwise.families.portable.boards import DHRYSTONE, board_microseconds, board_rows, operation_text
from worldwise.families.portable.linux import library_rows
from worldwise.libraries.boards import by_core
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import OF_CURVE
from worldwise.read.models import Reading, Row
from worldwise.report.comparing import machine_of, machine_text, options_text
from worldwise.report.surprises import published_surprises, spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer

_CURVE = "secp256r1"
_LEADING = "sign"


def portable_answer(reading: Reading) -> Answer | None:
    """The answer on boards, else on build options, else on plain Linux: the first that the run has; None for none."""
    return _boards_answer(reading) or _options_answer(reading) or _linux_answer(reading)


def _contests(rows: Sequence[Row], where: Callable[[Row], object]) -> list[list[Row]]:
    """Rows that do the same at one place, the fewest instructions first: on P-256 if that was measured."""
    curve = _CURVE if any(row.curve == _CURVE for row in rows) else next((row.curve for row in rows if row.curve), "")
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.curve == curve or row.operation not in OF_CURVE:
            groups.setdefault((where(row), row.operation, row.curve), []).append(row)
    contests = []
    for group in groups.values():
        size = max((row.size or 0 for row in group), default=0)
        contests.append(sorted((row for row in group if (row.size or 0) == size), key=lambda row: row.median))
    if len(contests) > ANSWER_LINES:
        contests = [contest for contest in contests if contest[0].operation == _LEADING] or contests
    return contests[:ANSWER_LINES]


def _boards_answer(reading: Reading) -> Answer | None:
    rows = [row for row in board_rows(reading) if row.operation != DHRYSTONE]
    if not rows:
        return None
    contests = _contests(rows, lambda row: row.board)
    several = len({row.board for row in rows}) > 1
    order = by_core(row.board for row in rows)
    cells = []
    for contest in sorted(contests, key=lambda contest: order.index(contest[0].board)):
        fastest = contest[0]
        smallest = min(contest, key=lambda row: (row.footprint.flash is None, row.footprint.flash or 0, row.median))
        line = [fastest.board] if several else []
        line += [operation_text(fastest.operation, fastest.size), fastest.variant, whole(fastest.median)]
        line += [f"{board_microseconds(fastest) / 1000:,.3f}", count_or_dash(fastest.footprint.flash)]
        line += [smallest.variant, count_or_dash(smallest.footprint.flash), whole(smallest.median)]
        cells.append(line)
    headers = ["board"] if several else []
    headers += ["operation", "fastest", "median\ninstr", "ms at its\nclock", "flash\nbytes"]
    headers += ["smallest", "flash\nbytes", "median\ninstr"]
    on = f" on {curve}" if (curve := next((one[0].curve for one in contests if one[0].curve), "")) else ""
    left = 3 if several else 2
    return Answer(
        f"Which library is fastest and which is smallest{on}" + ("" if several else f": {order[0]}"),
        Table(headers, cells, left),
        surprises=(*_unavailable(reading), *spread_surprises(rows), *published_surprises(rows)),
        sections=("board", "boards"),
    )


def _unavailable(reading: Reading) -> tuple[str, ...]:
    none = {
        f"{each.operation} on {each.curve}"
        for each in reading.unavailable
        if each.reason.startswith("no library") and each.curve
    }
    return (f"No library here has {', '.join(sorted(none))}.",) if none else ()


def _linux_answer(reading: Reading) -> Answer | None:
    rows = library_rows(reading)
    if not rows:
        return None
    cells = []
    for contest in _contests(rows, machine_of):
        fewest, most = contest[0], contest[-1]
        line = [machine_text(machine_of(fewest))]
        line += [" ".join(filter(None, (operation_text(fewest.operation, fewest.size), fewest.curve)))]
        line += [fewest.variant, whole(fewest.median), most.variant, whole(most.median)]
        cells.append([*line, factor(most.median / fewest.median)])
    headers = [
        "machine",
        "operation",
        "fastest",
        "median\ninstr",
        "slowest",
        "median\ninstr",
        "slowest /\nfastest",
    ]
    return Answer(
        "Which library is fastest in plain Linux",
        Table(headers, cells, 3),
        surprises=(*spread_surprises(rows), *published_surprises(rows)),
        sections=("linux", "linux-cores"),
    )


def _options_answer(reading: Reading) -> Answer | None:
    swept: dict[tuple[object, ...], list[Row]] = {}
    for row in reading.rows:
        if row.operation in OF_CURVE and row.target in PLAIN_TARGETS:
            key = (machine_of(row), row.variant, row.curve, row.operation)
            swept.setdefault(key, []).append(row)
    cells = []
    for rows in swept.values():
        usual = next((row for row in rows if not options_text(row)), None)
        best = min(rows, key=lambda row: row.median)
        if usual and any(options_text(row) for row in rows):
            line = [usual.variant, f"{usual.operation} {usual.curve}", whole(usual.median), whole(best.median)]
            cells.append([*line, factor(best.median / usual.median), options_text(best) or "the default"])
    if not cells:
        return None
    headers = ["library", "operation", "default\ninstr", "best\ninstr", "best /\ndefault", "best options"]
    return Answer("Which build options are fastest", Table(headers, cells[:ANSWER_LINES], 2), sections=("options",))
