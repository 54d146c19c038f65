# SPDX-License-Identifier: BSD-2-Clause
"""What A64 code has that decides which figures stand for it: vectors, floating point, events that no model knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from worldwise.records.trace_records import Block


@dataclass(frozen=True)
class Facts:
    """How many instructions of a kind a block has.

    Attributes:
        vector: of SIMD and floating point, with their loads and stores.
        floats: that compute with floating-point numbers, scalar or in vectors; copies of registers do not count.
        returns: ERET.
        barriers: DMB, DSB, ISB and the like.
        maintenance: of TLBs and caches.
        atomics: exclusive, acquiring, releasing and atomic accesses.
    """

    vector: int = 0
    floats: int = 0
    returns: int = 0
    barriers: int = 0
    maintenance: int = 0
    atomics: int = 0

    @property
    def events(self) -> bool:
        """Whether there is anything but vectors."""
        return bool(self.returns or self.barriers or self.maintenance or self.atomics)


def is_float(word: int) -> bool:
    """Whether an A64 instruction computes with floating-point numbers (Arm ARM, C4.1.95)."""
    group = word >> 24 & 0x1F
    if word & 0x60000000 == 0 and group in (0x1E, 0x1F):
        # Scalar. Not FMOV: between registers of both kinds, of a constant, and from one register to another.
        moves = (
            word & 0x0026FC00 == 0x00260000,
            word & 0x00201C00 == 0x00201000,
            word & 0x003FFC00 == 0x00204000,
        )
        return group == 0x1F or not any(moves)
    if word >> 31:
        # Cryptography.
        return False
    if group in (0x0F, 0x1F):
        # By element, and shifts: conversions to and from fixed point.
        if word & 0x400:
            return bool(word & 0x00F80000) and not word & 0x00800000 and word >> 11 & 0x1F in (0x1C, 0x1F)
        return word >> 12 & 0xF in (1, 5, 9)
    return group in (0x0E, 0x1E) and _vector_float(word)


def _vector_float(word: int) -> bool:
    """Of three registers, of two, across lanes and pairwise."""
    if not word & 0x00200000:
        # FCMLA and FCADD.
        return bool(word & 0x20000000) and word & 0xC400 == 0xC400
    if word & 0x400:
        return word >> 11 & 0x1F >= 0x18
    opcode = word >> 12 & 0x1F
    match word >> 17 & 0x1F:
        case 0x10:
            return 0x0C <= opcode <= 0x0F or opcode >= 0x16
        case 0x18:
            return opcode in (0x0C, 0x0D, 0x0F)
    return False


# Arm ARM, C4.1: bits 28 to 25 are x111 for SIMD data processing, x1x0 for loads and stores, whose bit 26 says SIMD.
_KINDS: Mapping[str, Callable[[int], bool]] = {
    "vector": lambda word: word & 0x0C000000 == 0x0C000000,
    "floats": is_float,
    "returns": lambda word: word & 0xFFFFF3FF == 0xD69F03E0 or word & 0xFFFFFBFF == 0xD69F0BFF,
    "barriers": lambda word: word & 0xFFFFF01F == 0xD503301F,
    # SYS with CRn 7 (caches) and 8 (TLBs).
    "maintenance": lambda word: word & 0xFFF8F000 in (0xD5087000, 0xD5088000),
    "atomics": lambda word: word & 0x3F000000 == 0x08000000 or word & 0x3F200C00 == 0x38200000,
}


def facts_of(block: Block) -> Facts:
    """The facts of a block of A64 code."""
    code = bytes.fromhex(block.code)
    words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)]
    return Facts(**{name: sum(map(takes, words)) for name, takes in _KINDS.items()})
