# SPDX-License-Identifier: BSD-2-Clause
"""Microcontrollers: a board's machine, and one program per curve of a portable implementation for it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise.base import paths
from worldwise.base.counted import INSTRUCTIONS, Unit
from worldwise.base.errors import DoesNotFitError, WorldwiseError
from worldwise.lab.image import ImageStore, Recipe
from worldwise.libraries import own
from worldwise.libraries.boards import Board, load_core
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.portable import Portable, find, portables
from worldwise.machine.machine import FIXED_DATE, Machine
from worldwise.plan.case import Case
from worldwise.targets.families import images_of
from worldwise.targets.guest import guest_trees
from worldwise.targets.portable_images import adapters, curve_plan, source_packages, trees

# One instruction takes 2^10 ns of virtual time, the most that QEMU allows: longer than a tick of any board's counter,
# so that the ticks tell the number of instructions without a remainder.
_SHIFT = 10
# No program can run with less stack than this.
_LEAST_STACK = 384


def round_nanoseconds(clock: int, ticks: int) -> int:
    """The virtual time, in ns, that QEMU's SysTick takes for one round of `ticks` at `clock` Hz.

    QEMU rounds a tick's length down to 2^-32 ns and a round's down to whole ns (hw/core/ptimer.c, and
    CLOCK_PERIOD_FROM_HZ of hw/clock.h), so a thousand rounds can be a microsecond shorter than the clock says.
    """
    return (ticks * ((10**9 << 32) // clock)) >> 32


def counter_macros(clock: int) -> dict[str, int]:
    """Macros that tell guest/mcu/counter.h how SysTick at `clock` Hz relates to an emulated core's instructions.

    Raises WorldwiseError if the ticks are too long to tell instructions apart.
    """
    # Both ends of a region are read to the tick, so two ticks must be less than half an instruction.
    if clock * 2**_SHIFT <= 4 * 10**9:
        raise WorldwiseError(
            f"a core at {clock} Hz counts too slowly for single instructions to be told apart",
            "the emulated machine's clock must be 4 MHz or more",
        )
    if clock % 1000:
        raise WorldwiseError(f"the emulated core's {clock} Hz are not a whole number of kHz")
    # The interrupt that counts the rounds comes as rarely as 24 bits allow.
    millisecond = clock // 1000
    ticks = 2**24 // millisecond * millisecond
    return {
        "COUNTER_HZ": clock,
        "COUNTER_INSTRUCTION_NS": 2**_SHIFT,
        "COUNTER_ROUND_TICKS": ticks,
        "COUNTER_ROUND_NS": round_nanoseconds(clock, ticks),
        "COUNTER_SHORT_TICKS": millisecond,
        "COUNTER_SHORT_NS": round_nanoseconds(clock, millisecond),
    }


def cycle_macros() -> dict[str, int]:
    """Macros that make guest/mcu/counter.h count a chip's cycles: an instruction is one, and so is 1 ns, a tick."""
    ticks, short = 2**24, 2**13
    return {
        "COUNTER_CYCLES": 1,
        "COUNTER_HZ": 10**9,
        "COUNTER_INSTRUCTION_NS": 1,
        "COUNTER_ROUND_TICKS": ticks,
        "COUNTER_ROUND_NS": ticks,
        "COUNTER_SHORT_TICKS": short,
        "COUNTER_SHORT_NS": short,
    }


def _plan(implementation: Portable, optimisation: str, name: str, board: Board, unit: Unit) -> dict[str, Any]:
    """The plan of what recipes/mcu.py compiles and links."""
    curves = {
        curve: {"operations": list(operations), **curve_plan(implementation, curve, board.core)}
        for curve, operations in implementation.manifest.operations.items()
    }
    source = implementation.manifest.source
    return {
        "name": implementation.name,
        "own": implementation.folder is not None,
        "source": "package" if source else "folder",
        "debian": source.debian if source and source.debian else "",
        "frame_sha256": implementation.manifest.needs.frame_sha256,
        "warnings": implementation.manifest.build.warnings,
        "optimisation": optimisation,
        **board_plan(name, board, unit, implementation.manifest.needs.heap),
        "curves": curves,
    }


def board_plan(name: str, board: Board, unit: Unit, heap: int | None = None) -> dict[str, Any]:
    """What a plan says of the board, and of the counter; `heap` is what the library says that it needs."""
    return {
        "board": name,
        "flags": list(load_core(board.core).flags),
        "flash": board.flash,
        "ram": board.ram,
        "script": _script(board, unit),
        "least_stack": _LEAST_STACK,
        "heap": heap,
        "counter": counter_macros(board.emulated.clock) if unit == INSTRUCTIONS else cycle_macros(),
        "counted_by": [] if unit == INSTRUCTIONS else ["mcu/cycles.c"],
    }


