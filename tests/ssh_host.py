# SPDX-License-Identifier: BSD-2-Clause
"""A host behind a program called ssh that runs everything here, and fails where a test says so; and its records."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from boards import board_records
from synthetic import make_records
from worldwise.lab.image import ImageStore
from worldwise.machine.linux_host.ssh import SshAddress
from worldwise.machine.linux_host.sshhost import SshHost
from worldwise.machine.machine import Machine
from worldwise.plan.case import Case
from worldwise.plan.catalogue import takes_portables
from worldwise.run import ways

PROBE = {"type": "probe", "clock": "perf_user_cycles", "unit": "cycles", "instructions": True, "reason": ""}
TEE_PROBE = PROBE | {"clock": "perf_cycles"}
TIMER = PROBE | {"clock": "clock_monotonic_raw", "unit": "nanoseconds", "instructions": False}
# What measuring costs, in instructions.
OVERHEAD = 5


class FakeHost:
    """The host, with its ssh first on the path of programs once a test has put `path` there.

    Attributes:
        path: the folder of the program called ssh.
        address: where it says it is; its folder is one of the test's.
        system: its /sys.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path, self.system, folder = (root / name for name in ("bin", "sys", "host"))
        for one in (self.path, self.system, folder):
            one.mkdir()
        self.folder = folder
        self.address = SshAddress("a-host", "somebody", None, str(folder))
        self._how = root / "how"
        ssh = self.path / "ssh"
        # As a true one it is the other end that runs the command, and lives on when this one is killed.
        ssh.write_text(f'#!/bin/sh\nfor last; do :; done\n. {self._how}\nsh -c "$last"\n')
        ssh.chmod(0o755)
        self.probe = root / "probe"
        self.program = root / "program"
        self.says()
        self.probes(PROBE)
        self.runs("cat records")

    def says(self, text: str = "", status: int = 0) -> None:
        """Have ssh itself say something and fail, if with a status."""
        self._how.write_text(f"printf '%s\\n' '{text}' >&2; exit {status}\n" if status else ":\n")

    def probes(self, record: dict[str, Any]) -> None:
        """What the first program says."""
        self.probe.write_text(f"#!/bin/sh\necho '{json.dumps(record)}'\n")

    def runs(self, script: str) -> None:
        """What the measured program does; `$CASE` is its operation."""
        self.program.write_text(f'#!/bin/sh\nCASE=$2\ncd "{self.root}"\n{script}\n')

    def processor(self, number: int, **files: str) -> Path:
        """A processor that /sys has, with these files."""
        folder = self.system / f"devices/system/cpu/cpu{number}"
        for name, text in files.items():
            path = folder / {"scaling_governor": "cpufreq", "midr_el1": "regs/identification"}.get(name, "") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return folder


class HostTarget:
    """A target whose machines need no image.

    Args:
        machine: makes them.
        counts_when_emulated: see worldwise.targets.silicon.
    """

    def __init__(self, machine: Callable[[], Machine], counts_when_emulated: bool) -> None:
        self._machine = machine
        self.counts_when_emulated = counts_when_emulated

    def machine(self, _case: Case, _images: ImageStore) -> Machine:
        return self._machine()

    def program(self, case: Case) -> Sequence[str]:
        return ("/bin/program", case.operation, str(case.warmup), str(case.samples), *case.arguments)

    def on_host(self, case: Case) -> Sequence[str]:
        return ("-", *self.program(case)[1:])

    def put(self, monkeypatch: pytest.MonkeyPatch, name: str, host: FakeHost) -> None:
        """Have runs take it under a name, and the host's own program that says which counter there is."""
        true = SshHost.counter_of

        def counter(measurer: SshHost, connection: Any) -> Any:
            measurer.probe = lambda: host.probe
            return true(measurer, connection)

        monkeypatch.setattr(ways, "EMULATED", {name: self})
        monkeypatch.setattr(ways, "silicon", lambda _: self)
        monkeypatch.setattr("worldwise.run.measurers.silicon", lambda _: None)
        monkeypatch.setattr(SshHost, "counter_of", counter)


def host_records(case: Case, probe: dict[str, Any] = PROBE, **spoilt: Any) -> list[dict[str, Any]]:
    """The records of a case on a host; `spoilt` are fields of the conditions of the second call."""
    found = []
    plain = takes_portables(case.target)
    for record in board_records(case) if plain else make_records(case):
        # A TA has no counter there.
        if record["type"] == "memory" or record.get("place") == "ta":
            continue
        if "inner" in record:
            record["count"] += record.pop("inner")
        if record["type"] == "start":
            record.pop("board", None)
            record |= {"program": "linux-bench"} if plain else {}
            record |= {"clock": probe["clock"], "unit": probe["unit"]}
        if record["type"] == "overhead":
            record |= {"clock": probe["clock"], "nested": 9}
        if "place" in record and plain:
            record["place"] = "linux"
        found.append(record)
        if record["type"] == "sample":
            of_chip = {"instructions": 2 * record["count"] + OVERHEAD, "overhead": OVERHEAD}
            conditions: dict[str, Any] = {"type": "conditions", "measure": record["measure"], "index": record["index"]}
            conditions |= of_chip if probe["instructions"] else {}
            conditions |= dict.fromkeys(("enabled", "running"), 1000 if probe["instructions"] else 0)
            conditions |= {"switches": 0, "migrations": 0, "khz_begin": 1500000, "khz_end": 1500000}
            found.append(conditions | (spoilt if record["index"] == 1 else {}))
    return found


def lines(records: list[dict[str, Any]]) -> str:
    """The text of records."""
    return "".join(json.dumps(record) + "\n" for record in records)
