# SPDX-License-Identifier: BSD-2-Clause
"""Selections of a run's cases, such as `mbedtls-O2`: their meaning, and the pairs of cases from two selections."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import parameters_of
from worldwise.plan.catalogue import parameters

# The most names of files, packages or cases in one sentence.
_MOST_NAMED = 8


def parse_selection(text: str, cases: Sequence["CaseParts"]) -> dict[str, str]:
    """The parts of a case that a selection names: `target`, `implementation`, `optimisation`, and parameters by key.

    Its words are divided by commas or slashes: a target, a variant (or an implementation, or an optimisation alone),
    and parameters such as `core=cortex-a53`. A parameter's default is the empty value. Raises WorldwiseError.
    """
    targets = {case.target for case in cases}
    implementations = {case.implementation for case in cases}
    optimisations = {case.optimisation for case in cases}
    defaults = {parameter.key: parameter.default for parameter in parameters().values()}
    found: dict[str, str] = {}
    for word in filter(None, re.split("[,/]", text)):
        key, equals, value = word.partition("=")
        implementation, _, optimisation = word.rpartition("-")
        if equals:
            if key not in defaults:
                raise WorldwiseError(f"'{text}': no case has a parameter '{key}'.", did_you_mean(key, list(defaults)))
            new = {key: "" if value in ("default", defaults[key]) else value}
        elif word in targets:
            new = {"target": word}
        elif word in implementations:
            new = {"implementation": word}
        elif word in optimisations:
            new = {"optimisation": word}
        elif implementation in implementations and optimisation in optimisations:
            new = {"implementation": implementation, "optimisation": optimisation}
        else:
            variants = sorted({f"{case.implementation}-{case.optimisation}" for case in cases})
            known = [*sorted(targets), *variants]
            raise WorldwiseError(
                f"'{word}' is not a target, variant, implementation or optimisation of this run.",
                did_you_mean(word, known) or f"it has {named_list(known)}",
            )
        if found.keys() & new.keys():
            raise WorldwiseError(f"'{text}' names its {next(iter(found.keys() & new.keys()))} twice.")
        found |= new
    if not found:
        raise WorldwiseError("a selection is empty.", "name a variant of the run, such as mbedtls-nist-O2")
    return found


@dataclass(frozen=True)
class CaseParts:
    """A case's id, taken apart."""

    target: str
    implementation: str
    optimisation: str
    operation: str
    parameters: Mapping[str, str]

    @classmethod
    def of(cls, case_id: str) -> "CaseParts":
        """The parts of an id such as `optee/mbedtls-O2/sha256,size=1MiB`."""
        target, variant, rest = case_id.split("/")
        implementation, _, optimisation = variant.rpartition("-")
        operation, _, parameters = rest.partition(",")
        return cls(target, implementation, optimisation, operation, parameters_of(parameters))


@dataclass(frozen=True)
class Selected:
    wanted: Mapping[str, str]
    named: Collection[str]

    def key(self, parts: CaseParts) -> tuple[object, ...] | None:
        """A case without the parts that either side names; None if the case does not belong to this side."""
        given = {
            "target": parts.target,
            "implementation": parts.implementation,
            "optimisation": parts.optimisation,
            **parts.parameters,
        }
        # A parameter that only the other side names has its default value here.
        if any(given.get(name, "") != self.wanted.get(name, "") for name in self.named):
            return None
        left = tuple((name, value) for name, value in given.items() if name not in self.named)
        return (parts.operation, *left)


def named_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
