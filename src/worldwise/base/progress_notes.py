# SPDX-License-Identifier: BSD-2-Clause
"""Notes of long work: they are lines of text, and say besides what they are of, so that nobody reads it out of them."""

from dataclasses import dataclass
from typing import Literal

# What takes long: making an image, starting a machine.
Kind = Literal["build", "boot"]


class Begun(str):
    """A line that says that work begins: of its kind, on what `name` names."""

    kind: Kind
    name: str

    def __new__(cls, text: str, kind: Kind, name: str) -> "Begun":
        made = super().__new__(cls, text)
        made.kind, made.name = kind, name
        return made


class Done(Begun):
    """A line that says that such work is done."""


@dataclass(frozen=True)
class CaseEnd:
    """How a case of a run ended.

    Attributes:
        words: what is said of it: what was found, or one word.
        reused: whether an earlier run had measured it.
        failed: whether it ended with an error.
    """

    words: str
    reused: bool = False
    failed: bool = False

    @property
    def measured(self) -> bool:
        """Whether this run measured it."""
        return not self.reused and not self.failed


REUSED, FAILED = CaseEnd("reused", reused=True), CaseEnd("FAILED", failed=True)
