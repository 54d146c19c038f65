# SPDX-License-Identifier: BSD-2-Clause
"""An object store that many machines share, such as S3, by fsspec, an optional package; see store.py beside it.

A folder is one object, a tar archive with its own SHA-256 behind it. An object store has all of an object or nothing,
so a reader sees whole things, however many write at once, and a writer that is killed leaves nothing.
"""

import contextlib
import errno
import functools
import hashlib
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from worldwise.base import archives, files, paths
from worldwise.base.errors import HostError
from worldwise.lab.sandbox.file_copies import MOST_FILES
from worldwise.lab.sandbox.limits import BUILD

# What a folder that machines share may have: what a build may leave, and folders besides. No result has as much.
LIMITS = files.TreeLimits(file=BUILD.file_size, total=BUILD.disk, entries=2 * MOST_FILES, depth=64)
# A member has a header, a header of a long name with its records, and fills its last block.
MOST_ARCHIVE = LIMITS.total + LIMITS.entries * 4096
# What an archive cannot have a file for: a name that is there, or that of a file as a folder.
_NO_PLACE = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)
_TAR = ".tar"
# Bytes: of a digest in hexadecimal, and of what is read at once.
_DIGEST = 64
_PIECE = 2**20
# What `check` writes and reads.
_MARK, _TEXT = "worldwise-store", b"What `worldwise run --cache` shares: docs/use/machines.md.\n"


class Objects:
    """The objects below a URL. Every method but `check` raises OSError, whatever the store's package raises.

    Args:
        url: with its protocol, such as `s3://bucket/prefix`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise HostError(
                f"{url}: a store other than a folder needs fsspec, and this Python's environment lacks it ({error}).",
                _with_pip("fsspec") if paths.INSTALLED else "WORLDWISE_WITH=dask ./worldwise ... makes one that has it",
            ) from error
        try:
            self._system, root = url_to_fs(url)
        except ImportError as error:
            protocol = url.partition("://")[0]
            raise HostError(
                f"{url}: fsspec lacks a package for {protocol}:// ({error}).", _with_pip(_package(protocol))
            ) from error
        except Exception as error:
            raise HostError(f"{url}: no store: {_words(error)}.", "such as s3://bucket/prefix") from error
        self._root = root.rstrip("/")
        # A web server is asked for nothing that it is not there for.
        self._writes = not url.startswith(("http://", "https://"))

    def check(self) -> None:
        """Write something and read it. Raises HostError that says what is wrong with the store."""
        if not self._writes:
            return
        try:
            with _as_os_errors():
                self._system.pipe_file(f"{self._root}/{_MARK}", _TEXT)
                if self._system.cat_file(f"{self._root}/{_MARK}") != _TEXT:
                    raise OSError(errno.EIO, "it gives back other bytes than worldwise wrote")
        except FileNotFoundError as error:
            raise HostError(f"{self.url}: no such bucket or place: {_words(error)}.", "make it first") from error
        except PermissionError as error:
            raise HostError(
                f"{self.url}: no right to write and read there: {_words(error)}.",
                "see the credentials that its package takes, such as AWS_PROFILE, and their rights there",
            ) from error
        except OSError as error:
            if error.errno == errno.EROFS:
                # Its things can be taken all the same.
                return
            raise HostError(
                f"{self.url}: cannot be used: {_words(error)}.", "see its address and its credentials"
            ) from error

    def where(self, kind: str, name: str) -> str:
        """What people call a thing."""
        return f"{self.url}/{kind}/{name}"

    def has(self, kind: str, name: str) -> bool:
        """Whether a file, or a folder, is there; True too if nothing can be written, which is then left be."""
        if not self._writes:
            return True
        with _as_os_errors():
            # Others write too: what was seen before says nothing.
            self._system.invalidate_cache()
            return any(self._system.exists(f"{self._path(kind, name)}{end}") for end in ("", _TAR))

    def fetch(self, kind: str, name: str, copy: Path) -> str | None:
        """Copy a folder to a free name; what is wrong with it, or nothing. None if it is not there."""
        with tempfile.TemporaryDirectory(dir=copy.parent) as work:
            archive = Path(work, "archive")
            wrong = self.fetch_file(kind, name + _TAR, archive, MOST_ARCHIVE)
            if wrong is None or wrong:
                return wrong
            if not has_own_digest(archive):
                return "its SHA-256 does not fit its content"
            try:
                unpack(archive, copy)
            except archives.ArchiveError as error:
                return str(error)
        return ""

    def fetch_file(self, kind: str, name: str, copy: Path, most: int) -> str | None:
        """Copy a file of at most `most` bytes to a free name; see `fetch`."""
        path, counted = self._path(kind, name), _counted(min(most, room(copy.parent)))
        try:
            with _as_os_errors():
                self._system.invalidate_cache()
                if not getattr(self._system, "async_impl", False):
                    # It may copy without counting.
                    with contextlib.suppress(Exception):
                        size = self._system.size(path)
                        counted.absolute_update(size if isinstance(size, int) else 0)
                    counted.require()
                    counted.value = 0
                self._system.get_file(path, str(copy), callback=counted)
                counted.absolute_update(copy.stat().st_size)
                counted.require()
        except FileNotFoundError:
            return None
        except OSError:
            # Whatever the store's package made of it.
            if counted.beyond:
                return f"it has more than {files.size_words(counted.most)}"
            raise
        return ""

    def put(self, kind: str, name: str, folder: Path) -> None:
        """Make a copy of a folder there."""
        with tempfile.TemporaryDirectory() as work:
            archive = Path(work, "archive")
            _pack(folder, archive)
            self.put_file(kind, name + _TAR, archive)

    def put_file(self, kind: str, name: str, source: Path) -> None:
        """Make a copy of a file there."""
        path = self._path(kind, name)
        try:
            with _as_os_errors():
                try:
                    self._system.put_file(str(source), path)
                except FileNotFoundError:
                    # Some systems have folders. But a bucket is not made here.
                    if not self._system.exists(self._root):
                        raise
                    self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
                    self._system.put_file(str(source), path)
        except OSError as error:
            self._writes = error.errno != errno.EROFS
            raise

    def remove(self, kind: str, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        with _as_os_errors():
            for end in ("", _TAR):
                with contextlib.suppress(FileNotFoundError):
                    self._system.rm_file(f"{self._path(kind, name)}{end}")

    def _path(self, kind: str, name: str) -> str:
        return f"{self._root}/{kind}/{name}"


@functools.lru_cache(maxsize=8)
def objects_at(url: str) -> Objects:
    """The objects below a URL; one connection serves all threads. Raises HostError."""
    return Objects(url)


def room(folder: Path) -> int:
    """The bytes that a thing which is fetched to a folder may take at most, so that the disk is not filled."""
    return shutil.disk_usage(folder).free * 9 // 10


def _counted(most: int) -> Any:
    """What counts the bytes of a file that is fetched, and ends that beyond `most`: no server need say the truth."""
    from fsspec.callbacks import Callback

    class Counted(Callback):  # type: ignore[misc] # fsspec has no types
        def __init__(self) -> None:
            super().__init__()
            self.most = most
            self.beyond = False

        def require(self) -> None:
            self.beyond = self.beyond or self.value > self.most
            if self.beyond:
                raise OSError(errno.EFBIG, f"it has more than {files.size_words(self.most)}")

        def call(self, *_: Any, **__: Any) -> None:
            self.require()

    return Counted()


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Have what the packages of the stores raise be OSError: each has kinds of its own."""
    try:
        yield
    except OSError:
        raise
    except NotImplementedError as error:
        raise OSError(errno.EROFS, "nothing can be written there") from error
    except Exception as error:
        raise OSError(errno.EIO, _words(error)) from error


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.rstrip(".")
    return (" ".join(str(error).split()) or type(error).__name__).rstrip(".")


