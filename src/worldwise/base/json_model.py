# SPDX-License-Identifier: BSD-2-Clause
"""JSON that strangers may have made: a text read within limits, a file read into a model."""

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from worldwise.base import files
from worldwise.base.errors import WorldwiseError

# What makes models takes long to load, and who parses a text alone needs none.
if TYPE_CHECKING:
    from pydantic import BaseModel

# Values in a JSON file: lists, objects and what is in them. No manifest has more.
MOST_VALUES = 300_000
# Lists and objects in one another, and the digits of a number: far more than a manifest has. Both limits are our own:
# those of Python and of its libraries differ from version to version, and so do their words.
MOST_NESTED = 64
MOST_DIGITS = 400
# Strings first: what is in them opens no list.
_JSON_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD]")

_M = TypeVar("_M", bound="BaseModel")


def load_json(model: type[_M], path: Path, most_bytes: int) -> _M:
    """The object in a JSON file of at most so many bytes. Raises WorldwiseError naming the file and what is wrong."""
    from pydantic import ValidationError

    from worldwise.base.toml.toml_model import first_problem

    try:
        content = files.read_bytes(path, most_bytes, path.parent)
        require_shallow(content)
        return model.model_validate_json(content)
    except ValidationError as error:
        where, problem = first_problem(error)
        raise WorldwiseError(f"{path}: {where + ': ' if where else ''}{problem}.") from None
    except ValueError as error:
        raise WorldwiseError(f"{path}: {error}.") from None
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror or error}") from None


def parse_json(data: bytes) -> Any:
    """The value that a JSON text describes, of at most MOST_VALUES values, nested at most MOST_NESTED deep.

    Raises ValueError, with a message for a person, for what JSON forbids (NaN, a key twice) and for deep nesting.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values")
    require_shallow(data)
    value = json.loads(
        data,
        parse_constant=_refuse_constant,
        parse_int=_whole,
        parse_float=_finite,
        object_pairs_hook=_without_twins,
    )
    if _SURROGATE.search(data):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half a character: one code of a pair of surrogates stands alone") from None
    return value


def require_shallow(data: bytes) -> None:
    """Raise ValueError, with a message for a person, for a JSON text that is nested more than MOST_NESTED deep."""
    depth = 0
    for mark in _JSON_MARK.finditer(data):
        first = mark[0][0]
        if first in b"[{":
            depth += 1
            if depth > MOST_NESTED:
                raise ValueError(f"nested too deeply: more than {MOST_NESTED} lists and objects in one another")
        elif first in b"]}":
            depth -= 1


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twin = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key '{files.quoted(twin)}' appears twice")
    return found
