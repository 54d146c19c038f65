# SPDX-License-Identifier: BSD-2-Clause
"""Emulated machines: their files, QEMU's arguments for them, and the files that they leave."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.limits import MIB

# The instruction before which a machine with an operating system is stopped and saved.
READY_SYMBOL = "worldwise_machine_ready"

# The files that a machine leaves.
RECORDS = "records.jsonl"
TRACE = "trace.jsonl"
CONSOLE = "console.log"
SECURE_CONSOLE = "secure.log"
EMULATOR_LOG = "qemu.log"
# Bytes of records that are read of a case, and of what a host's or a board's program may print beside them.
MOST_RECORDS = 256 * MIB
MOST_PRINTED = 16 * MIB

# The files that a Linux host is brought: the program, the loader of one that has libraries, and TAs.
PROGRAM, LOADER, TA_SUFFIX = "program", "loader", ".ta"

# In instructions. Only three lie between the two clock readings around the stop, if a reading is one instruction.
LEAST_SKIP = 100

# The date comes from virtual time too.
FIXED_DATE = ("-rtc", "base=2025-01-01T00:00:00,clock=vm")
# The switches that make a machine repeat itself to the digit. tests/machine/test_determinism.py removes each in turn.
DETERMINISM = (
    # One instruction is one nanosecond of virtual time; idle time is skipped.
    ("-icount", "shift=0,align=off,sleep=off"),
    FIXED_DATE,
)
# No random seed in the device tree: it would reach both worlds' random generators.
DETERMINISTIC_MACHINE = "dtb-randomness=off"

# QEMU's id of the network that a card is plugged into, and of the console that a UART and semihosting share.
NETWORK = "host"
SAID = "said"


class HostProgram(Protocol):
    """A host program that runs beside a machine and talks to it through the machine's network card.

    Such a machine follows the host's clock, so nothing is counted on it.
    """

    def running(self, directory: Path, live: Path) -> contextlib.AbstractContextManager[str]:
        """Runs from before the machine starts until it has ended; gives the forwarding for QEMU's user network.

        It may put files into the case's directory. It may read in `live` what the machine writes, but must not trust
        it. Raises WorldwiseError at the end if it failed.
        """


@dataclass(frozen=True)
class Machine:
    """An emulated machine: its files and QEMU's arguments.

    Attributes:
        name: shown to people.
        files: file name in the machine's folder -> where it is now.
        digests: file name -> SHA-256.
        arguments: QEMU's arguments, with file names relative to the machine's folder `/machine`.
        images: provenance: image name -> address.
        ready: address of the instruction before which the machine is stopped and saved; None for a machine that boots
            within milliseconds: each of its cases begins at power-on.
        symbols: ELF files that name addresses of the monitor and the secure world: name or UUID -> file.
        preload: names that firmware loads from its current directory.
        footprint: bytes of `flash` and `ram`: of the measured operation if a program is linked for it alone, in plain
            Linux of the library with all operations of the case's curve; and of `ta_loaded` and `ta_file` if several
            TAs do the same.
        beside: the host program that runs beside it; only then does the machine have a network card.
        least_skip: more instructions than the two clock readings around the stop can take themselves.
        brought: those of `files` that a machine sees only once a case begins: no part of its saved state.
        boot_files: those of `files` that QEMU loads to boot alone: what they become is in the saved state.
        patience: seconds for which its programs may record nothing, if more than other machines get.
        host_files: names of the files that `beside` writes into the case's directory.
        stack: the file of the user's own stack that it is made with; empty if it is the lab's.
        as_it_is: firmware that is run for what it does: what it writes to its first UART and by semihosting goes to one
            console, in its order, and QEMU's exit status is its own, whatever that is.
    """

    name: str
    files: Mapping[str, Path]
    digests: Mapping[str, str]
    arguments: tuple[str, ...]
    images: Mapping[str, str]
    ready: int | None
    symbols: Mapping[str, Path]
    preload: tuple[str, ...]
    footprint: Mapping[str, int] | None = None
    beside: HostProgram | None = None
    least_skip: int = LEAST_SKIP
    brought: tuple[str, ...] = ()
    boot_files: tuple[str, ...] = ()
    patience: float = 0
    host_files: tuple[str, ...] = ()
    stack: str = ""
    as_it_is: bool = False

    @property
    def shown(self) -> str:
        """How it is named where it is to blame."""
        return f"{self.stack}: machine {self.name}" if self.stack else f"machine {self.name}"

    def digest(self, lab: Lab) -> str:
        """The machine's address: over the lab (and so QEMU), files, arguments and stopping point."""
        return self._digest(lab, self.digests)

    def state_digest(self, lab: Lab) -> str:
        """The address of its saved state: as `digest`, but without the files that a case brings."""
        return self._digest(lab, {name: sha for name, sha in self.digests.items() if name not in self.brought})

    def _digest(self, lab: Lab, digests: Mapping[str, str]) -> str:
        inputs = [lab.digest, sorted(digests.items()), self.arguments, self.ready]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
