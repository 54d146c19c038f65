# SPDX-License-Identifier: BSD-2-Clause
"""What worldwise needs of a host, checked point by point: what is there, what is wrong, and what to do about it.

The checks install, make and change nothing. docs/start/first-run.md has the list for people.
"""

import contextlib
import os
import platform
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from worldwise import __version__
from worldwise.base import paths
from worldwise.base.disk import directory_size, space_text
from worldwise.base.errors import WorldwiseError
from worldwise.lab import drift, lock_differences
from worldwise.lab.build_root import PROGRAMS, UNPACKED_FACTOR, scratch_place
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.debian.relock import KEYRING
from worldwise.lab.host.doctor_checks import Point, guarded
from worldwise.lab.host.facts import revision
from worldwise.lab.host.network import network_points
from worldwise.lab.lab import Lab
from worldwise.lab.roots import MAIN, ROOTS
from worldwise.lab.sandbox import bubblewrap
from worldwise.lab.sandbox.bubblewrap import Way
from worldwise.lab.sandbox.identity import confinement
from worldwise.lab.sandbox.limits import GIB, MIB
from worldwise.lab.sandbox.refusals import refusal_in, refused
from worldwise.lab.sandbox.system_calls import filter_file

# The oldest Python that worldwise runs on, as in pyproject.toml.
OLDEST_PYTHON = (3, 11)
# Programs needed besides those that make a root, and the packages that have them; see lab/host.sh.
MORE_PROGRAMS = {"apt-get": "apt", "flock": "util-linux"}
# Bytes on disk; the images and saved machines of all suites took less.
IMAGES_SIZE = 4_000_000_000
# Bytes of memory for one emulated machine: its own 1 GiB, and the code that QEMU translated.
MACHINE_MEMORY = 1536 * MIB
# Seconds that a program may take to print its version.
_PATIENCE = 20
SETTINGS = Path("/proc/sys")
CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")
# Where users have their extra ids.
ID_FILES = (Path("/etc/subuid"), Path("/etc/subgid"))
_NETWORK = "network"


def examine(network: bool) -> Iterator[Point]:
    """Check every point, one after the other.

    Args:
        network: whether to try the Debian mirrors too, which takes some seconds.
    """
    for name in CHECKS:
        if name == _NETWORK:
            yield from network_points(network)
        else:
            yield from check(name)


def check(name: str) -> Iterator[Point]:
    """The points of one of CHECKS."""
    yield from guarded(name, CHECKS[name])


# --- programs ---


def _worldwise() -> Iterator[Point]:
    at = revision()
    named = f"{__version__}, revision {at}" if at else f"{__version__}, revision unknown"
    found = f"{named}, {'installed' if paths.INSTALLED else 'a checkout'} in {paths.REPOSITORY}"
    if at:
        yield Point("worldwise", "fine", found)
    else:
        yield Point("worldwise", "note", found, "runs name their revision where git can read the checkout")


def _python() -> Iterator[Point]:
    found = f"{platform.python_version()} in {sys.prefix}"
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        todo = f"install Python {wanted} or later, or name one: WORLDWISE_PYTHON=/path/to/python3 ./worldwise"
        yield Point("Python", "wrong", f"{found}; worldwise needs {wanted}", todo)
    else:
        yield Point("Python", "fine", found)


def _packages() -> Iterator[Point]:
    if platform.machine() != "x86_64":
        yield Point(
            "machine", "wrong", f"{platform.machine()}: the lab's packages are for amd64", "use an amd64 machine"
        )
    wanted = PROGRAMS | MORE_PROGRAMS | ({} if os.geteuid() == 0 else {"newuidmap": "uidmap"})
    absent = [(package, program) for program, package in wanted.items() if shutil.which(program) is None]
    try:
        filter_file()
    except WorldwiseError:
        absent.append(("libseccomp2", "libseccomp.so.2"))
    if not KEYRING.exists():
        absent.append(("debian-archive-keyring", str(KEYRING)))
    if absent:
        packages = " ".join(dict.fromkeys(package for package, _ in absent))
        found = f"absent: {', '.join(file for _, file in absent)}"
        yield Point("host packages", "wrong", found, f"install: sudo apt-get install {packages}")
    else:
        yield Point("host packages", "fine", f"{', '.join(wanted)}, libseccomp2, debian-archive-keyring")


# --- the sandbox ---


