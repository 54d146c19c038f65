# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots: machines that were booted once, stopped at a fixed instruction, and saved."""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from worldwise.base.disk import require_space
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.base.progress_notes import Begun, Done
from worldwise.lab.cache_locks import mark_used
from worldwise.lab.image import check_files
from worldwise.lab.recent_hashes import Recent
from worldwise.lab.sandbox.lent_folders import socket_of
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.diagnosis import diagnosis, last_line, panic, raise_refusal
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import EMULATOR_LOG, Machine
from worldwise.machine.plugin import Plugin
from worldwise.machine.qemu import Qemu, Session

if TYPE_CHECKING:
    from qemu.qmp import QMPClient

_STATE = "state"
_MANIFEST = "snapshot.json"
# How often to boot until the machine stops as it must. Once is enough unless a busy host starves QEMU's main loop.
ATTEMPTS = 3
# A program may take this many times as long as a boot to reach the point where its state is saved.
_PREPARE = 5
_LEAVE_OUT = "it boots without the stack: leave out its lines one by one, and read the end of its consoles"
# QEMU's options for a machine that begins from the saved state bound by `state_of`.
RESTORED = ("-incoming", f"file:/snapshot/{_STATE}")
# QEMU's options for a machine that a debugger runs to the point where its state is saved.
_STOPPED = (
    "-S",
    *("-gdb", "unix:/sockets/gdb,server=on,wait=off"),
    *("-qmp", "unix:/sockets/qmp,server=on,wait=off"),
    # Do not save that a debugger stopped the machine: it could not be restored to that run state.
    *("-global", "migration.store-global-state=off"),
)


