# SPDX-License-Identifier: BSD-2-Clause
"""The machine of own code for Armv7-A: Debian's kernel for such cores on QEMU's virt, whose generic timer counts.

The catalogue's machine for Armv7-A is a Cortex-A9: it has no such timer, and a reading of its counter is a system call.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from worldwise.lab.image import Recipe
from worldwise.machine.machine import DETERMINISTIC_MACHINE
from worldwise.targets.architecture import ARCHITECTURES, Architecture
from worldwise.targets.guest import guest_trees

if TYPE_CHECKING:
    from worldwise.targets.linux import PlainTarget

CORE = "cortex-a7"
_A9 = ARCHITECTURES["linux-armv7"]
_TIMER = "timer.h"
# The header stands before each source, in place of a counter that is a system call.
FLAGS = (*_A9.flags, "-include", f"/in/guest/own/{_TIMER}")
# Where the program that starts own code is loaded: above programs, below the first process and libraries.
LAUNCHER_ADDRESS = 0x50000000
# What stands from that address on is Linux: its modules begin where user space ends, and it stands behind them.
KERNEL = 0xBF000000
# Where it reads the counter: guest/own/timer.h.
BEGINS, ENDS = "worldwise_life_begins", "worldwise_life_ends"


@dataclass(frozen=True)
class _TimedArchitecture(Architecture):
    """An architecture whose counter is that of guest/own/timer.h."""

    def kernel(self) -> Recipe:
        """Debian's kernel for Armv7-A."""
        return _A9.kernel()

    def initramfs(self) -> Recipe:
        """The user space without the measured program."""
        return _timed(super().initramfs())

    def with_symbols(self) -> Recipe:
        """The same user space with /bin/symbols besides."""
        return _timed(super().with_symbols())


def _timed(recipe: Recipe) -> Recipe:
    trees = {**recipe.trees, **guest_trees(_TIMER, room="own")}
    return replace(recipe, name=f"own-{recipe.name}", trees=trees)


ARCHITECTURE = _TimedArchitecture(
    debian=_A9.debian,
    triplet=_A9.triplet,
    flags=FLAGS,
    counter=(),
    init_address=_A9.init_address,
    # highmem=off: such a kernel reaches 4 GiB alone. cntfrq: the timer then ticks once per instruction.
    machine=(
        *("-M", f"virt,highmem=off,gic-version=2,{DETERMINISTIC_MACHINE}", "-smp", "1", "-m", "1024"),
        *("-cpu", "{core},cntfrq=1000000000"),
    ),
)


def target() -> "PlainTarget":
    """The machine, as one of those of plain Linux."""
    # `exec` does without it, and it takes long to load.
    from worldwise.targets.linux import PlainTarget

    return PlainTarget("own-armv7", ARCHITECTURE)


def launcher(loopback: bool = False) -> Recipe:
    """The program that starts own code and reads the counter around its life: see own_code.launcher."""
    return Recipe(
        name="own-launcher-armv7" + "-loopback" * loopback,
        script="own-launcher.sh",
        outputs=("launch", "crash"),
        trees=guest_trees("bench", "linux", "own"),
        settings={"PREFIX": _A9.prefix, "FLAGS": " ".join(FLAGS), "ADDRESS": f"{LAUNCHER_ADDRESS:#x}"}
        | ({"DEFINES": "-DLOOPBACK"} if loopback else {}),
    )


def libraries() -> Recipe:
    """The C library of the lab's compiler for such programs, and the compiler's own."""
    return Recipe(
        name="own-libraries-armv7",
        script="own-libraries-armv7.sh",
        outputs=("libc.so.6", "ld-linux-armhf.so.3"),
        settings={"TRIPLET": _A9.triplet},
    )
