# SPDX-License-Identifier: BSD-2-Clause
"""The machines of own code: that of plain Linux and that with OP-TEE, to which each case brings its files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from worldwise.base.files import file_sha256
from worldwise.lab.image import ImageStore, Recipe
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.user_code.kinds import (
    ARCHIVE,
    ARMV7,
    ARMV8,
    COUNT,
    FIRMWARE,
    FIRMWARE_ELF,
    OTHER_TA,
    TA,
    TA_ARM32,
    TA_ARM64,
)
from worldwise.machine.elf_files.program_addresses import symbol_address
from worldwise.machine.machine import FIXED_DATE, PROGRAM, READY_SYMBOL, Machine
from worldwise.targets import own_armv7
from worldwise.targets.architecture import ARCHITECTURES, BOOT_FILES, QUIET, Architecture
from worldwise.targets.guest import guest_trees

# What is imported within functions takes long to load, and a program of Linux or firmware that is run alone needs none.
if TYPE_CHECKING:
    from worldwise.plan.case import Case
    from worldwise.targets.linux import PlainTarget

# The machine of a program of Linux.
LINUX = "linux-armv8"
_LAUNCHER = "launch"
# What starts it if a signal is known to end it, and says where.
_CRASH = "crash"
# What own code finds there without asking: the C library, and what the lab has besides for the measured machines.
LIBRARIES = ("libc6", "libssl3t64", "libteec2", "libzstd1", "zlib1g")
# What builds have of CMake and Meson.
_BUILDERS = "own-builders.sh"
# Where tee-supplicant looks for TAs.
TA_ROOM = "lib/optee_armtz"
# The TA's ELF file in a folder of own code, and the file with its UUID.
TA_ELF, TA_UUID = "ta.elf", "ta.uuid"
# The OP-TEE that own code runs on, optee_images.APP_CORE, is what most suites measure; and the app whose user space it
# has besides its own.
_LEVEL, _BASE = "O2", "hello"


def launcher(loopback: bool = False) -> Recipe:
    """The program that starts own code and reads the counter around its life; with `loopback` it has that network."""
    return Recipe(
        name="own-launcher" + "-loopback" * loopback,
        script="own-launcher.sh",
        outputs=(_LAUNCHER, _CRASH),
        trees=guest_trees("bench", "linux", "own"),
        settings={"DEFINES": "-DLOOPBACK"} if loopback else {},
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


def application(
    ta: str,
    ta_folder: Path,
    client: str,
    client_folder: Path | None,
    level: int | None,
    build_file: str = "",
    builders: Path | None = None,
    target: str = TA_ARM64,
    beside: Mapping[str, Path] | None = None,
) -> Recipe:
    """A user's TA and client, from copies of their folders, which have these names for each other.

    Without a folder of a client the TA alone is built. The client is built by its Makefile, or by the build system of
    `build_file`, from the archive `builders`. `target` is one of TA_TARGETS; `beside` has copies of further folders,
    by their names.
    """
    from worldwise.targets import optee_images

    of_32_bits = target == TA_ARM32
    kit = optee_images.dev_kit_of_32_bits if of_32_bits else optee_images.whole_dev_kit

    return Recipe(
        name=f"own-application-{ta}-{client}" if client else f"own-ta-{ta}",
        script="own-application.sh",
        outputs=("client", "name", "ta", "ta.elf", "uuid", "level", "built"),
        packages=("libteec2", "optee-client-dev"),
        trees={f"app/{ta}": ta_folder}
        | ({f"app/{client}": client_folder} if client_folder else {})
        | {f"app/{name}": copy for name, copy in (beside or {}).items()}
        | _builders(builders),
        needs={"optee": kit(optee_images.APP_CORE, _LEVEL)},
        settings={
            "TA": ta,
            "CLIENT": client,
            "LEVEL": "" if level is None else str(level),
            "BUILD_FILE": build_file,
            "TA_COMPILER": "arm-linux-gnueabihf-" if of_32_bits else "aarch64-linux-gnu-",
        },
        helpers=(_BUILDERS,),
    )


def _builders(archive: Path | None) -> dict[str, Path]:
    return {"builders.tar": archive} if archive else {}


def built(
    name: str,
    source: Path,
    folder: str,
    commands: str,
    files: Sequence[str],
    firmware: bool,
    builders: Path | None = None,
) -> Recipe:
    """What a user's own build leaves: `files`, each under its number, from a copy of the sources.

    `builders` is the archive of the build systems that its commands call; None if they call none.
    """
    return Recipe(
        name=f"own-built-{name}",
        script="own-built.sh",
        outputs=tuple(str(number) for number in range(len(files))),
        trees={"source": source} | _builders(builders),
        settings={
            "COMMANDS": commands,
            "FOLDER": folder,
            "FILES": "\n".join(files),
            "CROSS_COMPILE": "arm-none-eabi-" if firmware else "aarch64-linux-gnu-",
        },
        helpers=(_BUILDERS,),
    )


def tee_initramfs() -> Recipe:
    """The user space of an app, with what becomes a program that the host brings."""
    from worldwise.targets import optee_images

    programs = optee_images.app_programs(_BASE, optee_images.APP_CORE, _LEVEL)
    return Recipe(
        name="own-tee-initramfs",
        script="own-tee-initramfs.sh",
        outputs=("initramfs.cpio",),
        trees=guest_trees("bench", "linux"),
        needs={"initramfs": optee_images.initramfs(_BASE, programs)},
    )


def tee_base(images: ImageStore) -> Machine:
    """The machine with OP-TEE, to which nothing is brought yet."""
    from worldwise.plan.case import Case
    from worldwise.targets.inputs import linux_words
    from worldwise.targets.optee import OPTEE_TARGETS
    from worldwise.targets.optee_images import APP_CORE

    target = OPTEE_TARGETS["optee"]
    base = target.machine(Case("optee", APP_CORE, _LEVEL, _BASE, 1, 0), images)
    initramfs = images.get(tee_initramfs())
    file = initramfs.file("initramfs.cpio")
    # The TA of the app is there, but nothing asks for it.
    symbols = {name: path for name, path in base.symbols.items() if name in ("bl31", "tee", "ldelf")}
    used = {name: digest for name, digest in base.images.items() if not name.startswith("initramfs-")}
    return replace(
        base,
        name="own-optee",
        files={**base.files, "initramfs.cpio": file},
        digests={**base.digests, "initramfs.cpio": initramfs.files["initramfs.cpio"]},
        arguments=target.arguments(linux_words(QUIET), file.stat().st_size, network=False),
        images={**used, initramfs.name: initramfs.digest},
        symbols=symbols,
    )


def tee_machine(images: ImageStore, folder: Path, name: str, order: str, loopback: bool = False) -> Machine:
    """The machine with OP-TEE, for own code in a folder with one of its orders."""
    base, started = tee_base(images), images.get(launcher(loopback))
    own = {"order": folder / order, ARCHIVE: folder / ARCHIVE}
    brought = {name: file_sha256(path) for name, path in own.items()} | {PROGRAM: started.files[_LAUNCHER]}
    uuid = (folder / TA_UUID).read_text(encoding="ascii")
    others = {path.stem: path for path in sorted(folder.glob(f"{OTHER_TA}*.elf"))}
    return replace(
        base,
        name=f"own-{name}",
        files={**base.files, **own, PROGRAM: started.file(_LAUNCHER)},
        digests={**base.digests, **brought},
        images={**base.images, started.name: started.digest, "own": brought[ARCHIVE], "order": brought["order"]},
        symbols={**base.symbols, "launcher": started.file(_LAUNCHER), uuid: folder / TA_ELF, **others},
        brought=tuple(brought),
    )


# QEMU's machines of the M profile that firmware can start on, with what their core and memory are.
M_MACHINES: Mapping[str, str] = {
    "microbit": "Cortex-M0, 256 KiB flash at 0x0, 16 KiB RAM at 0x20000000",
    "mps2-an385": "Cortex-M3, 4 MiB code at 0x0, 4 MiB RAM at 0x20000000",
    "mps2-an386": "Cortex-M4, 4 MiB code at 0x0, 4 MiB RAM at 0x20000000",
    "mps2-an500": "Cortex-M7, 4 MiB code at 0x0, 4 MiB RAM at 0x20000000",
    "stm32vldiscovery": "Cortex-M3, 128 KiB flash at 0x08000000, 8 KiB RAM at 0x20000000",
    "olimex-stm32-h405": "Cortex-M4, 1 MiB flash at 0x08000000, 128 KiB RAM at 0x20000000",
    "netduinoplus2": "Cortex-M4, 1 MiB flash at 0x08000000, 128 KiB RAM at 0x20000000",
    "lm3s6965evb": "Cortex-M3, 256 KiB flash at 0x0, 64 KiB RAM at 0x20000000",
    "mps2-an505": "Cortex-M33 in its secure state, 4 MiB code at 0x10000000, 4 MiB RAM at 0x38000000",
    "mps3-an547": "Cortex-M55 in its secure state, 512 KiB code at 0x10000000, 4 MiB RAM at 0x31000000",
    "microbit-4m": "Cortex-M0 with more memory than any has, for M0+ too: 4 MiB code at 0x0, 4 MiB RAM at 0x20000000",
}
# QEMU's words for a machine that is not called as QEMU calls it. No machine of Armv6-M has more RAM than the microbit.
_M_WORDS: Mapping[str, tuple[str, ...]] = {
    "microbit-4m": (
        *("microbit", "-global", f"nrf51-soc.sram-size={4 * 2**20}"),
        *("-global", f"nrf51-soc.flash-size={4 * 2**20}"),
    ),
}
# An instruction takes 2^5 ns of virtual time: SysTick then comes about as often as on a core of 25 MHz that executes
# one instruction a cycle.
_M_SHIFT = 5


def firmware_machine(folder: Path, name: str, machine: str, as_it_is: bool = False) -> Machine:
    """The machine for firmware in a folder; `as_it_is` as Machine has it."""
    elf = folder / FIRMWARE_ELF
    digest = file_sha256(elf)
    return Machine(
        name=f"own-{name}",
        files={FIRMWARE_ELF: elf},
        digests={FIRMWARE_ELF: digest},
        arguments=(
            *("-M", *_M_WORDS.get(machine, (machine,)), "-nic", "none"),
            *("-icount", f"shift={_M_SHIFT},align=off,sleep=off", *FIXED_DATE),
            *("-kernel", f"/machine/{FIRMWARE_ELF}"),
        ),
        images={"own": digest},
        ready=None,
        symbols={"program": elf},
        preload=(),
        as_it_is=as_it_is,
    )


def machine_of(
    images: ImageStore,
    kind: str,
    folder: Path,
    name: str,
    order: str,
    architecture: str = ARMV8,
    loopback: bool = False,
) -> Machine:
    """The machine of a kind of own code; `loopback` is its network, it has none otherwise."""
    if kind == TA:
        return tee_machine(images, folder, name, order, loopback)
    return program_machine(images, folder, name, order, architecture, loopback)


def telling(machine: Machine) -> Machine:
    """A machine of own code with the program that says where a signal ends it, in place of what starts it."""
    path = machine.symbols["launcher"].with_name(_CRASH)
    return replace(
        machine,
        files={**machine.files, PROGRAM: path},
        digests={**machine.digests, PROGRAM: file_sha256(path)},
    )


def is_armv7(machine: Machine) -> bool:
    """Whether a machine of own code is one of 32 bits."""
    return own_armv7.ARCHITECTURE.kernel().name in machine.images


def linux_of(machine: Machine) -> "PlainTarget":
    """The machine of plain Linux that a machine of own code is."""
    from worldwise.targets.linux import PLAIN

    return own_armv7.target() if is_armv7(machine) else PLAIN[LINUX]


def program_machine(
    images: ImageStore,
    folder: Path,
    name: str,
    order: str,
    architecture_name: str = ARMV8,
    loopback: bool = False,
) -> Machine:
    """The machine for own code in a folder, with one of its orders."""
    if architecture_name == ARMV7:
        core, started_by = own_armv7.CORE, own_armv7.launcher(loopback)
        architecture: Architecture = own_armv7.ARCHITECTURE
    else:
        core, started_by = PLAIN_TARGETS[LINUX], launcher(loopback)
        architecture = ARCHITECTURES[LINUX]
    kernel, initramfs, started = used = images.get_all([architecture.kernel(), architecture.initramfs(), started_by])
    there = {"Image": (kernel, "Image"), "initramfs.cpio": (initramfs, "initramfs.cpio"), PROGRAM: (started, _LAUNCHER)}
    own = {"order": folder / order, ARCHIVE: folder / ARCHIVE}
    digests = {name: part.files[file] for name, (part, file) in there.items()}
    brought = {name: file_sha256(path) for name, path in own.items()}
    return Machine(
        name=f"own-{name}",
        files={name: part.file(file) for name, (part, file) in there.items()} | own,
        digests=digests | brought,
        arguments=architecture.arguments(core, QUIET),
        images={part.name: part.digest for part in used} | {"own": brought[ARCHIVE], "order": brought["order"]},
        # The lowest bit marks Thumb code.
        ready=symbol_address(initramfs.file("init"), READY_SYMBOL) & ~1,
        symbols={"init": initramfs.file("init"), "launcher": started.file(_LAUNCHER)},
        preload=(),
        least_skip=architecture.least_skip,
        brought=(PROGRAM, *own),
        boot_files=BOOT_FILES,
    )


@dataclass(frozen=True)
class OwnTarget:
    """The machine of a case of own code."""

    def machine(self, case: "Case", images: ImageStore) -> Machine:
        """The machine of the code that is registered by the case's name. Raises WorldwiseError if none is."""
        from worldwise.libraries import own_code

        code = own_code.find(case.implementation)
        if code.manifest.kind == FIRMWARE:
            return firmware_machine(code.folder, code.name, code.manifest.command[1])
        said = code.manifest
        return machine_of(images, said.kind, code.folder, code.name, COUNT, said.architecture, said.loopback)

    def program(self, _case: "Case") -> Sequence[str]:
        """What starts the code: its order is a file."""
        return ("/bin/fetch",)
