# SPDX-License-Identifier: BSD-2-Clause
"""The answer of storage on one screen: the cost of one access in each storage, beside a plain file."""

from collections.abc import Sequence

from worldwise.base.tables import Table, count, factor
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import Answer

# The answer shows this size of object if it was measured: a page of a file system.
_USUAL = 4096
_KINDS = {"ree": "REE FS", "ree-rpmb": "REE FS,\nhash in RPMB", "rpmb": "\nRPMB"}
_PLAIN = "\nplain file"
# For these actions instructions per byte mean something: they move the whole content.
WHOLE = ("create", "read", "overwrite")


def storage_answer(reading: Reading, actions: Sequence[str]) -> list[Answer]:
    """Each of `actions` with an object of one size, as the caller sees it; nothing if the run has no storage.

    A line is of one variant of OP-TEE, but for the plain file, which none of them has a part in.
    """
    rows = [row for row in reading.rows if row.place in ("client", "linux") and row.size and is_quiet(row)]
    secure = [row for row in rows if row.operation == "storage"]
    files = [row for row in rows if row.operation == "file" and "sync" not in parameters_of(row.parameters)]
    if not secure and not files:
        return []
    size = min({row.size or 0 for row in secure or files}, key=lambda size: (abs(size - _USUAL), size))
    plain = {_action(row): row for row in files if row.size == size}
    lines = side_by_side(
        (row for row in secure if row.size == size),
        lambda row: (_action(row), row.variant),
        lambda row: parameters_of(row.parameters)["storage"],
        _KINDS,
    )
    first = {action: number for number, action in enumerate(actions)}
    cells = []
    for line in lines.found:
        row = next(iter(line.values()))
        file, ree = plain.get(_action(row)), line.get("ree")
        cell = [_action(row), row.variant]
        cell += [count(line[kind].median) if kind in line else "-" for kind in lines.sides]
        cell += [count(file.median) if file else "-", factor(ree.median / file.median) if ree and file else "-"]
        cells.append(cell)
    lone = [action for action in plain if action not in {cell[0] for cell in cells}]
    cells += [[action, "-", *["-"] * len(lines.sides), count(plain[action].median), "-"] for action in lone]
    cells.sort(key=lambda cell: first[cell[0]])
    headers = ["action", "variant", *(f"{_KINDS[kind]} instr" for kind in lines.sides), f"{_PLAIN} instr"]
    return [
        Answer(
            f"What an access to an object of {size_text(size)} costs",
            Table([*headers, "REE FS /\nplain file"], cells, 2),
            surprises=spread_surprises([*secure, *files]),
            sections=("storage", *(("storage-per-byte",) if {*WHOLE} & {*map(_action, (*secure, *files))} else ())),
            # The plain file, whose share the last column has.
            optional=(len(headers) - 1,),
        )
    ]


def _action(row: Row) -> str:
    return parameters_of(row.parameters)["action"]
