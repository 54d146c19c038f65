# SPDX-License-Identifier: BSD-2-Clause
"""The instructions of a program's blocks: read from its file, counted by kind, and given to llvm-mca."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.machine.elf_files.questions import ask, content_of
from worldwise.validation.bench import ExecutedBlock

Place = tuple[int, int]
"""A block's address and length in instructions."""

# llvm-mca repeats a block this often; the cycles of one pass are the total divided by it.
ITERATIONS = 20
# The architecture, as llvm-mc and llvm-mca get it.
_A64 = ("-triple=aarch64", "-mattr=+v8.2a,+crypto")
_T32: Mapping[str, tuple[str, ...]] = {
    "cortex-m3": ("-triple=thumbv7m",),
    "cortex-m4": ("-triple=thumbv7em",),
    "cortex-m7": ("-triple=thumbv7em",),
    "cortex-m33": ("-triple=thumbv8m.main", "-mattr=+dsp"),
}
_SKIP = "-skip-unsupported-instructions=lack-sched"
# The core of which LLVM has no model.
WITHOUT_MCA = frozenset({"cortex-m0"})
_TIMEOUT = 1200
# From this upper byte of the first halfword on, an instruction of T32 has two.
_WIDE = 0b11101000
# A call, as llvm-mc writes it.
CALL = re.compile(r"^bl[rx]?\t")


class Code:
    """The code of a static program, by address. Raises WorldwiseError if the file is no such program.

    Attributes:
        is_a64: whether it is A64; else it is T32.
    """

    def __init__(self, program: Path) -> None:
        content = content_of(program, str(program))
        machine, segments = ask(content, ("machine",), ("segments",), what=str(program))
        self.is_a64 = machine == "EM_AARCH64"
        self.segments = [(address, content[offset : offset + size]) for offset, size, address, _, _ in segments]
        self.name = program

    def words(self, place: Place) -> tuple[int, ...]:
        """The instructions of a block, as numbers. Raises WorldwiseError if they are not in the program."""
        return tuple(int.from_bytes(code, "little") for code in self.instructions(place))

    def instructions(self, place: Place) -> tuple[bytes, ...]:
        """The instructions of a block, as they lie in memory. Raises WorldwiseError if they are not in the program."""
        pc, instructions = place
        for begin, content in self.segments:
            at = pc - begin
            found: list[bytes] = []
            while at >= 0 and len(found) < instructions and at + 2 <= len(content):
                size = 4 if self.is_a64 or content[at + 1] >= _WIDE else 2
                found.append(content[at : at + size])
                at += size
            if len(found) == instructions and at <= len(content):
                return tuple(found)
        raise WorldwiseError(f"{self.name}: has no code at {pc:#x}")


def is_vector(word: int) -> bool:
    """Whether an instruction of A64 is one of SIMD or floating point, or loads or stores their registers."""
    group = word >> 25 & 0b1111
    return group & 0b0111 == 0b0111 or (group & 0b0101 == 0b0100 and bool(word >> 26 & 1))


def vector_share(code: Code, blocks: Iterable[ExecutedBlock]) -> float:
    """The per cent of executed instructions that are SIMD or floating point; programs in T32 use neither."""
    if not code.is_a64:
        return 0.0
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
    content = {place: code.instructions(place) for place in places}
    blocks = list(dict.fromkeys(content.values()))
    every = [instruction for block in blocks for instruction in block]
    source = "\n".join(" ".join(f"0x{byte:02x}" for byte in instruction) for instruction in every)
    about = _A64 if code.is_a64 else _T32[core]
    text = lab.run(["llvm-mc-19", "--disassemble", *about], stdin=source + "\n", timeout=_TIMEOUT).stdout
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip() != ".text"]
    if len(lines) != len(every):
        raise WorldwiseError(f"llvm-mc knows {len(lines):,} of {len(every):,} instructions")
    # It takes a call for 100 cycles; a branch is what the call itself costs.
    lines = [CALL.sub(as_branch, line) for line in lines]
    at, regions = 0, []
    for block in blocks:
        regions += ["# LLVM-MCA-BEGIN", *lines[at : at + len(block)], "# LLVM-MCA-END"]
        at += len(block)
    views = ("-instruction-info=0", "-resource-pressure=0", "--json")
    # Its models of the M profile have no IT, which only says what the next instructions depend on.
    about = (*(word.replace("-triple", "-mtriple") for word in about), *([] if code.is_a64 else [_SKIP]))
    command = ["llvm-mca-19", *about, f"-mcpu={core}", f"-iterations={ITERATIONS}", *views]
    said = json.loads(lab.run(command, stdin="\n".join(regions) + "\n", timeout=_TIMEOUT).stdout)
    total = [region["SummaryView"]["TotalCycles"] for region in said["CodeRegions"]]
    cycles = dict(zip(blocks, total, strict=True))
    return {place: cycles[block] / ITERATIONS for place, block in content.items()}


def as_branch(call: re.Match[str]) -> str:
    """The branch that stands for a call: b for bl, br for blr, bx for blx."""
    return "b" + call[0].removeprefix("bl")


def weighted(blocks: Iterable[ExecutedBlock], cycles: Mapping[Place, float]) -> float:
    """Cycles of all passes through blocks."""
    return sum(block.times * cycles[block.pc, block.instructions] for block in blocks)
