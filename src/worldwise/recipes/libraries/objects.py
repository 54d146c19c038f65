# SPDX-License-Identifier: BSD-2-Clause
"""Looks at the objects of a library that a user brought, in the lab, before they become part of a measured program.

Whatever could make the program measure something else than the library is refused, with the file and the function in
the message: names that are the bench's, code that runs outside of the calls that are measured, instructions that keep
the counter from counting or that talk to the emulator.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

# What a library gives and what it may take. See guest/adapters/ops.h.
OPERATIONS = {
    "keygen": "ops_keygen",
    "sign": "ops_sign",
    "verify": "ops_verify",
    "ecdh": "ops_ecdh",
    "sha256": "ops_sha256",
    "sha512": "ops_sha512",
    "aes128": "ops_aes_ctr",
    "aes256": "ops_aes_ctr",
    "dhrystone": "ops_dhrystone",
}
ALWAYS = ("ops_name", "ops_open")
GIVEN = ("ops_random", "ops_frame_sha256", "malloc", "calloc", "realloc", "free", "abort")
# The bench relies on these as well, whether or not an object of it names them.
_C_LIBRARY = frozenset(
    (
        *("malloc", "calloc", "realloc", "free", "abort", "exit", "_exit"),
        *("memcpy", "memmove", "memset", "memcmp", "memchr"),
        *("strlen", "strcmp", "strncmp", "strcpy", "strcat", "strncat", "strtok", "strtoul"),
        *("printf", "fprintf", "snprintf", "vsnprintf", "puts", "fwrite", "fflush", "getrandom"),
        *("main", "_start", "__libc_start_main", "Reset_Handler", "SysTick_Handler"),
    )
)
# Programs of ours load these, and nothing else, into memory.
_SECTIONS = (".text", ".rodata", ".data", ".bss", ".tbss", ".ARM.exidx", ".ARM.extab", ".eh_frame", ".note", ".group")
_CONSTRUCTORS = (".init", ".fini", ".ctors", ".dtors", ".preinit_array")
# Code that is not code yet.
_LATER = ".gnu.lto_"
# Mnemonics by architecture, and what is wrong with them.
_INSTRUCTIONS = {
    "arm": {
        r"cps(id|ie)?|msr": "changes how interrupts come: the counter counts its rounds in one",
        r"bkpt|svc|wfi|wfe|sev": "calls the emulator or another mode: only the bench may",
    },
    "aarch64": {
        r"svc|hvc|smc|hlt|eret|wfi|wfe": "calls the emulator or another mode: only the bench may",
        r"hint": "marks a region, as only the bench may",
    },
}
_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_LINE = re.compile(r"^\s+[0-9a-f]+:\t[0-9a-f ]+\t(\S+)")
# How much of what a compiler says is shown.
_MOST_LINES = 12
SAYS = "worldwise: "


class Refused(Exception):
    """What is wrong, in one line, and more lines that say so in the words of the compiler or linker."""

    def __init__(self, problem: str, details: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.details = details

    def report(self) -> str:
        """For the build's log: the one line marked, so that the host finds it."""
        lines = self.details.splitlines()
        shown = [*lines[:_MOST_LINES], *(["..."] if len(lines) > _MOST_LINES else [])]
        return "\n".join([*shown, f"{SAYS}{self.problem}"])


def finish(main: Callable[[], int]) -> None:
    """Run a recipe's program and end with its status, or with what was refused in the build's log."""
    try:
        sys.exit(main())
    except Refused as refused:
        sys.exit(refused.report())


def explain(words: str) -> str:
    """One line of what a compiler or a linker said: its first error."""
    for pattern, text in (
        (r"^(\S+?:\d+):(?:\d+:)? (?:fatal )?error: (.*)$", "{0}: {1}"),
        (r"(\S+\.[co]):.*multiple definition of `([^']+)'", "{0} defines {1}, which is defined already"),
        (r"in function `([^']+)':(?s:.*?)undefined reference to `([^']+)'", "{0}() needs {1}, which nothing defines"),
        (r"undefined reference to `([^']+)'", "{0} is needed, and nothing defines it"),
    ):
        match = re.search(pattern, words, re.MULTILINE)
        if match:
            return text.format(*match.groups())
    return words.strip().split("\n")[-1]


