# SPDX-License-Identifier: BSD-2-Clause
"""A Linux host behind ssh: one connection of the system's own client, a folder there, and programs that run in it.

The first command on the connection is the keeper: a shell script that makes the folder, says what the host is, and
waits. When its input ends, because the tool is done, was killed or lost the network, it ends what still runs and leaves
the host as it found it.
"""

import contextlib
import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, NoReturn

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.machine.machine import MOST_PRINTED, MOST_RECORDS
from worldwise.machine.program_output import Listener, Tail, Whole

# Seconds for a connection, and for a command that is no case. The client gives up a silent network before.
CONNECTING, ANSWER = 20.0, 60.0
# Bytes a second of the slowest network that a program is brought through.
_SLOWEST = 20_000
_ALIVE = ("ServerAliveInterval=5", "ServerAliveCountMax=3")
# What ssh itself fails with.
LOST = 255
_MOST_SAID = 65_536
# Seconds for what a program that has ended said last.
_LAST_WORDS = 5.0
_OPTIONS = (
    *("BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "LogLevel=ERROR", "ControlPersist=no"),
    *("ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RequestTTY=no"),
    *_ALIVE,
)
_ADDRESS = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][\w.-]*)@)?(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9a-fA-F:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<folder>(?:/[\w.+-]+)*)/?",
    re.ASCII,
)
_RESUME = "then: worldwise run --resume --via {via}"
# What ssh says, what that is, and the way out.
_KNOWN = (
    (
        "IDENTIFICATION HAS CHANGED",
        "the host's key has changed",
        "it is another machine, or a new installation: ask its owner; then `ssh-keygen -R` for it, and connect once "
        "by hand: {by_hand}",
    ),
    (
        "Host key verification failed|host key is known",
        "the host's key is not known here",
        "connect once by hand, and compare the fingerprint that ssh shows with the host's own: {by_hand}",
    ),
    (
        "Permission denied",
        "the host accepts none of the keys that ssh has here",
        "worldwise asks for no password: `ssh-copy-id` brings your key there, `ssh-add` opens it; {by_hand} must work",
    ),
    ("Could not resolve|not known", "no host has that name", "check the name, or write the host's address"),
    ("Connection refused", "no ssh server listens there", "start sshd on the host, or name its port: ssh://HOST:PORT"),
    (
        "timed out|Timeout|No route|unreachable|not responding",
        "the host does not answer",
        f"is it on, and in this network? {_RESUME}",
    ),
    ("closed|reset|Broken pipe|abort", "the connection was lost", f"look whether the host still runs; {_RESUME}"),
)

