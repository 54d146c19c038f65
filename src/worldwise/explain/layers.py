# SPDX-License-Identifier: BSD-2-Clause
"""Layers: which part of the system a function belongs to. The rules are data, in layers.toml."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.key_lines import TomlLines, syntax_error_line

RULES = Path(__file__).parent / "layers.toml"

# Code outside all images is unknown. Functions that no rule takes are listed, so that somebody can write a rule.
UNKNOWN = "unknown"
NO_RULE = "no rule"
OTHER_PROCESS = "other processes"


@dataclass(frozen=True)
class Rule:
    """One rule: every pattern that is given must match. Patterns are those of a shell."""

    layer: str
    images: tuple[str, ...]
    sources: tuple[str, ...]
    functions: tuple[str, ...]
    line: int

    def takes(self, image: str, source: str, function: str) -> bool:
        """Whether a function falls under this rule."""
        return (
            any(fnmatchcase(image, pattern) for pattern in self.images)
            and (not self.sources or any(fnmatchcase(source, pattern) for pattern in self.sources))
            and (not self.functions or any(fnmatchcase(function, pattern) for pattern in self.functions))
        )

    def reason(self, image: str, source: str, function: str) -> str:
        """The patterns by which the rule takes a function: `image tee, source core/mm/*`."""
        tried = (
            ("image", image, self.images),
            ("source", source, self.sources),
            ("function", function, self.functions),
        )
        matching = (
            (key, value, [one for one in patterns if fnmatchcase(value, one)]) for key, value, patterns in tried
        )
        return ", ".join(f"{key} {found[0]}" for key, _, found in matching if found)


@dataclass(frozen=True)
class Rules:
    """All rules, in the order in which they are tried, and the helpers."""

    layers: tuple[str, ...]
    rules: tuple[Rule, ...]
    helpers: tuple[str, ...]
    parts: dict[str, tuple[str, ...]]
    file: str

    @cached_property
    def _known(self) -> dict[tuple[str, str, str], Rule | None]:
        return {}

    def part(self, functions: Sequence[str]) -> str:
        """The part of a call that a stack belongs to: the first part that has any function of the stack.

        Empty if no part has one.
        """
        for function in functions:
            if function not in self._known_parts:
                self._known_parts[function] = next(
                    (
                        name
                        for name, patterns in self.parts.items()
                        if any(fnmatchcase(function, pattern) for pattern in patterns)
                    ),
                    "",
                )
        on_stack = {self._known_parts[function] for function in functions}
        return next((name for name in self.parts if name in on_stack), "")

    @cached_property
    def _known_parts(self) -> dict[str, str]:
        return {}

    @cached_property
    def _known_helpers(self) -> dict[str, bool]:
        return {}

    def rule(self, image: str, source: str, function: str) -> Rule | None:
        """The first rule that takes a function, None if none does."""
        key = (image, source, function)
        if key not in self._known:
            self._known[key] = next((rule for rule in self.rules if rule.takes(*key)), None)
        return self._known[key]

    def layer(self, image: str, source: str, function: str) -> str:
        """The layer of a function; NO_RULE if no rule takes it."""
        rule = self.rule(image, source, function)
        return rule.layer if rule else NO_RULE

    def is_helper(self, function: str) -> bool:
        """Whether a function works for its caller (memset and the like)."""
        if function not in self._known_helpers:
            self._known_helpers[function] = any(fnmatchcase(function, pattern) for pattern in self.helpers)
        return self._known_helpers[function]

    @property
    def order(self) -> tuple[str, ...]:
        """All names a layer can have, in the order of the tables."""
        return (*self.layers, OTHER_PROCESS, NO_RULE, UNKNOWN)


def load_rules(path: Path = RULES) -> Rules:
    """Read a file of rules. Raises WorldwiseError with file and line."""
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise WorldwiseError(f"{path}:{syntax_error_line(error, text)}: {error}") from None
    return _Reader(path, TomlLines(text)).rules(document)


@dataclass(frozen=True)
class _Reader:
    """Reads one file of rules."""

    path: Path
    lines: TomlLines

    def rules(self, document: dict[str, Any]) -> Rules:
        unknown = sorted(document.keys() - {"helpers", "layer", "parts"})
        if unknown:
            raise self._error((unknown[0],), f"'{unknown[0]}' is not known. Allowed: helpers, layer, parts.")
        tables = document.get("layer", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self._error(("layer",), "must be [[layer]] tables")
        rules = [self._rule(table, number) for number, table in enumerate(tables)]
        if not rules:
            raise WorldwiseError(f"{self.path}: there are no rules")
        layers = tuple(dict.fromkeys(rule.layer for rule in rules))
        helpers = self._strings(document["helpers"], ("helpers",)) if "helpers" in document else ()
        parts = {name: self._strings(patterns, ("parts", name)) for name, patterns in document.get("parts", {}).items()}
        return Rules(layers, tuple(rules), helpers, parts, str(self.path))

    def _rule(self, table: dict[str, Any], number: int) -> Rule:
        place = ("layer", number)
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise self._error(place, "a layer needs a name")
        for key in sorted(table.keys() - {"name", "images", "sources", "functions"}):
            raise self._error((*place, key), f"'{key}' is not known. Allowed: name, images, sources, functions.")
        if "images" not in table:
            raise self._error(place, "a rule needs the key 'images'")
        images, sources, functions = (
            self._strings(table[key], (*place, key)) if key in table else ()
            for key in ("images", "sources", "functions")
        )
        return Rule(name, images, sources, functions, self.lines.line(place))

    def _strings(self, value: Any, place: tuple[str | int, ...]) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
            raise self._error(place, "must be a list of patterns")
        return tuple(value)

    def _error(self, place: tuple[str | int, ...], problem: str) -> WorldwiseError:
        return WorldwiseError(f"{self.path}:{self.lines.line(place)}: {problem}")
