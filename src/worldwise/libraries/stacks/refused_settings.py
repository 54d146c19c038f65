# SPDX-License-Identifier: BSD-2-Clause
"""What a stack cannot have, and what can be done instead. Each function is a check of the stack's file.

Settings come out as make has them: whoever writes 8 or true has `8` or `y` there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

PLATFORM = "vexpress-qemu_armv8a"
COMPILER, CLANG = "gcc", "clang"
_LEAVE_OUT = "leave the line out"
_TAS = (
    "it is a choice of a TA, not of the core, which loads both: `run --ta DIR --ta-target ta_arm32` builds one of 32 "
    "bits, and a worldwise.toml has ta_target; the TAs of the suites are of 64 bits"
)
# What worldwise itself decides: another value would measure something else than what it says.
_OPTEE = {
    "CFG_ARM64_core": "the machine's core is 64-bit",
    "CFG_USER_TA_TARGETS": _TAS,
    "CFG_ARM_GICV3": "the machine has this interrupt controller",
    "CFG_CORE_ASLR": "addresses are named after the run",
    "CFG_TA_ASLR": "addresses are named after the run",
    "CFG_CRYPTOLIB_NAME": "a variant's name says which library it has",
    "CFG_CRYPTOLIB_DIR": "a variant's name says which library it has",
    "CFG_CC_OPT_LEVEL": "a variant's name says its optimisation level",
    "CFG_WORLDWISE_EL0_COUNTER": "the bench counts by it",
    "CFG_WORLDWISE_COUNTER_PTA": "the bench counts by it",
    "CFG_WORLDWISE_SEED": "inputs are given by it",
    "PLATFORM": "it is a line of its own: [optee] platform",
    "PLATFORM_FLAVOR": "it is a line of its own: [optee] platform",
    "COMPILER": "it is a line of its own: [optee] compiler",
    "CROSS_COMPILE": "the compiler is the lab's",
    "CROSS_COMPILE32": "the compiler is the lab's",
    "CROSS_COMPILE64": "the compiler is the lab's",
}
_SPMC = (
    "a line of its own chooses the way into the secure world: [tf-a] SPMC_AT_EL = 1 (OP-TEE as SPMC at S-EL1) or 3 "
    "(TF-A's at EL3); without it, by TF-A's dispatcher opteed"
)
_FIRMWARE = {
    "SPD": _SPMC,
    "SPMC_AT_EL": _SPMC,
    "SPMC_AT_EL3": _SPMC,
    "SPMC_OPTEE": _SPMC,
    "SPMD_SPM_AT_SEL2": _SPMC,
    "PLAT": "the machine is QEMU's virt",
    "CROSS_COMPILE": "the compiler is the lab's",
}
_OPTEE |= dict.fromkeys(("CFG_CORE_FFA", "CFG_CORE_SEL1_SPMC", "CFG_CORE_SEL2_SPMC", "CFG_CORE_EL3_SPMC"), _SPMC)
# Words of Linux's command line that hold the machine still.
_WORDS = ("console", "nokaslr", "norandmaps", "initrd", "randomize_kstack_offset", "iomem", "init", "rdinit")
# What people write for another kernel, and what each can do.
_KERNEL = {
    "source": "no kernel is compiled here. `make bindeb-pkg` in its folder makes a package: "
    "package = 'linux-image-....deb'",
    "config": "no kernel is compiled here. `make bindeb-pkg` with it makes a package: package = 'linux-image-....deb'",
    "version": "no kernel is fetched here. `apt-get download linux-image-VERSION-cloud-arm64:arm64` fetches one of "
    "Debian's: package = 'linux-image-....deb'",
}


def _require(given: object, ours: Mapping[str, str], no: str, yes: str) -> Any:
    if not isinstance(given, Mapping):
        return given
    for name in given:
        if name in ours:
            raise ValueError(f"{name} cannot be set: {ours[name]}")
    return {name: _make_word(value, no, yes) for name, value in given.items()}


def _make_word(value: object, no: str, yes: str) -> object:
    """A whole number, true or false as make writes it; whatever else it is stays."""
    if isinstance(value, bool):
        return yes if value else no
    return str(value) if isinstance(value, int) else value


def require_settings(given: object) -> Any:
    """Refuse settings of OP-TEE that worldwise decides; true is `y`. Raises ValueError."""
    return _require(given, _OPTEE, "n", "y")


def require_firmware_settings(given: object) -> Any:
    """Refuse settings of TF-A that worldwise decides; true is `1`. Raises ValueError."""
    return _require(given, _FIRMWARE, "0", "1")


def require_words(words: Sequence[str]) -> Sequence[str]:
    """Refuse words of Linux that would let the machine move. Raises ValueError."""
    for word in words:
        if (name := word.partition("=")[0]) in _WORDS:
            raise ValueError(f"Linux's '{name}' cannot be set: it holds the machine still")
    return words


def require_kernel(given: object) -> Any:
    """Refuse a kernel that is no package. Raises ValueError."""
    for name in given if isinstance(given, Mapping) else ():
        if name in _KERNEL:
            raise ValueError(f"'{name}' is no key of a kernel: {_KERNEL[name]}")
    return given


def require_platform(name: str) -> str:
    """Refuse a platform other than the machine's. Raises ValueError."""
    if name == PLATFORM:
        return name
    if name == "vexpress-qemu_virt":
        raise ValueError(
            f"{name} is OP-TEE for Armv7, and the machine is of Armv8: its firmware, its TAs and the bench's marks are "
            f"of 64 bits; {_LEAVE_OUT}, or write '{PLATFORM}'"
        )
    raise ValueError(
        f"the machine is QEMU's virt, which OP-TEE calls '{PLATFORM}'; {_LEAVE_OUT}, and name the switches of your "
        "board in [optee.settings], as its conf.mk has them"
    )


def require_compiler(name: str) -> str:
    """Refuse a compiler that the lab does not have. Raises ValueError."""
    if name in (COMPILER, CLANG):
        return name
    raise ValueError(f"there is no compiler '{name}' for OP-TEE here; write '{COMPILER}', the lab's, or '{CLANG}'")
