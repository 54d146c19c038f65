# SPDX-License-Identifier: BSD-2-Clause
"""OpenOCD and pyOCD as the tool starts them: programs of these names stand for them, with a board that nobody has."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import Call
from gdb_board import FIRMWARE
from gdb_run import SUITE
from worldwise.base import paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.cli.report import Wanted
from worldwise.cli.run_command import measurement
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.board import gdbboard, gdbprocess
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.board.gdbprocess import StartedServer, start_of
from worldwise.machine.machine import RECORDS, Machine
from worldwise.plan.suite import parse_suite
from worldwise.run.measure import Bench
from worldwise.run.measurers import Remote
from worldwise.run.options import MeasureOptions

NAME = "nucleo-f446re"
LINE = b'{"type":"line"}\n'
MACHINE = Machine("a-machine", {"program.elf": Path("program.elf")}, {}, (), {}, None, {}, ())

# What each really prints without a probe: OpenOCD 0.12.0, pyOCD 0.44.1.
NO_PROBE = {
    "openocd": "Open On-Chip Debugger 0.12.0\\nInfo : clock speed 2000 kHz\\nError: open failed\\n",
    "pyocd": "No connected debug probes\\n0000775 E No probe selected. [gdbserver_cmd]\\n",
}

Put = Callable[[str, str], None]


def ends_with(words: str) -> str:
    return f"#!/bin/sh\nprintf '{words}' >&2\nexit 1\n"


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts a program into a PATH that has nothing else but what the programs need."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def new(name: str, text: str) -> None:
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)

    monkeypatch.setattr(gdbboard, "read_firmware", lambda _path: FIRMWARE)
    return new


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Callable[[str], GdbBoard]]:
    """Makes boards, whose servers are ended with the test."""
    made: list[GdbBoard] = []

    def new(program: str) -> GdbBoard:
        lab = Lab(load_lock(), tmp_path / "cache")
        server = StartedServer(start_of(program, NAME, boards()[NAME]), tmp_path / "logs")
        made.append(GdbBoard(server, boards()[NAME], NAME, lab, silence_limit=5))
        return made[-1]

    yield new
    for one in made:
        one.close()


def served(folder: Path, drops: int | None = None) -> str:
    """It writes how it was called, then serves a board until it is ended; with a child, as a script around one has."""
    return f"""\
