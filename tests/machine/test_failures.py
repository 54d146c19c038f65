# SPDX-License-Identifier: BSD-2-Clause
"""When things go wrong: a clear error, nothing measured lost, no QEMU left behind."""

import contextlib
import fcntl
import hashlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from machines import Tool, case, emulators, fresh_cache, wait_for
from worldwise.base.errors import WorldwiseError
from worldwise.lab.contents import LIST, Contents
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import Machine
from worldwise.machine.measurer import StartFrom
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.optee import OPTEE_TARGETS


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An empty directory for one case."""
    path = tmp_path / "case"
    path.mkdir()
    return path


def test_a_kernel_panic_is_told(emulator: Emulator, machine: Machine, directory: Path) -> None:
    """The panic's reason is the error, the kernel's own trace the details."""
    with pytest.raises(WorldwiseError, match="kernel panicked: sysrq triggered crash") as caught:
        emulator.run(machine, ["/bin/faults", "kernel-panic"], directory)
    assert "sysrq_handle_crash" in caught.value.details


def test_a_ta_panic_is_told_with_its_code_and_functions(emulator: Emulator, machine: Machine, directory: Path) -> None:
    """The panic code and a backtrace with functions, files and lines."""
    outcome = emulator.run(machine, ["/bin/optee-client", "ta-panic", "0", "1"], directory)
    assert outcome.status == 1
    with pytest.raises(WorldwiseError, match="0xffff3024"):
        check_records(read_records(directory / "records.jsonl"), case("empty-invoke"))
    diagnosis = emulator.diagnosis(directory, machine)
    assert "TA panicked with code 0xbad" in diagnosis
    assert " at guest/apps/attestation/ta/attestation_ta.c:" in diagnosis


def test_a_crash_of_the_measured_program_is_told(emulator: Emulator, machine: Machine, directory: Path) -> None:
    """Which program, which signal."""
    assert emulator.run(machine, ["/bin/faults", "crash"], directory).status == 1
    with pytest.raises(WorldwiseError, match="/bin/faults: killed by signal 6"):
        check_records(read_records(directory / "records.jsonl"), case())


def test_a_hanging_machine_is_stopped(lab: Lab, machine: Machine, directory: Path) -> None:
    """After the silence limit, with what was last seen."""
    emulator = Emulator(lab, silence_limit=2)
    with pytest.raises(WorldwiseError, match="hangs: no record for 2 s"):
        emulator.run(machine, ["/bin/faults", "hang"], directory)
    assert (directory / "console.log").exists()


def test_a_machine_that_prepares_for_long_is_given_more(lab: Lab, machine: Machine, directory: Path) -> None:
    """Its own patience, where that is more than the limit."""
    patient = replace(machine, patience=2)
    with pytest.raises(WorldwiseError, match="hangs: no record for 2 s"):
        Emulator(lab, silence_limit=1).run(patient, ["/bin/faults", "hang"], directory)


def test_a_dying_qemu_is_told(emulator: Emulator, machine: Machine, directory: Path) -> None:
    """Somebody kills QEMU in the middle of a case."""
    before = set(emulators())
    killed, recorded = threading.Event(), threading.Event()

    def kill() -> None:
        wait_for(lambda: bool(set(emulators()) - before), "QEMU to start")
        assert recorded.wait(60), "waited 60 s for the first record"
        for pid in set(emulators()) - before:
            os.kill(pid, signal.SIGKILL)
        killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(WorldwiseError, match="QEMU ended with SIGKILL"):
        program = EMULATED["optee"].program(case(samples=10_000))
        emulator.run(machine, program, directory, progress=lambda size: recorded.set() if size else None)
    thread.join()
    assert killed.is_set()


class WithoutQemu(Lab):
    """A lab without QEMU."""

    def command(self, argv: Sequence[str | Path], **options: Any) -> list[str]:
        """The command line of the real lab, with another program in QEMU's place."""
        return super().command(["/usr/bin/gone/qemu-system-aarch64", *argv[1:]], **options)


@pytest.mark.parametrize("start", ["snapshot", "boot"])
def test_a_missing_qemu_is_told(lab: Lab, machine: Machine, directory: Path, start: StartFrom) -> None:
    """By name, at once, and not as a case without records."""
    Emulator(lab).snapshot(machine)
    with pytest.raises(WorldwiseError, match=r"QEMU did not start: .*qemu-system-aarch64"):
        Emulator(WithoutQemu(lab.lock, cache=lab.cache)).run(machine, ["/bin/faults", "hang"], directory, start)


