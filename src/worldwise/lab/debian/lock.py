# SPDX-License-Identifier: BSD-2-Clause
"""What a root is made of: packages of Debian by version, size and SHA-256, and the file that names them all.

A lock also says where its files can be found when no mirror has them any more: SHA-1, and the time of each suite in the
archive of snapshots. That is no part of what a root is made of, so it is no part of the digest.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError

LOCK_FORMAT = 1

# The architecture of every root.
NATIVE = "amd64"

# Debian's own name of the archive that packages are locked from.
ARCHIVE = "debian"


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of the archive: its name, size in bytes and SHA-256 (64 hexadecimal digits).

    `sha1` is what the archive of snapshots calls it (40 digits), empty if it is not known. It verifies nothing.
    """

    file: str
    size: int
    sha256: str
    sha1: str = ""

    def __post_init__(self) -> None:
        _require("file", r"[A-Za-z0-9][A-Za-z0-9.+~_%:-]*", self.file)
        _require("sha256", "[0-9a-f]{64}", self.sha256)
        _require("sha1", "([0-9a-f]{40})?", self.sha1)
        if self.size <= 0:
            raise ValueError(f"size: {self.size} is not above 0")


@dataclass(frozen=True, kw_only=True)
class Package(File):
    """A binary package. `source` is the source package, whose name makes the pool path; `follows` is the
    metapackage that led here, empty for most."""

    name: str
    version: str
    architecture: str
    source: str
    follows: str = ""

    @property
    def foreign(self) -> bool:
        """Whether it is for other machines than those that roots run on."""
        return self.architecture not in (NATIVE, "all")

    @property
    def qualified(self) -> str:
        """Its name as apt takes it: with the architecture if that is a foreign one."""
        return f"{self.name}:{self.architecture}" if self.foreign else self.name


