# SPDX-License-Identifier: BSD-2-Clause
"""Families: what each one declares to one stage, found by the names of its files.

A family is a folder of worldwise/families. It describes one thing that is measured, in a file for each stage that
needs it. A stage asks here and imports no family, so a new family changes no stage.
"""

import functools
import importlib
import importlib.util
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

FAMILIES = "worldwise.families"

T = TypeVar("T")


@functools.cache
def names() -> tuple[str, ...]:
    """Every family, in the order of lists and tables."""
    listed: tuple[str, ...] = importlib.import_module(FAMILIES).FAMILIES
    return listed


def declared(stage: str, kind: type[T]) -> Mapping[str, T]:
    """What the families declare to a stage: family -> the constant in its file of the stage's name.

    `stage` is the file's name without `.py`; the constant has the same name in capitals, and is a `kind`. A family
    without such a file is left out. Raises TypeError if the constant is something else.
    """
    return {name: value for name in names() if (value := _constant(name, stage, kind)) is not None}


def _constant(family: str, stage: str, kind: type[T]) -> T | None:
    module = _module(family, stage)
    if module is None:
        return None
    value = getattr(module, stage.upper())
    if not isinstance(value, kind):
        raise TypeError(f"{module.__name__}.{stage.upper()} is no {kind.__name__}")
    return value


# Asked for with each case: whether there is a file is looked up once.
@functools.cache
def _module(family: str, stage: str) -> ModuleType | None:
    name = f"{FAMILIES}.{family}.{stage}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None
