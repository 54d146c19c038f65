# SPDX-License-Identifier: BSD-2-Clause
"""Readings: what a family's counts include, and what it reads from a run beside rows.

A family's file `readings.py` has the constant READINGS, a `Readings`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base import family_stages
from worldwise.plan.case import Case
from worldwise.plan.catalogue import family_of
from worldwise.read.family_fields import Part, Parts
from worldwise.read.models import Row
from worldwise.read.published import Published
from worldwise.records.models import Sample
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run

# What a count includes: (measure, place) -> text. Interrupts in a region count; they are part of the call.
Includes = Mapping[tuple[str, str], str]
# (measure, place) and its samples.
Series = tuple[tuple[str, str], tuple[Sample, ...]]


@dataclass(frozen=True)
class Seen:
    """The parts of a run that are read so far: complete cases, their rows, and the published figures beside them."""

    run: Run
    done: Sequence[CaseManifest]
    rows: Sequence[Row]
    published: Published


def _no_sums(_case: Case, _samples: Mapping[tuple[str, str], tuple[Sample, ...]]) -> Iterable[Series]:
    return ()


def _no_part(_seen: Seen) -> Part | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Readings(Parts):
    """What families/<name>/readings.py declares as READINGS.

    Attributes:
        includes: what the counts of its measures include. Families that share a measure give the same text.
        sums: (one of its cases, the case's samples) -> further series, computed from the samples.
        whole: the part that the family adds to the whole reading, if a complete case of the run is its own.
    """

    includes: Includes = field(default_factory=dict)
    sums: Callable[[Case, Mapping[tuple[str, str], tuple[Sample, ...]]], Iterable[Series]] = _no_sums
    whole: Callable[[Seen], Part | None] = _no_part


def declared_readings() -> Mapping[str, Readings]:
    """Each family's READINGS, by family."""
    return family_stages.declared("readings", Readings)


def readings_of(case: Case) -> Readings:
    """What the case's family declares; nothing if it declares no readings."""
    return declared_readings().get(family_of(case), Readings())


@functools.cache
def includes() -> Includes:
    """What every count includes. Raises TypeError if two families give different texts for a measure."""
    found: dict[tuple[str, str], str] = {}
    for family, readings in declared_readings().items():
        for key, text in readings.includes.items():
            if found.setdefault(key, text) != text:
                raise TypeError(f"families.{family}: another family says something else of {key}")
    return found
