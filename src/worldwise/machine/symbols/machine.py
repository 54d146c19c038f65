# SPDX-License-Identifier: BSD-2-Clause
"""Names for the addresses of a measured machine: every exception level, both worlds.

The ELF files are those of the machine under measurement: the user space comes out of its initramfs, and the kernel,
which changes its own text as it boots, says itself what is where. Where a file on the machine is stripped, the
package's debug file of the same build id names it.

    space = address_space(emulator, machine, images)
    space.locate(Level("secure", 0), executed)           # ldelf and the TA, whose place is found at run time
    space.locate(Level("secure", 1), executed)           # the core's vectors while a TA runs
    symbol = space.lookup(Level("secure", 1), pc)        # None: unknown
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.lab.image import ImageStore, Recipe
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import Machine
from worldwise.machine.symbols.inlined_functions import ARM_PROGRAM, Addr2line, addr2line
from worldwise.machine.symbols.kernel import kernel_tables
from worldwise.machine.symbols.mangled_names import Demangle, demangler
from worldwise.machine.symbols.memory_layout import initramfs_files, machine_symbols, read_processes
from worldwise.machine.symbols.names import Function
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.machine.symbols.table import PAGE, SymbolTable, build_id

# Where Linux has the vectors of Armv7-A.
_VECTORS = 0xFFFF0000
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def address_space(emulator: Emulator, machine: Machine, images: ImageStore) -> AddressSpace:
    """All symbol tables of a machine at their places.

    `locate` finds the rest: ldelf and the TA in the context ("secure", 0), in ("secure", 1) the core's vectors at the
    addresses they have while a TA runs, and in those of processes the libraries that their programs load by themselves.

    Raises WorldwiseError if the machine or an image cannot be read.
    """
    said = machine_symbols(emulator, machine)
    cache = emulator.lab.cache / "symbols"
    debug = images.get(debug_symbols()).directory
    secure = {_image_of_secure(name): path for name, path in machine.symbols.items()}
    tools = addr2line(emulator.lab), demangler(emulator.lab)
    of_32_bits = addr2line(emulator.lab, ARM_PROGRAM), tools[1]
    tables = {
        name: SymbolTable.from_elf(path, name, cache, None, *(of_32_bits if is_of_32_bits(path) else tools))
        for name, path in secure.items()
    }
    monitor, core = tables.pop("bl31"), tables.pop("tee")
    # While a TA runs, all of OP-TEE's core that is mapped are the vectors through which it is entered, elsewhere.
    start, end = (core.address(name) for name in ("thread_excp_vect", "thread_excp_vect_end"))
    entry = core.part(start & -PAGE, (end + PAGE - 1) & -PAGE)
    space = AddressSpace({Level("secure", 0): list(tables.values()), Level("secure", 1): [entry]})
    for table, context in ((monitor, Level("monitor", 3)), (core, Level("secure", 1))):
        space.map(context, *table.bounds, 0, table)
    map_kernel(space, said)
    files = initramfs_files(machine.files["initramfs.cpio"])
    _map_processes(space, Programs(said, files, debug, cache, *tools))
    return space


def is_of_32_bits(elf: Path) -> bool:
    """Whether an ELF file is of A32 and T32 code, as a TA may be. Raises WorldwiseError for another file."""
    return bool(ask(elf, ("machine",), what=elf.name) == ["EM_ARM"])


def program_space(emulator: Emulator, machine: Machine, process: str, said: Path | None = None) -> AddressSpace:
    """The symbols of a machine's measured program, for plain Linux: it is static, and where it was linked at.

    `said` is what a machine with the same kernel says of itself; without it the kernel is unknown, as all else is.
    `explain` has the program's layers apart, for which the models of cores have no need.
    """
    cache, tools = emulator.lab.cache / "symbols", (addr2line(emulator.lab), demangler(emulator.lab))
    name = "program" if said else "linux-bench"
    table = SymbolTable.from_elf(machine.symbols["program"], name, cache, None, *tools)
    space = AddressSpace()
    space.map(Level("normal", 0, process), *table.bounds, 0, table)
    if said:
        map_kernel(space, said)
    return space


def flat_space(emulator: Emulator, machine: Machine, process: str, said: Path | None) -> AddressSpace:
    """The symbols of a flat program: a microcontroller's with its handlers, or one of Linux on Armv7-A.

    `said` is what a machine with the latter's kernel says of itself.
    """
    cache = emulator.lab.cache / "symbols"
    tools = addr2line(emulator.lab, ARM_PROGRAM), demangler(emulator.lab)
    tables = [SymbolTable.from_elf(path, name, cache, None, *tools) for name, path in _flat_programs(machine)]
    space = AddressSpace()
    for table in tables:
        space.map(Level("normal", 0, process), *table.bounds, 0, table)
    if said:
        map_kernel(space, said)
        map_vectors(space)
    else:
        for table in tables:
            space.map(Level("normal", 1), *table.bounds, 0, table)
    return space


def map_vectors(space: AddressSpace) -> None:
    """Linux's copy of its vectors of Armv7-A, at the place where the core expects them."""
    vectors = SymbolTable("linux", [Function("vectors", _VECTORS, 2 * PAGE)])
    space.map(Level("normal", 1), *vectors.bounds, 0, vectors)


