# SPDX-License-Identifier: BSD-2-Clause
"""Domains: what code is, as far as it decides which published figures say how well a model predicts it.

A domain is the kind of its instructions, whether its memory makes it wait (on a Cortex-M), and who wrote the
instructions: a person, in assembly, or a compiler.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from worldwise.libraries.boards import boards
from worldwise.libraries.portable import portables
from worldwise.plan.catalogue import is_board
from worldwise.plan.spec import TEE_TARGETS
from worldwise.predict import rules
from worldwise.records.model_predictions import PredictedSample

Code = Literal["integer", "neon", "float"]
By = Literal["assembly", "compiled"]
# Whether code waits for its memory, or what it stores does; None for a core with caches.
Waits = bool | Literal["stores"] | None
# Integers with and without vectors together: what a domain of too few figures is joined to. Floating point never is.
NOT_FLOAT = "integer-and-neon"
CODES: dict[Code, str] = {"integer": "integer", "neon": "NEON integer", "float": "floating-point"}

# Libraries whose measured operations are hand-written assembly in the main, as their own texts say.
_ASSEMBLY = frozenset({"p256-cortex-m4", "s2n-bignum", "s2n-bignum-random", "wolfssl-sp"})
# In the names of OP-TEE's variants.
_PARTLY = ("-asm", "-ce")


@dataclass(frozen=True)
class Domain:
    """What code is.

    Attributes:
        code: the kind of its instructions.
        waits: whether it is in memory that makes the core wait, or stores wait; None for a core with caches.
        by: who wrote the instructions; None if both did, or if it is unknown.
    """

    code: Code
    waits: Waits = None
    by: By | None = None

    @property
    def kind(self) -> str:
        """The kind of the error line that has this domain alone, such as `integer-no-waits-compiled`."""
        return self._kind(self.code)

    @property
    def words(self) -> str:
        """In words: `compiled NEON integer code`."""
        before = "compiled " if self.by == "compiled" else ""
        behind = " in assembly" if self.by == "assembly" else ""
        return f"{before}{CODES[self.code]} code{behind}{_waits(self.waits)}"

    def joined(self) -> Iterator[tuple[str, str]]:
        """The kinds that stand for it where it has too few figures of its own, each with what was joined, in words.

        Waiting is never joined with not waiting, nor floating point with anything.
        """
        both = replace(self, by=None)
        if self.by:
            yield both.kind, "assembly and compiled code"
        if self.code != "float" and self.waits is None:
            if self.by:
                yield self._kind(NOT_FLOAT), "integer code with and without NEON"
            yield both._kind(NOT_FLOAT), "assembly and compiled code, with and without NEON"

    def _kind(self, code: str) -> str:
        waits = {None: "", False: "-no-waits", True: "-waits", "stores": "-store-waits"}[self.waits]
        return f"{code}{waits}{f'-{self.by}' if self.by else ''}"


def kinds_of(domain: Domain) -> list[str]:
    """Every kind of error line that a figure of a domain counts in; the domain's `by` is known."""
    return [domain.kind, *dict.fromkeys(kind for kind, _ in domain.joined())]


def _waits(waits: Waits) -> str:
    words = {None: "", False: " without wait states", True: " with wait states", "stores": " whose stores wait"}
    return words[waits]


def code_of(sample: PredictedSample) -> Code:
    """The kind of a sample's instructions."""
    if sum(one.float_instructions for one in sample.layers) >= rules.LEAST_FLOAT * sample.instructions:
        return "float"
    vector = sum(one.vector_instructions for one in sample.layers)
    return "neon" if vector >= rules.LEAST_VECTOR * sample.instructions else "integer"


def waits_of(case: str) -> bool | None:
    """Whether a case's code waits for its memory, by the case's id; None off the boards."""
    target = case.partition("/")[0]
    return bool(boards()[target].flash_wait_states) if is_board(target) else None


def by_of(case: str) -> By | None:
    """Who wrote the instructions that a case measures, by its id: what is known of its library."""
    parts = case.split("/")
    name = parts[1].rpartition("-")[0] if len(parts) > 1 else ""
    if name in _ASSEMBLY:
        # What a client of a TA waits for is other code too.
        return None if parts[0] in TEE_TARGETS else "assembly"
    library = portables().get(name)
    if library is None:
        known = name.startswith(("mbedtls", "libtomcrypt")) and not any(part in name for part in _PARTLY)
        return "compiled" if known else None
    build = library.manifest.build
    words = [word.lower() for part in build.parts() for word in (*part.sources, *part.defines)]
    mixed = any(word.endswith(".s") or "asm" in word for word in words)
    return None if library.packaged or build.archives or mixed else "compiled"
