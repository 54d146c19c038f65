# SPDX-License-Identifier: BSD-2-Clause
"""A scheme in pqm4's layout as firmware for one of QEMU's machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.choices import choice_error
from worldwise.lab.image import Recipe
from worldwise.libraries.boards import load_core
from worldwise.targets.guest import guest_trees

FIRMWARE, SIZES = "firmware.elf", "sizes"


@dataclass(frozen=True)
class MachineMemory:
    """A machine's core, the name of a file of cores/, and its memory: where it begins, and how many bytes it has."""

    core: str
    code: tuple[int, int]
    ram: tuple[int, int]


_KIB, _MIB = 2**10, 2**20
_RAM = 0x20000000
# Those of M_MACHINES with a core of each kind and the most memory. pqm4's own emulated machine is the mps2-an386.
PLACES: Mapping[str, MachineMemory] = {
    "microbit": MachineMemory("cortex-m0", (0, 256 * _KIB), (_RAM, 16 * _KIB)),
    "mps2-an385": MachineMemory("cortex-m3", (0, 4 * _MIB), (_RAM, 4 * _MIB)),
    "mps2-an386": MachineMemory("cortex-m4", (0, 4 * _MIB), (_RAM, 4 * _MIB)),
    "mps2-an500": MachineMemory("cortex-m7", (0, 4 * _MIB), (_RAM, 4 * _MIB)),
    "netduinoplus2": MachineMemory("cortex-m4", (0x08000000, _MIB), (_RAM, 128 * _KIB)),
    # The machine's M0 executes the same instructions as an M0+.
    "microbit-4m": MachineMemory("cortex-m0plus", (0, 4 * _MIB), (_RAM, 4 * _MIB)),
    # Both start in the secure state, and stay there: memory by its secure addresses.
    "mps2-an505": MachineMemory("cortex-m33", (0x10000000, 4 * _MIB), (0x38000000, 4 * _MIB)),
    "mps3-an547": MachineMemory("cortex-m55", (0x10000000, 512 * _KIB), (0x31000000, 4 * _MIB)),
}


def place_of(machine: str) -> MachineMemory:
    """Where a scheme lies in a machine. Raises WorldwiseError listing all machines."""
    if machine not in PLACES:
        raise choice_error("--machine", machine, [f"{name} ({place.core})" for name, place in PLACES.items()])
    return PLACES[machine]


def has_thumb2(machine: str) -> bool:
    """Whether a machine's core executes pqm4's assembly: cores with the mainline extension do."""
    return "mainline" in (load_core(place_of(machine).core).features or ())


def firmware(
    name: str, scheme: Path, common: Path, compiled: Sequence[str], settings: Mapping[str, str], at: MachineMemory
) -> Recipe:
    """The recipe. `scheme` and `common` are folders with copies of the sources, `compiled` are files of the second.

    `settings` has PREFIX, KEM and RUNS of own-pqm4.sh.
    """
    return Recipe(
        name=f"own-pqm4-{name}",
        script="own-pqm4.sh",
        outputs=(FIRMWARE, SIZES),
        trees={"scheme": scheme, "common": common, **guest_trees("pqm4")},
        settings={
            **settings,
            "COMMON": " ".join(compiled),
            "FLAGS": " ".join(load_core(at.core).flags),
            "CODE_AT": f"{at.code[0]:#x}",
            "CODE_SIZE": str(at.code[1]),
            "RAM_AT": f"{at.ram[0]:#x}",
            "RAM_SIZE": str(at.ram[1]),
        },
    )
