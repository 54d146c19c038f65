# SPDX-License-Identifier: BSD-2-Clause
"""What a sandbox may use, and who looks whether it keeps to it."""

import contextlib
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from worldwise.base import files

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


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
    """Whether a process has ended, after waiting so long for it. Popen.wait would poll; this waits for the event."""
    if process.poll() is None:
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            # Another thread ended it, and waited for it, since the line above.
            return True
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
        return f"it wrote a file of more than {files.size_words(limits.file_size)}, and that is its limit"
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
