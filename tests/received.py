# SPDX-License-Identifier: BSD-2-Clause
"""What tests need that read what strangers made."""

import contextlib
import re
import resource
from collections.abc import Iterator
from pathlib import Path

# What reading may take besides what the tests themselves have: far less than any of the attacks would.
_MORE = 768 * 2**20


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """Inside, memory ends long before the machine's: what would fill it is a MemoryError."""
    words = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^VmSize:\s+(\d+) kB$", words, re.MULTILINE)
    assert found
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(found[1]) * 1024 + _MORE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def little_disk() -> Iterator[None]:
    """Inside, no file gets longer than 64 MiB: what would fill the disk is an OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 2**20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def sparse(path: Path, size: int) -> None:
    """A file of so many bytes that takes none of the disk."""
    with path.open("wb") as file:
        file.truncate(size)
