# SPDX-License-Identifier: BSD-2-Clause
"""A host with an OP-TEE of its own: how its TA is signed, laid and taken away, what is left out, what is said."""

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from command_line import Call
from machines import wait_for
from remote_run import Notes, machine_with, measured
from ssh_host import PROBE, TEE_PROBE, TIMER, FakeHost, HostTarget, host_records, lines
from suite_texts import suite_text
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.machine.linux_host import ssh
from worldwise.machine.linux_host.signed_tas import DEVELOPMENT, TA_FOLDER, Trust, trust_of
from worldwise.machine.linux_host.sshhost import SshHost
from worldwise.machine.machine import LOADER, Machine
from worldwise.plan.case import parse_case
from worldwise.plan.suite import parse_suite
from worldwise.read.run_counts import read_run
from worldwise.report.report import answers, sections, to_csv
from worldwise.run.folder.rundir import Run
from worldwise.run.measure import Bench
from worldwise.run.measurers import Remote, remote_of
from worldwise.run.options import MeasureOptions
from worldwise.targets.silicon import not_on_a_host
from worldwise.validation.silicon.judgement import require_judge

UUID = "a1f5c2de-0002-4b1c-9a3e-63616c6c7300"
NAMED, ELF = bytes(range(16)) + struct.pack("<I", 0), b"\x7fELF and more"
HEADER = struct.pack("<IIIIHH", 0x4F545348, 1, len(ELF), 0x70414930, 32, 256)
# As a dev kit signs it.
TA = HEADER + bytes(32) + bytes(256) + NAMED + ELF
SUITE = suite_text(
    "calls",
    "optee / empty-invoke attestdiv / mbedtls-nist / O2",
    "optee / call / mbedtls-nist / O2 / sizes 0B",
    samples=3,
)


class TeeHost(FakeHost):
    """A host with /dev/tee0 and a supplicant; its program looks whether the TA is where OP-TEE would look."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.devices, self.processes, self.tas = (root / name for name in ("dev", "proc", "tas"))
        for folder in (self.devices, self.processes, self.tas):
            folder.mkdir()
        (self.devices / "tee0").touch()
        (self.processes / "7").mkdir()
        (self.processes / "7/comm").write_text("tee-supplicant\n")
        (root / "ta").write_bytes(TA)
        # The client's loader, here a shell: its last words are the client and what that gets.
        (root / "loader").write_text('#!/bin/sh\n[ "$1 $2 $3" = "--library-path . ./program" ] || exit 9\nshift 3\n')
        with (root / "loader").open("a") as loader:
            loader.write(f'[ -r {self.tas}/{UUID}.ta ] && [ -e libteec.so.2 ] || exit 8\ncat "{root}/$2"\n')

    def machine(self) -> Machine:
        """What a case brings."""
        (self.root / "libteec").touch()
        names = {"program": "program", LOADER: "loader", "libteec.so.2": "libteec", f"{UUID}.ta": "ta"}
        return machine_with({name: self.root / file for name, file in names.items()})


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TeeHost:
    found = TeeHost(tmp_path)
    monkeypatch.setenv("PATH", f"{found.path}:{os.environ['PATH']}")
    monkeypatch.setattr(ssh, "SYSTEM", str(found.system))
    monkeypatch.setattr(ssh, "DEVICES", str(found.devices))
    monkeypatch.setattr(ssh, "PROCESSES", str(found.processes))
    return found


class Tool:
    """A run on the host."""

    def __init__(self, host: TeeHost) -> None:
        self.host, self.notes = host, Notes()
        self.suite = parse_suite(SUITE, "calls.toml")
        self.keep(TEE_PROBE)

    def keep(self, probe: Mapping[str, Any]) -> None:
        """What the host's programs write."""
        self.host.probes(dict(probe))
        for case in self.suite.cases:
            (self.host.root / case.operation).write_text(lines(host_records(case, dict(probe))))

    def measure(self) -> Run:
        trust = Trust(str(self.host.tas), lambda ta: ta)
        options = MeasureOptions(reuse=False, start="boot", remote=Remote("optee", self.host.address, trust=trust))
        bench = Bench(Lab(load_lock(), self.host.root / "cache"), self.notes, options)
        return measured(bench, self.suite, self.host.root / "runs")


@pytest.fixture
def tool(host: TeeHost, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tool]:
    HostTarget(host.machine, counts_when_emulated=False).put(monkeypatch, "optee", host)
    yield Tool(host)
    # Whatever became of it, nothing stays.
    assert not list(host.folder.iterdir())


# --- a run ---


