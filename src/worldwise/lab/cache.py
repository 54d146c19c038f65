# SPDX-License-Identifier: BSD-2-Clause
"""The cache: what is in it, how much disk it takes, what this checkout still needs, and what can be removed.

The tool knows its own files by their names and leaves all others in the cache's folder alone.
docs/start/first-run.md has the rules for people.
"""

import contextlib
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldwise.base import files, paths
from worldwise.base.disk import directory_size
from worldwise.base.errors import WorldwiseError
from worldwise.lab import cache_locks, drift
from worldwise.lab.debian.lock import Lock, load_lock
from worldwise.lab.debian.plain_packages import FOLDER
from worldwise.lab.roots import ROOTS

# Why an item stays or goes, in this order: a lock or the checkout names it; neither does; it goes if unused for long;
# it was measured, so it goes only if asked for by name; a killed tool left it; worldwise did not make it.
Standing = Literal["needed", "unneeded", "by age", "measured", "left over", "unknown"]
# Seconds without use after which an item "by age" can go.
DEFAULT_AGE = 30 * 86400.0


@dataclass(frozen=True)
class CacheKind:
    """One kind of thing in the cache.

    Attributes:
        name: the kind's name.
        purpose: what its items are, in a few words.
        names: the items' names; anything else in the folder is not the tool's.
        standing: that of all its items; `needed` if only those that the checkout names are needed.
        below: its folder, from the cache, if that is not the kind's name; empty for the cache itself.
    """

    name: str
    purpose: str
    names: re.Pattern[str]
    standing: Standing
    below: str | None = None

    @property
    def folder(self) -> str:
        """The folder of its items, from the cache."""
        return self.name if self.below is None else self.below


_SHORT = "[0-9a-f]{12}"
KINDS = (
    CacheKind("labs", "the lab and the other roots", re.compile(_SHORT), "needed"),
    CacheKind(
        "downloads", "packages and sources of the locks", re.compile("[0-9a-f]{64}"), "needed", "downloads/sha256"
    ),
    CacheKind("drift", "locks with other versions in place of dropped files", re.compile(rf"{_SHORT}\.json"), "needed"),
    CacheKind("crates", "crates of libraries", re.compile("[0-9a-f]{64}"), "by age", "downloads/crates"),
    CacheKind(
        "plain",
        "packages of several roots, decompressed",
        re.compile("[0-9a-f]{64}-[0-9a-f]{64}"),
        "by age",
        f"downloads/{FOLDER}",
    ),
    CacheKind(
        "images", "what machines are made of", re.compile(rf"[A-Za-z0-9].*-{_SHORT}|[A-Za-z0-9].*\.log"), "by age"
    ),
    CacheKind("snapshots", "saved states of machines", re.compile(rf"{_SHORT}(\.symbols)?"), "by age"),
    CacheKind("symbols", "tables of symbols", re.compile(r"[0-9a-f]{40}\.json"), "by age"),
    CacheKind("suites", "lists of suites", re.compile(r"[0-9a-f]{40}\.json"), "by age"),
    CacheKind("pages", "what draws figures in pages", re.compile(r"[0-9a-f]{40}\.js"), "by age"),
    CacheKind("own", "copies of libraries of your own", re.compile(rf"[A-Za-z0-9].*-{_SHORT}"), "by age"),
    CacheKind("results", "what was measured", re.compile("[0-9a-f]{16}"), "measured"),
    CacheKind("traces", "what was traced for `explain`", re.compile("[0-9a-f]{16}"), "measured"),
    CacheKind("environments", "Python environments", re.compile(rf"venv-{_SHORT}"), "needed", ""),
)
# What a killed tool leaves behind, by folder.
_LEFT_OVER: Mapping[str, re.Pattern[str]] = {
    "labs": re.compile(r"\.(building|worldwise-stage)-.+|[0-9a-f]{12}\.log"),
    "downloads": re.compile("partial-.+"),
    "downloads/sha256": re.compile("partial-.+"),
    f"downloads/{FOLDER}": re.compile("partial-.+"),
    "images": re.compile(r"\.new-.+"),
    "snapshots": re.compile(r"\.booting-.+"),
    "own": re.compile(r"\.copying-.+"),
    "suites": re.compile(r"[0-9a-f]{40}\.json\.partial"),
    "pages": re.compile(r"[0-9a-f]{40}\.js\.partial"),
    "results": re.compile(r"\.new-.+"),
    "traces": re.compile(r"\.watching-.+"),
    "scratch": re.compile("tmp.+"),
}
LEFT_OVER, OTHER = "left over", "other"


