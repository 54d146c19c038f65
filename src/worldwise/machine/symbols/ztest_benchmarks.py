# SPDX-License-Identifier: BSD-2-Clause
"""The benchmarks of Zephyr's ztest in an ELF file; only the process of `elf_files.reader` imports it.

Each is a structure in a section that the linker gathers, between the symbols `_KIND_list_start` and `_KIND_list_end`
(Zephyr's include/zephyr/linker/iterable_sections.h). Its members moved from release to release, so they are known by
what they point to: the function of the same name with `_fn` behind it, a text that its own name ends with, and a
structure of the list of suites, which begins with its name (subsys/testsuite/ztest/include/zephyr/benchmark.h).
"""

import struct
from collections.abc import Iterator
from typing import Any

from elftools.elf.sections import SymbolTableSection

_PREFIX = "z_ztest_benchmark_"
# Of each list the part that newer releases put into the names of its structures, and not into those of their functions.
_KINDS = {"ztest_benchmark": "", "ztest_benchmark_manual": "manual_", "ztest_benchmark_timed": "timed_"}
_SUITES = "ztest_benchmark_suite"
# Strangers' files decide: bytes of a structure that are looked at, and of a text.
_MOST_BYTES, _MOST_TEXT = 256, 256


class _Memory:
    """What is in a file's memory when it is started."""

    def __init__(self, file: Any) -> None:
        self._word = file.word
        self._parts = [
            (int(one["sh_addr"]), one.data())
            for one in file.elf.iter_sections()
            if one["sh_type"] != "SHT_NOBITS" and one["sh_flags"] & 2
        ]

    def _at(self, address: int, size: int) -> bytes:
        for start, content in self._parts:
            if start <= address < start + len(content):
                return bytes(content[address - start : address - start + size])
        return b""

    def words(self, address: int, size: int) -> list[int]:
        """The words from an address on."""
        content = self._at(address, min(size, _MOST_BYTES))
        return [word for (word,) in struct.iter_unpack(self._word, content[: len(content) // 4 * 4])]

    def text(self, address: int) -> str:
        """The text at an address; empty if none is there."""
        found, end, _ = self._at(address, _MOST_TEXT).partition(b"\0")
        return found.decode("ascii", "replace") if end and found.isascii() and found.decode().isprintable() else ""


def ztest_benchmarks(file: Any) -> list[list[Any]]:
    """The benchmarks, in the order of their lists: suite, name, kind (empty, `manual_` or `timed_`), and the address of
    the function that is one iteration.
    """
    functions: dict[str, list[int]] = {}
    objects: dict[int, tuple[str, int]] = {}
    bounds: dict[str, int] = {}
    for table in file.elf.iter_sections():
        for one in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
            kind, value, name = one["st_info"]["type"], int(one["st_value"]), str(one.name)
            if one["st_shndx"] == "SHN_UNDEF":
                continue
            if kind == "STT_FUNC":
                functions.setdefault(_plain(name), []).append(value & ~1)
            elif kind == "STT_OBJECT":
                objects[value] = name, int(one["st_size"])
            if name.startswith("_ztest_benchmark") and name.endswith(("_list_start", "_list_end")):
                bounds[name] = value
    if not bounds:
        return []
    memory = _Memory(file)
    suites = {start: memory.text((memory.words(start, 4) or [0])[0]) for start, _, _ in _in(_SUITES, objects, bounds)}
    found: list[list[Any]] = []
    for kind, part in _KINDS.items():
        for start, symbol, size in _in(kind, objects, bounds):
            words = memory.words(start, size)
            whole = _plain(symbol)
            short = f"{_PREFIX}{whole.removeprefix(_PREFIX + part)}" if part and whole.startswith(_PREFIX) else whole
            runs = {address for name in (f"{short}_fn", f"{whole}_fn") for address in functions.get(name, ())}
            run = next((word & ~1 for word in words if word & ~1 in runs), None)
            name = next((text for word in words if (text := memory.text(word)) and whole.endswith(text)), "")
            suite = next((suites[word] for word in words if suites.get(word)), "")
            if run is not None and name and suite:
                found.append([suite, name, part, run])
    return found


def _plain(name: str) -> str:
    """A symbol without what link time optimisation adds."""
    return name.partition(".")[0]


def _in(kind: str, objects: dict[int, tuple[str, int]], bounds: dict[str, int]) -> Iterator[tuple[int, str, int]]:
    """The structures of a list: address, symbol, bytes."""
    first, end = bounds.get(f"_{kind}_list_start", 0), bounds.get(f"_{kind}_list_end", 0)
    for start in sorted(objects):
        if first <= start < end:
            yield start, *objects[start]
