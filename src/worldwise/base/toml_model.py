# SPDX-License-Identifier: BSD-2-Clause
"""TOML files that become checked objects, with errors that name file, line and key."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_lines import TomlLines, syntax_error_line

# Far more than any suite or implementation.toml has.
MOST_BYTES = 512 * 2**10
# Tables and lists in one another, and the parts of a dotted key.
MOST_DEPTH = 32
MOST_KEY = 255

# Strings and comments first: what is in them opens no list.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}.=,\n]|[^\[\]{}.=,\n"\'#]+|.',
    re.DOTALL,
)


class Model(BaseModel):
    """A table of such a file: no key that is not known, no value of another type than it must have."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_M = TypeVar("_M", bound=BaseModel)


def read_text(path: Path, what: str, within: Path | None = None) -> str:
    """A UTF-8 file's text; `within` as in files.open_regular.

    Raises WorldwiseError naming `what` it is and the file.
    """
    try:
        return decode(files.read_bytes(path, MOST_BYTES, within), f"{what} {path}")
    except OSError as error:
        raise WorldwiseError(f"{what} {path}: cannot be read: {error.strerror}.") from error


def decode(content: bytes, what: str) -> str:
    """The UTF-8 text in a file's content. Raises WorldwiseError naming `what` it is."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WorldwiseError(f"{what}: not UTF-8 text ({error.reason} at byte {error.start}).") from error


def load(text: str, file: str, first_line: int = 1) -> dict[str, Any]:
    """The document that a TOML text describes; `first_line` is where the text begins in `file`.

    Raises WorldwiseError naming file and line, also for what is nested too deeply and for numbers that TOML has not.
    """
    before = first_line - 1
    _require_shallow(text, file, before)
    try:
        document = tomllib.loads(text)
        _require_plain(document)
    except (ValueError, RecursionError) as error:
        # Not only a TOMLDecodeError: a number of thousands of digits is a ValueError.
        line = before + syntax_error_line(error, text)
        raise WorldwiseError(f"{file}:{line}: not valid TOML: {files.quoted(str(error))}.") from error
    return document


def _require_shallow(text: str, file: str, before: int) -> None:
    """Refuses what would take tomllib as deep as it goes, or the square of its length in time."""
    depth = dots = 0
    line = before + 1
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth, dots = depth + 1, 0
        elif first in "]}":
            depth, dots = max(0, depth - 1), 0
        elif first in "=,\n":
            dots = 0
        elif token[0] == ".":
            dots += 1
        if depth > MOST_DEPTH or dots > MOST_DEPTH:
            raise WorldwiseError(f"{file}:{line}: not valid TOML here: nested more than {MOST_DEPTH} deep.")
        line += token[0].count("\n")


def _require_plain(document: dict[str, Any]) -> None:
    todo: list[Any] = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            for key in value:
                if len(key) > MOST_KEY:
                    raise ValueError(f"the key '{files.quoted(key, 40)}' has {len(key):,} characters")
            todo += value.values()
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("a whole number of more than 64 bits")


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Where the first thing is wrong, as `build.core`, and what: short, without control characters."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return files.quoted(".".join(map(str, first["loc"]))), files.quoted(first["msg"].removeprefix("Value error, "), 400)


def _known_keys(model: type[BaseModel], where: Sequence[int | str]) -> list[str]:
    """The keys that the table has in which a key is not known; empty if that is no table of one model."""
    kind: Any = model
    for part in where[:-1]:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(str(part))
            kind = field.annotation if field else None
        else:
            # Of a list or a table of tables: what it has in it.
            inner = [one for one in get_args(kind) if isinstance(one, type) and issubclass(one, BaseModel)]
            kind = inner[0] if len(inner) == 1 else None
        choices = [one for one in get_args(kind) if isinstance(one, type) and issubclass(one, BaseModel)]
        if get_origin(kind) in (Union, UnionType) and len(choices) == 1:
            kind = choices[0]
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def parse(model: type[_M], text: str, file: Path, first_line: int = 1) -> _M:
    """The object that a TOML text describes; `first_line` is where the text begins in `file`.

    Raises WorldwiseError naming file, line and key.
    """
    document = load(text, str(file), first_line)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        line = first_line - 1 + TomlLines(text).line(first["loc"])
        where, problem = first_problem(error)
        hint = ""
        if first["type"] == "extra_forbidden":
            problem = "there is no such key"
            known = _known_keys(model, first["loc"])
            hint = did_you_mean(str(first["loc"][-1]), known)
            if known:
                hint += f"{' Known' if hint else 'known'} here: {', '.join(known)}"
        raise WorldwiseError(f"{file}:{line}: {f'{where}: ' if where else ''}{problem}.", hint) from error
