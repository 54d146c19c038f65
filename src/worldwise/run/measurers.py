# SPDX-License-Identifier: BSD-2-Clause
"""What measures the cases of a run: QEMU, or the board or host that the user named with `--via`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.machine.gdbboard import GdbBoard
from worldwise.machine.gdbserver import Address, parse_address
from worldwise.machine.ssh import SshAddress, parse_ssh
from worldwise.machine.sshhost import SshHost
from worldwise.plan.case import Case
from worldwise.run.rundir import RunManifest
from worldwise.targets.silicon import not_on_a_host, silicon

_SSH = "ssh://"
_WHAT = {"gdb": "a board by its GDB server", "ssh": "a Linux host"}
# How a run's board or host was reached -> the form of its address.
_FORMS = {"gdb": "gdb://HOST:PORT", "ssh": "ssh://USER@HOST"}


@dataclass(frozen=True)
class Remote:
    """A board that is measured itself, by a GDB server that the user started; or a Linux host, by ssh.

    Attributes:
        board: the board's name; of a host the target whose programs run there.
        address: where the server listens, or the host is.
        left: of a host: why cases are left out -> how many are.
    """

    board: str
    address: Address | SshAddress
    left: Mapping[str, int] = field(default_factory=dict)

    @property
    def via(self) -> Literal["gdb", "ssh"]:
        """As a run keeps it."""
        return "ssh" if isinstance(self.address, SshAddress) else "gdb"

    def measured(self, cases: Sequence[Case]) -> list[Case]:
        """The cases without those that are left out."""
        return [case for case in cases if self.via == "gdb" or not not_on_a_host(case)]


def remote_of(via: str, cases: Sequence[Case]) -> Remote:
    """The board or host of `--via` that all cases are for. Raises WorldwiseError."""
    targets = sorted({case.target for case in cases})
    if via.startswith(_SSH):
        return _host_of(parse_ssh(via), targets, cases)
    address = parse_address(via)
    if len(targets) != 1 or targets[0] not in boards():
        raise WorldwiseError(
            f"--via {via}: one board is there, but the chosen cases are for {', '.join(targets)}.",
            "choose the board: worldwise run mcu --target BOARD --via ...",
        )
    return Remote(targets[0], address)


def _host_of(address: SshAddress, targets: Sequence[str], cases: Sequence[Case]) -> Remote:
    if len(targets) != 1 or targets[0] not in PLAIN_TARGETS:
        raise WorldwiseError(
            f"--via {address}: one Linux host is there, but the chosen cases are for {', '.join(targets)}.",
            f"choose one of {', '.join(PLAIN_TARGETS)}: worldwise run linux-armv8 --via ...",
        )
    left = Counter(reason for case in cases if (reason := not_on_a_host(case)))
    if left.total() == len(cases):
        raise WorldwiseError(f"--via {address}: none of the chosen cases can be measured there: {', '.join(left)}.")
    return Remote(targets[0], address, left)


def require_same(run: str, manifest: RunManifest, remote: Remote | None, unit: str) -> None:
    """Refuse to resume a run with another kind of measurer than it was begun with. Raises WorldwiseError."""
    if manifest.via and not remote:
        raise WorldwiseError(
            f"run {run} measures {_WHAT[manifest.via]}, and none is named",
            f"say where it is: worldwise run --resume --via {_FORMS[manifest.via]}",
        )
    if remote and not manifest.via:
        raise WorldwiseError(f"run {run} was begun without --via: emulated and not on a board", "start a new run")
    if remote and remote.via != manifest.via:
        raise WorldwiseError(
            f"run {run} was begun by --via {_FORMS[manifest.via]}, and not by {remote.address}", "start a new run"
        )
    if manifest.unit != unit:
        raise WorldwiseError(
            f"run {run} counts {manifest.unit}, but what is there now counts {unit}: one run has one unit",
            "start a new run",
        )


def board_of(
    remote: Remote | None, lab: Lab, images: ImageStore, notify: Callable[[str], None], silence_limit: float
) -> GdbBoard | SshHost | None:
    """What measures a board or a host itself; None if the run is emulated."""
    if remote is None:
        return None
    if isinstance(remote.address, SshAddress):
        target = silicon(remote.board)
        return SshHost(
            remote.address, remote.board, lambda: images.get(target.probe()).file("probe"), lab, notify, silence_limit
        )
    return GdbBoard(remote.address, boards()[remote.board], remote.board, lab, notify, silence_limit)
