# SPDX-License-Identifier: BSD-2-Clause
"""A folder that many machines share, on a network file system: downloads, images and results by their addresses.

Nothing in it is ever locked, since file systems differ in what a lock means to another machine. A thing is copied in
under a name that nobody else has, and renamed to its own when it is whole: readers see all of it or nothing, and a
writer that is killed leaves only what nobody looks at. Two writers of one address have the same bytes, so whoever is
first is taken. Every reader copies, and verifies its copy.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from worldwise.base import files, paths

# What a killed writer left is removed when it is so many seconds old; no writer takes as long.
_LEFT = 2 * 86400
NEW = ".new-"
# A file that is larger is no file of ours.
_MOST = 16 * 2**30
# rename() of a folder to the name of one that is not empty, by file system.
_THERE = (errno.ENOTEMPTY, errno.EEXIST)


class Shared:
    """The folder that `--cache` or WORLDWISE_SHARED names; without one, all methods do nothing.

    A folder that cannot be read or written costs time and nothing else: every method notes it and goes on.

    Args:
        notify: called with a line of text when something in it is damaged, or cannot be read or written.
        directory: the folder; None for none.
    """

    def __init__(self, notify: Callable[[str], None], directory: Path | None = None) -> None:
        self._notify = notify
        self.directory = directory or paths.shared_place()

    def take(self, kind: str, name: str, final: Path, problem: Callable[[Path], str]) -> bool:
        """Copy a folder from `kind`/`name` to `final`, which must be free; whether it is there now.

        `problem` says what is wrong with the copy, or nothing. A damaged one makes way for the next that is given.
        """
        if self.directory is None:
            return False
        source = self.directory / kind / name
        with self._guarded(source):
            if not source.is_dir():
                return False
            with tempfile.TemporaryDirectory(dir=final.parent, prefix=NEW) as work:
                copy = Path(work, "copy")
                _copy(source, copy)
                wrong = problem(copy)
                if not wrong:
                    return _settle(copy, final)
            self._notify(f"{source} is damaged, and made anew: {wrong}")
            self._put_away(source)
        return False

    def give(self, kind: str, name: str, folder: Path) -> None:
        """Copy a folder to `kind`/`name`, unless that is there."""
        if self.directory is None or (self.directory / kind / name).exists():
            return
        final = self.directory / kind / name
        with self._guarded(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            _sweep(final.parent)
            with tempfile.TemporaryDirectory(dir=final.parent, prefix=NEW) as work:
                copy = Path(work, "copy")
                _copy(folder, copy, sync=True)
                _settle(copy, final)

    def take_file(self, kind: str, digest: str, target: Path) -> bool:
        """Copy the file `kind`/`digest`, whose SHA-256 its name is, to `target`; whether it is there now."""
        if self.directory is None:
            return False
        source = self.directory / kind / digest
        with self._guarded(source):
            if not source.exists():
                return False
            with tempfile.TemporaryDirectory(dir=target.parent, prefix="partial-") as work:
                copy = Path(work, "copy")
                if files.copy(source, copy, _MOST, source.parent) == digest:
                    copy.replace(target)
                    return True
            self._notify(f"{source} is damaged, and fetched anew")
            self._put_away(source)
        return False

    def give_file(self, kind: str, digest: str, source: Path) -> None:
        """Copy a file to `kind`/`digest`, unless that is there."""
        if self.directory is None or (self.directory / kind / digest).exists():
            return
        final = self.directory / kind / digest
        with self._guarded(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            _sweep(final.parent)
            with tempfile.TemporaryDirectory(dir=final.parent, prefix=NEW) as work:
                copy = Path(work, "copy")
                _copy_file(source, copy, source.parent, sync=True)
                # Another writer's file has the same bytes.
                copy.rename(final)

    @contextlib.contextmanager
    def _guarded(self, place: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._notify(f"the shared {place} cannot be used: {error.strerror or error}")

    def _put_away(self, path: Path) -> None:
        """Remove something damaged: first from its name, so that a better one can have it."""
        with contextlib.suppress(FileNotFoundError), tempfile.TemporaryDirectory(dir=path.parent, prefix=NEW) as work:
            path.rename(Path(work, "damaged"))


def _settle(whole: Path, final: Path) -> bool:
    """Give a whole folder its name; True also if another one has it already, which has the same content."""
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
