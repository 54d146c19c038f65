# SPDX-License-Identifier: BSD-2-Clause
"""What the host may refuse: the cache, bubblewrap. One clear error with the way out, and status 2."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synthetic import write_run
from worldwise.base import paths
from worldwise.base.errors import HostError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.limits import EMULATOR
from worldwise.machine.diagnosis import judge
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import EMULATOR_LOG, RECORDS, Machine
from worldwise.plan.case import Case

CASE = Case("linux", "mbedtls", "Os", "keygen", 2, 0)
REFUSAL = "bwrap: No permissions to create a new namespace, likely because the kernel does not allow it."


def command(cache: Path, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The tool with a cache."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "worldwise", *map(str, arguments)],
        env=os.environ
        | {"PYTHONPATH": str(paths.REPOSITORY / "src"), "WORLDWISE_CACHE": str(cache), "COLUMNS": "200"}
        | environment,
        cwd=cache.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@contextlib.contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """The directory without its owner's right to write; for root, who needs none, on a read-only file system."""
    if os.geteuid() != 0:
        directory.chmod(0o555)
        try:
            yield
        finally:
            directory.chmod(0o755)
        return
    bind = ["mount", "--bind", str(directory), str(directory)]
    if subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let root mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(directory)], check=True)
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """An empty cache."""
    path = tmp_path / "cache"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "quick"),
        ("explain", "optee/mbedtls-nist-O2/attestdiv"),
        ("lab", "build"),
        ("lab", "clean"),
        ("keycache", "packages", "--output", "out"),
        ("keycache", "fuzz"),
    ],
    ids=" ".join,
)
def test_a_read_only_cache_is_one_clear_error(cache: Path, arguments: tuple[str, ...]) -> None:
    """It names the cache, and how to have another; no traceback, no case that FAILED."""
    # In a process of its own: roots are opened once in each, and tests before may have opened theirs.
    with read_only(cache):
        done = command(cache, *arguments)
    told = " ".join(done.stderr.split())
    assert done.returncode == 1, told
    assert f"worldwise: the cache {cache} cannot be written" in told
    assert "WORLDWISE_CACHE=DIRECTORY names another one" in told
    assert "Traceback" not in told and "FAILED" not in told


def test_a_folder_of_the_cache_may_be_anothers(cache: Path) -> None:
    """As after a run with sudo: the cache can be written, its images cannot."""
    images = cache / "images"
    images.mkdir()
    paths.require_writable(cache)
    with read_only(images), pytest.raises(HostError, match=f"the cache {cache} cannot be written: {images} "):
        paths.require_writable(cache)


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """Such as one in a file."""
    (tmp_path / "file").write_text("")
    done = command(tmp_path / "cache", "run", "quick", WORLDWISE_CACHE=str(tmp_path / "file" / "cache"))
    assert done.returncode == 1
    assert f"the cache {tmp_path}/file/cache cannot be written (Not a directory)" in done.stderr


@pytest.mark.parametrize("arguments", [("report",), ("list",), ("compare", "latest", "latest"), ("suites",)])
def test_reading_needs_no_cache(cache: Path, arguments: tuple[str, ...]) -> None:
    """What was measured can be read wherever it is mounted, and on a machine without a home."""
    write_run(cache.parent / "runs", [CASE])
    with read_only(cache):
        done = command(cache, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
    nowhere = command(cache.parent / "cache", *arguments, WORLDWISE_CACHE="/proc/none")
    assert (nowhere.returncode, nowhere.stderr, nowhere.stdout) == (0, "", done.stdout)


# --- bubblewrap ---


@pytest.fixture
def place(cache: Path) -> Lab:
    """A lab with an empty root."""
    made = Lab(load_lock(), cache=cache)
    made.root.mkdir(parents=True)
    return made


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bubblewrap that the kernel refuses."""
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{REFUSAL}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


MACHINE = Machine("a board", {}, {}, (), {}, None, {}, ())


def run_machine(place: Lab, directory: Path) -> None:
    """A case on a machine that begins at power-on."""
    directory.mkdir()
    Emulator(place).run(MACHINE, ["program"], directory)


def boot_machine(place: Lab, directory: Path) -> None:
    """A machine that is booted for its snapshot."""
    del directory
    Emulator(place).snapshot(Machine("a machine", {}, {}, (), {}, 0x4000, {}, ()))


def enter(place: Lab, directory: Path) -> None:
    """What commands do before they begin."""
    del directory
    place.require_entry()


Use = Callable[[Lab, Path], None]


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("use", [run_machine, boot_machine, enter])
def test_a_refused_bubblewrap_is_told_with_the_way_out(place: Lab, tmp_path: Path, use: Use) -> None:
    """By whoever meets it first."""
    with pytest.raises(HostError, match="bubblewrap may not enter the lab on this system") as caught:
        use(place, tmp_path / "case")
    assert caught.value.hint
    assert caught.value.details == REFUSAL


@pytest.mark.parametrize("use", [run_machine, boot_machine, enter])
def test_a_missing_bubblewrap_is_told_with_the_way_out(
    place: Lab, tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the package that has it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="bwrap is not on this machine") as caught:
        use(place, tmp_path / "case")
    assert "bubblewrap" in caught.value.hint


def test_a_guest_that_has_begun_refuses_nothing(place: Lab, tmp_path: Path) -> None:
    """What it prints is its own."""
    directory = tmp_path / "case"
    directory.mkdir()
    (directory / EMULATOR_LOG).write_text(f"{REFUSAL}\n")
    (directory / RECORDS).write_text("")
    judge(0, directory, MACHINE, place, EMULATOR)
