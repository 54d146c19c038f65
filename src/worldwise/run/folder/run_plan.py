# SPDX-License-Identifier: BSD-2-Clause
"""What a new run is made of, before anything is measured: its plan, its provenance, and how it counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from worldwise import __version__
from worldwise.base.counter_units import INSTRUCTIONS, Unit
from worldwise.plan.budget import Budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.suite import Suite
from worldwise.run.folder.manifests import (
    FORMAT,
    BudgetEntry,
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
