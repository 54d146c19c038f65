# SPDX-License-Identifier: BSD-2-Clause
"""The command line that runs a program inside a root, by bubblewrap."""

import contextlib
import functools
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypedDict

from worldwise.base.errors import WorldwiseError
from worldwise.lab.sandbox.identity import Confinement, confinement
from worldwise.lab.sandbox.limits import BUILD, Limits
from worldwise.lab.sandbox.network import Bind, network_binds
from worldwise.lab.sandbox.refusals import missing_tool
from worldwise.lab.sandbox.system_calls import filter_file

# The one date everything built in the lab carries (2025-01-01 00:00:00 UTC).
SOURCE_DATE_EPOCH = 1735689600

# The descriptor from which bubblewrap reads the filter of system calls.
_FILTER = 9

# Of every root: they set limits, and the user, before a program begins.
_BEFORE = ("CAP_DAC_READ_SEARCH", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")

_PRLIMIT, _SETPRIV = "/usr/bin/prlimit", "/usr/bin/setpriv"

# To find bubblewrap by, and by which the tests know their own machines.
_KEPT_VARIABLES = ("PATH", "WORLDWISE_TEST_WORKER")

# Of /proc, what one can change the kernel's settings by, or learn of other users' secrets from.
_COVERED_FOLDERS = ("sys", "irq", "bus", "fs")

_COVERED_FILES = ("sysrq-trigger", "kcore", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "kmsg")


@dataclass(frozen=True)
class Way:
    """How a program is run in a root.

    Attributes:
        binds: what is seen besides the root: (host path, path inside, "ro" or "rw").
        chdir: the directory to start in.
        env: variables on top of the fixed ones.
        network: whether the host's network is there.
        tty: whether the terminal stays.
        limits: what the sandbox may use.
        debugging: whether a process may look into others of its sandbox.
        parts: files and folders of the root that are there, instead of all of it; then there is no /proc either.
        steady: whether the program is the same user each time, where root runs it as another user.
    """

    binds: Sequence[Bind] = ()
    chdir: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    tty: bool = False
    limits: Limits = BUILD
    debugging: bool = False
    parts: Sequence[str] | None = None
    steady: bool = False


class WayOptions(TypedDict, total=False):
    """The attributes of a Way as keyword arguments; those left out have the Way's defaults."""

    binds: Sequence[Bind]
    chdir: str
    env: Mapping[str, str]
    network: bool
    tty: bool
    limits: Limits
    debugging: bool
    parts: Sequence[str] | None
    steady: bool


def command(root: Path, cache: Path, argv: Sequence[str | Path], way: Way) -> list[str]:
    """The command line that runs `argv` inside a root; see `Lab.command`.

    Raises WorldwiseError if a bound path is not there or may not be read inside, and if bubblewrap is missing.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise missing_tool("bwrap", "bubblewrap")
    who = confinement(way.steady)
    made: set[str] = set()
    options = ["bwrap", *_kept_apart(who, way), *_folders(root, way.parts, made)]
    options += ["--dev", "/dev", "--remount-ro", "/dev"]
    if way.parts is None:
        options += ["--proc", "/proc", *_covered()]
    if _has_size(program):
        options += ["--size", str(way.limits.temporary)]
    options += ["--tmpfs", "/tmp", "--chmod", "1777", "/tmp", "--dir", "/run"]
    environment = {
        "PATH": "/usr/sbin:/usr/bin",
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
    }
    binds = [*(network_binds(environment) if way.network else ()), *way.binds]
    options += _bound(binds, who, cache, made)
    options += ["--remount-ro", "/", "--chdir", way.chdir, "--clearenv"]
    for name, value in sorted((environment | dict(way.env)).items()):
        options += ["--setenv", name, value]
    options += ["--", _PRLIMIT, *way.limits.options()]
    if who.kind == "another user":
        options += [_SETPRIV, f"--reuid={who.uid}", f"--regid={who.uid}", "--clear-groups"]
        options += ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    # bubblewrap's own environment can be read inside. It takes the filter from a descriptor, which a shell opens.
    kept = [f"{name}={os.environ[name]}" for name in _KEPT_VARIABLES if name in os.environ]
    opened = ["env", "-i", *kept, "sh", "-c", f'exec {_FILTER}<"$0" "$@"', filter_file(way.debugging)]
    return [*opened, *options, *map(str, argv)]


def _kept_apart(who: Confinement, way: Way) -> list[str]:
    """Options for the namespaces and the capabilities that a sandbox has."""
    options = ["--die-with-parent", "--unshare-ipc", "--unshare-pid", "--unshare-uts"]
    options += ["--unshare-cgroup-try", "--hostname", "lab", "--seccomp", str(_FILTER)]
    if who.kind == "user namespace":
        options += ["--unshare-user"]
    else:
        # The kernel refuses a user namespace inside a chroot, where root often is. Root is another user inside, and
        # until then keeps the capabilities to enter that one's folder and to become that one.
        options += ["--cap-drop", "ALL"]
        for capability in _BEFORE if who.kind == "another user" else ():
            options += ["--cap-add", capability]
    if not way.network:
        options += ["--unshare-net"]
    if not way.tty:
        options += ["--new-session"]
    return options


def _folders(root: Path, parts: Sequence[str] | None, made: set[str]) -> list[str]:
    """Options that show a root, or parts of it: its folders stand on an empty one, so that a bind can stand beside."""
    options: list[str] = []
    for entry in sorted(root.iterdir()):
        inside = f"/{entry.name}"
        if entry.is_symlink():
            options += ["--symlink", str(entry.readlink()), inside]
        elif parts is None and entry.is_dir() and entry.name not in ("dev", "proc", "sys", "tmp", "run"):
            options += ["--ro-bind", str(entry), inside]
    for part in () if parts is None else (*parts, _PRLIMIT, _SETPRIV):
        options += [*_parents(part, made), "--ro-bind", str(root / part[1:]), part]
    return options


def _bound(binds: Sequence[Bind], who: Confinement, cache: Path, made: set[str]) -> list[str]:
    """Options that show files and folders of the host."""
    options: list[str] = []
    for host, inside, access in binds:
        path = Path(host)
        if not path.exists():
            raise WorldwiseError(f"{host} was to appear as {inside} in the lab, but does not exist")
        if access == "ro" and who.kind == "another user":
            _let_read(path, cache)
        options += _parents(inside, made)
        options += ["--bind" if access == "rw" else "--ro-bind", str(path.resolve()), inside]
    return options


def _let_read(path: Path, cache: Path) -> None:
    """See to it that another user may read a file or folder of the cache. Raises WorldwiseError for another's."""
    mode = path.stat().st_mode
    wanted = 0o055 if stat.S_ISDIR(mode) else 0o044
    if mode & wanted == wanted:
        return
    if not path.resolve().is_relative_to(cache):
        raise WorldwiseError(
            f"{path}: only its owner may read it, and programs in the lab run as user nobody of this host",
            f"let others read it: chmod -R go+rX {path}",
        )
    path.chmod(stat.S_IMODE(mode) | wanted)


def _parents(inside: str, made: set[str]) -> list[str]:
    """Options that make the folders above a place which is not of the lab, for everybody to enter."""
    options: list[str] = []
    for parent in reversed(PurePosixPath(inside).parents[:-1]):
        if str(parent) not in made:
            made.add(str(parent))
            options += ["--dir", str(parent)]
    return options


def _covered() -> list[str]:
    """Options that leave the kernel's settings readable at most: file modes alone do not keep root's id from them."""
    options: list[str] = []
    for name in _COVERED_FOLDERS:
        if Path("/proc", name).is_dir():
            options += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    for name in _COVERED_FILES:
        if Path("/proc", name).exists():
            options += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    return options


@functools.cache
def _has_size(program: str) -> bool:
    """Whether this bubblewrap can limit a file system in memory (0.8 can)."""
    # Its words are in its file, which is read sooner than asked. It may be a script that starts another.
    with contextlib.suppress(OSError):
        if b"--size " in Path(program).read_bytes():
            return True
    answer = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return "--size " in answer.stdout
