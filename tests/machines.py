# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures and helpers of the tests that boot machines. They use the user's cache: a warm run builds nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab, open_lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import Machine
from worldwise.machine.measurer import MachineEnd, StartFrom
from worldwise.plan.case import Case, parse_case
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.parse import parse_line
from worldwise.targets.all_targets import EMULATED

# The quickest variant: most tests ask about machines, not about libraries.
IMPLEMENTATION, OPTIMISATION = "mbedtls-nist", "O2"

# All that this process starts has this in its environment, bubblewrap too: whose a QEMU is can then be told.
_WORKER_VARIABLE = "WORLDWISE_TEST_WORKER"
_WORKER = uuid.uuid4().hex
os.environ[_WORKER_VARIABLE] = _WORKER


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here boots a machine, and none may take for ever."""
    for item in items:
        if Path(__file__).with_name("machine") in item.path.parents:
            item.add_marker(pytest.mark.machine)
            if not item.get_closest_marker("timeout"):
                # The first that needs an image builds it, which on a busy machine takes minutes.
                item.add_marker(pytest.mark.timeout(600))


def case(operation: str = "attestdiv", target: str = "optee", samples: int = 3, warmup: int = 1) -> Case:
    """A short case of the quickest variant."""
    return Case(target, IMPLEMENTATION, OPTIMISATION, operation, samples, warmup)


def emulators() -> dict[int, str]:
    """Process ids and command lines of this user's QEMUs that run a machine of ours, but for those of other tools."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            ours = words[0].endswith(b"qemu-system-aarch64") and any(word.startswith(b"/machine/") for word in words)
            # Those of root run as a user who is nobody.
            user = os.geteuid() in (0, entry.stat().st_uid)
            if ours and user and _state(entry) != "Z" and not _of_others(entry):
                found[int(entry.name)] = b" ".join(words).decode(errors="replace")
    return found


def _state(process: Path) -> str:
    return (process / "stat").read_text().rpartition(")")[2].split()[0]


def _of_others(process: Path) -> bool:
    """Whether somebody else started it: another worker of the tests, or a tool that lives, in another terminal."""
    others = False
    while (parent := (process / "stat").read_text().rpartition(")")[2].split()[1]) != "0":
        if int(parent) == os.getpid():
            return False
        process = process.with_name(parent)
        # QEMU's own environment is cleared, bubblewrap's is not.
        if worker := _worker_of(process):
            return worker != _WORKER
        words = (process / "cmdline").read_bytes().split(b"\0")
        others |= b"python" in words[0] and any(b"worldwise" in word or b"pytest" in word for word in words)
    return others


def _worker_of(process: Path) -> str:
    """Which worker's tests started a process; empty if none did, or if that is not for this user to know."""
    with contextlib.suppress(PermissionError):
        for entry in (process / "environ").read_bytes().split(b"\0"):
            name, _, value = entry.decode(errors="replace").partition("=")
            if name == _WORKER_VARIABLE:
                return value
    return ""


@pytest.fixture(autouse=True)
def no_emulator_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test that leaves a QEMU behind, and ends that QEMU."""
    if not request.node.get_closest_marker("machine"):
        yield
        return
    before = set(emulators())
    yield
    deadline = time.monotonic() + 10
    while (left := {pid: line for pid, line in emulators().items() if pid not in before}) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, f"QEMU outlived the test: {left}"


@pytest.fixture(scope="session")
def lab_if_there(request: pytest.FixtureRequest) -> Lab:
    """The lab for a unit test: not built for unit tests alone, but waited for where other tests want it anyway."""
    place = open_lab()
    if place.problem():
        if not any(item.get_closest_marker("machine") for item in request.session.items):
            pytest.skip("the lab is not built, and no test that was asked for builds it")
        place.ensure()
    return place


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The lab, built if need be."""
    place = open_lab()
    place.ensure()
    return place


@pytest.fixture(scope="session")
def images(lab: Lab) -> ImageStore:
    """The user's image store."""
    return ImageStore(lab, note)


@pytest.fixture(scope="session")
def machine(images: ImageStore) -> Machine:
    """The machine of the quickest variant; both worlds are measured on it."""
    return EMULATED["optee"].machine(case(), images)


@pytest.fixture
def emulator(lab: Lab) -> Emulator:
    """An emulator that calls a machine hanging as late as the tool does: it may share its processor with others."""
    return Emulator(lab, note)