@dataclass
class Object:
    """One compiled file: the names it defines and needs, its sections in memory (and what the linker would compile)."""

    source: str
    path: Path
    defined: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    indirect: set[str] = field(default_factory=set)
    sections: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        with self.path.open("rb") as file:
            elf: Any = ELFFile(file)
            for section in elf.iter_sections():
                in_memory = section["sh_flags"] & 2 and section["sh_size"]  # SHF_ALLOC
                if in_memory or section.name.startswith(_LATER):
                    self.sections.append(section.name)
            table = elf.get_section_by_name(".symtab")
            for symbol in table.iter_symbols() if table else ():
                if symbol["st_info"]["bind"] == "STB_LOCAL" or not symbol.name:
                    continue
                if symbol["st_shndx"] == "SHN_UNDEF":
                    self.needed.add(symbol.name)
                    continue
                self.defined.add(symbol.name)
                if symbol["st_info"]["type"] in ("STT_GNU_IFUNC", "STT_LOOS"):
                    self.indirect.add(symbol.name)


def check_library(
    library: Mapping[Path, str],
    frame: Iterable[Path],
    operations: Collection[str],
    architecture: str,
    prefix: str,
    curve: str,
    not_called: str = "",
    frame_sha256: bool = False,
) -> None:
    """Refuse what must not be part of a measured program.

    Args:
        library: object -> its source's name, for the messages; the adapter's included.
        frame: the bench's own objects.
        operations: what the library is said to have.
        architecture: a key of the instructions that are not allowed.
        prefix: of the cross tools, such as `arm-none-eabi-`.
        curve: which of its curves this is, for the message of a function that is missing.
        not_called: a regular expression of functions that the library must not call.
        frame_sha256: whether it says that it hashes by the bench's SHA-256.
    """
    objects = [Object(source, path) for path, source in library.items()]
    ours = [Object("", path) for path in frame]
    interface = {*ALWAYS, *OPERATIONS.values()}
    bench = {name for each in ours for name in each.defined} - interface
    reserved = (bench | {name for each in ours for name in each.needed} | _C_LIBRARY) - interface
    defined = {name for each in objects for name in each.defined}
    for each in objects:
        for name in sorted(each.defined & reserved):
            raise Refused(
                f"{each.source} defines {name}, which is the bench's or the C library's own: give it another name"
            )
        for name in sorted(each.needed - defined):
            if name in bench and name not in GIVEN:
                raise Refused(f"{each.source} uses {name}, which is the bench's own and not in ops.h")
            if name == "ops_frame_sha256" and not frame_sha256:
                raise Refused(f"{each.source} calls ops_frame_sha256: [needs] must say frame_sha256 = true")
            if not_called and re.fullmatch(not_called, name):
                raise Refused(f"{each.source} calls {name}: then another library would be measured")
        for name in sorted(each.indirect):
            raise Refused(f"{each.source}: {name} is chosen when the program is loaded: such code is not measured")
        for name in each.sections:
            if name.startswith(_LATER):
                raise Refused(f"{each.source} is compiled for the linker to compile: leave -flto out of the flags")
            if name.startswith(_CONSTRUCTORS):
                raise Refused(
                    f"{each.source} has code that runs before or after the program ({name}), where it is not measured: "
                    "call it from ops_open() or from the operations"
                )
            if not name.startswith(_SECTIONS):
                raise Refused(f"{each.source} has a section '{name}', which the program has no place for")
    for name in [*ALWAYS, *(OPERATIONS[operation] for operation in operations)]:
        if name not in defined:
            where = "" if name in ALWAYS else f" for {curve}, which implementation.toml names"
            raise Refused(f"adapter.c does not define {name}{where}")
    for each in objects:
        _check_instructions(each, _INSTRUCTIONS[architecture], prefix)


def _check_instructions(each: Object, refused: Mapping[str, str], prefix: str) -> None:
    words = subprocess.run([f"{prefix}objdump", "-d", str(each.path)], capture_output=True, text=True, check=True)
    function = ""
    for line in words.stdout.splitlines():
        named = _FUNCTION.match(line)
        if named:
            function = named[1]
            continue
        instruction = _LINE.match(line)
        if not instruction:
            continue
        for pattern, problem in refused.items():
            if re.fullmatch(pattern, instruction[1].removesuffix(".w").removesuffix(".n")):
                raise Refused(f"{each.source}: {function}() has the instruction '{instruction[1]}': {problem}")
