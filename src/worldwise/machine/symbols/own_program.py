# SPDX-License-Identifier: BSD-2-Clause
"""Names for the addresses of a machine that runs a user's own program."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries.own_code import Mapped
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import Machine
from worldwise.machine.symbols.inlined_functions import ARM_PROGRAM, PROGRAM, addr2line
from worldwise.machine.symbols.machine import Programs, debug_symbols, map_kernel, map_vectors
from worldwise.machine.symbols.mangled_names import demangler
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import SymbolTable

# How the program that starts own code is called here, and what it is on a stack.
LAUNCHER = "launch"
# The process of own code: no name of a program, since the machine may have one of the same name.
OWN_PROCESS = "(own)"


def own_programs(
    emulator: Emulator, images: ImageStore, files: Mapping[str, bytes], said: Path, is_armv7: bool
) -> Programs:
    """The tables of what the program executes, from its files; `said` is what a machine with that kernel says."""
    debug = images.get(debug_symbols()).directory
    lab, tool = emulator.lab, ARM_PROGRAM if is_armv7 else PROGRAM
    return Programs(said, files, debug, lab.cache / "symbols", addr2line(lab, tool), demangler(lab))


def own_space(
    machine: Machine, programs: Programs, mapped: Sequence[Mapped], process: str, is_armv7: bool
) -> AddressSpace:
    """The symbols of the kernel, of what starts the program, and of the program as it is mapped."""
    space = AddressSpace()
    map_kernel(space, programs.said)
    if is_armv7:
        map_vectors(space)
    map_program(space, machine, programs, mapped, process)
    return space


def map_program(
    space: AddressSpace, machine: Machine, programs: Programs, mapped: Sequence[Mapped], process: str
) -> None:
    """Map the program as it is in its memory, and what starts it."""
    map_mapped(space, programs, mapped, process)
    space.add_floating(Level("normal", 0, process), list(_unloaded(programs)))
    launcher = SymbolTable.from_elf(machine.symbols["launcher"], LAUNCHER, programs.cache, None, programs.tool)
    space.map(Level("normal", 0, LAUNCHER), *launcher.bounds, 0, launcher)


def _unloaded(programs: Programs) -> Iterator[SymbolTable]:
    """The libraries: one that was unloaded before the program ended is not mapped then, and lay somewhere before."""
    for path, content in programs.files.items():
        if ".so" in path.rpartition("/")[2] and content.startswith(b"\x7fELF"):
            # The machine did not load a file that only looks like one.
            with contextlib.suppress(WorldwiseError):
                if table := programs.table(path):
                    yield table


def map_mapped(space: AddressSpace, programs: Programs, mapped: Sequence[Mapped], process: str) -> None:
    """Map a process's files as they are in its memory."""
    for one in mapped:
        table = programs.table(one.path)
        bias = table.bias_of_mapping(one.begin, one.offset) if table else None
        if table and bias is not None:
            space.map(Level("normal", 0, process), one.begin, one.end, bias, table)