def note(text: str) -> None:
    """What the stores tell, shown by pytest with a test that fails."""
    sys.stderr.write(text + "\n")


RunCase = Callable[..., bytes]


@pytest.fixture
def records_of(emulator: Emulator, images: ImageStore, tmp_path: Path) -> RunCase:
    """Runs a case, on its own machine unless one is given, and gives its records, byte for byte."""
    count = 0

    def run(wanted: Case, start: StartFrom = "snapshot", on: Machine | None = None) -> bytes:
        nonlocal count
        count += 1
        on = on or EMULATED[wanted.target].machine(wanted, images)
        directory = tmp_path / f"run-{count}"
        directory.mkdir()
        outcome: MachineEnd = emulator.run(on, EMULATED[wanted.target].program(wanted), directory, start)
        assert outcome.status == 0, emulator.diagnosis(directory, on)
        return (directory / "records.jsonl").read_bytes()

    return run


Measured = Callable[..., CheckedRecords]


@pytest.fixture
def measured(records_of: RunCase) -> Measured:
    """Runs the case of an id on the machine that it asks for, and gives its records, checked as the tool does."""

    def run(text: str, samples: int = 3, warmup: int = 1) -> CheckedRecords:
        wanted = parse_case(text, samples, warmup)
        lines = records_of(wanted).splitlines()
        return check_records([parse_line(line, "records", number) for number, line in enumerate(lines, 1)], wanted)

    return run


def assert_boots_differ(boot: Callable[[], bytes]) -> None:
    """At most three boots do not all give the same records; no boot more than it takes to see that."""
    first = boot()
    assert any(boot() != first for _ in range(2))


def fresh_cache(directory: Path, *shared: str) -> Path:
    """A cache that has the user's lab and downloads, and of the rest only what is named; made if it is not there.

    What a test damages must not be shared: other tests work with the user's cache at the same time.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("labs", "downloads", *shared):
        there = paths.cache_directory() / name
        there.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (directory / name).symlink_to(there)
    return directory


class Tool:
    """The command line as a user starts it, in a directory of its own."""

    def __init__(self, directory: Path, cache: Path | None = None) -> None:
        self.directory = directory
        self.cache = cache or paths.cache_directory()

    def environment(self, **extra: str) -> dict[str, str]:
        """This process's, with the repository's modules to be found."""
        own = {
            "PYTHONPATH": str(paths.REPOSITORY / "src"),
            "COLUMNS": "120",
            "WORLDWISE_CACHE": str(self.cache),
        }
        return os.environ | own | extra

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start it, not wait for it."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "worldwise", *arguments],
            cwd=self.directory,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, timeout: float = 280, **environment: str) -> subprocess.CompletedProcess[str]:
        """Start it and wait for it; nothing of it is left when this returns or raises."""
        process = self.start(*arguments, **environment)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def records(self, run: int = -1) -> dict[str, bytes]:
        """Case id -> records of a run, the newest by default."""
        directory = sorted((self.directory / "runs").iterdir())[run]
        return {
            str(path.parent.relative_to(directory / "cases")): path.read_bytes()
            for path in directory.rglob("records.jsonl")
        }


@pytest.fixture
def tool(tmp_path: Path, machine: Machine) -> Tool:
    """The command line, with its lab and images at hand."""
    del machine
    return Tool(tmp_path)


@pytest.fixture
def lone_tool(tmp_path: Path, machine: Machine) -> Tool:
    """The command line with results and traces of its own: for tests that replace or change some."""
    del machine
    cache = fresh_cache(tmp_path / "cache", "images", "snapshots")
    (tmp_path / "work").mkdir()
    return Tool(tmp_path / "work", cache)


def lines_of_demo(process: subprocess.Popen[str]) -> list[str]:
    """What a demo of the key cache prints until it waits for Ctrl-C; fails with its errors if it ends before."""
    assert process.stdout and process.stderr
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C ends it" in line:
            return lines
    pytest.fail(process.stderr.read())


def wait_for(condition: Callable[[], bool], what: str, timeout: float = 60) -> None:
    """Poll until a condition holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout:.0f} s for {what}"
        time.sleep(0.02)


# As the kernel writes 127.0.0.1.
LOOPBACK = "0100007F"


def listening(port: int) -> set[str]:
    """The host's addresses at which the port is listened on, as the kernel writes them."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and local.endswith(f":{port:04X}"):
                found.add(local.partition(":")[0])
    return found
