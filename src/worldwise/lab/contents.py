# SPDX-License-Identifier: BSD-2-Clause
"""The bytes of a root: a list of all its files with their SHA-256, and the checks that they have not changed.

Beside the root are two files. `files.jsonl` has a header, a line for each file (path, bytes, SHA-256) and link (path,
target), and the SHA-256 of all that as its last line. `checked.json` says when each part was last found unchanged.

Each start checks three things. Programs and large files must have the size, inode and times of their last hash, else
they are hashed again. QEMU and the libraries it loads decide a count, so they are hashed every time. The other files
take turns: each start hashes the next ones for a fifth of a second, so the whole root is verified again and again.
"""

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from worldwise.base.files import file_sha256

LIST = "files.jsonl"
STATE = "checked.json"
# Seconds that a start gives to the files whose turn it is.
BUDGET = 0.2
_FORMAT = 1
# Files are hashed in batches of at most so many files or bytes.
BATCH_FILES = 64
_BATCH_BYTES = 16_000_000
_HASHES_AT_A_TIME = min(4, os.cpu_count() or 1)
# The program that runs while instructions are counted; worldwise runs no other emulator of the root.
_DECIDING = "usr/bin/qemu-system-aarch64"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "lib/x86_64-linux-gnu", "lib64", "lib")
# A longer chain of links is taken for a loop.
_MOST_LINKS = 40

Stat = list[int]


@dataclass(frozen=True)
class Entry:
    """A file or link of a root: a file has `size` and `sha256`, a link has `target`."""

    path: str
    size: int = 0
    sha256: str = ""
    target: str = ""


@dataclass(frozen=True)
class Verified:
    """What a full verification found. `problems` is empty if no file has changed."""

    files: int
    links: int
    size: int
    seconds: float
    problems: tuple[str, ...]


@dataclass
class _List:
    """`files.jsonl`, its entries still as text: a start needs few of the thousands."""

    sum: str
    deciding: dict[str, str]
    made: str
    lines: list[bytes]

    def entries(self, begin: int = 0) -> Iterator[Entry]:
        """The entries from number `begin` on."""
        return (_entry(json.loads(self.lines[number])) for number in range(begin, len(self.lines)))


@dataclass
class _State:
    """`checked.json`.

    Attributes:
        sum: SHA-256 of the list that this state belongs to.
        stats: size, times and inode of programs and large files, as of their last hash.
        folders: the same of the folders around these files, as of the last look at the names in them.
        next: the number of the entry that the next start begins with.
        round: when the current round of verification began.
        whole: every file was found unchanged at this time or later.
        started: the files that decide a count were found unchanged at this time.
        damage: what a full verification found.
    """

    sum: str
    stats: dict[str, Stat] = field(default_factory=dict)
    folders: dict[str, Stat] = field(default_factory=dict)
    next: int = 0
    round: str = ""
    whole: str = ""
    started: str = ""
    damage: str = ""


