# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the validation: a figure of hardware, and the call of a program of ours that does the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from worldwise.validation.figures import SETS, Figure, Set, load_figures

# A first call, and the warm ones.
CALLS = 5

# The program whose compilers and choices are those of a core's figures.
_LIB25519 = {
    "cortex-a53": "lib25519-a53",
    "cortex-a72": "lib25519-a72",
    "cortex-a76": "lib25519-a76",
    "neoverse-n1": "lib25519-a76",
}
CORES = tuple(_LIB25519)
_SOURCES = {"lib25519-20260614": "", "libntruprime-20241021": "libntruprime", "s2n-bignum": "s2n"}


@dataclass(frozen=True, order=True)
class Call:
    """What a program calls: see the usage in guest/validation/cells.c. The compiler is the first word of its name."""

    program: str
    operation: str
    length: int
    implementation: str
    compiler: str


@dataclass(frozen=True)
class Cell:
    """A figure, the set it belongs to, and what is called for it."""

    figure: Figure
    which: Set
    call: Call


def call_of(figure: Figure) -> Call | None:
    """What stands for a figure; None if nothing here does."""
    if figure.source not in _SOURCES or figure.core not in _LIB25519:
        return None
    program = _SOURCES[figure.source] or _LIB25519[figure.core]
    if program == "s2n":
        variant = "alt" if figure.file.rsplit("/", 1)[-1].startswith("alt-") else "plain"
        return Call(program, figure.what, 32, variant, "assembly")
    operation, implementation = figure.what.split()
    return Call(program, operation, figure.length or 0, implementation, figure.compiler.split()[0])


def cells(sets: Sequence[Set] = SETS, cores: Sequence[str] = CORES) -> list[Cell]:
    """The cells of some sets and cores, in the figures' order. Raises WorldwiseError if a file of figures is wrong."""
    return [
        Cell(figure, which, call)
        for which in sets
        for figure in load_figures(which)
        if figure.core in cores and (call := call_of(figure))
    ]
