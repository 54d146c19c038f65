# SPDX-License-Identifier: BSD-2-Clause
"""What plugin/cycles says of a flat program: a line for each stretch of it, with the cycles of each core."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import first_problem
from worldwise.records.model_predictions import CAUSES
from worldwise.records.models import Count, RecordModel
from worldwise.records.trace import MOST_LINE, MOST_PACKED, unreadable

_REGION = b'{"type":"region"'


class FlatCycles(RecordModel):
    """What one core took for a stretch: all cycles, these by cause, and what is outside."""

    cycles: Count
    causes: Annotated[list[Count], Field(min_length=len(CAUSES), max_length=len(CAUSES))]
    outside: Count
    outside_instructions: Count


class FlatLinux(RecordModel):
    """What of a stretch was in Linux's kernel, and how many exceptions there were in the stretch."""

    exceptions: Count
    instructions: Count
    cores: Mapping[str, FlatCycles]


class FlatRegion(RecordModel):
    """A stretch between two readings of the counter, with the instructions of both readings' ends.

    `linux`: that part of it, on a machine with Linux.
    """

    type: Literal["region"]
    index: Count
    instructions: Count
    cores: Mapping[str, FlatCycles]
    linux: FlatLinux | None = None


def read_regions(path: Path) -> Sequence[FlatRegion]:
    """The stretches of a kept, packed file, in the order of time. Raises WorldwiseError naming file and line."""
    found = []
    number = 0
    try:
        with files.open_regular(path, MOST_PACKED, path.parent) as packed, gzip.GzipFile(fileobj=packed) as file:
            while line := file.readline(MOST_LINE):
                number += 1
                if line.startswith(_REGION):
                    found.append(FlatRegion.model_validate_json(line))
    except ValidationError as error:
        where, problem = first_problem(error)
        raise WorldwiseError(f"{path}:{number}: {where + ': ' if where else ''}{problem}.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(f"{path}:{number}", error) from None
    return found
