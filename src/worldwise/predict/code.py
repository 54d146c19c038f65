# SPDX-License-Identifier: BSD-2-Clause
"""What A64 code has that decides whether figures are valid for it: vectors, and events that the models do not know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from worldwise.records.trace import Block


@dataclass(frozen=True)
class Facts:
    """How many instructions of a kind a block has.

    Attributes:
        vector: of SIMD and floating point, with their loads and stores.
        returns: ERET.
        barriers: DMB, DSB, ISB and the like.
        maintenance: of TLBs and caches.
        atomics: exclusive, acquiring, releasing and atomic accesses.
    """

    vector: int = 0
    returns: int = 0
    barriers: int = 0
    maintenance: int = 0
    atomics: int = 0

    @property
    def events(self) -> bool:
        """Whether there is anything but vectors."""
        return bool(self.returns or self.barriers or self.maintenance or self.atomics)


# Arm ARM, C4.1: bits 28 to 25 are x111 for SIMD data processing, x1x0 for loads and stores, whose bit 26 says SIMD.
_KINDS: Mapping[str, Callable[[int], bool]] = {
    "vector": lambda word: word & 0x0C000000 == 0x0C000000,
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
