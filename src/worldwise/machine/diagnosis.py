# SPDX-License-Identifier: BSD-2-Clause
"""Diagnosis: how a machine ended, and what its consoles say about it."""

import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.lent_folders import end_of
from worldwise.lab.sandbox.limits import KIB, Limits, broken_limit
from worldwise.lab.sandbox.refusals import refusal_in
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, RECORDS, SECURE_CONSOLE, Machine

# Lines of each console shown after a failure, and bytes of its end that are read.
_CONSOLE_TAIL = 25
_CONSOLE_BYTES = 256 * KIB
CONSOLES = (EMULATOR_LOG, CONSOLE, SECURE_CONSOLE)
# OP-TEE's messages: where ldelf put a file, and one address of a call stack (E/LD for a TA, E/TC for the core).
_LOADED = re.compile(r"\[\d+\] ([0-9a-f-]{36}) @ 0x([0-9a-f]+)")
_FRAME = re.compile(r"E/(LD|TC):\S*\s+(?:\d+ +)?0x([0-9a-f]+)(?: |$)")


def _console(directory: Path, name: str) -> str:
    """The end of a console, which a machine may still be writing; empty if it is missing or not a file."""
    return end_of(directory / name, _CONSOLE_BYTES).decode("utf-8", "replace")


def panic(directory: Path) -> str:
    """What the consoles say about a panic of the kernel or of OP-TEE's core; empty if neither panicked."""
    for name, pattern, who in (
        (CONSOLE, r"Kernel panic - not syncing: (.*)", "the guest's kernel panicked"),
        (SECURE_CONSOLE, r"E/TC.*?(Panic (?:at|in|\S*').*)", "OP-TEE's core panicked"),
    ):
        match = re.search(pattern, _console(directory, name))
        if match:
            return f"{who}: {match[1].strip()}"
    return ""


def raise_refusal(directory: Path) -> None:
    """Raise HostError if bubblewrap did not let QEMU start."""
    if refusal := refusal_in(last_line(directory / EMULATOR_LOG)):
        raise refusal


def last_line(path: Path) -> str:
    lines = _console(path.parent, path.name).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def diagnosis(directory: Path, machine: Machine, lab: Lab, room: Path | None = None) -> str:
    """The ends of the consoles in a case's directory, for a person to read.

    A backtrace of the secure world gets its functions and source lines. `room`: the folder that has the consoles while
    the machine runs.
    """
    parts = []
    # A kernel of Linux has a command line.
    titles = ("QEMU", "Linux console" if "-append" in machine.arguments else "firmware", "OP-TEE console")
    for name, title in zip(CONSOLES, titles, strict=True):
        text = _console(directory if name == EMULATOR_LOG else room or directory, name)
        lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_CONSOLE_TAIL:]
        if name == SECURE_CONSOLE:
            lines = symbolise(lines, machine.symbols, lab)
        if lines:
            parts.append(f"--- {title} ---\n" + "\n".join(lines))
    return "\n".join(parts)


def judge(status: int, directory: Path, machine: Machine, lab: Lab, limits: Limits) -> None:
    """Raise WorldwiseError unless init ended the machine with the program's status, 0 or 1.

    Of firmware that is run as it is any status may be its own: whoever runs it knows whether it came to its end.
    """
    # Firmware may print any words, so its own say nothing.
    said = "" if machine.as_it_is else panic(directory)
    if not (directory / RECORDS).exists():
        raise_refusal(directory)
    if said:
        problem = said
    elif not (directory / RECORDS).exists() and (line := last_line(directory / EMULATOR_LOG)):
        problem = f"QEMU did not start: {line}"
    elif status not in (0, 1) and not machine.as_it_is:
        # bubblewrap reports a child ended by a signal as a shell does.
        cause = signal.Signals(status - 128).name if status - 128 in list(signal.Signals) else f"status {status}"
        problem = f"QEMU ended with {cause} before the case was done"
        broken = broken_limit(status, "", limits)
        problem += f": {broken}" if broken else ""
    else:
        return
    raise WorldwiseError(f"{machine.shown}: {problem}", details=diagnosis(directory, machine, lab))


def symbolise(lines: Sequence[str], symbols: Mapping[str, Path], lab: Lab) -> list[str]:
    """Adds functions and source lines to the addresses of OP-TEE's backtraces; other lines are left as they are.

    A TA's addresses are relative to where ldelf says it put it; the core's are those it was linked at.
    """
    loaded = {match[1]: int(match[2], 16) for line in lines if (match := _LOADED.search(line))}
    wanted: dict[str, dict[int, int]] = {}
    for number, line in enumerate(lines):
        match = _FRAME.match(line)
        if not match:
            continue
        address = int(match[2], 16)
        if match[1] == "TC":
            wanted.setdefault("tee", {})[number] = address
        else:
            # The file with the highest start below the address.
            below = [(start, name) for name, start in loaded.items() if start <= address]
            if below:
                start, name = max(below)
                wanted.setdefault(name, {})[number] = address - start
    result = list(lines)
    for name, addresses in wanted.items():
        if name not in symbols:
            continue
        answer = lab.run(
            ["aarch64-linux-gnu-addr2line", "-e", "/elf", "-f", "-p", "-C", *map(hex, addresses.values())],
            binds=[(symbols[name], "/elf", "ro")],
            check=False,
        )
        for number, text in zip(addresses, answer.stdout.splitlines(), strict=False):
            if not text.startswith("??"):
                result[number] += "  " + text.replace("/build/", "")
    return result
