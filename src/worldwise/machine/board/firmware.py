# SPDX-License-Identifier: BSD-2-Clause
"""A microcontroller's program as a debugger sees it: what is loaded where, and where it meets the host."""

import functools
import struct
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.questions import ask, content_of

# The instruction of a semihosting call: BKPT 0xAB.
SEMIHOSTING = b"\xab\xbe"


@dataclass(frozen=True)
class Firmware:
    """A program in the format of guest/mcu.

    Attributes:
        segments: address and content of what stands in flash.
        vectors: the address of the vector table.
        stack: the main stack pointer at reset.
        entry: where the core begins.
        words_at: the instruction after the one that asks for the command line.
        ends_at: the function that ends the program, its status in r0.
        sent_at: where it counts the records that it sent over a serial line; 0 if it sends none so.
    """

    segments: tuple[tuple[int, bytes], ...]
    vectors: int
    stack: int
    entry: int
    words_at: int
    ends_at: int
    sent_at: int = 0


@functools.cache
def read_firmware(path: Path) -> Firmware:
    """The program in an ELF file. Raises WorldwiseError unless it is a program of guest/mcu."""
    content = content_of(path, str(path))
    names = ("text_begin", "semihost_exit", "serial_sent")
    questions = [("segments",), ("function_code", "main"), *(("symbol_address", name) for name in names)]
    loaded, main, vectors, ends, sent = ask(content, *questions, what=str(path))
    for name, found in (("symbol text_begin", vectors), ("function main", main), ("symbol semihost_exit", ends)):
        if found is None:
            raise WorldwiseError(f"{path} has no {name}")
    segments = tuple((place, content[offset : offset + size]) for offset, size, _, place, _ in loaded if size)
    try:
        begin, flash = next(each for each in segments if each[0] <= vectors < each[0] + len(each[1]))
        stack, entry = struct.unpack_from("<2I", flash, vectors - begin)
    except (StopIteration, struct.error):
        raise WorldwiseError(f"{path}: the loaded sections lack its vector table") from None
    start, code = main[0], bytes.fromhex(main[1])
    calls = [at for at in range(0, len(code), 2) if code[at : at + 2] == SEMIHOSTING]
    if len(calls) != 1:
        raise WorldwiseError(f"{path}: main() has {len(calls)} semihosting calls instead of one")
    return Firmware(segments, vectors, stack, entry & ~1, start + calls[0] + 2, ends & ~1, sent or 0)
