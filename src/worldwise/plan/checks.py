# SPDX-License-Identifier: BSD-2-Clause
"""Checks of an operation's parameters, and of whether an implementation can do it."""

import re
from collections.abc import Mapping

from worldwise.base import files
from worldwise.base.choices import choice_error
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import is_size, parse_size, size_text
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.plan.catalogue import (
    APPS,
    kind_of,
    operation_of,
    parameters,
    parameters_of_operation,
    takes_portables,
)
from worldwise.plan.parameters import size_problem
from worldwise.plan.spec import Parameter

_NUMBER = re.compile("[1-9][0-9]{0,14}")


def value_of(parameter: Parameter, text: str) -> str:
    """A parameter's value in a case's notation. Raises WorldwiseError whose message continues the parameter's name."""
    if parameter.values:
        if text not in parameter.values:
            raise choice_error("", text, parameter.values)
        return text
    if parameter.pattern:
        if not re.fullmatch(parameter.pattern, text):
            raise WorldwiseError(f": '{files.quoted(text)}' is not a text such as 'nist-off+window-2'.")
        return text
    if parameter.most is not None:
        if not _NUMBER.fullmatch(text) or int(text) > parameter.most:
            raise WorldwiseError(f": '{files.quoted(text)}' is not a whole number from 1 to {parameter.most}.")
        return text
    try:
        return size_text(parse_size(text))
    except WorldwiseError as error:
        raise WorldwiseError(f": {error.message}", error.hint) from error


def in_order(target: str, operation: str, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """An operation's parameters as in a case: in the order of its id, without those at their default."""
    return tuple(
        (parameter.key, given[parameter.key])
        for parameter in parameters_of_operation(target, operation)
        if given.get(parameter.key, parameter.default) != parameter.default
    )


def combination_problem(target: str, operation: str, given: Mapping[str, str]) -> str:
    """What is wrong with an operation's parameters together, all of them known to it; empty if nothing is."""
    listed = parameters_of_operation(target, operation)
    for parameter in listed:
        if parameter.missing and parameter.key not in given:
            missing = parameter.missing if not takes_portables(target) else parameter.missing.replace("1MiB", "32B")
            return f"'{operation}' needs {missing}."
    if "size" in given and (problem := size_problem(target, given["size"], given.get("chunk"))):
        return problem
    for parameter in listed:
        # The value may be allowed for another operation only.
        value = given.get(parameter.key)
        if value is not None and parameter.values and value not in parameter.values:
            allowed = ", ".join(parameter.values)
            return f"{parameter.key}={value} is not for '{operation}'. Allowed: {allowed}."
    found = operation_of(target, operation)
    return found.problem(kind_of(target), given) if found else ""


def unavailable_reason(
    target: str, implementation: str, curve: str, operation: str, given: Mapping[str, str] | None = None
) -> str:
    """Why a case is impossible, without a full stop; empty if it is possible. Raises WorldwiseError for a wrong file.

    The target and the implementation must be known ones. Whether a case is too large is known only with `given`.
    """
    found = operation_of(target, operation)
    if not found:
        return ""
    every = {**({"curve": curve} if curve else {}), **(given or {})}
    app = every.get(found.app_parameter, "")
    if app in APPS and not APPS[app].portable and implementation not in IMPLEMENTATIONS:
        return f"the TA of '{app}' takes no library"
    return found.reason(target, implementation, every)


def check_parameters(given: Mapping[str, str], target: str, operation: str, where: str) -> None:
    """Refuses parameters in a run's case that no version of worldwise can have written.

    Raises WorldwiseError naming `where` they stand.
    """
    for key, value in given.items():
        parameter = parameters().get(key)
        problem = "" if parameter else "is not known"
        if parameter and parameter.is_size and not is_size(value):
            problem = f"is '{files.quoted(value)}', not a size"
        elif parameter and parameter.most is not None and not _NUMBER.fullmatch(value):
            problem = f"is '{files.quoted(value)}', not a number"
        if problem:
            raise WorldwiseError(f"{where}: corrupt: parameter '{files.quoted(key)}' {problem}.")
    for parameter in parameters_of_operation(target, operation):
        if parameter.missing and parameter.key not in given:
            raise WorldwiseError(f"{where}: corrupt: parameter '{parameter.key}' of '{operation}' is missing.")
