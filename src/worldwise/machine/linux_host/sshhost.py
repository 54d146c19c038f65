# SPDX-License-Identifier: BSD-2-Clause
"""A Linux host behind ssh, as a measurer: it runs a case's program on one processor, and keeps its records.

Which counter the program has is known on the host alone, so a small program is asked there first. A host with OP-TEE is
brought a TA too, and rid of it.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.units import CYCLES, Unit
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.lent_folders import end_of
from worldwise.machine.diagnosis import diagnosis
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.linux_host.signed_tas import Trust
from worldwise.machine.linux_host.ssh import LOST, Connection, SshAddress
from worldwise.machine.machine import (
    CONSOLE,
    EMULATOR_LOG,
    LOADER,
    MOST_PRINTED,
    MOST_RECORDS,
    PROGRAM,
    RECORDS,
    SECURE_CONSOLE,
    TA_SUFFIX,
    Machine,
)
from worldwise.machine.measurer import Description, MachineEnd, StartFrom

_PROBE = "probe"
# A TA's name in the folder of the connection, before it is laid where OP-TEE finds it.
_TA = "ta"
# Seconds between two looks at the records.
_LOOK = 0.05
# A shell's status of a program that a signal ended, that may not be executed, and that is not there.
_SIGNALLED, _NOT_EXECUTED = 128, (126, 127)
_ALARM = _SIGNALLED + 14
_GOVERNOR = "performance"
# kernel.perf_event_paranoid, up to which a user may count his own processes in user space, and in the kernel too.
_MOST_PARANOID, _WITH_KERNEL = 2, 1
# What the keeper says of OP-TEE -> what that is, and the way out.
_NO_TEE = {
    "none": (
        "there is no /dev/tee0",
        "check that its firmware has OP-TEE and its kernel has the modules tee and optee",
    ),
    "closed": ("this user may not open /dev/tee0", "put the user into the group of /dev/tee0 (ls -l), or be root"),
    "alone": ("no tee-supplicant runs", "start it: OP-TEE finds no TA without it (Debian's package tee-supplicant)"),
}
_UNKNOWN = "unknown"
# Arm's part numbers in MIDR_EL1, of cores that run Linux. Source: each core's technical reference manual.
_PARTS = {
    0xC07: "Cortex-A7",
    0xC08: "Cortex-A8",
    0xC09: "Cortex-A9",
    0xC0F: "Cortex-A15",
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse N1",
    0xD0D: "Cortex-A77",
    0xD40: "Neoverse V1",
    0xD41: "Cortex-A78",
    0xD49: "Neoverse N2",
    0xD4D: "Cortex-A715",
}


class _Probe(BaseModel):
    """What the host's counter is."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    type: Literal["probe"]
    clock: str
    unit: Unit
    instructions: bool
    reason: str


