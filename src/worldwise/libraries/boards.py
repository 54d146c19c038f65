# SPDX-License-Identifier: BSD-2-Clause
"""Boards with a microcontroller, and their cores: `boards/*.toml`, `cores/*.toml`. A new one is one file."""

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from worldwise.base import files, paths
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import Model, StrictModel, Text, parse, read_text
from worldwise.libraries.core_model import KINDS_OF_STORE_WAITS, CoreModel, Memory, flat_table
from worldwise.libraries.cores import features_of
from worldwise.libraries.fittable import Calibration, Fittable
from worldwise.libraries.real_board import Clock, Identity, RegisterStep, Serial, Servers, hertz

_SIZE = re.compile(r"([0-9]+)(KiB|MiB)")
_NAME = r"^[0-9A-Za-z][0-9A-Za-z.-]{0,30}$"


def _bytes(value: object) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError("must be a size such as '128KiB' or '4MiB'")
    return int(match[1]) * (2**20 if match[2] == "MiB" else 2**10)


class Core(Model):
    """A core: its names and its compiler flags.

    Attributes:
        title: its name as Arm writes it.
        architecture: such as `Armv7E-M`.
        flags: the compiler's flags for it.
        part: of a Cortex-M the part number in its CPUID, by which a real one is known.
        model: what its time is predicted by; None for nothing.
        calibration: the run on silicon to which numbers were fitted, in a file that `worldwise calibrate` wrote.
    """

    title: Text
    architecture: Text
    flags: tuple[Text, ...]
    part: Annotated[int, Field(ge=0, le=0xFFF)] | None = None
    model: CoreModel | None = None
    calibration: Calibration | None = None

    @model_validator(mode="after")
    def _known(self) -> "Core":
        features_of(self.architecture, self.flags)
        return self

    @property
    def features(self) -> frozenset[str] | None:
        """What a Cortex-M has, of `cores.FEATURES`; None for another core."""
        return features_of(self.architecture, self.flags)


class FittableBoard(StrictModel):
    """What of a board `worldwise calibrate` may fit to a run on it."""

    flash_wait_states: Fittable


class Emulated(Model):
    """The emulated machine that stands for a board.

    Attributes:
        machine: QEMU's name of the machine.
        clock: Hz of the emulated core, which its SysTick counts.
        leaves_out: what of the board it does not emulate, a sentence each.
    """

    machine: Text
    clock: int
    leaves_out: tuple[Text, ...] = ()

    _clock = field_validator("clock", mode="before")(hertz)


class Secure(Model):
    """The secure state of a board that has both: the program beside the measured one, which is non-secure.

    Attributes:
        flash, ram: bytes that the secure program may use; those of the board are the non-secure program's.
        script: its linker script, which says too what becomes non-secure.
    """

    flash: int
    ram: int
    script: Text

    _sizes = field_validator("flash", "ram", mode="before")(_bytes)


class Board(Model):
    """A board. Sizes in bytes, clocks in Hz.

    Attributes:
        title: its name as its maker writes it.
        core: the name of a file of cores/.
        clock: the core's clock, used to turn counts into times.
        flash, ram: bytes that a program may use.
        flash_wait_states: cycles that a read from flash waits at that clock; no count depends on it.
        script: the linker script, beside the board's file; several boards can share one.
        flags: the compiler's flags in place of the core's, for a chip that lacks a part of it; empty for the core's.
        emulated: the machine that stands for it.
        memory: what stands before the flash; None for nothing, and then its wait states are not predicted.
        id: by what the real board's chip is known; None if its core's part number must do.
        real_script: the real board's linker script, if the emulated machine has another map of memory.
        fittable: what may be fitted to a run on it; None for nothing.
        servers: what GDB servers call it.
        clocks: how its clock can be set, by name.
        serial: its serial line, if it has one.
        secure: its secure state, if the measured program is non-secure; None if there is but one program.
    """

    title: Text
    core: Text
    clock: int
    flash: int
    ram: int
    flash_wait_states: Annotated[int, Field(ge=0, le=15)]
    script: Text
    emulated: Emulated
    flags: tuple[Text, ...] = ()
    memory: Memory | None = None
    id: Identity | None = None
    real_script: Text | None = None
    fittable: FittableBoard | None = None
    servers: Servers = Servers()
    clocks: dict[Annotated[str, Field(pattern=_NAME)], Clock] = Field(default_factory=dict)
    serial: Serial | None = None
    secure: Secure | None = None

    _clock = field_validator("clock", mode="before")(hertz)
    _sizes = field_validator("flash", "ram", mode="before")(_bytes)

    @property
    def clock_mhz(self) -> float:
        """The core's clock in MHz."""
        return self.clock / 10**6

    def steps(self, clock: str) -> tuple[RegisterStep, ...]:
        """The steps to one of its clocks, those that come before included."""
        found = self.clocks[clock]
        return (*(self.clocks[found.after].steps if found.after else ()), *found.steps)