def test_a_lab_without_qemu_is_damaged(lab: Lab, tmp_path: Path) -> None:
    """It names the file that is missing, and is then made anew."""
    broken = Lab(lab.lock, cache=tmp_path / "cache")
    broken.root.mkdir(parents=True)
    manifest = json.loads(lab.manifest.read_text())
    manifest["witness"] = {name: size for name, size in manifest["witness"].items() if "qemu-system-aarch64" in name}
    broken.manifest.write_text(json.dumps(manifest))
    assert broken.problem().endswith("qemu-system-aarch64 is missing")


def test_one_bit_of_the_real_emulator_is_seen(lab: Lab, tmp_path: Path) -> None:
    """The lab's own list with another digest of QEMU or of its C library, which is the same as another bit in them."""
    header, entries = (lab.directory / LIST).read_text().split("\n", 1)
    witness = json.loads(lab.manifest.read_text())["witness"]
    deciding = json.loads(header)["deciding"]
    emulator, library = "usr/bin/qemu-system-aarch64", "usr/lib/x86_64-linux-gnu/libc.so.6"
    assert {emulator, library} < deciding.keys()
    assert sum("/libglib-2.0.so" in name for name in deciding) == 1
    assert lab.problem() == ""
    for name in (emulator, library):
        other = json.loads(header) | {"deciding": deciding | {name: "0" * 64}}
        body = json.dumps(other) + "\n" + entries.rstrip("\n").rpartition("\n")[0] + "\n"
        (tmp_path / LIST).write_text(f"{body}{hashlib.sha256(body.encode()).hexdigest()}\n")
        assert f"{lab.root}/{name} has other bytes" in Contents(lab.root, tmp_path).problem(witness)


def test_lab_check_verifies_the_real_lab(tool: Tool) -> None:
    """Every file of it."""
    checked = tool.run("lab", "check")
    assert checked.returncode == 0, checked.stdout
    assert "all are as they were made" in checked.stdout


def test_a_damaged_snapshot_is_made_anew(lab: Lab, machine: Machine, directory: Path, tmp_path: Path) -> None:
    """And a damaged image is built anew: neither is ever used."""
    notes: list[str] = []
    emulator = Emulator(replace(lab, cache=fresh_cache(tmp_path / "cache")), notes.append)
    shared = Emulator(lab).snapshot(machine)
    shutil.copytree(shared, emulator.directory / shared.name)
    with (emulator.snapshot(machine) / "state").open("r+b") as file:
        file.truncate(1_000_000)
    emulator.run(machine, EMULATED["optee"].program(case("empty-invoke")), directory)
    assert any("has changed since it was made; booting anew" in note for note in notes)
    assert any(note.startswith("booted") for note in notes)
    check_records(read_records(directory / "records.jsonl"), case("empty-invoke"))


