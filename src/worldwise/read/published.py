# SPDX-License-Identifier: BSD-2-Clause
"""Other people's figures, and which of our rows stand beside which of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_lines import TomlLines
from worldwise.base.toml_model import parse

# Statistics and units that are no measurement: shown nowhere beside ours.
_NOT_MEASURED = ("budget",)
_UNKNOWN_UNIT = "unknown"


class Figure(BaseModel):
    """One published value with its unit, its statistic and the conditions it was measured under."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

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
        """Whether somebody measured it, in a unit that is known."""
        return self.statistic not in _NOT_MEASURED and self.unit != _UNKNOWN_UNIT


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    figure: list[Figure]


@dataclass(frozen=True)
class Subject:
    """What a row is of: what is asked of the published figures. The last three are empty or None off the boards."""

    operation: str
    measure: str
    place: str
    implementation: str
    board: str = ""
    curve: str = ""
    size: int | None = None


@dataclass(frozen=True)
class _Match:
    """Which rows a figure belongs to. `conditions` is how the figure's conditions end."""

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
class _OnBoards:
    """Which rows of boards a source's figures belong to.

    Attributes:
        places: board -> where a figure says that it was measured.
        library, algorithm: what a figure says that was measured.
        implementations, curve: what stands for that here.
        sizes: of the messages, in bytes.
        gaps: (board, implementation, curve) -> what the source has in place of figures.
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


_NIST = "mbedTLS with MBEDTLS_ECP_NIST_OPTIM"
_DEFAULT = "mbedTLS default configuration"

# The unit of optee-p256-a72 is a microsecond of virtual time, where one instruction is one nanosecond.
_MATCHES = {
    "optee-p256-a72": (
        _Match("keygen", _NIST, ("keygen",), "keygen", "ta", "mbedtls-nist", 1000),
        _Match("sign attestdiv (48-byte input)", _NIST, ("attestdiv",), "sign", "ta", "mbedtls-nist", 1000),
        _Match("sign attestquorum (40-byte input)", _NIST, ("attestquorum",), "sign", "ta", "mbedtls-nist", 1000),
        _Match("sign", _DEFAULT, ("attestdiv", "attestquorum"), "sign", "ta", "mbedtls", 1000),
    ),
}

_ON_BOARDS = {
    "riot-ecc-mcu": _OnBoards(
        places={
            "nucleo-f446re": "Nucleo F446RE, RIOT, hardware",
            "nucleo-f103rb": "Nucleo F103RB, RIOT, hardware",
        },
        library="c25519 (RIOT package)",
        algorithm="Ed25519",
        implementations=("c25519", "wolfssl-small"),
        curve="ed25519",
        sizes=(16, 32, 128, 1024),
        gaps={
            ("nucleo-f446re", "micro-ecc", "secp160r1"): "?? (listed, never measured)",
            ("nucleo-f103rb", "micro-ecc", "secp160r1"): "none (never measured)",
        },
    ),
}

# What a figure of hashing is, by its operation: see hash_cost.py.
_HASHING = {
    "optee-sha256-rpi3": {
        "SHA-256 throughput": ("throughput", "MB/s"),
        "fixed cost of one call": ("switch", "us"),
        "SHA-256 of an empty message": ("empty message", "us"),
        "TA wrapper overhead": ("wrapper", "us"),
        "slow-down against sha256sum": ("slow-down", "ratio"),
    },
}

_REASONS = {
    "riot-ecc-mcu": (
        "How they compare: the published figures are microseconds of real boards with RIOT. Brought to cycles by the "
        "board's clock they stand beside our instructions; ours / published is then the instructions per cycle that "
        "the board would have had if it had run the same code. It did not quite: theirs is c25519 as RIOT packages "
        "it, of a version not stated; ours are c25519 as Monocypher's package has it, and wolfSSL's low-memory "
        "Ed25519, which is derived from c25519 and uses wolfSSL's SHA-512. Their compiler and its flags are not "
        "stated. Their time has in it the flash's wait states (5 cycles a read on the F446RE, 2 on the F103RB, less "
        "what the flash's accelerator or prefetch buffer hides) and RIOT's interrupts. Neither core does more than "
        "one instruction in a cycle, so that an implied figure above 1 says that the code was another. The rows of "
        "micro-ecc are published as '??': secp160r1 is measured here; Ed25519 cannot be, as micro-ecc has none."
    ),
    "optee-sha256-rpi3": (
        "Why they differ: the published figures are times of a Cortex-A53 with its caches and memory; ours are "
        "instructions at one per cycle, at the clock of a Raspberry Pi 3 model B. At which clock theirs ran is not "
        "stated, nor are library, OP-TEE's version and the optimisation level. The BCM2837 of that board has no "
        "cryptographic extension, so the variants without -ce are those to compare, and their sha256sum had none "
        "either; ours has, so ours / sha256sum is greater without -ce and the same library in Linux is the fairer "
        "comparison."
    ),
    "optee-mqttz-apps": (
        "Why they differ: the published figures are milliseconds of a host's clock while QEMU emulated the machine "
        "without icount: what is in them is the host's speed, its other work and QEMU's translation of code that runs "
        "for the first time, and no property of a core. OP-TEE's version, the host and the optimisation level are not "
        "stated. Their standard deviations are headed ms^2; they are milliseconds, as are the values."
    ),
    "mqttz-keys": (
        "Why they differ: the published figures are milliseconds of a clock; core, clock rate, versions and what is "
        "in them are not stated with them. What can be compared is their ratio, secure storage to memory of the TA."
    ),
    "mbedtls-armv7-a9": (
        "Why they differ: the published figures are microseconds of a host's clock while QEMU emulated the machine "
        "without icount: what is in them is the host's speed and its other work, and no property of a core. Ours are "
        "instructions. The optimisation level, the compiler's version and the host are not stated."
    ),
    "optee-p256-a72": (
        "Why they differ: the published figures come from OP-TEE 4.0 (its copy of mbed TLS, of the 2.28 era) "
        "on QEMU 8.0, with the optimisation level not stated; ours come from OP-TEE 4.10 with mbed TLS "
        "3.6.5, with -Os and -O2 measured separately."
    ),
}

# Sources whose figures stand in tables of their own shape: none of them is that of one row alone.
_TABLES = ("optee-mqttz-apps", "mbedtls-armv7-a9", "mqttz-keys")

SOURCES = (*_MATCHES, *_HASHING, *_ON_BOARDS, *_TABLES)


@dataclass(frozen=True)
class Beside:
    """A published figure that stands beside a row, brought to the row's unit.

    `instructions` are cycles, and with that instructions at one per cycle, where a time of real hardware is published.
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
    figures = parse(_File, text, path).figure
    for number, figure in enumerate(figures):
        if figure.source != source:
            line = TomlLines(text).line(("figure", number, "source"))
            raise WorldwiseError(f"{path}:{line}: source '{figure.source}' is not the file's name, '{source}'.")
    return figures


