# SPDX-License-Identifier: BSD-2-Clause
"""A board in a farm: a script stands for labgrid's client, and says what that of version 26.0.1 said to its user."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import Call
from gdb_board import FIRMWARE, FakeBoard
from gdb_run import MACHINE, NAME
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.board import farm, gdbboard
from worldwise.machine.board.farm import FarmPlace, FarmServer, parse_place
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import parse_case
from worldwise.run.measurers import remote_of

LINE = b'{"type":"line"}\n'
SHOW = """\
Place 'nucleo':
  matches:
    shelf/m4/*
  acquired: bench/somebody
  acquired resources:
    shelf/m4/NetworkService/gdb
  created: 2026-11-23 13:18:25.897413
  changed: 2026-11-23 13:18:31.121795
Acquired resource '{name}' (shelf/m4/NetworkService/gdb):
  {{'acquired': 'nucleo',
   'avail': True,
   'cls': 'NetworkService',
   'params': {{'address': '127.0.0.1',
              'extra': {{'proxy': 'localhost', 'proxy_required': {proxy}}},
              'port': {port},
              'username': 'nobody'}}}}
"""
POWER = """\
Acquired resource 'power' (shelf/m4/NetworkPowerPort/power):
  {'acquired': 'nucleo', 'avail': True, 'cls': 'NetworkPowerPort', 'params': {'host': 'pdu', 'index': 1}}
"""

Put = Callable[..., None]


@pytest.fixture
def board() -> Iterator[FakeBoard]:
    """The board in the farm, with its server."""
    made = FakeBoard(lambda _: LINE * 3)
    yield made
    made.close()


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: FakeBoard) -> Put:
    """Puts a client into the PATH: what it says and its status, by its command; `calls` has what it was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(gdbboard, "read_firmware", lambda _path: FIRMWARE)
    monkeypatch.setattr(farm, "LISTENS", 0.3)

    def new(name: str = "gdb", proxy: bool = False, more: str = "", **answers: tuple[int, str]) -> None:
        show = SHOW.format(name=name, proxy=proxy, port=board.address.port) + more
        known = {"acquire": (0, "acquired place nucleo\n"), "show": (0, show), "power": (0, ""), "release": (0, "")}
        lines = [f"#!/bin/sh\necho \"$*\" >> '{tmp_path}/calls'\ncase $3 in\n"]
        for command, (status, text) in {**known, **answers}.items():
            (tmp_path / command).write_text(text)
            lines.append(f"{command}) cat '{tmp_path / command}'; exit {status} ;;\n")
        path = folder / "labgrid-client"
        path.write_text("".join([*lines, "esac\n"]))
        path.chmod(0o755)

    return new


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def measurer(tmp_path: Path) -> GdbBoard:
    return GdbBoard(FarmServer(FarmPlace("nucleo")), boards()[NAME], NAME, Lab(load_lock(), tmp_path / "cache"))


def refused(tmp_path: Path) -> HostError:
    with pytest.raises(HostError) as caught:
        measurer(tmp_path).describe()
    assert caught.value.message.startswith("labgrid:nucleo")
    return caught.value


def test_a_place_is_locked_for_the_run_and_given_back(put: Put, tmp_path: Path) -> None:
    """If this fails, two users measure one board, a place stays locked, or a case switches the board's power."""
    put(more=POWER)
    here = measurer(tmp_path)
    assert here.describe().words == f"{NAME} at labgrid:nucleo: the chip counts its cycles"
    for case in ("one", "two"):
        (tmp_path / case).mkdir()
        here.run(MACHINE, ("sign",), tmp_path / case)
        assert (tmp_path / case / RECORDS).read_bytes() == LINE * 3
    here.close()
    here.close()
    assert calls(tmp_path) == [f"-p nucleo {words}" for words in ("acquire", "show", "power cycle", "release")]


def test_a_place_that_its_user_has_locked_stays_locked(put: Put, tmp_path: Path) -> None:
    """If this fails, a place is taken from the user who locked it for longer; or without power nothing is measured."""
    put(acquire=(1, "labgrid-client: Error: You have already acquired place nucleo.\n"))
    here = measurer(tmp_path)
    here.describe()
    here.close()
    assert calls(tmp_path) == ["-p nucleo acquire", "-p nucleo show"]


@pytest.mark.parametrize(
    "said",
    [
        "labgrid-client: Error: Place nucleo is already acquired by bench/other. To work simultaneously, other can ...",
        "labgrid-client: Error: You have already acquired place nucleo on desk. To work simultaneously, execute ...",
        "labgrid-client: Error: place pattern nucleo matches nothing",
        "Server error: Error: Could not connect to coordinator",
    ],
)
def test_a_place_that_cannot_be_had_is_told(said: str, put: Put, tmp_path: Path) -> None:
    """If this fails, a board is measured that somebody else uses."""
    put(acquire=(1, f"{said}\n"))
    error = refused(tmp_path)
    assert f"cannot be locked: {said}" in error.message
    assert "labgrid-client who" in error.hint
    assert calls(tmp_path) == ["-p nucleo acquire"]


def test_a_place_without_what_is_needed_is_told(put: Put, tmp_path: Path, board: FakeBoard) -> None:
    """If this fails, another service is taken for the GDB server, or a board is measured that was not reset."""
    put(name="ssh")
    error = refused(tmp_path)
    assert "has no NetworkService of the name 'gdb'" in error.message
    assert "ssh (NetworkService)" in error.hint
    put(proxy=True)
    assert "is behind a proxy" in refused(tmp_path).message
    put(show=(0, "Acquired resource 'gdb' (shelf/m4/NetworkService/gdb):\n  {'params': __import__('os')}\n"))
    assert "has no NetworkService" in refused(tmp_path).message
    put(more=POWER, power=(1, "labgrid-client: Error: the switch does not answer\n"))
    assert (
        "has no power switch that the farm controls: labgrid-client: Error: the switch does not answer"
        in refused(tmp_path).message
    )
    put()
    board.close()
    assert "no GDB server can be reached at 127.0.0.1" in refused(tmp_path).message


def test_the_place_is_given_back_when_the_run_fails(put: Put, tmp_path: Path) -> None:
    """If this fails, a farm loses a board to a run that has ended."""
    put(name="ssh")
    here = measurer(tmp_path)
    with pytest.raises(HostError):
        here.describe()
    here.close()
    assert calls(tmp_path)[-1] == "-p nucleo release"


def test_what_is_no_place_is_told_before_the_lab(put: Put, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """If this fails, minutes of building come before the word that labgrid is missing."""
    put()
    assert str(parse_place("labgrid:shelf-2.m4")) == "labgrid:shelf-2.m4"
    case = parse_case(f"{NAME}/monocypher-Os/sign,curve=ed25519,size=32B", 1, 0)
    assert remote_of("labgrid:nucleo", [case]).via == "gdb"
    for wrong in ("labgrid:", "labgrid:-x", "labgrid:a b", "labgrid:a/b"):
        with pytest.raises(WorldwiseError, match="is not the name of a place"):
            parse_place(wrong)
    monkeypatch.setenv("PATH", "/nowhere")
    answer = call("run", "mcu", "--target", NAME, "--via", "labgrid:nucleo")
    assert answer.status == 1
    assert "no program labgrid-client in PATH" in answer.told and "pipx install labgrid" in answer.told
