# SPDX-License-Identifier: BSD-2-Clause
"""Other people's figures, and which of our rows stand beside which of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.family_stages import declared
from worldwise.base.toml.key_lines import TomlLines
from worldwise.base.toml.rows import load_rows
from worldwise.base.toml.toml_model import check

# Statistics and units that are no measurement: never shown beside ours.
_NOT_MEASURED = ("budget",)
_UNKNOWN_UNIT = "unknown"


class Figure(BaseModel):
    """One published value with its unit, its statistic and the conditions it was measured under."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    source: str
    operation: str
    algorithm: str
    core: str
    place: str
    value: Annotated[float, Field(gt=0)]
    unit: str
    statistic: str
    conditions: str
    note: str = ""
    unit_as_published: str = ""
    library: str = ""
    clock_mhz: float | None = None
    message_bytes: int | None = None
    stdev: float | None = None
    runs: list[float] | None = None

    @property
    def is_measurement(self) -> bool:
        """Whether somebody measured it, in a known unit."""
        return self.statistic not in _NOT_MEASURED and self.unit != _UNKNOWN_UNIT


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    figure: list[Figure]


@dataclass(frozen=True)
class Subject:
    """The properties of a row that published figures are matched by. Only rows of boards have the last three."""

    operation: str
    measure: str
    place: str
    implementation: str
    board: str = ""
    curve: str = ""
    size: int | None = None


@dataclass(frozen=True)
class Match:
    """The rows that a figure belongs to. `conditions` is the end of the figure's conditions."""

    figure: str
    conditions: str
    operations: tuple[str, ...]
    measure: str
    place: str
    implementation: str
    instructions_per_unit: int

    def fits(self, row: Subject) -> bool:
        """Whether the figure stands beside such a row."""
        return row.operation in self.operations and (row.measure, row.place, row.implementation) == (
            self.measure,
            self.place,
            self.implementation,
        )


@dataclass(frozen=True)
class OnBoards:
    """The rows of boards that a source's figures belong to.

    Attributes:
        places: board -> the place that a figure names.
        library, algorithm: the names that a figure gives to what was measured.
        implementations, curve: the names that these have here.
        sizes: sizes of the messages, in bytes.
        gaps: (board, implementation, curve) -> the source's text in place of figures.
    """

    places: Mapping[str, str]
    library: str
    algorithm: str
    implementations: tuple[str, ...]
    curve: str
    sizes: tuple[int, ...]
    gaps: Mapping[tuple[str, str, str], str]

    def fits(self, figure: Figure, row: Subject) -> bool:
        """Whether a figure stands beside such a row."""
        ours = row.implementation in self.implementations and (row.place, row.curve) == ("mcu", self.curve)
        return ours and (
            self.places.get(row.board),
            self.library,
            self.algorithm,
            row.operation,
            row.size,
        ) == (figure.place, figure.library, figure.algorithm, figure.operation, figure.message_bytes)


@dataclass(frozen=True)
class PublishedSource:
    """Figures of one file of published/, and the rows beside which a family shows them (its file readings.py).

    Attributes:
        name: the file's name without `.toml`.
        reason: why they differ from ours, in words for people.
        matches: figures that belong to one row each.
        on_boards: figures that belong to rows of boards.
        hashing: figures of the cost of hashing: operation -> quantity and unit.
        has_tables: whether the figures stand in tables of their own shape, because none belongs to one row alone.
    """

    name: str
    reason: str
    matches: tuple[Match, ...] = ()
    on_boards: OnBoards | None = None
    hashing: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    has_tables: bool = False


@dataclass(frozen=True, kw_only=True)
class ShownSource:
    """Which published figures a family shows beside its rows; None if it shows none."""

    published: PublishedSource | None = None


def sources() -> Mapping[str, PublishedSource]:
    """Every source that a family shows, by name."""
    shown = (one.published for one in declared("readings", ShownSource).values())
    return {source.name: source for source in shown if source}


@dataclass(frozen=True)
class FigureBeside:
    """A published figure that stands beside a row, brought to the row's unit.

    Where a time of real hardware is published, `instructions` are its cycles, at one instruction per cycle.
    """

    figure: Figure
    instructions: float


def load_figures(source: str, directory: Path = paths.PUBLISHED) -> list[Figure]:
    """Every figure of one source, in file order. Raises WorldwiseError naming file and line."""
    path = directory / f"{source}.toml"
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(sorted(file.stem for file in directory.glob("*.toml")))
        raise WorldwiseError(
            f"published figures {path}: cannot be read: {error}.", f"known sources: {known}"
        ) from error
    entries = load_rows("figure", text, path)
    figures = check(_File, entries.document, text, path, place=entries.place).figure
    for number, figure in enumerate(figures):
        if figure.source != source:
            line = TomlLines(text).line(entries.place(("figure", number, "source")))
            raise WorldwiseError(f"{path}:{line}: source '{figure.source}' is not the file's name, '{source}'.")
    return figures


