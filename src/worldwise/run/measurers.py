# SPDX-License-Identifier: BSD-2-Clause
"""What measures the cases of a run: QEMU, or the board that the user named with `--via`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.machine.gdbboard import GdbBoard
from worldwise.machine.gdbserver import Address, parse_address
from worldwise.machine.gdbstarted import KINDS, Start, StartedServer, start_of
from worldwise.plan.case import Case
from worldwise.run.rundir import RunManifest


@dataclass(frozen=True)
class Remote:
    """A board that is measured itself, by a GDB server.

    Attributes:
        board: its name.
        server: where the server listens, or how it is started.
    """

    board: str
    server: Address | Start


def remote_of(via: str, cases: Sequence[Case]) -> Remote:
    """The board of `--via` that all cases are for. Raises WorldwiseError."""
    address = None if via in KINDS else parse_address(via)
    targets = sorted({case.target for case in cases})
    if len(targets) != 1 or targets[0] not in boards():
        raise WorldwiseError(
            f"--via {via}: one board is there, but the chosen cases are for {', '.join(targets)}.",
            "choose the board: worldwise run mcu --target BOARD --via ...",
        )
    return Remote(targets[0], address or start_of(via, targets[0], boards()[targets[0]]))


def require_same(run: str, manifest: RunManifest, remote: Remote | None, unit: str) -> None:
    """Refuse to resume a run with another kind of measurer than it was begun with. Raises WorldwiseError."""
    if manifest.via and not remote:
        raise WorldwiseError(
            f"run {run} measures a board by its GDB server, and none is named",
            "say where it is: worldwise run --resume --via gdb://HOST:PORT, or openocd, or pyocd",
        )
    if remote and not manifest.via:
        raise WorldwiseError(f"run {run} was begun without --via: emulated and not on a board", "start a new run")
    if manifest.unit != unit:
        raise WorldwiseError(
            f"run {run} counts {manifest.unit}, but what is there now counts {unit}: one run has one unit",
            "start a new run",
        )


def board_of(remote: Remote | None, lab: Lab, notify: Callable[[str], None], silence_limit: float) -> GdbBoard | None:
    """What measures a board itself; None if the run is emulated."""
    if remote is None:
        return None
    found = remote.server
    server = StartedServer(found, lab.cache / "servers") if isinstance(found, Start) else found
    return GdbBoard(server, boards()[remote.board], remote.board, lab, notify, silence_limit)
