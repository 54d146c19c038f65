# SPDX-License-Identifier: BSD-2-Clause
"""Functions and their names: which of several names one has, and those of images that come without any."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# Names of functions whose images come without any: see the file.
NAMES = Path(__file__).parent / "names.toml"
# Names that are no function's: they mark where a linker's section begins or ends.
MARK = re.compile(
    r"__[A-Z0-9_]+__|_*(s|e)(init|exit)?text|_text|_*\w*text\w*_(start|begin|end)|_*\w*(init|exit|ro|mem)_(start|end)"
)


class Function(NamedTuple):
    """A function of an image: name, link-time address, bytes, source file (empty if not known)."""

    name: str
    start: int
    size: int
    source: str = ""


@dataclass(frozen=True)
class Candidate:
    name: str
    is_global: bool


def best_name(candidates: Sequence[Candidate]) -> str:
    """Of several names of one function: no section mark, a global one, few leading underscores, short, first."""

    def rank(one: Candidate) -> tuple[bool, bool, bool, int, int, str]:
        underscores = len(one.name) - len(one.name.lstrip("_"))
        mark = MARK.fullmatch(one.name.removeprefix("__pi_")) is not None
        return (mark, one.name.startswith("__pi_"), not one.is_global, underscores, len(one.name), one.name)

    # Nearly all functions have one name, and a kernel has 60,000 functions.
    return candidates[0].name if len(candidates) == 1 else min(candidates, key=rank).name


def known_names(build: str) -> list[Function]:
    """Functions of a stripped image that names.toml knows by its build id."""
    if not build:
        return []
    with NAMES.open("rb") as file:
        images = tomllib.load(file)["image"]
    return [
        Function(one["name"], one["start"], one["size"], one.get("source", ""))
        for known in images
        if known["build_id"] == build
        for one in known["function"]
    ]
