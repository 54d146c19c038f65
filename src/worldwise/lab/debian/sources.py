# SPDX-License-Identifier: BSD-2-Clause
"""Where a locked file may come from, in the order of trying: mirrors, the archive of snapshots, second sources.

None is trusted: whoever asks verifies what comes.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args
from urllib.parse import quote, unquote

from worldwise.base import archives, files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.lab.debian import snapshots
from worldwise.lab.debian.artefact import Artefact
from worldwise.lab.debian.lock import Wanted
from worldwise.lab.debian.mirrors import Fetch, download, end_downloads, mirrors
from worldwise.lab.debian.second_sources import PACKAGES, archive_of, is_artefact, second_sources
from worldwise.lab.debian.web import AT_A_TIME, Server

Kind = Literal["mirrors", "snapshots", "second"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Names the kinds of sources that may be tried, to try one alone.
FROM_VARIABLE = "WORLDWISE_FROM"

# apt fetches the files of one call over one connection, pipelined; a few calls at a time fill the line.
_BATCH, _WORKERS = 16, 4
# Of all files of an archive, and how many these are: more than all roots together have.
_MOST, _MOST_MEMBERS = 64 * 2**30, 100_000


class FileSource(Protocol):
    """A place that may have locked files.

    Attributes:
        kind: what it is.
        name: what people call it.
        batch: how many files one call fetches.
        workers: how many calls it takes at a time.
    """

    kind: Kind
    name: str
    batch: int
    workers: int

    def fetch(self, wanted: Sequence[Wanted], partial: Path) -> dict[Wanted, str]:
        """Fetch files, each to its SHA-256 in the folder `partial`; why one did not come, for each such."""

    def stop(self) -> None:
        """End what `fetch` does, from another thread."""


@dataclass
class ByApt:
    """A mirror, or a second source that has an archive of `lab export` unpacked: apt fetches from it."""

    kind: Kind
    name: str
    batch: int = _BATCH
    workers: int = _WORKERS

    def fetch(self, wanted: Sequence[Wanted], partial: Path) -> dict[Wanted, str]:
        """See Source."""
        # The digest is checked by the caller, so that the error can name both.
        asked = [
            Fetch(f"{self.name}/{quote(self._place(one), safe='/+~:%')}", partial / one.file.sha256, one.file.size)
            for one in wanted
        ]
        late = ""
        try:
            said = download(asked).stderr
        except subprocess.TimeoutExpired as error:
            late = said = f"timed out: not whole after {error.timeout:.0f} s"
        reasons = _apt_failures(said)
        last = "".join(said.strip().splitlines()[-1:]) or "no answer"
        found = {}
        for one in wanted:
            path = partial / one.file.sha256
            if late and path.exists() and path.stat().st_size != one.file.size:
                path.unlink()
            if not path.exists():
                found[one] = reasons.get(Path(self._place(one)).name) or last
        return found

    def stop(self) -> None:
        """See Source."""
        end_downloads()

    def _place(self, item: Wanted) -> str:
        return item.path if self.kind == "mirrors" else f"{PACKAGES}/{item.file.sha256}"


@dataclass
class Snapshots:
    """The archive of snapshots, by the template of its addresses."""

    template: str
    told: Callable[[str], None]
    kind: Kind = "snapshots"
    name: str = "the archive of snapshots"
    batch: int = 1
    workers: int = AT_A_TIME

    def __post_init__(self) -> None:
        self.server = Server(self.name, self.told)

    def fetch(self, wanted: Sequence[Wanted], partial: Path) -> dict[Wanted, str]:
        """See Source."""
        found = {}
        for one in wanted:
            why = "the lock says neither time nor SHA-1"
            for address in snapshots.addresses(self.template, one):
                why = self.server.fetch(address, partial / one.file.sha256, one.file.size)
                if not why.startswith("404"):
                    break
            if why:
                found[one] = why
        return found

    def stop(self) -> None:
        """See Source."""
        self.server.stop()


@dataclass
class ByDigest:
    """A second source that gives one file at a time, by its SHA-256: an artefact of a registry, or an archive."""

    name: str
    bring: Callable[[str, str, Path, int], str]
    end: Callable[[], None] = lambda: None
    workers: int = 1
    kind: Kind = "second"
    batch: int = 1

    def fetch(self, wanted: Sequence[Wanted], partial: Path) -> dict[Wanted, str]:
        """See Source."""
        asked = {one: self.bring(PACKAGES, one.file.sha256, partial / one.file.sha256, one.file.size) for one in wanted}
        return {one: why for one, why in asked.items() if why}

    def stop(self) -> None:
        """See Source."""
        self.end()


@dataclass
class _Archive:
    """An archive of `lab export` that is not unpacked."""

    path: Path
    _places: dict[str, tuple[int, int]] | None = None
    _problem: str = field(default="", init=False)

    def bring(self, folder: str, sha256: str, path: Path, most: int) -> str:
        try:
            at, size = self.places().get(f"{folder}/{sha256}", (0, most + 1))
            if self._problem or not at:
                return self._problem or "404  it is not in the archive"
            if size > most:
                return f"it has {size:,} bytes, not {most:,}"
            with files.open_regular(self.path, _MOST) as archive, path.open("wb") as copy:
                archive.seek(at)
                while size and (piece := archive.read(min(size, 1 << 20))):
                    size -= copy.write(piece)
            return ""
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"

    def places(self) -> dict[str, tuple[int, int]]:
        """Where each file begins, and its bytes. Raises OSError."""
        if self._places is None:
            self._places = {}
            with files.open_regular(self.path, _MOST) as archive:
                try:
                    for member in archives.members(archive, _MOST, _MOST_MEMBERS):
                        self._places[member.name] = (archive.tell(), member.size)
                except archives.ArchiveError as error:
                    self._problem = str(error)
        return self._places


def second(address: str, told: Callable[[str], None]) -> FileSource:
    """The second source of an address that `second_sources` gives. Raises WorldwiseError for a bad one."""
    if is_artefact(address):
        artefact = Artefact(address, told)

        def bring(_: str, sha256: str, path: Path, most: int) -> str:
            return artefact.fetch(sha256, path, most)

        # Read before threads ask for it.
        artefact.blobs()
        return ByDigest(address, bring, artefact.server.stop, AT_A_TIME)
    archive = archive_of(address)
    return ByDigest(address, _Archive(archive).bring) if archive else ByApt("second", address)


def bring_one(address: str, folder: str, sha256: str, path: Path, most: int, told: Callable[[str], None]) -> None:
    """Have a second source put the file of a SHA-256 at a path, if it has it. Nothing is verified."""
    source = second(address, told)
    if isinstance(source, ByDigest):
        source.bring(folder, sha256, path, most)
        return
    try:
        download([Fetch(f"{address}/{folder}/{sha256}", path, most)])
    except subprocess.TimeoutExpired:
        path.unlink(missing_ok=True)


def listing(address: str) -> frozenset[str] | None:
    """The SHA-256 of every file that a second source lists; None if it lists none, and has to be asked for each."""
    if is_artefact(address):
        return Artefact(address).blobs()
    archive = archive_of(address)
    if archive is None:
        return None
    try:
        return frozenset(name.rpartition("/")[2] for name in _Archive(archive).places())
    except OSError:
        return frozenset()


def kinds() -> tuple[Kind, ...]:
    """The kinds of sources that may be tried: all, or those of WORLDWISE_FROM. Raises WorldwiseError."""
    named = os.environ.get(FROM_VARIABLE, "").split()
    for word in named:
        if word not in KINDS:
            raise WorldwiseError(f"{FROM_VARIABLE}: {word} is no kind of source", did_you_mean(word, KINDS))
    return tuple(kind for kind in KINDS if kind in named) or KINDS


def sources(suite: str, told: Callable[[str], None]) -> Iterator[FileSource]:
    """Every source, in the order of trying; `told` is called with a line of text when one wants a pause.

    Raises WorldwiseError for a setting that names none.
    """
    allowed = kinds()
    known: list[str] = []
    for mirror in mirrors(suite):
        known.append(mirror)
        if "mirrors" in allowed:
            yield ByApt("mirrors", mirror)
    if "snapshots" in allowed and (template := snapshots.template(known)):
        yield Snapshots(template, told)
    if "second" in allowed:
        for address in second_sources():
            yield second(address, told)


def _apt_failures(stderr: str) -> dict[str, str]:
    """Reason of each file apt could not fetch, by file name, from `E: Failed to fetch address  reason`."""
    found = re.findall(r"^E: Failed to fetch (\S+) +(.*)$", stderr, re.MULTILINE)
    return {unquote(address.rsplit("/", 1)[-1]): reason for address, reason in found}
