# SPDX-License-Identifier: BSD-2-Clause
"""Microcontrollers: a board's machine, and one program per curve of a portable implementation for it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise.base import paths
from worldwise.base.errors import DoesNotFitError, WorldwiseError
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.lab.image import Image, ImageStore, Recipe
from worldwise.libraries import curve_table, portable
from worldwise.libraries.boards import Board, Core, load_core
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.portable import Portable, find, portables
from worldwise.machine.machine import FIXED_DATE, Machine
from worldwise.plan.case import Case
from worldwise.targets.families import images_of
from worldwise.targets.guest import guest_trees, interface_trees, unpacked
from worldwise.targets.portable_images import HASH, adapters, curve_plan, library_package, trees

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
            f"a core at {clock} Hz counts too slowly to distinguish single instructions",
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


def serial_macros(board: Board) -> dict[str, int]:
    """Macros that tell guest/board-serial where a board's serial line is. Raises WorldwiseError if it has none."""
    line = board.serial
    if line is None:
        raise WorldwiseError(f"{board.title}: its file has no [serial].", "docs/add/add-board.md says how to add it")
    return {
        "SERIAL_STATUS": line.status,
        "SERIAL_MASK": line.mask,
        "SERIAL_READY": line.ready,
        "SERIAL_DATA": line.data,
    }


def board_plan(
    implementation: Portable,
    optimisation: str,
    name: str,
    board: Board,
    core: Core,
    unit: Unit = INSTRUCTIONS,
    serial: bool = False,
) -> dict[str, Any]:
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
        **on_board(name, board, core, unit, serial, implementation.manifest.needs.heap),
        "curves": curves,
    }


def on_board(name: str, board: Board, core: Core, unit: Unit, serial: bool, heap: int | None) -> dict[str, Any]:
    """What a plan says of the board and of its counter; `heap` is what the library says that it needs."""
    counter = counter_macros(board.emulated.clock) if unit == INSTRUCTIONS else cycle_macros()
    return {
        "board": name,
        # Records then go where serial.c sends them, and nothing else of the program changes.
        "flags": [*(board.flags or core.flags), *(["-Wl,--wrap=semihost_record"] if serial else [])],
        "flash": board.flash,
        "ram": board.ram,
        "script": _script(board, unit),
        "least_stack": _LEAST_STACK,
        "heap": heap,
        "counter": {**counter, **(serial_macros(board) if serial else {})},
        "counted_by": [
            *([] if unit == INSTRUCTIONS else ["mcu/cycles.c"]),
            *(["board-serial/serial.c"] if serial else []),
        ],
    }


def _script(board: Board, unit: Unit) -> str:
    """The linker script of the emulated machine, or of the chip that counts its cycles."""
    return board.script if unit == INSTRUCTIONS else board.real_script or board.script


def image_name(unit: Unit, serial: bool, *words: str) -> str:
    """The name of a board's image: what it is of, and what differs from the emulated machine's."""
    return "-".join((*words, *([] if unit == INSTRUCTIONS else [unit]), *(["serial"] if serial else [])))


def _frame(implementation: Portable, script: str, serial: bool) -> dict[str, Path]:
    """The files of the repository that go into a program: no other board's and no other library's.

    So a new board or library changes no existing image.
    """
    used = adapters(implementation)
    files = [path.name for path in paths.PORTABLE.iterdir() if path.suffix != ".c" or path.name in used]
    return {**frame_parts(script, serial=serial), **guest_trees(*files, room="adapters")}


def frame_parts(*scripts: str, serial: bool = False) -> dict[str, Path]:
    """The files of the repository, of no library, that go into a program; `scripts` are the linker's."""
    used = [path for path in paths.BOARDS.glob("*.ld") if path.name in (*scripts, "sections.ld")]
    return {
        **guest_trees("bench", "mcu", "operations", *(["board-serial"] if serial else [])),
        **{f"boards/{path.name}": path for path in used},
    }


def frame_objects(name: str, board: Board, core: Core, unit: Unit, serial: bool) -> Recipe:
    """What a board's programs share, compiled once: for each curve with all operations that go with it.

    A library with fewer has those parts of the frame compiled in its own build. So a new library changes nothing here.
    """
    of_board = on_board(name, board, core, unit, serial, None)
    curves: list[dict[str, Any]] = [
        {
            "number": curve_table.curve_number(curve),
            "operations": [one for one in portable.OF_CURVE if one not in facts.not_for],
        }
        for curve, facts in curve_table.IN_FRAME.items()
    ]
    # No library has Dhrystone beside hashes and AES.
    curves.append({"number": 0, "operations": [one for one in portable.CURVELESS if one != "dhrystone"]})
    return Recipe(
        name=image_name(unit, serial, "frame", name),
        script="frame.sh",
        helpers=("frame.py", "library.py", "objects.py", "unpacked.sh"),
        outputs=("frame-sha256.o",),
        needs=unpacked(HASH),
        trees={**interface_trees(), **frame_parts(serial=serial)},
        settings={
            "PLAN": json.dumps(
                {**{key: of_board[key] for key in ("board", "flags", "counter", "counted_by")}, "curves": curves}
            )
        },
    )


