# SPDX-License-Identifier: BSD-2-Clause
"""The answer of AES on one screen: instructions per byte by library and mode."""

from worldwise.base.tables import factor
from worldwise.base.units import size_text
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.read.contests import fullest, matches
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.table_builder import answer, any_of, name, per_side
from worldwise.report.tables import ScreenAnswer

_MODES = ("cbc", "ctr", "gcm")
# The caller's places: the client of the TEE, or Linux.
_CALLER = ("client", "linux")
_SHOWN = {"key": "128", "direction": "encrypt"}


def aes_answer(reading: Reading) -> list[ScreenAnswer]:
    """Encryption with AES-128 of the longest message, for each library and world; nothing if the run has no AES.

    The lines stand in the order of one mode, that which most libraries have: different modes are no rivals.
    """
    rows = [
        row
        for row in reading.rows
        if row.operation == "aes" and row.measure == "cipher" and row.place in _CALLER and row.size and is_quiet(row)
    ]
    size = max((row.size or 0 for row in rows), default=0)
    shown = [row for row in rows if row.size == size and _SHOWN.items() <= row.given.items()]
    if not shown:
        return []
    (chosen,) = fullest(matches(shown, _mode), lambda _: "", lambda row: _MODES.index(_mode(row)))
    mode = _mode(chosen.first)
    lines = side_by_side(shown, lambda row: (row.target, row.variant), _mode, _MODES)
    return answer(
        f"What AES-128 costs a caller per byte of {size_text(size)}, in the order of {mode.upper()}",
        sorted(lines.found, key=lambda line: line[mode].median if mode in line else float("inf")),
        [
            name("target", lambda line: any_of(line).target),
            name("library", lambda line: any_of(line).variant),
            *per_side(
                {one: f"{one.upper()}\ninstr / byte" for one in lines.sides}, lambda row: factor(row.median / size)
            ),
        ],
        _sections(rows),
        rows=rows,
    )


def _sections(rows: list[Row]) -> tuple[str, ...]:
    """Plain Linux has its own sections."""
    plain = [row.target in PLAIN_TARGETS for row in rows]
    return (*(() if all(plain) else ("aes",)), *(("plain-aes",) if any(plain) else ()))


def _mode(row: Row) -> str:
    return row.given["mode"]