class Contents:
    """The files of a root.

    Args:
        root: the root.
        directory: where the list and the state are: outside the root, so nothing that runs in the root can write them.
        title: the root's name in messages.
    """

    def __init__(self, root: Path, directory: Path, title: str = "the lab") -> None:
        self._root = root
        self._directory = directory
        self._title = title

    @property
    def listed(self) -> bool:
        """Whether there is a list: older versions made roots without one."""
        return (self._directory / LIST).exists()

    def record(self, witness: Iterable[str], known: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Hash every file and write the list.

        Args:
            witness: paths of programs and large files.
            known: MD5 of some files by path, as their packages give it.

        Returns the list's SHA-256, and what is wrong with a file of `known`: then no list is written.
        """
        began = stamp()
        paths = sorted(_walk(self._root))
        stats = self.stats_of(witness)
        with ThreadPoolExecutor(_HASHES_AT_A_TIME) as pool:
            entries = list(pool.map(lambda path: self._read(path, known or {}), paths))
        wrong = next((entry for entry in entries if isinstance(entry, str)), "")
        if wrong:
            return "", wrong
        found = [entry for entry in entries if isinstance(entry, Entry)]
        digests = {entry.path: entry.sha256 for entry in found}
        deciding = {path: digests[path] for path in _deciding(self._root) if digests.get(path)}
        header = {"format": _FORMAT, "made": began, "deciding": deciding}
        text = "".join(json.dumps(line) + "\n" for line in (header, *map(_line, found))).encode()
        total = hashlib.sha256(text).hexdigest()
        _replace(self._directory / LIST, text + f"{total}\n".encode())
        folders = self._folders(stats)
        self._save(_State(total, stats, folders, round=began, whole=began, started=began))
        return total, ""

    def problem(self, witness: Iterable[str], expected: str = "", budget: float | None = None) -> str:
        """Empty if what a start checks is unchanged, else what is wrong, and since when it may have been so.

        Args:
            witness: paths of programs and large files.
            expected: the list's SHA-256 if the root's marker has it.
            budget: seconds for the files whose turn it is (at least one batch); None to skip them.
        """
        try:
            listed = self._load()
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"{self._directory / LIST} cannot be read ({error})"
        if expected and listed.sum != expected:
            return f"{self._directory / LIST} is not the list that was made with {self._title}"
        state = self._state(listed)
        now = stamp()
        if state.damage:
            return state.damage
        wrong = self._differing(listed.deciding)
        if wrong:
            return self._told(wrong, state.started)
        wrong = self._witnesses(listed, state, witness)
        if not wrong and budget is not None:
            wrong = self._next(listed, state, budget)
        if wrong:
            return self._told(wrong, state.whole)
        state.started = now
        # Without a saved state the same checks are only repeated more often.
        with contextlib.suppress(OSError):
            self._save(state)
        return ""

    def found_whole(self, expected: str) -> float:
        """When a start found what it checks unchanged, in seconds of the epoch; 0 if that is not known.

        Args:
            expected: the list's SHA-256, as the root's marker has it.
        """
        with contextlib.suppress(OSError, ValueError, TypeError):
            state = _State(**json.loads((self._directory / STATE).read_text(encoding="utf-8")))
            if state.sum == expected and not state.damage:
                return datetime.fromisoformat(state.started).timestamp()
        return 0

    def verify(self, progress: Callable[[int, int], None] = lambda _done, _of: None) -> Verified:
        """Hash everything, and look for added files. From then on `problem` reports what was found.

        Args:
            progress: called with the bytes done and all bytes.
        """
        began, clock = stamp(), time.monotonic()
        listed = self._load()
        entries = list(listed.entries())
        state = self._state(listed)
        there = set(_walk(self._root))
        missing = [f"{self._root / entry.path} is missing" for entry in entries if entry.path not in there]
        added = sorted(there - {entry.path for entry in entries})
        problems = [*missing, *(f"{self._root / path} was added" for path in added)]
        stats = self.stats_of(state.stats)
        whole = sum(entry.size for entry in entries)
        done = 0
        for batch in _batches([entry for entry in entries if entry.path in there]):
            problems += self._all_differing(batch)
            done += sum(entry.size for entry in batch)
            progress(done, whole)
        if problems:
            state.damage = self._told(problems[0], state.whole)
        else:
            state = _State(listed.sum, stats, self._folders(stats), round=began, whole=began, started=began)
        with contextlib.suppress(OSError):
            self._save(state)
        links = sum(not entry.sha256 for entry in entries)
        return Verified(len(entries) - links, links, whole, time.monotonic() - clock, tuple(problems))

    # --- the checks of a start ---

    def _witnesses(self, listed: _List, state: _State, witness: Iterable[str]) -> str:
        """What is wrong with programs, large files and their folders; touched files are hashed."""
        stats = self.stats_of(witness)
        touched = {path for path in stats if state.stats.get(path) != stats[path]}
        folders = self._folders(stats)
        entered = {folder for folder in folders if state.folders.get(folder) != folders[folder]}
        if not touched and not entered:
            return ""
        entries = list(listed.entries())
        known = {entry.path for entry in entries}
        for folder in sorted(entered):
            for name in sorted(os.listdir(self._root / folder)):  # noqa: PTH208 -- only names are needed
                path = f"{folder}/{name}".lstrip("/")
                if path not in known and not (self._root / path).is_dir():
                    return f"{self._root / path} was added"
        for batch in _batches([entry for entry in entries if entry.path in touched]):
            if wrong := self._all_differing(batch):
                return wrong[0]
        state.stats, state.folders = stats, folders
        return ""

    def _next(self, listed: _List, state: _State, budget: float) -> str:
        """What is wrong with the files whose turn it is."""
        end = time.monotonic() + budget
        for batch in _batches(listed.entries(state.next)):
            if wrong := self._all_differing(batch):
                return wrong[0]
            state.next += len(batch)
            if time.monotonic() >= end:
                break
        if state.next >= len(listed.lines):
            state.whole, state.round, state.next = state.round, stamp(), 0
        return ""

    def _differing(self, digests: Mapping[str, str]) -> str:
        return next(iter(self._all_differing([Entry(path, 0, sha256) for path, sha256 in digests.items()])), "")

    def _all_differing(self, entries: Sequence[Entry]) -> list[str]:
        """What is wrong with files and links; several are hashed at a time."""
        with ThreadPoolExecutor(_HASHES_AT_A_TIME) as pool:
            return [wrong for wrong in pool.map(self.wrong_entry, entries) if wrong]

    def wrong_entry(self, entry: Entry) -> str:
        """What is wrong with a file of the list; empty if it is as it was made."""
        path = self._root / entry.path
        try:
            if not entry.sha256:
                same = os.readlink(path) == entry.target  # noqa: PTH115 -- the very text of the link
            else:
                same = not path.is_symlink() and file_sha256(path) == entry.sha256
        except OSError as error:
            return f"{path} cannot be read ({error.strerror})"
        return "" if same else f"{path} has other bytes than when {self._title} was made"

    def _told(self, wrong: str, since: str) -> str:
        return f"{wrong}; what was built and measured since {since} may be wrong"

    # --- what is there ---

    def _read(self, path: str, known: Mapping[str, str]) -> Entry | str:
        """A file's or link's entry, or what is wrong if the file differs from its package's MD5."""
        place = self._root / path
        entry = place.lstat()
        if stat.S_ISLNK(entry.st_mode):
            return Entry(path, target=os.readlink(place))  # noqa: PTH115
        sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        with place.open("rb") as file:
            while block := file.read(1 << 20):
                sha256.update(block)
                if path in known:
                    md5.update(block)
        if path in known and md5.hexdigest() != known[path]:
            return f"{place} differs from its package's file"
        return Entry(path, entry.st_size, sha256.hexdigest())

    def stats_of(self, paths: Iterable[str]) -> dict[str, Stat]:
        """Size, times of change in ns and inode of those paths that are there."""
        found = {}
        for path in paths:
            with contextlib.suppress(OSError):
                entry = os.lstat(f"{self._root}/{path}")  # noqa: PTH -- a thousand of them, at every start
                found[path] = [entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns, entry.st_ino]
        return found

    def _folders(self, paths: Iterable[str]) -> dict[str, Stat]:
        """Size, times and inode of these files' folders: adding or removing a name changes a folder's times."""
        return self.stats_of({path.rpartition("/")[0] for path in paths})

    # --- the two files ---

    def _load(self) -> _List:
        """The list. Raises OSError, ValueError and the like if it is damaged."""
        content = (self._directory / LIST).read_bytes()
        body, _, last = content.rstrip(b"\n").rpartition(b"\n")
        found = hashlib.sha256(body + b"\n").hexdigest()
        if found.encode() != last:
            raise ValueError("its bytes are not those that were written")
        header, *lines = body.split(b"\n")
        head = json.loads(header)
        if head["format"] != _FORMAT:
            raise ValueError(f"format {head['format']}")
        return _List(found, head["deciding"], head["made"], lines)

    def _state(self, listed: _List) -> _State:
        """What was checked of this list; without a saved state everything must be checked again."""
        try:
            state = _State(**json.loads((self._directory / STATE).read_text(encoding="utf-8")))
            if state.sum == listed.sum and 0 <= state.next <= len(listed.lines):
                return state
        except (OSError, ValueError, TypeError):
            pass
        return _State(listed.sum, round=stamp(), whole=listed.made, started=listed.made)

    def _save(self, state: _State) -> None:
        _replace(self._directory / STATE, json.dumps(vars(state)).encode())


def package_sums(root: Path) -> dict[str, str]:
    """MD5 of the files that the root's packages brought, by path, from dpkg's records."""
    sums: dict[str, str] = {}
    for path in (root / "var/lib/dpkg/info").glob("*.md5sums"):
        for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            md5, _, name = line.partition("  ")
            sums[name] = md5
    return sums


# --- helpers ---


def stamp() -> str:
    """The time in UTC, as texts of this module have it."""
    return datetime.now(UTC).isoformat(sep=" ", timespec="seconds")


def _walk(root: Path) -> Iterator[str]:
    """Paths below the root of everything except folders; a link to a folder counts as a link."""
    for parent, folders, files in os.walk(root):
        below = PurePosixPath(parent).relative_to(root)
        linked = [name for name in folders if Path(parent, name).is_symlink()]
        for name in (*files, *linked):
            yield str(below / name)


def _line(entry: Entry) -> list[Any]:
    return [entry.path, entry.size, entry.sha256] if entry.sha256 else [entry.path, entry.target]


def _entry(line: list[Any]) -> Entry:
    return Entry(line[0], line[1], line[2]) if len(line) == 3 else Entry(line[0], target=line[1])


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += entry.size
        if len(batch) >= BATCH_FILES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _replace(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            # Other users may read the cache.
            os.fchmod(file.fileno(), 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _deciding(root: Path) -> list[str]:
    """Paths of QEMU, of the loader and of every library that these load, directly or not."""
    found: dict[str, None] = {}
    todo = [_DECIDING]
    while todo:
        path = _resolved(root, todo.pop())
        if path is None or path in found:
            continue
        found[path] = None
        todo += _needed(root, path)
    return list(found)


def _needed(root: Path, path: str) -> list[str]:
    """Paths where the loader finds the libraries that an ELF file needs; none if the file is no ELF file."""
    # Only who makes a list asks, and it takes long to load.
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    with (root / path).open("rb") as file:
        try:
            elf = ELFFile(file)
            segments = list(elf.iter_segments())
        except ELFError:
            return []
        names: list[str] = []
        folders: list[str] = []
        wanted = []
        for segment in segments:
            if isinstance(segment, InterpSegment):
                wanted.append(segment.get_interp_name().lstrip("/"))
            elif isinstance(segment, DynamicSegment):
                tags: Iterable[Any] = segment.iter_tags()
                for tag in tags:
                    if tag.entry.d_tag == "DT_NEEDED":
                        names.append(tag.needed)
                    elif tag.entry.d_tag in ("DT_RUNPATH", "DT_RPATH"):
                        text = tag.runpath if tag.entry.d_tag == "DT_RUNPATH" else tag.rpath
                        folders += text.replace("$ORIGIN", f"/{PurePosixPath(path).parent}").split(":")
    for name in names:
        places = (f"{folder.lstrip('/')}/{name}" for folder in (*folders, *_LIBRARIES))
        wanted += [place for place in places if _resolved(root, place)][:1]
    return wanted


def _resolved(root: Path, path: str) -> str | None:
    """A file's path within the root after following its links as a process inside would; None if it is missing."""
    done: list[str] = []
    todo = list(reversed(PurePosixPath(path).parts))
    links = 0
    while todo:
        part = todo.pop()
        if part == "/":
            done = []
        elif part == "..":
            done = done[:-1]
        else:
            place = root.joinpath(*done, part)
            if place.is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    return None
                todo += reversed(PurePosixPath(os.readlink(place)).parts)  # noqa: PTH115
            else:
                done.append(part)
    return "/".join(done) if root.joinpath(*done).is_file() else None
