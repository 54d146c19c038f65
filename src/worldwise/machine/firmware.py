# SPDX-License-Identifier: BSD-2-Clause
"""A microcontroller's program as a debugger sees it: what is loaded where, and where it meets the host."""

import functools
import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf import function_code, symbol_address

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
    """The program in an ELF file. Raises WorldwiseError if it is none of guest/mcu."""
    with path.open("rb") as file:
        segments = tuple(
            (int(segment["p_paddr"]), segment.data())
            for segment in ELFFile(file).iter_segments()
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
        )
    vectors = symbol_address(path, "text_begin")
    begin, content = next(each for each in segments if each[0] <= vectors < each[0] + len(each[1]))
    stack, entry = struct.unpack_from("<2I", content, vectors - begin)
    start, code = function_code(path, "main")
    calls = [at for at in range(0, len(code), 2) if code[at : at + 2] == SEMIHOSTING]
    if len(calls) != 1:
        raise WorldwiseError(f"{path}: main() has {len(calls)} semihosting calls instead of one")
    return Firmware(
        segments,
        vectors,
        stack,
        entry & ~1,
        start + calls[0] + 2,
        symbol_address(path, "semihost_exit") & ~1,
        _sent_at(path),
    )


def _sent_at(path: Path) -> int:
    try:
        return symbol_address(path, "serial_sent")
    except WorldwiseError:
        return 0
