# SPDX-License-Identifier: BSD-2-Clause
"""Families: what each one declares to one stage, found by the names of its files.

A family is a folder of worldwise/families. It describes one thing that is measured, in a file for each stage that
needs it. A stage asks here and imports no family, so a new family changes no stage.
"""

import functools
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

FAMILIES = "worldwise.families"

T = TypeVar("T")


def declared(stage: str, kind: type[T]) -> Mapping[str, T]:
    """What the families declare to a stage: family -> the constant in its file of the stage's name.

    `stage` is the file's name without `.py`; the constant has the same name in capitals, and is a `kind`. A family
    without such a file is left out. Raises TypeError, when a family's is asked for, if the constant is something else.
    """
    return _declared(stage, kind)  # type: ignore[arg-type]


# Asked for with each case and each row, so the files are looked for once.
@functools.cache
def _declared(stage: str, kind: type[Any]) -> Mapping[str, Any]:
    return DeclaredStage(stage, kind)


class DeclaredStage(Mapping[str, T]):
    """Imports a family's file when somebody asks for what it declares: a run is of few families."""

    def __init__(self, stage: str, kind: type[T]) -> None:
        self._stage, self._kind = stage, kind
        names = {family: f"{FAMILIES}.{family}.{stage}" for family in importlib.import_module(FAMILIES).FAMILIES}
        self._names = {family: name for family, name in names.items() if importlib.util.find_spec(name)}
        self._found: dict[str, T] = {}

    def __getitem__(self, family: str) -> T:
        if family not in self._found:
            self._found[family] = self._imported(self._names[family])
        return self._found[family]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _imported(self, name: str) -> T:
        try:
            found = getattr(importlib.import_module(name), self._stage.upper())
        except KeyError as error:
            # `get` would take it for a family without such a file.
            raise ImportError(f"{name}: no {error}") from error
        if not isinstance(found, self._kind):
            raise TypeError(f"{name}.{self._stage.upper()} is no {self._kind.__name__}")
        return found
