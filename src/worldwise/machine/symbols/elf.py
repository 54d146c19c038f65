# SPDX-License-Identifier: BSD-2-Clause
"""Symbols of an ELF file: functions, their source files, executable code; read once and kept in the cache."""

from pathlib import Path

from worldwise.machine.elf_files.answers import ReadElf
from worldwise.machine.elf_files.questions import ask

PAGE = 4096


def build_id(elf: bytes, name: str, cache: Path) -> str:
    """The build id of an ELF file in hexadecimal, empty if it has none; `name` is for errors. Raises WorldwiseError."""
    (found,) = ask(elf, ("build_id",), what=f"the symbols of {name}", cache=cache)
    return str(found)


def read_cached(elf: bytes, debug: bytes, name: str, cache: Path) -> tuple[ReadElf, bool]:
    """What an ELF file has, and whether it or `debug` has debug information. Raises WorldwiseError."""
    read, debugged = ask(elf, ("table",), ("debugged",), what=f"the symbols of {name}", debug=debug, cache=cache)
    return read, bool(debugged)