def firmware_programs(
    implementation: Portable,
    optimisation: str,
    name: str,
    board: Board,
    source: Path | None,
    unit: Unit = INSTRUCTIONS,
    serial: bool = False,
) -> Recipe:
    """One program per curve, and each operation's footprint; `source` has the library's sources if it is a crate.

    With `serial` they send their records over the board's serial line.
    """
    core = load_core(board.core)
    return Recipe(
        name=image_name(unit, serial, name, implementation.name, optimisation),
        script="mcu.sh",
        helpers=("mcu.py", "frame.py", "library.py", "objects.py", "unpacked.sh"),
        outputs=("footprint.json",),
        needs={"frame": frame_objects(name, board, core, unit, serial), **library_package(implementation)},
        trees={**_frame(implementation, _script(board, unit), serial), **trees(implementation, source)},
        settings={"PLAN": json.dumps(board_plan(implementation, optimisation, name, board, core, unit, serial))},
    )


@dataclass(frozen=True)
class BoardTarget:
    """A board of boards/, measured on the emulated machine that stands for it; its own chip counts another unit.

    With `serial` its programs send their records over the board's serial line.
    """

    name: str
    board: Board
    unit: Unit = INSTRUCTIONS
    serial: bool = False

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The board with the program of the case's implementation and curve.

        Raises WorldwiseError if the program does not fit the board, saying what is too small.
        """
        with own_libraries.told(case.implementation):
            # A user's library of this name may have changed since; its folder's name depends on its content.
            folder = find(case.implementation).folder if case.implementation in portables() else None
            name = f"{self.name}/{case.variant}/{self.unit}/{self.serial}/{folder or ''}"
            if images_of(case).board_programs:
                name += f"/{self._part(case)}"
            image = images.once(name, lambda: self._recipe(case, Crates(images.notify)))
        try:
            footprint = self._footprint(case, image)
        except DoesNotFitError as error:
            raise DoesNotFitError(
                f"{case.id}: the program does not fit {self.board.title} ({self.board.flash // 1024} KiB of flash, "
                f"{self.board.ram // 1024} KiB of RAM): {error.message}",
                "the program has all operations of its curve or scheme, and the bench around them",
            ) from None
        programs = self.program_files(case)
        return Machine(
            name=f"{self.name}-{case.variant}",
            files={f"{name}.elf": image.file(program) for name, program in programs.items()},
            digests={f"{name}.elf": image.files[program] for name, program in programs.items()},
            arguments=self.qemu_arguments(),
            images={image.name: image.digest},
            ready=None,
            symbols={name: image.file(program) for name, program in programs.items()},
            preload=(),
            footprint=footprint,
        )

    def program(self, case: Case) -> Sequence[str]:
        """The program's command line: operation, warm-up, samples and parameters."""
        return (case.operation, str(case.warmup), str(case.samples), *case.arguments)

    def program_files(self, case: Case) -> dict[str, str]:
        """The machine's programs -> the image's files; the first is the measured one."""
        return {"program": f"{self._part(case)}.elf"}

    def _part(self, case: Case) -> str:
        """Which program of an image is the case's: its curve, or what its family says."""
        return images_of(case).board_program(case)

    def _footprint(self, case: Case, image: Image) -> dict[str, int] | None:
        """What the operation takes, if a program is linked for it alone. Raises DoesNotFitError."""
        return image.sizes("footprint.json", self._part(case), "operations", case.operation)

    def _recipe(self, case: Case, crates: Crates) -> Recipe:
        special = images_of(case).board_programs
        if special:
            return special(case, self.board, self.unit, self.serial, crates)
        implementation = find(case.implementation)
        folder = crate_folder(implementation, crates)
        return firmware_programs(
            implementation, case.optimisation, self.name, self.board, folder, self.unit, self.serial
        )

    def qemu_arguments(self) -> tuple[str, ...]:
        """QEMU's arguments for the board's machine and its program."""
        return (
            "-M", self.board.emulated.machine,
            "-nic", "none",
            "-icount", f"shift={_SHIFT},align=off,sleep=off",
            *FIXED_DATE,
            "-kernel", "/machine/program.elf",
        )  # fmt: skip
