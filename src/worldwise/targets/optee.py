# SPDX-License-Identifier: BSD-2-Clause
"""OP-TEE: the machine of a case of the targets `optee` and `linux`, and its programs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from worldwise.lab.image import Image, ImageStore, Recipe
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.stacks import stack
from worldwise.libraries.stacks.config import require_settings
from worldwise.machine.elf_files.program_addresses import loaded_bytes, symbol_address
from worldwise.machine.machine import (
    DETERMINISM,
    DETERMINISTIC_MACHINE,
    FIXED_DATE,
    NETWORK,
    READY_SYMBOL,
    HostProgram,
    Machine,
)
from worldwise.plan.case import Case
from worldwise.plan.catalogue import APPS
from worldwise.plan.spec import TEE_TARGETS
from worldwise.targets import optee_images
from worldwise.targets.families import case_app, images_of
from worldwise.targets.guest import kernel
from worldwise.targets.inputs import boot_words, settings

# Firmware puts the kernel at 0x60000000; the initramfs is well above it.
_INITRAMFS_ADDRESS = 0x68000000
# The machine's files by the image that has them; the kernel's file has another name in its image.
_OF_FIRMWARE = ("bl1.bin", "bl2.bin", "bl31.bin")
OF_OPTEE = ("bl32.bin", "bl32_extra1.bin", "bl32_extra2.bin")
_INITRAMFS = "initramfs.cpio"
_KERNEL = "bl33.bin"
_EL3 = 3


@dataclass(frozen=True)
class OpteeMachineTarget:
    """TF-A, OP-TEE and Linux on one emulated Cortex-A72.

    The targets `optee` and `linux` differ in the program alone: both worlds are measured on one and the same machine.
    """

    executable: str
    memory_mib: int = 1024
    core: str = "cortex-a72"
    # The host program for cases that have none of their own.
    beside: HostProgram | None = None
    # (case, feature of OP-TEE) -> the programs in place of those of the case.
    programs: Callable[[Case, str], Recipe] | None = None

    def recipes(self, case: Case) -> Sequence[Recipe]:
        """The images the case needs: firmware, kernel, OP-TEE, programs, user space."""
        programs = (self.programs or programs_of)(case, _feature(case))
        initramfs = optee_images.initramfs(case_app(case), programs)
        return (
            optee_images.firmware(case.ticks_in_both_worlds),
            kernel(),
            optee_images.optee(_core(case), case.optimisation, _feature(case)),
            programs,
            optee_images.net_initramfs(initramfs) if self.host_program(case) else initramfs,
        )

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine of the case's variant."""
        wanted = images_of(case)
        wanted.build_first(images.notify)  # here, because `images` can announce it
        with own_libraries.told(case.implementation):
            if own_stack := stack.current():
                optee_images.require_understood(own_stack, images)
                if own_stack.by_clang:
                    optee_images.optee(_core(case), case.optimisation, _feature(case), images.notify)
            used = firmware, kernel, optee, programs, initramfs = images.get_all(self.recipes(case))
        if own_stack:
            require_settings(own_stack, optee.directory)
        level = own_stack.stack.firmware.spmc_at_el if own_stack else 0
        parts = {
            **{name: (firmware, name) for name in _OF_FIRMWARE},
            **{name: (optee, file) for name, file in self.secure_files(level).items()},
            _INITRAMFS: (initramfs, _INITRAMFS),
            _KERNEL: (kernel, "Image"),
        }
        if level:
            parts[optee_images.SPMC_MANIFEST] = (firmware, optee_images.SPMC_MANIFEST)
        files = {name: part.file(file) for name, (part, file) in parts.items()}
        ta = APPS[case_app(case)].uuid
        beside = self.host_program(case)
        return Machine(
            name=self._name(case),
            files=files,
            digests={name: part.files[file] for name, (part, file) in parts.items()},
            arguments=self.arguments(boot_words(case), files[_INITRAMFS].stat().st_size, bool(beside)),
            images={part.name: part.digest for part in used},
            ready=symbol_address(programs.file("init"), READY_SYMBOL),
            symbols={
                "bl31": firmware.file("bl31.elf"),
                "tee": optee.file("tee.elf"),
                "ldelf": optee.file("ldelf.elf"),
                ta: programs.file(f"{ta}.elf"),
            },
            preload=("bl2.bin", "bl31.bin", *OF_OPTEE, *((optee_images.SPMC_MANIFEST,) if level else ()), _KERNEL),
            footprint=_ta_footprint(programs, ta) if wanted.sizes_ta else None,
            beside=beside,
            patience=wanted.patience,
            host_files=wanted.host_files,
            stack=str(own_stack.origin) if own_stack else "",
            boot_files=(_KERNEL, _INITRAMFS),
        )

    def secure_files(self, level: int) -> Mapping[str, str]:
        """What BL2 loads of OP-TEE, and which file of its image that is, with the SPMC at this exception level."""
        # TF-A's SPMC takes OP-TEE as one image, without the header that says how to load its parts.
        return dict(zip(OF_OPTEE, OF_OPTEE, strict=True)) | ({"bl32.bin": "bl32_extra1.bin"} if level == _EL3 else {})

    def program(self, case: Case) -> Sequence[str]:
        """The measured program with the case's operation, warm-up, samples and parameters."""
        own = (self.executable, case.operation, str(case.warmup), str(case.samples), *case.arguments)
        return (*own, *settings(case))

    def host_program(self, case: Case) -> HostProgram | None:
        """The host program that runs beside the case's machine."""
        return images_of(case).beside(case) or self.beside

    def _name(self, case: Case) -> str:
        words = (
            "optee",
            case_app(case),
            "net" * bool(self.host_program(case)),
            case.variant,
            _feature(case),
            case.options,
            "ticks" * case.ticks_in_both_worlds,
        )
        return "-".join(filter(None, words))

    def arguments(self, words: Iterable[str], initramfs_bytes: int, network: bool) -> tuple[str, ...]:
        """QEMU's arguments, for more words of Linux's and an initramfs of that size, with a network card or without."""
        # cntfrq: the generic timer then ticks once per instruction, in every world.
        # cryptomgr.notests: the kernel's self-tests would share the core with the first case.
        # nokaslr, norandmaps: fixed addresses, which can be named after the run.
        boot = (
            *("console=ttyAMA0", "loglevel=6", "panic=-1", "nokaslr", "norandmaps", "cryptomgr.notests"),
            *words,
            f"initrd={_INITRAMFS_ADDRESS:#x},{initramfs_bytes}",
        )
        return (
            "-M", f"virt,secure=on,gic-version=3,{DETERMINISTIC_MACHINE}",
            "-cpu", f"{self.core},cntfrq=1000000000",
            "-smp", "1",
            "-m", str(self.memory_mib),
            # A machine that waits for the host must not skip the waiting time.
            *(FIXED_DATE if network else (word for switch in DETERMINISM for word in switch)),
            *(("-device", f"virtio-net-pci,netdev={NETWORK},mac=52:54:00:12:34:56,romfile=") if network else ()),
            "-bios", "/machine/bl1.bin",
            "-kernel", "/machine/bl33.bin",
            "-append", " ".join(boot),
            "-device", f"loader,file=/machine/initramfs.cpio,addr={_INITRAMFS_ADDRESS:#x},force-raw=on",
            "-semihosting-config", "enable=on,userspace=on,target=native",
        )  # fmt: skip


