# SPDX-License-Identifier: BSD-2-Clause
"""The sandbox: how what strangers wrote is kept from the host. docs/security.md says what it is to withstand.

bubblewrap gives it a root of its own. This module has what comes on top of that: a user who is nobody on the host, a
filter of system calls, limits, folders that are lent to it and taken back, and files that are taken out of these
without trusting a single name in them.
"""

import contextlib
import errno
import functools
import importlib
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Literal

from filelock import FileLock

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab import debian

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# --- who one is inside ---

# Ids that no system gives to anybody: above those of containers, below 2^31.
# Source: systemd, "Users, Groups, UIDs and GIDs on systemd Systems".
_NOBODYS_IDS = range(1_879_048_192 + 65_536, 2**31 - 65_536)
# What an id of a smaller map is taken from: its last ids, but not the very last, which often is nobody's.
_LAST_IDS = 1000

Kind = Literal["user namespace", "another user", "none"]


@dataclass(frozen=True)
class Confinement:
    """Who a sandboxed process is on the host.

    Attributes:
        kind: `user namespace`: the user who started the tool, with no capability; `another user`: an id that is
            nobody's, which root can take; `none`: root itself, since neither can be had.
        uid: the id on the host.
        why_not: for `none`: why nothing better can be had.
    """

    kind: Kind
    uid: int
    why_not: str = ""

    def describe(self) -> str:
        """One clause for a message: `as user 1879113728 ...`."""
        who = {
            "user namespace": "in a user namespace",
            "another user": f"as user {self.uid}, who is nobody on this host",
            "none": "as root",
        }[self.kind]
        return f"{who}, with no network, no capabilities, and no file of yours but those in the folder"


def _mapped(start: int, count: int, extents: Sequence[tuple[int, int]]) -> bool:
    return any(first <= start and start + count <= first + length for first, length in extents)


def confinement_of(euid: int, uid_map: str, gid_map: str, pid: int) -> Confinement:
    """Who a sandboxed process is to be; see `confinement`. `uid_map` and `gid_map` are texts as /proc/PID/uid_map."""
    if euid != 0:
        return Confinement("user namespace", euid)
    maps = [
        [(int(inside), int(length)) for inside, _, length in (line.split() for line in text.splitlines())]
        for text in (uid_map, gid_map)
    ]
    for first, last in ((_NOBODYS_IDS.start, _NOBODYS_IDS.stop), (60_000, 65_000), (1_000, 60_000)):
        if all(_mapped(first, last - first, extents) for extents in maps):
            return Confinement("another user", last - 1 - pid % min(_LAST_IDS, last - first))
    lines = [line.split() for line in uid_map.splitlines()]
    if any(inside == "0" and outside != "0" for inside, outside, _ in lines):
        # This root is an ordinary user of the host, and stays one inside.
        return Confinement("user namespace", 0)
    return Confinement("none", 0, "this root has no other user id to give it (/proc/self/uid_map maps too few)")


@functools.cache
def confinement() -> Confinement:
    """Who a sandboxed process is on this host."""
    return confinement_of(
        os.geteuid(),
        Path("/proc/self/uid_map").read_text(encoding="ascii"),
        Path("/proc/self/gid_map").read_text(encoding="ascii"),
        os.getpid(),
    )


def require_confinement(whose: str) -> None:
    """Refuse to run what a stranger wrote where it would run as the host's root. Raises WorldwiseError."""
    found = confinement()
    if found.kind == "none":
        raise WorldwiseError(
            f"{whose} is not built or run here: it would run as root of this host, since {found.why_not}",
            "start worldwise as an ordinary user, or in a container that has more user ids",
        )


# --- system calls ---

