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
from pathlib import Path

from filelock import FileLock

from worldwise.base import files
from worldwise.lab.sandbox.identity import confinement

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
        files.try_lock(held, unknown=True)
    try:
        yield path
    finally:
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
