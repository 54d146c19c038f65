# SPDX-License-Identifier: BSD-2-Clause
"""The instructions of a program's blocks: read from its file, counted by kind, and given to llvm-mca."""

import io
import json
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.validation.bench import Block

Place = tuple[int, int]
"""A block's address and length in instructions."""

# llvm-mca repeats a block this often; the cycles of one pass are the total divided by it.
ITERATIONS = 20
_ATTRIBUTES = "-mattr=+v8.2a,+crypto"
_TIMEOUT = 1200


class Code:
    """The code of a static program, by address. Raises WorldwiseError if the file is no such program."""

    def __init__(self, program: Path) -> None:
        elf = ELFFile(io.BytesIO(program.read_bytes()))
        self._segments = [
            (segment["p_vaddr"], segment.data()) for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"
        ]
        self._name = program

    def words(self, place: Place) -> tuple[int, ...]:
        """The instructions of a block, as numbers. Raises WorldwiseError if they are not in the program."""
        pc, instructions = place
        for begin, content in self._segments:
            if begin <= pc and pc + 4 * instructions <= begin + len(content):
                return struct.unpack_from(f"<{instructions}I", content, pc - begin)
        raise WorldwiseError(f"{self._name}: has no code at {pc:#x}")


def is_vector(word: int) -> bool:
    """Whether an instruction of A64 is one of SIMD or floating point, or loads or stores their registers."""
    group = word >> 25 & 0b1111
    return group & 0b0111 == 0b0111 or (group & 0b0101 == 0b0100 and bool(word >> 26 & 1))


def vector_share(code: Code, blocks: Iterable[Block]) -> float:
    """The per cent of executed instructions that are SIMD or floating point."""
    vector = every = 0
    for block in blocks:
        every += block.instructions * block.times
        vector += block.times * sum(map(is_vector, code.words((block.pc, block.instructions))))
    return 100 * vector / every if every else 0.0


def mca_cycles(lab: Lab, code: Code, places: Sequence[Place], core: str) -> dict[Place, float]:
    """Cycles of one pass through each block, as llvm-mca sees it: alone, repeated, all loads in the first cache.

    Args:
        lab: the root with llvm-mca.
        code: the program.
        places: its blocks.
        core: as LLVM names it.

    Raises WorldwiseError if llvm-mca fails or does not know an instruction.
    """
    content = {place: code.words(place) for place in places}
    blocks = list(dict.fromkeys(content.values()))
    words = [word for block in blocks for word in block]
    source = "\n".join(" ".join(f"0x{byte:02x}" for byte in struct.pack("<I", word)) for word in words)
    command = ["llvm-mc-19", "--disassemble", "-triple=aarch64", _ATTRIBUTES]
    text = lab.run(command, stdin=source + "\n", timeout=_TIMEOUT).stdout
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip() != ".text"]
    if len(lines) != len(words):
        raise WorldwiseError(f"llvm-mc knows {len(lines):,} of {len(words):,} instructions")
    # It takes a call for 100 cycles; a branch is what the call itself costs.
    lines = [re.sub(r"^bl(r?)\t", r"b\1\t", line) for line in lines]
    at, regions = 0, []
    for block in blocks:
        regions += ["# LLVM-MCA-BEGIN", *lines[at : at + len(block)], "# LLVM-MCA-END"]
        at += len(block)
    views = ("-instruction-info=0", "-resource-pressure=0", "--json")
    command = ["llvm-mca-19", "-mtriple=aarch64", _ATTRIBUTES, f"-mcpu={core}", f"-iterations={ITERATIONS}", *views]
    said = json.loads(lab.run(command, stdin="\n".join(regions) + "\n", timeout=_TIMEOUT).stdout)
    total = [region["SummaryView"]["TotalCycles"] for region in said["CodeRegions"]]
    cycles = dict(zip(blocks, total, strict=True))
    return {place: cycles[block] / ITERATIONS for place, block in content.items()}


def weighted(blocks: Iterable[Block], cycles: Mapping[Place, float]) -> float:
    """Cycles of all passes through blocks."""
    return sum(block.times * cycles[block.pc, block.instructions] for block in blocks)