def _script(board: Board, unit: Unit) -> str:
    """The linker script of the emulated machine, or of the chip that counts its cycles."""
    return board.script if unit == INSTRUCTIONS else board.real_script or board.script


def _frame(implementation: Portable, script: str) -> dict[str, Path]:
    """The files of the repository that go into a program: no other board's and no other library's.

    So a new board or library changes no existing image.
    """
    used = adapters(implementation)
    portable = [path.name for path in paths.PORTABLE.iterdir() if path.suffix != ".c" or path.name in used]
    return {
        **guest_trees("bench", "mcu", "portable"),
        **guest_trees(*portable, room="ops/portable"),
        **linker_scripts(script),
    }


def linker_scripts(script: str) -> dict[str, Path]:
    """A board's linker script and what it includes, as a recipe's trees."""
    scripts = [path for path in paths.BOARDS.glob("*.ld") if path.name in (script, "sections.ld")]
    return {f"boards/{path.name}": path for path in scripts}


def firmware_programs(
    implementation: Portable, optimisation: str, name: str, board: Board, source: Path | None, unit: Unit = INSTRUCTIONS
) -> Recipe:
    """One program per curve, and each operation's footprint; `source` has the library's sources if it is a crate."""
    manifest = implementation.manifest
    debian = manifest.source.debian if manifest.source else None
    sources = source_packages(implementation)
    return Recipe(
        name=f"{name}-{implementation.name}-{optimisation}" + ("" if unit == INSTRUCTIONS else f"-{unit}"),
        script="mcu.sh",
        helpers=("mcu.py", "library.py", "objects.py", "packages.sh"),
        outputs=("footprint.json",),
        sources=sources,
        trees={**_frame(implementation, _script(board, unit)), **trees(implementation, source)},
        settings={
            "PACKAGES": " ".join(sources),
            "SOURCE": debian or "",
            "PARTS": " ".join(manifest.source.parts if manifest.source else ()),
            "PLAN": json.dumps(_plan(implementation, optimisation, name, board, unit)),
        },
    )


@dataclass(frozen=True)
class BoardTarget:
    """A board of boards/, measured on the emulated machine that stands for it; its own chip counts another unit."""

    name: str
    board: Board
    unit: Unit = INSTRUCTIONS

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The board with the program of the case's implementation and curve.

        Raises WorldwiseError if the program does not fit the board, saying what is too small.
        """
        wanted = images_of(case)
        part = wanted.board_program(case)
        with own.told(case.implementation):
            # A user's library of this name may have changed since; its folder's name depends on its content.
            folder = find(case.implementation).folder if case.implementation in portables() else None
            name = f"{self.name}/{case.variant}/{self.unit}/{folder or ''}/{part if wanted.board_programs else ''}"
            image = images.once(name, lambda: self._recipe(case, Crates(images.notify)))
        try:
            footprint = image.sizes("footprint.json", part, "operations", case.operation)
        except DoesNotFitError as error:
            raise DoesNotFitError(
                f"{case.id}: the program does not fit {self.board.title} ({self.board.flash // 1024} KiB of flash, "
                f"{self.board.ram // 1024} KiB of RAM): {error.message}",
                "the program has all operations of its curve or scheme, and the bench around them",
            ) from None
        program = f"{part}.elf"
        return Machine(
            name=f"{self.name}-{case.variant}",
            files={"program.elf": image.file(program)},
            digests={"program.elf": image.files[program]},
            arguments=self._arguments(),
            images={image.name: image.digest},
            ready=None,
            symbols={"program": image.file(program)},
            preload=(),
            footprint=footprint,
        )

    def program(self, case: Case) -> Sequence[str]:
        """The program's command line: operation, warm-up, samples and parameters."""
        return (case.operation, str(case.warmup), str(case.samples), *case.arguments)

    def _recipe(self, case: Case, crates: Crates) -> Recipe:
        special = images_of(case).board_programs
        if special:
            return special(case, self.board, self.unit, crates)
        implementation = find(case.implementation)
        folder = crate_folder(implementation, crates)
        return firmware_programs(implementation, case.optimisation, self.name, self.board, folder, self.unit)

    def _arguments(self) -> tuple[str, ...]:
        return (
            "-M", self.board.emulated.machine,
            "-nic", "none",
            "-icount", f"shift={_SHIFT},align=off,sleep=off",
            *FIXED_DATE,
            "-kernel", "/machine/program.elf",
        )  # fmt: skip
