# SPDX-License-Identifier: BSD-2-Clause
"""A suite's TOML document: values of the types that they must have, or an error with file, line and way out."""

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_lines import Path, TomlLines

MAX_TEXT = 1000


class Document:
    """Where the text of a suite says what. Every refusal goes through `refuse`, which knows the line."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._lines = TomlLines(text)

    def line(self, path: Path) -> int:
        """The line on which something stands."""
        return self._lines.line(path)

    def keys(self, path: Path, table: dict[str, Any], required: Sequence[str], optional: Sequence[str]) -> None:
        """Refuses a table with a key that is not known, or without one that it must have."""
        allowed = [*required, *optional]
        for key in table:
            if key not in allowed:
                self.refuse(
                    (*path, key),
                    f"there is no such key. Allowed: {', '.join(allowed)}.",
                    did_you_mean(key, allowed),
                )
        for key in required:
            if key not in table:
                self.refuse(path, f"the key '{key}' is missing. Required: {', '.join(required)}.")

    def choices(self, path: Path, value: Any, allowed: Collection[str]) -> list[str]:
        """A list of strings, each one of those allowed and none twice."""
        if not isinstance(value, list):
            self.refuse(path, f"must be a list of strings, is {kind(value)}. Allowed: {', '.join(allowed)}.")
        if not value:
            self.refuse(path, f"is empty: nothing would be chosen. Allowed: {', '.join(allowed)}.")
        chosen: dict[str, None] = {}
        for number, item in enumerate(value):
            name = self.choice((*path, number), self.string((*path, number), item), allowed)
            if name in chosen:
                self.refuse((*path, number), f"'{name}' stands there twice.")
            chosen[name] = None
        return list(chosen)

    def choice(self, path: Path, value: str, allowed: Collection[str]) -> str:
        """A string that is one of those allowed."""
        if value not in allowed:
            known = ", ".join(allowed)
            self.refuse(path, f"'{files.quoted(value)}' is not known. Allowed: {known}.", did_you_mean(value, allowed))
        return value

    def string(self, path: Path, value: Any) -> str:
        """A string with something in it."""
        if not isinstance(value, str):
            self.refuse(path, f"must be a string, is {kind(value)}.")
        if not value.strip():
            self.refuse(path, "is empty.")
        if len(value) > MAX_TEXT:
            self.refuse(path, f"has {len(value):,} characters. Allowed: up to {MAX_TEXT:,}.")
        return value

    def integer(self, path: Path, value: Any, least: int, most: int) -> int:
        """A whole number within bounds."""
        allowed = f"Allowed: whole numbers from {least} to {most}."
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(path, f"must be a whole number, is {kind(value)}. {allowed}")
        if not least <= value <= most:
            self.refuse(path, f"{value} is out of range. {allowed}")
        return value

    def quantity(self, path: Path, value: Any, parse: Callable[[str], Fraction]) -> Fraction:
        """A string that `parse` makes a quantity of."""
        text = self.string(path, value)
        try:
            return parse(text)
        except WorldwiseError as error:
            self.refuse(path, error.message, error.hint)

    def refuse(self, path: Path, problem: str, hint: str = "") -> NoReturn:
        """Raises WorldwiseError with file, line and what stands there."""
        where = f"{self.file}:{self.line(path)}"
        name = files.quoted(_path_text(path))
        # Much of it stands in the file.
        problem, hint = files.quoted(problem, 4000), files.quoted(hint, 4000)
        raise WorldwiseError(f"{where}: {name}: {problem}" if path else f"{where}: {problem}", hint)


def _path_text(path: Path) -> str:
    """`cases[2].targets`: blocks counted from 1, as people do; the line already points at the element."""
    text = ""
    for number, part in enumerate(path):
        if isinstance(part, str):
            text += f".{part}" if text else part
        elif number < len(path) - 1 or path[0] == "cases" == path[number - 1]:
            text += f"[{part + 1}]"
    return text


def kind(value: Any) -> str:
    """What a TOML value is, in words."""
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")
