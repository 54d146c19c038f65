# SPDX-License-Identifier: BSD-2-Clause
"""The times that a client on the host measured of an echo server in a machine: records of a file of their own.

The host's clock measures an emulator: the times include the emulator's speed on this host, its network code and the
host's other work. They do not repeat, and are no counts.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import first_problem

HOST_FILE = "host.jsonl"
# Messages sent without waiting for an answer; the same as NET_STREAM_MESSAGES in guest/apps/echo/net.h.
STREAM_MESSAGES = 32
MEASURES = ("round-trip", "stream")
_MOST_BYTES = 64 * 2**20


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class HostStart(_Record):
    """The first record of host.jsonl: the case and its settings."""

    type: Literal["start"]
    format: Literal[1]
    case: str
    size: int
    stream_messages: int
    warmup: int
    samples: int
    clock: Literal["perf_counter"]
    unit: Literal["nanoseconds"]
    processors: int
    load: float


class HostSample(_Record):
    """One round trip, or one stream of messages: wall time on the host."""

    type: Literal["sample"]
    measure: Literal["round-trip", "stream"]
    index: int = Field(ge=0)
    phase: Literal["first", "warmup", "sample"]
    nanoseconds: int = Field(gt=0)


class HostEnd(_Record):
    """The last record."""

    type: Literal["end"]


_ADAPTER: TypeAdapter[HostStart | HostSample | HostEnd] = TypeAdapter(
    Annotated[HostStart | HostSample | HostEnd, Field(discriminator="type")]
)


@dataclass(frozen=True)
class HostTimes:
    """The times of one case, in nanoseconds, in order: `samples` by measure, without the first call and the warm-up."""

    start: HostStart
    samples: Mapping[str, tuple[int, ...]]


def read_host_times(path: Path) -> HostTimes:
    """The times in a file. Raises WorldwiseError naming file and line if it is not there, whole and in order."""
    try:
        return parse_host_times(files.read_bytes(path, _MOST_BYTES, path.parent), path)
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error


def parse_host_times(content: bytes, path: Path) -> HostTimes:
    """The times in a file's content; `path` is for errors. Raises WorldwiseError as read_host_times does."""
    records = []
    for number, line in enumerate(io.BytesIO(content), 1):
        try:
            records.append(_ADAPTER.validate_json(line))
        except ValidationError as error:
            raise WorldwiseError(f"{path}:{number}: {first_problem(error)[1]}.") from None
    if len(records) < 2 or not isinstance(records[0], HostStart) or not isinstance(records[-1], HostEnd):
        raise WorldwiseError(f"{path}: does not go from 'start' to 'end'.")
    start = records[0]
    samples: dict[str, list[int]] = {measure: [] for measure in MEASURES}
    found = dict.fromkeys(MEASURES, 0)
    for number, record in enumerate(records[1:-1], 2):
        if not isinstance(record, HostSample):
            raise WorldwiseError(f"{path}:{number}: a second '{record.type}'.")
        if record.index != found[record.measure]:
            raise WorldwiseError(f"{path}:{number}: {record.measure} {found[record.measure]} was due.")
        found[record.measure] += 1
        if record.phase == "sample":
            samples[record.measure].append(record.nanoseconds)
    for measure in MEASURES:
        if len(samples[measure]) != start.samples:
            raise WorldwiseError(
                f"{path}: {measure} has {len(samples[measure])} samples, {start.samples} were asked for."
            )
    return HostTimes(start, {measure: tuple(values) for measure, values in samples.items()})
