# SPDX-License-Identifier: BSD-2-Clause
"""The machines of plain Linux, one for each architecture: QEMU's arguments, kernel and user space."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from worldwise.lab.image import Recipe
from worldwise.libraries.cores import PLAIN_MACHINES
from worldwise.machine.machine import DETERMINISM, DETERMINISTIC_MACHINE, LEAST_SKIP
from worldwise.targets.guest import guest_trees, kernel

# What QEMU loads to boot the machine, and no more once its state is saved.
BOOT_FILES = ("Image", "initramfs.cpio")
# The source that only a 32-bit core's counter needs.
_PERF_COUNTER = "linux/perf_counter.c"
_ARMMP = "linux-image-armmp"
# nokaslr, norandmaps: fixed addresses, which can be named after the run. cryptomgr.notests: the kernel's self-tests
# would share the core with the first case.
_BOOT = "console=ttyAMA0 loglevel=6 panic=-1 nokaslr norandmaps cryptomgr.notests"
# Linux's command line of a quiet machine: no random offset of its stack in each system call, and leave for the first
# process to write to the interrupt controller.
QUIET = ("randomize_kstack_offset=off", "iomem=relaxed")


@dataclass(frozen=True)
class Architecture:
    """What differs between the machines.

    Attributes:
        debian: Debian's name of the architecture.
        triplet: the triplet of its libraries and cross tools.
        flags: compiler flags for it, the same as for Debian's own packages.
        counter: sources of the bench that its counter needs besides those of every program.
        init_address: where the first process is loaded, far from any other program.
        machine: QEMU's arguments for the machine; `{core}` stands for the case's core.
        device_tree: the board's device tree in the kernel's package; empty if QEMU makes one.
        boot: more of the kernel's command line.
        least_skip: a number of instructions larger than two readings of the counter take.
    """

    debian: str
    triplet: str
    flags: tuple[str, ...]
    counter: tuple[str, ...]
    init_address: str
    machine: tuple[str, ...]
    device_tree: str = ""
    boot: tuple[str, ...] = ()
    least_skip: int = LEAST_SKIP

    @property
    def prefix(self) -> str:
        """The prefix of the cross tools."""
        return f"{self.triplet}-"

    @property
    def instructions(self) -> str:
        """The key of the instructions that recipes/objects.py refuses."""
        return self.triplet.partition("-")[0]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the machine needs from the kernel's image besides the kernel."""
        return ("board.dtb",) if self.device_tree else ()

    def arguments(self, core: str, words: Iterable[str]) -> tuple[str, ...]:
        """QEMU's arguments for the machine with that core, and more words of Linux's command line."""
        return (
            *(word.format(core=core) for word in self.machine),
            *(word for switch in DETERMINISM for word in switch),
            "-kernel", "/machine/Image",
            "-initrd", "/machine/initramfs.cpio",
            "-append", " ".join((_BOOT, *self.boot, *words)),
            "-semihosting-config", "enable=on,userspace=on,target=native",
        )  # fmt: skip

    def kernel(self) -> Recipe:
        """Debian's kernel, with `board.dtb` for a board that has a device tree of its own."""
        if not self.device_tree:
            return kernel()
        return Recipe(
            name="linux-armmp",
            script="kernel-armmp.sh",
            outputs=("Image", *self.files),
            packages=(_ARMMP,),
            settings={"PACKAGE": _ARMMP, "BOARD": self.device_tree},
            architecture=self.debian,
        )

    def initramfs(self) -> Recipe:
        """The user space without the measured program, which each case brings."""
        return Recipe(
            name=f"plain-initramfs-{self.debian}",
            script="plain-initramfs.sh",
            outputs=("init", "initramfs.cpio"),
            trees=guest_trees("bench", "linux"),
            settings={
                "PREFIX": self.prefix,
                "FLAGS": " ".join(self.flags),
                "ADDRESS": self.init_address,
                "COUNTER": " ".join(self.counter),
            },
        )

    def with_symbols(self) -> Recipe:
        """The same user space with /bin/symbols besides."""
        return Recipe(
            name=f"plain-symbols-{self.debian}",
            script="plain-symbols.sh",
            outputs=("initramfs.cpio",),
            needs={"plain": self.initramfs()},
            trees=guest_trees("bench", "kernel-symbols"),
            settings={"PREFIX": self.prefix, "FLAGS": " ".join(self.flags)},
        )


# By target: those of PLAIN_MACHINES.
ARCHITECTURES: Mapping[str, Architecture] = {
    "linux-armv7": Architecture(
        debian="armhf",
        triplet="arm-linux-gnueabihf",
        flags=("-march=armv7-a+fp", "-mfloat-abi=hard", "-mthumb"),
        counter=(_PERF_COUNTER,),
        init_address="0x60000000",
        # secure=off: the core then lets through the events that the counter counts. -seed: QEMU then writes the same
        # bytes into the device tree's rng-seed at every start.
        machine=(
            *("-M", "vexpress-a9,secure=off", "-cpu", "{core}", "-m", "512", "-seed", "1"),
            *("-audio", "none", "-nic", "none", "-dtb", "/machine/board.dtb"),
        ),
        device_tree="vexpress-v2p-ca9",
        boot=("random.trust_bootloader=on",),
        # A reading is a system call of 1,300 instructions.
        least_skip=5_000,
    ),
    "linux-armv8": Architecture(
        debian="arm64",
        triplet="aarch64-linux-gnu",
        flags=(),
        counter=(),
        init_address="0x5000000000",
        # cntfrq: the generic timer then ticks once per instruction.
        machine=(
            *("-M", f"virt,gic-version=3,{DETERMINISTIC_MACHINE}", "-smp", "1", "-m", "1024"),
            *("-cpu", "{core},cntfrq=1000000000"),
        ),
    ),
}
assert ARCHITECTURES.keys() == PLAIN_MACHINES.keys()
