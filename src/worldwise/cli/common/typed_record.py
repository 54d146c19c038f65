# SPDX-License-Identifier: BSD-2-Clause
"""Records of what was typed: a command sorts its parameters into a few, by what they are for. Loads no slow module."""

from dataclasses import fields
from typing import Any, Self


class TypedRecord:
    """A record of options: a field for each parameter of the command, by its name there."""

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Self:
        """Takes these out of all that was typed."""
        return cls(**{field.name: typed.pop(field.name) for field in fields(cls)})  # type: ignore[arg-type]


class TypedCall:
    """All that was typed of a command: a field for each of its records, every one a TypedRecord."""

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Self:
        """Sorts the command's parameters; each has its place in one of the records."""
        made = cls(**{field.name: field.type.taken(typed) for field in fields(cls)})  # type: ignore
        assert not typed, f"no record has {', '.join(typed)}"
        return made