#!{sys.executable}
import os, re, subprocess, sys, time
words = " ".join(sys.argv[1:])
child = subprocess.Popen(["sleep", "60"])
open({str(folder / "calls")!r}, "a").write(words + "\\n")
open({str(folder / "pids")!r}, "a").write(str(os.getpid()) + " " + str(child.pid) + "\\n")
sys.path[:0] = [{str(Path(__file__).parent.parent)!r}, {str(paths.REPOSITORY / "src")!r}]
from gdb_board import FakeBoard
print("Info : a server for", words, flush=True)
port = int(re.search(r"(?:gdb_port|--port) ([0-9]+)", words)[1])
board = FakeBoard(lambda _: {LINE!r} * 3, port=port, drops={drops})
time.sleep(60)
"""


def gone(folder: Path, within: float = 10) -> bool:
    """Whether all processes of the servers have ended, or do so within some seconds."""
    found = [int(word) for word in (folder / "pids").read_text().split()]
    deadline = time.monotonic() + within
    while any(_runs(pid) for pid in found):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _runs(pid: int) -> bool:
    # A killed process is a zombie while its other threads still end: until they have, its sockets take connections.
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z" or len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except OSError:
        return False


def run(board: GdbBoard, folder: Path) -> bytes:
    folder.mkdir()
    board.run(MACHINE, ("sign",), folder)
    return (folder / RECORDS).read_bytes()


@pytest.mark.parametrize(
    ("program", "called"),
    [
        (
            "openocd",
            "-c gdb_port [0-9]+ -c tcl_port disabled -c telnet_port disabled -f board/st_nucleo_f4.cfg",
        ),
        (
            "pyocd",
            "gdbserver --target stm32f446retx --port [0-9]+ --telnet-port [0-9]+ --persist --no-wait --project .",
        ),
    ],
)
def test_a_server_is_started_once_and_ended(
    program: str, called: str, put: Put, board: Callable[[str], GdbBoard], tmp_path: Path
) -> None:
    """If this fails, `--via openocd` measures nothing, starts a server a case, or leaves one behind."""
    put(program, served(tmp_path))
    here = board(program)
    assert here.describe().words == f"{NAME} at {program}: the chip counts its cycles"
    assert run(here, tmp_path / "one") == run(here, tmp_path / "two") == LINE * 3
    here.close()
    assert re.fullmatch(called + "\n", (tmp_path / "calls").read_text())
    assert "a server for" in (tmp_path / "logs" / f"{program}.log").read_text()
    assert gone(tmp_path)


@pytest.mark.parametrize("program", ["openocd", "pyocd"])
def test_without_a_probe_the_way_out_is_told(
    program: str, put: Put, board: Callable[[str], GdbBoard], tmp_path: Path
) -> None:
    """If this fails, a cable that is out is a port that nobody listens on."""
    put(program, ends_with(NO_PROBE[program]))
    with pytest.raises(HostError) as caught:
        board(program).describe()
    title = {"openocd": "OpenOCD", "pyocd": "pyOCD"}[program]
    assert caught.value.message == f"{program}: {title} does not serve GDB. {title} has ended with status 1."
    assert all(word in caught.value.hint for word in ("probe", "cable", "udev"))
    assert NO_PROBE[program].replace("\\n", "\n").splitlines()[-1] in caught.value.details
    assert str(tmp_path / "logs" / f"{program}.log") in caught.value.details


@pytest.mark.parametrize(
    ("program", "said", "hint"),
    [
        (
            "openocd",
            "Error: libusb_open() failed with LIBUSB_ERROR_ACCESS",
            "your user may not use the probe: udev rules",
        ),
        ("openocd", "Error: init mode failed (unable to connect to the target)", "check the board's power"),
        ("openocd", "embedded:startup.tcl:28: Error: Can\\047t find board/st_nucleo_f4.cfg", "take version 0.12"),
        ("openocd", "Error: something else", "worldwise run --resume --via openocd"),
        ("pyocd", "C Target type stm32f446retx not recognized. [__main__]", "pyocd pack install"),
        ("pyocd", "This can probably be remedied with a udev rule.", "your user may not use the probe: udev rules"),
    ],
)
def test_what_a_server_says_leads_to_the_way_out(
    program: str, said: str, hint: str, put: Put, board: Callable[[str], GdbBoard]
) -> None:
    """If this fails, the user must know OpenOCD to know what to do."""
    put(program, ends_with(said + "\\n"))
    with pytest.raises(HostError) as caught:
        board(program).describe()
    assert hint in caught.value.hint


@pytest.mark.parametrize("program", ["openocd", "pyocd"])
def test_a_server_starts_in_an_empty_folder(
    program: str, put: Put, board: Callable[[str], GdbBoard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a script that lies where the user stands is executed: both look there before their packages."""
    (tmp_path / "strangers" / "board").mkdir(parents=True)
    (tmp_path / "strangers" / "board" / "st_nucleo_f4.cfg").write_text("exit 7\n")
    (tmp_path / "strangers" / "pyocd_user.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path / "strangers")
    put(program, f"#!/bin/sh\npwd >{tmp_path}/where\nls -A >{tmp_path}/there\nexit 1\n")
    here = board(program)
    with pytest.raises(HostError):
        here.describe()
    where = Path((tmp_path / "where").read_text().strip())
    assert where.name.startswith("ww-server-")
    assert (tmp_path / "there").read_text() == ""
    here.close()
    assert not where.exists()


def test_a_log_does_not_grow_without_end(
    put: Put, board: Callable[[str], GdbBoard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server that repeats itself fills the disk; or one that says much loses its last words."""
    monkeypatch.setattr(gdbprocess, "MOST_LOG", 100_000)
    put("openocd", "#!/bin/sh\nyes 'more and more' | head -c 5000000\necho 'Error: open failed'\nexit 1\n")
    with pytest.raises(HostError) as caught:
        board("openocd").describe()
    assert re.search("more and more\n.*Error: open failed$", caught.value.details)
    assert "cable" in caught.value.hint
    assert (tmp_path / "logs" / "openocd.log").stat().st_size <= 100_000


def test_a_server_that_does_not_listen_is_given_up(
    put: Put, board: Callable[[str], GdbBoard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server that waits for something is waited for as long."""
    monkeypatch.setattr(gdbprocess, "LISTENS", 0.5)
    put("openocd", f"#!/bin/sh\nsleep 60 & echo $$ $! > {tmp_path}/pids\necho waiting\nwait\n")
    here = board("openocd")
    with pytest.raises(HostError, match=r"openocd: OpenOCD does not serve GDB\.$") as caught:
        here.describe()
    assert "waiting" in caught.value.details
    here.stop()
    assert gone(tmp_path)


def test_a_server_that_does_not_end_is_ended(
    put: Put, board: Callable[[str], GdbBoard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server that ignores the signal keeps the probe from everybody."""
    monkeypatch.setattr(gdbprocess, "ENDS", 0.2)
    put(
        "openocd",
        served(tmp_path).replace("import os,", "import signal; signal.signal(15, signal.SIG_IGN)\nimport os,"),
    )
    here = board("openocd")
    here.describe()
    here.stop()
    assert gone(tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), WorldwiseError("a build failed")])
def test_the_server_ends_with_the_command(
    error: BaseException, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the next command finds the probe taken by the server of one that was interrupted."""

    def interrupted(*_: object) -> None:
        # It was asked what is there.
        assert not gone(tmp_path, 0)
        raise error

    put("openocd", served(tmp_path))
    lab = Lab(load_lock(), tmp_path / "cache")
    monkeypatch.setattr(measurement, "open_lab", lambda _: lab)
    monkeypatch.setattr(Lab, "ensure", lambda _: False)
    monkeypatch.setattr(Lab, "require_entry", lambda _: None)
    monkeypatch.setattr(Bench, "build", interrupted)
    suite = parse_suite(SUITE, "two.toml")
    order = measurement.RunOrder(suite, suite.cases, (), None, None, (), tmp_path / "runs", None, False)
    remote = Remote(NAME, start_of("openocd", NAME, boards()[NAME]))
    with pytest.raises(type(error)):
        measurement.measure(
            order, MeasureOptions(reuse=False, start="boot", remote=remote), Wanted("text", None, None, False)
        )
    assert gone(tmp_path)


@pytest.mark.skipif(not shutil.which("setpriv"), reason="no setpriv here")
def test_the_server_ends_with_a_tool_that_was_killed(put: Put, tmp_path: Path) -> None:
    """If this fails, a tool that nobody could end in order leaves the probe taken."""
    put("openocd", served(tmp_path))
    program = f"""\
import os, sys
from pathlib import Path
from worldwise.libraries.boards import boards
from worldwise.machine.board.gdbprocess import StartedServer, start_of
StartedServer(start_of("openocd", {NAME!r}, boards()[{NAME!r}]), Path({str(tmp_path)!r})).connect()
os.kill(os.getpid(), 9)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(paths.REPOSITORY / "src"), "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert ended.returncode == -9
    server, child = (tmp_path / "pids").read_text().split()
    (tmp_path / "pids").write_text(server)
    os.kill(int(child), 9)
    assert gone(tmp_path)


def test_a_server_that_ended_is_started_again(put: Put, board: Callable[[str], GdbBoard], tmp_path: Path) -> None:
    """If this fails, a run cannot be resumed after the cable was out."""
    put("openocd", served(tmp_path, drops=2))
    here = board("openocd")
    with pytest.raises(HostError, match="openocd: the GDB server has gone away") as caught:
        run(here, tmp_path / "one")
    assert "worldwise run --resume --via openocd" in caught.value.hint
    assert "a server for" in caught.value.details
    os.killpg(int((tmp_path / "pids").read_text().split()[0]), 9)
    assert gone(tmp_path)
    put("openocd", served(tmp_path))
    assert run(here, tmp_path / "two") == LINE * 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", NAME, "--via", "openocd"), ("no program openocd in PATH", "sudo apt install openocd")),
        (("--target", NAME, "--via", "pyocd"), ("no program pyocd in PATH", "pipx install pyocd")),
        (("--via", "openocd"), ("one board is there",)),
        (("--target", NAME, "--via", "sh"), ("is not the address of a GDB server",)),
    ],
)
def test_a_server_that_is_not_there_is_told_before_the_lab(
    arguments: tuple[str, ...],
    said: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:
    """If this fails, minutes of building come before the word that OpenOCD is missing."""
    monkeypatch.setenv("PATH", "/nowhere")
    answer = call("run", "mcu", *arguments)
    assert answer.status in (1, 2)
    assert all(words in answer.told for words in said)


def test_a_board_whose_probe_is_not_known_is_told(put: Put) -> None:
    """If this fails, a server is started for another board than the one that is there."""
    put("pyocd", "#!/bin/sh\n")
    with pytest.raises(WorldwiseError, match=r"boards/stm32vldiscovery.toml does not say what pyOCD calls") as caught:
        start_of("pyocd", "stm32vldiscovery", boards()["stm32vldiscovery"])
    assert "--via gdb://" in caught.value.hint


@pytest.mark.parametrize(
    ("mortal", "says"),
    [([], "openocd cannot be started: No such file"), (None, r"OpenOCD has ended with status 127\.")],
)
def test_a_file_that_cannot_be_started_is_told(
    mortal: list[str] | None,
    says: str,
    put: Put,
    board: Callable[[str], GdbBoard],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If this fails, a broken program is a traceback, or a board that is not there."""
    put("openocd", "#!/no/such/shell\n")
    if mortal is not None or not shutil.which("setpriv"):
        monkeypatch.setattr(gdbprocess, "mortal", list)
        says = "openocd cannot be started: No such file"
    with pytest.raises(HostError, match=says) as caught:
        board("openocd").describe()
    assert "apt install openocd" in caught.value.hint


def test_every_board_says_where_its_names_are_from() -> None:
    """If this fails, nobody can look up what a server is started for."""
    for name, one in boards().items():
        for program in gdbprocess.KINDS:
            known = getattr(one.servers, program)
            assert known is None or program in known.source.lower(), name
