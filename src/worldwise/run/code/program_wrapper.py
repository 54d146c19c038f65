# SPDX-License-Identifier: BSD-2-Clause
"""Running a program on the measured machine as a wrapper does: its streams, its status, and what it took.

To a program of Linux no plugin is attached: the counter of the machine is read around its life, as `run --program`
does. Firmware has no such counter: it is counted as `run --firmware` counts its whole run.
"""

import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries.user_code.kinds import FIRMWARE_ELF, case_name
from worldwise.machine.diagnosis import CONSOLES
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import CONSOLE, RECORDS, TRACE
from worldwise.machine.plugin import FlatPlugin, flat_plugin
from worldwise.run.code.order import (
    NO_RECORDS,
    Wanted,
    architecture_of,
    check_machine,
    pack,
    read_firmware,
    read_given,
    write_order,
)
from worldwise.run.code.process_lives import LAUNCHED, OUTPUT, STARTED, Life, lives_of
from worldwise.targets.own_code import firmware_machine, machine_of

_EXEC, _ERRORS = "exec", "errors"
_MOST_OUTPUT, _MOST_SAID = 65 * 2**20, 2**20
# As shells say that a signal ended a program.
_BY_SIGNAL = 128
# Nothing is ever executed there.
_NO_FUNCTION = 0xFFFF_FFFE


@dataclass(frozen=True)
class Executed:
    """What a program did.

    Attributes:
        output, errors: what it wrote to its standard files.
        life: the counter around it, and how it ended.
        machine: the digest of the machine it ran on, the program included.
    """

    output: bytes
    errors: bytes
    life: Life
    machine: str

    @property
    def status(self) -> int:
        """The exit status, as a shell says it."""
        return _BY_SIGNAL + self.life.signal if self.life.signal else self.life.status

    @property
    def instructions(self) -> int | None:
        """What it took, from fork to exit; None if the processor was idle meanwhile: time went on without any."""
        return None if self.life.idle else self.life.end - self.life.begin


def execute(wanted: Wanted, images: ImageStore, emulator: Emulator) -> Executed:
    """Run the program once. Raises WorldwiseError if it cannot be started on the machine."""
    wanted.check(images.lab)
    with tempfile.TemporaryDirectory(prefix="ww-exec-") as temporary:
        work, left = Path(temporary, "code"), Path(temporary, "left")
        work.mkdir()
        left.mkdir()
        content = pack(wanted, images, work)
        write_order(work, _EXEC, wanted, 1)
        architecture = architecture_of(content, wanted)
        machine = machine_of(images, wanted.kind, work, wanted.case_name, _EXEC, architecture, wanted.loopback)
        (left / RECORDS).touch()
        emulator.run(machine, ("/bin/fetch",), left, left=(LAUNCHED, OUTPUT, _ERRORS, STARTED))
        if not (left / LAUNCHED).exists() and not (left / STARTED).exists():
            # Whether anything may enter the lab is not tried before each program.
            images.lab.require_entry()
        said = left / STARTED if (left / STARTED).exists() else left / RECORDS
        if failure := _failure(said, left):
            raise WorldwiseError(f"{wanted.program}: {files.quoted(failure)}")
        (life,) = lives_of(left)
        output, errors = (files.read_bytes(left / name, _MOST_OUTPUT, left) for name in (OUTPUT, _ERRORS))
        return Executed(output, errors, life, machine.digest(images.lab))


def _failure(said: Path, left: Path) -> str:
    """What the machine's own programs say went wrong; empty if nothing did."""
    for line in files.read_bytes(said, _MOST_SAID, left).splitlines():
        # The measured program can write there too: other lines are the program's own.
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and record.get("type") == "error":
                return str(record.get("message"))
    return ""


def execute_firmware(
    elf: Path, machine: str, arguments: Sequence[str], brought: Sequence[Path], images: ImageStore, emulator: Emulator
) -> Executed:
    """Run firmware once, from its reset to its end by semihosting; what it writes is output, and no errors apart.

    Args:
        elf: its file.
        machine: one of M_MACHINES.
        arguments: the words behind its name, which it can ask for by semihosting.
        brought: files that it can open by semihosting, by their names.
        images: have the plugin.
        emulator: runs it.

    Raises WorldwiseError if it cannot be started, or if it did not come to its end.
    """
    check_machine(machine)
    content = read_firmware(elf)
    plugin = images.get(flat_plugin())
    with tempfile.TemporaryDirectory(prefix="ww-exec-") as temporary:
        work, left = Path(temporary, "code"), Path(temporary, "left")
        work.mkdir()
        left.mkdir()
        (work / FIRMWARE_ELF).write_bytes(content)
        for path in brought:
            _bring(path, left)
        made = firmware_machine(work, case_name(elf.name), machine, as_it_is=True)
        (left / RECORDS).write_text(NO_RECORDS, encoding="ascii")
        # A region makes the plugin follow the machine from its reset on; the calls of this one are none.
        counting = FlatPlugin(plugin.file("flat.so"), {"mode": "stack"}, calls=(_NO_FUNCTION,))
        ended = emulator.run(made, (elf.name, *arguments), left, plugin=counting)
        output = files.read_bytes(left / CONSOLE, _MOST_OUTPUT, left) if (left / CONSOLE).exists() else b""
        # A program of Linux has no trace, and what reads one takes long to load.
        from worldwise.records.trace import read_trace

        try:
            (whole,) = [one for one in read_trace(left / TRACE).passes if not one.parent]
        except (OSError, ValueError, WorldwiseError):
            images.lab.require_entry()
            raise WorldwiseError(
                f"{elf.name} did not come to its end: {_why_not(ended.status)}.",
                f"it ends by semihosting (SYS_EXIT); does it start on {machine}? `--machine` names another",
                emulator.diagnosis(left, made),
            ) from None
        return Executed(output, b"", Life(whole.begin, whole.end, ended.status, 0, 0), made.digest(images.lab))


def _bring(path: Path, room: Path) -> None:
    """Put a file where firmware can open it. Raises WorldwiseError."""
    if path.name in (RECORDS, TRACE, *CONSOLES, "machine"):
        raise WorldwiseError(f"--file {path}: a file of the machine itself has that name", "rename it")
    if (room / path.name).exists():
        raise WorldwiseError(
            f"--file {path}: another file has the name '{files.quoted(path.name)}'", "rename one of them"
        )
    (room / path.name).write_bytes(read_given(path, "--file"))


def _why_not(status: int) -> str:
    if status == _BY_SIGNAL + signal.SIGABRT:
        return "the core locked up, as one does whose fault handler has a fault"
    return f"QEMU ended with status {status}"


def append(path: Path, program: Path, arguments: Sequence[str], done: Executed, lab: str) -> None:
    """Add a line to the file of what was counted; several wrappers may at the same time. Raises WorldwiseError."""
    line = {
        "format": 1,
        "program": str(program),
        "arguments": list(arguments),
        "instructions": done.instructions,
        "status": done.status,
        "machine": done.machine,
        "lab": lab,
    }
    data = (json.dumps(line) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            # One call: lines of others stand before or behind it.
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise WorldwiseError(f"{path}: could not be written: {error.strerror}.", "name another: --run FILE") from error
