# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of hardware by others: published figures that a model may be fitted to, figures that only judge it, and what
others measured with worldwise itself. All are of one form, and one reader takes them."""

import re
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.rows import parse_rows, with_rows
from worldwise.base.toml.toml_model import StrictModel, read_text

HARDWARE = paths.PUBLISHED / "hardware"
# What others measured with worldwise: a file for each run, by `worldwise contribute`.
CONTRIBUTED = paths.MEASURED / "hardware"

# The two sets. No figure is in both.
Set = Literal["calibration", "validation"]
SETS: tuple[Set, ...] = ("calibration", "validation")

_Positive = Annotated[float, Field(gt=0)] | Annotated[int, Field(gt=0)]
# What a person writes about a board: no path, no address, no mail.
_SAID = r"^[^/\\@\x00-\x1f]+$"
_MOST_SAID = 200
_Said = Annotated[str, Field(min_length=1, max_length=_MOST_SAID, pattern=_SAID)]
_NOT_SAID = re.compile(r"/(home|root|Users|tmp|work|mnt|media|var)\b|\\\\|@|\b\d+\.\d+\.\d+\.\d+\b|gdb:|ssh:")


class Source(StrictModel):
    """Where figures come from: the code that ran, the file with the figures, how it was compiled."""

    id: str
    code: str
    figures: str
    compilers: str = ""
    flags: str = ""
    conditions: str = ""
    note: str = ""


class Measured(StrictModel):
    """A board that somebody measured with worldwise.

    Attributes:
        board: its name in boards/, or the name of a target of Linux.
        silicon: the chip and its revision, as its user read them.
        firmware: that of the probe and of the board, or of the Linux host.
        compiler: the packages of the compilers and their versions.
        counter: what counted, such as `dwt_cyccnt`.
        run, started, worldwise, revision: the run, when it began, the version that measured it; `+` behind the revision
            if files differed from it.
    """

    board: _Said
    silicon: _Said
    firmware: _Said
    compiler: Annotated[list[_Said], Field(min_length=1)]
    counter: _Said
    run: _Said
    started: _Said
    worldwise: _Said
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{0,40}\+?$")] = ""


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
        case, measure: of a figure that worldwise measured; `value` is then the median of `samples`.
        first, samples: its first call and all others that count, in `unit`.
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
    case: str = ""
    measure: str = ""
    first: int | None = None
    samples: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _median(self) -> "Figure":
        if self.samples and self.value != median(self.samples):
            raise ValueError(f"value is {self.value}, but the median of its samples is {median(self.samples)}")
        return self

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
    """A file of figures; `measured` is of those that worldwise measured."""

    source: list[Source]
    figure: list[Figure]
    measured: Measured | None = None

    @model_validator(mode="after")
    def _sources(self) -> "Figures":
        known = {one.id for one in self.source}
        for figure in self.figure:
            if figure.source not in known:
                raise ValueError(f"'{figure.source}' is not a source of the file")
        return self


def json_schema() -> dict[str, Any]:
    """The JSON schema of a file of figures."""
    return with_rows(Figures.model_json_schema(), "figure", "Figure")


def figures_file(which: Set) -> Path:
    """The file of a set."""
    return HARDWARE / f"{which}.toml"


def load_file(path: Path) -> Figures:
    """The figures of a file, published or measured with worldwise. Raises WorldwiseError if the file is wrong."""
    return parse_rows(Figures, "figure", read_text(path, "the figures"), path)


def load_figures(which: Set) -> list[Figure]:
    """The figures of a set, in the file's order. Raises WorldwiseError if the file is wrong."""
    return load_file(figures_file(which)).figure


def contributed_files() -> list[Path]:
    """The files of what others measured."""
    return sorted(CONTRIBUTED.glob("*.toml"))


def require_said(option: str, text: str) -> None:
    """Raise WorldwiseError if a text that was typed can be no name of silicon or firmware."""
    if not re.fullmatch(_SAID, text) or len(text) > _MOST_SAID:
        raise WorldwiseError(
            f"{option}: '{files.quoted(text)}' has more than {_MOST_SAID} characters, or one of / \\ @, which a "
            "path, an address or a person has.",
            "write the name without",
        )


def check_contributed(path: Path) -> Figures:
    """A contributed file, checked: whole, with nothing personal. Raises WorldwiseError naming what is wrong."""
    text = read_text(path, "the figures")
    found = parse_rows(Figures, "figure", text, path)
    if not found.measured:
        raise WorldwiseError(f"{path}: it has no [measured].", "`worldwise contribute` writes such files")
    for number, line in enumerate(text.splitlines(), 1):
        if match := _NOT_SAID.search(line):
            raise WorldwiseError(
                f"{path}:{number}: '{match[0]}' may be of a path, an address or a person.", "take it out of the run"
            )
    wrong = next((one for one in found.figure if not (one.case and one.measure and one.samples)), None)
    if wrong:
        raise WorldwiseError(f"{path}: the figure '{wrong.what}' has no case, measure or samples.")
    if not found.figure:
        raise WorldwiseError(f"{path}: it has no figure.")
    keys = [(one.case, one.measure) for one in found.figure]
    if len(set(keys)) < len(keys):
        raise WorldwiseError(f"{path}: a measure of a case is there twice.")
    return found
