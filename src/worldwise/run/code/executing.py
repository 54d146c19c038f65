# SPDX-License-Identifier: BSD-2-Clause
"""Running a program on the measured machine as a wrapper does: its streams, its status, and what it took.

No plugin is attached: the counter of the machine is read around the program's life, as `run --program` does.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.records.models import Failure
from worldwise.records.parse import read_records
from worldwise.run.code.counting import LAUNCHED, OUTPUT, STARTED, Life, lives_of
from worldwise.run.code.order import Wanted, architecture_of, pack, write_order
from worldwise.targets.own_code import machine_of

_EXEC, _ERRORS = "exec", "errors"
_MOST_OUTPUT = 65 * 2**20
# As shells say that a signal ended a program.
_BY_SIGNAL = 128


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
        machine = machine_of(images, wanted.kind, work, wanted.case_name, _EXEC, architecture)
        (left / RECORDS).touch()
        emulator.run(machine, ("/bin/fetch",), left, left=(LAUNCHED, OUTPUT, _ERRORS, STARTED))
        said = left / STARTED if (left / STARTED).exists() else left / RECORDS
        for record in read_records(said):
            if isinstance(record, Failure):
                raise WorldwiseError(f"{wanted.program}: {files.quoted(record.message)}")
        (life,) = lives_of(left)
        output, errors = (files.read_bytes(left / name, _MOST_OUTPUT, left) for name in (OUTPUT, _ERRORS))
        return Executed(output, errors, life, machine.digest(images.lab))


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
