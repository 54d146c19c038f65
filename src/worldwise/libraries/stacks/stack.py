# SPDX-License-Identifier: BSD-2-Clause
"""A user's own stack: what of OP-TEE, TF-A and Linux is not as the lab has it. docs/use/stack.md explains it to users.

A run keeps the stack's file and all that it names as a folder of the cache, by its digest. While a stack is in use,
the images of the machine with OP-TEE are made with it (targets/optee_images.py); what it does not name stays the lab's.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from worldwise.base import files, toml_model
from worldwise.base.disk import listing_digest
from worldwise.libraries.stacks import provenance

# Its name among what a run has of the user's own, and its file in the copy.
STACK = "stack"
MANIFEST = "stack.toml"
PATCHES, TREE = "patches", "tree"
_API, _MOST_HEADER = "lib/libutee/include/tee_internal_api.h", 2**20
# Of a setting's value nothing may end a word of a shell or of make.
_VALUE = r"^[A-Za-z0-9_.,:/+-]{0,200}$"
_Value = Annotated[str, Field(pattern=_VALUE)]
_OpteeName = Annotated[str, Field(pattern=r"^CFG_[A-Za-z0-9_]{1,80}$")]
_FirmwareName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{1,80}$")]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+(=[A-Za-z0-9_.,:/+-]*)?$", max_length=200)]
_Patch = Annotated[str, Field(min_length=1, max_length=1000)]
# What worldwise itself decides: another value would measure something else than what it says.
_OURS = {
    "CFG_ARM64_core": "the machine's core is 64-bit",
    "CFG_USER_TA_TARGETS": "the measured TAs are 64-bit",
    "CFG_ARM_GICV3": "the machine has this interrupt controller",
    "CFG_CORE_ASLR": "addresses are named after the run",
    "CFG_TA_ASLR": "addresses are named after the run",
    "CFG_CRYPTOLIB_NAME": "a variant's name says which library it has",
    "CFG_CRYPTOLIB_DIR": "a variant's name says which library it has",
    "CFG_CC_OPT_LEVEL": "a variant's name says its optimisation level",
    "CFG_WORLDWISE_EL0_COUNTER": "the bench counts by it",
    "CFG_WORLDWISE_COUNTER_PTA": "the bench counts by it",
    "CFG_WORLDWISE_SEED": "inputs are given by it",
    "SPD": "[optee] is what runs in the secure world",
    "PLAT": "the machine is QEMU's virt",
    "CROSS_COMPILE": "the compiler is the lab's",
}
# Words of Linux's command line that hold the machine still.
_OUR_WORDS = ("console", "nokaslr", "norandmaps", "initrd", "randomize_kstack_offset", "iomem", "init", "rdinit")


class Optee(toml_model.StrictModel):
    """`[optee]`: a folder with another source, patches in order, and make settings."""

    source: Annotated[str, Field(min_length=1, max_length=1000)] = ""
    patches: Annotated[list[_Patch], Field(max_length=100)] = Field(default_factory=list)
    settings: dict[_OpteeName, _Value] = Field(default_factory=dict)


class Firmware(toml_model.StrictModel):
    """`[tf-a]`: make settings."""

    settings: dict[_FirmwareName, _Value] = Field(default_factory=dict)


class Linux(toml_model.StrictModel):
    """`[linux]`: more words of its command line."""

    words: list[_Word] = Field(default_factory=list)


class Stack(toml_model.StrictModel):
    """A stack's file. What it does not name is as the lab has it."""

    optee: Optee = Optee()
    firmware: Annotated[Firmware, Field(alias="tf-a")] = Firmware()
    linux: Linux = Linux()

    @model_validator(mode="after")
    def _leaves_ours(self) -> "Stack":
        for name in (*self.optee.settings, *self.firmware.settings):
            if name in _OURS:
                raise ValueError(f"{name} cannot be set: {_OURS[name]}")
        for word in self.linux.words:
            if (name := word.partition("=")[0]) in _OUR_WORDS:
                raise ValueError(f"Linux's '{name}' cannot be set: it holds the machine still")
        optee = self.optee
        if not (optee.source or optee.patches or optee.settings or self.firmware.settings or self.linux.words):
            raise ValueError("it changes nothing: it has no setting, patch, source or word")
        return self


@dataclass(frozen=True)
class BroughtStack:
    """A stack in the cache.

    Attributes:
        stack: what its file says.
        folder: the copy: `stack.toml`, `patches` and `tree`.
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


_used: list[BroughtStack | None] = []


def current() -> BroughtStack | None:
    """The stack in use; None for the lab's own."""
    return _used[-1] if _used else None


@contextlib.contextmanager
def used(brought: BroughtStack | None) -> Iterator[None]:
    """Make images with this stack, or with the lab's own for None, for as long as this lasts."""
    _used.append(brought)
    try:
        yield
    finally:
        _used.pop()


def parse(text: str, file: Path) -> Stack:
    """What a stack's file says. Raises WorldwiseError naming file, line and key."""
    return toml_model.parse(Stack, text, file)


def words(stack: Stack, revision: str = "") -> tuple[str, ...]:
    """What a stack has for the lab's, a few words each. `revision` is its source's, as BroughtStack has it."""
    optee = stack.optee
    commit = f" ({provenance.short(revision)})" if revision else ""
    return (
        *((f"OP-TEE from {optee.source}{commit}",) if optee.source else ()),
        *(f"OP-TEE with {Path(patch).name}" for patch in optee.patches),
        *(f"OP-TEE {name}={value}" for name, value in optee.settings.items()),
        *(f"TF-A {name}={value}" for name, value in stack.firmware.settings.items()),
        *(f"Linux {word}" for word in stack.linux.words),
    )