class SshHost:
    """A Linux host that is measured itself, as a user of it.

    Args:
        address: where it is.
        name: the target whose programs it runs.
        probe: makes the program that says which counter the host has.
        lab: names addresses in a diagnosis.
        notify: called with a line of text for each thing that makes figures worse.
        silence_limit: seconds without a record after which a host counts as hanging.
        time_limit: seconds after which a case is stopped even if records still come; the program ends itself then too.
        trust: of a host with OP-TEE, how that gets TAs.
    """

    def __init__(
        self,
        address: SshAddress,
        name: str,
        probe: Callable[[], Path],
        lab: Lab,
        notify: Callable[[str], None] = lambda _: None,
        silence_limit: float = 120,
        time_limit: float = 4 * 3600,
        trust: Trust | None = None,
    ) -> None:
        self._address = address
        self._name = name
        self.probe = probe
        self._lab = lab
        self._notify = notify
        self._silence_limit = silence_limit
        self._time_limit = time_limit
        self._trust = trust
        # The TA that is there now, and the libraries.
        self._laid: Path | None = None
        self._libraries: set[Path] = set()
        self._connection: Connection | None = None
        self._description: Description | None = None
        self._processor = 0
        self._stopping = False

    def describe(self) -> Description:
        """What the host is and what it counts. Raises HostError if it is not there or cannot run the programs."""
        if self._description is None:
            self._connect()
            assert self._description
        return self._description

    def run(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        start: StartFrom = "boot",
        progress: Callable[[int], None] = lambda _: None,
    ) -> MachineEnd:
        """Bring the program and run it: see Measurer."""
        if start != "boot":
            raise ValueError("a host has no snapshot")
        began = time.monotonic()
        if LOADER not in machine.files:
            require_static(machine.files[PROGRAM])
        for name in (EMULATOR_LOG, SECURE_CONSOLE):
            (directory / name).touch()
        try:
            connection = self._connect()
            for name, source in machine.files.items():
                if name.endswith(TA_SUFFIX):
                    self._lay(connection, name, source)
                elif source not in self._libraries:
                    connection.put(source, name)
                    self._libraries |= {source} if name != PROGRAM else set()
            started = (LOADER, "--library-path", ".", f"./{PROGRAM}") if LOADER in machine.files else (PROGRAM,)
            status = self._watched(connection, (*started, *program), directory, progress)
        except HostError:
            if self._stopping:
                raise WorldwiseError("stopped") from None
            raise
        if status == _ALARM:
            raise WorldwiseError(
                f"{self._name} over ssh: the program did not end in time.",
                details=self.diagnosis(directory, machine),
            )
        if status in _NOT_EXECUTED:
            raise HostError(
                f"{self._address}: the program of {machine.name} cannot be executed there.",
                f"is {self._address.folder} mounted noexec? Name another folder behind the host: ssh://HOST/home/USER",
                self.diagnosis(directory, machine),
            )
        return MachineEnd(status, ("ssh", *program), time.monotonic() - began)

    def diagnosis(self, directory: Path, machine: Machine) -> str:
        """What the program said."""
        return diagnosis(directory, machine, self._lab)

    def close(self) -> None:
        """Leave the host as it was found, until the next case."""
        if connection := self._connection:
            self._connection = None
            connection.close()

    def stop(self) -> None:
        """End what runs there; `run` then raises."""
        self._stopping = True
        self.close()

    # --- the host ---

    def _connect(self) -> Connection:
        """The connection; a lost one is made anew. Raises HostError."""
        if self._connection and self._connection.alive:
            return self._connection
        self.close()
        connection = Connection(self._address)
        self._laid, self._libraries = None, set()
        try:
            if self._trust:
                self._look_for_tee(connection)
            self._processor = chosen_processor(connection.facts)
            counter = self.counter_of(connection)
            governor = connection.ask(f"{_GOVERNOR} {self._processor}").removeprefix("governor").strip()
        except BaseException:
            connection.close()
            raise
        if self._description is None:
            self._tell(connection.facts, counter, governor)
        self._description = self._described(connection.facts, counter, governor)
        self._connection = connection
        return connection

    def _look_for_tee(self, connection: Connection) -> None:
        """Raises HostError if OP-TEE is not there for this user."""
        said = connection.ask("tee").removeprefix("tee").strip()
        if said in _NO_TEE:
            problem, hint = _NO_TEE[said]
            raise HostError(f"{self._address}: {problem}.", hint)

    def _lay(self, connection: Connection, name: str, source: Path) -> None:
        """Lay a TA, signed for the host, where its OP-TEE finds it. Raises HostError, also for one that is there."""
        assert self._trust
        if self._laid == source:
            return
        with tempfile.TemporaryDirectory(prefix="ww-ta-") as work:
            signed = Path(work, name)
            signed.write_bytes(self._trust.signed(source.read_bytes()))
            connection.put(signed, _TA)
        self._laid = None
        path = f"{self._trust.folder}/{name}"
        match connection.ask(f"ta {path}").removeprefix("ta").strip():
            case "ready":
                self._laid = source
            case "there":
                raise HostError(
                    f"{self._address}: {path} exists, and worldwise overwrites no TA.",
                    "a run whose host went off may have left it: then remove it there, and: worldwise run "
                    f"--resume --via {self._address}",
                )
            case _:
                raise HostError(
                    f"{self._address}: {path} cannot be written.",
                    "is that where its tee-supplicant looks for TAs (--ta-folder)? Its owner, mostly root, must be the "
                    "user of --via, or let that user write there",
                )

    def counter_of(self, connection: Connection) -> _Probe:
        """Which counter the programs have on the host."""
        connection.put(self.probe(), _PROBE)
        status, said = connection.run([_PROBE], self._environment(60))
        try:
            return _Probe.model_validate_json(said)
        except ValidationError:
            kind = " ".join(connection.facts.get("machine", [_UNKNOWN]))
            raise HostError(
                f"{self._address}: a program of {self._name} does not run there: status {status}, "
                f"{files.quoted(said.strip() or 'not a word', 300)}. The host says that it is {kind}.",
                f"is it a host for {self._name}? Is {self._address.folder} mounted noexec? Another folder can stand "
                "behind the host: ssh://HOST/home/USER",
            ) from None

    def _environment(self, seconds: float) -> dict[str, str]:
        return {"WORLDWISE_CPU": str(self._processor), "WORLDWISE_SECONDS": str(max(1, int(seconds)))}

    def _tell(self, facts: Mapping[str, Sequence[str]], counter: _Probe, governor: str) -> None:
        """Say what makes figures worse, and the way out."""
        if counter.unit != CYCLES:
            paranoid = " ".join(facts.get("paranoid", []))
            most = _WITH_KERNEL if self._trust else _MOST_PARANOID
            # The counter's own reasons are not errors of Linux.
            refused = counter.reason.startswith("perf_event_open") and paranoid.isdecimal() and int(paranoid) > most
            said = f" (kernel.perf_event_paranoid is {paranoid}, and must be {most} or less)" if refused else ""
            self._notify(
                f"warning: no cycles: {files.quoted(counter.reason, 200)}{said}. The run measures time in "
                "nanoseconds, with all that disturbs it"
            )
        if not governor:
            self._notify("warning: the host does not say how its clock is set: it may change while a case runs")
        elif governor != _GOVERNOR:
            self._notify(
                f"warning: the governor of processor {self._processor} is {files.quoted(governor, 40)}, and this user "
                f"may not set it: the clock may change. As root: echo {_GOVERNOR} >"
                f"/sys/devices/system/cpu/cpu{self._processor}/cpufreq/scaling_governor"
            )

    def _described(self, facts: Mapping[str, Sequence[str]], counter: _Probe, governor: str) -> Description:
        core = core_name(facts, self._processor)
        found: dict[str, JsonValue] = {
            "model": " ".join(facts.get("model", [""])),
            "core": core,
            "processor": self._processor,
            "kernel": " ".join(facts.get("kernel", [_UNKNOWN])),
            "governor": governor or _UNKNOWN,
            "clock": counter.clock,
            "clock_reason": counter.reason,
        }
        where = "in user space, Linux and the secure world" if self._trust else "in user space"
        counts = f"counts its cycles {where}" if counter.unit == CYCLES else "has no counter for us: its clock"
        return Description(counter.unit, f"{self._address}: {core}, processor {self._processor}, {counts}", found)

    # --- a case ---

    def _watched(
        self, connection: Connection, program: Sequence[str], directory: Path, progress: Callable[[int], None]
    ) -> int:
        """Run the program until it ends. Returns its status. Raises WorldwiseError if it hangs."""
        path = directory / RECORDS
        with path.open("wb") as file, (directory / CONSOLE).open("wb") as console:
            started = connection.start(program, self._environment(self._time_limit), file, console)
            try:
                heard, size = time.monotonic(), 0
                while started.status is None:
                    time.sleep(_LOOK)
                    now, found = time.monotonic(), path.stat().st_size
                    if found != size:
                        heard, size = now, found
                        progress(size)
                    if started.flooded or started.problem:
                        break
                    if now - heard > self._silence_limit:
                        self._halt(
                            connection,
                            f"hangs: no record for {self._silence_limit:.0f} s",
                            "`--silence` gives it more time",
                        )
                    if not connection.alive:
                        connection.lost()
            finally:
                status = started.end()
        if started.flooded:
            records, words = files.size_words(MOST_RECORDS), files.size_words(MOST_PRINTED)
            self._halt(connection, "writes without end", f"{records} of records and {words} of words are kept")
        if started.problem:
            self._halt(
                connection, f"wrote what this machine could not keep ({started.problem.strerror})", str(directory)
            )
        if status == LOST or not connection.alive:
            connection.lost(end_of(directory / CONSOLE, 2000).decode("utf-8", "replace"))
        return status

    def _halt(self, connection: Connection, problem: str, hint: str) -> NoReturn:
        """Raises WorldwiseError, with the program ended; HostError if the host does not do that."""
        connection.ask("stop")
        raise WorldwiseError(f"{self._name} over ssh: the program {problem}; it was ended.", hint)