_CLONE_NEWUSER = 0x1000_0000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES_ALLOWED = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_FAMILIES = 64
# Ways into the kernel that neither a compiler nor an emulator needs.
_DENIED = (
    # file systems
    *("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "name_to_handle_at"),
    *("open_by_handle_at", "fanotify_init"),
    # namespaces
    *("unshare", "setns"),
    # the kernel itself
    *("bpf", "perf_event_open", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
    *("create_module", "reboot", "acct", "syslog", "iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "vhangup", "uselib", "ustat", "sysfs"),
    *("_sysctl", "userfaultfd", "move_pages", "mbind", "set_mempolicy", "migrate_pages", "kcmp"),
    # keys, which no namespace keeps apart
    *("add_key", "request_key", "keyctl"),
)
_DEBUGGING = ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise")
# Answered as by a kernel that does not know them, so that the C library takes the older call.
_UNKNOWN = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")


def _libseccomp() -> ModuleType:
    try:
        return importlib.import_module("pyseccomp")
    except (ImportError, RuntimeError, OSError) as error:
        raise WorldwiseError(
            f"the sandbox's filter of system calls cannot be made: {error}", "install the package libseccomp2"
        ) from None


@functools.cache
def _filter_descriptor(debugging: bool) -> int:
    seccomp = _libseccomp()
    made = seccomp.SyscallFilter(seccomp.ALLOW)
    # Programs of 32 bits and of the x32 ABI have other numbers for the same calls.
    for architecture in (seccomp.Arch.X86, seccomp.Arch.X32):
        with contextlib.suppress(OSError):
            made.add_arch(architecture)
    forbidden, unknown = seccomp.ERRNO(errno.EPERM), seccomp.ERRNO(errno.ENOSYS)

    def rule(action: object, call: str, *conditions: object) -> None:
        # An older libseccomp does not know the newest calls; neither does it let a program name them otherwise.
        with contextlib.suppress(ValueError, OSError):
            made.add_rule(action, call, *conditions)

    for call in (*_DENIED, *(() if debugging else _DEBUGGING)):
        rule(forbidden, call)
    for call in _UNKNOWN:
        rule(unknown, call)
    rule(forbidden, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_NEWUSER, _CLONE_NEWUSER))
    for request in (_TIOCSTI, _TIOCLINUX):
        rule(forbidden, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFF_FFFF, request))
    for family in range(_FAMILIES):
        if family not in _FAMILIES_ALLOWED:
            rule(forbidden, "socket", seccomp.Arg(0, seccomp.EQ, family))
    descriptor = os.memfd_create("worldwise-seccomp", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        made.export_bpf(file)
    return descriptor


def filter_file(debugging: bool = False) -> str:
    """A file with the filter, as bubblewrap reads it; there as long as this process is.

    `debugging` lets a process look into others of its own sandbox, as sanitizers do.
    """
    return f"/proc/{os.getpid()}/fd/{_filter_descriptor(debugging)}"


# --- limits ---


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use. The kernel keeps the first five; the last two are looked at while it runs.

    Attributes:
        address_space: bytes that one process may map; None for any number, as sanitizers and browsers want.
        processes: processes and threads at a time.
        open_files: of one process.
        file_size: bytes of one file.
        temporary: bytes of /tmp, which is memory.
        memory: bytes of all processes together.
        disk: bytes of all that it may write to, together.
    """

    address_space: int | None = 16 * GIB
    processes: int = 2048
    open_files: int = 4096
    file_size: int = 4 * GIB
    temporary: int = 2 * GIB
    memory: int = 8 * GIB
    disk: int = 10 * GIB

    def options(self) -> list[str]:
        """Options of prlimit(1), none above what this process itself may have."""
        wanted = {
            "as": (resource.RLIMIT_AS, self.address_space),
            "nproc": (resource.RLIMIT_NPROC, self.processes),
            "nofile": (resource.RLIMIT_NOFILE, self.open_files),
            "fsize": (resource.RLIMIT_FSIZE, self.file_size),
            "core": (resource.RLIMIT_CORE, 0),
        }
        options = []
        for name, (kind, value) in wanted.items():
            if value is not None:
                hard = resource.getrlimit(kind)[1]
                options.append(f"--{name}={value if hard == resource.RLIM_INFINITY else min(value, hard)}")
        return options


BUILD = Limits()
# An emulated machine: at most 1 GiB of memory of its own, and QEMU's buffer for translated code.
EMULATOR = Limits(address_space=8 * GIB, processes=256, open_files=512, temporary=64 * MIB, memory=6 * GIB)
# What is compiled with sanitizers, or is a browser, maps far more than it uses.
WITHOUT_ADDRESS_LIMIT = replace(BUILD, address_space=None)


@dataclass
class Watch:
    """Looks, now and then, whether a sandbox keeps to the limits that the kernel does not keep.

    Args:
        limits: the limits.
        folders: what it may write to.
        every: seconds between two looks.
    """

    limits: Limits
    folders: Sequence[Path] = ()
    every: float = 1.0
    _next: float = field(default=0.0, init=False)

    def problem(self, pid: int) -> str:
        """What is wrong with the sandbox whose bubblewrap has that process id; empty if nothing, or if not looked."""
        now = time.monotonic()
        if now < self._next:
            return ""
        began = now
        memory = _resident(pid)
        if memory > self.limits.memory:
            return f"it used {files.size_words(memory)} of memory; {files.size_words(self.limits.memory)} is its limit"
        disk = sum(_written(folder) for folder in self.folders)
        if disk > self.limits.disk:
            return f"it wrote {files.size_words(disk)} to the disk; {files.size_words(self.limits.disk)} is its limit"
        # A look at a large tree must not become the work itself.
        self._next = time.monotonic() + max(self.every, 20 * (time.monotonic() - began))
        return ""


def ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a process has ended, after waiting so long for it. Popen.wait would look now and then; this is told."""
    if process.poll() is None:
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(0.0, seconds) * 1000)
        finally:
            os.close(descriptor)
    return process.poll() is not None


def broken_limit(status: int, text: str, limits: Limits) -> str:
    """Which limit of the kernel's a sandbox seems to have met, by its status and the end of its output; else empty."""
    if status in (128 + signal.SIGXFSZ, -signal.SIGXFSZ) or "File size limit exceeded" in text:
        return f"it wrote a file of more than {files.size_words(limits.file_size)}, which is its limit"
    if "Resource temporarily unavailable" in text:
        return f"it may have met its limit of {limits.processes} processes"
    if "Too many open files" in text:
        return f"it may have met its limit of {limits.open_files} open files"
    if "No space left on device" in text:
        return f"the disk may be full, or its /tmp, of which {files.size_words(limits.temporary)} is the limit"
    if limits.address_space and any(
        words in text for words in ("Cannot allocate memory", "memory exhausted", "out of memory", "bad_alloc")
    ):
        return f"it may have met its limit of {files.size_words(limits.address_space)} of memory for one process"
    return ""


def _resident(pid: int) -> int:
    """Bytes in memory of all that descends from a process."""
    page = resource.getpagesize()
    total = 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1]) * page
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text(encoding="ascii").split())
    return total