@dataclass(frozen=True, kw_only=True)
class SourcePackage:
    """A source package and its files. `package` is the archive's name for it where another version has the name;
    `suite` is the one that it was locked from."""

    name: str
    version: str
    files: list[File]
    package: str = ""
    suite: str = ""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A suite of an archive and a time, as 20261121T211544Z, at which the archive of snapshots has all that was locked
    from the suite."""

    archive: str
    suite: str
    time: str

    def __post_init__(self) -> None:
        _require("archive", "[a-z][a-z0-9-]*", self.archive)
        _require("time", "[0-9]{8}T[0-9]{6}Z", self.time)


@dataclass(frozen=True, kw_only=True)
class Lock:
    """Everything a root is made of, exactly; for the main one, the lab, the measured machines too."""

    format: int
    suite: str
    lab: list[Package]
    target: list[Package]
    sources: list[SourcePackage]
    snapshots: list[Snapshot] = field(default_factory=list)

    def digest(self, recipe: int) -> str:
        """SHA-256 (hexadecimal) over what the root is made of, whatever the file's layout, and the recipe.

        What says where files are found is left out: `sha1`, a source's `suite`, `snapshots`.
        """
        packages = {name: [_without(one, "sha1") for one in getattr(self, name)] for name in ("lab", "target")}
        sources = [
            _without(one, "suite") | {"files": [_without(file, "sha1") for file in one.files]} for one in self.sources
        ]
        lock = {"format": self.format, "suite": self.suite, **packages, "sources": sources}
        content = {"recipe": recipe, "lock": lock}
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def time(self, suite: str) -> str:
        """The time of a suite in the archive of snapshots; empty if the lock does not say."""
        return next((one.time for one in self.snapshots if (one.archive, one.suite) == (ARCHIVE, suite)), "")

    def wanted(self) -> list["Wanted"]:
        """Every file of the lock: lab, target, sources."""
        packages = [self.wanted_package(package) for package in (*self.lab, *self.target)]
        return packages + [item for source in self.sources for item in self.wanted_source(source)]

    def wanted_package(self, package: Package) -> "Wanted":
        """What to fetch for one of its binary packages."""
        return wanted_package(package, self.time(self.suite))

    def wanted_source(self, source: SourcePackage) -> list["Wanted"]:
        """What to fetch for one of its source packages, one entry per file."""
        return wanted_source(source, self.time(source.suite or self.suite))

    def versions(self) -> dict[str, str]:
        """Version of each thing locked: `name` (lab), `name:arch` (target, and foreign ones of the lab), `src:name`."""
        found = {package.qualified: package.version for package in self.lab}
        found |= {f"{package.name}:{package.architecture}": package.version for package in self.target}
        found |= {f"src:{source.name}": source.version for source in self.sources}
        return found


@dataclass(frozen=True)
class Wanted:
    """One file to have: what it belongs to, for messages, where the archive's pool keeps it, and a time at which the
    archive of snapshots has it there, if the lock says one."""

    label: str
    path: str
    file: File
    time: str = ""


def pool_path(source: str, file: str) -> str:
    """Path of `file` below a mirror's root. `source` is the source package's name; the component is main."""
    prefix = source[:4] if source.startswith("lib") else source[0]
    return f"pool/main/{prefix}/{source}/{file}"


def wanted_package(package: Package, time: str = "") -> Wanted:
    """What to fetch for a binary package."""
    label = f"{package.name} {package.version} ({package.architecture})"
    return Wanted(label, pool_path(package.source, package.file), package, time)


def wanted_source(source: SourcePackage, time: str = "") -> list[Wanted]:
    """What to fetch for a source package, one entry per file."""
    label = f"{source.name} {source.version} (source)"
    package = source.package or source.name
    return [Wanted(label, pool_path(package, file.file), file, time) for file in source.files]


def _without(item: File | SourcePackage, left_out: str) -> dict[str, Any]:
    return {name: value for name, value in vars(item).items() if name != left_out}


def load_lock(path: Path = paths.LAB / "lock.json") -> Lock:
    """Read a lock. Raises WorldwiseError naming the file and the key if it is missing or wrong."""
    way_out = "take the file from git again, or make it with `worldwise lab relock` and the root's name"
    try:
        lock = parse_lock(path.read_bytes())
    except FileNotFoundError:
        raise WorldwiseError(f"{path}: there is no lock", way_out) from None
    except (ValueError, RecursionError) as error:
        raise WorldwiseError(f"{path}: not a valid lock", way_out, str(error)) from None
    if lock.format != LOCK_FORMAT:
        raise WorldwiseError(f"{path}: format {lock.format}, this worldwise reads format {LOCK_FORMAT}", way_out)
    return lock


def parse_lock(text: bytes | str) -> Lock:
    """The lock that a JSON text describes. Raises ValueError, which names the key that is missing, unknown or wrong."""
    lock: Lock = _made(Lock, json.loads(text), "")
    return lock


# What the values of each kind are: a type, or a list of another kind. By hand, since every command begins with a lock,
# and a library for this takes ten times as long to load.
_LISTS: Mapping[type, Mapping[str, type]] = {
    Lock: {"lab": Package, "target": Package, "sources": SourcePackage, "snapshots": Snapshot},
    SourcePackage: {"files": File},
}
_NUMBERS = ("format", "size")


def _made(kind: type, value: Any, where: str) -> Any:
    """A value of a JSON document as an object of a kind; `where` it stands there."""
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'the file'}: is no object")
    lists = _LISTS.get(kind, {})
    place = f"{where}." if where else ""
    known = {one.name: one for one in fields(kind)}
    for key in value:
        if key not in known:
            raise ValueError(f"{place}{files.quoted(key)}: there is no such key")
    found: dict[str, Any] = {}
    for name, one in known.items():
        if name not in value:
            if one.default is MISSING and one.default_factory is MISSING:
                raise ValueError(f"{place}{name}: is missing")
            continue
        given = value[name]
        wanted = list if name in lists else int if name in _NUMBERS else str
        if type(given) is not wanted:
            raise ValueError(f"{place}{name}: is no {_WORDS[wanted]}")
        found[name] = given
        if name in lists:
            found[name] = [_made(lists[name], item, f"{place}{name}.{at}") for at, item in enumerate(value[name])]
    try:
        return kind(**found)
    except ValueError as error:
        raise ValueError(f"{place}{error}") from None


_WORDS = {list: "list", int: "whole number", str: "text"}


def _require(name: str, pattern: str, value: str) -> None:
    if not re.fullmatch(pattern, value):
        raise ValueError(f"{name}: '{files.quoted(value)}' does not have the form {pattern}")


def dump_lock(lock: Lock) -> str:
    """The lock as text: sorted, one line per package or source file, so that a change reads well."""

    def line(item: File | Snapshot) -> str:
        changed = {one.name: getattr(item, one.name) for one in fields(item) if getattr(item, one.name) != one.default}
        return json.dumps(changed, sort_keys=True)

    def array(lines: Iterable[str], indent: str = "") -> str:
        text = ",\n".join(indent + line for line in lines)
        return f"[\n{text}\n]" if text else "[]"

    def packages(items: list[Package]) -> str:
        return array((line(item) for item in sorted(items, key=lambda item: (item.architecture, item.name))), "  ")

    def source(item: SourcePackage) -> str:
        files = ",\n".join("    " + line(file) for file in sorted(item.files, key=lambda file: file.file))
        head = f'"name": {json.dumps(item.name)}, "version": {json.dumps(item.version)}'
        head += f', "package": {json.dumps(item.package)}' if item.package else ""
        head += f', "suite": {json.dumps(item.suite)}' if item.suite else ""
        return f'  {{{head}, "files": [\n{files}\n  ]}}'

    sources = array(source(item) for item in sorted(lock.sources, key=lambda item: item.name))
    times = array((line(item) for item in sorted(lock.snapshots, key=lambda one: (one.archive, one.suite))), "  ")
    found = f'"snapshots": {times},\n' if lock.snapshots else ""
    return (
        f'{{\n"format": {lock.format},\n"suite": {json.dumps(lock.suite)},\n{found}'
        f'"lab": {packages(lock.lab)},\n"target": {packages(lock.target)},\n"sources": {sources}\n}}\n'
    )


def differences(old: Lock | None, new: Lock) -> list[tuple[str, str, str]]:
    """(name, old version, new version) of what changed; an empty version where it came or went.

    The digests show a file that changed under the same version.
    """
    before = old.versions() if old else {}
    after = new.versions()
    found = [
        (name, before.get(name, ""), after.get(name, ""))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    digests = {item.file: item.sha256 for item in (*old.lab, *old.target)} if old else {}
    for package in (*new.lab, *new.target):
        was = digests.get(package.file, package.sha256)
        if was != package.sha256:
            found.append((package.name, f"sha256 {was[:12]}", f"sha256 {package.sha256[:12]}"))
    return found
