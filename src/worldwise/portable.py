# SPDX-License-Identifier: BSD-2-Clause
"""Portable implementations: crypto libraries that need no operating system. One C file of guest/ops/portable each.

The file's first comment, `implementation.toml`, says where the library's sources come from, how they are compiled and
what it has. A library of the user's own has the same text in a file of that name, in a folder with its sources.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from worldwise import paths
from worldwise.errors import WorldwiseError
from worldwise.toml_model import Model, parse, read_text

# Every curve there is a name for, in the order of the tables. What no library has is said to be missing, not left out.
CURVES = ("secp112r1", "secp160r1", "secp192r1", "secp224r1", "secp256r1", "secp256k1", "ed25519", "x25519")
NO_CURVE = "none"
OF_CURVE = ("keygen", "sign", "verify", "ecdh")
CURVELESS = ("sha256", "sha512", "aes128", "aes256", "dhrystone")
OPTIMISATIONS = ("Os", "O2")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_BLOCK = re.compile(r"^/\* implementation\.toml\n(.*?)^ *\*/", re.DOTALL | re.MULTILINE)
MANIFEST = "implementation.toml"
ADAPTER = "adapter.c"

Text = Annotated[str, Field(min_length=1)]
Operation = Literal["keygen", "sign", "verify", "ecdh", "sha256", "sha512", "aes128", "aes256", "dhrystone"]


class Source(Model):
    """Where a library's sources come from: a crate, a locked Debian source package, or the folder itself.

    `parts`: the folders of a large source package that are unpacked, of one without changes by Debian.
    """

    crate: Text | None = None
    version: Text | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    debian: Text | None = None
    parts: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _one(self) -> "Source":
        if (self.crate is None) == (self.debian is None):
            raise ValueError("must have one of 'crate' and 'debian'; without [source] the sources are in the folder")
        if self.crate and not (self.version and self.sha256):
            raise ValueError("a crate is pinned by 'version' and 'sha256', of its .crate file")
        if self.parts and not self.debian:
            raise ValueError("'parts' are those of a Debian source package")
        if self.debian and (self.version or self.sha256):
            raise ValueError("a Debian source package is pinned in lab/lock.json; no 'version' or 'sha256' here")
        return self


class Part(Model):
    """What is compiled: sources (names or shell patterns), folders of headers, definitions, other compiler flags."""

    sources: tuple[Text, ...] = ()
    include: tuple[Text, ...] = ()
    defines: tuple[Text, ...] = ()
    flags: tuple[Text, ...] = ()


class CorePart(Part):
    """What a core changes: more of each, and sources and definitions that it goes without."""

    without: tuple[Text, ...] = ()


class Build(Part):
    """How the library is compiled: for every program, and more for one curve or core."""

    warnings: bool = False
    curve: dict[Text, Part] = Field(default_factory=dict)
    core: dict[Text, CorePart] = Field(default_factory=dict)


class Needs(Model):
    """What a library needs: certain cores (none named: any), the frame's SHA-256, so many bytes of heap.

    Without `heap` a program that allocates has three quarters of the RAM that is left for it, and the rest is stack.
    """

    cores: tuple[Text, ...] = ()
    frame_sha256: bool = False
    heap: Annotated[int, Field(ge=8)] | None = None


class Manifest(Model):
    """The text `implementation.toml`.

    `constant_time` is what its authors claim of it, a word for tables, and behind a colon where they do.
    """

    name: Text
    title: Text
    about: Text
    licence: Text
    constant_time: Text = "none: no claim known"
    source: Source | None = None
    build: Build
    operations: dict[Text, tuple[Operation, ...]]
    needs: Needs = Needs()

    @field_validator("name")
    @classmethod
    def _good_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(f"'{value}' does not fit. Allowed: a-z, 0-9 and '-', not starting with '-'")
        return value

    @field_validator("operations")
    @classmethod
    def _known(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for curve, operations in value.items():
            # The first has a name only, for what is asked for and cannot be had.
            if curve not in (*CURVES[1:], NO_CURVE):
                raise ValueError(f"curve '{curve}' is not known. Allowed: {', '.join(CURVES[1:])}, {NO_CURVE}")
            allowed = CURVELESS if curve == NO_CURVE else OF_CURVE
            for operation in operations:
                if operation not in allowed:
                    raise ValueError(f"'{operation}' does not go with '{curve}'. Allowed: {', '.join(allowed)}")
            if "sign" in operations and "verify" not in operations:
                raise ValueError(f"{curve}: 'sign' needs 'verify': a signature that nobody verifies is not measured")
            if curve != NO_CURVE and "keygen" not in operations:
                raise ValueError(f"{curve}: 'keygen' is missing: every other operation needs a key")
        return value

    @model_validator(mode="after")
    def _something(self) -> "Manifest":
        if not any(self.operations.values()):
            raise ValueError("[operations] names none: nothing would be measured")
        return self


@dataclass(frozen=True)
class Portable:
    """A portable implementation.

    Attributes:
        manifest: what its text says.
        adapter: the C file that defines the functions of guest/ops/portable/ops.h.
        folder: where its sources are if they are the user's own; None for one of the repository's.
    """

    manifest: Manifest
    adapter: Path
    folder: Path | None = None

    @property
    def name(self) -> str:
        """Its name in cases and tables."""
        return self.manifest.name

    @property
    def curves(self) -> tuple[str, ...]:
        """The curves it has, in the order of CURVES."""
        return tuple(curve for curve in CURVES if self.manifest.operations.get(curve))

    def has(self, operation: str, curve: str = NO_CURVE) -> bool:
        """Whether it has an operation (on a curve, for those that need one)."""
        return operation in self.manifest.operations.get(curve, ())

    def runs_on(self, core: str) -> bool:
        """Whether it works on a core."""
        return not self.manifest.needs.cores or core in self.manifest.needs.cores


def load_adapter(path: Path) -> Portable:
    """An implementation of the repository from its C file. Raises WorldwiseError naming file, line and key."""
    text = read_text(path, "adapter")
    block = _BLOCK.search(text)
    if not block:
        raise WorldwiseError(
            f"{path}: has no comment that begins with '/* {MANIFEST}'",
            "docs/adding.md says what stands in it",
        )
    manifest = parse(Manifest, block[1], path, first_line=text[: block.start(1)].count("\n") + 1)
    if manifest.name != path.stem:
        raise WorldwiseError(f"{path}: its name is '{manifest.name}', not that of the file")
    if manifest.source is None:
        raise WorldwiseError(f"{path}: has no [source]", "name a crate or a Debian source package")
    return Portable(manifest, path)


def load_folder(directory: Path) -> Portable:
    """A user's own implementation: a folder with implementation.toml, adapter.c and the sources it names.

    Raises WorldwiseError naming file, line and key.
    """
    if not directory.is_dir():
        raise WorldwiseError(f"{directory}: there is no such folder", "--implementation takes a folder")
    path = directory / MANIFEST
    manifest = parse(Manifest, read_text(path, "implementation"), path)
    if manifest.name in _own():
        raise WorldwiseError(f"{path}: the name '{manifest.name}' is one of worldwise's own", "choose another name")
    adapter = directory / ADAPTER
    if not adapter.is_file():
        raise WorldwiseError(
            f"{directory}: has no {ADAPTER}", "it defines the functions of guest/ops/portable/ops.h; see docs/own.md"
        )
    return Portable(manifest, adapter, directory.resolve())


@functools.cache
def _own() -> dict[str, Portable]:
    return {path.stem: load_adapter(path) for path in sorted(paths.PORTABLE.glob("*.c"))}


_added: dict[str, Portable] = {}


def add(implementation: Portable) -> None:
    """Make a user's implementation known for this call of the tool, under its name."""
    _added[implementation.name] = implementation


def remove(name: str) -> None:
    """Make an implementation that was added unknown again."""
    _added.pop(name, None)


def portables() -> Mapping[str, Portable]:
    """Every portable implementation by name: the repository's, then those the user brought. Raises WorldwiseError."""
    return {**_own(), **_added}


def find(name: str) -> Portable:
    """The implementation of a name. Raises WorldwiseError if it is a user's and was not brought."""
    found = portables().get(name)
    if found is None:
        raise WorldwiseError(
            f"implementation '{name}' is not here: it is a library of the user's own",
            "say where it is: --implementation DIR",
        )
    return found