def _written(folder: Path) -> int:
    """Bytes on disk below a folder that may change at any moment; links are not followed."""
    total = 0
    for _, _, names, descriptor in os.fwalk(folder, follow_symlinks=False, onerror=None):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_blocks * 512
    return total


# --- folders that are lent to a sandbox ---

# How many sandboxes of this process a folder is lent to: it comes back when the last has ended.
_LENT: Counter[Path] = Counter()
_LENDING = threading.Lock()


@contextlib.contextmanager
def lent(folders: Iterable[Path]) -> Iterator[None]:
    """Folders that a sandboxed process may write to, for as long as it runs; they are the tool's own again afterwards.

    Only for folders that nothing else reads meanwhile, and whose files are not to be trusted afterwards.
    """
    found = confinement()
    if found.kind != "another user":
        yield
        return
    owned = [folder.resolve() for folder in folders]
    with _LENDING:
        for folder in owned:
            _LENT[folder] += 1
            if _LENT[folder] == 1:
                _give(folder, found.uid)
    try:
        yield
    finally:
        with _LENDING:
            for folder in owned:
                _LENT[folder] -= 1
                if not _LENT[folder]:
                    del _LENT[folder]
                    _give(folder, os.geteuid())


def _give(folder: Path, uid: int) -> None:
    """Change the owner of all below a folder. It takes setuid bits away, and follows no link."""
    with contextlib.suppress(FileNotFoundError):
        for _, directories, names, descriptor in os.fwalk(folder, follow_symlinks=False):
            for name in (*directories, *names):
                with contextlib.suppress(FileNotFoundError):
                    os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
            os.fchown(descriptor, uid, uid)


@contextlib.contextmanager
def scratch(cache: Path) -> Iterator[Path]:
    """A new folder in the cache that only one sandbox sees; gone on exit. What a killed tool left is removed first."""
    base = cache / "scratch"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(base / ".lock"):
        _sweep(base)
        path = Path(tempfile.mkdtemp(dir=base))
        # Held while the folder is in use; the kernel lets go of it however the tool ends.
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        files.try_lock(held)
    try:
        yield path
    finally:
        remove_tree(path)
        os.close(held)


def _sweep(base: Path) -> None:
    for path in base.iterdir():
        if path.name == ".lock":
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if files.try_lock(descriptor):
                    remove_tree(path)
            finally:
                os.close(descriptor)


def remove_tree(path: Path) -> None:
    """Remove a folder that a sandbox wrote, folders without permissions included; no link is followed."""
    with contextlib.suppress(FileNotFoundError):
        for _, directories, _, descriptor in os.fwalk(path, follow_symlinks=False):
            for name in directories:
                if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                    os.chmod(name, 0o700, dir_fd=descriptor)
    shutil.rmtree(path, ignore_errors=True)


# --- looking at what a sandbox writes while it runs ---


