# SPDX-License-Identifier: BSD-2-Clause
"""Families: what each one declares to one stage, found by the names of its files.

A family is a folder of worldwise/families. It describes one thing that is measured, in a file for each stage that
needs it. A stage asks here and imports no family, so a new family changes no stage.
"""

import functools
import importlib
import importlib.util
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

FAMILIES = "worldwise.families"

T = TypeVar("T")


def declared(stage: str, kind: type[T]) -> Mapping[str, T]:
    """What the families declare to a stage: family -> the constant in its file of the stage's name.

    `stage` is the file's name without `.py`; the constant has the same name in capitals, and is a `kind`. A family
    without such a file is left out. Raises TypeError if the constant is something else.
    """
    return _declared(stage, kind)  # type: ignore[arg-type]


# Asked for with each case and each row, so the files are looked for once.
@functools.cache
def _declared(stage: str, kind: type[Any]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for family in importlib.import_module(FAMILIES).FAMILIES:
        name = f"{FAMILIES}.{family}.{stage}"
        if importlib.util.find_spec(name):
            found[family] = getattr(importlib.import_module(name), stage.upper())
            if not isinstance(found[family], kind):
                raise TypeError(f"{name}.{stage.upper()} is no {kind.__name__}")
    return MappingProxyType(found)
