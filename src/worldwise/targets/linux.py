# SPDX-License-Identifier: BSD-2-Clause
"""Plain Linux: a portable implementation as one static program per curve, on an emulated Armv7-A or Armv8-A machine.

There is no firmware and no secure world. The kernel is Debian's, the user space is the first process and the program.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise.families.aes.spec import AES
from worldwise.lab import image
from worldwise.lab.image import ImageStore, Recipe, guest_trees
from worldwise.libraries import own
from worldwise.libraries.apps import APPS
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.portable import NO_CURVE, Portable, find
from worldwise.machine.emulator import (
    DETERMINISM,
    DETERMINISTIC_MACHINE,
    LEAST_SKIP,
    READY_SYMBOL,
    Machine,
    symbol_address,
)
from worldwise.plan.case import Case
from worldwise.plan.parameters import MAX_BOARD_SIZE, MAX_PLAIN_SIZE
from worldwise.plan.spec import PLAIN_TARGETS

# Of the sources that only a 32-bit core's counter needs.
_PERF_COUNTER = "linux/perf_counter.c"
# Of a portable implementation; AES in all modes has none.
_FOOTPRINT = "footprint.json"
_ARMMP = "linux-image-armmp"
_OPENSSL = "openssl"
# nokaslr, norandmaps: addresses that a later look at the run can name. cryptomgr.notests: the kernel's self-tests would
# share the core with the first case.
_BOOT = "console=ttyAMA0 loglevel=6 panic=-1 nokaslr norandmaps cryptomgr.notests"


@dataclass(frozen=True)
class Architecture:
    """What differs between the machines.

    Attributes:
        debian: Debian's name of it.
        triplet: of its libraries and cross tools.
        flags: how code is generated for it, as Debian's own packages are.
        counter: sources of the bench beside those of every program.
        init_address: where the first process is loaded, far from any other program.
        machine: QEMU's arguments for the machine; `{core}` stands for the case's core.
        device_tree: the file in the kernel's package that describes a board; empty where QEMU makes one.
        boot: more of the kernel's command line.
        least_skip: more instructions than reading the counter twice takes.
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
        """Of the cross tools."""
        return f"{self.triplet}-"

    @property
    def instructions(self) -> str:
        """The key of those that recipes/objects.py refuses."""
        return self.triplet.partition("-")[0]

    @property
    def files(self) -> tuple[str, ...]:
        """What the machine needs of the kernel's image besides the kernel."""
        return ("board.dtb",) if self.device_tree else ()

    def kernel(self) -> Recipe:
        """Debian's kernel; of a board with a device tree of its own, `board.dtb` too."""
        if not self.device_tree:
            return image.kernel()
        return Recipe(
            name="linux-armmp",
            script="kernel-armmp.sh",
            outputs=("Image", *self.files),
            packages=(_ARMMP,),
            settings={"PACKAGE": _ARMMP, "BOARD": self.device_tree},
            architecture=self.debian,
        )

    def initramfs(self) -> Recipe:
        """The user space, without the measured program, which comes with a case."""
        return Recipe(
            name=f"plain-initramfs-{self.debian}",
            script="plain-initramfs.sh",
            outputs=("init", "initramfs.cpio"),
            trees=guest_trees("bench", "linux", "mcu"),
            settings={
                "PREFIX": self.prefix,
                "FLAGS": " ".join(self.flags),
                "ADDRESS": self.init_address,
                "COUNTER": " ".join(self.counter),
            },
        )


ARMV7 = Architecture(
    debian="armhf",
    triplet="arm-linux-gnueabihf",
    flags=("-march=armv7-a+fp", "-mfloat-abi=hard", "-mthumb"),
    counter=(_PERF_COUNTER,),
    init_address="0x60000000",
    # Without the secure state the events that the counter counts are let through. With a seed of its own QEMU writes
    # the same bytes into the device tree's rng-seed at every start, in place of what stands there.
    machine=(
        *("-M", "vexpress-a9,secure=off", "-cpu", "{core}", "-m", "512", "-seed", "1"),
        *("-audio", "none", "-nic", "none", "-dtb", "/machine/board.dtb"),
    ),
    device_tree="vexpress-v2p-ca9",
    boot=("random.trust_bootloader=on",),
    # A reading is a system call, of 1,300.
    least_skip=5_000,
)
ARMV8 = Architecture(
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
)


def _plan(
    implementation: Portable, optimisation: str, curve: str, options: str, target: "PlainTarget"
) -> dict[str, Any]:
    """What recipes/plain-programs.py compiles and links."""
    architecture = target.architecture
    part = own.curve_plan(implementation, curve, PLAIN_TARGETS[target.name])
    source = implementation.manifest.source
    return {
        **part,
        "defines": [*part["defines"], *implementation.defines(options)],
        "name": implementation.name,
        "own": implementation.folder is not None and source is None,
        "debian": source.debian if source and source.debian else "",
        "archives": list(implementation.manifest.build.archives),
        "frame_sha256": implementation.manifest.needs.frame_sha256,
        "hedged": implementation.manifest.needs.hedged,
        "warnings": implementation.manifest.build.warnings,
        "optimisation": optimisation,
        "curve": curve,
        "operations": list(implementation.manifest.operations[curve]),
        "message_bytes": MAX_PLAIN_SIZE if curve == NO_CURVE else MAX_BOARD_SIZE,
        "prefix": architecture.prefix,
        "triplet": architecture.triplet,
        "architecture_flags": list(architecture.flags),
        "instructions": architecture.instructions,
        "counter": list(architecture.counter),
    }