class Published:
    """The figures of one source that can stand beside our rows; of no source, nothing.

    `hashing` are those of hashing, by what they are; `table` are all of a source that has tables of its own shape.
    """

    def __init__(self, source: str, directory: Path = paths.PUBLISHED) -> None:
        """Raises WorldwiseError if the source is unknown, or its file lacks a figure that is to be shown."""
        self.reason = ""
        self._pairs: list[tuple[_Match, Figure]] = []
        self._on_boards = _ON_BOARDS.get(source)
        self._board_figures: list[Figure] = []
        self.hashing: dict[str, Figure] = {}
        self.table: tuple[Figure, ...] = ()
        if not source:
            return
        if source not in SOURCES:
            known = ", ".join(SOURCES)
            raise WorldwiseError(f"published source '{files.quoted(source)}' is not known. Allowed: {known}.")
        self.reason = _REASONS[source]
        figures = [figure for figure in load_figures(source, directory) if figure.is_measurement]
        if source in _TABLES:
            self.table = tuple(figures)
        for operation, (quantity, unit) in _HASHING.get(source, {}).items():
            fitting = [figure for figure in figures if (figure.operation, figure.unit) == (operation, unit)]
            if len(fitting) != 1:
                raise WorldwiseError(
                    f"{directory / source}.toml: expected one figure '{operation}' in {unit}, found {len(fitting)}."
                )
            self.hashing[quantity] = fitting[0]
        for match in _MATCHES.get(source, ()):
            found = [
                figure
                for figure in figures
                if figure.operation == match.figure and figure.conditions.endswith(match.conditions)
            ]
            if len(found) != 1 or found[0].unit != "us":
                raise WorldwiseError(
                    f"{directory / source}.toml: expected one figure '{match.figure}' in us "
                    f"with '{match.conditions}', found {len(found)}."
                )
            self._pairs.append((match, found[0]))
        if self._on_boards:
            self._board_figures = self._check_board_figures(self._on_boards, figures, directory / f"{source}.toml")

    def beside(self, row: Subject) -> tuple[Beside, ...]:
        """The figures that belong beside such a row, each in instructions."""
        found = [
            Beside(figure, figure.value * match.instructions_per_unit)
            for match, figure in self._pairs
            if match.fits(row)
        ]
        found += [
            Beside(figure, figure.value * (figure.clock_mhz or 0))
            for figure in self._board_figures
            if self._on_boards and self._on_boards.fits(figure, row)
        ]
        return tuple(found)

    def has_runs(self, row: Subject) -> bool:
        """Whether the source's table has single runs of what a row is of, for ours to stand beside each."""
        what = (row.operation, f"ECDSA {row.curve}")
        return any(figure.runs and (figure.operation, figure.algorithm) == what for figure in self.table)

    def gap(self, row: Subject) -> str:
        """What the source has in place of a figure for such a row; empty if it has a figure, or no such row."""
        if not self._on_boards or row.operation not in ("sign", "verify") or row.size not in self._on_boards.sizes:
            return ""
        return self._on_boards.gaps.get((row.board, row.implementation, row.curve), "")

    @staticmethod
    def _check_board_figures(on_boards: _OnBoards, figures: list[Figure], path: Path) -> list[Figure]:
        """The figures that have a row. Raises WorldwiseError unless there is one of each."""
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
