# SPDX-License-Identifier: BSD-2-Clause
"""JSON files read into models."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_model import first_problem

_M = TypeVar("_M", bound=BaseModel)


def load_json(model: type[_M], path: Path, most_bytes: int) -> _M:
    """The object in a JSON file of at most so many bytes. Raises WorldwiseError naming the file and what is wrong."""
    try:
        content = files.read_bytes(path, most_bytes, path.parent)
        files.require_shallow(content)
        return model.model_validate_json(content)
    except ValidationError as error:
        where, problem = first_problem(error)
        raise WorldwiseError(f"{path}: {where + ': ' if where else ''}{problem}.") from None
    except ValueError as error:
        raise WorldwiseError(f"{path}: {error}.") from None
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror or error}") from None