def _sandbox() -> Iterator[Point]:
    if shutil.which("bwrap") is None:
        yield Point("sandbox", "wrong", "bubblewrap is missing, so the sandbox was not tried", "install: bubblewrap")
        return
    # A sandbox like every other, but with the host's own files in it, read-only.
    command = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-net", "--die-with-parent"]
    command += ["--unshare-user"] if confinement().kind == "user namespace" else ["--cap-drop", "ALL"]
    command += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--", "true"]
    said = _said(command)
    if said.returncode:
        # Name the kernel's setting that forbids it, else quote bubblewrap.
        error = refused(said.stderr.strip())
        why = _forbidden() or said.stderr.strip() or f"status {said.returncode}"
        yield Point("sandbox", "wrong", f"{error.message}: {why}", error.hint)
        return
    who = confinement()
    if who.kind == "none":
        yield Point("sandbox", "note", f"runs as root of this host: {who.why_not}; no library of yours is built here")
    else:
        yield Point("sandbox", "fine", {"user namespace": "in a user namespace"}.get(who.kind, f"as user {who.uid}"))


def _forbidden() -> str:
    """The kernel setting that forbids user namespaces to ordinary users; empty if no known one does."""
    for name, forbids in (
        ("kernel/unprivileged_userns_clone", "0"),
        ("user/max_user_namespaces", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        with contextlib.suppress(OSError):
            if (SETTINGS / name).read_text(encoding="ascii").strip() == forbids and os.geteuid() != 0:
                return f"{name.replace('/', '.')} is {forbids}"
    return ""


def _user_ids() -> Iterator[Point]:
    """Whether an ordinary user has the extra user ids that mmdebstrap needs."""
    if os.geteuid() == 0:
        return
    user = _user_name()
    absent = [str(file) for file in ID_FILES if not _has_ids(file, user)]
    if absent:
        found = f"{' and '.join(absent)} give {user} no ids, and the lab needs some"
        if not _place(MAIN).outline_problem():
            yield Point("user ids", "note", f"{found}; it is made already")
            return
        todo = f"sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}; or run worldwise as root"
        yield Point("user ids", "wrong", found, todo)
    else:
        yield Point("user ids", "fine", f"{' and '.join(map(str, ID_FILES))} have some for {user}")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _has_ids(file: Path, user: str) -> bool:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return False
    return any(line.split(":")[0] in (user, str(os.geteuid())) for line in lines)


# --- the cache and the machine ---


def existing(path: Path) -> Path:
    """A folder, or the nearest folder above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _cache() -> Iterator[Point]:
    cache = paths.cache_place()
    there = existing(cache)
    if not there.is_dir():
        yield Point("cache", "wrong", f"{there} is no folder", "WORLDWISE_CACHE=DIRECTORY names another place")
        return
    if there == cache.absolute():
        paths.require_writable(there)
    elif not os.access(there, os.W_OK | os.X_OK):
        raise paths.cache_error(cache, cache, f"{there} cannot be written")
    for place in dict.fromkeys((there, existing(scratch_place(there)))):
        if os.statvfs(place).f_flag & os.ST_NOEXEC:
            todo = "WORLDWISE_CACHE=DIRECTORY (and TMPDIR, as an ordinary user) names a place on another file system"
            yield Point("cache", "wrong", f"{place} is on a file system that lets no program run (noexec)", todo)
            return
    made = "" if there == cache.absolute() else ", made when it is first used"
    yield Point("cache", "fine", f"{cache}{made}; can be written, and programs may run there")


def _disk() -> Iterator[Point]:
    place = _place(MAIN)
    parts = {}
    if place.outline_problem():
        parts["packages"] = sum(file.size for file in place.lock.lab if not place.store.has(file))
        parts["the lab"] = 2 * UNPACKED_FACTOR * sum(package.size for package in place.lock.lab)
    made = sum(directory_size(place.cache / name) for name in ("images", "snapshots"))
    parts["images and saved machines"] = max(0, IMAGES_SIZE - made)
    needed = sum(parts.values())
    folder = existing(place.cache)
    free = shutil.disk_usage(folder).free
    words = ", ".join(f"{space_text(size)} for {name}" for name, size in parts.items() if size)
    found = f"{space_text(free)} free in {folder}; still to come: {words or 'nothing'}"
    if free < needed:
        todo = "free some space (`worldwise cache clean`), or set WORLDWISE_CACHE to a directory on a larger disk"
        yield Point("disk", "wrong", found, todo)
    else:
        yield Point("disk", "fine", found)


def available_memory() -> int:
    """Bytes of memory that programs can still get: the machine's free memory, or less if a container has a limit."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    values = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith(" kB")}
    free = values["MemAvailable"]
    with contextlib.suppress(OSError, ValueError):
        limit = int(CGROUP_MEMORY.read_text(encoding="ascii"))
        free = min(free, limit - int(CGROUP_MEMORY.with_name("memory.current").read_text(encoding="ascii")))
    return free


def _memory() -> Iterator[Point]:
    free, processors = available_memory(), os.cpu_count() or 1
    fitting = free // MACHINE_MEMORY
    found = f"{free / GIB:.1f} GiB free"
    if fitting < 1:
        todo = f"end other programs: one machine takes {MACHINE_MEMORY / GIB:.1f} GiB"
        yield Point("memory", "wrong", found, todo)
    elif fitting < processors:
        enough = f"enough for {fitting} of {processors} machines; run with --jobs {fitting}"
        yield Point("memory", "note", f"{found}: {enough}")
    else:
        yield Point("memory", "fine", f"{found}, enough for {processors} machines at a time")


def _processors() -> Iterator[Point]:
    every, ours = os.cpu_count() or 1, len(os.sched_getaffinity(0))
    less = f"; this process may use {ours}: run with --jobs {ours}" if ours < every else ""
    yield Point("processors", "note" if less else "fine", f"{every}, a machine on each{less}")


# --- the lab ---


def _place(name: str) -> Lab:
    """A root in the user's cache; neither need exist."""
    lock, cache = load_lock(ROOTS[name].lock), paths.cache_place().resolve()
    other = drift.kept(cache, lock) if drift.allowed() else None
    return Lab(other or lock, cache=cache, name=name, locked=lock if other else None)


def _lab() -> Iterator[Point]:
    place = _place(MAIN)
    problem, called = place.outline_problem(), f"lab {place.digest[:12]}"
    if not problem:
        yield Point("lab", "fine", f"{called} is there; `lab check` hashes every file")
    elif problem == "not built":
        yield Point("lab", "note", f"{called} is not built: the first run makes it, {_download(place)} download")
    else:
        yield Point("lab", "wrong", f"{called} is damaged: {problem}", "`worldwise lab build` makes it again")
    yield from _drift(place, MAIN)


def _roots() -> Iterator[Point]:
    """The roots beside the lab: one line for those there, one for those not built, one for each that is damaged."""
    there: list[str] = []
    later: list[str] = []
    for name in ROOTS:
        if name == MAIN:
            continue
        place = _place(name)
        problem = place.outline_problem()
        if not problem:
            there.append(name)
        elif problem == "not built":
            later.append(f"{name} ({_download(place)})")
        else:
            found = f"{name} {place.digest[:12]} is damaged: {problem}"
            yield Point("roots", "wrong", found, f"`worldwise lab build {name}` makes it again")
        yield from _drift(place, name)
    if there:
        yield Point("roots", "fine", f"{', '.join(there)}: there")
    if later:
        yield Point("roots", "note", f"built on demand, by a download: {', '.join(later)}")


def _download(place: Lab) -> str:
    return space_text(sum(package.size for package in place.lock.lab))


def _drift(place: Lab, name: str) -> Iterator[Point]:
    if said := lock_differences.sentence(place.differing, place.title):
        yield Point("lock", "note", said, f"`worldwise lab drift {name} --undo` goes back to the lock")


def _tools() -> Iterator[Point]:
    place = _place(MAIN)
    if place.outline_problem() or shutil.which("bwrap") is None:
        yield Point("tools", "note", "not checked: they are in the lab, and the lab cannot be entered")
        return
    said: list[str] = []
    for program in ROOTS[MAIN].programs:
        result = _said(bubblewrap.command(place.root, place.cache, [program, "--version"], Way()))
        if refusal_in(result.stderr):
            yield Point("tools", "note", "not checked: the sandbox does not work, see above")
            return
        if result.returncode:
            error = result.stderr.strip() or f"status {result.returncode}"
            yield Point("tools", "wrong", f"{program} does not run in the lab: {error}", "`worldwise lab check`")
            return
        said.append(result.stdout.partition("\n")[0])
    yield Point("tools", "fine", "; ".join(said))


def _size() -> Iterator[Point]:
    cache = paths.cache_place().resolve()
    found = f"{space_text(directory_size(cache))}; `worldwise cache` lists parts" if cache.is_dir() else "no cache yet"
    yield Point("cache size", "fine", found)


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    """A program's output; one that does not end in time has failed."""
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"no answer within {_PATIENCE} s")


# What is checked, in this order; the points of the network have a module of their own.
CHECKS: Mapping[str, Callable[[], Iterator[Point]]] = {
    "worldwise": _worldwise,
    "Python": _python,
    "host packages": _packages,
    "sandbox": _sandbox,
    "user ids": _user_ids,
    "cache": _cache,
    "disk": _disk,
    "memory": _memory,
    "processors": _processors,
    _NETWORK: lambda: network_points(False),
    "lab": _lab,
    "roots": _roots,
    "tools": _tools,
    "cache size": _size,
}
