# SPDX-License-Identifier: BSD-2-Clause
"""What is known of sampled cycles: sums over the units that ran through a core's model."""

from worldwise.records.models import Count, RecordModel


class UnitSums(RecordModel):
    """Sums over the units of a sampled stream: how many, their cycles, their instructions, squares and products."""

    units: Count
    cycles: Count
    instructions: Count
    cycles_squared: Count
    cycles_by_instructions: Count
    instructions_squared: Count

    def __add__(self, other: "UnitSums") -> "UnitSums":
        return UnitSums(**{name: getattr(self, name) + getattr(other, name) for name in UnitSums.model_fields})


class Stratum(UnitSums):
    """A part of a sample that was sampled, for itself.

    Attributes:
        skipped: instructions whose cycles are estimated.
        estimated: these cycles.
    """

    skipped: Count
    estimated: Count