def _core_names() -> list[str]:
    return sorted(file.stem for file in paths.CORES.glob("*.toml"))


def core_name(typed: str) -> str:
    """The name of a core as its file has it, of `Cortex-A72` and `A72` too; another text as it is."""
    wanted = typed.strip().lower()
    names = _core_names()
    found = [name for name in names if name.lower() == wanted] or [
        name for name in names if name.lower().rpartition("-")[2] == wanted
    ]
    return found[0] if len(found) == 1 else typed


@functools.cache
def load_core(name: str) -> Core:
    """The core of a name. Raises WorldwiseError naming file, line and key, or listing the known cores."""
    path = paths.CORES / f"{name}.toml"
    # A user's library names cores, and no such name may be a path.
    if files.name_problem(path.name) or not path.is_file():
        known = _core_names()
        meant = did_you_mean(name, known)
        raise WorldwiseError(
            f"core '{files.quoted(name)}': there is no such file in {paths.CORES}.",
            f"{meant} known cores: {', '.join(known)}".lstrip(),
        )
    return parse(Core, read_text(path, "core"), path)


def load_board(path: Path) -> Board:
    """The board that a file describes. Raises WorldwiseError naming file, line and key."""
    board = parse(Board, read_text(path, "board"), path)
    try:
        load_core(board.core)
    except WorldwiseError as error:
        raise WorldwiseError(f"{path}: core: {error.message}", error.hint) from error
    if board.real_script == board.script:
        raise WorldwiseError(f"{path}: real_script: is the same as 'script'.", "leave it out")
    for name, clock in board.clocks.items():
        if clock.after and (clock.after not in board.clocks or board.clocks[clock.after].after):
            raise WorldwiseError(
                f"{path}: clocks.{name}.after: there is no clock '{files.quoted(clock.after)}' that comes after none.",
                f"clocks of the file: {', '.join(board.clocks)}",
            )
    secure = board.secure.script if board.secure else None
    for key, script in (("script", board.script), ("real_script", board.real_script), ("secure.script", secure)):
        if script and not (path.parent / script).is_file():
            raise WorldwiseError(f"{path}: {key}: there is no {path.parent / script}.", "it is a linker script there")
    if board.fittable and not board.memory:
        raise WorldwiseError(
            f"{path}: fittable: the board has no [memory], so its wait states are not predicted.",
            "leave it out, or say what stands before the flash",
        )
    return board


@functools.cache
def boards() -> dict[str, Board]:
    """Every board of the repository by its name, in the order of the names. Raises WorldwiseError."""
    return {path.stem: load_board(path) for path in sorted(paths.BOARDS.glob("*.toml"))}


def table_of(
    core: str, board: str | None = None, waits: int | None = None, store_waits: int = 0, *, misses: bool = True
) -> str:
    """The table of a core for the engine of plugin/model, on a board or with a memory that never waits.

    `waits` are the wait states of the board's flash, if not those of its file, or those that a core was fitted with;
    `store_waits` the cycles that each stored word waits. Without `misses` a microcontroller's own caches always hit.

    Raises WorldwiseError if there is no such core, or its model has no stores that wait.
    """
    own = load_core(core)
    model = own.model
    if not model:
        raise WorldwiseError(f"core '{core}': nothing predicts it: its file has no [model].", "name another core")
    if store_waits and model.kind not in KINDS_OF_STORE_WAITS:
        raise WorldwiseError(
            f"core '{core}': its model has no stores that wait",
            "leave --store-waits out, or name a Cortex-M that begins one instruction a cycle, such as cortex-m4",
        )
    found = boards()[board] if board else None
    if not found:
        return flat_table(core, model, store_waits=store_waits, misses=misses)
    if waits is None:
        waits = own.calibration.flash_wait_states if own.calibration else found.flash_wait_states
    return flat_table(core, model, found.memory, waits, store_waits)


def has_caches(core: str) -> bool:
    """Whether a core's model has caches, which a first call finds empty. Raises WorldwiseError if there is no core."""
    model = load_core(core).model
    return model is not None and "line_bytes" in model.numbers


def by_core(names: Iterable[str]) -> list[str]:
    """Boards sorted by their cores (M0, M3, M4, M7, M33), each once; names without a board file come last."""

    def order(name: str) -> tuple[int, int, str]:
        known = boards().get(name)
        digits = known.core.rpartition("-m")[2] if known else ""
        return (0, int(digits), name) if digits.isdigit() else (1, 0, name)

    return sorted(set(names), key=order)
