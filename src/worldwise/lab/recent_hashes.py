# SPDX-License-Identifier: BSD-2-Clause
"""What was hashed a little while ago and is as it was, by what stat says of it, is not hashed again.

A process hashes a file once (`sha256_once`): a suite asks for the same sources and images for each of its cases. A
wrapper that is started for each test of a suite keeps for some minutes what it hashed (`Recent`).

A file that was written is hashed again at once; one that decayed on the disk, by the next process or when the time is
over.
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from worldwise.base import files

_FILE, _MOST = "recent.json", 2**20
# What is kept of one file, by its path: what stat said of it, the SHA-256 it had, and when that was.
_Found = list[int | str | float]

# A file that was written later than so many seconds ago may be written again without another time of change: the
# kernel's clock for files has steps of some milliseconds, a server's clock may differ.
SETTLED = 2.0
# Path -> what stat said before the file was hashed, and its SHA-256.
HASHED: dict[str, tuple[list[int], str]] = {}


class Recent:
    """The files of a cache that were hashed lately. What cannot be read or written is hashed.

    Args:
        cache: the cache.
        seconds: for how long a file that was hashed is not hashed again.
    """

    def __init__(self, cache: Path, seconds: float) -> None:
        self._path = cache / _FILE
        self.seconds = seconds
        self._found: dict[str, _Found] = {}
        with contextlib.suppress(OSError, ValueError, RecursionError):
            found = json.loads(files.read_bytes(self._path, _MOST, cache))
            if isinstance(found, dict):
                self._found = found

    def has(self, path: Path, digest: str) -> bool:
        """Whether a file had that SHA-256 lately, and is as it was then."""
        kept = self._found.get(str(path))
        try:
            return bool(kept and kept[:-1] == [*stat_of(path), digest] and self.is_recent(float(kept[-1])))
        except (OSError, TypeError, ValueError):
            return False

    def is_recent(self, when: float) -> bool:
        """Whether a time, in seconds of the epoch, is not longer ago than that; one to come is not."""
        return 0 <= time.time() - when <= self.seconds

    def add(self, path: Path, digest: str, before: list[int]) -> None:
        """A file has that SHA-256. `before` is what stat said before it was hashed."""
        if is_settled(before):
            self._found[str(path)] = [*before, digest, time.time()]

    def save(self) -> None:
        """Keep what is recent."""
        temporary = self._path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError, TypeError, ValueError, LookupError):
            kept = {path: one for path, one in self._found.items() if self.is_recent(float(one[-1]))}
            temporary.write_text(json.dumps(kept) + "\n", encoding="utf-8")
            temporary.replace(self._path)


def stat_of(path: Path | str) -> list[int]:
    """What differs once somebody has written a file: size, times, inode and device. A link is not followed.

    Raises OSError.
    """
    return _compared(os.lstat(path))


def is_settled(state: list[int]) -> bool:
    """Whether what `stat_of` says would change if the file were written now."""
    return time.time() - max(state[1:3]) / 1e9 > SETTLED


def sha256_once(path: Path | str, hash_it: Callable[[], str]) -> str:
    """A file's SHA-256: that of last time if nobody wrote the file since, else what `hash_it` says of it.

    A link is hashed each time. Raises OSError, and what `hash_it` raises.
    """
    key, entry = str(path), os.lstat(path)
    before = _compared(entry)
    kept = HASHED.get(key)
    if kept and kept[0] == before:
        return kept[1]
    digest = hash_it()
    if is_settled(before) and not stat.S_ISLNK(entry.st_mode):
        HASHED[key] = (before, digest)
    return digest


def _compared(entry: os.stat_result) -> list[int]:
    return [entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns, entry.st_ino, entry.st_dev]
