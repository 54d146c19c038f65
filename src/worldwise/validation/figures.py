# SPDX-License-Identifier: BSD-2-Clause
"""Published cycles of hardware: figures that a model may be fitted to, and figures that only judge it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from worldwise.base import paths
from worldwise.base.toml_model import StrictModel, parse, read_text

HARDWARE = paths.PUBLISHED / "hardware"

# The two sets. No figure is in both.
Set = Literal["calibration", "validation"]
SETS: tuple[Set, ...] = ("calibration", "validation")

_Positive = Annotated[float, Field(gt=0)] | Annotated[int, Field(gt=0)]


class Source(StrictModel):
    """Where figures come from: the code that ran, the file with the figures, how it was compiled."""

    id: str
    code: str
    figures: str
    compilers: str = ""
    flags: str = ""
    conditions: str = ""
    note: str = ""


class Figure(StrictModel):
    """One published figure.

    Attributes:
        source: the id of its source.
        core: the processor's core, as in cores/.
        what: operation and implementation, with a blank between them, or the operation alone.
        value: the figure, in `unit`.
        length: bytes, items or batch, as the source counts.
        compiler: name, version and level.
        simd: whether the code has SIMD instructions, as the figures' file says.
        quality: A: the same source and compiler can be had; B: the source, with other compilers or flags; C: rounded,
            or not fully stated.
        file: where in the source it stands.
        clock_mhz, board, build, version: of figures of a whole board.
        note: what is wrong or unclear.
    """

    source: str
    core: str
    what: str
    value: _Positive
    unit: str
    length: int | None = None
    compiler: str = ""
    simd: str = ""
    quality: Literal["A", "B", "C"]
    file: str = ""
    clock_mhz: _Positive | None = None
    board: str = ""
    build: str = ""
    version: str = ""
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str, int | None, str, str, str, str]:
        """What tells it from any other, its value aside."""
        return (
            self.source,
            self.core,
            self.what,
            self.length,
            self.compiler,
            self.file,
            f"{self.board} {self.build} {self.version} {self.clock_mhz}",
            self.unit,
        )


class Figures(StrictModel):
    """A file of figures."""

    source: list[Source]
    figure: list[Figure]


def figures_file(which: Set) -> Path:
    """The file of a set."""
    return HARDWARE / f"{which}.toml"


def load_figures(which: Set) -> list[Figure]:
    """The figures of a set, in the file's order. Raises WorldwiseError if the file is wrong."""
    path = figures_file(which)
    return parse(Figures, read_text(path, "the figures"), path).figure
