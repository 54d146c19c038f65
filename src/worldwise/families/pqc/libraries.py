# SPDX-License-Identifier: BSD-2-Clause
"""The libraries that have post-quantum schemes: one C file of guest/pqc-adapters each."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import Model
from worldwise.families.pqc.schemes import SCHEMES
from worldwise.libraries.portable import Build, CoreNeeds, LibrarySource, Text, manifest_of

FOLDER = paths.GUEST / "pqc-adapters"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.c")))

Operation = Literal["keygen", "encaps", "decaps", "sign", "verify"]
Memory = Annotated[int, Field(ge=0, lt=2**32)]


class Peak(Model):
    """The most that an operation takes on any core, in bytes: of stack, and of heap."""

    stack: Memory
    heap: Memory


class Manifest(Model):
    """The text `implementation.toml` of a library of this family.

    `operations` and `build.curve` have schemes where those of a portable library have curves. `memory` says how much a
    board must have: scheme -> operation -> its peak.
    """

    name: Text
    title: Text
    about: Text
    licence: Text
    constant_time: Text
    source: LibrarySource
    build: Build
    operations: dict[Text, tuple[Operation, ...]]
    needs: CoreNeeds = CoreNeeds()
    memory: dict[Text, dict[Operation, Peak]] = Field(default_factory=dict)

    @field_validator("operations")
    @classmethod
    def _known(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for scheme, operations in value.items():
            if scheme not in SCHEMES:
                raise ValueError(f"scheme '{scheme}' is not known. Allowed: {', '.join(SCHEMES)}")
            if tuple(operations) != SCHEMES[scheme].operations:
                raise ValueError(f"{scheme} has {', '.join(SCHEMES[scheme].operations)}, each of them")
        return value

    @field_validator("source")
    @classmethod
    def _crate(cls, value: LibrarySource) -> LibrarySource:
        if not value.crate:
            raise ValueError("must be a crate")
        return value


@dataclass(frozen=True)
class Library:
    """A library and the C file that calls it."""

    manifest: Manifest
    adapter: Path

    @property
    def name(self) -> str:
        """Its name in cases and tables."""
        return self.manifest.name

    def peak(self, scheme: str, operation: str) -> Peak | None:
        """The memory that an operation takes; None if it was never measured."""
        return self.manifest.memory.get(scheme, {}).get(operation)  # type: ignore[call-overload, no-any-return]


def load(path: Path) -> Library:
    """A library from its C file. Raises WorldwiseError naming file, line and key."""
    manifest = manifest_of(Manifest, path)
    if manifest.name != path.stem:
        raise WorldwiseError(f"{path}: its name is '{manifest.name}', not that of the file")
    return Library(manifest, path)


@functools.cache
def libraries() -> Mapping[str, Library]:
    """The libraries by name. Raises WorldwiseError for a wrong file."""
    return {name: load(FOLDER / f"{name}.c") for name in NAMES}
