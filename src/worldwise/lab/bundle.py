# SPDX-License-Identifier: BSD-2-Clause
"""Archives of everything that locks need: written by `lab export`, read by `lab import`.

An archive is a tar file with `bundle.json`, then every file under the SHA-256 that the lock names it by. Locks of the
same content give the same bytes. Unpacked, it is a second source (see lab.debian.second).
"""

import hashlib
import io
import json
import re
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from worldwise.base import archives, files
from worldwise.base.disk import require_space
from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import parse_json
from worldwise.lab import oci
from worldwise.lab.debian.artefact import KIND
from worldwise.lab.debian.second_sources import CRATES, PACKAGES

MANIFEST = "bundle.json"
_FORMAT = 1
_MOST_MANIFEST = 16 * 2**20
_MEMBER = re.compile(rf"({PACKAGES}|{CRATES})/([0-9a-f]{{64}})")
# Of all files of an archive, and how many these are: more than all roots together have.
_MOST = 64 * 2**30
_MOST_MEMBERS = 100_000


@dataclass(frozen=True)
class Entry:
    """A file of an archive: its SHA-256, whether it is a crate, what it is in words, where it is or goes, and the most
    bytes that it has: as many as its lock says, if that says a size."""

    sha256: str
    crate: bool
    label: str
    path: Path
    most: int

    @property
    def member(self) -> str:
        """Its name in the archive."""
        return f"{CRATES if self.crate else PACKAGES}/{self.sha256}"


@dataclass(frozen=True)
class Imported:
    """How many files an import took, had already, and left out since no lock names them."""

    taken: int
    there: int
    foreign: int


def export(target: Path, roots: Mapping[str, str], entries: Iterable[Entry]) -> int:
    """Write an archive of files that are there, whole or not at all. Returns the number of its bytes.

    `roots` are the digests of the roots that the files make, by name. Raises WorldwiseError.
    """
    found = {entry.member: entry for entry in sorted(entries, key=lambda entry: entry.member)}
    described = {"format": _FORMAT, "roots": dict(roots), "files": {name: one.label for name, one in found.items()}}
    manifest = (json.dumps(described, indent=1, sort_keys=True) + "\n").encode()
    total = len(manifest) + sum(entry.path.stat().st_size for entry in found.values())
    require_space(target.parent, total, str(target))
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
            whole = Path(work, "bundle")
            with tarfile.open(whole, "w", format=tarfile.USTAR_FORMAT) as archive:
                _add(archive, MANIFEST, len(manifest), io.BytesIO(manifest))
                for name, entry in found.items():
                    with entry.path.open("rb") as file:
                        _add(archive, name, entry.path.stat().st_size, file)
            whole.replace(target)
    except OSError as error:
        raise WorldwiseError(f"{target}: could not be written: {error.strerror or error}.") from error
    return target.stat().st_size


def export_artefact(target: Path, roots: Mapping[str, str], entries: Iterable[Entry]) -> str:
    """Write the same files as an artefact for a registry (lab.debian.artefact), whole or not at all.

    Returns the SHA-256 of its manifest, by which a second source is named. Raises WorldwiseError.
    """
    found = {entry.sha256: (entry.path, entry.path.stat().st_size) for entry in entries}
    require_space(target.parent, sum(size for _, size in found.values()), str(target))
    title = "files of " + ", ".join(f"{name} {digest[:12]}" for name, digest in sorted(roots.items()))
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
            whole = Path(work, "artefact")
            digest = oci.write_artefact(whole, found, KIND, title)
            whole.replace(target)
    except OSError as error:
        raise WorldwiseError(f"{target}: could not be written: {error.strerror or error}.") from error
    return digest


def _add(archive: tarfile.TarFile, name: str, size: int, file: IO[bytes]) -> None:
    # All else that a member says of itself is as TarInfo has it: no time, no owner.
    member = tarfile.TarInfo(name)
    member.size = size
    archive.addfile(member, file)


def take(source: Path, wanted: Iterable[Entry]) -> Imported:
    """Take from an archive the files that locks name and the cache lacks; each is verified by its SHA-256.

    The archive may be a stranger's: it writes no more bytes of a file than the lock says. Raises WorldwiseError if it
    is no archive of `export`, is cut off, or has another file than its name says; what was taken before that stays.
    """
    known = {entry.member: entry for entry in wanted}
    taken = there = foreign = 0
    try:
        with files.open_regular(source, _MOST) as archive:
            members = archives.members(archive, _MOST, _MOST_MEMBERS)
            listed = _manifest(source, next(members, None))
            for member in members:
                name = member.name
                if member.is_folder or name not in listed or not _MEMBER.fullmatch(name):
                    raise archives.ArchiveError(f"'{files.quoted(name)}' is not part of this archive")
                listed.discard(name)
                entry = known.get(name)
                if entry is None:
                    foreign += 1
                elif entry.path.exists() and files.file_sha256(entry.path) == entry.sha256:
                    there += 1
                else:
                    _take(source, entry, member)
                    taken += 1
    except archives.ArchiveError as error:
        raise WorldwiseError(f"{source}: {error}.", _AGAIN) from error
    except OSError as error:
        raise WorldwiseError(f"{error.filename or source}: {error.strerror or error}.", _DISK) from error
    if listed:
        raise WorldwiseError(f"{source}: is cut off: {len(listed)} of its files are missing.", _AGAIN)
    return Imported(taken, there, foreign)


_AGAIN = "get it again, or make it with `worldwise lab export FILE`; files that were whole are kept"
_DISK = "see the path and its permissions, and the space on the disk; files that were whole are kept"


def _manifest(source: Path, first: archives.Member | None) -> set[str]:
    """The names of the files that an archive says it has, by its first member."""
    try:
        if first is None or first.name != MANIFEST or first.size > _MOST_MANIFEST:
            raise ValueError("another file is the first")
        described = parse_json(b"".join(first.pieces()))
        if described["format"] != _FORMAT:
            raise ValueError(f"its format is not {_FORMAT}")
        return set(described["files"])
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{source}: is not an archive of `lab export`: it has no {MANIFEST} that says so"
        raise WorldwiseError(f"{problem} ({files.quoted(str(error))}).", _AGAIN) from error


def _take(source: Path, entry: Entry, member: archives.Member) -> None:
    differs = f"{source}: {entry.label} is not the file that was locked: SHA-256 {entry.sha256}"
    if member.size > entry.most:
        raise WorldwiseError(f"{differs}, of at most {entry.most:,} bytes; it has {member.size:,}.", _AGAIN)
    entry.path.parent.mkdir(parents=True, exist_ok=True)
    require_space(entry.path.parent, member.size, entry.label)
    with tempfile.TemporaryDirectory(dir=entry.path.parent.parent, prefix="partial-") as work:
        whole = Path(work, "file")
        digest = hashlib.sha256()
        with whole.open("xb") as copy:
            for piece in member.pieces():
                digest.update(piece)
                copy.write(piece)
        if digest.hexdigest() != entry.sha256:
            raise WorldwiseError(f"{differs}, got {digest.hexdigest()}.", _AGAIN)
        whole.chmod(0o644)
        whole.replace(entry.path)
