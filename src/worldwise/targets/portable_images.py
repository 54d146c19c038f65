# SPDX-License-Identifier: BSD-2-Clause
"""How a portable implementation is compiled: the inputs and plans of recipes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldwise.base import paths
from worldwise.lab.image import Recipe
from worldwise.libraries.cores import TEE_CORE
from worldwise.libraries.curve_table import curve_number
from worldwise.libraries.portable import Build, Portable
from worldwise.targets.guest import guest_trees, unpacked

# Whose SHA-256 the bench's is.
HASH = "bearssl"
# An adapter that includes another one, to use it in another configuration.
_INCLUDED = re.compile(r'^#include "([\w-]+\.c)"', re.MULTILINE)


def trees(implementation: Portable, source: Path | None) -> dict[str, Path]:
    """A recipe's inputs with a user's library, and with the `source` of one that comes as a crate; none for others."""
    found = {"own": implementation.folder, "source": source}
    return {name: path for name, path in found.items() if path}


def adapters(implementation: Portable) -> set[str]:
    """The names of a library's adapter and of the adapters that it includes; none for a user's library."""
    return set() if implementation.folder else with_included(implementation.adapter)


def with_included(adapter: Path) -> set[str]:
    """The names of an adapter and of those beside it that it includes."""
    names = {adapter.name}
    while more := {name for one in names for name in _INCLUDED.findall((adapter.parent / one).read_text())} - names:
        names |= more
    return names


def adapter_trees(implementation: Portable) -> dict[str, Path]:
    """A recipe's inputs: an adapter, the adapters that it includes, and the libraries' configuration headers."""
    names = adapters(implementation) | {path.name for path in paths.PORTABLE.glob("*.h")}
    return guest_trees(*sorted(names), room="adapters")


def source_packages(implementation: Portable) -> dict[str, Recipe]:
    """The source packages that a program with a library is compiled from; the first is for the bench's hash."""
    return unpacked(HASH) | library_package(implementation)


def library_package(implementation: Portable) -> dict[str, Recipe]:
    """The source package that a library is compiled from; none if it comes in another way."""
    source = implementation.manifest.source
    return unpacked(source.debian, parts=source.parts) if source and source.debian else {}


def tee_plan(
    implementation: Portable, optimisation: str, curve: str, operations: Sequence[str], options: str = ""
) -> dict[str, Any]:
    """The plan of what recipes/tee_library.py compiles; `options` are build options in a case's notation."""
    part = curve_plan(implementation, curve, TEE_CORE)
    source = implementation.manifest.source
    debian = source.debian if source else None
    return {
        "name": implementation.name,
        "debian": debian or "",
        "own": source is None,
        "optimisation": optimisation,
        "frame_sha256": implementation.manifest.needs.frame_sha256,
        "operations": list(operations),
        **part,
        # Without any, an adapter's own defaults hold.
        "defines": [*part["defines"], *(implementation.defines(options) if options else ())],
    }


def curve_plan(implementation: Portable, curve: str, core: str) -> dict[str, Any]:
    """The plan of what is compiled of a library for one curve on one core, as the recipes read it."""
    return {"number": curve_number(curve), **build_plan(implementation.manifest.build, curve, core)}


def build_plan(build: Build, curve: str, core: str) -> dict[str, list[str]]:
    """What is compiled of a library for one curve, or another name in `build.curve`, on one core."""
    of_core = build.of_core(core)
    parts = [build, *([build.curve[curve]] if curve in build.curve else []), *of_core]
    without = {one for part in of_core for one in part.without}
    return {
        "sources": [one for part in parts for one in part.sources if one not in without],
        "include": [one for part in parts for one in part.include],
        "defines": [one for part in parts for one in part.defines if one not in without],
        "flags": [one for part in parts for one in part.flags],
    }
