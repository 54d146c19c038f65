# SPDX-License-Identifier: BSD-2-Clause
"""How the secure world is entered: TF-A's dispatcher for OP-TEE, or a secure partition manager (SPMC) and FF-A.

`[tf-a] SPMC_AT_EL` of a stack's file has the name and the values that OP-TEE's own build for QEMU gives it.
"""

from collections.abc import Mapping
from typing import Any

OPTEED = "opteed"
# Make settings of TF-A for either SPMC. Its dispatcher for FF-A, SPMD, is at EL3; neither case has an EL2 beside it.
_SPMD = {"SPD": "spmd", "SPMD_SPM_AT_SEL2": "0", "CTX_INCLUDE_EL2_REGS": "0"}
_FIRMWARE: Mapping[int, Mapping[str, str]] = {
    1: _SPMD | {"SPMC_OPTEE": "1"},
    # Without a name of an image it would build one of its own, which TF-A lacks for QEMU.
    3: _SPMD | {"SPMC_AT_EL3": "1", "BL32": "bl32.bin"},
}
# Make settings of OP-TEE. Under the SPMC of TF-A nobody hands it the address of QEMU's device tree.
_OPTEE: Mapping[int, Mapping[str, str]] = {
    1: {"CFG_CORE_SEL1_SPMC": "y"},
    3: {"CFG_CORE_EL3_SPMC": "y", "CFG_DT_ADDR": "0x40000000", "CFG_CORE_RESERVED_SHM": "n"},
}
_NO_SOURCE = (
    "the SPMC at S-EL2 is Hafnium, whose source is in no registry that the lab takes its sources from; 1 is OP-TEE "
    "itself as SPMC at S-EL1, 3 is TF-A's at EL3"
)
NEEDS_FFA = (
    "SPMC_AT_EL needs a Linux that speaks FF-A (CONFIG_ARM_FFA_TRANSPORT=m), and the lab's cloud kernel 6.12 is built "
    "without it: name one in [linux] package, such as Debian's of 7.2; docs/use/stack.md says how to fetch it"
)


def require_level(given: object) -> Any:
    """The exception level of the SPMC as a number, 0 for opteed. Raises ValueError."""
    if given == OPTEED:
        return 0
    if type(given) is int and given in _FIRMWARE:
        return given
    raise ValueError(_NO_SOURCE if given == 2 else f"it is '{OPTEED}', 1 or 3")


def firmware_settings(level: int) -> Mapping[str, str]:
    """TF-A's make settings for the SPMC at this exception level; none for opteed, which every TF-A here has."""
    return _FIRMWARE.get(level, {})


def optee_settings(level: int) -> Mapping[str, str]:
    """OP-TEE's make settings for the SPMC at this exception level."""
    return _OPTEE.get(level, {})