class Published:
    """The figures of one source that can stand beside our rows; without a source there are none.

    `hashing` are the figures of hashing, by quantity; `table` are all figures of a source with tables of its own shape.
    """

    def __init__(self, source: str, directory: Path = paths.PUBLISHED) -> None:
        """Raises WorldwiseError if the source is unknown, or its file lacks a figure that a table shows."""
        self.reason = ""
        self._pairs: list[tuple[Match, Figure]] = []
        self._on_boards: OnBoards | None = None
        self._board_figures: list[Figure] = []
        self.hashing: dict[str, Figure] = {}
        self.table: tuple[Figure, ...] = ()
        if not source:
            return
        known = sources()
        if source not in known:
            listed = ", ".join(known)
            raise WorldwiseError(f"published source '{files.quoted(source)}' is not known. Allowed: {listed}.")
        chosen = known[source]
        path = directory / f"{source}.toml"
        figures = [figure for figure in load_figures(source, directory) if figure.is_measurement]
        self.reason = chosen.reason
        self.table = tuple(figures) if chosen.has_tables else ()
        for operation, (quantity, unit) in chosen.hashing.items():
            fitting = [figure for figure in figures if (figure.operation, figure.unit) == (operation, unit)]
            if len(fitting) != 1:
                raise WorldwiseError(f"{path}: expected one figure '{operation}' in {unit}, found {len(fitting)}.")
            self.hashing[quantity] = fitting[0]
        self._pairs = [(match, self._figure_of(match, figures, path)) for match in chosen.matches]
        if chosen.on_boards:
            self._on_boards = chosen.on_boards
            self._board_figures = self._check_board_figures(chosen.on_boards, figures, path)

    def beside(self, row: Subject) -> tuple[FigureBeside, ...]:
        """The figures that belong beside such a row, each in instructions."""
        found = [
            FigureBeside(figure, figure.value * match.instructions_per_unit)
            for match, figure in self._pairs
            if match.fits(row)
        ]
        found += [
            FigureBeside(figure, figure.value * (figure.clock_mhz or 0))
            for figure in self._board_figures
            if self._on_boards and self._on_boards.fits(figure, row)
        ]
        return tuple(found)

    def has_runs(self, row: Subject) -> bool:
        """Whether the source's table has single runs of the same work as a row, so that ours can stand beside each."""
        what = (row.operation, f"ECDSA {row.curve}")
        return any(figure.runs and (figure.operation, figure.algorithm) == what for figure in self.table)

    def gap(self, row: Subject) -> str:
        """The source's text in place of a figure for such a row; empty if it has a figure, or no such row."""
        if not self._on_boards or row.operation not in ("sign", "verify") or row.size not in self._on_boards.sizes:
            return ""
        return self._on_boards.gaps.get((row.board, row.implementation, row.curve), "")

    @staticmethod
    def _figure_of(match: Match, figures: list[Figure], path: Path) -> Figure:
        """The one figure of a match. Raises WorldwiseError unless there is one, in microseconds."""
        found = [
            figure
            for figure in figures
            if figure.operation == match.figure and figure.conditions.endswith(match.conditions)
        ]
        if len(found) != 1 or found[0].unit != "us":
            raise WorldwiseError(
                f"{path}: expected one figure '{match.figure}' in us with '{match.conditions}', found {len(found)}."
            )
        return found[0]

    @staticmethod
    def _check_board_figures(on_boards: OnBoards, figures: list[Figure], path: Path) -> list[Figure]:
        """The figures that have a row. Raises WorldwiseError unless each is there exactly once."""
        chosen = []
        for board, place in on_boards.places.items():
            for operation in ("sign", "verify"):
                for size in on_boards.sizes:
                    row = Subject(
                        operation, operation, "mcu", on_boards.implementations[0], board, on_boards.curve, size
                    )
                    found = [figure for figure in figures if on_boards.fits(figure, row)]
                    if len(found) != 1 or found[0].unit != "us" or not found[0].clock_mhz:
                        raise WorldwiseError(
                            f"{path}: expected one figure '{operation}' of {size} bytes in us, with its clock, at "
                            f"'{place}', found {len(found)}."
                        )
                    chosen.append(found[0])
        return chosen
