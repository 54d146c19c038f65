# SPDX-License-Identifier: BSD-2-Clause
"""QEMU: its command line, its process, and the folder that a machine writes to while it runs."""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.file_copies import copy_in, take_file
from worldwise.lab.sandbox.lent_folders import lent, scratch
from worldwise.lab.sandbox.limits import Limits, Watch, ended
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.diagnosis import CONSOLES, diagnosis, panic
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, NETWORK, RECORDS, SAID, SECURE_CONSOLE, Machine
from worldwise.machine.plugin import Plugin

# The files that every machine may leave for the host. A saved machine also leaves its state, a traced machine its
# trace, and a campaign names further files of its machines.
_LEFT = (RECORDS, CONSOLE, SECURE_CONSOLE, "machine")

# The parts of the lab that QEMU sees: no other program that it, or a guest by semihosting, could run.
_QEMU = "qemu-system-aarch64"
_QEMU_PARTS = (f"/usr/bin/{_QEMU}", "/usr/lib", "/usr/lib64")
# QEMU starts no program and takes no other rights, even if a guest takes it over.
_QEMU_SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
# Seconds between two checks of what a machine has written.
_LOOK = 0.05


@dataclass(frozen=True)
class Session:
    """One run of a machine, from its start to its end.

    Attributes:
        machine: the machine.
        directory: the case's directory on the host.
        room: the folder that the machine itself writes to.
        progress: called now and then with the size of the records so far, in bytes.
        forward: QEMU's option for what is forwarded to its network card; empty for nothing.
    """

    machine: Machine
    directory: Path
    room: Path
    progress: Callable[[int], None] = lambda _: None
    forward: str = ""


# Seconds for which a machine that a plugin watches may record nothing: it is some ten times slower than others.
WATCHED_SILENCE = 1200.0
# Where no option gives a machine more time.
MORE_TIME = {WATCHED_SILENCE: "a machine that is watched is slow: try again while less else runs"}


