# SPDX-License-Identifier: BSD-2-Clause
"""What was measured before, addressed by all that decides it: a case on the same machine gives the same records.

Taking a result from here is sound only as long as that holds, so every run that does also measures one of them again
(see `measure.py`), and the least recently checked comes first.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise import debian
from worldwise.echo_host import HOST_FILE
from worldwise.image import check_files

_MANIFEST = "result.json"
# What a case's directory keeps besides case.json.
_FILES = ("records.jsonl", "console.log", "secure.log", "qemu.log")
# And what only some cases leave there.
_MORE_FILES = (HOST_FILE,)


@dataclass(frozen=True)
class Result:
    """A stored result.

    Attributes:
        directory: where its files are.
        run: the run that measured it.
        wall_seconds: how long measuring it took then.
        command: QEMU's command line.
        checked: when it was last measured or measured again, seconds since the epoch.
    """

    directory: Path
    run: str
    wall_seconds: float
    command: tuple[str, ...]
    checked: float

    def copy_to(self, directory: Path) -> None:
        """Put its files into a case's directory."""
        for name in _there(self.directory):
            shutil.copyfile(self.directory / name, directory / name)


class ResultStore:
    """Results in the user's cache."""

    def __init__(self, cache: Path) -> None:
        self.directory = cache / "results"

    def get(self, digest: str) -> Result | None:
        """The result at an address, or None if there is none, or what is there is damaged."""
        directory = self.directory / digest[:16]
        try:
            path = directory / _MANIFEST
            manifest: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if manifest["digest"] != digest or check_files(directory, manifest["files"]):
                return None
            return Result(
                directory,
                str(manifest["run"]),
                float(manifest["wall_seconds"]),
                tuple(manifest["command"]),
                path.stat().st_mtime,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, digest: str, directory: Path, run: str, wall_seconds: float, command: tuple[str, ...]) -> None:
        """Keep the files of a measured, checked case."""
        self.directory.mkdir(parents=True, exist_ok=True)
        final = self.directory / digest[:16]
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=".new-") as work:
            new = Path(work, "result")
            new.mkdir()
            files = _there(directory)
            for name in files:
                shutil.copyfile(directory / name, new / name)
            manifest = {
                "digest": digest,
                "run": run,
                "wall_seconds": wall_seconds,
                "command": command,
                "files": {name: debian.file_sha256(new / name) for name in files},
            }
            (new / _MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")
            shutil.rmtree(final, ignore_errors=True)
            new.rename(final)

    def mark_checked(self, result: Result) -> None:
        """Note that a result was measured again and came out the same."""
        now = time.time()
        os.utime(result.directory / _MANIFEST, (now, now))


def _there(directory: Path) -> tuple[str, ...]:
    """The names of the files to keep."""
    return (*_FILES, *(name for name in _MORE_FILES if (directory / name).exists()))
