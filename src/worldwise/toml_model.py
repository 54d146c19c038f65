# SPDX-License-Identifier: BSD-2-Clause
"""TOML files that become checked objects, with errors that name file, line and key."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from worldwise.errors import WorldwiseError
from worldwise.toml_lines import TomlLines, syntax_error_line


class Model(BaseModel):
    """A table of such a file: no key that is not known, no value of another type than it must have."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_M = TypeVar("_M", bound=BaseModel)


def read_text(path: Path, what: str) -> str:
    """A UTF-8 file's text. Raises WorldwiseError naming `what` it is and the file."""
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise WorldwiseError(f"{what} {path}: cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WorldwiseError(f"{what} {path}: not UTF-8 text ({error.reason} at byte {error.start}).") from error


def parse(model: type[_M], text: str, file: Path, first_line: int = 1) -> _M:
    """The object that a TOML text describes; `first_line` is where the text begins in `file`.

    Raises WorldwiseError naming file, line and key.
    """
    before = first_line - 1
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = before + syntax_error_line(error, text)
        raise WorldwiseError(f"{file}:{line}: not valid TOML: {error}.") from error
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        line = before + TomlLines(text).line(first["loc"])
        where = ".".join(map(str, first["loc"]))
        problem = first["msg"].removeprefix("Value error, ")
        hint = ""
        if first["type"] == "extra_forbidden":
            problem = "there is no such key"
            hint = f"known here: {', '.join(model.model_fields)}" if len(first["loc"]) == 1 else ""
        raise WorldwiseError(f"{file}:{line}: {f'{where}: ' if where else ''}{problem}.", hint) from error
