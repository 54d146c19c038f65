# SPDX-License-Identifier: BSD-2-Clause
"""A suite's text: what is wrong with a value of the right type is refused with file, line and way out."""

import functools
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import NoReturn

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.key_lines import Path, TomlLines
from worldwise.base.toml.messages import path_text


class Document:
    """Where the text of a suite says what. Every refusal goes through `refuse`, which knows the line."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    @functools.cached_property
    def _lines(self) -> TomlLines:
        # Few texts are refused, and nobody asks for a line of the others.
        return TomlLines(self.text)

    def line(self, path: Path) -> int:
        """The line on which something stands."""
        return self._lines.line(path)

    def choices(self, path: Path, value: Sequence[str], allowed: Collection[str]) -> list[str]:
        """A list of names, each one of those allowed and none twice."""
        if not value:
            self.refuse(path, f"is empty: nothing would be chosen. Allowed: {', '.join(allowed)}.")
        chosen: dict[str, None] = {}
        for number, item in enumerate(value):
            name = self.choice((*path, number), item, allowed)
            if name in chosen:
                self.refuse((*path, number), f"'{name}' appears twice.")
            chosen[name] = None
        return list(chosen)

    def choice(self, path: Path, value: str, allowed: Collection[str]) -> str:
        """A string that is one of those allowed."""
        if value not in allowed:
            known = ", ".join(allowed)
            self.refuse(path, f"'{files.quoted(value)}' is not known. Allowed: {known}.", did_you_mean(value, allowed))
        return value

    def quantity(self, path: Path, text: str, parse: Callable[[str], Fraction]) -> Fraction:
        """What `parse` makes of a text."""
        try:
            return parse(text)
        except WorldwiseError as error:
            self.refuse(path, error.message, error.hint)

    def refuse(self, path: Path, problem: str, hint: str = "") -> NoReturn:
        """Raises WorldwiseError with file, line and what stands there."""
        where = f"{self.file}:{self.line(path)}"
        name = files.quoted(path_text(path, is_table=path[-2:-1] == ("cases",)))
        # Much of it stands in the file.
        problem, hint = files.quoted(problem, 4000), files.quoted(hint, 4000)
        raise WorldwiseError(f"{where}: {name}: {problem}" if path else f"{where}: {problem}", hint)
