# SPDX-License-Identifier: BSD-2-Clause
"""The suites as `worldwise suites` lists them. Reading them all takes half a second, so the cache keeps the list.

The list is kept under a digest of what it is made from: the tool's modules and the files of suites, boards, cores and
libraries, each by name, size, times and inode. Loads no slow module where the cache has it.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import worldwise
from worldwise.base import files, paths

FOLDER = "suites"
_MOST_BYTES = 2**20

# What a repository measures: see worldwise.plan.user_code.project, which takes longer to load.
PROJECT_FILE = "worldwise.toml"


class ListedSuite(NamedTuple):
    """A suite: its name, its number of cases, its title."""

    name: str
    cases: int
    title: str


def listed_suites() -> list[ListedSuite]:
    """Every suite of the repository, in the order of the names. Raises WorldwiseError for one that is not right."""
    path = paths.cache_place() / FOLDER / f"{_digest()}.json"
    return _kept(path) or _made(path)


def _kept(path: Path) -> list[ListedSuite]:
    """What the cache has; empty for nothing, and for what is not as `_made` writes it."""
    try:
        rows = json.loads(files.read_bytes(path, _MOST_BYTES))
        found = [ListedSuite(*row) for row in rows]
    except (OSError, ValueError, TypeError, RecursionError):
        return []
    return found if all(tuple(map(type, one)) == (str, int, str) for one in found) else []


def _made(path: Path) -> list[ListedSuite]:
    from worldwise.plan.suite import load_suite

    suites = [
        load_suite(file.stem, paths.SUITES) for file in sorted(paths.SUITES.glob("*.toml"), key=lambda file: file.stem)
    ]
    found = [ListedSuite(suite.name, len(suite.cases), suite.title) for suite in suites]
    # A list that cannot be kept is made again.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path.parent, path.name, json.dumps(found).encode())
    return found


def _digest() -> str:
    folders = (paths.SUITES, paths.BOARDS, paths.CORES, paths.PORTABLE, Path(worldwise.__file__).parent)
    state = [entry for folder in folders for entry in _files(str(folder))]
    return hashlib.sha256(json.dumps(sorted(state)).encode()).hexdigest()[:40]


def _files(folder: str) -> Iterator[tuple[str, int, int, int, int]]:
    """Each file below a folder that a list could depend on."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.name.endswith((".py", ".toml", ".c")):
                state = entry.stat()
                yield entry.path, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
