# SPDX-License-Identifier: BSD-2-Clause
"""A user's library as a folder: copied into the cache, file by file, with the digest of each file."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from worldwise.base import files
from worldwise.base.disk import listing_digest
from worldwise.base.errors import WorldwiseError
from worldwise.lab.cache_locks import mark_used
from worldwise.lab.image import check_files

# No library's sources are larger than these limits.
MOST_FILES = 20_000

_MOST_FOLDERS = 5_000

_MOST_DEPTH = 32

_MOST_BYTES = 256 * 2**20


def copy_folder(directory: Path, name: str, store: Path, leave: Collection[str] = ()) -> tuple[Path, dict[str, str]]:
    """The folder's copy in the cache, and its files' digests. Hidden files and folders are left out.

    So are the folders and files of the names in `leave`, at the top.
    """
    store.mkdir(parents=True, exist_ok=True)
    top = directory.resolve()
    with tempfile.TemporaryDirectory(dir=store, prefix=".copying-") as work:
        copy = Path(work, "copy")
        copy.mkdir()
        listed: dict[str, str] = {}
        left = _MOST_BYTES
        for relative, source in files_of(directory, leave):
            shown = directory / relative
            try:
                size = source.stat().st_size
                if size > left or len(listed) >= MOST_FILES:
                    raise _too_much(directory)
                (copy / relative).parent.mkdir(parents=True, exist_ok=True)
                # A file can grow while it is copied, so the copy itself is limited too.
                listed[str(relative)] = files.copy(source, copy / relative, left, top)
                left -= (copy / relative).stat().st_size
            except OSError as error:
                if error.errno == errno.EFBIG:
                    raise _too_much(directory) from None
                raise WorldwiseError(f"{shown}: cannot be read: {error.strerror}") from error
        final = store / f"{name}-{listing_digest(listed)[:12]}"
        if final.exists() and check_files(final, listed):
            files.remove(store, final.name)
        if not final.exists():
            # Another run may make the same copy at this moment.
            with contextlib.suppress(OSError):
                copy.rename(final)
    problem = check_files(final, listed)
    if problem:
        raise WorldwiseError(f"{directory}: its copy is damaged: {problem}", "check the disk that holds the cache")
    mark_used(final)
    return final, listed


def _too_much(directory: Path) -> WorldwiseError:
    return WorldwiseError(
        f"{directory}: has more than {MOST_FILES:,} files or {_MOST_BYTES // 2**20} MiB",
        "remove everything but the sources from it, or give a folder within it",
    )


def files_of(directory: Path, leave: Collection[str] = ()) -> Iterator[tuple[Path, Path]]:
    """Every file below a folder, sorted by name: its path in the folder, and the path of its content.

    The two differ for a link to another file of the folder.
    """
    top = directory.resolve()
    seen = 0
    for folder, folders, names in os.walk(top):
        left = leave if Path(folder) == top else ()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in left)
        seen += 1
        if seen > _MOST_FOLDERS or len(Path(folder).relative_to(top).parts) > _MOST_DEPTH:
            raise WorldwiseError(
                f"{directory}: has more than {_MOST_FOLDERS:,} folders, or more than {_MOST_DEPTH} in one another",
                "remove everything but the sources from it, or give a folder within it",
            )
        for name in folders:
            if Path(folder, name).is_symlink():
                raise WorldwiseError(
                    f"{directory / Path(folder, name).relative_to(top)}: is a link to a folder",
                    "put the files themselves there",
                )
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith(".") or name in left:
                continue
            relative = path.relative_to(top)
            shown = directory / relative
            problem = files.name_problem(name)
            if problem:
                raise WorldwiseError(f"{directory}: {problem}", "rename it")
            # Not Path.resolve(): for a link to itself it raises something other than OSError.
            source = Path(os.path.realpath(path)) if path.is_symlink() else path
            if not source.is_relative_to(top):
                raise WorldwiseError(
                    f"{shown}: links to {files.quoted(str(path.readlink()))}, and that is not in the folder",
                    "put the file itself there: a run keeps the digest of all that it measured",
                )
            if not source.is_file():
                raise WorldwiseError(f"{shown}: is not a file", "leave it out of the folder")
            yield relative, source
