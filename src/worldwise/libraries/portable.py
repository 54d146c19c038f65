# SPDX-License-Identifier: BSD-2-Clause
"""Portable implementations: crypto libraries that need no operating system, one C file of guest/adapters each.

The file's first comment, `implementation.toml`, says where the library's sources come from, how they are compiled and
which operations it has. A user's own library has the same text in a file of that name, in a folder with its sources.
"""

import functools
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, field_validator, model_validator

from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import Model, parse, read_text
from worldwise.libraries import curve_table
from worldwise.libraries.boards import load_core
from worldwise.libraries.own_library.mistaken_folder import undescribed

# Every curve with a name here, in the order of the tables. Reports list a curve that no library has as missing.
CURVES = tuple(curve_table.CURVES)
NO_CURVE = "none"
OF_CURVE = ("keygen", "sign", "verify", "ecdh")
# An operation that reads a library's clock around signatures; only in plain Linux, see guest/linux/hardclock.
HARDCLOCK = "hardclock"
CURVELESS = ("sha256", "sha512", "aes128", "aes256", "dhrystone")
# Of the implementation that stands for no library: ways between the states of TrustZone-M. See plan/parameters.py.
BETWEEN_STATES = ("gateway", "refused")
OPTIMISATIONS = ("O0", "Os", "O2", "O3")
# The level listed for a library that comes compiled, in a package; only its adapter is compiled here.
PACKAGED_OPTIMISATION = "O2"

# An implementation's name; it becomes part of folder names.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_BLOCK = re.compile(r"^/\* implementation\.toml\n(.*?)^ *\*/", re.DOTALL | re.MULTILINE)
MANIFEST = "implementation.toml"
ADAPTER = "adapter.c"

Described = TypeVar("Described", bound=Model)
Text = Annotated[str, Field(min_length=1, max_length=4000)]
OptionName = Annotated[str, Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]
# Crate names as the registry of crates allows them, versions as Semantic Versioning does.
CrateName = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)]
_PARTS = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
Version = Annotated[str, Field(pattern=rf"^[0-9]+\.[0-9]+\.[0-9]+(-{_PARTS})?(\+{_PARTS})?$", max_length=100)]
# Package names as Debian's policy allows them.
PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$", max_length=100)]
ArchiveName = Annotated[str, Field(pattern=r"^lib[A-Za-z0-9_+.-]+\.a$", max_length=100)]


