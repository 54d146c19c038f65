# SPDX-License-Identifier: BSD-2-Clause
"""What a run of the validation keeps: measured/validation/run.json."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from worldwise.base import paths
from worldwise.base.json_model import load_json
from worldwise.lab.image import tree_digest
from worldwise.validation.cells import CellCall
from worldwise.validation.figures import SETS, Set, figures_file, load_file

MEASURED = paths.MEASURED / "validation"
RUN = MEASURED / "run.json"
_MOST_BYTES = 8 * 2**20

_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Count = Annotated[int, Field(ge=0)]
# From this per cent of SIMD and floating point on, code is of the kind `vector`.
VECTOR_SHARE = 5.0


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


class FigureRow(_Kept):
    """A figure and its prediction.

    Attributes:
        core, source, what, file: as in the figure.
        which: the set that the figure is of.
        compiler: as in the figure, else the first word of our compiler's name, or `assembly`.
        program, operation, length, implementation: what was called.
        hardware: the figure, in cycles.
        waits: wait states of the flash that the code is in; None on cores of the A profile, which have caches.
        cycles: of each call as predicted; the first with empty caches and predictors. Of some programs there is one.
        instructions: of the last call.
        causes: its cycles by cause, in the order of plugin/model/model.h.
        outside: its instructions outside the validated domain.
        vector: per cent of its instructions that are SIMD or floating point.
        mca: its cycles as llvm-mca sees its blocks, each alone; None if LLVM has no model of the core.
        checksum: of what the calls left, in which all implementations of an operation agree; `-` if there is none.
    """

    core: str
    which: Set
    source: str
    what: str
    file: str
    compiler: str
    program: str
    operation: str
    length: _Count
    implementation: str
    hardware: Annotated[float, Field(gt=0)]
    waits: _Count | None = None
    cycles: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)] = Field(strict=False)
    instructions: Annotated[int, Field(gt=0)]
    causes: tuple[_Count, ...] = Field(strict=False)
    outside: _Count
    vector: float
    mca: float | None
    checksum: str

    @property
    def predicted(self) -> float:
        """The mean of the middle half of the warm calls, as the hardware's figures are of theirs."""
        return interquartile_mean(self.cycles[1:] or self.cycles)

    @property
    def error(self) -> float:
        """Of the prediction, in per cent of the figure."""
        return error_of(self.predicted, self.hardware)

    @property
    def kind(self) -> Literal["integer", "vector"]:
        """The kind of code, as error lines call it."""
        return "vector" if self.vector >= VECTOR_SHARE else "integer"

    @property
    def call(self) -> CellCall:
        """What was called."""
        return CellCall(self.program, self.operation, self.length, self.implementation, self.compiler.split()[0])


class Made(_Kept):
    """What a run was made with, as SHA-256: two runs with the same have the same cycles.

    Attributes:
        engine: the sources of the models' engine and of the plugin that feeds it.
        cores: each table: a core's, or that of a core with a flash.
        figures: the hardware figures, whatever form their file has.
        programs: the programs' files.
    """

    engine: _Digest
    cores: Mapping[str, _Digest]
    figures: Mapping[str, _Digest]
    programs: Mapping[str, _Digest]


class Run(_Kept):
    """A run of the validation."""

    format: Literal[1] = 1
    made: Made
    rows: tuple[FigureRow, ...] = Field(strict=False)


def interquartile_mean(values: tuple[int, ...]) -> float:
    """The mean without the lowest and the highest quarter, which are rounded down to whole values."""
    ordered, cut = sorted(values), len(values) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)


def error_of(predicted: float, hardware: float) -> float:
    """How far a prediction is from a figure, in per cent of the figure; above 0 if it is higher."""
    return 100 * (predicted - hardware) / hardware


def engine_digest() -> str:
    """The SHA-256 of the engine's sources in this repository."""
    parts = (tree_digest(paths.PLUGIN / name) for name in ("model", "cycles"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def table_digest(table: str) -> str:
    """The SHA-256 of a core's table."""
    return hashlib.sha256(table.encode()).hexdigest()


def figures_digests() -> dict[str, str]:
    """The SHA-256 of the figures, by set: of what they say, however their file is written."""
    return {
        which: hashlib.sha256(load_file(figures_file(which)).model_dump_json().encode()).hexdigest() for which in SETS
    }


def dump_run(run: Run) -> str:
    """The run as JSON, a row a line."""
    made = json.dumps(run.made.model_dump(), indent=1, sort_keys=True)
    rows = ",\n".join(json.dumps(row.model_dump(), separators=(",", ":")) for row in run.rows)
    return f'{{"format": {run.format},\n"made": {made},\n"rows": [\n{rows}\n]}}\n'


def load_run(path: Path = RUN) -> Run:
    """The run in a file. Raises WorldwiseError if it is none."""
    return load_json(Run, path, _MOST_BYTES)


def out_of_date(run: Run, tables: Mapping[str, str]) -> list[str]:
    """What of a run is not as in this repository; none if its cycles stand for it.

    `tables`: today's tables, by name.
    """
    found = [] if run.made.engine == engine_digest() else ["the engine's sources (plugin/model, plugin/cycles)"]
    today = {core: table_digest(table) for core, table in tables.items()}
    found += [
        f"the table of {core}"
        for core in sorted({*today, *run.made.cores})
        if today.get(core) != run.made.cores.get(core)
    ]
    figures = figures_digests()
    found += [f"published/hardware/{which}.toml" for which in SETS if figures[which] != run.made.figures.get(which)]
    return found
