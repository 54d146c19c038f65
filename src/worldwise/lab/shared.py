# SPDX-License-Identifier: BSD-2-Clause
"""What many machines share: downloads, images and results by their addresses, in a folder or in an object store.

A folder is one of a network file system. Nothing in it is ever locked, since file systems differ in what a lock means
to another machine. A thing is copied in under a name that nobody else has, and renamed to its own when it is whole:
readers see all of it or nothing, and a writer that is killed leaves only what nobody looks at. An object store
(worldwise.lab.objects) has whole objects or none. Two writers of one address have the same bytes, so whoever is first
is taken. Every reader copies, and verifies its copy.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from worldwise.base import files, paths
from worldwise.lab.objects import objects_at

# What a killed writer left is removed when it is so many seconds old; no writer takes as long.
_LEFT = 2 * 86400
# What is not whole yet: of folders, and of downloads in a cache.
NEW = ".new-"
_PARTIAL = "partial-"
# A file that is larger is no file of ours.
_MOST = 16 * 2**30
# rename() of a folder to the name of one that is not empty, by file system.
_THERE = (errno.ENOTEMPTY, errno.EEXIST)


class Store(Protocol):
    """Where shared things are, each by its kind and its name: a folder, or objects. Every method raises OSError."""

    def where(self, kind: str, name: str) -> str:
        """What people call a thing."""

    def has(self, kind: str, name: str) -> bool:
        """Whether a thing need not be put there."""

    def fetch(self, kind: str, name: str, copy: Path) -> str | None:
        """Copy a folder to a free name; what is wrong with it, or nothing. None if it is not there."""

    def fetch_file(self, kind: str, name: str, copy: Path) -> str | None:
        """Copy a file to a free name; see `fetch`."""

    def put(self, kind: str, name: str, folder: Path) -> None:
        """Make a copy of a folder there: readers see all of it or nothing."""

    def put_file(self, kind: str, name: str, source: Path) -> None:
        """Make a copy of a file there; see `put`."""

    def remove(self, kind: str, name: str) -> None:
        """Remove a thing, if it is there."""


class Shared:
    """What `--cache` or WORLDWISE_SHARED names; without it, all methods do nothing.

    A store that cannot be read or written costs time and nothing else: every method notes it and goes on.

    Args:
        notify: called with a line of text when something in it is damaged, or cannot be read or written.
        place: the folder, or the URL of an object store; None for what WORLDWISE_SHARED names, if anything.
    """

    def __init__(self, notify: Callable[[str], None], place: Path | str | None = None) -> None:
        self._notify = notify
        self.place = str(place) if place else paths.shared_place()

    def take(self, kind: str, name: str, final: Path, problem: Callable[[Path], str]) -> bool:
        """Copy a folder from `kind`/`name` to `final`, which must be free; whether it is there now.

        `problem` says what is wrong with the copy, or nothing. A damaged one makes way for the next that is given.
        """
        store = self._store()
        return store is not None and self._take(store, store.fetch, kind, name, final, problem, NEW)

    def take_file(self, kind: str, digest: str, target: Path) -> bool:
        """Copy the file `kind`/`digest`, whose SHA-256 its name is, to `target`; whether it is there now."""

        def problem(copy: Path) -> str:
            found = files.file_sha256(copy)
            return "" if found == digest else f"its SHA-256 is {found}"

        store = self._store()
        return store is not None and self._take(store, store.fetch_file, kind, digest, target, problem, _PARTIAL)

    def give(self, kind: str, name: str, folder: Path) -> None:
        """Copy a folder to `kind`/`name`, unless that is there."""
        if store := self._store():
            self._give(store, store.put, kind, name, folder)

    def give_file(self, kind: str, digest: str, source: Path) -> None:
        """Copy a file to `kind`/`digest`, unless that is there."""
        if store := self._store():
            self._give(store, store.put_file, kind, digest, source)

    def _store(self) -> Store | None:
        if self.place is None:
            return None
        return objects_at(self.place) if paths.is_url(self.place) else _Folder(Path(self.place))

    def _take(
        self,
        store: Store,
        fetch: Callable[[str, str, Path], str | None],
        kind: str,
        name: str,
        final: Path,
        problem: Callable[[Path], str],
        prefix: str,
    ) -> bool:
        where = store.where(kind, name)
        with self._guarded(where):
            with tempfile.TemporaryDirectory(dir=final.parent, prefix=prefix) as work:
                copy = Path(work, "copy")
                wrong = fetch(kind, name, copy)
                if wrong is None:
                    return False
                wrong = wrong or problem(copy)
                if not wrong:
                    return _settle(copy, final)
            self._notify(f"{where} is damaged, and made anew: {wrong}")
            store.remove(kind, name)
        return False

    def _give(self, store: Store, put: Callable[[str, str, Path], None], kind: str, name: str, source: Path) -> None:
        with self._guarded(store.where(kind, name)):
            if not store.has(kind, name):
                put(kind, name, source)

    @contextlib.contextmanager
    def _guarded(self, place: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._notify(f"the shared {place} cannot be used: {error.strerror or error}")


class _Folder:
    """Things in a folder, such as one of a network file system, which all machines have under the same name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def where(self, kind: str, name: str) -> str:
        return str(self._path(kind, name))

    def has(self, kind: str, name: str) -> bool:
        return self._path(kind, name).exists()

    def fetch(self, kind: str, name: str, copy: Path) -> str | None:
        source = self._path(kind, name)
        if not source.is_dir():
            return None
        _copy(source, copy)
        return ""

    def fetch_file(self, kind: str, name: str, copy: Path) -> str | None:
        source = self._path(kind, name)
        if not source.exists():
            return None
        files.copy(source, copy, _MOST, source.parent)
        return ""

    def put(self, kind: str, name: str, folder: Path) -> None:
        with self._new(kind, name) as (copy, final):
            _copy(folder, copy, sync=True)
            _settle(copy, final)

    def put_file(self, kind: str, name: str, source: Path) -> None:
        with self._new(kind, name) as (copy, final):
            _copy_file(source, copy, source.parent, sync=True)
            # Another writer's file has the same bytes.
            copy.rename(final)

    def remove(self, kind: str, name: str) -> None:
        # First from its name, so that a better one can have it.
        path = self._path(kind, name)
        with contextlib.suppress(FileNotFoundError), tempfile.TemporaryDirectory(dir=path.parent, prefix=NEW) as work:
            path.rename(Path(work, "damaged"))

    @contextlib.contextmanager
    def _new(self, kind: str, name: str) -> Iterator[tuple[Path, Path]]:
        """A name that nobody else has, and the final one."""
        final = self._path(kind, name)
        final.parent.mkdir(parents=True, exist_ok=True)
        _sweep(final.parent)
        with tempfile.TemporaryDirectory(dir=final.parent, prefix=NEW) as work:
            yield Path(work, "copy"), final

    def _path(self, kind: str, name: str) -> Path:
        return self._directory / kind / name


def _settle(whole: Path, final: Path) -> bool:
    """Give a whole folder, or a file, its name; True also if another one has it already, which has the same content."""
    try:
        whole.rename(final)
    except OSError as error:
        if error.errno not in _THERE:
            raise
    return True


def _copy(source: Path, target: Path, *, sync: bool = False) -> None:
    """Copy a folder of regular files and folders. Raises OSError for anything else in it."""
    for folder, directories, names in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir()
        for name in names:
            _copy_file(Path(folder, name), inside / name, source, sync=sync)
        for name in directories:
            if Path(folder, name).is_symlink():
                raise OSError(errno.ELOOP, f"'{files.quoted(name)}' is a link", str(Path(folder, name)))


def _copy_file(source: Path, target: Path, within: Path, *, sync: bool) -> None:
    files.copy(source, target, _MOST, within)
    target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
    if sync:
        # Its name must not outlive its content if the server stops.
        with target.open("rb") as file:
            os.fsync(file.fileno())


def _sweep(folder: Path) -> None:
    """Remove what writers that were killed have left long ago."""
    for path in folder.glob(f"{NEW}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _LEFT:
                shutil.rmtree(path)
