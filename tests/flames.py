# SPDX-License-Identifier: BSD-2-Clause
"""Small stacks that go through every world, for the tests of flame graphs and exports."""

from worldwise.explain.stacks import Frame

_FRAMES = {
    "main": Frame("main", "client", "client", "normal"),
    "invoke": Frame("TEEC_InvokeCommand", "libteec", "libteec", "normal"),
    "svc": Frame("el0_svc", "linux", "system call entry", "normal"),
    "smc": Frame("optee_smccc_smc", "linux:optee", "TEE driver", "normal"),
    "handler": Frame("opteed_smc_handler", "bl31", "monitor", "monitor"),
    "std": Frame("thread_std_smc_entry", "tee", "core", "secure"),
    "lost": Frame("unknown", "tee", "unknown", "secure"),
    "ldelf": Frame("ldelf", "ldelf", "ldelf", "secure"),
    "entry": Frame("TA_InvokeCommandEntryPoint", "ta", "TA code", "secure"),
    # What a name may hold that SVG, JSON and the folded format give a meaning to.
    "odd": Frame('operator<< <"a">;&x', "ta", "TA code", "secure"),
}


def frame(name: str) -> Frame:
    """One of the frames by its short name."""
    return _FRAMES[name]


def _stack(names: str) -> tuple[Frame, ...]:
    return tuple(map(frame, names.split()))


# Every frame stands in one place only.
FLAME_STACKS: dict[tuple[Frame, ...], int] = {
    _stack("main"): 120,
    _stack("main invoke"): 310,
    _stack("main invoke svc"): 560,
    _stack("main invoke svc smc"): 430,
    _stack("main invoke svc smc handler"): 480,
    _stack("main invoke svc smc handler std"): 940,
    _stack("main invoke svc smc handler std lost"): 60,
    _stack("main invoke svc smc handler std ldelf"): 250,
    _stack("main invoke svc smc handler std entry"): 1100,
    _stack("main invoke svc smc handler std entry odd"): 700,
}
