# SPDX-License-Identifier: BSD-2-Clause
"""What many machines share: downloads, images and results by their addresses, in a folder or in an object store.

A folder is one of a network file system. Nothing in it is ever locked, since file systems differ in what a lock means
to another machine. A thing is copied in under a name that nobody else has, and renamed to its own when it is whole:
readers see all of it or nothing, and a writer that is killed leaves only what nobody looks at. An object store
(worldwise.lab.shared_store.object_store) has whole objects or none. Two writers of one address have the same bytes, so
whoever is first is taken. Every reader copies, and verifies its copy.

Whoever may write there may be a stranger: no link below the folder is followed, neither to read nor to write, and a
thing that has what ours do not have (links, special files, more than LIMITS) is damaged.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Protocol

from worldwise.base import files, paths
from worldwise.lab.shared_store.object_store import LIMITS, objects_at, room

# What a killed writer left is removed when it is so many seconds old; no writer takes as long.
_LEFT = 2 * 86400
# What is not whole yet: of folders, and of downloads in a cache.
NEW = ".new-"
_PARTIAL = "partial-"
# A file that is larger is no file of ours.
_MOST = 16 * 2**30
_PIECE = 1 << 20
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

    def fetch_file(self, kind: str, name: str, copy: Path, most: int) -> str | None:
        """Copy a file of at most `most` bytes to a free name; see `fetch`."""

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

    def take_file(self, kind: str, digest: str, target: Path, most: int) -> bool:
        """Copy the file `kind`/`digest`, whose SHA-256 its name is, to `target`; whether it is there now.

        One of more than `most` bytes is damaged.
        """

        def fetch(kind: str, name: str, copy: Path) -> str | None:
            return store.fetch_file(kind, name, copy, most) if store else None

        def problem(copy: Path) -> str:
            found = files.file_sha256(copy)
            return "" if found == digest else f"its SHA-256 is {found}"

        store = self._store()
        return store is not None and self._take(store, fetch, kind, digest, target, problem, _PARTIAL)

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
                    return settle(copy, final)
            self._notify(f"{where} is damaged; worldwise makes it again: {wrong}")
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
        with contextlib.suppress(FileNotFoundError), files.folder(self._directory, kind) as folder:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            return True
        return False

    def fetch(self, kind: str, name: str, copy: Path) -> str | None:
        try:
            with files.folder(self._directory, PurePath(kind, name)) as source:
                copy.mkdir()
                with files.folder(copy) as target:
                    _Copying(self._path(kind, name), room(copy), sync=False).folder(source, target)
        except FileNotFoundError:
            return None
        except _Damage as error:
            return str(error.strerror)
        return ""

    def fetch_file(self, kind: str, name: str, copy: Path, most: int) -> str | None:
        path = self._path(kind, name)
        try:
            with files.folder(self._directory, kind) as source, files.folder(copy.parent) as target:
                copy_file(source, name, target, copy.name, min(most, room(copy.parent)), path, sync=False)
        except FileNotFoundError:
            return None
        except _Damage as error:
            return str(error.strerror)
        return ""

    def put(self, kind: str, name: str, folder: Path) -> None:
        with self._new(kind) as (work, final):
            os.mkdir("copy", dir_fd=work)
            with files.folder(folder) as source, files.folder_in(work, "copy", self._path(kind, name)) as target:
                _Copying(folder, LIMITS.total, sync=True).folder(source, target)
            settle("copy", name, work, final)

    def put_file(self, kind: str, name: str, source: Path) -> None:
        with self._new(kind) as (work, final), files.folder(source.parent) as parent:
            copy_file(parent, source.name, work, "copy", _MOST, source, sync=True)
            # Another writer's file has the same bytes.
            os.rename("copy", name, src_dir_fd=work, dst_dir_fd=final)

    def remove(self, kind: str, name: str) -> None:
        # First from its name, so that a better one can have it.
        with (
            contextlib.suppress(FileNotFoundError),
            files.folder(self._directory, kind) as folder,
            self._work(folder, kind) as work,
        ):
            os.rename(name, "damaged", src_dir_fd=folder, dst_dir_fd=work)

    @contextlib.contextmanager
    def _new(self, kind: str) -> Iterator[tuple[int, int]]:
        """A folder that nobody else has, and the one for all of a kind."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with files.folder(self._directory, kind, make=True) as folder:
            _sweep(folder)
            with self._work(folder, kind) as work:
                yield work, folder

    @contextlib.contextmanager
    def _work(self, folder: int, kind: str) -> Iterator[int]:
        name = f"{NEW}{secrets.token_hex(8)}"
        os.mkdir(name, 0o700, dir_fd=folder)
        try:
            with files.folder_in(folder, name, self._path(kind, name)) as work:
                yield work
        finally:
            shutil.rmtree(name, dir_fd=folder, ignore_errors=True)

    def _path(self, kind: str, name: str) -> Path:
        return self._directory / kind / name