def end_of(path: Path, most: int) -> bytes:
    """The last bytes, `most` at most, of a file that a sandbox may be writing; none if it is not there or no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        file.seek(max(0, file.seek(0, os.SEEK_END) - most))
        return file.read(most)


@contextlib.contextmanager
def socket_of(path: Path) -> Iterator[str]:
    """A name by which to connect to a socket that a sandbox made, and to no other. Raises OSError if there is none."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOTSOCK, "not a socket", str(path))
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


# --- what comes out of a sandbox ---

# A sandbox that left more than this is not believed.
MOST_FILES = 100_000
LONGEST_PATH = 1024


def take_file(source: Path, target: Path, limit: int, what: str) -> bool:
    """Move one file that a sandbox left to a place which the sandbox never saw. Call it when the sandbox has ended.

    What is moved is a regular file of one name and of at most `limit` bytes; its mode becomes 0644, or 0755 if its
    owner could execute it. Returns False if there is no such file.

    Raises WorldwiseError, naming `what` left it, for anything else than such a file.
    """
    try:
        entry = source.lstat()
    except FileNotFoundError:
        return False
    _take(source, entry, source.name, target, limit, what)
    return True


def _take(source: Path, entry: os.stat_result, name: str, target: Path, limit: int, what: str) -> None:
    _require_plain(entry, name, limit, what)
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_out(source, target, limit, what)
    target.chmod(0o755 if entry.st_mode & stat.S_IXUSR else 0o644)


def _copy_out(source: Path, target: Path, limit: int, what: str) -> None:
    """The file's bytes in a new file, on another file system."""
    target.unlink(missing_ok=True)
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _require_plain(os.fstat(file.fileno()), source.name, limit, what)
        debian.require_space(target.parent, os.fstat(file.fileno()).st_size, what)
        try:
            with target.open("xb") as copy:
                shutil.copyfileobj(file, copy)
        except OSError:
            # Half a file is of no use, and on a full disk in the way of what is to be said of it.
            target.unlink(missing_ok=True)
            raise
    source.unlink()


def take_tree(source: Path, target: Path, limit: int, what: str) -> list[str]:
    """Move all files below a folder that a sandbox left into a new folder `target`. Returns their paths within it.

    Raises WorldwiseError, naming `what` left it, for a link, a device, a pipe, a socket, a file of two names, more than
    `limit` bytes, or more files than anyone needs.
    """
    _make_folder(target)
    taken: list[str] = []
    total = 0
    for folder, directories, names in os.walk(source):
        inside = Path(folder).relative_to(source)
        for name in sorted(directories):
            entry = Path(folder, name).lstat()
            if not stat.S_ISDIR(entry.st_mode):
                raise _odd(str(inside / name), entry, what)
            _make_folder(target / inside / name)
        for name in sorted(names):
            path = inside / name
            if len(str(path)) > LONGEST_PATH or len(taken) >= MOST_FILES:
                raise WorldwiseError(
                    f"{what} left more than {MOST_FILES:,} files, or a path of more than {LONGEST_PATH} characters"
                )
            entry = Path(folder, name).lstat()
            _take(Path(folder, name), entry, str(path), target / path, limit - total, what)
            total += entry.st_size
            taken.append(str(path))
    return sorted(taken)


def _require_plain(entry: os.stat_result, name: str, limit: int, what: str) -> None:
    if not stat.S_ISREG(entry.st_mode) or entry.st_nlink != 1:
        raise _odd(name, entry, what)
    if entry.st_size > limit:
        size, most = files.size_words(entry.st_size), files.size_words(limit)
        raise WorldwiseError(f"{what} left '{files.quoted(name)}' of {size}; {most} is the most that is taken")


def _odd(name: str, entry: os.stat_result, what: str) -> WorldwiseError:
    kind = "a file of several names" if stat.S_ISREG(entry.st_mode) else files.kind_of(entry.st_mode)
    return WorldwiseError(
        f"{what} left '{files.quoted(name)}', which is {kind}: only regular files are taken out of a sandbox",
        "nothing was followed or overwritten; what ran there is not what it says, or is defective",
    )


def _make_folder(path: Path) -> None:
    """A folder that everybody may read, whatever the user's umask is."""
    path.mkdir()
    path.chmod(0o755)


def copy_in(source: Path, target: Path, skip: Callable[[str], bool] = lambda _: False) -> None:
    """A copy of a file or folder that a sandbox may read whoever it is: only regular files and folders.

    Links of the folder are followed, as they are where its digest is made.
    """
    if not target.parent.is_dir():
        _make_folder(target.parent)
    if source.is_file():
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
        return
    _make_folder(target)
    for entry in sorted(source.iterdir()):
        if not skip(entry.name) and (entry.is_dir() or entry.is_file()):
            copy_in(entry, target / entry.name, skip)
