# SPDX-License-Identifier: BSD-2-Clause
"""The answer of storage on one screen: the cost of one access in each storage, beside a plain file."""

from collections.abc import Mapping, Sequence

from worldwise.base.tables import factor
from worldwise.base.units import size_text
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.table_builder import answer, any_of, name, number, per_side
from worldwise.report.tables import ScreenAnswer

# The answer shows this size of object if it was measured: a page of a file system.
_USUAL = 4096
_KINDS = {"ree": "REE FS", "ree-rpmb": "REE FS,\nhash in RPMB", "rpmb": "\nRPMB"}
_PLAIN = {"plain": "\nplain file instr"}
# For these actions instructions per byte mean something: they move the whole content.
WHOLE = ("create", "read", "overwrite")


def storage_answer(reading: Reading, actions: Sequence[str]) -> list[ScreenAnswer]:
    """Each of `actions` with an object of one size, as the caller sees it; nothing if the run has no storage.

    A line is of one variant of OP-TEE, but for the plain file, which none of them has a part in.
    """
    rows = [row for row in reading.rows if row.place in ("client", "linux") and row.size and is_quiet(row)]
    secure = [row for row in rows if row.operation == "storage"]
    files = [row for row in rows if row.operation == "file" and "sync" not in row.given]
    if not secure and not files:
        return []
    size = min({row.size or 0 for row in secure or files}, key=lambda size: (abs(size - _USUAL), size))
    plain = {_action(row): row for row in files if row.size == size}
    lines = side_by_side(
        (row for row in secure if row.size == size),
        lambda row: (_action(row), row.variant),
        lambda row: row.given["storage"],
        _KINDS,
    )
    found = [line | _file(plain.get(_action(any_of(line)))) for line in lines.found]
    there = {_action(any_of(line)) for line in found}
    found += [_file(file) for action, file in plain.items() if action not in there]
    return answer(
        f"What an access to an object of {size_text(size)} costs",
        sorted(found, key=lambda line: list(actions).index(_action(any_of(line)))),
        [
            name("action", lambda line: _action(any_of(line))),
            name("variant", lambda line: "-" if line.keys() == _PLAIN.keys() else any_of(line).variant),
            *per_side({kind: f"{_KINDS[kind]} instr" for kind in lines.sides}),
            # The last column has its share.
            *per_side(_PLAIN, spare=1),
            number("REE FS /\nplain file", _against_file),
        ],
        ("storage", *(("storage-per-byte",) if {*WHOLE} & {*map(_action, (*secure, *files))} else ())),
        rows=[*secure, *files],
    )


def _file(row: Row | None) -> dict[str, Row]:
    return {"plain": row} if row else {}


def _against_file(line: Mapping[str, Row]) -> str:
    return factor(line["ree"].median / line["plain"].median) if {"ree", "plain"} <= line.keys() else "-"


def _action(row: Row) -> str:
    return row.given["action"]