def require_static(program: Path) -> None:
    """Raise WorldwiseError for a program that needs files of the host: they could be others than what was compiled."""
    (interpreted,) = ask(program, ("interpreted",))
    if interpreted:
        raise WorldwiseError(
            f"{program.name} is linked dynamically: with the host's libraries it would be another program.",
            "programs for hosts are linked with -static",
        )


def _by_processor(facts: Mapping[str, Sequence[str]], name: str) -> dict[int, str]:
    """What the host says of its processors under a name; what is no such line is left out."""
    found = {}
    for line in facts.get("cpu", ()):
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[1] == name and words[0].isdecimal():
            found[int(words[0])] = words[2]
    return found


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def chosen_processor(facts: Mapping[str, Sequence[str]]) -> int:
    """The fastest that the user may have, by capacity or else by its highest clock; of equals the last.

    The first one serves most interrupts.
    """
    allowed: set[int] = set()
    for part in " ".join(facts.get("allowed", ())).replace(",", " ").split():
        first, _, last = part.partition("-")
        allowed |= set(range(_number(first), min(_number(last or first), 4095) + 1))
    capacity, clock = (_by_processor(facts, name) for name in ("cpu_capacity", "cpuinfo_max_freq"))
    return max(allowed or {0}, key=lambda one: (_number(capacity.get(one, "")), _number(clock.get(one, "")), one))


def core_name(facts: Mapping[str, Sequence[str]], processor: int) -> str:
    """A processor's core, as its identification register or /proc/cpuinfo tells it."""
    register = _by_processor(facts, "midr_el1").get(processor, "")
    parts = facts.get("part", ())
    text = parts[processor] if processor < len(parts) else ""
    try:
        if register:
            value = int(register, 16)
            part, revision = value >> 4 & 0xFFF, f" r{value >> 20 & 0xF}p{value & 0xF}"
            if value >> 24 & 0xFF != 0x41:
                return f"a core of implementer {value >> 24 & 0xFF:#04x}, part {part:#05x}{revision}"
        else:
            part, revision = int(text, 16), ""
    except ValueError:
        return "an unknown core"
    return f"{_PARTS.get(part, 'a core of Arm')} ({part:#05x}){revision}"
