# SPDX-License-Identifier: BSD-2-Clause
"""A lab that differs from the lock, since something that the lock names is gone from every source.

The newest versions in the same suites take its place, as apt finds them in lists that Debian signed. The lab is another
then, with a digest of its own; its lock is kept in the cache, so that the next run is made in the same lab and asks
nobody. Whatever such a lab measures says so. `--locked` allows none of this.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.debian.lock import Lock, Package, SourcePackage, Wanted, dump_lock, load_lock
from worldwise.lab.debian.mirrors import mirrors, no_mirror
from worldwise.lab.debian.second_sources import BUNDLE
from worldwise.lab.debian.snapshots import SNAPSHOTS_VARIABLE
from worldwise.lab.roots import RECIPE, Root

if TYPE_CHECKING:
    from worldwise.lab.debian.relock import Wish

LOCKED_VARIABLE = "WORLDWISE_LOCKED"
# Of the cache.
FOLDER = "drift"
_YES, _NO = ("1", "true", "yes"), ("", "0", "false", "no")


def allowed() -> bool:
    """Whether a lab may differ from its lock: as WORLDWISE_LOCKED says, else if this is no continuous integration.

    Raises WorldwiseError for a value that says neither.
    """
    said = os.environ.get(LOCKED_VARIABLE)
    if said is None:
        return os.environ.get("CI", "").strip().lower() in _NO
    if said.strip().lower() not in (*_YES, *_NO):
        raise WorldwiseError(f"{LOCKED_VARIABLE}={said}: is neither 1 nor 0", "1 allows no other lab, 0 does")
    return said.strip().lower() in _NO


# --- what is kept ---


def place(cache: Path, lock: Lock) -> Path:
    """Where the lock is kept that took a lock's place, or would be."""
    return cache / FOLDER / f"{lock.digest(RECIPE)[:12]}.json"


def kept(cache: Path, lock: Lock) -> Lock | None:
    """The lock that took a lock's place; None if none did. Raises WorldwiseError if it cannot be read."""
    path = place(cache, lock)
    if not path.exists():
        return None
    try:
        return load_lock(path)
    except WorldwiseError as error:
        raise WorldwiseError(error.message, f"delete {path}", error.details) from None


def keep(cache: Path, lock: Lock, new: Lock) -> None:
    """Have a lock take another's place from now on."""
    path = place(cache, lock)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(dump_lock(new), encoding="utf-8")
    temporary.replace(path)


def forget(cache: Path, lock: Lock) -> bool:
    """Go back to the lock itself; whether another had taken its place."""
    path = place(cache, lock)
    there = path.exists()
    path.unlink(missing_ok=True)
    return there


# --- what takes a file's place ---


def patched(source: SourcePackage) -> bool:
    """Whether we change a source package, so that no other version can take its place."""
    return (paths.PATCHES / source.name).is_dir()


def fixed(lock: Lock, gone: Iterable[Wanted]) -> list[SourcePackage]:
    """The source packages with such files whose version stays: patched ones, and those of published figures."""
    digests = {item.file.sha256 for item in gone}
    return [source for source in lock.sources if _has(source, digests) and (patched(source) or source.package)]


def replaceable(lock: Lock, gone: Sequence[Wanted]) -> list[Wanted]:
    """Those of the files whose place another version can take."""
    kept_ones = {file.sha256 for source in fixed(lock, gone) for file in source.files}
    return [item for item in gone if item.file.sha256 not in kept_ones]


def replacement(root: Root, lock: Lock, gone: Sequence[Wanted]) -> Lock:
    """The lock that names the newest version of what is gone, in the same suites, and all else as before.

    If a package of the lab itself is gone, apt chooses all of the lab's anew, since they depend on each other; of the
    measured machines' those of the same source. Raises WorldwiseError: a version that must stay is gone; apt cannot
    resolve or verify what the mirrors have.
    """
    from worldwise.lab.debian.relock import load_wish

    if staying := fixed(lock, gone):
        raise _stays(lock, staying)
    wish = load_wish(root.wish)
    problem = no_mirror()
    for mirror in mirrors(lock.suite):
        try:
            return _replaced(wish, lock, {item.file.sha256 for item in gone}, mirror)
        except WorldwiseError as error:
            problem = error
    raise WorldwiseError(
        f"nothing can take the place of {gone[0].label}: {problem.message}",
        f"{BUNDLE}; {problem.hint}",
        problem.details,
    )


def _replaced(wish: "Wish", lock: Lock, digests: set[str], mirror: str) -> Lock:
    # Few labs differ from their lock, and it takes long to load.
    from worldwise.lab.debian import relock

    whole = any(package.sha256 in digests for package in lock.lab)
    moved = {(one.source, one.architecture) for one in lock.target if one.sha256 in digests}
    lab, target = lock.lab, lock.target
    if whole or moved:
        # Lists of no other architecture need be fetched, nor whole.
        architectures = {_architecture(wish, one) for one in target if (one.source, one.architecture) in moved}
        narrow = wish.narrowed(lab=whole, architectures=architectures)
        with relock.offer(narrow, mirror) as apt:
            if whole:
                lab = relock.lab_packages(apt, wish)
            target = [
                relock.target_package(apt, one.follows or one.name, _architecture(wish, one), follow=bool(one.follows))
                if (one.source, one.architecture) in moved
                else one
                for one in target
            ]
    changed = _changed_sources(lock, lab)
    sources = []
    for source in lock.sources:
        if _has(source, digests) or (source.name in changed and not patched(source) and not source.package):
            suite = source.suite or lock.suite
            with relock.offer(wish.narrowed(source=suite), mirror) as apt:
                source = relock.newest_source(apt, source.name, wish.sources[source.name], suite)
        sources.append(source)
    new = relock.ordered(replace(lock, lab=lab, target=target, sources=sources))
    if still := [item for item in new.wanted() if item.file.sha256 in digests]:
        raise WorldwiseError(f"{still[0].label} is the newest version there is, and {mirror} has lost its file")
    return new


def _changed_sources(lock: Lock, lab: Iterable[Package]) -> set[str]:
    """The locked source packages of lab packages that have another version now: their headers must fit."""
    now: Mapping[str, str] = {package.source: package.version for package in lab}
    found = {package.source for package in lock.lab if now.get(package.source, package.version) != package.version}
    return found & {source.name for source in lock.sources}


def _architecture(wish: "Wish", package: Package) -> str:
    """The architecture that a package of a measured machine is asked for under."""
    if package.architecture != "all":
        return package.architecture
    name = package.follows or package.name
    return next(key for key, wanted in wish.target.items() if name in (*wanted.packages, *wanted.follow))


def _has(source: SourcePackage, digests: set[str]) -> bool:
    return any(file.sha256 in digests for file in source.files)


def _stays(lock: Lock, staying: Sequence[SourcePackage]) -> WorldwiseError:
    source = staying[0]
    why = "worldwise patches it" if patched(source) else "published figures are of this version"
    place = f"the suite {source.suite or lock.suite} at {lock.time(source.suite or lock.suite) or 'an unknown time'}"
    return WorldwiseError(
        f"{source.name} {source.version} (source) is gone from every source, and no other version can take its place: "
        f"{why}",
        f"the archive of snapshots keeps it ({place}; {SNAPSHOTS_VARIABLE} names that archive, "
        f"docs/how/repeat.md); {BUNDLE}; "
        "what needs no OP-TEE can be measured without: `worldwise run mcu` (boards), `worldwise run linux-armv8`",
    )
