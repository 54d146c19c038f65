# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the validation: a figure of hardware, and the call of a program of ours that does the same."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from worldwise.libraries.boards import table_of
from worldwise.validation.figures import SETS, Figure, Set, load_figures
from worldwise.validation.programs import CIFRA, PROGRAMS, CodeFlash

# The program whose compilers and choices are those of a core's figures.
_LIB25519 = {
    "cortex-a53": "lib25519-a53",
    "cortex-a72": "lib25519-a72",
    "cortex-a76": "lib25519-a76",
    "neoverse-n1": "lib25519-a76",
}
# Cores of the A profile, whose figures are all called, and those of the M profile.
CORES = tuple(_LIB25519)
MCU_CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
_SOURCES = {"lib25519-20260614": "", "libntruprime-20241021": "libntruprime", "s2n-bignum": "s2n"}

# What wolfSSL's benchmark names -> the call, and its bytes; 0 of big numbers.
_WOLFSSL: Mapping[str, tuple[str, int]] = {
    "AES-128-CBC-enc": ("aes128-cbc", 1024),
    "AES-256-CBC-enc": ("aes256-cbc", 1024),
    "CHACHA": ("chacha20", 1024),
    "POLY1305": ("poly1305", 1024),
    "SHA-256": ("sha256", 1024),
    "SHA-512": ("sha512", 1024),
    "ECC 256 key gen": ("p256-keygen", 0),
    "ECDHE 256 agree": ("p256-ecdh", 0),
    "ECDSA 256 sign": ("p256-sign", 0),
    "ECDSA 256 verify": ("p256-verify", 0),
    "CURVE 25519 key gen": ("x25519-keygen", 0),
    "CURVE 25519 agree": ("x25519", 0),
    "ED 25519 key gen": ("ed25519-keygen", 0),
    "ED 25519 sign": ("ed25519-sign", 512),
    "ED 25519 verify": ("ed25519-verify", 512),
}
# The figures' build -> our program.
_BUILDS: Mapping[str, str] = {
    "STM32H753ZI (-O2, Thumb2 ARM ASM, SP-ASM Cortex M small)": "wolfssl-h753",
    "STM32H563ZI (No STM HW Crypto, SP Math ASM Cortex M)": "wolfssl-h563",
    "STM32F437 (STM Crypto/Hash Acceleration, -Os, SP-ASM Cortex-M)": "wolfssl-f437",
    "STM32F437 (No HW Crypto, -Os, FastMath)": "wolfssl-f437",
}
_IN_C = ("chacha20", "poly1305")


@dataclass(frozen=True, order=True)
class CellCall:
    """What a program calls: see the usage in guest/validation/cells.c. The compiler is the first word of its name."""

    program: str
    operation: str
    length: int
    implementation: str
    compiler: str

    @property
    def flash(self) -> CodeFlash | None:
        """The flash with wait states that its code is in; None if there is none."""
        return PROGRAMS[self.program].flash


@dataclass(frozen=True)
class Cell:
    """A figure, the set it belongs to, and what is called for it."""

    figure: Figure
    which: Set
    call: CellCall

    @property
    def cycles(self) -> float:
        """The figure in cycles of the call."""
        return cycles_of(self.figure, self.call)

    @property
    def table(self) -> str:
        """The name of the table that predicts it: its core's, and the flash's if there is one."""
        flash = self.call.flash
        return f"{self.figure.core} with {flash.waits} wait states of {flash.board}" if flash else self.figure.core


def call_of(figure: Figure) -> CellCall | None:
    """What stands for a figure; None if nothing here does."""
    if figure.source in _MCU:
        return _MCU[figure.source](figure)
    if figure.source not in _SOURCES or figure.core not in _LIB25519:
        return None
    program = _SOURCES[figure.source] or _LIB25519[figure.core]
    if program == "s2n":
        variant = "alt" if figure.file.rsplit("/", 1)[-1].startswith("alt-") else "plain"
        return CellCall(program, figure.what, 32, variant, "assembly")
    operation, implementation = figure.what.split()
    return CellCall(program, operation, figure.length or 0, implementation, figure.compiler.split()[0])


def _cifra(figure: Figure) -> CellCall | None:
    if figure.what not in CIFRA:
        return None
    how = "assembly" if "assembly" in figure.what else "compiled"
    return CellCall(f"cifra-{figure.core.removeprefix('cortex-')}", CIFRA[figure.what], 0, how, "gcc")


def _c25519(figure: Figure) -> CellCall | None:
    _, operation, length, _ = figure.what.split()
    return CellCall(f"c25519-{figure.core}", operation, 32, "compiled", "gcc") if length == "32" else None


