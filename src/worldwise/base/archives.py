# SPDX-License-Identifier: BSD-2-Clause
"""Tar archives that strangers may have made: plain files and folders, read in order, each of a bounded size.

The standard library reads every kind of archive there is: sparse files that are larger than the archive, links to
other members, headers of any length, sizes below zero. Our archives have none of these. So this module takes from
it what reads one header of 512 bytes, and walks from header to header itself.
"""

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from worldwise.base import files

_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 20
# Of the records that give the next member a long name or a large size; ours have a path of at most 4 KiB.
_MOST_EXTENDED = 16 * 1024
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)
_END = bytes(_BLOCK)


class ArchiveError(ValueError):
    """What is wrong with an archive, in words that complete "FILE: ..."."""


@dataclass(frozen=True)
class Member:
    """A file or a folder of an archive.

    Attributes:
        name: as the archive says it; the caller checks it before it becomes a path.
        size: the file's bytes, all of which the archive has; 0 for a folder.
        is_folder: whether it is a folder.
        is_program: whether its owner may execute it.
    """

    name: str
    size: int
    is_folder: bool
    is_program: bool
    _file: IO[bytes]

    def pieces(self) -> Iterator[bytes]:
        """The file's content, once, before the next member is asked for. Raises OSError, ArchiveError."""
        left = self.size
        while left:
            piece = self._file.read(min(left, _PIECE))
            if not piece:
                raise ArchiveError("it is cut off")
            left -= len(piece)
            yield piece


def members(file: IO[bytes], most: int, most_members: int, behind: int = 0) -> Iterator[Member]:
    """The members of an uncompressed archive, in order.

    Args:
        file: the archive, at its beginning; one that can seek.
        most: the most bytes that all its files may have together.
        most_members: the most members that it may have.
        behind: the last so many bytes of the file are no part of the archive.

    Raises OSError, and ArchiveError for whatever no archive of ours has.
    """
    end = os.fstat(file.fileno()).st_size - behind
    at = total = count = 0
    more: dict[str, str] = {}
    while True:
        header = _header(file, at, end)
        at += _BLOCK
        if header is None:
            if more:
                raise ArchiveError("it is cut off")
            return
        count += 1
        if count > most_members:
            raise ArchiveError(f"it has more than {most_members:,} members")
        name, size = more.get("path", header.name), _size(more, header.size)
        content = size if header.type != tarfile.DIRTYPE else 0
        if header.size < 0 or content > end - at:
            raise ArchiveError(f"'{files.quoted(name)}' has another size than it says, or the archive is cut off")
        if header.type == tarfile.XHDTYPE:
            if more or content > _MOST_EXTENDED:
                raise ArchiveError("it has a kind of header that worldwise's archives never have")
            more = _extended(file.read(content))
        elif header.type in _FILES or header.type == tarfile.DIRTYPE:
            more, total = {}, total + content
            if total > most:
                raise ArchiveError(f"its files have more than {files.size_words(most)}")
            yield Member(name, content, header.type == tarfile.DIRTYPE, bool(header.mode & 0o100), file)
        else:
            raise ArchiveError(f"'{files.quoted(name)}' is neither a file nor a folder in it")
        at += -(-content // _BLOCK) * _BLOCK


def _header(file: IO[bytes], at: int, end: int) -> tarfile.TarInfo | None:
    """The header at a place; None at the archive's end."""
    if at + _BLOCK > end:
        raise ArchiveError("it is cut off")
    file.seek(at)
    block = file.read(_BLOCK)
    if block == _END:
        return None
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError) as error:
        problem = "it is cut off" if len(block) < _BLOCK else f"it is not an archive: {files.quoted(str(error))}"
        raise ArchiveError(problem) from None


def _size(more: dict[str, str], size: int) -> int:
    text = more.get("size", "")
    if not text:
        return size
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise ArchiveError(f"'{files.quoted(text)}' is no size")
    return int(text)


def _extended(data: bytes) -> dict[str, str]:
    """The records `LENGTH KEY=VALUE\\n` of what a short header has no place for: the path and the size."""
    found: dict[str, str] = {}
    while data:
        length, _, rest = data.partition(b" ")
        try:
            whole = int(length) if length.isdigit() and len(length) <= 5 else 0
            record = rest[: whole - len(length) - 2].decode()
        except ValueError:
            whole = 0
        if whole <= len(length) + 2 or whole > len(data) or data[whole - 1 : whole] != b"\n":
            raise ArchiveError("it is not an archive: bad records of a header")
        key, equals, value = record.partition("=")
        if key not in ("path", "size") or not equals or key in found:
            raise ArchiveError(f"'{files.quoted(key)}' is in a header, where worldwise's archives never have it")
        found[key] = value
        data = data[whole:]
    return found
