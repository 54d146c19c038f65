# SPDX-License-Identifier: BSD-2-Clause
"""A Linux host by ssh: how its programs run, what is left there, and what is said when something fails."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import remote_run
from command_line import Call
from machines import wait_for
from remote_run import Notes, machine_with
from ssh_host import PROBE, TIMER, FakeHost, HostTarget, host_records, lines
from suite_texts import suite_text
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.machine.linux_host import ssh, sshhost
from worldwise.machine.linux_host.ssh import SshAddress, parse_ssh
from worldwise.machine.linux_host.sshhost import SshHost, chosen_processor, core_name, require_static
from worldwise.machine.machine import RECORDS, Machine
from worldwise.plan.suite import parse_suite
from worldwise.read.run_counts import read_run
from worldwise.report.answer import measured_lines
from worldwise.report.report import sections, to_csv, to_json
from worldwise.run import ways
from worldwise.run.folder.manifests import EMULATED_FILE
from worldwise.run.folder.rundir import Run, open_run
from worldwise.run.measure import Bench
from worldwise.run.measurers import Remote, remote_of
from worldwise.run.options import MeasureOptions

TARGET = "linux-armv8"
WORDS = ("-", "keygen", "0", "2", "curve=secp256r1")
LINES = '{"type":"line"}\n' * 3


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """A host whose programs are scripts."""
    found = FakeHost(tmp_path)
    monkeypatch.setenv("PATH", f"{found.path}:{os.environ['PATH']}")
    monkeypatch.setattr(ssh, "SYSTEM", str(found.system))
    monkeypatch.setattr(sshhost, "require_static", lambda _: None)
    (tmp_path / "records").write_text(LINES)
    return found


def machine(host: FakeHost) -> Machine:
    return machine_with({"program": host.program})


class Measured:
    """A measurer of a host, and the warnings that it gave."""

    def __init__(self, host: FakeHost, silence: float = 5) -> None:
        self.host = host
        self.said: list[str] = []
        lab = Lab(load_lock(), host.root / "cache")
        self.measurer = SshHost(host.address, TARGET, lambda: host.probe, lab, self.said.append, silence)

    def run(self) -> str:
        """The records of a program."""
        directory = self.host.root / "case"
        directory.mkdir(exist_ok=True)
        ended = self.measurer.run(machine(self.host), WORDS, directory)
        assert (ended.status, ended.command) == (0, ("ssh", *WORDS))
        return (directory / RECORDS).read_text()


@pytest.fixture
def measured(host: FakeHost) -> Iterator[Measured]:
    found = Measured(host)
    yield found
    found.measurer.close()


# --- what goes well ---


def test_records_come_and_nothing_stays(host: FakeHost, measured: Measured) -> None:
    """If this fails, every run leaves a folder and its programs on somebody's board."""
    assert measured.run() == measured.run() == LINES
    assert len(list(host.folder.iterdir())) == 1
    measured.measurer.close()
    assert not list(host.folder.iterdir())


def test_a_program_gets_its_processor_its_limit_and_its_words(host: FakeHost, measured: Measured) -> None:
    host.runs('echo "$WORLDWISE_CPU $WORLDWISE_SECONDS $*"')
    processor = max(os.sched_getaffinity(0))
    assert measured.run() == f"{processor} 14400 {' '.join(WORDS)}\n"


def test_the_governor_is_set_and_set_back(host: FakeHost, measured: Measured) -> None:
    """If this fails, a host's clock goes up and down under a measurement, or stays up for ever."""
    processor = max(os.sched_getaffinity(0))
    governor = host.processor(processor, scaling_governor="schedutil") / "cpufreq/scaling_governor"
    assert measured.measurer.describe().facts["governor"] == "performance"
    assert governor.read_text() == "performance\n"
    assert not measured.said
    measured.measurer.close()
    assert governor.read_text() == "schedutil\n"


