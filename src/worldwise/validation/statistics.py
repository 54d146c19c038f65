# SPDX-License-Identifier: BSD-2-Clause
"""Errors of predictions in numbers: by core and kind of code, over held-out figures, and of the ways to predict."""

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from worldwise.predict.errors import FITTED, took
from worldwise.validation.record import Row, Run, error_of


@dataclass(frozen=True)
class Errors:
    """Errors of some figures, in per cent: of their absolute values, and their mean with its sign.

    `p90` is the smallest error that at least 90 % of them do not exceed. Hardware took between `least` and `most` times
    what was predicted.
    """

    figures: int
    median: float
    p90: float
    worst: float
    bias: float
    least: float
    most: float


def errors(found: Iterable[tuple[float, float]]) -> Errors:
    """The numbers of some figures: predicted and measured cycles of each, above 0; at least one."""
    figures = list(found)
    signed = [error_of(predicted, measured) for predicted, measured in figures]
    least, most = took(figures)
    sizes = sorted(map(abs, signed))
    return Errors(
        figures=len(sizes),
        median=statistics.median(sizes),
        p90=sizes[math.ceil(0.9 * len(sizes)) - 1],
        worst=sizes[-1],
        bias=statistics.fmean(signed),
        least=least,
        most=most,
    )


# Kinds of error lines, and which rows are of them; every row is of `all`.
KINDS: dict[str, Callable[[Row], bool]] = {
    "all": lambda _: True,
    "integer": lambda row: row.kind == "integer",
    "vector": lambda row: row.kind == "vector",
    "assembly": lambda row: _is_assembly(row),
    "compiled": lambda row: not _is_assembly(row),
    # Of the flash that a microcontroller's code is in.
    "waits": lambda row: bool(row.waits),
    "no-waits": lambda row: row.waits == 0,
    "lib25519": lambda row: row.program.startswith("lib25519"),
    "libntruprime": lambda row: row.program == "libntruprime",
}


def _is_assembly(row: Row) -> bool:
    return row.implementation == "assembly" or row.implementation.startswith("arm64-")


def held_out(rows: Iterable[Row]) -> list[Row]:
    """The rows to whose figures nothing was fitted."""
    return [row for row in rows if row.which == "validation"]


def by_core_and_kind(run: Run) -> dict[tuple[str, str], Errors]:
    """The errors of held-out figures, by core and kind, in that order."""
    rows = held_out(run.rows)
    found: dict[tuple[str, str], Errors] = {}
    for core in sorted({row.core for row in rows}):
        for kind, belongs in sorted(KINDS.items()):
            some = [(row.predicted, row.hardware) for row in rows if row.core == core and belongs(row)]
            if some:
                found[core, kind] = errors(some)
    return found


def by_calibration(run: Run) -> dict[str, Errors]:
    """The errors of the calibration figures, by core."""
    rows = [row for row in run.rows if row.which == "calibration"]
    return {
        core: errors((row.predicted, row.hardware) for row in rows if row.core == core)
        for core in sorted({row.core for row in rows})
    }


def error_lines(run: Run) -> str:
    """The file of error lines, measured/validation/errors.json, that a run makes.

    Of a core that has no held-out figure, it is its calibration figures': they are told, but are no error line.
    """
    found = by_core_and_kind(run)
    without = {core: one for core, one in by_calibration(run).items() if (core, "all") not in found}
    found |= {(core, FITTED): one for core, one in without.items()}
    lines = [
        {
            "core": core,
            "kind": kind,
            "figures": one.figures,
            "median": round(one.median, 2),
            "p90": round(one.p90, 2),
            "worst": round(one.worst, 2),
            "least": one.least,
            "most": one.most,
        }
        for (core, kind), one in sorted(found.items())
    ]
    return json.dumps({"format": 1, "made_by": "worldwise run validation", "lines": lines}, indent=2) + "\n"


def best_flat(rows: Sequence[Row]) -> float:
    """The one number of cycles per instruction that leaves the smallest median error in these rows."""
    candidates = sorted(row.hardware / row.instructions for row in rows)

    def median(cycles: float) -> float:
        return statistics.median(abs(error_of(cycles * row.instructions, row.hardware)) for row in rows)

    return min(candidates, key=median)


# Ways to predict, as a table's columns name them.
ONE, FLAT, MCA, MODEL = "1 CPI", "flat", "llvm-mca", "model"


@dataclass(frozen=True)
class Way:
    """A way to predict: its column, its name, and what it says of a row."""

    column: str
    name: str
    predict: Callable[[Row], float]


def ways(run: Run, core: str) -> list[Way]:
    """The ways that are compared for a core: one is fitted to its calibration figures, one needs LLVM's model of it."""
    calibration = [row for row in run.rows if row.core == core and row.which == "calibration"]
    found = [Way(ONE, "1 cycle per instruction", lambda row: row.instructions)]
    if calibration:
        flat = best_flat(calibration)
        found.append(Way(FLAT, f"{flat:.2f} cycles per instruction (fitted)", lambda row: flat * row.instructions))
    if all(row.mca is not None for row in run.rows if row.core == core):
        found.append(Way(MCA, "llvm-mca per block", lambda row: row.mca or 0.0))
    return [*found, Way(MODEL, "this model", lambda row: row.predicted)]


def alternatives(run: Run) -> dict[tuple[str, str], Errors]:
    """The errors of each way on the same held-out figures, by core and way."""
    rows = held_out(run.rows)
    return {
        (core, way.name): errors((way.predict(row), row.hardware) for row in rows if row.core == core)
        for core in sorted({row.core for row in rows})
        for way in ways(run, core)
    }
