# SPDX-License-Identifier: BSD-2-Clause
"""The kept runs, of which README and docs/ are made, are of today's images: cases of each are measured again."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import doc_records
from remote_run import Notes, measured
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.plan.case import Case
from worldwise.plan.suite import load_suite
from worldwise.read.models import Row
from worldwise.read.run_counts import read_run
from worldwise.run.measure import Bench
from worldwise.run.options import MeasureOptions
from worldwise.targets.all_targets import EMULATED


def costs(suite: str) -> dict[str, float]:
    """What each case of a kept run executes: its calls' instructions, in all its regions.

    A run may have a user's library, which the repository does not have: those cases cannot be measured here.
    """
    found: dict[str, float] = {}
    for row in doc_records.rows(suite):
        if not doc_records.is_users(row):
            found[row.case] = found.get(row.case, 0.0) + row.median * (row.counts.n + row.counts.warmup + 1)
    return found


def cheapest(cases: Iterable[Case], known: Mapping[str, float]) -> Case:
    """The case that executes least."""
    return min(cases, key=lambda case: (known[case.id], case.id))


def one_of_each_machine(cases: Iterable[Case], known: Mapping[str, float], images: ImageStore) -> list[Case]:
    """The cheapest of those cases whose machines are the same to the byte: other images are another machine."""
    machines: dict[str, list[Case]] = {}
    for case in cases:
        machines.setdefault(EMULATED[case.target].machine(case, images).digest(images.lab), []).append(case)
    return [cheapest(alike, known) for alike in machines.values()]


# Kept runs whose cases take minutes, each with one of the same images.
_OF_THE_SAME_IMAGES = {"pqc-tail": "pqc", "keycache-zipf": "keycache"}

# Operations whose programs of Linux talk to each other: even debug information moves their counts.
_ALSO = {"keycache": "keycache", "mqtt": "keycache-mqtt", "tee": "echo"}


def counts(row: Row) -> tuple[object, ...]:
    """What a measurement alone decides of a row."""
    return (
        row.case,
        row.measure,
        row.place,
        row.counts.n,
        row.counts.first,
        row.median,
        row.counts.mean,
        row.counts.stdev,
        row.counts.min,
        row.counts.max,
    )


def covering(first: str, others: Iterable[str]) -> set[str]:
    """Of sets of build options the first, and so many others that each option, and none at all, is in one.

    A program is built for each set.
    """
    found, seen = {first}, set(first.split("+"))
    for text in sorted(others, key=lambda text: (-text.count("+"), text)):
        if not seen.issuperset(text.split("+")):
            found.add(text)
            seen |= set(text.split("+"))
    return found


def like(case: Case) -> tuple[str, ...]:
    """What cases of one library and operation have in common."""
    return case.target, case.variant, case.operation, case.curve


@pytest.mark.parametrize("suite", doc_records.kept_runs())
def test_a_case_of_a_kept_run_is_measured_the_same(suite: str, lab: Lab, images: ImageStore, tmp_path: Path) -> None:
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
    known, whole = costs(suite), load_suite(kept.reading.run.suite)
    there = [case for case in whole.cases if case.id in known]
    least = cheapest(there, known)
    alike = [case for case in there if like(case) == like(least)]
    options = covering(least.options, (case.options for case in alike))
    alike = [case for case in alike if case.options in options]
    chosen = one_of_each_machine(alike, known, images)
    assert least in chosen
    if suite in _ALSO:
        chosen.append(cheapest((case for case in there if case.operation == _ALSO[suite]), known))
    run = measured(Bench(lab, Notes(), MeasureOptions()), replace(whole, cases=tuple(chosen)), tmp_path)
    rows = read_run(run).rows
    assert {row.case for row in rows} == {case.id for case in chosen}
    moved = {counts(row) for row in rows} - {counts(row) for row in doc_records.rows(suite)}
    if suite in doc_records.older():
        assert moved, f"docs/figures/older.toml has {suite}, but it is of today's images: take it from the list"
    else:
        assert not moved
