# SPDX-License-Identifier: BSD-2-Clause
"""The lab: one pinned Debian root in the cache, made by mmdebstrap, entered through bubblewrap.

Everything that builds or emulates runs inside it. The lab's digest stands for the whole lock, so two
machines with the same digest have the same compilers, emulator and target packages.

Beside the lab are smaller roots of the same kind, each with its own lock and digest, for tools that no count depends
on. Each is made when something first needs it.
"""

import json
import os
import stat
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from worldwise.base import paths
from worldwise.base.errors import VanishedError, WorldwiseError
from worldwise.base.output import safe_text
from worldwise.lab import cache_locks, drift, lock_differences
from worldwise.lab.build_root import MARKER, Making, discard, require_host
from worldwise.lab.contents import BUDGET, Contents, package_sums
from worldwise.lab.debian.lock import Lock, Package, SourcePackage, Wanted, load_lock
from worldwise.lab.debian.mirrors import mirrors
from worldwise.lab.debian.store import Store
from worldwise.lab.recent_hashes import Recent
from worldwise.lab.roots import MAIN, ROOTS
from worldwise.lab.sandbox import bubblewrap
from worldwise.lab.sandbox.bubblewrap import Way, WayOptions
from worldwise.lab.sandbox.processes import Job, Runner

if TYPE_CHECKING:
    from rich.console import Console

# How many files that are gone are named one by one.
_MOST_GONE = 5
_LOCKED = (
    f"--locked, {drift.LOCKED_VARIABLE}=1 or CI=true allows no other version in its place: --unlocked or "
    f"{drift.LOCKED_VARIABLE}=0 does"
)
# What reading a damaged marker may raise.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)