def test_a_host_with_optee_is_measured_and_left_as_it_was(tool: Tool, host: TeeHost) -> None:
    """If this fails, a host's calls are taken for the emulated machine's, or a TA stays in somebody's system."""
    run = tool.measure()
    assert (run.state, run.manifest.unit, run.manifest.via) == ("complete", "cycles", "ssh")
    assert not list(host.tas.iterdir())
    reading = read_run(run)
    assert {(row.place, row.counts.unit) for row in reading.rows} == {("client", "cycles")}
    parts = sections(reading)
    tables = [part.table for part in parts if part.table]
    assert not any("instr" in header.split() for table in tables for header in table.headers)
    notes = " ".join(note for part in parts for note in part.notes)
    assert "in the client, in Linux and in the secure world" in notes
    assert "the variant only says how the TA was compiled" in notes
    # No time is made of a host's cycles by a clock that is not its own.
    assert "time" not in {part.name for part in parts}
    assert {part.name for part in parts} >= {"calls", "host-samples", "host-instructions", "host"}
    assert answers(reading)
    assert "median_cycles" in to_csv(reading).splitlines()[0]
    with pytest.raises(WorldwiseError, match="is of a host with an OP-TEE of its own"):
        require_judge(run, reading)


def test_without_the_kernels_counter_it_is_the_clock(tool: Tool) -> None:
    """If this fails, cycles of user space alone stand for a call, which is hardly in user space."""
    tool.keep(TIMER | {"reason": "the firmware stops the counters"})
    reading = read_run(tool.measure())
    assert reading.unit == "nanoseconds"
    called = answers(reading)[1].table
    assert called and (called.headers[4], called.rows[0][4]) == ("worst, ms\nat the host's clock", "0.061")
    assert "no cycles: the firmware stops the counters. The run measures time" in tool.notes.said[0]


def test_cycles_of_user_space_alone_are_refused(tool: Tool) -> None:
    """If this fails, a client of another making has a tenth of the cycles, and nobody sees why."""
    tool.keep(PROBE)
    run = tool.measure()
    failed = run.case(run.manifest.cases[0])
    assert failed and "clock is 'perf_user_cycles', the case has 'perf_cycles'" in failed.error


def test_a_ta_that_is_there_is_not_overwritten(tool: Tool, host: TeeHost) -> None:
    """If this fails, a host loses a TA of its own, and its secure storage with it."""
    (host.tas / f"{UUID}.ta").write_text("theirs")
    with pytest.raises(HostError, match=r"\.ta exists, and worldwise overwrites no TA") as caught:
        tool.measure()
    assert "--resume" in caught.value.hint
    assert (host.tas / f"{UUID}.ta").read_text() == "theirs"


def test_another_apps_ta_takes_the_place_of_the_last(host: TeeHost, tmp_path: Path) -> None:
    """If this fails, a suite of several apps leaves the TAs of all but the last."""
    (host.root / "loader").write_text("#!/bin/sh\n")
    lab = Lab(load_lock(), host.root / "cache")
    measurer = SshHost(host.address, "optee", lambda: host.probe, lab, trust=Trust(str(host.tas), lambda ta: ta))
    machine = host.machine()
    (tmp_path / "other").write_bytes(b"other")
    other = {name: path for name, path in machine.files.items() if not name.endswith(".ta")}
    other["other.ta"] = tmp_path / "other"
    for one, name in ((machine, f"{UUID}.ta"), (replace(machine, files=other), "other.ta")):
        measurer.run(one, ("-",), tmp_path)
        assert [path.name for path in host.tas.iterdir()] == [name]
        # Whoever the supplicant runs as reads it.
        assert (host.tas / name).stat().st_mode & 0o777 == 0o644
    measurer.close()
    assert not list(host.tas.iterdir())


def test_a_folder_that_is_not_ours_is_told(tool: Tool, host: TeeHost) -> None:
    host.tas.rmdir()
    with pytest.raises(HostError, match="cannot be written") as caught:
        tool.measure()
    assert "--ta-folder" in caught.value.hint


def test_a_host_without_optee_is_told(tool: Tool, host: TeeHost) -> None:
    """If this fails, a user reads that a TA has a communication error."""
    (host.processes / "7/comm").write_text("sh\n")
    with pytest.raises(HostError, match="no tee-supplicant runs"):
        tool.measure()
    (host.devices / "tee0").unlink()
    with pytest.raises(HostError, match="there is no /dev/tee0"):
        tool.measure()


def test_a_lost_host_is_rid_of_the_ta(tool: Tool, host: TeeHost) -> None:
    """If this fails, a cable that was pulled leaves a TA in a system, which the next run then will not overwrite."""
    loader = (host.root / "loader").read_text()
    (host.root / "loader").write_text(
        loader.replace("cat ", f"kill -9 $(cat {host.root}/ssh.pid); exec sleep 60; cat ")
    )
    (host.root / "how").write_text(f'case "$last" in *worldwise.XXXXXX*) echo $$ >{host.root}/ssh.pid;; esac\n')
    with pytest.raises(HostError, match="the connection"):
        tool.measure()
    wait_for(lambda: not list(host.tas.iterdir()) and not list(host.folder.iterdir()), "the keeper")


# --- the TA's signature ---


def pem(key: Any, password: bytes = b"") -> bytes:
    secret = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret))


