# SPDX-License-Identifier: BSD-2-Clause
"""Locks on the cache: commands hold what they use, and nobody removes what is held.

A running command holds a shared lock on the cache and on each root that it uses. To remove something, a command takes
the same lock alone. The kernel releases all locks of a process when it ends, however it ends.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from worldwise.base import files

# The cache's lock is a file in the cache; a root's lock is a file beside the root's folder.
CACHE_LOCK = ".in-use"
ROOT_SUFFIX = ".use"

# A lock needs no right to write: anybody who may read a cache can hold it.
_FLAGS = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_held: dict[Path, int] = {}


# The folder in which a root is made until it is complete, named by the beginning of its digest.
_MADE = re.compile(r"\.(?:building|worldwise-stage)-([0-9a-f]{12})-")


def root_lock(directory: Path) -> Path:
    """The lock of a root in use."""
    return directory.with_name(f".{directory.name}{ROOT_SUFFIX}")


def lock_of(cache: Path, path: Path) -> Path:
    """The lock held by the users of a folder of `labs`: the root's, or the whole cache's if the folder is no root's."""
    made = _MADE.match(path.name)
    if made:
        return root_lock(path.with_name(made[1]))
    return cache / CACHE_LOCK if path.name.startswith(".") else root_lock(path)


def hold(cache: Path, root: Path) -> None:
    """Hold the cache and a root of it until this process ends; waits while another command removes something.

    A cache that this user cannot write to is not held: only its owner removes anything.
    """
    for path in (cache / CACHE_LOCK, root_lock(root)):
        if path in _held:
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, _FLAGS, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            except BaseException:
                os.close(descriptor)
                raise
            _held[path] = descriptor


def release(cache: Path) -> None:
    """Release everything that this process holds of a cache."""
    for path in [path for path in _held if path.is_relative_to(cache)]:
        os.close(_held.pop(path))


@contextlib.contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Hold a lock alone while the context lasts; False if somebody else holds it.

    Raises OSError if the lock cannot be made.
    """
    descriptor = os.open(path, _FLAGS, 0o644)
    try:
        yield files.try_lock(descriptor, unknown=False)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def waiting(path: Path, tell: Callable[[], object]) -> Iterator[None]:
    """Hold a lock to make something while the context lasts. If another process holds it, call `tell` and wait."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def mark_used(path: Path) -> None:
    """Set a folder's or file's time to now: it was used, so `worldwise cache clean` keeps it."""
    with contextlib.suppress(OSError):
        os.utime(path, follow_symlinks=False)
