# SPDX-License-Identifier: BSD-2-Clause
"""Cases: each is one thing to measure. A suite expands to cases, and each has an id."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from worldwise.base import files
from worldwise.base.choices import choice_error, close_names, did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import parse_size
from worldwise.libraries import portable
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.curve_table import curve_name
from worldwise.plan.availability import level_reason
from worldwise.plan.catalogue import (
    implementations_of,
    is_board,
    is_target,
    operations_of,
    optimisations_of,
    parameters,
    parameters_of_operation,
    target_names,
)
from worldwise.plan.checks import combination_problem, in_order, unavailable_reason, value_of
from worldwise.plan.spec import OWN, Measures

# An error about an unknown variant lists all variants up to this number, else only similar ones.
_FEW = 12
_MOST_CLOSE = 5


@dataclass(frozen=True)
class Case:
    """One thing to measure: an operation of one implementation, built one way, on one target.

    `parameters` are (key, value) in the operation's order, without those at their default;
    sizes are as `size_text` writes them. `seed` says which draw of its inputs it has: see worldwise.plan.inputs.
    `as_shipped` leaves the machine's interrupts and Linux's random stack offset on.
    """

    target: str
    implementation: str
    optimisation: str
    operation: str
    samples: int
    warmup: int
    parameters: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    as_shipped: bool = False

    @property
    def variant(self) -> str:
        """Implementation and optimisation level, such as `mbedtls-nist-O2`; of own code its name."""
        return f"{self.implementation}-{self.optimisation}" if self.optimisation else self.implementation

    @functools.cached_property
    def id(self) -> str:
        """The case's name, and its directory in a run: `optee/mbedtls-O2/sha256,size=1MiB`."""
        return ",".join(filter(None, (f"{self.target}/{self.variant}/{self.operation}", self.parameter_text)))

    @property
    def parameter_text(self) -> str:
        """The parameters as the id has them: `size=1MiB,chunk=64KiB`; empty for none. See `parameters_of`."""
        return ",".join(map("=".join, self.parameters))

    @property
    def calls(self) -> int:
        """How often the operation is called: once cold, then warm-up, then samples."""
        return 1 + self.warmup + self.samples

    @property
    def measures(self) -> Measures:
        """The case's measures: measure -> places, the innermost first."""
        return operations_of(self.target)[self.operation]

    @property
    def board(self) -> str:
        """The board it is measured on; empty if its target is no board."""
        return self.target if is_board(self.target) else ""

    @property
    def core(self) -> str:
        """The core of its machine, in plain Linux; empty on other targets, which have one each."""
        return dict(self.parameters).get("core", PLAIN_TARGETS.get(self.target, ""))

    @property
    def options(self) -> str:
        """The library's build options that are not the default; see `Portable.options`."""
        return dict(self.parameters).get("options", "")

    @property
    def curve(self) -> str:
        """The curve, for a portable implementation; empty for an operation without a curve."""
        return dict(self.parameters).get("curve", "")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The parameters for the measured program: `curve=secp256r1`, `size=1048576`, sizes in bytes."""
        known = parameters()
        return tuple(
            f"{key}={parse_size(value) if known[key].is_size else value}"
            for key, value in self.parameters
            if not known[key].of_machine
        )

    @property
    def runs(self) -> int | None:
        """How often a benchmark program runs its loop in one call; None for other operations."""
        value = dict(self.parameters).get("runs")
        return None if value is None else int(value)

    @property
    def ticks_in_both_worlds(self) -> bool:
        """Whether Linux's timer interrupts the secure world too."""
        return ("ticks", "both") in self.parameters

    @property
    def size(self) -> int | None:
        """The message's size in bytes, for an operation whose messages may have any size."""
        return self._bytes("size")

    @property
    def chunk(self) -> int | None:
        """How many bytes of a message one call transfers; None if it transfers the whole message."""
        return self._bytes("chunk")

    @property
    def spans(self) -> int:
        """How many calls of the TA one call of the operation takes."""
        if not self.size or not self.chunk:
            return 1
        return -(-self.size // self.chunk)

    def _bytes(self, key: str) -> int | None:
        value = dict(self.parameters).get(key)
        return None if value is None else parse_size(value)


@dataclass(frozen=True)
class Unavailable:
    """A request of a suite that is unavailable, and why. It is no case, but a report must mention it.

    `curve` is empty for an operation without a curve. It holds at every optimisation level, and for
    every size unless the reason names one.
    """

    target: str
    implementation: str
    curve: str
    operation: str
    reason: str


def parameters_of(text: str) -> dict[str, str]:
    """Parameters by key, from their text in a case's id."""
    return dict(_pairs(text))


@functools.lru_cache(maxsize=4096)
def _pairs(text: str) -> tuple[list[str], ...]:
    # A report asks for those of a row some hundred times.
    return tuple(word.split("=", 1) for word in text.split(",") if word)


def _variant_error(what: str, without: str, variant: str, variants: Sequence[str]) -> WorldwiseError:
    """The error for an unknown variant: it lists similar ones, or all variants if the text named none.

    `without` is the case's id without its variant.
    """
    if not variant:
        return WorldwiseError(f"{what}: a case needs a variant. There are {', '.join(variants)}.")
    if len(variants) <= _FEW:
        return choice_error(f"{what}: variant", variant, variants)
    close = close_names(variant, variants, _MOST_CLOSE)
    said = f"Similar: {', '.join(close)}" if close else f"None of the {len(variants)} is similar"
    all_of_them = f"all {len(variants)} variants: worldwise explain {files.quoted(without)}"
    return WorldwiseError(
        f"{what}: variant '{files.quoted(variant)}' is not known. {said}.",
        hint=" ".join(filter(None, (did_you_mean(variant, variants), all_of_them))),
    )


def parse_case(text: str, samples: int = 1, warmup: int = 0) -> Case:
    """A case from its id, such as `optee/mbedtls-O2/sha256,size=1MiB`. Raises WorldwiseError."""
    what = f"case '{files.quoted(text)}'"
    parts = text.strip().split("/")
    if len(parts) != 3:
        raise WorldwiseError(
            f"{what}: a case is TARGET/VARIANT/OPERATION, with parameters behind a comma.",
            hint="such as optee/mbedtls-nist-O2/attestdiv or linux/mbedtls-O2/sha256,size=1MiB",
        )
    target, variant, rest = parts
    if target == OWN:
        raise WorldwiseError(
            f"{what}: the catalogue has no case of your own code; a run has it.",
            f"name the run, and the case behind it: latest --case '{files.quoted(text.strip())}'",
        )
    operation, *words = rest.split(",")
    if not is_target(target):
        raise choice_error(f"{what}: target", target, target_names())
    operations = operations_of(target)
    if operation not in operations:
        raise choice_error(f"{what}: operation", operation, operations, what=f"is not one of target '{target}'")
    implementation, _, optimisation = variant.rpartition("-")
    variants = [
        f"{name}-{level}"
        for name in implementations_of(target, [operation], [implementation])
        for level in optimisations_of(target)
    ]
    if variant not in variants:
        raise _variant_error(what, f"{target}//{rest}", variant, variants)
    given = _given(what, target, operation, words)
    reason = unavailable_reason(target, implementation, given.get("curve", ""), operation, given)
    reason = reason or level_reason(target, implementation, optimisation)
    if reason:
        raise WorldwiseError(f"{what}: {reason}.")
    if "options" in given:
        library = portable.portables()[implementation]
        try:
            given["options"] = library.options_text(library.options(given["options"]))
        except WorldwiseError as error:
            raise WorldwiseError(f"{what}: options: {error.message}") from error
    chosen = in_order(target, operation, given)
    return Case(target, implementation, optimisation, operation, samples, warmup, chosen)


def _given(what: str, target: str, operation: str, words: list[str]) -> dict[str, str]:
    """The checked parameters behind a case's operation, each written `key=value`."""
    allowed = [parameter.key for parameter in parameters_of_operation(target, operation)]
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in allowed:
            raise choice_error(f"{what}: parameter", key, allowed)
        if not equals or key in given:
            raise WorldwiseError(f"{what}: parameter '{files.quoted(key)}' must be there once, as {key}=VALUE.")
        try:
            given[key] = value_of(parameters()[key], curve_name(value) if key == "curve" else value)
        except WorldwiseError as error:
            raise WorldwiseError(f"{what}: {key}{error.message}", error.hint) from error
    problem = combination_problem(target, operation, given)
    if problem:
        raise WorldwiseError(f"{what}: {problem}")
    return given
