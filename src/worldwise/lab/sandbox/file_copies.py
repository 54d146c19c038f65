# SPDX-License-Identifier: BSD-2-Clause
"""What goes into a sandbox as a copy, and what is taken out of one without trusting a single name in it."""

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from worldwise.base import files
from worldwise.base.disk import require_space
from worldwise.base.errors import WorldwiseError

# A sandbox that left more than this is not believed.
MOST_FILES = 100_000

LONGEST_PATH = 1024


def take_file(source: Path, target: Path, limit: int, what: str) -> bool:
    """Move one file that a sandbox left to a place which the sandbox never saw. Call it when the sandbox has ended.

    What is moved is a regular file of one name and of at most `limit` bytes; its mode becomes 0644, or 0755 if its
    owner could execute it. Returns False if there is no such file.

    Raises WorldwiseError, naming `what` left it, for anything else than such a file.
    """
    try:
        entry = source.lstat()
    except FileNotFoundError:
        return False
    _take(source, entry, source.name, target, limit, what)
    return True


def _take(source: Path, entry: os.stat_result, name: str, target: Path, limit: int, what: str) -> None:
    _require_plain(entry, name, limit, what)
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_out(source, target, limit, what)
    target.chmod(0o755 if entry.st_mode & stat.S_IXUSR else 0o644)


def _copy_out(source: Path, target: Path, limit: int, what: str) -> None:
    """The file's bytes in a new file, on another file system."""
    target.unlink(missing_ok=True)
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _require_plain(os.fstat(file.fileno()), source.name, limit, what)
        require_space(target.parent, os.fstat(file.fileno()).st_size, what)
        try:
            with target.open("xb") as copy:
                shutil.copyfileobj(file, copy)
        except OSError:
            # Half a file is of no use, and on a full disk in the way of what is to be said of it.
            target.unlink(missing_ok=True)
            raise
    source.unlink()


def take_tree(source: Path, target: Path, limit: int, what: str) -> list[str]:
    """Move all files below a folder that a sandbox left into a new folder `target`. Returns their paths within it.

    Raises WorldwiseError, naming `what` left it, for a link, a device, a pipe, a socket, a file of two names, more than
    `limit` bytes, or more files than anyone needs.
    """
    _make_folder(target)
    taken: list[str] = []
    total = 0
    for folder, directories, names in os.walk(source):
        inside = Path(folder).relative_to(source)
        for name in sorted(directories):
            entry = Path(folder, name).lstat()
            if not stat.S_ISDIR(entry.st_mode):
                raise _odd(str(inside / name), entry, what)
            _make_folder(target / inside / name)
        for name in sorted(names):
            path = inside / name
            if len(str(path)) > LONGEST_PATH or len(taken) >= MOST_FILES:
                raise WorldwiseError(
                    f"{what} left more than {MOST_FILES:,} files, or a path of more than {LONGEST_PATH} characters"
                )
            entry = Path(folder, name).lstat()
            _take(Path(folder, name), entry, str(path), target / path, limit - total, what)
            total += entry.st_size
            taken.append(str(path))
    return sorted(taken)


def _require_plain(entry: os.stat_result, name: str, limit: int, what: str) -> None:
    if not stat.S_ISREG(entry.st_mode) or entry.st_nlink != 1:
        raise _odd(name, entry, what)
    if entry.st_size > limit:
        size, most = files.size_words(entry.st_size), files.size_words(limit)
        raise WorldwiseError(f"{what} left '{files.quoted(name)}' of {size}; the limit is {most}")


def _odd(name: str, entry: os.stat_result, what: str) -> WorldwiseError:
    kind = "a file with several names" if stat.S_ISREG(entry.st_mode) else files.kind_of(entry.st_mode)
    return WorldwiseError(
        f"{what} left '{files.quoted(name)}', which is {kind}: only regular files are taken out of a sandbox",
        "worldwise followed and overwrote nothing; the program that ran there is malicious or defective",
    )


def _make_folder(path: Path) -> None:
    """A folder that everybody may read, whatever the user's umask is."""
    path.mkdir()
    path.chmod(0o755)


def copy_in(source: Path, target: Path, skip: Callable[[str], bool] = lambda _: False) -> None:
    """A copy of a file or folder that a sandbox may read whoever it is: only regular files and folders.

    Links of the folder are followed, as they are where its digest is made.
    """
    if not target.parent.is_dir():
        _make_folder(target.parent)
    if source.is_file():
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
        return
    _make_folder(target)
    for entry in sorted(source.iterdir()):
        if not skip(entry.name) and (entry.is_dir() or entry.is_file()):
            copy_in(entry, target / entry.name, skip)
