# SPDX-License-Identifier: BSD-2-Clause
"""Folders that are lent to a sandbox and taken back, and what is looked at of them meanwhile."""

import contextlib
import errno
import os
import stat
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from worldwise.base import files
from worldwise.lab.sandbox.identity import confinement

# How many sandboxes of this process a folder is lent to: it comes back when the last has ended.
_LENT: Counter[Path] = Counter()

# Whose the lent folders are, and what in them is: user and group, by device and inode.
_OWNERS: dict[Path, "_Owners"] = {}

_LENDING = threading.Lock()

# Removes what nobody waits for; Python waits for it when the tool ends.
_REMOVING = ThreadPoolExecutor(1, "removing")


@dataclass(frozen=True)
class _Owners:
    """Whose a folder's content is, before it is lent.

    Attributes:
        folder: user and group of the folder itself; what is new in it becomes theirs.
        others: user and group of what is not the folder's own, by device and inode.
    """

    folder: tuple[int, int]
    others: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


@contextlib.contextmanager
def lent(folders: Iterable[Path], steady: bool = False) -> Iterator[None]:
    """Folders that a sandboxed process may write to, for as long as it runs; then they belong to whom they did before.

    Only for folders that nothing else reads meanwhile, and whose files are not to be trusted afterwards. What lies on
    another file system, and files that have a name elsewhere too, are not lent. `steady` is the process's, as
    `confinement` has it.
    """
    found = confinement(steady)
    if found.kind != "another user":
        yield
        return
    owned = [folder.resolve() for folder in folders]
    with _LENDING:
        for folder in owned:
            _LENT[folder] += 1
            if _LENT[folder] == 1:
                _OWNERS[folder] = _give(folder, found.uid)
    try:
        yield
    finally:
        with _LENDING:
            for folder in owned:
                _LENT[folder] -= 1
                if not _LENT[folder]:
                    del _LENT[folder]
                    _take_back(folder, _OWNERS.pop(folder))


def _give(folder: Path, uid: int) -> _Owners:
    """Change the owner of all below a folder, but of what is not lent. It takes setuid bits away, and follows no link.

    Returns whose it was.
    """
    try:
        top = folder.lstat()
    except FileNotFoundError:
        return _Owners((os.geteuid(), os.getegid()))
    owners = _Owners((top.st_uid, top.st_gid))
    for entry, name, descriptor in _below(folder):
        if (entry.st_uid, entry.st_gid) != owners.folder:
            owners.others[entry.st_dev, entry.st_ino] = entry.st_uid, entry.st_gid
        if stat.S_ISDIR(entry.st_mode) or entry.st_nlink == 1:
            _chown(name, descriptor, uid, uid)
    with contextlib.suppress(FileNotFoundError):
        os.chown(folder, uid, uid, follow_symlinks=False)
    return owners


def _take_back(folder: Path, owners: _Owners) -> None:
    """Give all below a folder to whom it belonged; what is new is the folder's owner's. Setuid bits go."""
    for entry, name, descriptor in _below(folder):
        _chown(name, descriptor, *owners.others.get((entry.st_dev, entry.st_ino), owners.folder))
    with contextlib.suppress(FileNotFoundError):
        os.chown(folder, *owners.folder, follow_symlinks=False)


def _chown(name: str, descriptor: int, uid: int, gid: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.chown(name, uid, gid, dir_fd=descriptor, follow_symlinks=False)


def _below(folder: Path) -> Iterator[tuple[os.stat_result, str, int]]:
    """All below a folder but what is mounted there: what it is, its name, and its folder's descriptor."""
    with contextlib.suppress(FileNotFoundError):
        device = folder.lstat().st_dev
        for _, directories, names, descriptor in os.fwalk(folder, follow_symlinks=False):
            for name in (*directories, *names):
                try:
                    entry = os.lstat(name, dir_fd=descriptor)
                except FileNotFoundError:
                    continue
                # A file of an overlay may say another device than its folder.
                if stat.S_ISDIR(entry.st_mode) and entry.st_dev != device:
                    directories.remove(name)
                else:
                    yield entry, name, descriptor


@contextlib.contextmanager
def scratch(cache: Path, wait: bool = True) -> Iterator[Path]:
    """A new folder in the cache that only one sandbox sees; gone on exit. What a killed tool left is removed first.

    Without `wait` it is removed beside what the caller does next: thousands of files take seconds.
    """
    base = cache / "scratch"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(base / ".lock"):
        _sweep(base)
        path = Path(tempfile.mkdtemp(dir=base))
        # Held while the folder is in use; the kernel lets go of it however the tool ends.
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        files.try_lock(held, unknown=True)
    try:
        yield path
    finally:
        if wait:
            _end(path, held)
        else:
            try:
                _REMOVING.submit(_end, path, held)
            except RuntimeError:
                # The tool is ending: nothing begins any more.
                _end(path, held)


def wait_for_removal() -> None:
    """Return when all that nobody waited for is removed."""
    _REMOVING.submit(int).result()


def _end(path: Path, held: int) -> None:
    _discard(path)
    os.close(held)


def _sweep(base: Path) -> None:
    for path in base.iterdir():
        if path.name == ".lock":
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if files.try_lock(descriptor, unknown=False):
                    _discard(path)
            finally:
                os.close(descriptor)


def _discard(path: Path) -> None:
    # What cannot be removed now is removed before the next one is made.
    with contextlib.suppress(OSError):
        files.remove(path.parent, path.name)


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
