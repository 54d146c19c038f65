# SPDX-License-Identifier: BSD-2-Clause
"""What was hashed a little while ago and is as it was, by what stat says of it: a wrapper that is started for each test
of a suite does not hash it each time.

A file that was written is hashed again at once; one that decayed on the disk, as soon as the time is over.
"""

import contextlib
import json
import os
import time
from pathlib import Path

from worldwise.base import files, hashed

_FILE, _MOST = "recent.json", 2**20
# What is kept of one file, by its path: what stat said of it, the SHA-256 it had, and when that was.
_Found = list[int | str | float]


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
            return bool(kept and kept[:-1] == [*hashed.stat_of(path), digest] and self.is_recent(float(kept[-1])))
        except (OSError, TypeError, ValueError):
            return False

    def is_recent(self, when: float) -> bool:
        """Whether a time, in seconds of the epoch, is not longer ago than that; one to come is not."""
        return 0 <= time.time() - when <= self.seconds

    def add(self, path: Path, digest: str, before: list[int]) -> None:
        """A file has that SHA-256. `before` is what stat said before it was hashed."""
        if hashed.is_settled(before):
            self._found[str(path)] = [*before, digest, time.time()]

    def save(self) -> None:
        """Keep what is recent."""
        temporary = self._path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError, TypeError, ValueError, LookupError):
            kept = {path: one for path, one in self._found.items() if self.is_recent(float(one[-1]))}
            temporary.write_text(json.dumps(kept) + "\n", encoding="utf-8")
            temporary.replace(self._path)
