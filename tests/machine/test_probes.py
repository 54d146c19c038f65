# SPDX-License-Identifier: BSD-2-Clause
"""OpenOCD and pyOCD themselves, of Debian, started as the tool starts them, where no probe is connected."""

import sys
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.base.errors import HostError
from worldwise.lab.lab import open_lab
from worldwise.libraries.boards import boards
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.board.gdbprocess import StartedServer, start_of

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

NAME = "nucleo-f446re"
# In the place of the program: it starts the one of the root.
IN_ROOT = f"""\
#!{sys.executable}
import subprocess, sys
sys.path.insert(0, {str(paths.REPOSITORY / "src")!r})
from worldwise.lab.lab import open_lab
command = open_lab(name="probes").command([{{program!r}}, *sys.argv[1:]], network=True)
sys.exit(subprocess.run(command).returncode)
"""


@pytest.mark.parametrize(
    ("program", "says"),
    [("openocd", ("Open On-Chip Debugger 0.12", "Error: open failed")), ("pyocd", ("No connected debug probes",))],
)
def test_without_a_probe_the_way_out_is_told(
    program: str, says: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, the server takes another command line than the tool's, or its words lead nowhere."""
    lab = open_lab(name="probes")
    lab.ensure()
    (tmp_path / program).write_text(IN_ROOT.format(program=program))
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    board = GdbBoard(
        StartedServer(start_of(program, NAME, boards()[NAME]), tmp_path / "logs"), boards()[NAME], NAME, lab
    )
    try:
        with pytest.raises(HostError) as caught:
            board.describe()
    finally:
        board.close()
    assert "has ended with status 1" in caught.value.message
    assert all(words in caught.value.details for words in says)
    assert all(word in caught.value.hint for word in ("probe", "cable", "udev"))
