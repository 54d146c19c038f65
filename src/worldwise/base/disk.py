# SPDX-License-Identifier: BSD-2-Clause
"""Folders on a disk: how much is free, how much they take, and the digest of what is in one."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from worldwise.base.errors import WorldwiseError


def require_space(directory: Path, needed: int, purpose: str) -> None:
    """Raise WorldwiseError unless `needed` bytes (and a tenth more) are free where `directory` is."""
    free = shutil.disk_usage(directory).free
    if free < needed * 1.1:
        raise WorldwiseError(
            f"not enough disk space in {directory}: {purpose} needs {needed * 1.1 / 1e6:.0f} MB, "
            f"{free / 1e6:.0f} MB are free",
            "free some space, or set WORLDWISE_CACHE to a directory on a larger disk",
        )


def directory_size(directory: Path) -> int:
    """Bytes the files below a directory take on disk; a file with several names counts once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    for parent, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                entry = os.lstat(os.path.join(parent, name))  # noqa: PTH118 -- tens of thousands of them
                if (entry.st_dev, entry.st_ino) not in seen:
                    seen.add((entry.st_dev, entry.st_ino))
                    total += entry.st_blocks * 512
    return total


def space_text(size: int) -> str:
    """A size in decimal units, as disks and downloads use them: `640 bytes`, `12 kB`, `3.4 MB`, `1.20 GB`."""
    if size >= 999_950_000:
        return f"{size / 1e9:.2f} GB"
    if size >= 999_500:
        return f"{size / 1e6:.1f} MB"
    return f"{size / 1e3:.0f} kB" if size >= 1000 else f"{size} {'byte' if size == 1 else 'bytes'}"


def listing_digest(listed: Mapping[str, str]) -> str:
    """SHA-256 over a folder's listing: the SHA-256 of each file, by its path there."""
    return hashlib.sha256(json.dumps(sorted(listed.items())).encode()).hexdigest()
