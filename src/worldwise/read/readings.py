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
from worldwise.read.published import Published, ShownSource
from worldwise.records.models import Sample
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run

CLIENT_CALL = (
    "the client's whole TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, the TA, and the way back"
)
IN_TA = "inside the TA, with the work of OP-TEE's core; not the way there and back"
IN_LINUX = "by the library's own calls in a Linux process"
# Of the counter's own interrupts on an emulated board.
COUNTER_TAKEN_AWAY = "which is subtracted"
ON_BOARD = f"by the library's own calls on the bare core; no interrupts but the counter's own, {COUNTER_TAKEN_AWAY}"

_IN_TA = {
    "keygen": "TEE_GenerateKey",
    "sign": "SHA-256 of the input and the signature",
    "verify": "SHA-256 of the input and the verification",
    "ecdh": "the shared secret, with what refuses a bad public key of the peer",
}
_IN_LINUX = {**_IN_TA, "keygen": "a key pair made"}


def on_curves(measures: Iterable[str], places: Iterable[str]) -> Mapping[tuple[str, str], str]:
    """What is done on a curve, at some of the places ta, client and linux."""
    return {(measure, place): _on_curve(measure, place) for measure in measures for place in places}


def _on_curve(measure: str, place: str) -> str:
    if place == "client":
        return CLIENT_CALL
    return f"{_IN_TA[measure]}, {IN_TA}" if place == "ta" else f"{_IN_LINUX[measure]}, {IN_LINUX}"


HASHED_IN_LINUX = {
    ("hash", "linux"): "the whole message, by the library's own calls in a Linux process; sha256sum: from fork to wait"
}


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
class Readings(Parts, ShownSource):
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
