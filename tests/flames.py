# SPDX-License-Identifier: BSD-2-Clause
"""Small stacks that go through every world, for the tests of flame graphs and exports."""

from worldwise.explain.stacks import StackFrame

_FRAMES = {
    "main": StackFrame("main", "client", "client", "normal"),
    "invoke": StackFrame("TEEC_InvokeCommand", "libteec", "libteec", "normal"),
    "svc": StackFrame("el0_svc", "linux", "system call entry", "normal"),
    "smc": StackFrame("optee_smccc_smc", "linux:optee", "TEE driver", "normal"),
    "handler": StackFrame("opteed_smc_handler", "bl31", "monitor", "monitor"),
    "std": StackFrame("thread_std_smc_entry", "tee", "core", "secure"),
    "lost": StackFrame("unknown", "tee", "unknown", "secure"),
    "ldelf": StackFrame("ldelf", "ldelf", "ldelf", "secure"),
    "entry": StackFrame("TA_InvokeCommandEntryPoint", "ta", "TA code", "secure"),
    # What a name may hold that SVG, JSON and the folded format give a meaning to.
    "odd": StackFrame('operator<< <"a">;&x', "ta", "TA code", "secure"),
}


def frame(name: str) -> StackFrame:
    """One of the frames by its short name."""
    return _FRAMES[name]


def _stack(names: str) -> tuple[StackFrame, ...]:
    return tuple(map(frame, names.split()))


# Every frame stands in one place only.
FLAME_STACKS: dict[tuple[StackFrame, ...], int] = {
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
