# SPDX-License-Identifier: BSD-2-Clause
"""Everything that a suite can ask for, collected from the families' declarations."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from worldwise.base.family_stages import declared
from worldwise.libraries import boards, portable
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.implementation import IMPLEMENTATIONS as IMPLEMENTATION_TABLE
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.plan.spec import (
    BOARD,
    EMBEDDED_OPTIMISATIONS,
    LINUX,
    OPTEE,
    OWN,
    REGION_MEASURE,
    REGION_PLACE,
    TEE_TARGETS,
    App,
    Measures,
    Operation,
    Parameter,
    Spec,
)

SPECS: Mapping[str, Spec] = declared("spec", Spec)

# The implementations of the targets that have a TEE.
IMPLEMENTATIONS = tuple(IMPLEMENTATION_TABLE)


def _of_kind(kind: str) -> dict[str, tuple[str, Operation]]:
    there: dict[str, tuple[str, Operation]] = {}
    for family, spec in SPECS.items():
        for operation in spec.operations:
            if kind in operation.measures:
                if operation.name in there:
                    raise TypeError(f"families.{family}: operation {operation.name} is another family's on {kind}")
                there[operation.name] = (family, operation)
    return there


_OF_KINDS = {kind: _of_kind(kind) for kind in (OPTEE, LINUX, *PLAIN_TARGETS, BOARD)}
# Kind of target -> operation -> its family's declaration. Every board is of the kind BOARD.
_KINDS: Mapping[str, Mapping[str, Operation]] = {
    **{kind: {name: operation for name, (_, operation) in there.items()} for kind, there in _OF_KINDS.items()},
    # The regions of own code are named by who measures it.
    OWN: {},
}
# Everything a suite may ask for: target -> operation -> measure -> places, the innermost first. Every board is a
# further target; see `operations_of`.
TARGETS: Mapping[str, Mapping[str, Measures]] = {
    target: {name: operation.measures[kind] for name, operation in _KINDS[kind].items()}
    for target, kind in (*TEE_TARGETS.items(), *zip(PLAIN_TARGETS, PLAIN_TARGETS, strict=True))
}
# What every board can be asked for.
BOARD_OPERATIONS: Mapping[str, Measures] = {
    name: operation.measures[BOARD] for name, operation in _KINDS[BOARD].items()
}


class _Regions(Mapping[str, Measures]):
    """The operations of OWN: a region of any name."""

    def __getitem__(self, name: str) -> Measures:
        return {REGION_MEASURE: (REGION_PLACE,)}

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


REGIONS: Mapping[str, Measures] = _Regions()
OPERATIONS = tuple(dict.fromkeys(operation.name for spec in SPECS.values() for operation in spec.operations))
MEASURES = tuple(
    dict.fromkeys(
        measure
        for spec in SPECS.values()
        for operation in spec.operations
        for measures in operation.measures.values()
        for measure in measures
    )
)
_OF_APPS: Mapping[str, str] = {name: family for family, spec in SPECS.items() for name in spec.apps}
APPS: Mapping[str, App] = MappingProxyType({name: app for spec in SPECS.values() for name, app in spec.apps.items()})
# The apps whose TA gets wrong calls from the operation `abuse`.
ABUSED = tuple(name for name, app in APPS.items() if not app.elsewhere)
PUBLISHED = tuple(dict.fromkeys(source for spec in SPECS.values() for source in spec.published))


def _with_apps(parameter: Parameter) -> Parameter:
    return replace(parameter, values=ABUSED) if parameter.names_app else parameter


# (kind of target, operation) -> its parameters, each with only the values that this operation allows.
_PARAMETERS: Mapping[tuple[str, str], tuple[Parameter, ...]] = {
    (kind, name): tuple(map(_with_apps, operation.parameters.get(kind, ())))
    for kind, there in _KINDS.items()
    for name, operation in there.items()
}


def is_board(target: str) -> bool:
    """Whether a case's target is a board's name.

    Every name that is not in TARGETS counts as a board's, so that a run of a removed board can still be read.
    """
    return target not in TARGETS and target != OWN


def kind_of(target: str) -> str:
    """The kind of a target, as families declare what they have on it: OPTEE, LINUX, PLAIN_TARGETS, BOARD, OWN."""
    return BOARD if is_board(target) else TEE_TARGETS.get(target, target)


def takes_portables(target: str) -> bool:
    """Whether a target runs only programs of portable implementations: a board, or plain Linux."""
    return target in PLAIN_TARGETS or is_board(target)


def is_target(name: str) -> bool:
    """Whether there is a target of this name; the boards' files are read only if no other target has it."""
    return name in TARGETS or name in boards.boards()


