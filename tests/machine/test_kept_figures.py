# SPDX-License-Identifier: BSD-2-Clause
"""The kept runs, of which README and docs/ are made, are of today's images: a case of each is measured again."""

import pytest

import doc_records
from machines import Tool
from worldwise.plan.case import parse_case
from worldwise.read.models import Row
from worldwise.read.run_counts import read_run
from worldwise.run.folder.rundir import open_run


def cheapest(suite: str) -> str:
    """The case of a kept run that executes least: its calls' instructions, in all its regions.

    A run may have a user's library, which the repository does not have: those cases cannot be measured here.
    """
    costs: dict[str, float] = {}
    for row in doc_records.rows(suite):
        if doc_records.is_users(row):
            continue
        costs[row.case] = costs.get(row.case, 0.0) + row.median * (row.n + row.warmup + 1)
    return min(costs, key=lambda case: (costs[case], case))


# Kept runs whose cases take minutes, each with one of the same images.
_OF_THE_SAME_IMAGES = {"pqc-tail": "pqc", "keycache-zipf": "keycache"}


def counts(row: Row) -> tuple[object, ...]:
    """What a measurement alone decides of a row."""
    return row.case, row.measure, row.place, row.n, row.first, row.median, row.mean, row.stdev, row.min, row.max


@pytest.mark.parametrize("suite", doc_records.kept_runs())
def test_a_case_of_a_kept_run_is_measured_the_same(suite: str, tool: Tool) -> None:
    """If this fails, the pages have figures of other images: `docs/figures/remake measure` and `pages`.

    A run that docs/figures/older.toml names must not be the same: the pages say below each block that it is older.
    """
    kept = doc_records.kept(suite)
    assert kept
    if kept.reading.run.lab != doc_records.today():
        pytest.skip(f"the run was measured in lab {kept.reading.run.lab[:12]}, an older one; the pages say so")
    if kept.reading.run.stack:
        pytest.skip(f"{kept.reading.run.stacked} The repository does not have that; docs/use/stack.md measures it")
    if suite in _OF_THE_SAME_IMAGES:
        pytest.skip(f"its least case takes minutes, and {_OF_THE_SAME_IMAGES[suite]}, which is tried, has its images")
    case = parse_case(cheapest(suite), 1, 0)
    chosen = ["--target", case.target, "--variant", case.variant, "--operation", case.operation]
    curve = ["--curve", case.curve] if case.curve else []
    # On a new machine that others use, too, its images take minutes.
    result = tool.run("run", kept.reading.run.suite, *chosen, *curve, timeout=550)
    assert result.returncode == 0, result.stderr
    (path,) = (tool.directory / "runs").iterdir()
    measured = {counts(row) for row in read_run(open_run(path.name, path.parent)).rows}
    assert any(case.id == one[0] for one in measured)
    moved = measured - {counts(row) for row in doc_records.rows(suite)}
    if suite in doc_records.older():
        assert moved, f"docs/figures/older.toml has {suite}, but it is of today's images: take it from the list"
    else:
        assert not moved
