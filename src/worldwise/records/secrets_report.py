# SPDX-License-Identifier: BSD-2-Clause
"""What plugin/secrets says of an operation's calls: a line for each call, and for each place at which one parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import first_problem
from worldwise.records.models import Count, RecordModel

# What can be varied of an operation, and what it is to an attacker.
SECRET, PUBLIC, EITHER = "secret", "public", "secret or public"
_HASH = {"message": EITHER}
_AES = {"key": SECRET, "message": EITHER, "nonce": PUBLIC}
INPUTS: Mapping[str, Mapping[str, str]] = {
    "keygen": {"key": SECRET},
    "sign": {"key": SECRET, "nonce": SECRET, "message": PUBLIC},
    "ecdh": {"key": SECRET},
    "sha256": _HASH,
    "sha512": _HASH,
    "aes128": _AES,
    "aes256": _AES,
}
# A library parts at some hundred places in a call, with some hundred bytes for each.
_MOST_BYTES = 64 * 2**20


class Pass(RecordModel):
    """A call that was looked at: its instructions, the runs of them between branches taken, and its accesses."""

    type: Literal["pass"]
    number: Annotated[Count, Field(alias="pass")]
    instructions: Count
    runs: Count
    accesses: Count


class Parting(RecordModel):
    """An instruction at which a call parts from the reference: see plugin/secrets/compare.h.

    Attributes:
        number: of the call.
        kind: flow: a branch; address: a load or store; made: one that is made in one of the calls alone.
        pc: the instruction.
        times: how often.
        alone: how often without a branch having parted before in this call.
        before: instructions of the reference before the first time.
        reference: where the branch goes in the reference the first time, or the address.
        other: the same in this call.
        reference_instructions: of the reference until both are at one place again, all times together.
        other_instructions: the same of this call.
        low: the lowest address that was accessed.
        high: the highest one.
        joined: whether they came to one place again; if not, nothing behind was compared.
        callers: addresses that the functions around it return to, the outermost first.
    """

    type: Literal["parting"]
    number: Annotated[Count, Field(alias="pass")]
    kind: Literal["flow", "address", "made"]
    pc: Count
    times: Count
    alone: Count
    before: Count
    reference: Count
    other: Count
    reference_instructions: Count
    other_instructions: Count
    low: Count
    high: Count
    joined: bool
    callers: list[Count]


class Passes(RecordModel):
    """The last line: how many calls there were, whether one was under way, and where the function is; 0: not seen."""

    type: Literal["end"]
    passes: Count
    inside: bool
    entry: Count


@dataclass(frozen=True)
class Compared:
    """All that was said: the calls by number from the reference on, and the partings in order."""

    passes: Sequence[Pass]
    partings: Sequence[Parting]


_LINE: TypeAdapter[Pass | Parting | Passes] = TypeAdapter(
    Annotated[Pass | Parting | Passes, Field(discriminator="type")]
)


def read_compared(path: Path, calls: int) -> Compared:
    """What the plugin wrote of so many calls. Raises WorldwiseError naming file and line, or if it saw other calls."""
    passes, partings, end = _read(path)
    if end is None or end.inside or end.passes != calls:
        seen = "no end" if end is None else f"{end.passes} calls"
        raise WorldwiseError(f"{path}: the plugin saw {seen} of the measured function instead of {calls} calls")
    return Compared(passes, partings)


def read_entry(path: Path) -> int:
    """Where the plugin found the function that it looked for anywhere. Raises WorldwiseError if it did not."""
    end = _read(path)[2]
    if end is None or not end.entry:
        raise WorldwiseError(f"{path}: the plugin did not see the measured function executed")
    return end.entry


def _read(path: Path) -> tuple[list[Pass], list[Parting], Passes | None]:
    passes: list[Pass] = []
    partings: list[Parting] = []
    end: Passes | None = None
    number = 0
    try:
        for line in files.read_bytes(path, _MOST_BYTES, path.parent).splitlines():
            number += 1
            match _LINE.validate_json(line):
                case Pass() as one:
                    passes.append(one)
                case Parting() as one:
                    partings.append(one)
                case Passes() as one:
                    end = one
    except ValidationError as error:
        where, problem = first_problem(error)
        raise WorldwiseError(f"{path}:{number}: {where + ': ' if where else ''}{problem}.") from None
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {files.quoted(error.strerror or str(error))}") from None
    return passes, partings, end
