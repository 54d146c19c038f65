# SPDX-License-Identifier: BSD-2-Clause
"""What a recipe takes of a portable library: its adapter, its sources, and how they are compiled."""

import re
from pathlib import Path
from typing import Any

from worldwise.base import paths
from worldwise.libraries import portable
from worldwise.libraries.portable import NO_CURVE, Build, Portable
from worldwise.targets.guest import guest_trees

# An adapter that is another one in another configuration.
_INCLUDED = re.compile(r'^#include "([\w-]+\.c)"', re.MULTILINE)


def trees(implementation: Portable) -> dict[str, Path]:
    """The inputs of a recipe that are a user's library; none for one of the repository's."""
    return {"own": implementation.folder} if implementation.folder else {}


def adapters(implementation: Portable) -> set[str]:
    """The names of an adapter of the repository and of those that it includes; none for a user's own."""
    names: set[str] = set() if implementation.folder else {implementation.adapter.name}
    while more := {name for one in names for name in _INCLUDED.findall((paths.PORTABLE / one).read_text())} - names:
        names |= more
    return names


def adapter_trees(implementation: Portable) -> dict[str, Path]:
    """An adapter of the repository with the adapters that it includes, and the libraries' configurations."""
    names = adapters(implementation) | {path.name for path in paths.PORTABLE.glob("*.h")}
    return guest_trees(*sorted(names), room="ops/portable")


def source_packages(implementation: Portable) -> tuple[str, ...]:
    """Locked source packages that a library is compiled from, that of the bench's hash first."""
    source = implementation.manifest.source
    return tuple(dict.fromkeys(["bearssl", *([source.debian] if source and source.debian else [])]))


def curve_plan(implementation: Portable, curve: str, core: str) -> dict[str, Any]:
    """What is compiled of a library for one curve on one core, as the recipes take it."""
    build: Build = implementation.manifest.build
    of_core = build.core.get(core)
    parts = [build, *([build.curve[curve]] if curve in build.curve else []), *([of_core] if of_core else [])]
    without = of_core.without if of_core else ()
    return {
        "number": 0 if curve == NO_CURVE else portable.CURVES.index(curve),
        "sources": [one for part in parts for one in part.sources if one not in without],
        "include": [one for part in parts for one in part.include],
        "defines": [one for part in parts for one in part.defines if one not in without],
        "flags": [one for part in parts for one in part.flags],
    }
