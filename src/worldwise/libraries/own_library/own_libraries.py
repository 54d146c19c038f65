# SPDX-License-Identifier: BSD-2-Clause
"""A user's own library: a folder with implementation.toml, adapter.c and sources, measured like the repository's.

When a run begins, it copies the folder and builds the copy. The run's digest is that of the copy, so it holds even if
the folder changes meanwhile. docs/use/own.md explains this to users.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from worldwise.base import files, paths
from worldwise.base.disk import listing_digest
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml import toml_model
from worldwise.lab.sandbox.identity import confinement, require_confinement
from worldwise.libraries import own_code, portable
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.own_library.folder_copy import copy_folder
from worldwise.libraries.own_library.manifest import check_manifest
from worldwise.libraries.portable import ADAPTER, MANIFEST, Portable
from worldwise.libraries.stacks import stack
from worldwise.libraries.stacks.copies import kept as kept_stack

# recipes/objects.py begins the line that says what is wrong with this.
_SAYS = "worldwise: "
# The name of a copy in the cache: that of the library, and the beginning of its digest.
_COPY = re.compile(r"[a-z0-9-]{1,64}-[0-9a-f]{12}")


class Brought(Protocol):
    """What a user brings to a run: a library, code or a stack. A run keeps these of it; `origin` is for messages."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def files(self) -> Mapping[str, str]: ...
    @property
    def origin(self) -> Path: ...


@dataclass(frozen=True)
class OwnLibrary:
    """A user's library, copied for a run.

    Attributes:
        implementation: what was read from the copy, which is its folder.
        origin: the folder as the user named it, for messages.
        text: the content of its implementation.toml.
        files: SHA-256 of each file, by its path in the folder.
    """

    implementation: Portable
    origin: Path
    text: str
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its name in cases and tables."""
        return self.implementation.name

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all its files."""
        return listing_digest(self.files)


_brought: dict[str, OwnLibrary] = {}


def bring(directories: Iterable[Path], cache: Path | None = None) -> list[OwnLibrary]:
    """Copy, check and register the libraries in some folders, until `forget`; none if one is refused.

    Args:
        directories: the folders.
        cache: the cache for the copies; the user's cache by default.

    Raises WorldwiseError naming folder, file and key for a folder that is missing, incomplete or links elsewhere, and
    for a name that is taken.
    """
    brought: dict[str, OwnLibrary] = {}
    for directory in directories:
        require_confinement(f"the library in {directory}")
        implementation = portable.load_folder(directory)
        name = implementation.name
        path = directory / MANIFEST
        taken = name in _brought or name in brought
        if name in IMPLEMENTATIONS or name == stack.STACK or taken:
            whose = "another folder's" if taken else "one of worldwise's own"
            raise WorldwiseError(f"{path}: the name '{name}' is {whose}", "choose another name")
        copy, listed = copy_folder(directory, name, (cache or paths.cache_directory()) / "own")
        own = OwnLibrary(
            replace(implementation, adapter=copy / ADAPTER, folder=copy),
            directory,
            toml_model.read_text(copy / MANIFEST, "implementation", copy),
            listed,
        )
        check_manifest(own.origin, own.implementation)
        brought[name] = own
    # All or none: if one folder is refused, no library is registered.
    for name, own in brought.items():
        portable.add(own.implementation)
        _brought[name] = own
    return list(brought.values())


def forget() -> None:
    """Unregister every library that `bring` registered."""
    for name in list(_brought):
        portable.remove(name)
        del _brought[name]


@contextlib.contextmanager
def kept(recorded: Mapping[str, str], cache: Path | None = None) -> Iterator[list[OwnLibrary]]:
    """Register the cache's copies of libraries that an earlier run measured, for as long as this lasts; use its stack.

    Returns all of the user's libraries.

    Args:
        recorded: the digest of each, by name, as a run keeps them; what it says is not trusted.
        cache: as in `bring`.

    A library that `bring` has registered stays; one of which the cache has no such copy is left out. Raises
    WorldwiseError if a copy cannot be read, and for a stack that the cache no longer has.
    """
    store = (cache or paths.cache_directory()) / "own"
    added: list[OwnLibrary] = []
    codes: list[str] = []
    until = contextlib.ExitStack()
    try:
        until.enter_context(stack.used(kept_stack(recorded.get(stack.STACK), store)))
        for name, digest in recorded.items():
            if name == stack.STACK:
                continue
            copy = store / f"{name}-{digest[:12]}"
            if name in _brought or not _COPY.fullmatch(copy.name) or copy.parent != store or not copy.is_dir():
                continue
            if own_code.is_code(copy):
                code = own_code.load(copy)
                if (code.name, code.digest) != (name, digest):
                    raise WorldwiseError(f"{copy}: is not the code '{name}' that was measured", "clean the cache")
                if not own_code.is_known(name):
                    own_code.add(code)
                    codes.append(name)
                continue
            (own,) = bring([copy], cache)
            added.append(own)
            if (own.name, own.digest) != (name, digest):
                raise WorldwiseError(f"{copy}: is not the library '{name}' that was measured", "clean the cache")
        yield added
    finally:
        until.close()
        for name in codes:
            own_code.remove(name)
        for own in added:
            portable.remove(own.name)
            _brought.pop(own.name, None)


def announce(brought: Iterable[Brought], notify: Callable[[str], None]) -> None:
    """Say which code is about to run and how it is confined: for other users' folders, or as root for all."""
    for own in brought:
        if not isinstance(own, OwnLibrary):
            # Own code is built and run nowhere but on the emulated machine.
            continue
        with contextlib.suppress(OSError):
            owner = own.origin.stat().st_uid
            if os.geteuid() not in (0, owner):
                whose = f", which belongs to user {owner},"
            elif os.geteuid() == 0:
                whose = ""
            else:
                continue
            notify(f"the code in {own.origin}{whose} is built and run {confinement().describe()}")


@contextlib.contextmanager
def told(name: str) -> Iterator[None]:
    """Wraps a build: if a user's library fails, the error names the user's files instead of a log."""
    try:
        yield
    except WorldwiseError as error:
        own = _brought.get(name)
        lines = error.details.splitlines()
        says = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
        if own is None and (used := stack.current()):
            raise _of_stack(used, error, says) from error
        if own is None or not says:
            raise
        place = f"{own.origin}/"
        details = "\n".join(line for line in lines if not line.startswith((_SAYS, "== ")))
        raise WorldwiseError(
            f"{name}: {says[-1].replace('/in/own/', place)}",
            f"the files are in {own.origin}; docs/use/own.md says what a library may do. {error.hint}".strip(),
            details.replace("/in/own/", place),
        ) from error


# How compilers, make and OP-TEE's own makefiles begin to say what is wrong.
_WRONG = re.compile(r"error:|\*\*\*|undefined reference", re.IGNORECASE)


def _of_stack(used: stack.BroughtStack, error: WorldwiseError, says: Sequence[str]) -> WorldwiseError:
    """A build's failure in words of the stack: what the recipe said, or the first error of the compiler or of make."""
    first = next((line.strip() for line in error.details.splitlines() if _WRONG.search(line)), "")
    said = says[-1] if says else first
    if not said:
        return error
    old = (
        "this OP-TEE is older than 3.21 and has no TEE Internal Core API 1.3, for which most TAs of the suites are "
        "written; a TA of your own can be measured on it: run --ta DIR --client DIR --stack FILE. "
    )
    return WorldwiseError(
        f"{used.origin}: {files.quoted(said, 400)}",
        f"{old if used.is_old else ''}docs/use/stack.md says what a stack may change. {error.hint}".strip(),
        error.details,
    )