def _core(case: Case) -> str:
    """The crypto library of the core below a case's app."""
    return case.implementation if case.implementation in IMPLEMENTATIONS else optee_images.APP_CORE


def _ta_footprint(programs: Image, ta: str) -> dict[str, int]:
    """The bytes of a TA: `ta_loaded` for its code, constants and initial values, `ta_file` for its signed file.

    Stack, heap and data that begin as zeros are not counted.
    """
    return {
        "ta_loaded": loaded_bytes(programs.file(f"{ta}.elf")),
        "ta_file": programs.file(f"{ta}.ta").stat().st_size,
    }


def programs_of(case: Case, feature: str = "") -> Recipe:
    """The programs of a case's app: its client and its TA."""
    wanted = images_of(case)
    if wanted.programs:
        return wanted.programs(case, feature)
    return optee_images.app_programs(case_app(case), case.implementation, case.optimisation, feature)


def _feature(case: Case) -> str:
    """What the case needs of OP-TEE: a key of optee_images.FEATURES."""
    given = dict(case.parameters)
    if given.get("optee") == optee_images.LEAN:
        return optee_images.LEAN
    own_stack = stack.current()
    if own_stack and own_stack.tree and images_of(case).counts_cycles:
        return optee_images.COUNTER
    storage = given.get("storage", "")
    if storage == "rpmb" and images_of(case).private_storage:
        return optee_images.RPMB_ALONE
    return "rpmb" if "rpmb" in storage else ""


OPTEE_TARGETS: Mapping[str, OpteeMachineTarget] = {
    "optee": OpteeMachineTarget("/bin/optee-client"),
    "linux": OpteeMachineTarget("/bin/linux-bench"),
}
assert OPTEE_TARGETS.keys() == TEE_TARGETS.keys()
