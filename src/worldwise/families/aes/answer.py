# SPDX-License-Identifier: BSD-2-Clause
"""The answer of AES on one screen: instructions per byte by library and mode."""

from worldwise.base.tables import Table, factor
from worldwise.base.units import size_text
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.case import parameters_of
from worldwise.read.contests import fullest, matches
from worldwise.read.models import Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import Answer

_MODES = ("cbc", "ctr", "gcm")
# The caller's places: the client of the TEE, or Linux.
_CALLER = ("client", "linux")


def aes_answer(reading: Reading) -> list[Answer]:
    """Encryption with AES-128 of the longest message, for each library and world; nothing if the run has no AES.

    The lines stand in the order of one mode, that which most libraries have: different modes are no rivals.
    """
    rows = [
        row
        for row in reading.rows
        if row.operation == "aes" and row.measure == "cipher" and row.place in _CALLER and row.size and is_quiet(row)
    ]
    size = max((row.size or 0 for row in rows), default=0)
    shown = [row for row in rows if row.size == size and _given(row, "key") == "128" and _encrypts(row)]
    if not shown:
        return []
    (chosen,) = fullest(matches(shown, _mode), lambda _: "", lambda row: _MODES.index(_mode(row)))
    mode = _mode(chosen.first)
    lines = side_by_side(shown, lambda row: (row.target, row.variant), _mode, _MODES)
    ranked = sorted(lines.found, key=lambda line: line[mode].median if mode in line else float("inf"))
    cells = []
    for line in ranked:
        row = next(iter(line.values()))
        each = (factor(line[one].median / size) if one in line else "-" for one in lines.sides)
        cells.append([row.target, row.variant, *each])
    headers = ["target", "library", *(f"{one.upper()}\ninstr / byte" for one in lines.sides)]
    return [
        Answer(
            f"What AES-128 costs a caller per byte of {size_text(size)}, in the order of {mode.upper()}",
            Table(headers, cells, 2),
            surprises=spread_surprises(rows),
            sections=_sections(rows),
        )
    ]


def _sections(rows: list[Row]) -> tuple[str, ...]:
    """Plain Linux has its own sections."""
    plain = [row.target in PLAIN_TARGETS for row in rows]
    return (*(() if all(plain) else ("aes",)), *(("plain-aes",) if any(plain) else ()))


def _given(row: Row, key: str) -> str:
    return parameters_of(row.parameters)[key]


def _mode(row: Row) -> str:
    return _given(row, "mode")


def _encrypts(row: Row) -> bool:
    return _given(row, "direction") == "encrypt"