def _wolfssl(figure: Figure) -> CellCall | None:
    if why_not_wolfssl(figure):
        return None
    program = _BUILDS[figure.build]
    operation, length = _WOLFSSL[figure.what]
    by_core = length == 0 or length == 512 or (program == "wolfssl-h753" and operation not in _IN_C)
    return CellCall(program, operation, length, "assembly" if by_core else "compiled", "gcc")


def _p256_m(figure: Figure) -> CellCall | None:
    return CellCall("p256-m", figure.what, 0, "compiled", "gcc") if figure.core == "cortex-m4" else None


def _p256_cortex_m4(figure: Figure) -> CellCall:
    return CellCall("p256-cortex-m4", figure.what, 0, "assembly", "gcc")


def why_not_wolfssl(figure: Figure) -> str:
    """Why nothing stands for a figure of wolfSSL; empty if something does."""
    if "FastMath" in figure.build and _WOLFSSL[figure.what][1] == 0:
        return "wolfSSL: FastMath's big numbers: with which of its options is not stated"
    if figure.board == "STM32H563ZI" and _WOLFSSL[figure.what][1]:
        return (
            "wolfSSL on the STM32H563ZI, C: the level of optimisation is not stated, and at -Os our programs have more "
            "instructions than the figures have cycles"
        )
    if "FastMath" in figure.build and figure.board == "STM32F437" and _WOLFSSL[figure.what][0] in _IN_C:
        return "wolfSSL on the STM32F437: the same C is in a figure of the other build already"
    if figure.build not in _BUILDS:
        return (
            "wolfSSL: whether caches are on is not stated, nor are the flash's wait states: the same ChaCha20 takes "
            "39 to 103 cycles a byte in these figures, and 16 on the STM32H753ZI with its caches on"
        )
    return ""


def why_not(figure: Figure) -> str:
    """Why nothing stands for a figure; empty if something does."""
    if call_of(figure):
        return ""
    match figure.source:
        case "wolfssl":
            return why_not_wolfssl(figure)
        case "cifra":
            return "cifra's AES of one block: the difference of two others of its figures"
        case "riot-c25519":
            return "c25519, messages of 16, 128 and 1,024 bytes: the same calls as of 32 bytes, within 0.7 %"
        case "p256-m":
            return "p256-m on the STM32F091: no file here describes the flash of that board"
        case "x25519-cortex-m4":
            return "X25519-Cortex-M4: its author added the cycles up by hand, and no registry has the code"
        case "slothy-m7":
            return "Keccak and NTTs of slothy on the M7: no registry has the code; a harness outside predicted them"
        case "coremark":
            return "CoreMark: other compilers, and no registry has the code"
    return ""


_MCU: Mapping[str, Callable[[Figure], CellCall | None]] = {
    "cifra": _cifra,
    "riot-c25519": _c25519,
    "wolfssl": _wolfssl,
    "p256-m": _p256_m,
    "p256-cortex-m4": _p256_cortex_m4,
}


def cycles_of(figure: Figure, call: CellCall) -> float:
    """A figure's value in cycles of its call: a time takes the board's clock."""
    mhz = float(figure.clock_mhz or 0)
    match figure.unit:
        case "cycles/byte":
            return figure.value * call.length
        case "us":
            return figure.value * mhz
        case "ms":
            return figure.value * mhz * 1000
    return float(figure.value)


def cells(sets: Sequence[Set] = SETS, cores: Sequence[str] = (*CORES, *MCU_CORES)) -> list[Cell]:
    """The cells of some sets and cores, in the figures' order. Raises WorldwiseError if a file of figures is wrong."""
    return [
        Cell(figure, which, call)
        for which in sets
        for figure in load_figures(which)
        if figure.core in cores and (call := call_of(figure))
    ]


def left_out() -> dict[tuple[str, str], int]:
    """How many figures of a core nothing stands for: by core and reason, in that order."""
    every = (figure for which in SETS for figure in load_figures(which))
    return dict(sorted(Counter((one.core, why) for one in every if (why := why_not(one))).items()))


def cell_tables(some: Iterable[Cell] | None = None) -> dict[str, str]:
    """The tables by which cells are predicted, by name; by default of all cells. Raises WorldwiseError."""
    found = {}
    for cell in cells() if some is None else some:
        if cell.table not in found:
            core, flash = cell.figure.core, cell.call.flash
            found[cell.table] = table_of(core, flash.board, flash.waits) if flash else table_of(core)
    return found
