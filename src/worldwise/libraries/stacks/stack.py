# SPDX-License-Identifier: BSD-2-Clause
"""A user's own stack: what of OP-TEE, TF-A and Linux is not as the lab has it. docs/use/stack.md explains it to users.

A run keeps the stack's file and all that it names as a folder of the cache, by its digest. While a stack is in use,
the images of the machine with OP-TEE are made with it (targets/optee_images.py); what it does not name stays the lab's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from worldwise.base import files
from worldwise.base.disk import listing_digest
from worldwise.base.toml import toml_model
from worldwise.libraries.stacks import provenance, refused_settings, spmc
from worldwise.libraries.stacks.in_use import current as current
from worldwise.libraries.stacks.in_use import used as used

# Its name among what a run has of the user's own, and its file in the copy.
STACK = "stack"
MANIFEST = "stack.toml"
PATCHES, TREE, KERNEL = "patches", "tree", "linux-image.deb"
_API, _MOST_HEADER = "lib/libutee/include/tee_internal_api.h", 2**20
# Of a setting's value nothing may end a word of a shell or of make.
_VALUE = r"^[A-Za-z0-9_.,:/+-]{0,200}$"
_Value = Annotated[str, Field(pattern=_VALUE, description='a word of make such as "y" or "8"')]
_OpteeName = Annotated[str, Field(pattern=r"^CFG_[A-Za-z0-9_]{1,80}$")]
_FirmwareName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{1,80}$")]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+(=[A-Za-z0-9_.,:/+-]*)?$", max_length=200)]
_Patch = Annotated[str, Field(min_length=1, max_length=1000)]
_Package = Annotated[str, Field(min_length=1, max_length=1000)]


class Optee(toml_model.StrictModel):
    """`[optee]`: a folder with another source, patches in order, and make settings.

    `platform` can have the lab's value alone: whoever names another reads what can be done. `compiler` is gcc, the
    lab's, or clang.
    """

    platform: str = refused_settings.PLATFORM
    compiler: str = refused_settings.COMPILER
    source: Annotated[str, Field(min_length=1, max_length=1000)] = ""
    patches: Annotated[list[_Patch], Field(max_length=100)] = Field(default_factory=list)
    settings: dict[_OpteeName, _Value] = Field(default_factory=dict)

    # Before the names are checked: what these ask for has a better answer than the form of a name.
    _settings = field_validator("settings", mode="before")(refused_settings.require_settings)
    _platform = field_validator("platform")(refused_settings.require_platform)
    _compiler = field_validator("compiler")(refused_settings.require_compiler)


class Firmware(toml_model.StrictModel):
    """`[tf-a]`: make settings, and the exception level of a secure partition manager, 0 for opteed."""

    spmc_at_el: Annotated[int, Field(alias="SPMC_AT_EL")] = 0
    settings: dict[_FirmwareName, _Value] = Field(default_factory=dict)

    _settings = field_validator("settings", mode="before")(refused_settings.require_firmware_settings)
    _spmc = field_validator("spmc_at_el", mode="before")(spmc.require_level)


class Linux(toml_model.StrictModel):
    """`[linux]`: a kernel as Debian packages, and more words of its command line."""

    package: _Package | Annotated[list[_Package], Field(min_length=1, max_length=10)] = Field(default_factory=list)
    words: list[_Word] = Field(default_factory=list)

    _keys = model_validator(mode="before")(refused_settings.require_kernel)
    _words = field_validator("words")(refused_settings.require_words)

    @property
    def packages(self) -> list[str]:
        """The kernel's packages; none for the lab's kernel."""
        return [self.package] if isinstance(self.package, str) else self.package


class Stack(toml_model.StrictModel):
    """A stack's file. What it does not name is as the lab has it."""

    optee: Optee = Optee()
    firmware: Annotated[Firmware, Field(alias="tf-a")] = Firmware()
    linux: Linux = Linux()

    @model_validator(mode="after")
    def _changes_something(self) -> "Stack":
        optee = self.optee
        firmware = self.firmware
        linux = self.linux
        others = (firmware.settings, firmware.spmc_at_el, linux.package, linux.words)
        if not any((optee.source, optee.patches, optee.settings, optee.compiler == refused_settings.CLANG, *others)):
            raise ValueError("it changes nothing: it has no setting, patch, source, kernel or word")
        if firmware.spmc_at_el and not linux.package:
            raise ValueError(spmc.NEEDS_FFA)
        return self