@dataclass(frozen=True)
class Item:
    """A thing in the cache.

    Attributes:
        kind: the name of its kind, LEFT_OVER or OTHER.
        path: from the cache.
        size: bytes on disk.
        used: when it was last made or used, in seconds since the epoch.
        standing: why it stays or goes.
        label: the root's name; empty if the item is no root.
    """

    kind: str
    path: str
    size: int
    used: float
    standing: Standing
    label: str = ""


@dataclass(frozen=True)
class CleaningWish:
    """What the user wants removed.

    Attributes:
        age: seconds without use after which an item "by age" can go.
        results: whether measured items can go too.
        everything: whether all items can go at any age; measured ones only with `results`.
    """

    age: float = DEFAULT_AGE
    results: bool = False
    everything: bool = False

    def takes(self, item: Item, now: float) -> bool:
        """Whether an item is to go; `now` is in seconds since the epoch."""
        if item.standing == "unknown" or (item.standing == "measured" and not self.results):
            return False
        if self.everything or item.standing in ("unneeded", "left over"):
            return True
        return item.standing in ("by age", "measured") and now - item.used >= self.age


@dataclass(frozen=True)
class Cleaned:
    """The items removed, those kept as in use or just used (`held`), and those that could not be removed, and why."""

    gone: tuple[Item, ...]
    held: tuple[Item, ...]
    failed: tuple[tuple[Item, str], ...]


# --- looking ---


def survey(cache: Path, locks: Mapping[str, Lock] | None = None) -> list[Item]:
    """All that the tool made in a cache, by kind and path. Links are not followed; unreadable items are left out.

    Args:
        cache: the cache; it need not exist.
        locks: the roots' locks by name; those of this checkout by default.
    """
    locks = {name: load_lock(root.lock) for name, root in ROOTS.items()} if locks is None else locks
    others = {name: other for name, lock in locks.items() if (other := _other(cache, lock))}
    roots = {lock.digest(ROOTS[name].recipe)[:12]: name for each in (others, locks) for name, lock in each.items()}
    named = {
        "labs": set(roots),
        "downloads": set(_locked_files([*locks.values(), *others.values()])),
        "drift": {drift.place(cache, lock).name for lock in locks.values()},
        "environments": used_environments(),
    }
    items = []
    for kind in KINDS:
        for path in _matching(cache, kind.folder, kind.names):
            standing = kind.standing
            if standing == "needed" and path.name not in named[kind.name]:
                standing = "unneeded"
            items += _item(kind.name, cache, path, standing, roots.get(path.name, "") if kind.name == "labs" else "")
    for folder, names in _LEFT_OVER.items():
        for path in _matching(cache, folder, names):
            # The log of a root stays with it.
            if path.suffix != ".log" or not path.with_suffix("").exists():
                items += _item(LEFT_OVER, cache, path, "left over")
    known = {*_LEFT_OVER, *(kind.folder.partition("/")[0] for kind in KINDS)}
    for path in _matching(cache, "", re.compile(r"[^.].*")):
        if path.name not in known and not path.name.startswith("venv"):
            items += _item(OTHER, cache, path, "unknown")
    return items


