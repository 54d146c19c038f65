# SPDX-License-Identifier: BSD-2-Clause
"""What measures the cases of a run: QEMU, or the board or host that the user named with `--via`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import boards
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.machine.board.farm import PREFIX, FarmPlace, FarmServer, parse_place
from worldwise.machine.board.gdbboard import GdbBoard
from worldwise.machine.board.gdbprocess import KINDS, ServerStart, StartedServer, start_of
from worldwise.machine.board.gdbserver import Address, parse_address
from worldwise.machine.board.serialline import SerialAddress, parse_serial
from worldwise.machine.linux_host.signed_tas import Trust, trust_of
from worldwise.machine.linux_host.ssh import SshAddress, parse_ssh
from worldwise.machine.linux_host.sshhost import SshHost
from worldwise.machine.measurer import Description
from worldwise.plan.case import Case
from worldwise.plan.spec import OPTEE
from worldwise.run.folder.manifests import ChipClock, RunManifest, Via
from worldwise.targets.silicon import not_on_a_host, silicon

_SSH = "ssh://"
_WHAT = {"gdb": "a board by its GDB server", "gdb+serial": "a board by its GDB server", "ssh": "a Linux host"}
# How a run's board or host was reached -> the form of its address.
_BY_SERVER = "gdb://HOST:PORT, or openocd, or pyocd, or labgrid:PLACE"
_FORMS = {"gdb": _BY_SERVER, "gdb+serial": _BY_SERVER, "ssh": "ssh://USER@HOST"}


@dataclass(frozen=True)
class Remote:
    """A board that is measured itself, by a GDB server; or a Linux host, perhaps with OP-TEE, by ssh.

    Attributes:
        board: the board's name; of a host the target whose programs run there.
        server: where the server listens, how it is started, or the place of a farm that it is at; or where the host is.
        clock: the one of the board's clocks that is set; empty for what its reset leaves.
        serial: where its serial line ends, if the records come over that.
        left: of a host: why cases are left out -> how many are.
        trust: of a host with OP-TEE, how that gets TAs.
    """

    board: str
    server: Address | ServerStart | FarmPlace | SshAddress
    clock: str = ""
    serial: SerialAddress | None = None
    left: Mapping[str, int] = field(default_factory=dict)
    trust: Trust | None = None

    @property
    def via(self) -> Via:
        """How it is reached, for the run's manifest."""
        if isinstance(self.server, SshAddress):
            return "ssh"
        return "gdb+serial" if self.serial else "gdb"

    @property
    def chip_clock(self) -> ChipClock | None:
        """The clock, for the run's manifest."""
        if not self.clock:
            return None
        found = boards()[self.board].clocks[self.clock]
        return ChipClock(name=self.clock, hertz=found.clock, words=found.words)

    def measured(self, cases: Sequence[Case]) -> list[Case]:
        """The cases without those that are left out."""
        return [case for case in cases if self.via != "ssh" or not not_on_a_host(case)]


def remote_of(
    via: str, cases: Sequence[Case], clock: str = "", serial: str = "", ta_key: str = "", ta_folder: str = ""
) -> Remote:
    """The board or host of `--via` that all cases are for, at a clock of its file. Raises WorldwiseError.

    `ta_key` and `ta_folder` are for a host with OP-TEE: see trust_of.
    """
    targets = sorted({case.target for case in cases})
    if (ta_key or ta_folder) and not (via.startswith(_SSH) and targets == [OPTEE]):
        raise WorldwiseError(
            f"--via {via}: --ta-key and --ta-folder are for a host with OP-TEE alone.",
            "leave them out, or: worldwise run --target optee --via ssh://USER@HOST --ta-key FILE",
        )
    if via.startswith(_SSH):
        if clock or serial:
            raise WorldwiseError(
                f"--via {via}: a Linux host has neither --clock nor --serial.",
                "leave them out, or name a board's server",
            )
        return _host_of(parse_ssh(via), targets, cases, ta_key, ta_folder)
    address: Address | FarmPlace | None = None
    if via not in KINDS:
        address = parse_place(via) if via.startswith(PREFIX) else parse_address(via)
    if len(targets) != 1 or targets[0] not in boards():
        raise WorldwiseError(
            f"--via {via}: one board is there, but the chosen cases are for {', '.join(targets)}.",
            "choose the board: worldwise run mcu --target BOARD --via ...",
        )
    name, board = targets[0], boards()[targets[0]]
    if board.secure:
        raise WorldwiseError(
            f"--via {via}: {name} has two programs, and a debugger loads one.",
            "leave --via out, or choose a board without [secure]",
        )
    if clock and clock not in board.clocks:
        raise WorldwiseError(
            f"--clock {files.quoted(clock)}: boards/{name}.toml has no such clock.",
            f"its clocks: {', '.join(board.clocks) or 'none; docs/add/add-board.md says how to add one'}",
        )
    line = parse_serial(serial) if serial else None
    if line and not board.serial:
        raise WorldwiseError(
            f"--serial {line}: boards/{name}.toml does not say which registers its serial line has ([serial]).",
            "leave --serial out, and the records come through the debugger; or add it: docs/add/add-board.md",
        )
    if line and clock and board.clocks[clock].bus is None and board.steps(clock):
        raise WorldwiseError(
            f"--serial {line}: boards/{name}.toml does not say what clock its serial line has at {clock} (bus).",
            "leave --serial or --clock out",
        )
    return Remote(name, address or start_of(via, name, board), clock, line)