def test_a_damaged_image_is_built_anew(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Named, rebuilt, the same as before."""
    recipe = OPTEE_TARGETS["optee"].recipes(case())[-1]
    image = images.get(recipe)
    other = replace(lab, cache=fresh_cache(tmp_path / "cache"))
    own = ImageStore(other).directory
    own.mkdir()
    for need in map(images.get, recipe.needs.values()):
        (own / need.directory.name).symlink_to(need.directory)
    shutil.copytree(image.directory, own / image.directory.name)
    path = own / image.directory.name / "initramfs.cpio"
    before = path.read_bytes()
    path.write_bytes(before[:-1] + b"!")
    notes: list[str] = []
    assert ImageStore(other, notes.append).get(recipe).files == image.files
    assert any("initramfs.cpio has changed since it was made" in note for note in notes)
    assert path.read_bytes() == before


def test_a_full_disk_is_told(lone_tool: Tool) -> None:
    """The run's directory is on a disk with no room: the error says so and what is kept."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    small = lone_tool.directory / "runs"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "small", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let root mount a tmpfs")
    try:
        result = lone_tool.run(
            "run", "quick", "--fresh", "--samples", "3000", "--operation", "empty-invoke", "--silence", "60"
        )
        assert result.returncode == 1, result.stderr
        assert "not enough disk space" in result.stdout
        assert "Traceback" not in result.stderr
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_two_runs_at_once_on_one_cache(lone_tool: Tool, tmp_path: Path) -> None:
    """They wait for each other where they must, and measure the same."""
    other = Tool(tmp_path / "other", lone_tool.cache)
    other.directory.mkdir()
    arguments = ("run", "quick", "--fresh", "--samples", "2", "--jobs", "1")
    first, second = lone_tool.start(*arguments), other.start(*arguments)
    errors = [process.communicate(timeout=250)[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), errors
    assert lone_tool.records() == other.records()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_is_complete_and_resumes(lone_tool: Tool, how: signal.Signals) -> None:
    """Ctrl-C: exit status 130, no QEMU left; `--resume` measures the rest; nothing is measured twice."""
    before = set(emulators())
    arguments = ("run", "quick", "--fresh", "--samples", "30", "--jobs", "1", "--reverse")
    process = lone_tool.start(*arguments)
    cases = lone_tool.directory / "runs"
    wait_for(lambda: len(list(cases.rglob("case.json"))) == 1, "the first case", timeout=200)
    wait_for(lambda: bool(set(emulators()) - before), "QEMU to start")
    process.send_signal(how)
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 130, stderr
    assert "--resume" in stderr
    assert "Traceback" not in stderr
    assert not set(emulators()) - before
    run = next(cases.iterdir())
    assert json.loads((run / "finished.json").read_text())["state"] == "interrupted"
    kept = {path: path.stat().st_mtime_ns for path in cases.rglob("case.json")}

    resumed = lone_tool.run("run", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert [entry.name for entry in cases.iterdir()] == [run.name]
    assert json.loads((run / "finished.json").read_text())["state"] == "complete"
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(cases.rglob("case.json"))) == 3


@pytest.fixture
def folders() -> Iterator[Path]:
    """The tool's temporary directory; its path is short, since sockets are in it."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("how", ["hangup", "three times Ctrl-C", "a closed terminal"])
def test_a_run_ends_in_an_orderly_way_however_it_is_ended(tool: Tool, folders: Path, how: str) -> None:
    """While a machine boots: exit status 130, the run is interrupted and not killed, nothing is left."""
    before = set(emulators())
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "worldwise", "run", "quick", "--cold", "--samples", "30", "--jobs", "1"],
        cwd=tool.directory,
        env=tool.environment(TMPDIR=str(folders)),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    # A terminal that nobody reads stops who writes to it.
    reading = threading.Thread(target=read_all, args=(master,))
    if how != "a closed terminal":
        reading.start()
    try:
        wait_for(lambda: bool(set(emulators()) - before), "QEMU to start", timeout=200)
        wait_for(lambda: bool(list(folders.glob("ww-*"))), "its sockets")
        if how == "hangup":
            process.send_signal(signal.SIGHUP)
        elif how == "a closed terminal":
            os.close(master)
        else:
            for _ in range(3):
                process.send_signal(signal.SIGINT)
                time.sleep(0.1)
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.wait()
        if how != "a closed terminal":
            reading.join()
            os.close(master)
    assert not set(emulators()) - before
    assert not list(folders.iterdir())
    (run,) = (tool.directory / "runs").iterdir()
    assert json.loads((run / "finished.json").read_text())["state"] == "interrupted"


def read_all(terminal: int) -> None:
    """Read a terminal until the last who has it open is gone."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def test_a_refused_and_a_missing_bubblewrap_end_a_run_at_once(tool: Tool, tmp_path: Path) -> None:
    """With warm images: the hint and status 2, and no run in which every case FAILED."""
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    for arguments in (("run", "quick", "--fresh"), ("explain", case().id)):
        refused = tool.run(*arguments, PATH=f"{program.parent}:{os.environ['PATH']}")
        assert refused.returncode == 1
        assert "bubblewrap may not enter the lab on this system" in refused.stderr
        missing = tool.run(*arguments, PATH="/none")
        assert missing.returncode == 1
        assert "bwrap is not on this machine" in missing.stderr
        assert "FAILED" not in refused.stderr + missing.stderr
    assert not (tool.directory / "runs").exists()


def test_a_killed_tool_leaves_no_emulator(lone_tool: Tool) -> None:
    """SIGKILL cannot be handled: QEMU must end by itself, and the run can be resumed."""
    before = set(emulators())
    process = lone_tool.start("run", "quick", "--fresh", "--samples", "5000", "--jobs", "1", "--target", "linux")
    wait_for(lambda: bool(set(emulators()) - before), "QEMU to start", timeout=200)
    time.sleep(0.5)
    process.kill()
    process.communicate()
    wait_for(lambda: not set(emulators()) - before, "QEMU to end", timeout=10)
    listed = lone_tool.run("list")
    assert "killed" in listed.stdout
