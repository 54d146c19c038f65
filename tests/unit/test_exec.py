# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise exec`: what it passes on and keeps; the machine itself is in tests/machine/test_machine_exec.py."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from worldwise.base.errors import HostError, WorldwiseError
from worldwise.run.code import program_wrapper
from worldwise.run.code.order import Wanted
from worldwise.run.code.process_lives import Life
from worldwise.run.code.program_wrapper import Executed, append

Asked = list[Wanted]


def done(status: int = 0, signal: int = 0, idle: int = 0) -> Executed:
    return Executed(b"out\n", b"err\n", Life(100, 1334, status, signal, idle), "m" * 64)


def test_the_status_is_as_shells_say_it() -> None:
    assert [one.status for one in (done(), done(7), done(-1, 11))] == [0, 7, 139]
    assert done().instructions == 1234
    # The counter is virtual time: it goes on while nothing is executed.
    assert done(idle=1).instructions is None


def test_lines_of_several_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "exec.jsonl"
    for number in range(3):
        append(path, Path("bench"), ["-n", str(number)], done(number), "lab")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["arguments"], line["status"], line["instructions"]) for line in lines] == [
        (["-n", str(number)], number, 1234) for number in range(3)
    ]
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorldwiseError, match="could not be written"):
        append(tmp_path / "link", Path("bench"), [], done(), "lab")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    """What the tool asks of a machine, and the machine's answer."""
    found: Asked = []
    lab = SimpleNamespace(ensure=lambda: None, digest="lab", cache=tmp_path)

    def execute(wanted: Wanted, *_: Any) -> Executed:
        found.append(wanted)
        if wanted.input:
            assert wanted.input.read_bytes() == b"given"
        return done(3)

    monkeypatch.setattr(program_wrapper, "execute", execute)
    monkeypatch.setattr("worldwise.lab.lab.open_lab", lambda *_: lab)
    monkeypatch.setattr("worldwise.lab.image.ImageStore", lambda *_: None)
    monkeypatch.setattr("worldwise.machine.emulator.Emulator", lambda *_, **__: None)
    monkeypatch.delenv("WORLDWISE_RUN", raising=False)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["--", "./bench", "--runs", "7", "--", "-h"], ("--runs", "7", "--", "-h")),
        (["./bench", "--quiet", "x"], ("--quiet", "x")),
        (["--no-input", "./bench"], ()),
    ],
)
def test_what_stands_behind_the_program_is_its_own(
    words: Sequence[str],
    arguments: tuple[str, ...],
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Its words, its output and errors, its status; worldwise says one line."""
    status = called(monkeypatch, *words)
    out, err = capfdbinary.readouterr()
    assert (status, out) == (3, b"out\n")
    assert err.splitlines() == [b"err", b"worldwise: bench: 1,234 instructions, status 3 (runs/exec.jsonl)"]
    assert [(one.program, one.arguments) for one in asked] == [(Path("bench"), arguments)]


def test_it_can_be_silent_and_keep_elsewhere(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The option comes before the variable, and that before the folder of runs."""
    assert called(monkeypatch, "--quiet", "--run", "one", "bench") == 3
    assert capfdbinary.readouterr().err == b"err\n"
    monkeypatch.setenv("WORLDWISE_RUN", "other")
    assert called(monkeypatch, "bench") == 3
    assert b"(other)" in capfdbinary.readouterr().err
    assert (Path("one").exists(), Path("other").exists(), Path("runs").exists()) == (True, True, False)
    assert len(asked) == 2


def test_standard_input_is_given(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Of a file or a pipe; of a terminal nobody waits for words."""
    (tmp_path / "input").write_bytes(b"given")
    mode = (tmp_path / "input").stat()
    for terminal in (False, True):
        system = SimpleNamespace(fstat=lambda _: mode, isatty=lambda _, is_one=terminal: is_one, environ={})
        monkeypatch.setattr("worldwise.cli.user_code.exec.os", system)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"given")))
        assert called(monkeypatch, "bench") == 3
    assert [bool(one.input) for one in asked] == [True, False]
    capfdbinary.readouterr()


def test_firmware_is_run_on_its_machine(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """It gets its words and files, and nobody reads a standard input for it; it has no libraries."""
    given: list[tuple[Any, ...]] = []

    def execute_firmware(*words: Any) -> Executed:
        given.append(words[:4])
        return done(3)

    monkeypatch.setattr(program_wrapper, "execute_firmware", execute_firmware)
    assert called(monkeypatch, "--machine", "mps2-an386", "--file", "v", "--", "app.elf", "--machine", "x") == 3
    assert given == [(Path("app.elf"), "mps2-an386", ("--machine", "x"), (Path("v"),))]
    assert not asked
    capfdbinary.readouterr()
    assert called(monkeypatch, "--machine", "mps2-an386", "--package", "zlib1g", "app.elf") == 2
    assert b"firmware has no shared libraries" in capfdbinary.readouterr().err


def test_a_host_that_lets_nothing_in_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though that is tried only once the machine has said nothing."""

    def refuse() -> None:
        raise HostError("bubblewrap may not enter the lab")

    lab: Any = SimpleNamespace(require_entry=refuse, digest="0" * 64)
    images: Any = SimpleNamespace(lab=lab, get=lambda _: SimpleNamespace(file=lambda name: tmp_path / name))
    ended = SimpleNamespace(status=1)
    emulator: Any = SimpleNamespace(run=lambda *_, **__: ended)
    for name in ("pack", "write_order", "machine_of", "architecture_of"):
        monkeypatch.setattr(program_wrapper, name, lambda *_: None)
    monkeypatch.setattr(program_wrapper, "read_firmware", lambda _: b"")
    monkeypatch.setattr(Wanted, "check", lambda *_: None)
    with pytest.raises(HostError):
        program_wrapper.execute(Wanted(Path("bench")), images, emulator)
    with pytest.raises(HostError):
        program_wrapper.execute_firmware(Path("app.elf"), "mps2-an386", (), (), images, emulator)


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit status of the command."""
    monkeypatch.setattr("sys.argv", ["worldwise", "exec", *words])
    from worldwise import cli

    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_what_it_does_not_need_is_not_loaded(tmp_path: Path) -> None:
    """A wrapper is started for each test of a suite: what takes long to load would be most of its time."""
    needless = [
        "pydantic",
        "rich",
        "asyncio",
        "http.client",
        "elftools.elf",
        "cryptography",
        "worldwise.plan",
        "worldwise.families",
    ]
    script = (
        "import sys, worldwise.cli, worldwise.cli.user_code.exec, worldwise.run.code.program_wrapper\n"
        "from worldwise.lab.lab import open_lab\n"
        "open_lab()\n"
        f"print([name for name in {needless} if name in sys.modules])"
    )
    environment = {**os.environ, "WORLDWISE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert said == "[]\n"
