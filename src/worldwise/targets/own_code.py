# SPDX-License-Identifier: BSD-2-Clause
"""The machines of own code: those of plain Linux, to which each case brings its files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.files import file_sha256
from worldwise.lab.image import ImageStore, Recipe
from worldwise.libraries import own_code
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.own_code import ARCHIVE, COUNT
from worldwise.machine.elf import symbol_address
from worldwise.machine.machine import PROGRAM, READY_SYMBOL, Machine
from worldwise.plan.case import Case
from worldwise.targets.architecture import ARCHITECTURES
from worldwise.targets.guest import guest_trees
from worldwise.targets.linux import PLAIN

# The machine of a program of Linux.
LINUX = "linux-armv8"
_LAUNCHER = "launch"
# What own code finds there without asking: the C library, and what the lab has besides for the measured machines.
LIBRARIES = ("libc6", "libssl3t64", "libzstd1", "zlib1g")


def launcher() -> Recipe:
    """The program that starts own code and reads the counter around its life."""
    return Recipe(
        name="own-launcher",
        script="own-launcher.sh",
        outputs=(_LAUNCHER,),
        trees=guest_trees("bench", "linux", "own"),
    )


def libraries(packages: Sequence[str]) -> Recipe:
    """The shared libraries of some of the lab's packages for the measured machines, in one folder."""
    return Recipe(
        name="own-libraries",
        script="own-libraries.sh",
        outputs=("libc.so.6",),
        packages=tuple(packages),
        settings={"PACKAGES": " ".join(packages)},
    )


def program_machine(images: ImageStore, folder: Path, name: str, order: str) -> Machine:
    """The machine for own code in a folder, with one of its orders."""
    architecture = ARCHITECTURES[LINUX]
    kernel, initramfs, started = used = images.get_all([architecture.kernel(), architecture.initramfs(), launcher()])
    there = {"Image": (kernel, "Image"), "initramfs.cpio": (initramfs, "initramfs.cpio"), PROGRAM: (started, _LAUNCHER)}
    own = {"order": folder / order, ARCHIVE: folder / ARCHIVE}
    digests = {name: part.files[file] for name, (part, file) in there.items()}
    brought = {name: file_sha256(path) for name, path in own.items()}
    return Machine(
        name=f"own-{name}",
        files={name: part.file(file) for name, (part, file) in there.items()} | own,
        digests=digests | brought,
        arguments=PLAIN[LINUX].arguments(PLAIN_TARGETS[LINUX]),
        images={part.name: part.digest for part in used} | {"own": brought[ARCHIVE], "order": brought["order"]},
        ready=symbol_address(initramfs.file("init"), READY_SYMBOL),
        symbols={"init": initramfs.file("init"), "launcher": started.file(_LAUNCHER)},
        preload=(),
        least_skip=architecture.least_skip,
        brought=(PROGRAM, *own),
    )


@dataclass(frozen=True)
class OwnTarget:
    """The machine of a case of own code."""

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine of the code that is registered by the case's name. Raises WorldwiseError if none is."""
        code = own_code.find(case.implementation)
        return program_machine(images, code.folder, code.name, COUNT)

    def program(self, _case: Case) -> Sequence[str]:
        """What starts the code: its order is a file."""
        return ("/bin/fetch",)
