# SPDX-License-Identifier: BSD-2-Clause
"""Evidence: the records that an operation owes besides its samples, as its family declares, and how to verify them.

The file `evidence.py` of a family has the constant EVIDENCE, an `Evidence`. Models that several families share are
in `messages.py` and `on_curve.py`.
"""

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, get_args

from worldwise.base import family_stages
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.plan.catalogue import kind_of
from worldwise.records.models import Clock, Count, RecordModel, Sample, Text


class Once(NamedTuple):
    """A value that two calls of a case may not share: `key`, unless `of` is the same too.

    For the message, `problem` follows the later call's name and has {} for the earlier call's name.
    """

    key: tuple[str, ...]
    of: object
    problem: str


class EvidenceRecord(RecordModel):
    """The result of one call, with all that is needed to verify it. Each model also has `measure` and `index`.

    Attributes:
        tag: the model's name in messages and in the JSON schema.
        mark: a field that only this model has, if several models share the measure.
        order: its position in messages and in the JSON schema; lower ones come first.
    """

    tag: ClassVar[str]
    mark: ClassVar[str] = ""
    order: ClassVar[int] = 100

    type: Literal["evidence"]
    if TYPE_CHECKING:
        # Only for type checkers: declared here, these fields would precede a model's own fields that must come first.
        measure: str
        index: Count

    def misfit(self, _case: Case) -> str:
        """How the evidence differs from what the case asks; empty if it does not."""
        return ""

    @abstractmethod
    def problem(self) -> str:
        """What is wrong with the result, found by another library than the one measured; empty if it is right."""

    def once(self) -> Once | None:
        """The value that no other call of the case may share with this one; None if there is none."""
        return None

    def differs(self, due: Mapping[str, object], wanted: str) -> str:
        """How the first field that is not as `due` differs; empty if all are. `wanted` goes before the due value."""
        for key, value in due.items():
            found = getattr(self, key)
            if found != value:
                return f"{key} is {found!r}, {wanted} {value!r}"
        return ""


class CallRecord(RecordModel):
    """A record that one operation alone has: one for each call, beside its sample."""

    type: str
    measure: Text
    index: Count

    @classmethod
    def noun(cls) -> str:
        """The model's record type, a plural noun."""
        (noun,) = get_args(cls.model_fields["type"].annotation)
        return str(noun)

    @abstractmethod
    def problem(self, sample: Sample) -> str:
        """What is wrong with it, given the call's sample, as a sentence; empty if nothing is."""


def _no_checks(_case: Case) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Owed:
    """What an operation owes besides its samples on some kinds of target, and how its places are measured.

    Attributes:
        kinds: kinds of target, as worldwise.plan.catalogue.kind_of gives them.
        operation: the operation's name in a suite.
        measure: the measure whose results are evidence; empty if none is.
        evidence: the model of that evidence.
        checks: names of the checks that the measured program must have done, in every case.
        checks_of: case -> names of further checks.
        clocks: place -> its counter, where that is not the target's.
        summed: places whose samples may be the sum of several spans.
        counted: places whose samples sum up a number of spans that the case does not foretell, perhaps none.
        memory_at: the place at which the memory of each measure must be recorded; empty if none is.
        outcomes: whether it also records outcomes of its calls.
        beside: the model of a record that each call has beside its sample.
    """

    kinds: tuple[str, ...]
    operation: str
    measure: str = ""
    evidence: type[EvidenceRecord] | None = None
    checks: tuple[str, ...] = ()
    checks_of: Callable[[Case], tuple[str, ...]] = _no_checks
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    summed: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    memory_at: str = ""
    outcomes: bool = False
    beside: type[CallRecord] | None = None


@dataclass(frozen=True)
class Evidence:
    """What a family's operations owe."""

    owed: tuple[Owed, ...]


@functools.cache
def all_owed() -> Mapping[tuple[str, str], Owed]:
    """What operations owe, by (kind of target, operation). Raises TypeError if two families declare the same one."""
    found: dict[tuple[str, str], Owed] = {}
    for family, evidence in family_stages.declared("evidence", Evidence).items():
        for owed in evidence.owed:
            for kind in owed.kinds:
                if (kind, owed.operation) in found:
                    raise TypeError(f"families.{family}: what {owed.operation} owes on {kind} is declared already")
                found[kind, owed.operation] = owed
    return found


def owed_by(case: Case) -> Owed:
    """What a case owes; an empty Owed if nothing."""
    kind = kind_of(case.target)
    return all_owed().get((kind, case.operation)) or Owed((kind,), case.operation)


def evidence_models() -> tuple[type[EvidenceRecord], ...]:
    """Every model of evidence that a family declares, in the order of messages and of the JSON schema."""
    models = dict.fromkeys(owed.evidence for owed in all_owed().values() if owed.evidence)
    return tuple(sorted(models, key=lambda model: model.order))


def call_models() -> tuple[type[CallRecord], ...]:
    """Every model of a record beside a call's sample, in the order of the families."""
    return tuple(dict.fromkeys(owed.beside for owed in all_owed().values() if owed.beside))


def required_checks(case: Case) -> tuple[str, ...]:
    """Names of the checks that the measured program must have done."""
    owed = owed_by(case)
    return owed.checks + owed.checks_of(case)


def verify_evidence(evidence: EvidenceRecord, file: str = "records.jsonl", line: int = 0) -> None:
    """Verifies one result, such as a signature, a digest or a cipher text. Raises WorldwiseError."""
    problem = evidence.problem()
    if problem:
        raise WorldwiseError(f"{file}:{line}: {evidence.measure} {evidence.index}: {problem}.")
