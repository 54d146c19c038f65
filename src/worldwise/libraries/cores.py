# SPDX-License-Identifier: BSD-2-Clause
"""What a Cortex-M has, by its architecture; the cores of QEMU's other machines, as implementation.toml names them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The first is the default.
ARMV8_CORES = ("cortex-a72", "cortex-a53", "cortex-a76")


@dataclass(frozen=True)
class PlainMachine:
    """A target of plain Linux.

    Attributes:
        core: the one that stands for its architecture in implementation.toml.
        title: its name in titles of tables.
    """

    core: str
    title: str


# Each has a row in worldwise.targets.architecture too, which says what QEMU and the compiler are given.
PLAIN_MACHINES: Mapping[str, PlainMachine] = {
    "linux-armv7": PlainMachine("cortex-a9", "Linux on Armv7-A"),
    "linux-armv8": PlainMachine(ARMV8_CORES[0], "Linux on Armv8-A"),
}
PLAIN_TARGETS: Mapping[str, str] = {name: machine.core for name, machine in PLAIN_MACHINES.items()}

# The core of the machine with OP-TEE, as implementation.toml names it.
TEE_CORE = "cortex-a72"

# What a library can ask of a Cortex-M, as implementation.toml names it, and in words. Whether there is a floating-point
# unit follows from the compiler's flags, which can be a board's own: guest/mcu/core.h asks the compiler.
FEATURES: Mapping[str, str] = {
    "mainline": "Thumb-2",
    "dsp": "the DSP extension",
    "trustzone": "TrustZone",
    "unaligned": "unaligned access",
}
# By architecture, as cores/*.toml write it. The compiler says the same of each core: tests/machine/test_cores.py.
ARCHITECTURES: Mapping[str, frozenset[str]] = {
    "Armv6-M": frozenset(),
    "Armv7-M": frozenset({"mainline", "unaligned"}),
    "Armv7E-M": frozenset({"mainline", "unaligned", "dsp"}),
    "Armv8-M Baseline": frozenset({"trustzone"}),
    "Armv8-M Mainline": frozenset({"mainline", "unaligned", "dsp", "trustzone"}),
    "Armv8.1-M Mainline": frozenset({"mainline", "unaligned", "dsp", "trustzone"}),
}


def features_of(architecture: str, flags: Sequence[str]) -> frozenset[str] | None:
    """What a core of an architecture has when it is compiled for with these flags; None if it is no Cortex-M.

    Raises ValueError for an architecture of the M profile that is not known.
    """
    if architecture in ARCHITECTURES:
        found = ARCHITECTURES[architecture]
        # The one feature that Armv8-M Mainline leaves to the maker of a chip, and that a compiler's flag names.
        return found - {"dsp"} if any("+nodsp" in flag for flag in flags) else found
    if "-M" in architecture:
        raise ValueError(f"'{architecture}' is not known. Allowed of the M profile: {', '.join(ARCHITECTURES)}")
    return None
