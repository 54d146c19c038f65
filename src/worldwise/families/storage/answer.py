# SPDX-License-Identifier: BSD-2-Clause
"""The answer of storage on one screen: the cost of one access in each storage, beside a plain file."""

from collections.abc import Sequence

from worldwise.base.tables import Table, factor, whole
from worldwise.base.units import size_text
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.surprises import spread_surprises
from worldwise.report.tables import Answer

# The answer shows this size of object if it was measured: a page of a file system.
_USUAL = 4096
_KINDS = {"ree": "REE FS", "ree-rpmb": "REE FS,\nhash in RPMB", "rpmb": "\nRPMB", "none": "\nplain file"}


def storage_answer(reading: Reading, actions: Sequence[str]) -> Answer | None:
    """Each of `actions` with an object of one size, as the caller sees it; None if the run has no storage."""
    rows = [
        row
        for row in reading.rows
        if row.operation in ("storage", "file") and row.place in ("client", "linux") and row.size and is_quiet(row)
    ]
    if not rows:
        return None
    size = min({row.size or 0 for row in rows}, key=lambda size: (abs(size - _USUAL), size))
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        given = parameters_of(row.parameters)
        kind = given["storage"] if row.operation == "storage" else given.get("sync", "none")
        if row.size == size:
            found.setdefault((given["action"], kind), row)
    kinds = [kind for kind in _KINDS if any(kind == other for _, other in found)]
    cells = []
    for action in actions:
        if not any(action == other for other, _ in found):
            continue
        plain, ree = found.get((action, "none")), found.get((action, "ree"))
        line = [whole(found[action, kind].median) if (action, kind) in found else "-" for kind in kinds]
        cells.append([action, *line, factor(ree.median / plain.median) if ree and plain else "-"])
    return Answer(
        f"What an access to an object of {size_text(size)} costs",
        Table(["action", *(f"{_KINDS[kind]} instr" for kind in kinds), "REE FS /\nplain file"], cells, 1),
        surprises=spread_surprises(rows),
        sections=("storage", "storage-per-byte"),
    )
