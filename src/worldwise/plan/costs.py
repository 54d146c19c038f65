# SPDX-License-Identifier: BSD-2-Clause
"""What a case costs: the wall time that it is expected to take. Shards are balanced by it; no count depends on it."""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median_low
from typing import Annotated, Literal

from pydantic import Field

from worldwise.base import paths
from worldwise.base.toml import toml_model
from worldwise.plan.case import Case
from worldwise.plan.spec import OWN

COSTS = paths.MEASURED / "costs.toml"
# The table's name for all boards, for an operation that it does not list, and for building a variant.
_BOARD, _OTHER, _BUILD = "board", "other", "build"

_Seconds = Annotated[float, Field(gt=0, le=100_000)]


class _Table(toml_model.Model):
    format: Literal[1]
    board: dict[str, _Seconds]
    linux: dict[str, _Seconds]
    linux_armv7: Annotated[dict[str, _Seconds], Field(alias="linux-armv7")]
    linux_armv8: Annotated[dict[str, _Seconds], Field(alias="linux-armv8")]
    optee: dict[str, _Seconds]


@functools.cache
def cost_table(path: Path = COSTS) -> Mapping[str, Mapping[str, float]]:
    """The seconds of operations: target (`board` for all boards) -> operation, `other` or `build` -> seconds.

    Raises WorldwiseError naming the file and the key.
    """
    table = toml_model.parse(_Table, toml_model.read_text(path, "costs"), str(path))
    return table.model_dump(by_alias=True, exclude={"format"})


def costs_of(cases: Iterable[Case], recorded: Mapping[Case, float]) -> dict[str, int]:
    """The cost of each case by its id, in whole milliseconds, at least one. The same everywhere for the same arguments.

    A case costs what `recorded` says, in seconds; else the median of the recorded cases of its target and operation;
    else what the table says of these.
    """
    own = {case.id: seconds for case, seconds in recorded.items()}
    alike: dict[tuple[str, str], list[float]] = {}
    for case, seconds in recorded.items():
        alike.setdefault((case.target, case.operation), []).append(seconds)

    def seconds_of(case: Case) -> float:
        if case.id in own:
            return own[case.id]
        if (case.target, case.operation) in alike:
            return median_low(alike[case.target, case.operation])
        if case.target == OWN:
            # All regions are of one run, which is done.
            return 0.0
        listed = _listed(case)
        return listed.get(case.operation, listed[_OTHER])

    return {case.id: max(1, round(1000 * seconds_of(case))) for case in cases}


def build_cost(case: Case) -> int:
    """What building the variant of a case costs a machine that has not built it, in whole milliseconds."""
    return round(1000 * _listed(case)[_BUILD])


def _listed(case: Case) -> Mapping[str, float]:
    return cost_table()[_BOARD if case.board else case.target]
