# SPDX-License-Identifier: BSD-2-Clause
"""Tables of what a figure depends on: the draw of its inputs, and the interrupts of a machine as it is shipped."""

from worldwise.base.tables import Section, Table, count, signed
from worldwise.read.models import Drawn, Interrupted, Reading


def sections(reading: Reading, _full: bool) -> list[Section]:
    """What `run --seeds` and `run --as-shipped` add to a report; nothing without."""
    parts = [_inputs(reading.inputs), _interrupts(reading.interrupts)]
    return [part for part in parts if part]


def inputs_json(reading: Reading) -> dict[str, object]:
    """What the JSON has besides; empty for a run with one draw on a quiet machine."""
    found: dict[str, object] = {}
    if reading.run.seed:
        found["seed"] = reading.run.seed
    for name, rows in (("inputs", reading.inputs), ("interrupts", reading.interrupts)):
        if rows:
            found[name] = [row.model_dump(mode="json") for row in rows]
    return found


def _inputs(rows: tuple[Drawn, ...]) -> Section | None:
    if not rows:
        return None
    cells = [
        [
            *(row.case, row.measure, row.place, str(row.draws), count(row.median), count(row.least), count(row.most)),
            f"{100 * (row.most - row.least) / row.least:.3f}" if row.least else "-",
        ]
        for row in rows
    ]
    headers = ["case", "measure", "place", "draws", *(f"{name}\ninstr" for name in ("median", "least", "most"))]
    return Section(
        "Inputs: how far a figure depends on the draw",
        Table([*headers, "apart\n%"], cells, 3),
        [
            "least and most: of the draws' medians. Each draw has other keys, nonces and blinding; all else is the "
            "same. A row without a draw of its own has the same figure in each: docs/how/repeat.md."
        ],
        "inputs",
    )


def _interrupts(rows: tuple[Interrupted, ...]) -> Section | None:
    if not rows:
        return None
    cells = [
        [row.case, row.measure, row.place, count(row.own_first), count(row.own), signed(row.added), signed(row.most)]
        for row in rows
    ]
    return Section(
        "Interrupts: what a machine in its shipped state executes beside the own path",
        Table(
            [
                *("case", "measure", "place", "own path,\nfirst call", "own path,\nmedian"),
                *("beside it,\nmedian", "beside it,\nmost"),
            ],
            cells,
            3,
        ),
        [
            "own path: the same call with the same inputs, without timer interrupts and without the random offset of "
            "Linux's stack. beside it: the call as it is shipped less that, in instructions. compare judges the own "
            "path: docs/how/repeat.md."
        ],
        "interrupts",
    )
