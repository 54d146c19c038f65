# SPDX-License-Identifier: BSD-2-Clause
"""The golden file of operations: what each target can be asked for, and which libraries have it."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from golden_refusals import parameters_there
from worldwise.base.errors import WorldwiseError
from worldwise.libraries import portable
from worldwise.plan.catalogue import (
    implementations_of,
    operations_of,
    optimisations_of,
    parameters,
    takes_portables,
    target_names,
)
from worldwise.plan.suite import Suite, parse_suite

# Values that operations need where the examples of errors do not fit.
_VALUES: Mapping[str, Mapping[str, str]] = {
    "sign": {"size": "32B"},
    "verify": {"size": "32B"},
    "hardclock": {"size": "32B"},
    "storage": {"size": "4KiB"},
    "file": {"size": "4KiB"},
    "power-cut": {"size": "4KiB"},
    "echo": {"size": "64B"},
    "echo-host": {"size": "64B"},
    "keycache": {"size": "16B", "action": "get-hit"},
    "keycache-load": {"size": "16B", "action": "ping"},
    "keycache-zipf": {"clients": "1000"},
    "keycache-mqtt": {"size": "16B"},
    "pkcs11": {"action": "login"},
    "pkcs11-openssl": {"action": "sign"},
    "dsa-keygen": {"scheme": "ml-dsa-65"},
    "dsa-sign": {"scheme": "ml-dsa-65", "size": "32B"},
    "dsa-verify": {"scheme": "ml-dsa-65", "size": "32B"},
}


def operations() -> str:
    """What each target can be asked for: measures, places, parameters, and what the libraries have of it."""
    return "\n".join(_operations()) + "\n"


def _operations() -> Iterator[str]:
    """What was said above is not said again: an operation's all, its parameters and its libraries."""
    first: dict[str, str] = {}
    parameters_said: dict[str, str] = {}
    libraries_said: dict[str, str] = {}
    lacking: dict[str, int] = {}
    for target in target_names():
        yield f"target {target}"
        texts = {operation: _operation(target, operation) for operation in operations_of(target)}
        alike = [(first.setdefault(f"{name} {text}", target), name) for name, text in texts.items()]
        for same, group in itertools.groupby(alike, lambda one: one[0]):
            names = [name for _, name in group]
            if same != target:
                yield f"  as on {same}: {', '.join(names)}"
                continue
            for name in names:
                text = texts[name]
                yield f"  {name}"
                yield from (f"    {measure}" for measure in text.measures)
                new = {key: what for key, what in text.parameters.items() if parameters_said.get(key) != what}
                parameters_said |= new
                yield from (f"    {key} {what}" for key, what in new.items())
                if text.parameters:
                    yield f"    takes {', '.join(text.parameters)}"
                here = f"{name} on {target}"
                there = libraries_said.setdefault("\n".join(text.libraries), here)
                if here == there:
                    yield from (f"    {line}" for line in _numbered(text.libraries, lacking))
                else:
                    yield f"    libraries: as {there}"


def _numbered(lines: list[str], known: dict[str, int]) -> Iterator[str]:
    """Lines, those with what is lacking by their numbers if they were there before."""
    before = []
    for line in lines:
        if line in known:
            before.append(f"{known[line]}")
        elif line.startswith("not: "):
            known[line] = len(known) + 1
            yield f"{line} [{known[line]}]"
        else:
            yield line
    if before:
        yield f"not, too: {' '.join(before)}"


@dataclass(frozen=True)
class _Operation:
    """What an operation is on a target: measures with places, parameters by key, and the libraries that have it."""

    measures: list[str]
    parameters: dict[str, str]
    libraries: list[str]


def _operation(target: str, operation: str) -> _Operation:
    measures = [f"{measure} at {', '.join(places)}" for measure, places in operations_of(target)[operation].items()]
    said: dict[str, str] = {}
    given: dict[str, list[str]] = {}
    for parameter in parameters_there(target, operation):
        allowed = ", ".join(parameter.values) or parameter.pattern or "a size"
        allowed = f"1 to {parameter.most}" if parameter.most else allowed
        what = f"default {parameter.default}" if parameter.default else "needed" if parameter.missing else ""
        machine = "of the machine" if parameter.of_machine else ""
        said[parameter.key] = f"({parameter.suite_key}): {'; '.join(filter(None, (allowed, what, machine)))}"
        chosen = _VALUES.get(operation, {}).get(parameter.key, "")
        example = re.search(rf"{parameter.key}=(\S+)", parameter.missing)
        if chosen or example:
            given[parameter.key] = [chosen or (example[1] if example else "")]
    if takes_portables(target) and "size" in given:
        given["size"] = ["32B"]
    if "curve" in given:
        given["curve"] = list(portable.CURVES)
    if "server" in given:
        given["server"] = ["linux" if target == "linux" else "call"]
    return _Operation(measures, said, list(_had(target, operation, given)))


def _had(target: str, operation: str, given: Mapping[str, list[str]]) -> Iterator[str]:
    """Which libraries have an operation, at which levels and on which curves, and why others have not."""
    block: dict[str, list[Any]] = {
        "targets": [target],
        "operations": [operation],
        "implementations": list(implementations_of(target, [operation])),
        "optimisations": list(optimisations_of(target)),
    }
    for parameter in parameters().values():
        if parameter.key in given:
            values = given[parameter.key]
            block[parameter.suite_key] = values if parameter.most is None else [int(value) for value in values]
    keys = [f"{key} = {json.dumps(value)}" for key, value in block.items()]
    top = 'format = 1\nname = "golden"\ntitle = "golden"\nsamples = 1\nwarmup = 0\n[[cases]]\n'
    try:
        suite = parse_suite(top + "\n".join(keys), "golden.toml")
    except WorldwiseError as error:
        # On this board nothing has it.
        yield f"not: {error.message.partition(' gives no case: ')[2]}"
        return
    found: dict[str, dict[str, None]] = {}
    for case in suite.cases:
        found.setdefault(f"{case.implementation} {case.curve}".strip(), {})[case.optimisation] = None
    groups: dict[tuple[str, ...], list[str]] = {}
    for library, levels in found.items():
        groups.setdefault(tuple(levels), []).append(library)
    for chosen, libraries in groups.items():
        yield f"{', '.join(chosen)}: {', '.join(libraries)}"
    yield from _lacking(suite)


def _lacking(suite: Suite) -> Iterator[str]:
    """What is unavailable and why: a line for the libraries that lack the same, with all curves that they lack."""
    curves: dict[tuple[str, str], dict[str, None]] = {}
    for one in suite.unavailable:
        own = f"{one.implementation} "
        library = one.implementation if one.reason.startswith(own) else ""
        rest = one.reason.removeprefix(own)
        curve = one.curve if one.curve and rest.endswith(one.curve) else ""
        curves.setdefault((library, rest.removesuffix(curve)), {})[curve] = None
    libraries: dict[str, list[str]] = {}
    for (library, rest), lacked in curves.items():
        libraries.setdefault(rest + ", ".join(lacked), []).append(library)
    for rest, names in libraries.items():
        yield f"not: {' '.join(filter(None, (', '.join(names), rest)))}"