def test_a_ta_is_signed_as_optee_checks_it(tmp_path: Path) -> None:
    """If this fails, OP-TEE refuses the TA on every host, and no stand-in would have told."""
    key = rsa.generate_private_key(65537, 3072)
    (tmp_path / "key.pem").write_bytes(pem(key))
    signed = trust_of(str(tmp_path / "key.pem"), "").signed(TA)
    header = struct.pack("<IIIIHH", 0x4F545348, 1, len(ELF), 0x70414930, 32, 384)
    assert signed[:20] == header
    assert signed[20:52] == hashlib.sha256(header + NAMED + ELF).digest()
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
    key.public_key().verify(signed[52 : 52 + 384], header + NAMED + ELF, pss, hashes.SHA256())
    assert signed[52 + 384 :] == NAMED + ELF


def test_the_development_key_changes_no_ta() -> None:
    trust = trust_of(DEVELOPMENT, "")
    assert (trust.signed(TA), trust.folder) == (TA, TA_FOLDER)


@pytest.mark.parametrize("ta", [b"", TA[:10], b"\x7fELF" + TA, TA[:-1]])
def test_what_is_no_signed_ta_is_told(ta: bytes, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(pem(rsa.generate_private_key(65537, 2048)))
    with pytest.raises(WorldwiseError, match="the TA"):
        trust_of(str(tmp_path / "key.pem"), "").signed(ta)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file"),
        (b"no key", "has no private key in PEM"),
        (pem(ec.generate_private_key(ec.SECP256R1())), "only RSA signatures of 2048 bits and more"),
        (pem(rsa.generate_private_key(65537, 2048), b"secret"), "is encrypted"),
    ],
)
def test_a_key_that_cannot_sign_is_told(content: bytes | None, told: str, tmp_path: Path) -> None:
    """If this fails, a user learns of a wrong key from OP-TEE, which says only that the security was violated."""
    path = tmp_path / "key.pem"
    if content:
        path.write_bytes(content)
    with pytest.raises(WorldwiseError, match=told):
        trust_of(str(path), "")


@pytest.mark.parametrize("folder", ["tas", "/tas/../etc", "/a b", "/a;b", "/"])
def test_a_wrong_folder_is_told(folder: str) -> None:
    with pytest.raises(WorldwiseError, match="--ta-folder"):
        trust_of(DEVELOPMENT, folder)


# --- what is measured there ---


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("optee/mbedtls-nist-O2/empty-invoke", ""),
        ("optee/mbedtls-nist-O2/session-open", ""),
        ("optee/mbedtls-nist-O2/call,size=4KiB,sessions=2", ""),
        ("optee/mbedtls-nist-O2/attestdiv", ""),
        ("optee/mbedtls-nist-O2/hello", ""),
        ("optee/mbedtls-nist-O2/sha256,size=1KiB", "emulated machine's programs"),
        ("optee/mbedtls-nist-O2/storage-create", "tee-supplicant"),
        ("optee/mbedtls-nist-O2/ta-load", "tee-supplicant"),
        ("optee/mbedtls-nist-O2/call,size=0B,ticks=both", "firmware"),
        ("optee/mbedtls-nist-O2/abuse,ta=calls,calls=100", "emulated machine's programs"),
    ],
)
def test_what_a_host_can_tell_is_measured(case: str, reason: str) -> None:
    """If this fails, a host is asked for what it cannot tell, or not for what it can."""
    found = not_on_a_host(parse_case(case))
    assert reason in found and bool(reason) == bool(found)


def test_one_variant_is_chosen() -> None:
    """If this fails, one OP-TEE stands in a table under the names of two."""
    suite = parse_suite(SUITE.replace('"O2"', '"Os", "O2"'), "calls.toml")
    with pytest.raises(WorldwiseError, match="the host has one OP-TEE") as caught:
        remote_of("ssh://board", suite.cases, ta_key=DEVELOPMENT)
    assert "--variant mbedtls-nist-O2" in caught.value.hint
    chosen = [replace(case, samples=1) for case in suite.cases if case.optimisation == "O2"]
    assert remote_of("ssh://board", chosen, ta_key=DEVELOPMENT, ta_folder="/data/tas").trust.folder == "/data/tas"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("quick", "--target", "optee", "--via", "ssh://board"),
            "needs --ta-key. OP-TEE runs only TAs signed",
        ),
        (("quick", "--via", "ssh://board", "--ta-key", DEVELOPMENT), "are for a host with OP-TEE alone"),
        (("linux-armv8", "--via", "ssh://board", "--ta-folder", "/tas"), "are for a host with OP-TEE alone"),
        (("quick", "--ta-key", DEVELOPMENT), "name its server with --via"),
    ],
)
def test_a_call_that_cannot_be_is_refused(arguments: Sequence[str], said: str, call: Call) -> None:
    """If this fails, the lab is built before a typing error is told."""
    answer = call("run", *arguments)
    assert answer.status in (1, 2)
    assert said in answer.told
