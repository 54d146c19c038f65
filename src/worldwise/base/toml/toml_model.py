# SPDX-License-Identifier: BSD-2-Clause
"""TOML files that become checked objects, with errors that name file, line and key."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml import key_lines
from worldwise.base.toml.messages import path_text, said

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

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class StrictModel(Model):
    """The same, of a file whose values are never converted: neither 1.0 nor "1" is a whole number."""

    model_config = ConfigDict(strict=True)


# Words that must be there.
Text = Annotated[str, Field(min_length=1)]
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

    Raises WorldwiseError naming file and line, also for what is nested too deeply and for unknown numbers.
    """
    before = first_line - 1
    _require_shallow(text, file, before)
    try:
        document = tomllib.loads(text)
        _require_plain(document)
    except (ValueError, RecursionError) as error:
        # Not only a TOMLDecodeError: a number of thousands of digits is a ValueError.
        line = before + key_lines.syntax_error_line(error, text)
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


def parse(model: type[_M], text: str, file: Path | str, first_line: int = 1) -> _M:
    """The object that a TOML text describes; `first_line` is where the text begins in `file`.

    Raises WorldwiseError naming file, line and key.
    """
    return check(model, load(text, str(file), first_line), text, file, first_line)


def check(
    model: type[_M],
    document: dict[str, Any],
    text: str,
    file: Path | str,
    first_line: int = 1,
    place: Callable[[key_lines.Path], key_lines.Path] = tuple,
) -> _M:
    """The object that a document describes, which `load` made of the text; `place`: where in the text a path stands.

    Raises WorldwiseError as `parse` does.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        found = said(model, error)
        line = first_line - 1 + key_lines.TomlLines(text).line(place(found.path))
        where = f"{file}:{line}: " + (f"{files.quoted(path_text(found.path, found.is_table))}: " if found.path else "")
        raise WorldwiseError(f"{where}{files.quoted(found.problem, 4000)}", files.quoted(found.hint, 4000)) from error