def _within(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names. Raises ValueError if one leads out of a folder or is no usable pattern."""
    for name in names:
        problem = files.path_problem(name)
        parts = name.split("/")
        if not problem and any("**" in part and part != "**" for part in parts):
            problem = f"'{files.quoted(name)}': ** stands for folders, so alone between slashes"
        # Each ** searches all folders below everything that the one before it found.
        if not problem and parts.count("**") > _MOST_DEEP:
            problem = f"'{files.quoted(name)}' has ** more than {_MOST_DEEP} times"
        if problem:
            raise ValueError(problem)
    return names


_MOST_DEEP = 2
# Combinations of build options; a suite may ask for all of them.
_MOST_COMBINATIONS = 10_000
PathsWithin = Annotated[tuple[Text, ...], AfterValidator(_within)]
Operation = Literal[
    "keygen",
    "sign",
    "verify",
    "ecdh",
    "hardclock",
    "sha256",
    "sha512",
    "aes128",
    "aes256",
    "dhrystone",
    "gateway",
    "refused",
]


Feature = Literal["mainline", "dsp", "trustzone", "unaligned"]
"""What a Cortex-M can have: the keys of `cores.FEATURES`."""


class LibrarySource(Model):
    """Where a library comes from: a crate, a locked Debian source package, its own folder, or compiled packages.

    `parts`: the folders that are unpacked of a large source package, which must be without Debian's changes.
    `packages`: locked packages of the measured machine, whose static libraries are linked.
    """

    crate: CrateName | None = None
    version: Version | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    debian: PackageName | None = None
    parts: PathsWithin = ()
    packages: tuple[PackageName, ...] = ()

    @model_validator(mode="after")
    def _one(self) -> "LibrarySource":
        if [bool(self.crate), bool(self.debian), bool(self.packages)].count(True) != 1:
            raise ValueError(
                "must have one of 'crate', 'debian' and 'packages'; without [source] the sources are in the folder"
            )
        if self.crate and not (self.version and self.sha256):
            raise ValueError("a crate is pinned by 'version' and 'sha256', of its .crate file")
        if self.parts and not self.debian:
            raise ValueError("'parts' are those of a Debian source package")
        if not self.crate and (self.version or self.sha256):
            raise ValueError("a Debian package is pinned in lab/lock.json; no 'version' or 'sha256' here")
        return self


class Part(Model):
    """What is compiled: sources (names or shell patterns), header folders, definitions, other compiler flags."""

    sources: PathsWithin = ()
    include: PathsWithin = ()
    defines: tuple[Text, ...] = ()
    flags: tuple[Text, ...] = ()


class CorePart(Part):
    """What differs on one core: what is added, and sources and definitions that are left out."""

    without: tuple[Text, ...] = ()


class Build(Part):
    """How the library is compiled: for every program, with additions for one curve or core.

    `has`, `lacks`: additions for every Cortex-M that has, or lacks, a feature.
    `archives`: static libraries of its packages, in link order.
    """

    warnings: bool = False
    archives: tuple[ArchiveName, ...] = ()
    curve: dict[Text, Part] = Field(default_factory=dict)
    core: dict[Text, CorePart] = Field(default_factory=dict)
    has: dict[Feature, CorePart] = Field(default_factory=dict)
    lacks: dict[Feature, CorePart] = Field(default_factory=dict)

    def of_core(self, core: str) -> tuple[CorePart, ...]:
        """What differs on a core: by what it has, by what it lacks, and by its name. Raises WorldwiseError."""
        features = load_core(core).features
        found = [part for name, part in self.has.items() if features is not None and name in features]
        found += [part for name, part in self.lacks.items() if features is not None and name not in features]
        return (*found, *([self.core[core]] if core in self.core else []))

    def parts(self) -> tuple[Part, ...]:
        """Everything that any program has of it."""
        return (self, *self.curve.values(), *self.core.values(), *self.has.values(), *self.lacks.values())


class Option(Model):
    """One of a library's build options: the definitions of each value, and the default value."""

    default: OptionName
    values: dict[OptionName, tuple[Text, ...]]

    @model_validator(mode="after")
    def _there(self) -> "Option":
        if self.default not in self.values:
            raise ValueError(f"the default '{self.default}' is not among the values: {', '.join(self.values)}")
        return self


class CoreNeeds(Model):
    """On which cores a library works: on those of these names and on every Cortex-M with all features, or on any."""

    cores: tuple[Text, ...] = ()
    features: tuple[Feature, ...] = ()

    def met_by(self, core: str) -> bool:
        """Whether it works on a core. Raises WorldwiseError if there is no such core."""
        if not (self.cores or self.features) or core in self.cores:
            return True
        return bool(self.features) and set(self.features) <= (load_core(core).features or frozenset())


class Needs(CoreNeeds):
    """What a library needs besides: the frame's SHA-256, bytes of heap, or Linux.

    `hedged`: its Ed25519 signatures have random bytes in the nonce, so they are valid but differ from RFC 8032's.
    `derived`: its ECDSA nonces are those of RFC 6979, and a report need not warn of the bench's random bytes.

    Without `heap`, a program that allocates gets three quarters of the free RAM as heap, and the rest as stack.
    """

    frame_sha256: bool = False
    linux: bool = False
    hedged: bool = False
    derived: bool = False
    heap: Annotated[int, Field(ge=8)] | None = None


class Manifest(Model):
    """The text `implementation.toml`.

    `constant_time` is what its authors claim: a word for tables, then a colon and where they claim it. `authors` (with
    `and` between them), `year` and `url` are those of a user's own library, for the entry that cites it.
    """

    name: Text
    title: Text
    about: Text
    licence: Text
    constant_time: Text = "none: no claim known"
    authors: Text = ""
    year: Annotated[int, Field(ge=1970, le=2100)] | None = None
    url: Annotated[str, Field(pattern=r"^(https://[A-Za-z0-9./-]+)?$", max_length=200)] = ""
    source: LibrarySource | None = None
    build: Build
    operations: dict[Text, tuple[Operation, ...]]
    needs: Needs = Needs()
    options: dict[OptionName, Option] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _good_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            shown = files.quoted(value)
            raise ValueError(f"'{shown}' does not fit. Allowed: a-z, 0-9 and '-', not starting with '-', at most 64")
        return value

    @field_validator("operations")
    @classmethod
    def _known(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for curve, operations in value.items():
            # A curve without lengths has a name only so that reports can say that no library has it.
            if curve not in (*curve_table.MEASURABLE, NO_CURVE):
                allowed_curves = ", ".join((*curve_table.MEASURABLE, NO_CURVE))
                raise ValueError(f"curve '{curve}' is not known. Allowed: {allowed_curves}")
            allowed = (*CURVELESS, *BETWEEN_STATES) if curve == NO_CURVE else (*OF_CURVE, HARDCLOCK)
            for operation in operations:
                if operation not in allowed:
                    raise ValueError(f"'{operation}' does not go with '{curve}'. Allowed: {', '.join(allowed)}")
            if "sign" in operations and "verify" not in operations:
                raise ValueError(
                    f"{curve}: 'sign' needs 'verify': worldwise measures only signatures that it can verify"
                )
            if curve != NO_CURVE and "keygen" not in operations:
                raise ValueError(f"{curve}: 'keygen' is missing: every other operation needs a key")
        return value

    @model_validator(mode="after")
    def _something(self) -> "Manifest":
        if not any(self.operations.values()):
            raise ValueError("[operations] names none: nothing would be measured")
        if any(HARDCLOCK in each and "sign" not in each for each in self.operations.values()):
            raise ValueError(f"'{HARDCLOCK}' needs 'sign': it reads the library's clock around signatures")
        if any(HARDCLOCK in each for each in self.operations.values()) and not self.needs.linux:
            raise ValueError(f"'{HARDCLOCK}' is for Linux: [needs] must say linux = true")
        if not self.needs.linux:
            for curve in self.operations.keys() & curve_table.MEASURABLE.keys() - curve_table.IN_FRAME.keys():
                raise ValueError(f"curve '{curve}' is for Linux: [needs] must say linux = true")
        if math.prod(len(option.values) for option in self.options.values()) > _MOST_COMBINATIONS:
            raise ValueError(f"[options] has more than {_MOST_COMBINATIONS:,} combinations: too many to measure")
        if self.source and self.source.packages and not self.needs.linux:
            raise ValueError("a library that comes compiled is for Linux: [needs] must say linux = true")
        return self


@dataclass(frozen=True)
class Portable:
    """A portable implementation.

    Attributes:
        manifest: the content of its `implementation.toml`.
        adapter: the C file that defines the functions of guest/adapters/ops.h.
        folder: the folder of its sources if it is the user's own; None if it is the repository's.
    """

    manifest: Manifest
    adapter: Path
    folder: Path | None = None

    @property
    def name(self) -> str:
        """Its name in cases and tables."""
        return self.manifest.name

    @functools.cached_property
    def curves(self) -> tuple[str, ...]:
        """The curves it has, in the order of CURVES."""
        return tuple(curve for curve in CURVES if self.manifest.operations.get(curve))

    def has(self, operation: str, curve: str = NO_CURVE) -> bool:
        """Whether it has an operation (on a curve, for those that need one)."""
        return operation in self.manifest.operations.get(curve, ())

    @property
    def packaged(self) -> bool:
        """Whether it comes compiled, so no optimisation level changes it."""
        return bool(self.manifest.source and self.manifest.source.packages)

    def options(self, text: str) -> dict[str, str]:
        """The value of each of its build options, from a case's text such as `nist-off+window-2`.

        Raises WorldwiseError for an unknown or repeated option, listing those that it has.
        """
        chosen = {name: option.default for name, option in self.manifest.options.items()}
        named: set[str] = set()
        for word in text.split("+") if text else ():
            name, _, value = word.rpartition("-")
            option = self.manifest.options.get(name)
            if option is None or value not in option.values or name in named:
                has = "; ".join(f"{name}-{'|'.join(each.values)}" for name, each in self.manifest.options.items())
                twice = " appears twice" if name in named else " is no build option"
                raise WorldwiseError(f"'{word}'{twice} of {self.name}. It has: {has or 'none'}.")
            chosen[name] = value
            named.add(name)
        return chosen

    def options_text(self, chosen: Mapping[str, str]) -> str:
        """Option values in a case's one notation: those that are not the default, in the manifest's order."""
        return "+".join(
            f"{name}-{chosen[name]}"
            for name, option in self.manifest.options.items()
            if chosen.get(name, option.default) != option.default
        )

    def grid(self) -> list[str]:
        """Every combination of its build options' values, in a case's notation; only the default if it has none."""
        names = list(self.manifest.options)
        values = [self.manifest.options[name].values for name in names]
        return [self.options_text(dict(zip(names, chosen, strict=True))) for chosen in itertools.product(*values)]

    def defines(self, options: str) -> tuple[str, ...]:
        """The definitions for the options in a case's text. Raises WorldwiseError as `options` does."""
        chosen = self.options(options)
        return tuple(one for name, option in self.manifest.options.items() for one in option.values[chosen[name]])

    def runs_on(self, core: str) -> bool:
        """Whether it works on a core."""
        return self.manifest.needs.met_by(core)


def manifest_of(kind: type[Described], path: Path) -> Described:
    """The text `implementation.toml` in a C file's comment. Raises WorldwiseError naming file, line and key."""
    text = read_text(path, "adapter")
    block = _BLOCK.search(text)
    if not block:
        raise WorldwiseError(
            f"{path}: has no comment that begins with '/* {MANIFEST}'",
            "docs/add/add-library.md lists its keys",
        )
    return parse(kind, block[1], path, first_line=text[: block.start(1)].count("\n") + 1)


def load_adapter(path: Path) -> Portable:
    """An implementation of the repository from its C file. Raises WorldwiseError naming file, line and key."""
    manifest = manifest_of(Manifest, path)
    if manifest.name != path.stem:
        raise WorldwiseError(f"{path}: its name is '{manifest.name}', not that of the file")
    if manifest.source is None:
        raise WorldwiseError(f"{path}: has no [source]", "name a crate, a Debian source package or packages")
    return Portable(manifest, path)


def load_folder(directory: Path) -> Portable:
    """A user's own implementation, from a folder with implementation.toml, adapter.c and the sources it names.

    Raises WorldwiseError naming file, line and key.
    """
    path = directory / MANIFEST
    if not path.is_symlink() and not path.exists():
        raise undescribed(directory, MANIFEST, ADAPTER)
    manifest = parse(Manifest, read_text(path, "implementation"), path)
    if manifest.name in built_in():
        raise WorldwiseError(f"{path}: the name '{manifest.name}' is one of worldwise's own", "choose another name")
    adapter = directory / ADAPTER
    if not adapter.is_file():
        raise WorldwiseError(
            f"{directory}: has no {ADAPTER}",
            "it defines the functions of guest/adapters/ops.h; see docs/use/own.md",
        )
    return Portable(manifest, adapter, directory.resolve())


@functools.cache
def built_in() -> dict[str, Portable]:
    """The libraries of guest/adapters, by name, without those that a user adds."""
    return {path.stem: load_adapter(path) for path in sorted(paths.PORTABLE.glob("*.c"))}


_added: dict[str, Portable] = {}


def add(implementation: Portable) -> None:
    """Register a user's implementation under its name, for this process."""
    _added[implementation.name] = implementation


def remove(name: str) -> None:
    """Unregister an implementation that `add` registered."""
    _added.pop(name, None)


def portables() -> Mapping[str, Portable]:
    """Every portable implementation by name: the repository's, then those the user brought. Raises WorldwiseError."""
    return {**built_in(), **_added}


def find(name: str) -> Portable:
    """The implementation of a name. Raises WorldwiseError if it is a user's library that this run was not given."""
    found = portables().get(name)
    if found is None:
        raise WorldwiseError(
            f"implementation '{name}' is not here: it is a library of the user's own",
            "say where it is: --implementation DIR",
        )
    return found