class Snapshots:
    """The saved states of machines in the user's cache. Safe for threads.

    Args:
        qemu: runs the machines.
        notify: called with a line of text when a machine is booted.
        boot_limit: seconds a machine may take to get ready.
    """

    def __init__(self, qemu: Qemu, notify: Callable[[str], None], boot_limit: float) -> None:
        self.directory = qemu.lab.cache / "snapshots"
        self._qemu = qemu
        self._notify = notify
        self._boot_limit = boot_limit
        # If a stack does not boot, the other cases fail at once with the same words.
        self._failed: dict[str, WorldwiseError] = {}

    def get(self, machine: Machine) -> Path:
        """The machine's saved state, made if it is not there or damaged. Returns its folder.

        Raises WorldwiseError if the machine does not get ready; the consoles' ends are in the details.
        """
        digest = machine.state_digest(self._qemu.lab)
        final = self.directory / digest[:12]
        self.directory.mkdir(parents=True, exist_ok=True)
        with FileLock(self.directory / f".{digest[:12]}.lock"):
            problem = problem_of(final, digest, self._qemu.lab.recent)
            if not problem:
                mark_used(final)
                return final
            if failed := self._failed.get(digest):
                raise failed
            if final.exists():
                self._notify(f"snapshot of {machine.name}: {problem}; booting anew")
                shutil.rmtree(final)
            self._notify(Begun(f"booting {machine.name}", "boot", machine.name))
            require_space(self.directory, 300_000_000, "a machine's snapshot")
            work = Path(tempfile.mkdtemp(dir=self.directory, prefix=".booting-"))
            try:
                for attempt in range(1, ATTEMPTS + 1):
                    try:
                        self._boot_and_save(machine, work)
                    except HostError:
                        raise
                    except WorldwiseError as error:
                        if machine.stack:
                            self._failed[digest] = error
                        raise
                    if self._stopped_well(machine, work):
                        break
                    self.not_stopped_well(machine, attempt)
                manifest = {
                    "digest": digest,
                    "machine": machine.name,
                    "files": {_STATE: file_sha256(work / _STATE)},
                }
                (work / _MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")
                work.rename(final)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        return final

    def prepare(
        self, machine: Machine, program: Sequence[str], address: int, directory: Path, left: Sequence[str]
    ) -> Path:
        """Run a program up to an instruction and save the machine's state: see Emulator.prepare."""
        snapshot = state_of(self.get(machine))
        with (
            command_line(program, directory),
            self._qemu.sockets() as sockets,
            self._qemu.session(machine, directory, (*left, _STATE)) as session,
        ):
            command = self._qemu.command(session, sockets, [*_STOPPED, *RESTORED], [snapshot])
            process = self._qemu.start(command, directory)
            try:
                limit = _PREPARE * self._boot_limit
                debugger = GdbStub(sockets / "gdb", limit, lambda: process.poll() is None)
                with debugger:
                    _restored_by(sockets / "qmp", self._boot_limit)
                    debugger.run_to(address)
                    save_state(sockets / "qmp", f"/run/{_STATE}")
            except (WorldwiseError, OSError, EOFError) as error:
                self._qemu.end(process)
                raise_refusal(directory)
                raise WorldwiseError(
                    f"{program[0]} on {machine.name} did not reach the point where its state is saved: {error}",
                    details=diagnosis(directory, machine, self._qemu.lab, session.room),
                ) from None
            finally:
                self._qemu.end(process)
        return directory

    def steered(
        self,
        session: Session,
        extra: Sequence[str],
        plugin: Plugin | None,
        steer: Callable[[GdbStub], None],
    ) -> tuple[int, list[str]]:
        """Run a machine to its end, from its saved state if it has one, under a debugger: see Emulator.steered."""
        machine, directory = session.machine, session.directory
        saved = machine.ready is not None
        binds = [*(plugin.binds() if plugin else ()), *([state_of(self.get(machine))] if saved else ())]
        attached = ("-plugin", plugin.option()) if plugin else ()
        options = [*_STOPPED, *(RESTORED if saved else ()), *extra, *attached]
        with self._qemu.sockets() as sockets:
            command = self._qemu.command(session, sockets, options, binds)
            process = self._qemu.start(command, directory)
            try:
                with GdbStub(sockets / "gdb", self._boot_limit, lambda: process.poll() is None) as debugger:
                    _restored_by(sockets / "qmp", self._boot_limit)
                    steer(debugger)
                    debugger.go()
                    self._qemu.watch(process, session)
            except (WorldwiseError, OSError, EOFError) as error:
                self._qemu.end(process)
                raise_refusal(directory)
                said = last_line(directory / EMULATOR_LOG)
                raise WorldwiseError(
                    f"{machine.name} did not obey its debugger: {error}" + (f" ({said})" if said else ""),
                    details=diagnosis(directory, machine, self._qemu.lab, session.room),
                ) from None
            finally:
                self._qemu.end(process)
        return process.returncode, command

    @contextlib.contextmanager
    def booted(self, session: Session, sockets: Path) -> Iterator[tuple[subprocess.Popen[bytes], GdbStub, list[str]]]:
        """A machine run from power-on and stopped before its ready instruction; ended on exit."""
        machine, directory, room = session.machine, session.directory, session.room
        command = self._qemu.command(session, sockets, _STOPPED)
        for name in machine.preload:
            # Firmware opens these files by bare name in QEMU's current directory.
            (room / name).symlink_to(f"/machine/{name}")
        process = self._qemu.start(command, directory)
        try:
            try:
                debugger = GdbStub(sockets / "gdb", self._boot_limit, lambda: process.poll() is None)
                assert machine.ready is not None
                debugger.run_to(machine.ready, lambda: bool(panic(room)))
            except WorldwiseError as error:
                started = process.poll() is None
                self._qemu.end(process)
                raise_refusal(directory)
                said = "" if started else last_line(directory / EMULATOR_LOG)
                problem = panic(room) or (f"QEMU did not start: {said}" if said else error.message)
                raise WorldwiseError(
                    f"{machine.shown} did not boot: {problem}",
                    _LEAVE_OUT if machine.stack else "",
                    diagnosis(directory, machine, self._qemu.lab, room),
                ) from None
            with debugger:
                yield process, debugger, command
        finally:
            self._qemu.end(process)

    def not_stopped_well(self, machine: Machine, attempt: int) -> None:
        """Announce a new attempt, or raise WorldwiseError after the last; see machine_ready() of guest/linux/init.c."""
        if attempt == ATTEMPTS:
            raise WorldwiseError(
                f"machine {machine.name} did not stop at the right instruction in {ATTEMPTS} attempts",
                "try again with less load on this machine",
            )
        self._notify(f"{machine.name} did not stop at the right instruction; booting again")

    def _boot_and_save(self, machine: Machine, work: Path) -> None:
        began = time.monotonic()
        with (
            self._qemu.sockets() as sockets,
            self._qemu.session(machine, work, (_STATE,)) as session,
            self.booted(session, sockets),
        ):
            try:
                save_state(sockets / "qmp", f"/run/{_STATE}")
            except (OSError, EOFError) as error:
                raise WorldwiseError(f"the state of {machine.name} could not be saved: {error}") from None
        self._notify(Done(f"booted {machine.name} in {time.monotonic() - began:.1f} s", "boot", machine.name))

    def _stopped_well(self, machine: Machine, snapshot: Path) -> bool:
        """Restore a new snapshot once, to check the two clock readings around the stop."""
        with tempfile.TemporaryDirectory(dir=snapshot) as work:
            directory = Path(work)
            with command_line(["/bin/faults"], directory):
                with self._qemu.session(machine, directory) as session:
                    self._qemu.to_the_end(session, RESTORED, [state_of(snapshot)])
                return stopped_well(directory, machine.least_skip)


@contextlib.contextmanager
def command_line(program: Sequence[str], directory: Path) -> Iterator[None]:
    """The file `case` tells the first process what to run; on exit that file and `machine` are removed."""
    (directory / "case").write_text("\n".join(program) + "\n", encoding="ascii")
    try:
        yield
    finally:
        for name in ("case", "machine"):
            (directory / name).unlink(missing_ok=True)


def state_of(folder: Path) -> Bind:
    """The bind that lets a machine begin from a saved state."""
    return (folder / _STATE, f"/snapshot/{_STATE}", "ro")


def stopped_well(directory: Path, least_skip: int) -> bool:
    """Whether virtual time was skipped when the machine was stopped; it is, unless QEMU's main loop was busy.

    True too for a machine that ended before it wrote both readings.
    """
    try:
        ready, resumed = map(int, (directory / "machine").read_text(encoding="ascii").split())
    except (FileNotFoundError, ValueError):
        return True
    return resumed - ready > least_skip


def problem_of(directory: Path, digest: str, recent: Recent | None = None) -> str:
    """Why a saved state cannot be used; empty if it can.

    A process hashes its bytes once, unless somebody wrote them: of a state that serves a thousand cases that would be a
    tenth of a second for each.
    """
    try:
        manifest = json.loads((directory / _MANIFEST).read_text(encoding="utf-8"))
        if manifest["digest"] != digest:
            return "it is another machine's"
        if not (directory / _STATE).exists():
            return "not there"
        return check_files(directory, manifest["files"], recent)
    except FileNotFoundError:
        return "not there"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"it cannot be read ({error})"


def _restored_by(socket: Path, limit: float) -> None:
    """Wait until QEMU has loaded the state that it begins from. Raises WorldwiseError, OSError, EOFError."""
    _talk(socket, lambda client: _until_restored(client, limit))


async def _until_restored(client: "QMPClient", limit: float) -> None:
    from asyncio import sleep

    deadline = time.monotonic() + limit
    while True:
        answer = await client.execute("query-status")
        assert isinstance(answer, dict)
        if answer["status"] != "inmigrate":
            break
        if time.monotonic() > deadline:
            raise WorldwiseError(f"its saved state was not read within {limit:.0f} s")
        await sleep(0.02)


def save_state(socket: Path, inside: str) -> None:
    """Make QEMU write the stopped machine's state to a file, then quit. Raises WorldwiseError, OSError, EOFError."""
    _talk(socket, lambda client: _until_saved(client, inside))


async def _until_saved(client: "QMPClient", inside: str) -> None:
    from asyncio import sleep

    from qemu.qmp import QMPError

    await client.execute("migrate", {"uri": f"file:{inside}"})
    while True:
        answer = await client.execute("query-migrate")
        assert isinstance(answer, dict)
        if answer["status"] == "completed":
            break
        if answer["status"] == "failed":
            raise WorldwiseError(f"its state could not be saved: {answer.get('error-desc', 'no reason given')}")
        await sleep(0.02)
    # QEMU closes the connection as it quits.
    with contextlib.suppress(QMPError, EOFError, OSError):
        await client.execute("quit")


def _talk(socket: Path, what: Callable[["QMPClient"], Coroutine[None, None, None]]) -> None:
    """Say something to QEMU's monitor. Raises OSError if it does not answer, and what `what` does."""
    # A machine that is saved already needs neither, and both take long to load.
    import asyncio

    from qemu.qmp import QMPClient, QMPError

    async def connected() -> None:
        client = QMPClient("worldwise")
        with socket_of(socket) as path:
            await client.connect(path)
        try:
            await what(client)
        finally:
            # If QEMU is gone too: else asyncio prints a warning.
            with contextlib.suppress(QMPError, EOFError, OSError):
                await client.disconnect()

    try:
        asyncio.run(connected())
    except QMPError as error:
        raise OSError(str(error)) from None
