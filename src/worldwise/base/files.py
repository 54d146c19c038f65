# SPDX-License-Identifier: BSD-2-Clause
"""Files that strangers may have made: reading one follows no link, never blocks and is bounded in size.

A bad file raises an OSError whose `strerror` completes "FILE: cannot be read: ...". The caller knows what the file is
for, and what the user can do.
"""

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from worldwise.base.errors import WorldwiseError

# The longest file name in bytes, on every file system that Linux commonly uses.
MOST_NAME = 255
# An error repeats at most so many characters of a stranger's text.
MOST_QUOTED = 200

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_PIECE = 1 << 20
_NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_BAD_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def size_words(size: int) -> str:
    """A size or a limit as people say it, rounded down: `16 MiB`."""
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= scale:
            return f"{size // scale:,} {unit}"
    return f"{size:,} bytes"


def quoted(text: str | bytes, most: int = MOST_QUOTED) -> str:
    """A stranger's text made fit for a message: shortened, on one line, without control characters."""
    long = len(text) > most
    text = text[:most].decode(errors="replace") if isinstance(text, bytes) else text[:most]
    escaped = _BAD_CHARACTER.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)
    return f"{escaped} ..." if long else escaped


# --- names ---


def name_problem(name: str) -> str:
    """Why a stranger's name cannot name a file in a folder; empty if it can."""
    if not name or name in (".", ".."):
        return f"'{name}' is not a file name"
    if "/" in name:
        return f"'{quoted(name)}' has a slash in it"
    if _BAD_CHARACTER.search(name):
        return f"'{quoted(name)}' has a control character in it"
    if len(name.encode(errors="replace")) > MOST_NAME:
        return f"'{quoted(name, 40)}' has {len(name.encode(errors='replace')):,} bytes; a name has at most {MOST_NAME}"
    return ""


def path_problem(path: str) -> str:
    """Why a stranger's path leads out of a folder or cannot be a path; empty if it is good."""
    if path.startswith("/") or ".." in path.split("/"):
        return f"'{quoted(path)}' leads out of the folder"
    if len(path) > 16 * MOST_NAME:
        return f"'{quoted(path, 40)}' has {len(path):,} characters, too many for a path"
    return next(filter(None, (name_problem(part) for part in path.split("/") if part not in ("", "."))), "")


# --- opening ---


@contextlib.contextmanager
def folder(root: Path, relative: PurePath | str = "", *, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder below `root`, reached without following a link below it.

    Args:
        root: a folder that the user named or the tool made.
        relative: the path from `root`; empty for `root` itself.
        make: make missing folders on the way.

    Raises OSError.
    """
    descriptor = os.open(root, _FOLDER)
    try:
        shown = root / relative
        for part in PurePath(relative).parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = _open(part, _FOLDER | os.O_NOFOLLOW, descriptor, shown)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def folder_in(parent: int, name: str, shown: Path) -> Iterator[int]:
    """The descriptor of a folder in an open folder; a link is refused. `shown` is for errors. Raises OSError."""
    descriptor = _open(name, _FOLDER | os.O_NOFOLLOW, parent, shown)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def listing(descriptor: int) -> list[str]:
    """The names in an open folder, in order. Raises OSError."""
    with os.scandir(descriptor) as entries:
        return sorted(entry.name for entry in entries)


def _open(name: str, flags: int, within: int | None, shown: Path) -> int:
    """Like os.open, but its OSError says so if the name is a link or not a folder. Raises OSError."""
    if "\0" in name:
        raise OSError(errno.EINVAL, "its name has a zero byte", str(shown))
    try:
        return os.open(name, flags, dir_fd=within)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and flags & os.O_NOFOLLOW:
            # The kernel reports a link as "not a directory" if a directory was asked for.
            kind = "a link"
            with contextlib.suppress(OSError):
                kind = kind_of(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
            raise OSError(errno.ELOOP, f"'{quoted(name)}' is {kind}", str(shown)) from None
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is a socket, not a file", str(shown)) from None
        raise


def try_lock(descriptor: int, *, unknown: bool) -> bool:
    """Lock an open file or folder unless somebody else has; the kernel releases the lock when the file is closed.

    `unknown` is the answer where the file system has no such locks, as NFS has none of folders. Raises OSError.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return unknown
        raise
    return True


def kind_of(mode: int) -> str:
    """The kind of file that a mode of stat() describes, in words: `a FIFO`."""
    return next((name for test, name in _KINDS if test(mode)), "a file")


def open_regular(path: Path, most: int, within: Path | None = None) -> io.BufferedReader:
    """A regular file, open for reading. A FIFO cannot make it wait.

    Args:
        path: the file.
        most: the most bytes it may have.
        within: a folder above it; no link is followed below that folder, and the file itself may not be a link.

    Raises OSError.
    """
    if within is None:
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "its name has a zero byte", str(path))
        _require_regular(path.stat(), most, path)
        return _checked(os.open(path, _READ), most, path)
    relative = path.relative_to(within)
    with folder(within, relative.parent) as parent:
        return open_in(parent, relative.name, most, path)