@dataclass
class Lab:
    """The lab, or another root, that `lock` describes. Making the object is cheap; `ensure` builds the root if missing.

    Attributes:
        lock: what the lab is made of.
        name: which of ROOTS it is.
        digest: 64 hexadecimal digits; part of the address of everything built in the lab.
        cache: the cache directory.
        store: the downloaded files.
        locked: the lock that the repository has, if `lock` took its place since some of its files are gone; else None.
        recent: what was hashed lately and is not hashed again; None for all to be hashed.
    """

    lock: Lock
    cache: Path = field(default_factory=paths.cache_directory)
    console: "Console" = field(default_factory=lambda: safe_text.console(stderr=True))
    name: str = MAIN
    locked: Lock | None = None
    recent: Recent | None = None

    def __post_init__(self) -> None:
        self._told = False
        self.title = "the lab" if self.name == MAIN else f"the root {self.name}"
        self.digest = self.lock.digest(ROOTS[self.name].recipe)
        self.labs = self.cache / "labs"
        self.directory = self.labs / self.digest[:12]
        self.root = self.directory / "root"
        self.contents = Contents(self.root, self.directory, self.title)
        self._runner = Runner()
        self.store = Store(self.cache / "downloads", self.lock.suite, self.console)

    @property
    def differing(self) -> list[str]:
        """What differs from the repository's lock, as `linux 6.12.57 for 6.12.48`; nothing if it is made of that."""
        return lock_differences.changes(self.locked, self.lock) if self.locked else []

    # --- state ---

    @property
    def manifest(self) -> Path:
        """The marker written last: a lab without it was never finished."""
        return self.directory / MARKER

    def problem(self, budget: float | None = None) -> str:
        """Empty if the lab is built and intact, else what is wrong, in a few words.

        Checks the marker, every program and every large file, and hashes what decides a count: about 0.1 s. With a
        `budget`, in seconds, it also hashes the files whose turn it is; see `Contents`.
        """
        problem, witness, listed = self._outline()
        if not problem and (listed or self.contents.listed):
            try:
                return self.contents.problem(witness, listed, budget)
            except _UNREADABLE as error:
                return f"{self.manifest} cannot be read ({error})"
        return problem

    def outline_problem(self) -> str:
        """As `problem`, but by the marker and by sizes alone: it hashes and writes nothing."""
        return self._outline()[0]

    def _outline(self) -> tuple[str, dict[str, int], str]:
        """What is wrong with the marker or a size, or nothing; the sizes by path; the digest of the list of files."""
        witness: dict[str, int] = {}
        try:
            manifest = json.loads(self.manifest.read_text(encoding="utf-8"))
            if manifest["digest"] != self.digest:
                return f"{self.manifest} names another digest", witness, ""
            witness = manifest["witness"]
            for name, size in witness.items():
                try:
                    if _witness_size(f"{self.root}/{name}") != size:
                        return f"{self.root / name} has another size than when the lab was made", witness, ""
                except OSError:
                    return f"{self.root / name} is missing", witness, ""
            return "", witness, manifest.get("files", "")
        except FileNotFoundError:
            return "not built", witness, ""
        except _UNREADABLE as error:
            return f"{self.manifest} cannot be read ({error})", witness, ""

    def require(self) -> None:
        """Raise WorldwiseError if the lab is missing or damaged; never builds it."""
        self._hold()
        problem = self.problem()
        if problem:
            command = "lab build" if self.name == MAIN else f"lab build {self.name}"
            raise WorldwiseError(
                f"{self.title} ({self.digest[:12]}): {problem}", f"`worldwise {command}` makes it (anew)"
            )

    # --- files of the lock ---

    def package(self, name: str, architecture: str) -> Package:
        """The locked package of that name, or the one that a metapackage of that name led to.

        Raises WorldwiseError if the lock has none.
        """
        for package in (*self.lock.target, *self.lock.lab):
            if name in (package.name, package.follows or package.name) and package.architecture in (
                architecture,
                "all",
            ):
                return package
        raise WorldwiseError(
            f"{name} ({architecture}) is not in lab/{ROOTS[self.name].lock.name}",
            f"add it to lab/{ROOTS[self.name].wish.name} and run `worldwise lab relock`",
        )

    def package_file(self, name: str, architecture: str) -> Path:
        """The .deb of a locked package, downloaded if need be, its SHA-256 verified."""
        package = self.package(name, architecture)
        self._have([self.lock.wanted_package(package)], f"{package.name} {package.version}")
        return self.store.path(package)

    def source(self, name: str) -> SourcePackage:
        """The locked source package. Raises WorldwiseError if the lock has none of that name."""
        for source in self.lock.sources:
            if source.name == name:
                return source
        raise WorldwiseError(
            f"source package {name} is not in lab/{ROOTS[self.name].lock.name}",
            f"add it to lab/{ROOTS[self.name].wish.name} and run `worldwise lab relock`",
        )

    def source_files(self, name: str) -> dict[str, Path]:
        """Files of a locked source package by their archive names, downloaded if need be, verified."""
        source = self.source(name)
        self._have(self.lock.wanted_source(source), f"{source.name} {source.version}")
        return {file.file: self.store.path(file) for file in source.files}

    def fetch(self) -> None:
        """Download every file of the lock (lab, target, sources) into the store and verify it.

        Building the lab downloads only the lab's own; the others are downloaded at first use, or by this.
        """
        self._have(self.wanted(), f"all of {self.title}")

    def wanted(self) -> list[Wanted]:
        """Every file of the lock: lab, target, sources."""
        return self.lock.wanted()

    def fetch_some(self, sources: Iterable[str], packages: Iterable[tuple[str, str]], purpose: str) -> None:
        """Download some files of the lock together and verify them, so that one line announces them all.

        Args:
            sources: names of source packages.
            packages: name and architecture of packages.
            purpose: what they are for, in a few words.
        """
        wanted = [item for name in sources for item in self.lock.wanted_source(self.source(name))]
        wanted += [self.lock.wanted_package(self.package(name, architecture)) for name, architecture in packages]
        self._have(wanted, purpose)

    def _have(self, wanted: Sequence[Wanted], purpose: str) -> None:
        try:
            self.store.ensure(wanted, purpose)
        except VanishedError as error:
            if drift.allowed():
                error.root = self.name
            else:
                error.hint = f"{_LOCKED}; {error.hint}"
            raise

    # --- building ---

    def ensure(self) -> bool:
        """Build the lab unless it is there and intact; returns whether it did. Safe for parallel runs.

        If files of the lock are gone from every source, the lab becomes another, if that is allowed: see `replace`.
        So nothing may ask for the digest before. Raises WorldwiseError: a package that vanished, no network, no space,
        a tool the host lacks, a root that cannot be made.
        """
        try:
            built = self._ensure()
        except VanishedError as error:
            if not drift.allowed():
                raise
            self.replace(error.items)
            built = self._ensure()
        self._tell_difference()
        return built

    def replace(self, gone: Sequence[Wanted]) -> None:
        """Become the lab with the newest versions of files that are gone from every source, and keep its lock.

        Raises WorldwiseError if nothing can take the place of one.
        """
        for item in gone[:_MOST_GONE]:
            self.console.print(f"worldwise: {item.label} is gone from every source", soft_wrap=True, highlight=False)
        if len(gone) > _MOST_GONE:
            self.console.print(f"worldwise: {len(gone) - _MOST_GONE} more are gone from every source", highlight=False)
        with self.console.status("asking for the newest versions in the same suites"):
            new = drift.replacement(ROOTS[self.name], self.lock, gone)
        locked = self.locked or self.lock
        drift.keep(self.cache, locked, new)
        self.lock, self.locked = new, locked
        self.__post_init__()
        self._tell_difference()

    def _tell_difference(self) -> None:
        """Say once what differs from the repository's lock."""
        said = lock_differences.sentence(self.differing, self.title)
        if said and not self._told:
            self._told = True
            self.console.print(f"worldwise: {said}", style="yellow", soft_wrap=True, highlight=False)
            locked = self.locked.digest(ROOTS[self.name].recipe)[:12] if self.locked else ""
            self.console.print(
                f"  this lab is {self.digest[:12]}, the locked one {locked}; `worldwise lab drift` lists all "
                "differences, `worldwise lab drift --undo` goes back, --locked refuses such a lab",
                soft_wrap=True,
                highlight=False,
            )

    def _ensure(self) -> bool:
        self._hold()
        if not self._found_wrong():
            return False
        paths.require_writable(self.cache)
        require_host()
        self.labs.mkdir(parents=True, exist_ok=True)
        self._hold()
        with self.locked_folder():
            problem = self._found_wrong()
            if not problem:
                return False
            if problem != "not built":
                self.console.print(
                    f"worldwise: {self.title} is damaged; worldwise makes it again: {problem}", style="yellow"
                )
                self.console.print(
                    "  worldwise still uses images and results made with it; to make them again too, delete the "
                    f"folders images, snapshots, results and traces in {self.cache}"
                )
            self._have_all_that_is_needed()
            self.build()
        return True

    def _have_all_that_is_needed(self) -> None:
        """Have the files of the root, and ask meanwhile whether the mirrors have the others of the lock.

        What is missing is missed now, not after the first image was built: then the lab becomes another once.
        """
        gone: list[VanishedError] = []
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self._lost)
            try:
                self._have([self.lock.wanted_package(package) for package in self.lock.lab], self.title)
            except VanishedError as error:
                gone.append(error)
            lost = asked.result()
        if lost:
            try:
                self._have(lost, "from elsewhere the files that the mirrors have dropped")
            except VanishedError as error:
                # A file that nothing can replace is reported when something needs it.
                error.items = tuple(drift.replaceable(self.lock, error.items))
                if error.items:
                    gone.append(error)
        if gone:
            gone[0].items = tuple(item for error in gone for item in error.items)
            raise gone[0]

    def _lost(self) -> list[Wanted]:
        """What the lock names beside the root's own packages, is not downloaded, and is on no mirror."""
        # Few ask, and both take long to load.
        from worldwise.lab.debian import mirror_check
        from worldwise.lab.debian.sources import kinds

        own = {package.sha256 for package in self.lock.lab}
        others = {item.file.sha256: item for item in self.wanted() if item.file.sha256 not in own}
        sought = [item for item in others.values() if not self.store.has(item.file)]
        if not sought or not drift.allowed() or "mirrors" not in kinds():
            return []
        found = mirror_check.lost_files(sought, mirrors(self.lock.suite), [], lambda _: None)
        return [one.item for one in found if one.vanished]

    def list_contents(self) -> str:
        """Write the list of files for a lab that an older version made without one, and say so; takes some seconds.

        Returns which file differs from its package's MD5; then no list is written.
        """
        witness = json.loads(self.manifest.read_text(encoding="utf-8"))["witness"]
        _, problem = self.contents.record(witness, package_sums(self.root))
        if not problem:
            self.console.print(
                f"worldwise: {self.title} was made when its files had no digests. They have them now, as "
                "the files are "
                "today: those whose MD5 its packages name are as in the package, of the other files only "
                "the size was known"
            )
        return problem

    def _found_wrong(self) -> str:
        """As `problem`, with the time that a start gives to hashing."""
        if self.recent and self._is_recent(self.recent):
            return ""
        problem = self.problem(BUDGET)
        # A lab that this user may not write to stays without a list.
        if not problem and not self.contents.listed and os.access(self.directory, os.W_OK):
            return self.list_contents()
        return problem

    def _is_recent(self, recent: Recent) -> bool:
        """Whether a start found it whole so lately that the sizes of its files are enough."""
        problem, _, listed = self._outline()
        return not problem and bool(listed) and recent.is_recent(self.contents.found_whole(listed))

    def build(self) -> None:
        """Make the root anew, whatever is there. Raises WorldwiseError."""
        making = Making(self.name, self.title, self.lock, self.digest, self.labs, self.store, self.console)
        making.make(self.directory)

    def _hold(self) -> None:
        """Keep others from removing the root while this process runs."""
        cache_locks.hold(self.cache, self.directory)

    def locked_folder(self) -> AbstractContextManager[None]:
        """Hold the lock to make this root; others can be made meanwhile. It ends with the process at the latest."""

        def tell() -> None:
            self.console.print(f"worldwise: another worldwise is at work on {self.title}; waiting for it")

        return cache_locks.waiting(self.labs / f"{self.directory.name}.lock", tell)

    # --- entering ---

    def command(self, argv: Sequence[str | Path], **options: Unpack[WayOptions]) -> list[str]:
        """The command line that runs `argv` (the program and its arguments) inside the lab, by bubblewrap.

        Inside, the lab is read-only, /tmp is empty and private, and only `binds` of the host are visible:
        (host path, path inside, "ro" or "rw"). The environment is fixed, with `env` on top. Processes end
        with the thread that started them, and see no network unless `network`. `tty` keeps the terminal
        (for a shell). `sandbox.identity` and `sandbox.system_calls` define which user they run as and which
        system calls they may make; folders bound "rw" must be lent to them (`lent_folders.lent`).

        `Way` describes the options. Raises WorldwiseError if a bound path is missing or unreadable inside, and if
        bubblewrap is missing.
        """
        self._hold()
        return bubblewrap.command(self.root, self.cache, argv, Way(**options))

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        check: bool = True,
        **options: Unpack[WayOptions],
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` inside the lab (see `command`, also for the options) and wait, at most `timeout` seconds.

        Both outputs are appended to `log` if given, else they are in the result. Folders bound "rw" are lent to it.
        With `check`, a status other than 0 raises WorldwiseError with the last lines of the output. A timeout, an
        exceeded limit, and a host that refuses bubblewrap always raise it.
        """
        command = self.command(argv, **options)
        way = Way(**options)
        writable = [Path(host) for host, _, access in way.binds if access == "rw"]
        return self._runner.run(Job(Path(argv[0]).name, command, way.limits, writable, log, stdin, timeout, check))

    def require_entry(self) -> None:
        """Raise HostError with the way out if the cache is read-only or bubblewrap is missing or may not enter the lab.

        Takes some 10 ms.
        """
        paths.require_writable(self.cache)
        self.run(["true"])

    def stop(self) -> None:
        """End what `run` has started, called from another thread; those calls and all later ones raise."""
        self._runner.stop()


def open_lab(console: "Console | None" = None, name: str = MAIN) -> Lab:
    """The lab, or another of ROOTS, as its lock says, in the user's cache; not built yet (see `Lab.ensure`).

    If files of the lock are gone and others took their place, it is the lab with these, unless none may.
    Raises KeyError if no root has the name, WorldwiseError if the lock cannot be read.
    """
    lock, cache = load_lock(ROOTS[name].lock), paths.cache_directory()
    other = drift.kept(cache, lock) if drift.allowed() else None
    later = cast("Console", safe_text.LaterConsole(stderr=True))
    return Lab(other or lock, cache, console or later, name, lock if other else None)


def labs_in(cache: Path) -> list[Path]:
    """Directories of all labs in a cache, whatever their lock."""
    labs = cache / "labs"
    return sorted(path for path in labs.glob("*") if path.is_dir()) if labs.is_dir() else []


def remove_labs(keep: Sequence[Lab], everything: bool) -> list[Path]:
    """Remove all labs and roots except those of `keep` (at least one, all of one cache).

    With `everything` remove these and the downloads too. What a running command holds stays. Returns what was removed.
    """
    lab = keep[0]
    kept = {place.directory for place in keep}
    lab.labs.mkdir(parents=True, exist_ok=True)
    gone: list[Path] = []
    for path in labs_in(lab.cache):
        if not everything and path in kept:
            continue
        with cache_locks.alone(cache_locks.lock_of(lab.cache, path)) as free:
            if free:
                discard(path)
                discard(path.with_suffix(".log"))
                gone.append(path)
    for log in lab.labs.glob("*.log"):
        if not log.with_suffix("").exists() and (everything or log.with_suffix("") not in kept):
            discard(log)
    if everything and lab.store.directory.exists():
        with cache_locks.alone(lab.cache / cache_locks.CACHE_LOCK) as free:
            if free:
                gone.append(lab.store.directory)
                discard(lab.store.directory)
    return gone


def _witness_size(path: str) -> int:
    # os.lstat is faster than Path; a start needs a thousand calls.
    entry = os.lstat(path)  # noqa: PTH
    return 0 if stat.S_ISLNK(entry.st_mode) else entry.st_size