@dataclass(frozen=True)
class BroughtStack:
    """A stack in the cache.

    Attributes:
        stack: what its file says.
        folder: the copy: `stack.toml`, `patches`, `tree` and `linux-image.deb`.
        origin: its file as the user named it, for messages.
        text: the content of that.
        files: SHA-256 of each file of the copy, by its path there.
        revision: the commit of its source, and what differs from it; empty if that has none. A copy in the cache does
            not have it, for two commits can have the same files.
    """

    stack: Stack
    folder: Path
    origin: Path
    text: str
    files: Mapping[str, str]
    revision: str = ""

    @property
    def name(self) -> str:
        """Its name among what a run has of the user's own."""
        return STACK

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all its files."""
        return listing_digest(self.files)

    @property
    def patches(self) -> Path | None:
        """The folder of its patches, named in their order; None if it has none."""
        return self.folder / PATCHES if self.stack.optee.patches else None

    @property
    def tree(self) -> Path | None:
        """The folder of its OP-TEE; None if that is the lab's."""
        return self.folder / TREE if self.stack.optee.source else None

    @property
    def by_clang(self) -> bool:
        """Whether clang compiles its OP-TEE."""
        return self.stack.optee.compiler == refused_settings.CLANG

    @property
    def kernels(self) -> tuple[Path, ...]:
        """The Debian packages of its kernel; none if that is the lab's."""
        return tuple(self.folder / kernel_file(number) for number in range(1, len(self.stack.linux.packages) + 1))

    @property
    def is_old(self) -> bool:
        """Whether its OP-TEE has no TEE Internal Core API 1.3 yet, for which the TAs of the suites are written."""
        if self.tree is None:
            return False
        try:
            header = files.read_bytes(self.tree / _API, _MOST_HEADER, self.tree)
        except OSError:
            # It is no OP-TEE, and its build says so.
            return False
        # Since that version, the functions as they were before it have such names.
        return b"__GP11_" not in header


def kernel_file(number: int) -> str:
    """The name of a kernel's package in the copy; they are counted from 1."""
    return KERNEL if number == 1 else f"linux-image-{number}.deb"


def parse(text: str, file: Path) -> Stack:
    """What a stack's file says. Raises WorldwiseError naming file, line and key."""
    return toml_model.parse(Stack, text, file)


def words(stack: Stack, revision: str = "") -> tuple[str, ...]:
    """What a stack has for the lab's, a few words each. `revision` is its source's, as BroughtStack has it."""
    optee = stack.optee
    commit = f" ({provenance.short(revision)})" if revision else ""
    return (
        *((f"OP-TEE from {optee.source}{commit}",) if optee.source else ()),
        *((f"OP-TEE by {optee.compiler}",) if optee.compiler != refused_settings.COMPILER else ()),
        *(f"OP-TEE with {Path(patch).name}" for patch in optee.patches),
        *(f"OP-TEE {name}={value}" for name, value in optee.settings.items()),
        *((f"TF-A SPMC_AT_EL={stack.firmware.spmc_at_el}",) if stack.firmware.spmc_at_el else ()),
        *(f"TF-A {name}={value}" for name, value in stack.firmware.settings.items()),
        *(f"Linux of {Path(package).name}" for package in stack.linux.packages),
        *(f"Linux {word}" for word in stack.linux.words),
    )
