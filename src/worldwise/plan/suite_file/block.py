# SPDX-License-Identifier: BSD-2-Clause
"""One [[cases]] block of a suite: lists whose product is cases, some of them unavailable."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.key_lines import Path
from worldwise.base.units import parse_size, size_text
from worldwise.libraries import portable
from worldwise.plan.availability import is_not_for, level_reason
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import (
    OPERATIONS,
    TARGETS,
    implementations_of,
    operations_of,
    optimisations_of,
    parameters,
    parameters_of_operation,
    takes_portables,
    target_names,
)
from worldwise.plan.checks import combination_problem, in_order, unavailable_reason, value_of
from worldwise.plan.parameters import DEFAULT, GRID, SIZE
from worldwise.plan.spec import Parameter
from worldwise.plan.suite_file.document import Document
from worldwise.plan.suite_file.tables import CasesTable, words_of

# It keeps a suite from filling the memory: a few lists of a block give their product in cases.
MAX_CASES = 50_000

# An operation on a target, and each combination of its parameters.
_Combinations = dict[tuple[str, str], list[dict[str, str]]]


def require_few(document: Document, path: Path, number: int) -> None:
    """Refuses more cases than a suite may have."""
    if number > MAX_CASES:
        document.refuse(path, f"gives {number:,} cases or more. Allowed: up to {MAX_CASES:,}.")


@dataclass(frozen=True)
class BlockCases:
    """What a block gives: cases, and the unavailable combinations that it asks for."""

    cases: tuple[Case, ...]
    unavailable: tuple[Unavailable, ...]


class BlockReader:
    """Reads one block; `path` is where it stands. Raises WorldwiseError with file and line."""

    def __init__(self, document: Document, path: Path, table: CasesTable) -> None:
        self._document = document
        self._path = path
        self._table = table

    def read(self, samples: int, warmup: int) -> BlockCases:
        """The block's cases; `samples` and `warmup` are the suite's."""
        document, path, table = self._document, self._path, self._table
        targets = self._targets()
        operations = self._operations(targets)
        implementations = self._implementations(targets, operations)
        levels = dict.fromkeys(level for target in targets for level in optimisations_of(target))
        optimisations = document.choices((*path, "optimisations"), table.optimisations, tuple(levels))
        samples = samples if table.samples is None else table.samples
        warmup = warmup if table.warmup is None else table.warmup
        combinations = self._combinations(targets, operations)
        number = len(implementations) * len(optimisations) * sum(map(len, combinations.values()))
        require_few(document, path, number)
        cases: list[Case] = []
        unavailable: dict[Unavailable, None] = {}
        reasons: dict[str, None] = {}
        for target in targets:
            for implementation in implementations:
                for optimisation in optimisations:
                    for operation in operations:
                        for given in combinations[target, operation]:
                            gap, reason = self._lacking(target, implementation, optimisation, operation, given)
                            if reason:
                                reasons[reason] = None
                                unavailable |= dict.fromkeys([gap] if gap else [])
                                continue
                            cases += [
                                Case(target, implementation, optimisation, operation, samples, warmup, chosen)
                                for chosen in self._with_options(target, implementation, operation, given)
                            ]
        if not cases:
            document.refuse(path, f"gives no case: {'; '.join(reasons)}.")
        return BlockCases(tuple(cases), tuple(unavailable))

    def _lacking(
        self, target: str, implementation: str, optimisation: str, operation: str, given: Mapping[str, str]
    ) -> tuple[Unavailable | None, str]:
        """Why a case cannot be, empty if it can; and the gap that a report tells of, if it is one."""
        curve = given.get("curve", "")
        reason = unavailable_reason(target, implementation, curve, operation, given)
        if is_not_for(curve, operation):
            return None, reason  # not a gap of any library: nobody would look for it
        if reason:
            return Unavailable(target, implementation, curve, operation, reason), reason
        return None, level_reason(target, implementation, optimisation)  # it is there, at its own level

    def _targets(self) -> list[str]:
        listed = self._table.targets
        # A suite without a board needs no board's file.
        needed = any(name not in TARGETS for name in listed)
        return self._document.choices((*self._path, "targets"), listed, target_names() if needed else tuple(TARGETS))

    def _operations(self, targets: list[str]) -> list[str]:
        path: Path = (*self._path, "operations")
        operations = self._document.choices(path, self._table.operations, OPERATIONS)
        for target in targets:
            self._require_there(path, operations, target, operations_of(target))
        return operations

    def _implementations(self, targets: list[str], operations: list[str]) -> list[str]:
        path: Path = (*self._path, "implementations")
        asked = self._table.implementations
        known = {target: implementations_of(target, operations, asked) for target in targets}
        every = tuple(dict.fromkeys(name for names in known.values() for name in names))
        chosen = self._document.choices(path, asked, every)
        for target, names in known.items():
            self._require_there(path, chosen, target, names)
        return chosen

    def _require_there(self, path: Path, chosen: list[str], target: str, there: Collection[str]) -> None:
        """Refuses a chosen name that a target lacks; `path` is the list's."""
        for number, name in enumerate(chosen):
            if name not in there:
                self._document.refuse(
                    (*path, number),
                    f"'{name}' does not exist on target '{target}'. Allowed there: {', '.join(there)}.",
                    hint="give it a [[cases]] block of its own, with the targets that have it",
                )

    def _combinations(self, targets: list[str], operations: list[str]) -> _Combinations:
        """Of each target and operation every combination of the parameters' values, in the operation's order.

        Every operation of the block must have all of them, but on boards: there one block may ask for operations with
        a curve and others with a size, and a parameter goes to those that have it.
        """
        pairs = [(target, operation) for target in targets for operation in operations]
        values = self._values(pairs)
        combinations: _Combinations = {}
        for pair in pairs:
            listed: list[dict[str, str]] = [{}]
            for parameter in parameters_of_operation(*pair):
                if parameter.key in values:
                    where = (*self._path, parameter.suite_key)
                    require_few(self._document, where, len(listed) * len(values[parameter.key]))
                    listed = [given | {parameter.key: value} for given in listed for value in values[parameter.key]]
            combinations[pair] = listed
        for (target, operation), listed in combinations.items():
            for given in listed:
                problem = combination_problem(target, operation, given)
                if problem:
                    self._document.refuse(self._size_path(given), problem)
        return {pair: [dict(in_order(*pair, given)) for given in listed] for pair, listed in combinations.items()}

    def _values(self, pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
        """The values of each parameter that the block names, by its key."""
        found: dict[str, list[str]] = {}
        for parameter in parameters().values():
            listed = self._table.listed(parameter)
            if listed is None:
                continue
            where: Path = (*self._path, parameter.suite_key)
            found[parameter.key] = self._values_of(where, parameter, listed)
            having = [pair for pair in pairs if parameter.key in _keys_of(pair)]
            for target, operation in pairs:
                if (target, operation) not in having and not (takes_portables(target) and having):
                    keys = [other.suite_key for other in parameters_of_operation(target, operation)]
                    self._document.refuse(
                        where,
                        f"'{operation}' on target '{target}' has no {parameter.key}.",
                        f"allowed there: {', '.join(keys)}" if keys else "",
                    )
        return found

    def _values_of(self, path: Path, parameter: Parameter, listed: list[Any]) -> list[str]:
        if parameter.values:
            return self._document.choices(path, listed, parameter.values)
        found: dict[str, None] = {}
        for number, item in enumerate(listed):
            at = (*path, number)
            value = self._value(at, parameter, item)
            if value in found and not parameter.pattern:
                shown = f"'{item}'" if parameter.is_size else value
                self._document.refuse(at, f"{shown} appears twice.")
            found[value] = None
        if not found:
            self._document.refuse(path, f"must be {words_of(parameter)}, is empty.")
        return list(found)

    def _value(self, path: Path, parameter: Parameter, item: Any) -> str:
        if parameter.pattern and item == DEFAULT:
            return ""
        try:
            return value_of(parameter, str(item))
        except WorldwiseError as error:
            self._document.refuse(path, error.message.removeprefix(": "))

    def _size_path(self, given: Mapping[str, str]) -> Path:
        """The size in question, if sizes are given; else the block."""
        for number, text in enumerate(self._table.listed(SIZE) or ()):
            if size_text(parse_size(text)) == given.get("size"):
                return (*self._path, "sizes", number)
        return self._path

    def _with_options(
        self, target: str, implementation: str, operation: str, given: dict[str, str]
    ) -> list[tuple[tuple[str, str], ...]]:
        """The parameters with the build options as a library has them; for GRID each combination of them."""
        text = given.get("options", "")
        if not text:
            return [tuple(given.items())]
        library = portable.portables()[implementation]
        try:
            chosen = library.grid() if text == GRID else [library.options_text(library.options(text))]
        except WorldwiseError as error:
            self._document.refuse((*self._path, "options"), error.message)
        return [in_order(target, operation, given | {"options": one}) for one in dict.fromkeys(chosen)]


def _keys_of(pair: tuple[str, str]) -> set[str]:
    return {parameter.key for parameter in parameters_of_operation(*pair)}
