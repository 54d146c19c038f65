# SPDX-License-Identifier: BSD-2-Clause
"""Where firmware faulted, or was, that did not come to its end: it is started once more under a debugger."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.machine.elf_files.program_addresses import address_name
from worldwise.machine.emulator import Emulator
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import EMULATOR_LOG, RECORDS, Machine
from worldwise.run.code.order import NO_RECORDS

_MOST_LOG = 2**24
_LOCKUP = b"qemu: fatal: Lockup"
# Registers of the core in memory (Armv7-M ARM, B3.2): where its vectors are; why it faulted, and the address.
_VECTORS, _WHY, _ADDRESS = 0xE000_ED08, 0xE000_ED28, 0xE000_ED38
_ADDRESS_IS_VALID = 1 << 15
# The handlers of faults: of all of them, of memory that is protected, of the bus, of usage, of the secure state.
_FAULTS = range(3, 8)
# Registers by their numbers for a debugger, and what is in them.
_SP, _LINK, _PC, _STATE = 13, 14, 15, 25
# The stack pointer of tasks, and the description that QEMU has it in.
_TASKS, _DESCRIBED = "psp", "arm-m-system.xml"
_PROCESS_STACK, _PUSHED_PC, _EXCEPTION = 4, 24, 0x1FF
_NO_MEMORY = ", where this machine has no memory"
_TOO_LITTLE = (
    "its linker script gives it memory that this machine lacks: docs/use/your-code.md lists what each has, and "
    "`--machine` names another"
)
_HANGS, SECONDS = " hangs", 10


def fault_of(emulator: Emulator, machine: Machine, directory: Path, error: WorldwiseError) -> WorldwiseError:
    """What is said of firmware that did not come to its end in the run of a folder: `error`, with the place."""
    try:
        log = files.read_bytes(directory / EMULATOR_LOG, _MOST_LOG, directory)
    except OSError:
        return error
    locked = _LOCKUP in log
    if not locked and _HANGS not in error.message:
        return error
    fault, place = _watched(emulator, machine)
    if not locked and not fault:
        where = f". After {SECONDS} s it was{place}." if place else ""
        return WorldwiseError(f"{error.message}{where}", error.hint, error.details)
    how = (
        "and locked up: there is no handler for a fault, or it has one itself"
        if locked
        else "and the handler of faults does not end"
    )
    return WorldwiseError(
        f"{machine.name}: the core faulted{fault}, {how}.",
        _TOO_LITTLE
        if _NO_MEMORY in fault
        else "does it start on this machine, and does that have the devices that it uses? `--machine` names another",
        error.details or emulator.diagnosis(directory, machine),
    )


def _watched(emulator: Emulator, machine: Machine) -> tuple[str, str]:
    """Where it faults, and why; or where it is after a time, if it does not."""
    said = {"fault": "", "place": ""}

    def place(at: int) -> str:
        name = files.quoted(address_name(machine.symbols["program"], at))
        return f" at {at:#x}{f' in {name}' if name else ''}"

    def steer(debugger: GdbStub) -> None:
        end = time.monotonic() + SECONDS
        table = _word(debugger, _VECTORS)
        first, *others = (_word(debugger, table + 4 * number) & ~1 for number in _FAULTS)
        try:
            debugger.run_to(first, lambda: time.monotonic() > end, {one for one in others if one})
        except WorldwiseError:
            debugger.interrupt()
            debugger.reply()
            said["place"] = place(debugger.register(_PC))
        else:
            # Other exceptions may have the same handler.
            if debugger.register(_STATE) & _EXCEPTION in _FAULTS:
                said["fault"] = fault_words(debugger, place) + _why(debugger)
        # It would end as before, or not at all.
        raise WorldwiseError("seen")

    with tempfile.TemporaryDirectory(prefix="ww-own-") as temporary:
        (Path(temporary) / RECORDS).write_text(NO_RECORDS, encoding="ascii")
        with contextlib.suppress(WorldwiseError):
            emulator.steered(machine, (), Path(temporary), None, steer)
    return said["fault"], said["place"]


def fault_words(debugger: GdbStub, place: Callable[[int], str]) -> str:
    """Where the core faulted, by the address that it has pushed; or that it could push none."""
    stack: int | None = debugger.register(_SP)
    if debugger.register(_LINK) & _PROCESS_STACK:
        stack = debugger.register_named(_TASKS, _DESCRIBED)
    if stack is None:
        return " with a stack that cannot be read"
    if found := debugger.read(stack + _PUSHED_PC, 4):
        return place(int.from_bytes(found, "little") & ~1)
    return f" with its stack pointer at {stack:#x}{_NO_MEMORY}"


def _why(debugger: GdbStub) -> str:
    if not _word(debugger, _WHY) & _ADDRESS_IS_VALID:
        return ""
    return f": it wanted address {_word(debugger, _ADDRESS):#x}, where this machine has nothing"


def _word(debugger: GdbStub, address: int) -> int:
    return int.from_bytes(debugger.read(address, 4), "little")
