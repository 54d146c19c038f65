# SPDX-License-Identifier: BSD-2-Clause
"""Machines: what an emulated one is made of, how QEMU is told of it, and the files that it leaves."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from worldwise.lab.lab import Lab

# The instruction before which a machine with an operating system is stopped and saved.
READY_SYMBOL = "worldwise_machine_ready"

# What a machine leaves.
RECORDS = "records.jsonl"
TRACE = "trace.jsonl"
CONSOLE = "console.log"
SECURE_CONSOLE = "secure.log"
EMULATOR_LOG = "qemu.log"

# Instructions: between the two readings around the stop there are three, where a reading is one.
LEAST_SKIP = 100

# The date comes from virtual time too.
FIXED_DATE = ("-rtc", "base=2025-01-01T00:00:00,clock=vm")
# Every switch that makes a machine repeat itself to the digit. tests/machine/test_determinism.py takes each away.
DETERMINISM = (
    # One instruction is one nanosecond of virtual time, and idle time is skipped, not waited for.
    ("-icount", "shift=0,align=off,sleep=off"),
    FIXED_DATE,
)
# No random seed in the device tree, which would reach both worlds' generators.
DETERMINISTIC_MACHINE = "dtb-randomness=off"

# The id of what a network card is plugged into.
NETWORK = "host"


class Beside(Protocol):
    """What runs on the host beside a machine and talks to it through the machine's network card.

    Such a machine follows the host's clock, not its own: nothing is counted on it.
    """

    def running(self, directory: Path, live: Path) -> contextlib.AbstractContextManager[str]:
        """Runs from before the machine starts until it has ended; gives the forwarding for QEMU's user network.

        It may put files into the case's directory. What the machine writes it may look at in `live`, not trust.
        Raises WorldwiseError at the end if it failed.
        """


@dataclass(frozen=True)
class Machine:
    """An emulated machine: what it is made of and how QEMU is told.

    Attributes:
        name: shown to people.
        files: file name in the machine's folder -> where it is now.
        digests: file name -> SHA-256.
        arguments: of QEMU, with file names relative to the machine's folder `/machine`.
        images: provenance: image name -> address.
        ready: address of the instruction before which the machine is stopped and saved; None for one that boots within
            milliseconds, so that every case begins at power-on.
        symbols: ELF files that name addresses of the monitor and the secure world: name or UUID -> file.
        preload: names that firmware loads from its current directory.
        footprint: bytes of `flash` and `ram` that the measured operation takes, where programs are linked for one; in
            plain Linux those of the library with all operations of the case's curve; of `ta_loaded` and `ta_file`
            where a TA is one of several that do the same.
        beside: what runs on the host beside it; only a machine that has it has a network card.
        least_skip: instructions between those two readings that are more than the readings themselves can take.
        brought: of `files`, those that a machine sees only once a case begins: no part of its saved state.
        patience: seconds for which its programs may record nothing, where that is more than other machines are given.
        host_files: names of the files that what is beside it writes into the case's directory.
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
    beside: Beside | None = None
    least_skip: int = LEAST_SKIP
    brought: tuple[str, ...] = ()
    patience: float = 0
    host_files: tuple[str, ...] = ()

    def digest(self, lab: Lab) -> str:
        """The machine's address: lab (so QEMU itself), files, arguments, stopping point."""
        return self._digest(lab, self.digests)

    def state_digest(self, lab: Lab) -> str:
        """The address of its saved state: the same without what a case brings."""
        return self._digest(lab, {name: sha for name, sha in self.digests.items() if name not in self.brought})

    def _digest(self, lab: Lab, digests: Mapping[str, str]) -> str:
        inputs = [lab.digest, sorted(digests.items()), self.arguments, self.ready]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