def settle(whole: Path | str, final: Path | str, whole_in: int | None = None, final_in: int | None = None) -> bool:
    """Give a whole folder, or a file, its name; True also if another one has it already, which has the same content.

    Names are of open folders if these are given.
    """
    try:
        os.rename(whole, final, src_dir_fd=whole_in, dst_dir_fd=final_in)
    except OSError as error:
        if error.errno not in _THERE:
            raise
    return True


class _Damage(OSError):
    """What no folder of ours has: links, special files, more than the limits."""


class _Copying:
    """Copies a folder of regular files and folders, from open folder to open folder: no link leads elsewhere.

    Args:
        shown: the folder, for errors.
        most: the most bytes, besides what LIMITS says.
        sync: have each file on disk before it gets its name.
    """

    def __init__(self, shown: Path, most: int, *, sync: bool) -> None:
        self._shown = shown
        self._bytes = min(LIMITS.total, most)
        self._entries = LIMITS.entries
        self._sync = sync

    def folder(self, source: int, target: int, depth: int = 1) -> None:
        """Copy what is in an open folder into another. Raises OSError; _Damage for anything that is not ours."""
        if depth > LIMITS.depth:
            raise self._damage(f"it has folders nested more than {LIMITS.depth} deep")
        for name in self._names(source):
            if stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
                os.mkdir(name, dir_fd=target)
                with (
                    files.folder_in(source, name, self._shown) as inner,
                    files.folder_in(target, name, self._shown) as made,
                ):
                    self.folder(inner, made, depth + 1)
            else:
                most = min(self._bytes, LIMITS.file)
                self._bytes -= copy_file(source, name, target, name, most, self._shown, sync=self._sync)

    def _names(self, folder: int) -> list[str]:
        names = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._entries -= 1
                if self._entries < 0:
                    raise self._damage(f"it has more than {LIMITS.entries:,} files and folders")
                names.append(entry.name)
        return sorted(names)

    def _damage(self, words: str) -> _Damage:
        return _Damage(errno.EFBIG, words, str(self._shown))


def copy_file(source: int, name: str, target: int, new: str, most: int, shown: Path, *, sync: bool) -> int:
    """Copy a regular file from an open folder to a free name in another. Returns its bytes. Raises OSError."""
    try:
        file = files.open_in(source, name, most, shown)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EINVAL, errno.EFBIG, errno.ENXIO):
            words = str(error.strerror)
            words = words if f"'{files.quoted(name)}'" in words else f"'{files.quoted(name)}': {words}"
            raise _Damage(error.errno, words, str(shown)) from None
        raise
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    done = 0
    with file, os.fdopen(os.open(new, flags, 0o666, dir_fd=target), "wb") as copy:
        while piece := file.read(_PIECE):
            done += len(piece)
            if done > most:
                raise _Damage(errno.EFBIG, f"'{files.quoted(name)}' grows", str(shown))
            copy.write(piece)
        os.fchmod(copy.fileno(), 0o755 if os.fstat(file.fileno()).st_mode & 0o100 else 0o644)
        if sync:
            # Its name must not outlive its content if the server stops.
            copy.flush()
            os.fsync(copy.fileno())
    return done


def _sweep(folder: int) -> None:
    """Remove what writers that were killed have left long ago in an open folder."""
    for name in files.listing(folder):
        if name.startswith(NEW):
            with contextlib.suppress(OSError):
                if time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _LEFT:
                    shutil.rmtree(name, dir_fd=folder)