def _host_of(address: SshAddress, targets: Sequence[str], cases: Sequence[Case], key: str, folder: str) -> Remote:
    if len(targets) != 1 or targets[0] not in (*PLAIN_TARGETS, OPTEE):
        raise WorldwiseError(
            f"--via {address}: one Linux host is there, but the chosen cases are for {', '.join(targets)}.",
            f"choose one of {', '.join((*PLAIN_TARGETS, OPTEE))}: worldwise run linux-armv8 --via ...; or worldwise "
            "run --target optee --via ...",
        )
    trust = trust_of(key, folder) if targets[0] == OPTEE else None
    left = Counter(reason for case in cases if (reason := not_on_a_host(case)))
    if left.total() == len(cases):
        raise WorldwiseError(f"--via {address}: none of the chosen cases can be measured there: {', '.join(left)}.")
    variants = sorted({case.variant for case in cases if not not_on_a_host(case)})
    if trust and len(variants) > 1:
        raise WorldwiseError(
            f"--via {address}: the host has one OP-TEE, but the chosen cases are for {', '.join(variants)}.",
            f"there a variant only says how the TA was compiled: choose one, --variant {variants[0]}",
        )
    return Remote(targets[0], address, left=left, trust=trust)


def require_same(run: str, manifest: RunManifest, remote: Remote | None, found: Description) -> None:
    """Refuse to resume a run with another kind of measurer than it was begun with. Raises WorldwiseError."""
    if manifest.via and not remote:
        raise WorldwiseError(
            f"run {run} measures {_WHAT[manifest.via]}, and none is named",
            f"say where it is: worldwise run --resume --via {_FORMS[manifest.via]}",
        )
    if remote and not manifest.via:
        raise WorldwiseError(f"run {run} was begun without --via: emulated and not on a board", "start a new run")
    if remote and "ssh" in (remote.via, manifest.via) and remote.via != manifest.via:
        raise WorldwiseError(
            f"run {run} was begun by --via {_FORMS[manifest.via]}, and not by {remote.server}", "start a new run"
        )
    if remote and manifest.via != remote.via:
        begun, now = ("with", "without") if remote.serial is None else ("without", "with")
        raise WorldwiseError(
            f"run {run} was begun {begun} --serial, and its programs are others than those {now} it",
            f"resume it {begun} --serial",
        )
    if manifest.chip_clock != (remote.chip_clock if remote else None):
        raise WorldwiseError(
            f"run {run} was begun at a clock that boards/{remote.board if remote else ''}.toml gives otherwise now",
            "start a new run",
        )
    if manifest.unit != found.unit:
        raise WorldwiseError(
            f"run {run} counts {manifest.unit}, but the board or host counts {found.unit} now: one run has one unit",
            "start a new run",
        )
    before = manifest.measured_on
    other = [name for name in {**before, **found.facts} if before.get(name) != found.facts.get(name)]
    if other:
        said = "; ".join(
            f"{name.replace('_', ' ')} was {before.get(name)!r} and is {found.facts.get(name)!r}" for name in other
        )
        raise WorldwiseError(f"run {run} was begun on another host, or it has changed: {said}.", "start a new run")


def board_of(
    remote: Remote | None, lab: Lab, images: ImageStore, notify: Callable[[str], None], silence_limit: float
) -> GdbBoard | SshHost | None:
    """What measures a board or a host itself; None if the run is emulated."""
    if remote is None:
        return None
    found, name = remote.server, remote.board
    if isinstance(found, SshAddress):
        target = silicon(name)

        def probe() -> Path:
            return images.get(target.probe()).file("probe")

        return SshHost(found, name, probe, lab, notify, silence_limit, trust=remote.trust)
    server: Address | StartedServer | FarmServer
    match found:
        case ServerStart():
            server = StartedServer(found, lab.cache / "servers")
        case FarmPlace():
            server = FarmServer(found)
        case _:
            server = found
    return GdbBoard(server, boards()[name], name, lab, notify, silence_limit, clock=remote.clock, serial=remote.serial)
