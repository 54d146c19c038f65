# SPDX-License-Identifier: BSD-2-Clause
"""What the manifests of a run and of its cases are made of: plan, provenance, way of counting; how a case went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from worldwise import __version__
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.plan.budget import Budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.inputs import draws_by_seed, inputs_seed
from worldwise.plan.suite import Suite
from worldwise.run.folder.manifests import (
    FORMAT,
    BudgetEntry,
    CaseManifest,
    ChipClock,
    OwnEntry,
    RunManifest,
    ShardEntry,
    UnavailableEntry,
    Via,
    check_id,
)


@dataclass(frozen=True)
class RunPlan:
    """What a run measures.

    Attributes:
        suite: the suite.
        cases: those of its cases that are to be done, in order.
        budget: the budget that judges the run.
        samples: the number of samples that replaces the suite's own.
        unavailable: the chosen cases that are unavailable; None for all that the suite names as such.
        own: the user's own libraries.
        shard: the part of a larger run that the cases are; None for a whole run.
    """

    suite: Suite
    cases: Sequence[Case]
    budget: Budget | None = None
    samples: int | None = None
    unavailable: Sequence[Unavailable] | None = None
    own: Sequence[OwnEntry] = ()
    shard: ShardEntry | None = None


@dataclass(frozen=True)
class RunProvenance:
    """Where a run is made, and with what.

    Attributes:
        host: facts of the host.
        git: the revision of worldwise.
        lab: the digest of the lab.
        packages: the version of everything locked, by name.
        drift: versions of the lab that are not the lock's.
    """

    host: Mapping[str, JsonValue]
    git: str
    lab: str
    packages: Mapping[str, str]
    drift: Sequence[str] = ()


@dataclass(frozen=True)
class Counting:
    """How a run counts.

    Attributes:
        unit: what is counted.
        via: how a board or host is reached; empty for an emulated machine.
        chip_clock: how the clock of a board is set.
        measured_on: what a Linux host is.
        seeds: how many draws of its inputs each case has.
    """

    unit: Unit = INSTRUCTIONS
    via: Via = ""
    chip_clock: ChipClock | None = None
    measured_on: Mapping[str, JsonValue] = field(default_factory=dict)
    seeds: int = 1


def manifest_of(plan: RunPlan, made: RunProvenance, counting: Counting, started: datetime) -> RunManifest:
    """`run.json` of a new run. Raises WorldwiseError for an id that names no folder."""
    suite, cases = plan.suite, plan.cases
    for case in cases:
        check_id(case.id, f"suite {suite.name}")
    unavailable = suite.unavailable if plan.unavailable is None else plan.unavailable
    return RunManifest(
        format=FORMAT,
        suite=suite.name,
        title=suite.title,
        started=started.isoformat(timespec="seconds"),
        host=dict(made.host),
        worldwise=__version__,
        git=made.git,
        lab=made.lab,
        packages=dict(made.packages),
        drift=list(made.drift),
        budget=BudgetEntry.of(plan.budget) if plan.budget else None,
        published=suite.published,
        samples=plan.samples,
        cases=[case.id for case in cases],
        unavailable=list(map(UnavailableEntry.of, unavailable)),
        own=list(plan.own),
        recommended=suite.recommended,
        unit=counting.unit,
        via=counting.via,
        shard=plan.shard,
        chip_clock=counting.chip_clock,
        measured_on=dict(counting.measured_on),
        seed=cases[0].seed if cases else 0,
        seeds=counting.seeds,
        as_shipped=bool(cases and cases[0].as_shipped),
    )


@dataclass(frozen=True)
class CaseInputs:
    """What a case is measured with.

    Attributes:
        start: what its machine starts from.
        images: digests of the images, by name.
        digest: the address of its result; empty if nothing was built.
        footprint: on a board, bytes of `flash` and `ram` that the operation takes.
    """

    start: Literal["snapshot", "boot"]
    images: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    footprint: Mapping[str, int] | None = None


@dataclass(frozen=True)
class CaseOutcome:
    """How a case ended.

    Attributes:
        command: what ran it.
        wall_seconds: how long that took.
        reused_from: the run that measured it; empty for this one.
        error: why it failed; empty if it is complete.
    """

    command: Sequence[str] = ()
    wall_seconds: float = 0.0
    reused_from: str = ""
    error: str = ""


def case_manifest_of(case: Case, inputs: CaseInputs, outcome: CaseOutcome) -> CaseManifest:
    """`case.json` of a case, but for its files."""
    return CaseManifest(
        format=FORMAT,
        id=case.id,
        target=case.target,
        implementation=case.implementation,
        optimisation=case.optimisation,
        operation=case.operation,
        samples=case.samples,
        warmup=case.warmup,
        parameters=dict(case.parameters),
        state="failed" if outcome.error else "complete",
        error=outcome.error,
        reused_from=outcome.reused_from,
        start=inputs.start,
        images=dict(inputs.images),
        digest=inputs.digest,
        command=list(outcome.command),
        wall_seconds=outcome.wall_seconds,
        footprint=None if inputs.footprint is None else dict(inputs.footprint),
        seed=case.seed,
        inputs=inputs_seed(case) if draws_by_seed(case) else "",
        as_shipped=case.as_shipped,
    )
