# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run --shard`: which of the chosen cases are this shard's, and what its run says of the whole.

What a case is expected to cost is here too, for shards as for the workers of `--on`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.plan.case import Case
from worldwise.plan.costs import COSTS, build_cost, costs_of
from worldwise.plan.shards import parse_shard, split
from worldwise.run.folder.manifests import ShardEntry
from worldwise.run.folder.rundir import open_run

# What changes no record: a shard that is run again needs none of it.
_NOT_REPEATED = (
    *("shard", "runs", "jobs", "silence", "full", "form", "output"),
    *("fresh", "verify", "resume", "cache"),
)


def sharded(
    text: str, reference: str | None, cases: Sequence[Case], predict: Sequence[str], runs: Path
) -> tuple[list[Case], ShardEntry]:
    """The cases of the shard of `--shard`, and its entry for the run. `reference` is the run of `--costs`.

    Raises WorldwiseError.
    """
    shard = parse_shard(text)
    costs, source = expected_costs(reference, cases, runs)
    # It says in words if there are too few cases.
    chosen = split(cases, costs, shard.count, build_cost)[shard.number - 1]
    entry = ShardEntry(
        number=shard.number,
        count=shard.count,
        whole=costs,
        costs=source,
        predict=list(predict),
        command=_typed(),
    )
    return chosen, entry


def expected_costs(reference: str | None, cases: Sequence[Case], runs: Path) -> tuple[dict[str, int], str]:
    """What each case is expected to cost, and where that comes from. `reference` is the run of `--costs`.

    Raises WorldwiseError.
    """
    table = f"{COSTS.name} {file_sha256(COSTS)}"
    recorded, source = _recorded(reference, runs) if reference else ({}, "")
    return costs_of(cases, recorded), ", ".join(filter(None, (source, table)))


def _recorded(reference: str, runs: Path) -> tuple[Mapping[Case, float], str]:
    """The seconds that the cases of a run took, and the run's id. Raises WorldwiseError."""
    run = open_run(reference, runs)
    # A case taken from the cache took none.
    recorded = {one.case(): one.wall_seconds for one in run.complete_cases() if one.wall_seconds > 0}
    if not recorded:
        raise WorldwiseError(
            f"--costs: run {run.id} does not say how long a case took: all came from the cache, or none is complete.",
            "name a run of `worldwise run --fresh`, or leave --costs out",
        )
    return recorded, f"run {run.id}"


def _typed() -> list[str]:
    """The words of `worldwise run` as they were typed, without those of _NOT_REPEATED."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _NOT_REPEATED or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            words.insert(0, str(value))
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[0])
        else:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(one)]
    return words
