# SPDX-License-Identifier: BSD-2-Clause
"""A process hashes a file once, as long as stat says that nobody wrote it since."""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

# A file that was written later than so many seconds ago may be written again without another time of change: the
# kernel's clock for files has steps of some milliseconds, a server's clock may differ.
_SETTLED = 2.0
# Path -> what stat said before the file was hashed, and its SHA-256.
_HASHED: dict[str, tuple[list[int], str]] = {}


def stat_of(path: Path | str) -> list[int]:
    """What differs once somebody has written a file: size, times, inode and device. A link is not followed.

    Raises OSError.
    """
    return _compared(os.lstat(path))


def is_settled(state: list[int]) -> bool:
    """Whether what `stat_of` says would change if the file were written now."""
    return time.time() - max(state[1:3]) / 1e9 > _SETTLED


def sha256_once(path: Path | str, hash_it: Callable[[], str]) -> str:
    """A file's SHA-256: that of last time if nobody wrote the file since, else what `hash_it` says of it.

    A link is hashed each time. Raises OSError, and what `hash_it` raises.
    """
    key, entry = str(path), os.lstat(path)
    before = _compared(entry)
    kept = _HASHED.get(key)
    if kept and kept[0] == before:
        return kept[1]
    digest = hash_it()
    if is_settled(before) and not stat.S_ISLNK(entry.st_mode):
        _HASHED[key] = (before, digest)
    return digest


def _compared(entry: os.stat_result) -> list[int]:
    return [entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns, entry.st_ino, entry.st_dev]
