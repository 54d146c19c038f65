# SPDX-License-Identifier: BSD-2-Clause
"""Predictions as a run keeps them: what the model of a core said of a case, before any rule or error is applied."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import first_problem
from worldwise.records.models import Count, Place, RecordModel, Text, hex_digits
from worldwise.records.trace_cycles import Stratum

FORMAT: Literal[1] = 1
MOST_BYTES = 64 * 2**20

# What a cycle went on, in the order of the plugin's rows and of the tables.
CAUSES = ("issue", "dependency", "multiplier", "memory", "mispredict", "fetch")

CoreName = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9+.-]*$")]


class LayerCycles(RecordModel):
    """A layer's own part of a sample.

    Attributes:
        instructions: executed.
        cycles: by cause, in the order of CAUSES.
        outside: cycles of instructions of which the core has no figures.
        outside_instructions: how many these were.
        vector_instructions: SIMD and floating point, with their loads and stores.
        vector_cycles: cycles of the blocks that have such instructions, without `outside`.
        float_instructions: those that compute with floating-point numbers; 0 in files older than November 2026.
    """

    layer: Text
    instructions: Count
    cycles: Annotated[list[Count], Field(min_length=len(CAUSES), max_length=len(CAUSES))]
    outside: Count
    outside_instructions: Count
    vector_instructions: Count
    vector_cycles: Count
    float_instructions: Count = 0


class Events(RecordModel):
    """What happened in a sample that costs time and that no model knows; see predict.code.

    `exceptions` are returns from exceptions below the monitor, `monitor` the monitor's.
    """

    exceptions: Count
    monitor: Count
    barriers: Count
    maintenance: Count
    atomics: Count


class PredictedSample(RecordModel):
    """One sample of a measure at a place. A first call finds empty caches, a later one what was left.

    `instructions` include what measuring costs. Each stratum of `sampled` has cycles that are estimated, and are in
    `layers` with the others.
    """

    measure: Text
    place: Place
    phase: Literal["first", "warmup", "sample"]
    index: Count
    instructions: Count
    layers: list[LayerCycles]
    events: Events
    sampled: list[Stratum] = Field(default_factory=list)

    @property
    def cycles(self) -> int:
        """All cycles."""
        return sum(sum(one.cycles) for one in self.layers)


class PredictedCase(RecordModel):
    """All samples of a case that the model ran on."""

    case: Text
    samples: list[PredictedSample]


class Predicted(RecordModel):
    """The file of one core: its table's and the plugin's SHA-256, and the cases."""

    format: Literal[1]
    core: CoreName
    table: Annotated[str, hex_digits(64)]
    plugin: Annotated[str, hex_digits(64)]
    cases: list[PredictedCase]


def parse_predicted(content: bytes, path: Path) -> Predicted:
    """A file of predictions; `path` is for errors. Raises WorldwiseError."""
    try:
        return Predicted.model_validate_json(content)
    except ValidationError as error:
        where, problem = first_problem(error)
        raise WorldwiseError(f"{path}: not a file of predictions: {where + ': ' if where else ''}{problem}.") from None
