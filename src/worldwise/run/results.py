# SPDX-License-Identifier: BSD-2-Clause
"""Stored results. The address of a result covers everything that decides it: the same case on the same machine gives
the same records.

Reusing a result is sound only while that holds. So each run that reuses results measures one of them again, the one
with the oldest check (see `measure.py`).
"""

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import parse_json
from worldwise.lab.image import MOST_MANIFEST, check_files
from worldwise.lab.shared_store.store import Shared
from worldwise.machine.machine import CONSOLE, EMULATOR_LOG, RECORDS, SECURE_CONSOLE
from worldwise.run.folder.rundir import LIMITS
from worldwise.targets.families import host_files

_MANIFEST = "result.json"
# No case takes a year.
_MOST_SECONDS = 365 * 86400
# The files that a case's directory keeps beside case.json.
_FILES = (RECORDS, CONSOLE, SECURE_CONSOLE, EMULATOR_LOG)


@dataclass(frozen=True)
class Result:
    """A stored result.

    Attributes:
        directory: where its files are.
        run: the run that measured it.
        wall_seconds: how long measuring it took then.
        command: QEMU's command line.
        checked: when it was last measured or measured again, seconds since the epoch.
        files: SHA-256 of each file.
    """

    directory: Path
    run: str
    wall_seconds: float
    command: tuple[str, ...]
    checked: float
    files: Mapping[str, str]

    def copy_to(self, directory: Path) -> None:
        """Put its files into a case's empty directory.

        Raises OSError, and WorldwiseError if the result has changed since it was looked at.
        """
        with _locked(self.directory.parent, fcntl.LOCK_SH):
            for name, digest in self.files.items():
                path = self.directory / name
                if files.copy(path, directory / name, LIMITS.file, self.directory) != digest:
                    raise WorldwiseError(
                        f"{path} changed while it was taken for a run.", "measure again: worldwise run"
                    )


class ResultStore:
    """Results in the user's cache.

    Args:
        cache: the cache.
        notify: called with a line of text when a result cannot be used.
    """

    def __init__(self, cache: Path, notify: Callable[[str], None] = lambda _: None) -> None:
        self.directory = cache / "results"
        self._notify = notify
        self._shared = Shared(notify)

    def get(self, digest: str) -> Result | None:
        """The result at an address; None if there is none, or if it is damaged, which is reported."""
        directory = self.directory / digest[:16]
        found = self._own(directory, digest)
        if not found and self._taken(directory, digest):
            return self._own(directory, digest)
        return found

    def _taken(self, directory: Path, digest: str) -> bool:
        """Whether a result came from the folder that machines share."""

        def problem(copy: Path) -> str:
            found, wrong = _found(copy, digest)
            return wrong or ("" if found else "it is of another address")

        if directory.exists():
            return False
        self.directory.mkdir(parents=True, exist_ok=True)
        return self._shared.take("results", digest[:16], directory, problem)

    def _own(self, directory: Path, digest: str) -> Result | None:
        with contextlib.suppress(FileNotFoundError), _locked(self.directory, fcntl.LOCK_SH):
            if not os.path.lexists(directory):
                return None
            found, problem = _found(directory, digest)
            if problem:
                self._notify(
                    f"the stored result at {directory} has changed since it was made ({problem}); "
                    "its case is measured again"
                )
            return found
        return None

    def put(self, digest: str, directory: Path, run: str, wall_seconds: float, command: tuple[str, ...]) -> None:
        """Keep the files of a measured, checked case."""
        self.directory.mkdir(parents=True, exist_ok=True)
        final = self.directory / digest[:16]
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=".new-") as work:
            new = Path(work, "result")
            new.mkdir()
            kept = {
                name: files.copy(directory / name, new / name, LIMITS.file, directory) for name in _there(directory)
            }
            manifest = {
                "digest": digest,
                "run": run,
                "wall_seconds": wall_seconds,
                "command": command,
                "files": kept,
            }
            (new / _MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")
            # The lock keeps readers out while the old result is removed.
            with _locked(self.directory, fcntl.LOCK_EX):
                with contextlib.suppress(FileNotFoundError):
                    final.rename(Path(work, "old"))
                new.rename(final)
        self._shared.give("results", final.name, final)

    def share(self, result: Result) -> None:
        """Put a result into the folder that machines share, unless it is there."""
        self._shared.give("results", result.directory.name, result.directory)

    def mark_checked(self, result: Result) -> None:
        """Note that a result was measured again and is the same."""
        now = time.time()
        with _locked(self.directory, fcntl.LOCK_SH), contextlib.suppress(FileNotFoundError):
            os.utime(result.directory / _MANIFEST, (now, now), follow_symlinks=False)


def _found(directory: Path, digest: str) -> tuple[Result | None, str]:
    """As `_read`, whatever stands in the manifest."""
    try:
        return _read(directory, digest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, f"its {_MANIFEST} cannot be read"


def _read(directory: Path, digest: str) -> tuple[Result | None, str]:
    """The result in a folder, and what is wrong with it. Both are empty if the folder has another address's result."""
    path = directory / _MANIFEST
    manifest: Mapping[str, Any] = parse_json(files.read_bytes(path, MOST_MANIFEST, directory.parent))
    if manifest["digest"] != digest:
        return None, ""
    listed: Mapping[str, str] = manifest["files"]
    problem = check_files(directory, listed)
    if not problem and not set(_FILES) <= set(listed) <= {*_FILES, *host_files()}:
        problem = f"{path} names other files than a result has"
    if problem:
        return None, problem
    run, seconds, command = manifest["run"], manifest["wall_seconds"], manifest["command"]
    if not (
        isinstance(run, str)
        and type(seconds) in (int, float)
        and 0 <= seconds < _MOST_SECONDS
        and isinstance(command, list)
        and all(isinstance(word, str) for word in command)
    ):
        raise ValueError("its description of the measurement has another form")
    return Result(
        directory,
        run,
        float(seconds),
        tuple(command),
        path.lstat().st_mtime,
        dict(listed),
    ), ""


@contextlib.contextmanager
def _locked(store: Path, how: int) -> Iterator[None]:
    """Holds the store, shared for reading. The lock is on the folder itself, so that no file is left behind."""
    with files.folder(store) as descriptor:
        fcntl.flock(descriptor, how)
        yield


def _there(directory: Path) -> tuple[str, ...]:
    """The names of the files to keep."""
    return (*_FILES, *(name for name in host_files() if (directory / name).exists()))
