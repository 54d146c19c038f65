# SPDX-License-Identifier: BSD-2-Clause
"""The cores without a file in cores/: those of QEMU's machines, as implementation.toml names them."""

from collections.abc import Mapping
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