SYSTEM, DEVICES, PROCESSES = "/sys", "/dev", "/proc"
# $1: where its folder is made; $2, $3, $4: the system's files, its devices, its processes. Everything it says is a line
# that begins with a word. A file that it lays out for others (a TA) is never one that was there.
KEEPER = """
umask 077
say() { [ -r "$2" ] && printf '%s ' "$1" && tr -d '\\000\\n' <"$2" && echo; }
d=$(mktemp -d "$1/worldwise.XXXXXX") || exit 3
g= o= t=
stop() { [ -s "$d/pid" ] && kill -9 "$(cat "$d/pid")" 2>/dev/null; }
clean() { stop; [ -n "$g" ] && echo "$o" >"$g"; [ -z "$t" ] || rm -f "$t"; rm -rf "$d"; }
trap clean EXIT
trap 'exit 1' HUP INT TERM PIPE
echo "folder $d"
echo "machine $(uname -m)"
echo "kernel $(uname -r)"
say model /proc/device-tree/model
say paranoid /proc/sys/kernel/perf_event_paranoid
sed -n 's/^Cpus_allowed_list:[[:space:]]*/allowed /p' /proc/self/status
sed -n 's/^CPU part[[:space:]]*:[[:space:]]*/part /p' /proc/cpuinfo
for c in "$2"/devices/system/cpu/cpu[0-9]*; do
  for f in cpu_capacity cpufreq/cpuinfo_max_freq cpufreq/scaling_governor regs/identification/midr_el1; do
    say "cpu ${c##*cpu} ${f##*/}" "$c/$f"
  done
done
echo ready
while read -r word value; do
  case $word in
    performance)
      f=$2/devices/system/cpu/cpu$value/cpufreq/scaling_governor
      if [ -w "$f" ] && o=$(cat "$f") && echo performance 2>/dev/null >"$f"; then g=$f; fi
      say governor "$f" || echo governor ;;
    tee)
      s=
      for c in "$4"/[0-9]*/comm; do
        if read -r n 2>/dev/null <"$c" && [ "$n" = tee-supplicant ]; then s=$n; fi
      done
      if [ ! -e "$3/tee0" ]; then echo "tee none"
      elif [ ! -r "$3/tee0" ] || [ ! -w "$3/tee0" ]; then echo "tee closed"
      elif [ -z "$s" ]; then echo "tee alone"
      else echo "tee ready"; fi ;;
    ta)
      [ -z "$t" ] || rm -f "$t"
      t=
      if [ -e "$value" ]; then echo "ta there"
      elif (umask 022; set -C; : >"$value") 2>/dev/null && t=$value && cat "$d/ta" >"$value"; then echo "ta ready"
      else echo "ta refused"; fi ;;
    stop) stop; echo stopped ;;
  esac
done
"""
# $1: the folder. What follows is run in it, and its process kept where the keeper finds it.
_RUN = 'cd "$1" || exit 125; shift; "$@" & p=$!; echo $p >pid; wait $p; s=$?; rm -f pid; exit $s'
# $1: the file. It says how many bytes came.
TAKE = 'cat >"$1" && chmod 700 "$1" && wc -c <"$1"'


@dataclass(frozen=True)
class SshAddress:
    """Where a host is, and the folder on it in which a run makes its own."""

    host: str
    user: str = ""
    port: int | None = None
    folder: str = "/tmp"

    @property
    def destination(self) -> str:
        """As ssh takes it."""
        return f"{self.user}@{self.host}" if self.user else self.host

    @property
    def by_hand(self) -> str:
        """The command that a user can try."""
        return f"ssh {f'-p {self.port} ' if self.port else ''}{self.destination}"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        text = f"ssh://{f'{self.user}@' if self.user else ''}{host}{f':{self.port}' if self.port else ''}"
        return text + ("" if self.folder == "/tmp" else self.folder)


def parse_ssh(text: str) -> SshAddress:
    """The address in `ssh://[USER@]HOST[:PORT][/FOLDER]`. Raises WorldwiseError."""
    found = _ADDRESS.fullmatch(text)
    port = int(found["port"]) if found and found["port"] else None
    if not found or (port is not None and not 0 < port < 65_536):
        raise WorldwiseError(
            f"--via {files.quoted(text)}: is not the address of a host.",
            "write ssh://USER@HOST, with :PORT and /FOLDER behind it if need be; an address holds no password",
        )
    return SshAddress(found["host"].strip("[]"), found["user"] or "", port, found["folder"] or "/tmp")


