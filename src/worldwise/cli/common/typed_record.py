# SPDX-License-Identifier: BSD-2-Clause
"""Records of what was typed: a command sorts its parameters into a few, by what they are for. Loads no slow module."""

from dataclasses import Field, fields
from typing import Any, Self


class TypedRecord:
    """A dataclass of options: a field for each parameter of the command, by its name there, or for a further record."""

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Self:
        """Takes these out of all that was typed."""
        return cls(**{field.name: _value(field, typed) for field in fields(cls)})  # type: ignore[arg-type]


class TypedCall(TypedRecord):
    """All that was typed of a command."""

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Self:
        """Sorts the command's parameters; each has its place in one of the records."""
        made = super().taken(typed)
        assert not typed, f"no record has {', '.join(typed)}"
        return made


def _value(field: Field[Any], typed: dict[str, Any]) -> Any:
    kind = field.type
    return kind.taken(typed) if isinstance(kind, type) and issubclass(kind, TypedRecord) else typed.pop(field.name)