def test_a_governor_that_may_not_be_set_is_told(
    host: FakeHost, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "KEEPER", ssh.KEEPER.replace('[ -w "$f" ]', "false"))
    host.processor(max(os.sched_getaffinity(0)), scaling_governor="schedutil")
    assert measured.measurer.describe().facts["governor"] == "schedutil"
    assert "this user may not set it" in measured.said[0]


def test_what_is_there_is_described_without_names(host: FakeHost, measured: Measured) -> None:
    """If this fails, a run that is given away names the host or its user."""
    host.processor(max(os.sched_getaffinity(0)), midr_el1="0x00000000410fd083", cpu_capacity="1024")
    found = measured.measurer.describe()
    assert (found.unit, found.facts["core"], found.facts["kernel"]) == (
        "cycles",
        "Cortex-A72 (0xd08) r0p3",
        os.uname()[2],
    )
    assert "counts its cycles in user space" in found.words
    text = repr(found.facts)
    assert "a-host" not in text and "somebody" not in text and os.uname()[1] not in text.split()


def test_the_clock_is_told_with_its_reason(host: FakeHost, measured: Measured) -> None:
    host.probes(TIMER | {"reason": "perf_event_open: Permission denied"})
    assert measured.measurer.describe().unit == "nanoseconds"
    assert "no cycles: perf_event_open: Permission denied" in measured.said[0]
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    assert ("kernel.perf_event_paranoid is" in measured.said[0]) == (paranoid > 2)


def test_the_fastest_processor_is_chosen() -> None:
    """If this fails, a phone's smallest core stands for its largest."""
    facts = {
        "allowed": ["0-3,6"],
        "cpu": ["0 cpu_capacity 446", "2 cpu_capacity 1024", "3 cpu_capacity 1024", "7 cpu_capacity 2048", "x y"],
    }
    assert chosen_processor(facts) == 3
    assert chosen_processor({"allowed": ["0-3"], "cpu": ["1 cpuinfo_max_freq 2000000"]}) == 1
    assert chosen_processor({}) == 0
    assert chosen_processor({"allowed": ["0-99999999999"]}) == 4095


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({"cpu": ["0 midr_el1 0x00000000414fd0b1"]}, "Cortex-A76 (0xd0b) r4p1"),
        ({"part": ["0xd03"]}, "Cortex-A53 (0xd03)"),
        ({"part": ["0xfff"]}, "a core of Arm (0xfff)"),
        ({"cpu": ["0 midr_el1 0x00000000610f0230"]}, "a core of implementer 0x61, part 0x023 r0p0"),
        ({"part": ["much"]}, "an unknown core"),
        ({}, "an unknown core"),
    ],
)
def test_a_core_is_named(facts: dict[str, Sequence[str]], name: str) -> None:
    assert core_name(facts, 0) == name


# --- what fails ---


@pytest.mark.parametrize(
    ("said", "told", "hint"),
    [
        ("Host key verification failed.", "the host's key is not known here", "compare the fingerprint"),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @", "the host's key has changed", "ssh-keygen -R"),
        ("somebody@a-host: Permission denied (publickey).", "accepts none of the keys", "ssh-copy-id"),
        ("ssh: Could not resolve hostname a-host", "no host has that name", "check the name"),
        ("ssh: connect to host a-host port 22: Connection refused", "no ssh server listens", "start sshd"),
        ("ssh: connect to host a-host port 22: Connection timed out", "does not answer", "--resume --via ssh://"),
        ("kex_exchange_identification: Connection closed by remote host", "connection was lost", "--resume"),
        ("something else", "the connection ended", "must work"),
    ],
)
def test_a_host_that_lets_nobody_in_is_told(
    said: str, told: str, hint: str, host: FakeHost, measured: Measured
) -> None:
    """If this fails, a user reads ssh's words and nothing of the way out."""
    host.says(said, 255)
    with pytest.raises(HostError, match=told) as caught:
        measured.measurer.describe()
    assert hint in caught.value.hint
    assert said in caught.value.details