class Connection:
    """A connection to a host, with a folder there until `close`.

    Its methods raise HostError if the host is not there, does not let the user in, or goes away.

    Attributes:
        facts: what the host said of itself: word -> the rest of its lines.
        folder: the folder on the host.
    """

    def __init__(self, address: SshAddress) -> None:
        self.address = address
        program = shutil.which("ssh")
        if program is None:
            raise HostError("ssh is not installed on this machine.", "install your system's OpenSSH client")
        self._here = Path(tempfile.mkdtemp(prefix="ww-ssh-"))
        self._ssh = [program, *(word for option in _OPTIONS for word in ("-o", option))]
        self._ssh += ["-o", f"ConnectTimeout={CONNECTING:.0f}", "-S", str(self._here / "control")]
        self._ssh += ["-p", str(address.port)] if address.port else []
        self._waiting = b""
        self._keeper = subprocess.Popen(
            self._command(("sh", "-c", KEEPER, "sh", address.folder, SYSTEM, DEVICES, PROCESSES), master=True),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._keeper.stderr
        self._errors = Tail(_MOST_SAID, _MOST_SAID, self._keeper.kill)
        self._listener = Listener(self._keeper.stderr, self._errors)
        try:
            self.facts = self._facts()
        except BaseException:
            self.close()
            raise
        self.folder = self.facts["folder"][0]

    @property
    def alive(self) -> bool:
        """Whether the keeper still runs, and says no more than it should."""
        return self._keeper.poll() is None and not self._errors.full

    def ask(self, words: str) -> str:
        """What the keeper answers."""
        assert self._keeper.stdin
        try:
            self._keeper.stdin.write(f"{words}\n".encode())
            self._keeper.stdin.flush()
        except OSError:
            self.lost()
        return self._line(time.monotonic() + ANSWER)

    def put(self, source: Path, name: str) -> None:
        """Bring a program into the folder. Raises HostError if it does not come whole."""
        size = source.stat().st_size
        with source.open("rb") as content:
            status, said = self._simple(("sh", "-c", TAKE, "sh", f"{self.folder}/{name}"), content, size / _SLOWEST)
        if status or said.strip() != str(size):
            raise HostError(
                f"{self.address}: a program of {files.size_words(size)} did not arrive whole in {self.address.folder} "
                f"there: {files.quoted(said.strip() or self._said(), 300)}.",
                "is that folder full? Name another one behind the host: ssh://HOST/var/tmp",
            )

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
        """Run a program of the folder and wait for it. Returns its status and what it said."""
        return self._simple(self._run(words, environment))

    def start(
        self, words: Sequence[str], environment: Mapping[str, str], records: BinaryIO, console: BinaryIO
    ) -> "Started":
        """Start a program of the folder; what it writes and prints appears in the files as it comes."""
        return Started(self._command(self._run(words, environment)), records, console)

    def close(self) -> None:
        """Have the keeper clean up, and wait for it."""
        self._end_input()
        try:
            self._keeper.wait(ANSWER)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        if self._keeper.stdout:
            self._keeper.stdout.close()
        self._listener.stop()
        shutil.rmtree(self._here, ignore_errors=True)

    def lost(self, said: str = "") -> NoReturn:
        """Raises HostError with what ssh says of it. If the network is still there, the keeper cleans up."""
        self._end_input()
        self._keeper.kill()
        self._keeper.wait()
        names = {"by_hand": self.address.by_hand, "via": self.address}
        if self._errors.full:
            raise HostError(
                f"{self.address}: more than {files.size_words(_MOST_SAID)} came to standard error, and the connection "
                "was ended.",
                f"a shell there must start without words: {self.address.by_hand} true; {_RESUME.format(**names)}",
                self._said(),
            )
        said = said or self._said()
        for pattern, what, hint in _KNOWN:
            if re.search(pattern, said):
                raise HostError(f"{self.address}: {what}.", hint.format(**names), said)
        raise HostError(
            f"{self.address}: the connection ended.",
            f"{self.address.by_hand} must work, and give a shell; {_RESUME.format(**names)}",
            said,
        )

    def _end_input(self) -> None:
        if self._keeper.stdin:
            with contextlib.suppress(OSError):
                self._keeper.stdin.close()

    def _command(self, words: Sequence[str], *, master: bool = False) -> list[str]:
        """ssh's command line. The host's shell gets one text, whatever shell it is."""
        options = ["-o", f"ControlMaster={'yes' if master else 'no'}"]
        return [*self._ssh, *options, "--", self.address.destination, f"exec {shlex.join(words)}"]

    def _run(self, words: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
        given = [f"{name}={value}" for name, value in environment.items()]
        return ("sh", "-c", _RUN, "sh", self.folder, "env", *given, f"./{words[0]}", *words[1:])

    def _simple(self, words: Sequence[str], content: BinaryIO | None = None, more: float = 0) -> tuple[int, str]:
        """Run a command to its end, for `more` than the usual seconds. Returns its status and what it said."""
        deadline = time.monotonic() + ANSWER + more
        said = b""
        with subprocess.Popen(
            self._command(words),
            stdin=content or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                assert process.stdout
                while data := self._more(process.stdout, deadline):
                    said += data
                    if len(said) > _MOST_SAID:
                        self.lost("it printed more than a program of worldwise can")
                status = process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                self.lost("timed out")
            finally:
                process.kill()
        text = said.decode("utf-8", "replace")
        if status == LOST or not self.alive:
            self.lost(text)
        return status, text

    def _more(self, stream: IO[bytes], deadline: float) -> bytes:
        """What a command says next; nothing at its end. Raises HostError if nothing comes in time."""
        if not select.select([stream], [], [], max(deadline - time.monotonic(), 0))[0]:
            self.lost("timed out")
        return os.read(stream.fileno(), 4096)

    def _facts(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        deadline = time.monotonic() + CONNECTING + ANSWER
        while (line := self._line(deadline)) != "ready":
            word, _, rest = line.partition(" ")
            found.setdefault(word, []).append(rest.strip())
            if sum(map(len, found.values())) > 10_000:
                self.lost("more than a host can say about itself")
        if not found.get("folder", [""])[0].startswith("/"):
            self.lost(f"the first words were: {files.quoted(str(found), 200)}")
        return found

    def _line(self, deadline: float) -> str:
        """The keeper's next line."""
        assert self._keeper.stdout
        while b"\n" not in self._waiting:
            data = self._more(self._keeper.stdout, deadline)
            if not data or len(self._waiting) > _MOST_SAID:
                self._ended()
            self._waiting += data
        line, _, self._waiting = self._waiting.partition(b"\n")
        return str(line.decode("utf-8", "replace"))

    def _ended(self) -> NoReturn:
        """Raises HostError: the keeper is gone."""
        try:
            status = self._keeper.wait(ANSWER)
        except subprocess.TimeoutExpired:
            status = LOST
        if status == 3:
            raise HostError(
                f"{self.address}: no folder can be made in {self.address.folder} there.",
                "name one that your user may write to: ssh://HOST/home/USER",
                self._said(),
            )
        self.lost()

    def _said(self) -> str:
        """The end of what ssh has said."""
        if self._keeper.poll() is not None:
            self._listener.stop(0 if self._errors.full else _LAST_WORDS)
        return self._errors.said[-2000:].decode("utf-8", "replace").strip()


class Started:
    """A program on a host, whose records and other words come into files, within the bounds of both.

    Attributes:
        flooded: whether one of the two had more than is read of it; the program is lost then.
    """

    def __init__(self, command: Sequence[str], records: BinaryIO, console: BinaryIO) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stdout and self._process.stderr
        self._kept = (
            Whole(records, MOST_RECORDS, self._process.kill),
            Whole(console, MOST_PRINTED, self._process.kill),
        )
        pipes = (self._process.stdout, self._process.stderr)
        self._listeners = [Listener(*one) for one in zip(pipes, self._kept, strict=True)]

    @property
    def flooded(self) -> bool:
        return any(one.full for one in self._kept)

    @property
    def problem(self) -> OSError | None:
        """Why what came could not be written; None if it could."""
        return next((one.problem for one in self._listeners if one.problem), None)

    @property
    def status(self) -> int | None:
        """That with which it ended; None as long as it runs."""
        return self._process.poll()

    def end(self) -> int:
        """Its status, after what it said last has come; it is ended if it still runs."""
        ended = self._process.poll() is not None and not self.flooded
        self._process.kill()
        status = self._process.wait()
        for one in self._listeners:
            one.stop(_LAST_WORDS if ended else 0)
        return status