def open_in(parent: int, name: str, most: int, shown: Path) -> io.BufferedReader:
    """A regular file in an open folder, open for reading; it may not be a link. See open_regular.

    `shown` is for errors. Raises OSError.
    """
    # Check before opening: opening a device can have effects.
    if "\0" not in name:
        _require_regular(os.stat(name, dir_fd=parent, follow_symlinks=False), most, shown)
    return _checked(_open(name, _READ | os.O_NOFOLLOW, parent, shown), most, shown)


def _checked(descriptor: int, most: int, path: Path) -> io.BufferedReader:
    try:
        _require_regular(os.fstat(descriptor), most, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _require_regular(found: os.stat_result, most: int, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"it is {kind_of(found.st_mode)}, not a file", str(path))
    if found.st_size > most:
        raise _too_long(most, path)


def _too_long(most: int, path: Path) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {size_words(most)}", str(path))


def read_bytes(path: Path, most: int, within: Path | None = None) -> bytes:
    """The content of a regular file of at most `most` bytes; see open_regular. Raises OSError."""
    with open_regular(path, most, within) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_long(most, path)
    return content


def pieces(path: Path, most: int, within: Path | None = None) -> Iterator[bytes]:
    """A regular file's content in pieces of at most a MiB; see open_regular. Raises OSError."""
    done = 0
    with open_regular(path, most, within) as file:
        while piece := file.read(_PIECE):
            done += len(piece)
            if done > most:
                raise _too_long(most, path)
            yield piece


def sha256(path: Path, most: int, within: Path | None = None) -> tuple[int, str]:
    """Size and SHA-256 (hexadecimal) of a regular file; see open_regular. Raises OSError."""
    size, digest = 0, hashlib.sha256()
    for piece in pieces(path, most, within):
        size += len(piece)
        digest.update(piece)
    return size, digest.hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 (hexadecimal) of a file that worldwise made, however long. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def copy(source: Path, target: Path, most: int, within: Path | None = None) -> str:
    """Copies a regular file (see open_regular) to a name that must be free. Returns its SHA-256. Raises OSError."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
        for piece in pieces(source, most, within):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


# --- writing and removing ---


def write_whole(root: Path, relative: PurePath | str, content: bytes) -> None:
    """Writes a file below a folder completely or not at all, and returns once it is on disk.

    No link below the folder is followed; a link in the file's place is replaced. Raises OSError.
    """
    relative = PurePath(relative)
    partial = f"{relative.name}.partial"
    with folder(root, relative.parent) as parent:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial, dir_fd=parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(partial, flags, 0o666, dir_fd=parent), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.rename(partial, relative.name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(partial, dir_fd=parent)
            raise
        os.fsync(parent)


def remove(root: Path, relative: PurePath | str) -> None:
    """Removes a file or a whole folder below `root`, if it is there.

    Folders without permissions get them first. A link is removed, not followed; a link on the way raises OSError.
    What cannot be removed raises OSError, after everything else is gone; a folder in which something is mounted does so
    before anything is.
    """
    relative = PurePath(relative)
    try:
        with folder(root, relative.parent) as parent:
            if stat.S_ISDIR(os.stat(relative.name, dir_fd=parent, follow_symlinks=False).st_mode):
                _refuse_mounts(Path(f"/proc/self/fd/{parent}").readlink() / relative.name)
                open_up(relative.name, parent)
                # Removal goes by descriptors all the way down, so nobody can slip in a link.
                shutil.rmtree(relative.name, dir_fd=parent, ignore_errors=True)
                # The second call raises the error for what is left.
                shutil.rmtree(relative.name, dir_fd=parent)
            else:
                os.unlink(relative.name, dir_fd=parent)
    except FileNotFoundError:
        return


def _refuse_mounts(folder: Path) -> None:
    """Raise OSError if a file system is mounted below a folder: what is removed there may be the host's own."""
    with contextlib.suppress(FileNotFoundError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            # The kernel writes spaces in octal.
            place = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), line.split()[4])
            if Path(place).is_relative_to(folder):
                raise OSError(errno.EBUSY, "a file system is mounted there; unmount it first", place)