def _other(cache: Path, lock: Lock) -> Lock | None:
    """The lock that took another's place; None too if it cannot be read."""
    with contextlib.suppress(WorldwiseError):
        return drift.kept(cache, lock)
    return None


def _matching(cache: Path, folder: str, names: re.Pattern[str]) -> list[Path]:
    """The paths in a folder of the cache whose names match, sorted; none if the folder is a link or missing."""
    try:
        with files.folder(cache, folder) as descriptor:
            return [cache / folder / name for name in files.listing(descriptor) if names.fullmatch(name)]
    except OSError:
        return []


def _item(kind: str, cache: Path, path: Path, standing: Standing, label: str = "") -> list[Item]:
    with contextlib.suppress(OSError):
        entry = path.lstat()
        if stat.S_ISDIR(entry.st_mode):
            size = directory_size(path)
        elif stat.S_ISREG(entry.st_mode):
            size = entry.st_blocks * 512
        else:
            return []
        return [Item(kind, str(path.relative_to(cache)), size, entry.st_mtime, standing, label)]
    return []


def _locked_files(locks: Iterable[Lock]) -> Iterator[str]:
    for lock in locks:
        yield from (package.sha256 for package in (*lock.lab, *lock.target))
        yield from (file.sha256 for source in lock.sources for file in source.files)


def used_environments() -> set[str]:
    """Names of the Python environments that this checkout uses with this Python; lab/host.sh names them alike."""
    names = {Path(sys.prefix).name}
    for requirements in ("run", "dask", "test", "build"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = _requirements(f"{requirements}.txt").encode()
            version = f"{sys.version} {sys.base_prefix}\n".encode()
            names.add(f"venv-{hashlib.sha256(version + text).hexdigest()[:12]}")
    return names


def _requirements(file: str) -> str:
    """A file of requirements, behind the file that its first line takes, if it takes one."""
    text = (paths.REQUIREMENTS / file).read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    return (_requirements(first[3:]) if first.startswith("-r ") else "") + text


# --- removing ---


def clean(cache: Path, items: Sequence[Item]) -> Cleaned:
    """Remove items, except those that a command holds or that were used since the survey; no link is followed.

    While another command runs, this removes only roots that no command holds, and Python environments that no process
    runs in. Commands that start meanwhile wait.
    """
    gone: list[Item] = []
    held: list[Item] = []
    failed: list[tuple[Item, str]] = []
    with cache_locks.alone(cache / cache_locks.CACHE_LOCK) as alone:
        for item in items:
            try:
                with _free(cache, item, alone) as free:
                    if not free or (cache / item.path).lstat().st_mtime != item.used:
                        held.append(item)
                        continue
                    files.remove(cache, item.path)
                    if item.kind == "labs":
                        files.remove(cache, f"{item.path}.log")
                gone.append(item)
            except FileNotFoundError:
                continue
            except OSError as error:
                failed.append((item, error.strerror or str(error)))
    return Cleaned(tuple(gone), tuple(held), tuple(failed))


@contextlib.contextmanager
def _free(cache: Path, item: Item, alone: bool) -> Iterator[bool]:
    """Whether an item is unused; if so, no other process can begin to use it while the context lasts."""
    path = cache / item.path
    if item.kind == "environments":
        # lab/host.sh holds this lock while it makes an environment.
        with cache_locks.alone(cache / "venv.lock") as free:
            yield free and not _runs_in(path)
        return
    lock = cache_locks.lock_of(cache, path) if path.parent == cache / "labs" and path.suffix != ".log" else None
    if lock is None or lock == cache / cache_locks.CACHE_LOCK:
        yield alone
        return
    with cache_locks.alone(lock) as free:
        yield free


def _runs_in(environment: Path) -> bool:
    """Whether a process was started from a Python environment, or this one was."""
    if Path(sys.prefix) == environment:
        return True
    start = os.fsencode(f"{environment}/")
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if any(word.startswith(start) for word in (process / "cmdline").read_bytes().split(b"\0")):
                    return True
    return False