def target_names() -> tuple[str, ...]:
    """Every target: those of TARGETS, then the boards. Raises WorldwiseError if a board's file is wrong."""
    return (*TARGETS, *boards.boards())


def operations_of(target: str) -> Mapping[str, Measures]:
    """A target's operations: operation -> measure -> places, the innermost first. See `is_board`."""
    return REGIONS if target == OWN else TARGETS.get(target, BOARD_OPERATIONS)


def operation_of(target: str, operation: str) -> Operation | None:
    """The declaration of an operation on a target by its family; None if the target lacks the operation."""
    return _KINDS[kind_of(target)].get(operation)


class Measured(Protocol):
    """What one operation did, or cannot do, on one target: a case, a row, an entry of what is unavailable."""

    @property
    def target(self) -> str:
        """The target's name."""

    @property
    def operation(self) -> str:
        """The operation's name."""


def family_of(one: Measured) -> str:
    """The family that declares the operation of a case or of a row on its target; empty if no family has it.

    Whoever needs what a family declares for one case looks the family up here: no other family is asked.
    """
    return family_of_operation(one.target, one.operation)


def family_of_operation(target: str, operation: str) -> str:
    """The family that declares an operation on a target; empty if no family does."""
    if target == OWN:
        return OWN  # whatever its regions are called
    family, _ = _OF_KINDS[kind_of(target)].get(operation, ("", None))
    return family


def parameters_of_operation(target: str, operation: str) -> tuple[Parameter, ...]:
    """An operation's parameters on a target, in the order of a case's id; none if the target lacks the operation.

    Each has only the values that this operation allows.
    """
    return _PARAMETERS.get((kind_of(target), operation), ())


def parameters_of_program(kinds: Iterable[str], app: str = "") -> tuple[str, ...]:
    """The keys of all parameters that a program of these kinds of target may be given, each once.

    `app` is the program's app; it is empty for a program without an app. What is compiled into the program refuses
    every other key.
    """
    return tuple(
        dict.fromkeys(
            parameter.key
            for kind in kinds
            for name, operation in _KINDS[kind].items()
            if app in _apps_of(kind, operation)
            for parameter in _PARAMETERS[kind, name]
            if not parameter.of_machine
        )
    )


def _apps_of(kind: str, operation: Operation) -> tuple[str, ...]:
    """The apps that do an operation on a kind of target; one empty name if none does."""
    if not operation.app_parameter:
        return (operation.app,)
    parameters = _PARAMETERS[kind, operation.name]
    return next(parameter.values for parameter in parameters if parameter.key == operation.app_parameter)


@functools.cache
def parameters() -> Mapping[str, Parameter]:
    """Every parameter by its key, with the values of all operations."""
    found: dict[str, Parameter] = {}
    for parameter in itertools.chain.from_iterable(_PARAMETERS.values()):
        known = found.setdefault(parameter.key, parameter)
        values = tuple(dict.fromkeys((*known.values, *parameter.values)))
        found[parameter.key] = merged = replace(known, values=values)
        if replace(parameter, values=values) != merged:
            raise TypeError(f"the parameter '{parameter.key}' is not the same for all families")
    return MappingProxyType(found)


def family_of_app(app: str) -> str:
    """The family that declares an app; empty if there is no such app."""
    return _OF_APPS.get(app, "")


def app_of(operation: str, given: Mapping[str, str]) -> str:
    """The name of the app that does an operation in a TEE; empty for an operation without a TEE."""
    for kind in (OPTEE, LINUX):
        found = operation_of(kind, operation)
        if found:
            return given[found.app_parameter] if found.app_parameter else found.app
    return ""


def implementations_of(
    target: str, operations: Iterable[str] = (), asked: Iterable[str] | None = None
) -> tuple[str, ...]:
    """The names of the implementations that a target can have for at least one of `operations`.

    If `asked`, the names that somebody asks for, are OP-TEE's alone, no other library's file is read.
    Raises WorldwiseError if an implementation's file is wrong.
    """
    known = dict.fromkeys(portable.portables() if takes_portables(target) else IMPLEMENTATIONS)
    if asked is not None and known.keys() >= set(asked):
        return tuple(known)
    for operation in operations:
        found = operation_of(target, operation)
        known |= dict.fromkeys(found.own.libraries if found and found.own else ())
        for name in _apps_of(kind_of(target), found) if found else ():
            app = APPS.get(name)
            if app:
                known |= dict.fromkeys(app.libraries if kind_of(target) != OPTEE else ())
                known |= dict.fromkeys(portable.portables() if app.portable else ())
    return tuple(known)


def optimisations_of(target: str) -> tuple[str, ...]:
    """The optimisation levels at which a target's programs can be built."""
    return OPTIMISATIONS if target in PLAIN_TARGETS else EMBEDDED_OPTIMISATIONS