def open_up(name: str, parent: int) -> None:
    """Give the owner all rights to a folder and every folder in it; skip those where that fails."""
    _let_enter(name, parent)
    for _, directories, _, descriptor in os.fwalk(name, dir_fd=parent, follow_symlinks=False):
        for inner in directories:
            _let_enter(inner, descriptor)


def _let_enter(name: str, parent: int) -> None:
    with contextlib.suppress(OSError):
        # An O_PATH descriptor needs no permission, and names the folder itself: no link is followed.
        descriptor = os.open(name, _FOLDER | os.O_PATH | os.O_NOFOLLOW, dir_fd=parent)
        try:
            mode = os.fstat(descriptor).st_mode
            if mode & 0o700 != 0o700:
                Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode) | 0o700)
        finally:
            os.close(descriptor)


# --- whole trees ---

_COPY = "a stranger's files must be copied without links and special files: cp -rL, or ask for an archive of files"


@dataclass(frozen=True)
class TreeLimits:
    """Limits of a tree: bytes in one file and in all, entries, and depth of folders."""

    file: int
    total: int
    entries: int
    depth: int


def check_tree(root: Path, limits: TreeLimits, loose: Callable[[PurePath, list[str]], bool] = lambda *_: False) -> None:
    """Refuses a tree with anything but regular files and folders of its own, or with more of them than the limits.

    Args:
        root: the folder.
        limits: how much it may have.
        loose: gets a folder (from `root`) and the names in it; True if nobody will open these, so they may be anything.

    An entry that disappears meanwhile is no problem. Raises WorldwiseError naming the entry and why.
    """
    tree = _CheckedTree(root, limits)
    todo = [PurePath()]
    while todo:
        at = todo.pop()
        try:
            with folder(root, at) as descriptor:
                names = listing(descriptor)
                free = loose(at, names)
                tree.count(names)
                for name in names:
                    try:
                        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if free:
                        continue
                    if stat.S_ISDIR(found.st_mode):
                        tree.check_folder(at / name, found)
                        todo.append(at / name)
                    else:
                        tree.check_file(at / name, found)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise WorldwiseError(f"{root / at}: cannot be read: {error.strerror}.", _COPY) from error


class _CheckedTree:
    """What check_tree has found so far, and the limits. Paths begin at `root`."""

    def __init__(self, root: Path, limits: TreeLimits) -> None:
        self._root = root
        self._limits = limits
        self._owners = {os.geteuid(), root.stat().st_uid}
        self._entries = 0
        self._total = 0

    def count(self, names: list[str]) -> None:
        """Add a folder's entries. Raises WorldwiseError if the tree has too many."""
        self._entries += len(names)
        if self._entries > self._limits.entries:
            raise WorldwiseError(f"{self._root}: has more than {self._limits.entries:,} files and folders.")

    def check_folder(self, path: PurePath, found: os.stat_result) -> None:
        """Raises WorldwiseError if a folder has another owner or is too deep."""
        self._require_own(path, found)
        if len(path.parts) > self._limits.depth:
            raise WorldwiseError(f"{self._at(path)}: more than {self._limits.depth} nested folders.")

    def check_file(self, path: PurePath, found: os.stat_result) -> None:
        """Raises WorldwiseError if anything but a folder has another owner, is no plain file, or is too large."""
        self._require_own(path, found)
        if not stat.S_ISREG(found.st_mode):
            raise WorldwiseError(f"{self._at(path)}: is {kind_of(found.st_mode)}, not a file or folder.", _COPY)
        if found.st_nlink > 1:
            raise WorldwiseError(
                f"{self._at(path)}: has {found.st_nlink} names (hard links): whoever has another one could change it.",
                _COPY,
            )
        self._total += found.st_size
        if found.st_size > self._limits.file:
            raise WorldwiseError(f"{self._at(path)}: has more than {size_words(self._limits.file)}.")
        if self._total > self._limits.total:
            raise WorldwiseError(f"{self._root}: its files have more than {size_words(self._limits.total)}.")

    def _at(self, path: PurePath) -> Path:
        """Where an entry is, as errors name it."""
        return self._root / path.parent / quoted(path.name)

    def _require_own(self, path: PurePath, found: os.stat_result) -> None:
        """Raises WorldwiseError if an entry belongs to a stranger."""
        if found.st_uid not in self._owners:
            raise WorldwiseError(
                f"{self._at(path)}: belongs to another user ({found.st_uid}) than {self._root}, and that user could "
                "change it.",
                "copy the file: the copy is yours",
            )