@dataclass(frozen=True)
class PlainTarget:
    """Linux alone on one emulated machine."""

    name: str
    architecture: Architecture

    def programs(
        self, implementation: Portable, optimisation: str, curve: str, options: str, source: Path | None
    ) -> Recipe:
        """The program of one curve; `source` has the library's sources if they come as a crate.

        `options` are build options as a case says them.
        """
        wanted = implementation.manifest.source
        packages = own.source_packages(implementation)
        return Recipe(
            name="-".join(filter(None, (f"programs-{self.name}", implementation.name, optimisation, curve, options))),
            script="plain-programs.sh",
            helpers=("plain.sh", "bench-parameters.sh", "plain-programs.py", "library.py", "objects.py"),
            outputs=("linux-bench", _FOOTPRINT),
            needs={f"unpacked-{package}": image.unpacked(package) for package in packages},
            packages=wanted.packages if wanted else (),
            trees={
                **guest_trees("bench", "linux", "mcu", "ops/common"),
                **guest_trees("parameters.h", room="apps/common"),
                **own.adapter_trees(implementation),
                **own.trees(implementation),
                **({"source": source} if source else {}),
            },
            settings={
                "PACKAGES": " ".join(packages),
                "LIBRARIES": " ".join(wanted.packages) if wanted else "",
                "PLAN": json.dumps(_plan(implementation, optimisation, curve, options, self)),
            },
            architecture=self.architecture.debian,
        )

    def aes(self, library: str, optimisation: str) -> Recipe:
        """The program of AES in all modes by a library of Linux, as the app of that name has it."""
        # OpenSSL comes compiled, as where it is a portable implementation.
        packaged = find(_OPENSSL).manifest.source if library.startswith(_OPENSSL) else None
        libraries = packaged.packages if packaged else ()
        sources = () if packaged else APPS[AES].sources
        return Recipe(
            name="-".join((f"programs-{self.name}", AES, library, optimisation)),
            script="plain-aes.sh",
            helpers=("plain.sh", "bench-parameters.sh", "app-aes.sh"),
            outputs=("linux-bench",),
            needs={f"unpacked-{package}": image.unpacked(package) for package in sources},
            packages=libraries,
            trees={
                **guest_trees("bench", "linux", "apps/aes"),
                **guest_trees("parameters.h", room="apps/common"),
                **guest_trees("semihost_call.h", room="mcu"),
                **guest_trees("attest.h", room="ops"),
            },
            settings={
                "IMPLEMENTATION": library,
                "OPTIMISATION": optimisation,
                "PACKAGES": " ".join(sources),
                "LIBRARIES": " ".join(libraries),
                "STATIC": "1",
                "TRIPLET": self.architecture.triplet,
                "FLAGS": " ".join(self.architecture.flags),
                "COUNTER": " ".join(self.architecture.counter),
            },
            architecture=self.architecture.debian,
        )

    def recipes(self, case: Case) -> Sequence[Recipe]:
        """The images that the case needs: kernel, user space, program."""
        return self.architecture.kernel(), self.architecture.initramfs(), self._program_recipe(case)

    def _program_recipe(self, case: Case) -> Recipe:
        if case.operation == AES:
            return self.aes(case.implementation, case.optimisation)
        implementation = find(case.implementation)
        source = crate_folder(implementation, Crates())
        return self.programs(implementation, case.optimisation, case.curve or NO_CURVE, case.options, source)

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine, and the program of the case's library, curve and build options."""
        with own.told(case.implementation):
            kernel, initramfs, program = used = [images.get(recipe) for recipe in self.recipes(case)]
        parts = {
            "Image": (kernel, "Image"),
            "initramfs.cpio": (initramfs, "initramfs.cpio"),
            "program": (program, "linux-bench"),
            **{name: (kernel, name) for name in self.architecture.files},
        }
        return Machine(
            name=f"{self.name}-{case.core}",
            files={name: part.file(file) for name, (part, file) in parts.items()},
            digests={name: part.files[file] for name, (part, file) in parts.items()},
            arguments=self._arguments(case),
            images={part.name: part.digest for part in used},
            # In Thumb code the lowest bit says that it is one.
            ready=symbol_address(initramfs.file("init"), READY_SYMBOL) & ~1,
            symbols={"init": initramfs.file("init"), "program": program.file("linux-bench")},
            preload=(),
            footprint=program.sizes(_FOOTPRINT) if _FOOTPRINT in program.files else None,
            least_skip=self.architecture.least_skip,
            brought=("program",),
        )

    def program(self, case: Case) -> Sequence[str]:
        """The program's command line: operation, warm-up, samples and parameters."""
        return ("/bin/fetch", case.operation, str(case.warmup), str(case.samples), *case.arguments)

    def _arguments(self, case: Case) -> tuple[str, ...]:
        architecture = self.architecture
        return (
            *(word.format(core=case.core) for word in architecture.machine),
            *(word for switch in DETERMINISM for word in switch),
            "-kernel", "/machine/Image",
            "-initrd", "/machine/initramfs.cpio",
            "-append", " ".join((_BOOT, *architecture.boot)),
            "-semihosting-config", "enable=on,userspace=on,target=native",
        )  # fmt: skip


PLAIN: Mapping[str, PlainTarget] = {
    "linux-armv7": PlainTarget("linux-armv7", ARMV7),
    "linux-armv8": PlainTarget("linux-armv8", ARMV8),
}
assert PLAIN.keys() == PLAIN_TARGETS.keys()