def _flat_programs(machine: Machine) -> list[tuple[str, Path]]:
    """The measured program; and of a core with TrustZone-M the secure one, which lies elsewhere."""
    return [(name, machine.symbols[name]) for name in ("program", "secure") if name in machine.symbols]


def map_kernel(space: AddressSpace, said: Path) -> None:
    """Linux's own functions, as it says them itself."""
    texts = [(said / name).read_text(encoding="ascii") for name in ("kallsyms", "sections")]
    for table in kernel_tables(*texts).values():
        space.map(Level("normal", 1), *table.bounds, 0, table)


def _image_of_secure(name: str) -> str:
    return "ta" if _UUID.fullmatch(name) else name


@dataclass
class Programs:
    """The tables of what the machine's processes execute: one for all copies of a library."""

    said: Path
    files: Mapping[str, bytes]
    debug: Path
    cache: Path
    tool: Addr2line
    demangle: Demangle
    made: dict[tuple[str, bytes], SymbolTable] = field(default_factory=dict)

    def table(self, path: str) -> SymbolTable | None:
        """The table of a program or library, by its path on the machine; None if it is no file there."""
        name = "linux:vdso" if path == "[vdso]" else image_name(path)
        content = self.files.get(path.lstrip("/"))
        if content is None and path == "[vdso]":
            content = (self.said / "vdso").read_bytes()
        if not content:
            return None
        if (name, content) not in self.made:
            apart = self.debug / f"{build_id(content, name, self.cache)}.debug"
            extra = apart if apart.exists() else None
            self.made[name, content] = SymbolTable.from_elf(content, name, self.cache, extra, self.tool, self.demangle)
        return self.made[name, content]


def _map_processes(space: AddressSpace, programs: Programs) -> None:
    """Map what each process has when its main program begins; any other library of the machine may come later."""
    libraries = {path: image_name(path) for path in programs.files if path.startswith("lib/") and ".so" in path}
    done = set()
    for process, lines in read_processes((programs.said / "processes").read_text(encoding="ascii")):
        # The same program again, such as a second worker, has the same map: nothing is randomised.
        if process in done or process == "symbols":
            continue
        done.add(process)
        there = {image_name(path) for _, _, _, path in lines}
        later = [programs.table(path) for path, name in libraries.items() if name not in there]
        space.add_floating(Level("normal", 0, process), [table for table in dict.fromkeys(later) if table])
        for start, end, offset, path in lines:
            table = programs.table(path)
            if table:
                bias = table.bias_of_mapping(start, offset)
                if bias is not None:
                    space.map(Level("normal", 0, process), start, end, bias, table)


def image_name(path: str) -> str:
    """The name of a program or library of the machine: client for optee-client, libc for libc.so.6."""
    name = posixpath.basename(path)
    if name.startswith("ld-linux"):
        return "ld.so"
    return {"optee-client": "client"}.get(name, name.partition(".so")[0])


def debug_symbols() -> Recipe:
    """What names the functions of packaged libraries: BUILD-ID.debug for each that has it."""
    return Recipe(
        name="debug-symbols",
        script="debug-symbols.sh",
        outputs=("build-ids",),
        packages=("libc6", "libc6-dbg"),
    )