class Qemu:
    """Starts QEMU in the lab, watches it, ends it. Safe for threads.

    Args:
        lab: holds QEMU.
        limits: what a machine may use of the host.
        silence_limit: seconds without a new record after which a machine counts as hanging.
        time_limit: seconds after which a machine is stopped even if records still come.
    """

    def __init__(self, lab: Lab, limits: Limits, silence_limit: float, time_limit: float) -> None:
        self.lab = lab
        self.limits = limits
        self._silence_limit = silence_limit
        self._time_limit = time_limit
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    @contextlib.contextmanager
    def sockets(self) -> Iterator[Path]:
        """A folder with a short name for a machine's sockets."""
        with tempfile.TemporaryDirectory(prefix="ww-") as name, lent([Path(name)]):
            yield Path(name)

    @contextlib.contextmanager
    def session(
        self,
        machine: Machine,
        directory: Path,
        left: Sequence[str] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> Iterator[Session]:
        """A machine's session, whose room starts with a copy of the files in a case's directory.

        After the machine has ended, the files it may leave are moved to that directory: those of every machine, and
        those named in `left`. Raises WorldwiseError if one of them is not a regular file.
        """
        with scratch(self.lab.cache) as place:
            room = place / "run"
            copy_in(directory, room, CONSOLES.__contains__)
            if machine.as_it_is:
                (room / CONSOLE).touch()
            try:
                with lent([room]):
                    yield Session(machine, directory, room, progress)
            finally:
                for name in (*_LEFT, *left):
                    take_file(room / name, directory / name, self.limits.disk, "the emulated machine")

    def to_the_end(
        self, session: Session, extra: Sequence[str], binds: Sequence[Bind], plugin: Plugin | None = None
    ) -> tuple[int, list[str]]:
        """Run a machine until it ends; returns QEMU's exit status and command line.

        `extra` are more of QEMU's options, `binds` what else it sees. Raises WorldwiseError as `watch` does.
        """
        if plugin:
            extra = [*extra, "-plugin", plugin.option()]
            binds = [*binds, *plugin.binds()]
        command = self.command(session, None, extra, binds)
        process = self.start(command, session.directory, session.room / CONSOLE if session.machine.as_it_is else None)
        try:
            self.watch(process, session)
        finally:
            self.end(process)
        return process.returncode, command

    def command(
        self, session: Session, sockets: Path | None, extra: Sequence[str], binds: Sequence[Bind] = ()
    ) -> list[str]:
        """The command in the lab, which sees the host's network only if something is forwarded."""
        machine = session.machine
        # The guest sees only what is forwarded from this network.
        user = ",".join(filter(None, (f"user,id={NETWORK},restrict=on", session.forward)))
        argv = [
            _QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            *_QEMU_SANDBOX,
            *machine.arguments,
            *(("-netdev", user) if machine.beside else ()),
            *_console(machine),
            "-serial", f"file:/run/{SECURE_CONSOLE}",
            *extra,
        ]  # fmt: skip
        stand_in = _stand_in(session) if "-incoming" in extra else None
        files: list[Bind] = [
            (stand_in if stand_in and name in machine.boot_files else path, f"/machine/{name}", "ro")
            for name, path in machine.files.items()
        ]
        sockets_bind: list[Bind] = [(sockets, "/sockets", "rw")] if sockets else []
        seen = [*files, *binds, *sockets_bind, (session.room, "/run", "rw")]
        return self.lab.command(
            argv, binds=seen, chdir="/run", network=bool(session.forward), limits=self.limits, parts=_QEMU_PARTS
        )

    @staticmethod
    def plain(command: Sequence[str]) -> Sequence[str]:
        """QEMU's own command line, the same on every host: the part behind the sandbox's arguments."""
        return command[command.index(_QEMU) :]

    def start(self, command: Sequence[str], directory: Path, console: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a command of `command`; what QEMU says goes to a file in `directory`.

        QEMU's standard output has what firmware writes to a handle that it opened for its console (SYS_OPEN of `:tt`):
        with `console` that goes to the end of this file.
        """
        if self._stopping:
            raise WorldwiseError("stopped")
        with contextlib.ExitStack() as opened:
            log = opened.enter_context((directory / EMULATOR_LOG).open("wb"))
            output = opened.enter_context(console.open("ab")) if console else log
            # A session of its own: the tool handles Ctrl-C and ends QEMU in an orderly way.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                start_new_session=True,
            )
        self._running.add(process)
        if self._stopping:
            process.kill()  # `stop` may have come before it could see this one
        return process

    def watch(self, process: subprocess.Popen[bytes], session: Session) -> None:
        """Wait until a machine has ended. Raises WorldwiseError if it hangs or uses more than it may, and ends it."""
        machine = session.machine
        size = -1
        began = heard = time.monotonic()
        limit = max(self._silence_limit, machine.patience)
        watch = Watch(self.limits, [session.room])
        while not ended(process, _LOOK):
            now = _written(session)
            if now != size:
                size, heard = now, time.monotonic()
                session.progress(size)
            elif time.monotonic() - heard > limit:
                self.end(process)
                problem = panic(session.room) or f"hangs: no record for {limit:.0f} s; it was stopped"
                raise self._error(
                    session,
                    f": {problem}",
                    f"{MORE_TIME.get(self._silence_limit, '`--silence` gives it more time')}; the consoles are kept "
                    "beside the records",
                )
            problem = watch.problem(process.pid)
            if not problem and time.monotonic() - began > self._time_limit:
                problem = f"it did not end within {self._time_limit:.0f} s"
            if problem:
                self.end(process)
                raise self._error(
                    session,
                    f" was stopped: {problem}",
                    "worldwise's own programs need less: look at the library",
                )
        if self._stopping:
            raise WorldwiseError("stopped")

    def _error(self, session: Session, problem: str, hint: str) -> WorldwiseError:
        """The error for a machine that was stopped, with the ends of its consoles."""
        details = diagnosis(session.directory, session.machine, self.lab, session.room)
        return WorldwiseError(f"machine {session.machine.name}{problem}", hint, details)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End bubblewrap and its pid namespace, so QEMU ends too."""
        if process.poll() is None:
            process.kill()
            process.wait()
        self._running.discard(process)

    def stop(self) -> None:
        """End every process this object started; `start` and `watch` then raise."""
        self._stopping = True
        for process in list(self._running):
            self.end(process)


def _stand_in(session: Session) -> Path | None:
    """A file of a few bytes for what QEMU reads, copies and throws away where it begins from a saved state: a kernel of
    30 MB takes a tenth of such a start. None if the machine has nothing of that kind."""
    if not session.machine.boot_files:
        return None
    # Beside the folder that the machine writes to.
    path = session.room.with_name("booted")
    path.write_bytes(bytes(4))
    path.chmod(0o644)
    return path


def _console(machine: Machine) -> Sequence[str]:
    """QEMU's options for the first UART."""
    if machine.as_it_is:
        return ("-chardev", f"file,id={SAID},path=/run/{CONSOLE},append=on,mux=on", "-serial", f"chardev:{SAID}")
    return ("-serial", f"file:/run/{CONSOLE}")


def _written(session: Session) -> int:
    """Bytes of the files whose growth shows that a machine is alive: its records, and those of what runs beside it."""
    written = 0
    host_files = (session.directory / name for name in session.machine.host_files)
    own = (session.room / CONSOLE,) if session.machine.as_it_is else ()
    for path in (session.room / RECORDS, *own, *host_files):
        with contextlib.suppress(FileNotFoundError):
            written += path.lstat().st_size
    return written