def _package(protocol: str) -> str:
    """The package for a protocol, as far as fsspec's registry has its name; two have versions as fsspec has."""
    import fsspec
    from fsspec.registry import known_implementations

    name = str(known_implementations.get(protocol, {}).get("class", protocol).partition(".")[0])
    return f"{name}=={fsspec.__version__}" if name in ("gcsfs", "s3fs") else name


def _with_pip(package: str) -> str:
    return f"{sys.executable} -I -m pip install {package}"


def _pack(folder: Path, archive: Path) -> None:
    """Write the regular files and folders of a folder, and the SHA-256. Raises OSError for anything else in it."""
    with tarfile.open(archive, "x") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise OSError(errno.ELOOP, f"'{files.quoted(path.name)}' is a link, or no file", str(path))
            info = tarfile.TarInfo(str(path.relative_to(folder)))
            if path.is_dir():
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
                continue
            info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            with path.open("rb") as file:
                info.size = path.stat().st_size
                tar.addfile(info, file)
    digest = files.file_sha256(archive)
    with archive.open("ab") as file:
        file.write(digest.encode())


def has_own_digest(archive: Path) -> bool:
    """Whether an archive has its own SHA-256 behind it."""
    digest, left = hashlib.sha256(), archive.stat().st_size - _DIGEST
    with archive.open("rb") as file:
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
        return file.read() == digest.hexdigest().encode()


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of an archive, which may be a stranger's, to a new folder. Raises OSError, ArchiveError."""
    folder.mkdir()
    most = min(LIMITS.total, room(folder))
    with archive.open("rb") as file:
        for member in archives.members(file, most, LIMITS.entries, behind=_DIGEST):
            problem = files.path_problem(member.name)
            name = PurePosixPath(member.name)
            if problem:
                raise archives.ArchiveError(problem)
            if len(name.parts) > LIMITS.depth:
                raise archives.ArchiveError(f"it has folders nested more than {LIMITS.depth} deep")
            if member.size > LIMITS.file:
                raise archives.ArchiveError(f"it has a file of more than {files.size_words(LIMITS.file)}")
            try:
                _write(member, folder / name)
            except OSError as error:
                if error.errno in _NO_PLACE:
                    raise archives.ArchiveError(f"'{files.quoted(member.name)}': {error.strerror}") from None
                raise


def _write(member: archives.Member, path: Path) -> None:
    if member.is_folder:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for piece in member.pieces():
            file.write(piece)
    path.chmod(0o755 if member.is_program else 0o644)