def test_a_folder_that_cannot_be_made_is_told(host: FakeHost, measured: Measured) -> None:
    host.folder.rmdir()
    with pytest.raises(HostError, match="no folder can be made in") as caught:
        measured.measurer.describe()
    assert "ssh://HOST/home/USER" in caught.value.hint


def test_a_host_of_another_architecture_is_told(host: FakeHost, measured: Measured) -> None:
    host.probe.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    with pytest.raises(HostError, match=r"does not run there: status 12[67].*The host says that it is") as caught:
        measured.measurer.describe()
    assert "noexec" in caught.value.hint
    assert not list(host.folder.iterdir())


def test_what_says_too_much_is_told(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a login script that talks is taken for the host's answers."""
    monkeypatch.setattr(ssh, "KEEPER", "while :; do echo word more; done")
    with pytest.raises(HostError):
        measured.measurer.describe()


def test_a_program_that_floods_is_told(host: FakeHost, measured: Measured) -> None:
    """If this fails, a host fills the memory of who measures it."""
    host.probe.write_text("#!/bin/sh\nwhile :; do echo more and more; done\n")
    with pytest.raises(HostError):
        measured.measurer.describe()


def test_a_host_that_floods_standard_error_is_left(
    host: FakeHost, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a host fills the disk and the memory of who connects to it: gigabytes in half a minute."""
    monkeypatch.setattr(ssh, "CONNECTING", 1)
    monkeypatch.setattr(ssh, "ANSWER", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(host.root))
    (host.root / "how").write_text("exec yes 'more and more' >&2\n")
    with pytest.raises(HostError, match="64 KiB came to standard error, and the connection was ended") as told:
        measured.measurer.describe()
    assert len(told.value.details) <= 2000
    assert not list(host.root.glob("ww-ssh-*"))


def test_a_connection_that_begins_to_flood_is_left(host: FakeHost, measured: Measured) -> None:
    """If this fails, a host that was well when it was asked fills the disk while its program runs."""
    flood = f"while [ ! -e {host.root}/flood ]; do sleep 0.05; done; exec yes more >&2"
    (host.root / "how").write_text(f'case "$last" in *worldwise.XXXXXX*) ({flood}) & ;; esac\n')
    host.runs("touch flood; exec sleep 60")
    with pytest.raises(HostError, match="came to standard error"):
        measured.run()


@pytest.mark.parametrize(
    ("limit", "script", "file"),
    [("MOST_PRINTED", "echo line; exec yes more >&2", "console.log"), ("MOST_RECORDS", "exec yes line", RECORDS)],
)
def test_a_measured_program_that_floods_is_ended(
    limit: str, script: str, file: str, host: FakeHost, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a program there fills the disk here: ten gigabytes were its limit."""
    monkeypatch.setattr(ssh, limit, 100_000)
    host.runs(f"echo $$ >pid; {script}")
    with pytest.raises(WorldwiseError, match="the program writes without end; it was ended"):
        measured.run()
    assert (host.root / "case" / file).stat().st_size == 100_000
    pid = (host.root / "pid").read_text().strip()
    wait_for(lambda: not Path("/proc", pid).exists(), "the end of the program")


def test_a_host_that_does_not_answer_is_given_up(
    host: FakeHost, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a host that hangs hangs the tool."""
    monkeypatch.setattr(ssh, "CONNECTING", 0.2)
    monkeypatch.setattr(ssh, "ANSWER", 0.2)
    (host.root / "how").write_text("exec sleep 5\n")
    with pytest.raises(HostError, match="does not answer"):
        measured.measurer.describe()


def test_a_program_that_hangs_is_ended(host: FakeHost) -> None:
    """If this fails, a run never ends, or a program spins on the host after it."""
    found = Measured(host, silence=0.5)
    host.runs("echo $$ >pid; echo line; exec sleep 60")
    with pytest.raises(WorldwiseError, match=r"hangs: no record for 0 s; it was ended") as caught:
        found.run()
    assert not isinstance(caught.value, HostError)
    pid = (host.root / "pid").read_text().strip()
    wait_for(lambda: not Path("/proc", pid).exists(), "the end of the program")
    host.runs("cat records")
    assert found.run() == LINES
    found.measurer.close()


def test_a_lost_connection_ends_the_run_and_cleans_up(host: FakeHost, measured: Measured) -> None:
    """If this fails, a cable that was pulled leaves a program and a folder behind, or is taken for a failed case."""
    host.runs("echo $$ >pid; echo line; kill -9 $(cat keeper); exec sleep 60")
    (host.root / "how").write_text('case "$last" in *worldwise.XXXXXX*) echo $$ >"$0.pid";; esac\n')
    measured.measurer.describe()
    (host.root / "keeper").write_text((host.path / "ssh.pid").read_text())
    with pytest.raises(HostError, match="the connection") as caught:
        measured.run()
    assert "--resume" in caught.value.hint
    pid = (host.root / "pid").read_text().strip()
    wait_for(lambda: not Path("/proc", pid).exists() and not list(host.folder.iterdir()), "the keeper")


def test_a_full_disk_is_told(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    measured.measurer.describe()
    monkeypatch.setattr(ssh, "TAKE", 'echo "cat: write error: No space left on device" >&2; exit 1')
    with pytest.raises(HostError, match=r"did not arrive whole in .*No space left") as caught:
        measured.run()
    assert "/var/tmp" in caught.value.hint


def test_a_dynamic_program_is_refused(tmp_path: Path) -> None:
    """If this fails, a host's own libraries are measured."""
    with pytest.raises(WorldwiseError, match="is linked dynamically"):
        require_static(Path(sys.executable).resolve())
    (tmp_path / "text").write_text("not a program")
    with pytest.raises(WorldwiseError, match="text cannot be read: it is no ELF file"):
        require_static(tmp_path / "text")


@pytest.mark.parametrize(
    "text",
    [
        *("ssh://", "ssh://-oProxyCommand=x", "ssh://user@-x", "ssh://host:0", "ssh://host:70000", "ssh://a:b@host"),
        *("ssh://host/a b", "ssh://host/$(x)", "ssh://host/a;b", "ssh://ho st", "ssh://host?x=1", "ssh://host//a"),
    ],
)
def test_an_impossible_address_is_told(text: str) -> None:
    with pytest.raises(WorldwiseError, match="is not the address of a host") as caught:
        parse_ssh(text)
    assert "ssh://USER@HOST" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ssh://Board", SshAddress("Board")),
        ("ssh://pi@10.0.0.7:2222", SshAddress("10.0.0.7", "pi", 2222)),
        ("ssh://root@[fe80::1]/var/tmp", SshAddress("fe80::1", "root", None, "/var/tmp")),
        ("ssh://board.local/", SshAddress("board.local")),
    ],
)
def test_an_address_is_read(text: str, address: SshAddress) -> None:
    assert parse_ssh(text) == address
    assert str(address) == text.rstrip("/")


# --- a run ---

SUITE = suite_text("two", "linux-armv8 / keygen ecdh / micro-ecc / O2 / curves secp256r1", samples=3)


class Tool:
    """One call of the tool after another, with a host."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.suite = parse_suite(SUITE, "two.toml")
        host.runs('cat "$CASE"')
        self.keep()

    def keep(self, probe: dict[str, Any] = PROBE, **spoilt: Any) -> None:
        """What the host's programs write."""
        self.host.probes(probe)
        for case in self.suite.cases:
            (self.host.root / case.operation).write_text(lines(host_records(case, probe, **spoilt)))

    def bench(self) -> Bench:
        options = MeasureOptions(reuse=False, start="boot", silence_limit=5, remote=Remote(TARGET, self.host.address))
        return Bench(Lab(load_lock(), self.host.root / "cache"), Notes(), options)

    def measure(self) -> Run:
        return remote_run.measured(self.bench(), self.suite, self.host.root / "runs")

    def resume(self) -> Run:
        return remote_run.resumed(self.bench(), self.suite, self.host.root / "runs")


@pytest.fixture
def tool(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """The emulated machine counts as the host's processor does, but for one instruction more in keygen's last call."""

    def count_again(*given: Any) -> None:
        case, directory = given[-3], given[-1]
        records = host_records(case)
        if case.operation == "keygen":
            [one for one in records if one["type"] == "conditions"][-1]["instructions"] += 1
        (directory / EMULATED_FILE).write_text(lines(records))

    HostTarget(lambda: machine(host), counts_when_emulated=True).put(monkeypatch, TARGET, host)
    monkeypatch.setattr(ways, "count_again", count_again)
    return Tool(host)


def test_a_run_measures_a_host(tool: Tool, host: FakeHost) -> None:
    """If this fails, a host's cycles are taken for instructions, or nobody sees where the two counts differ."""
    host.processor(max(os.sched_getaffinity(0)), midr_el1="0x00000000410fd083")
    run = tool.measure()
    assert (run.state, run.manifest.unit, run.manifest.via) == ("complete", "cycles", "ssh")
    assert [one.command[:3] for one in run.complete_cases()] == [["ssh", "-", "keygen"], ["ssh", "-", "ecdh"]]
    assert all(word not in (run.path / "run.json").read_text() for word in ("a-host", "somebody"))
    assert not list(host.folder.iterdir())
    reading = read_run(run)
    assert {row.counts.unit for row in reading.rows} == {reading.unit} == {"cycles"}
    parts = {part.name: part for part in sections(reading)}
    table = parts["host-instructions"].table
    assert table
    keygen, ecdh = table.rows
    assert (keygen[4:], ecdh[4:]) == (["-1", "1"], ["0", "0"]) or (keygen[4:], ecdh[4:]) == (["0", "1"], ["0", "0"])
    assert parts["host-instructions"].notes[0].startswith("1 of 2 measures are the same")
    assert parts["host-disturbed"].notes[0].startswith("In none of the 8 calls")
    spread = parts["host-samples"].table
    assert spread
    assert "max\ncycles" in spread.headers
    assert spread.rows[0][2:] == ["3", "6,000,000", "6,000,001", "6,000,000", "6,000,002", "1.0", "1.00"]
    headers = [header for part in sections(reading) if part.table for header in part.table.headers]
    assert "keygen\ncycles" in headers
    # Only the table that compares instructions has any.
    assert not any("instr" in header.split() for header in headers)
    assert sum("instructions" in header for header in headers) == 3
    notes = " ".join(note for part in sections(reading) for note in part.notes)
    assert "cycles of the processor while the program ran in user space" in notes
    assert not any(word in notes for word in ("counted exactly", "after its reset"))
    assert "host_switched" in to_csv(reading).splitlines()[0]
    assert '"measured_on"' in to_json(reading)
    assert "Cortex-A72 (0xd08) r0p3" in next(part.title for part in sections(reading))
    assert "instructions are QEMU's, to the digit, in 1 of 2." in " ".join(measured_lines(reading))


def test_what_disturbed_a_call_is_flagged(tool: Tool) -> None:
    """If this fails, a sample in which another task ran looks like any other."""
    tool.keep(switches=2, khz_end=600000)
    reading = read_run(tool.measure())
    parts = {part.name: part for part in sections(reading)}
    table = parts["host-disturbed"].table
    assert table
    assert [line[2:] for line in table.rows] == [["4", "1", "0", "1"]] * 2


def test_counters_that_were_shared_are_refused(tool: Tool) -> None:
    """If this fails, half a count stands for the whole."""
    tool.keep(running=400)
    run = tool.measure()
    assert run.state == "failed"
    failed = run.case(run.manifest.cases[0])
    assert failed
    assert "counted for 400 of 1,000 ns: another program has them" in failed.error


def test_nanoseconds_are_in_no_column_of_another_unit(tool: Tool) -> None:
    """If this fails, a time stands where cycles are, or is divided by a clock."""
    tool.keep(TIMER)
    run = tool.measure()
    assert (run.state, run.manifest.unit) == ("complete", "nanoseconds")
    reading = read_run(run)
    parts = sections(reading)
    headers = [header for part in parts if part.table for header in part.table.headers]
    assert "keygen\nns" in headers
    assert not any("instr" in header or "cycles" in header for header in headers)
    assert all(not row.against.microseconds for row in reading.rows)
    assert "host-instructions" not in {part.name for part in parts}
    tool.keep()
    (run.path / "finished.json").unlink()
    with pytest.raises(WorldwiseError, match="counts nanoseconds, but the board or host counts cycles"):
        tool.resume()


def test_a_run_is_resumed_after_the_host_was_lost(tool: Tool, host: FakeHost) -> None:
    """If this fails, a host that was switched off costs the cases before."""
    host.runs('[ "$CASE" = keygen ] || exit 255; cat "$CASE"')
    with pytest.raises(HostError):
        tool.measure()
    run = open_run("latest", host.root / "runs")
    assert [one.operation for one in run.complete_cases()] == ["keygen"]
    host.runs('cat "$CASE"')
    assert tool.resume().state == "complete"


def test_a_run_stays_on_its_host(tool: Tool, host: FakeHost) -> None:
    """If this fails, one table has the cycles of two cores."""
    processor = max(os.sched_getaffinity(0))
    host.processor(processor, midr_el1="0x00000000410fd083")
    run = tool.measure()
    (run.path / "finished.json").unlink()
    host.processor(processor, midr_el1="0x00000000410fd034")
    with pytest.raises(WorldwiseError, match=r"core was 'Cortex-A72 .* and is 'Cortex-A53 \(0xd03\) r0p4'"):
        tool.resume()


def test_conditions_are_there_for_each_call(tool: Tool, host: FakeHost) -> None:
    """If this fails, a call of which nobody knows what disturbed it counts as undisturbed."""
    case = tool.suite.cases[0]
    records = host_records(case)
    missing = next(record for record in records if record["type"] == "conditions")
    (host.root / case.operation).write_text(lines([record for record in records if record is not missing]))
    run = tool.measure()
    failed = run.case(case.id)
    assert failed
    assert "the conditions of keygen 0 are missing" in failed.error


# --- the command ---


def test_cases_that_are_qemus_alone_are_left_out() -> None:
    """If this fails, a core that the host does not have stands in its table."""
    suite = parse_suite(SUITE + 'cores = ["cortex-a72", "cortex-a53"]\n', "two.toml")
    remote = remote_of("ssh://board", suite.cases)
    assert sum(remote.left.values()) == 2
    assert [case.id for case in remote.measured(suite.cases)] == [
        case.id for case in suite.cases if "core=" not in case.id
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("linux-armv8", "--via", "ssh://-oProxyCommand=x"), "is not the address of a host"),
        (("mcu", "--via", "ssh://board"), "one Linux host is there, but the chosen cases are for"),
        (("linux-armv8", "--operation", "hardclock", "--via", "ssh://board"), "none of the chosen cases"),
        (("linux-armv8", "--via", "ssh://board", "--verify"), "does not accept --verify"),
    ],
)
def test_a_call_that_cannot_be_is_refused(arguments: Sequence[str], said: str, call: Call) -> None:
    """If this fails, the lab is built before a typing error is told."""
    answer = call("run", *arguments)
    assert answer.status in (1, 2)
    assert said in answer.told
