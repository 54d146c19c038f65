# SPDX-License-Identifier: BSD-2-Clause
"""Shards: the split is the same everywhere and even; what is merged is the whole run, or is refused by name."""

import functools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from received import little_memory
from synthetic import lines, make_records, make_suite, new_writer, write_case, write_run
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.plan.catalogue import operations_of, target_names
from worldwise.plan.costs import build_cost, cost_table, costs_of
from worldwise.plan.shards import Shard, parse_shard, split
from worldwise.plan.suite import load_suite
from worldwise.read import run_counts
from worldwise.records.model_predictions import Predicted
from worldwise.run.folder import predictions
from worldwise.run.folder.manifests import ShardEntry
from worldwise.run.folder.merge_shards import merge
from worldwise.run.folder.run_plan import CaseInputs, CaseOutcome
from worldwise.run.folder.rundir import Run, open_run

# --- the split ---


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "-1/4", "1/4/2", "1/99999", "one/two", "1/4 ", "١/٤"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(WorldwiseError, match="not a shard"):
        parse_shard(text)
    assert parse_shard("4/4") == Shard(4, 4)


def test_a_split_is_even_and_loses_nothing() -> None:
    """If this fails, a case is measured twice or never, or one machine works while the others wait."""
    every = load_suite("tee").cases
    chance = random.Random(21)
    for _ in range(60):
        cases = chance.sample(every, chance.randint(1, 300))
        costs = {case.id: chance.choice((1, 200, 3_000, chance.randint(1, 600_000))) for case in cases}
        count = chance.randint(1, min(40, len(cases)))
        price = chance.choice((0, 1_000, 60_000))
        shards = split(cases, costs, count, lambda _, price=price: price)  # type: ignore[misc]
        assert len(shards) == count
        assert all(shards)
        assert sorted(case.id for shard in shards for case in shard) == sorted(case.id for case in cases)
        for shard in shards:
            assert [case for case in cases if case in shard] == shard
        loads = [
            sum(costs[case.id] for case in shard) + price * len({(case.target, case.variant) for case in shard})
            for shard in shards
        ]
        piece = max(sum(costs.values()) / count / 4, *costs.values()) + price
        assert max(loads) <= sum(loads) / count + piece


def test_the_split_is_the_same_everywhere() -> None:
    """Machines that never talk to each other must come to the same split, whatever Python hashes: this one.

    If this fails, worldwise splits by another rule than before: then each shard of a running array needs the same one.
    """
    cases = make_suite().cases
    costs = {case.id: 100 * (place * 7 % 13 + 1) for place, case in enumerate(cases)}
    shards = split(cases, costs, 5, lambda _: 1000)
    assert [[cases.index(case) for case in shard] for shard in shards] == SPLIT


SPLIT = [
    [9, 10, 15, 16, 17, 24, 25, 26, 27, 28, 51, 52, 53],
    [6, 7, 12, 13, 14, 20, 48, 49, 50],
    [0, 1, 2, 5, 18, 19, 21, 22, 29, 36, 39],
    [8, 30, 31, 32, 35, 37, 38, 42, 43, 44],
    [3, 4, 11, 23, 33, 34, 40, 41, 45, 46, 47],
]


def test_cases_of_a_variant_stay_together() -> None:
    """If this fails, every machine builds every variant."""
    cases = load_suite("mcu").cases
    shards = split(cases, costs_of(cases, {}), 4, build_cost)
    variants = {(case.target, case.variant) for case in cases}
    builds = sum(len({(case.target, case.variant) for case in shard}) for shard in shards)
    assert builds <= len(variants) + 4


def test_too_many_shards_are_refused() -> None:
    cases = load_suite("quick").cases
    with pytest.raises(WorldwiseError, match="3 cases are too few for 4 shards"):
        split(cases, costs_of(cases, {}), 4, build_cost)


# --- costs ---


def test_costs_fall_back_from_the_case_to_the_table() -> None:
    a, b, c = (
        Case("optee", library, "O2", "attestdiv", 4, 2) for library in ("mbedtls", "mbedtls-nist", "libtomcrypt")
    )
    d, e = Case("optee", "mbedtls", "O2", "empty-invoke", 4, 2), Case("linux", "mbedtls", "O2", "hello", 4, 2)
    table = cost_table()
    assert costs_of([a, b, c, d, e], {a: 1.5, b: 30.0}) == {
        a.id: 1500,
        b.id: 30_000,
        c.id: 1500,
        d.id: round(1000 * table["optee"]["empty-invoke"]),
        e.id: round(1000 * table["linux"]["other"]),
    }


def test_the_table_names_operations_that_there_are() -> None:
    """If this fails, measured/costs.toml has a cost that nothing takes."""
    boards = [path.stem for path in paths.BOARDS.glob("*.toml")]
    targets = {"board": boards} | {name: [name] for name in target_names() if name not in boards}
    assert cost_table().keys() == targets.keys()
    for name, costs in cost_table().items():
        known = {operation for target in targets[name] for operation in operations_of(target)}
        assert costs.keys() <= {*known, "other", "build"}
        assert {"other", "build"} <= costs.keys()


# --- merging ---

IDS = (
    "linux/mbedtls-nist-O2/attestdiv",
    "optee/mbedtls-nist-O2/attestdiv",
    "optee/libtomcrypt-Os/keygen",
    "optee/mbedtls-nist-O2/empty-invoke",
    "optee/libtomcrypt-Os/ta-load",
)
SUITE = make_suite()
CASES = [case for wanted in IDS for case in SUITE.cases if case.id == wanted]
PARTS = ([CASES[0], CASES[3]], [CASES[1]], [CASES[2], CASES[4]])


@functools.cache
def records(case: Case) -> bytes:
    return lines(make_records(case))


def entry(number: int, **changes: Any) -> ShardEntry:
    values: dict[str, Any] = {
        "number": number,
        "count": 3,
        "whole": {case.id: 1000 + place for place, case in enumerate(CASES)},
        "costs": "costs.toml 0123",
        "predict": [],
        "command": ["synthetic", "--operation", "*"],
        **changes,
    }
    return ShardEntry(**values)


def shard(
    runs_dir: Path, number: int, cases: Sequence[Case] | None = None, second: int = 0, done: int = 9, **fields: Any
) -> Run:
    """The run of a shard, with as many of its cases done."""
    cases = PARTS[number - 1] if cases is None else cases
    fields = {"shard": entry(number), "host": {"machine": "x86_64", "kernel": f"6.{number}"}, **fields}
    with new_writer(runs_dir, cases, parse_budget("5ms@2GHz"), second or number, **fields) as writer:
        for case in cases[:done]:
            write_case(writer, case, records(case))
        return writer.finish("complete" if done >= len(cases) else "interrupted")


def shards(runs_dir: Path, *numbers: int) -> list[Run]:
    return [shard(runs_dir, number) for number in numbers or (1, 2, 3)]


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_merged_run_is_the_whole_run(runs_dir: Path, tmp_path: Path) -> None:
    """Each file of each case, and the suite, are those of one machine's run, byte for byte; run.json tells the rest."""
    with new_writer(runs_dir, CASES, parse_budget("5ms@2GHz"), 0) as writer:
        for case in CASES:
            write_case(writer, case, records(case))
        alone = writer.finish("complete")
    one, two, three = shards(runs_dir)
    assert one.id == "20260102T030401Z-synthetic-shard-1-of-3"
    merged, notes = merge([three, one, two, one], runs_dir)
    assert notes == []
    assert merged.state == "complete"
    a, b = tree(alone.path), tree(merged.path)
    assert a.keys() == b.keys()
    assert {name for name in a if a[name] != b[name]} - {"finished.json"} == {"run.json"}
    was, is_now = alone.manifest.model_dump(), merged.manifest.model_dump()
    assert {name for name in was if was[name] != is_now[name]} == {"started", "host", "merged"}
    assert is_now["started"] == one.manifest.started
    assert is_now["host"] == {"machine": "x86_64"}
    assert [(each["number"], each["run"], each["cases"]) for each in is_now["merged"]] == [
        (1, one.id, 2),
        (2, two.id, 1),
        (3, three.id, 2),
    ]
    assert [each["host"]["kernel"] for each in is_now["merged"]] == ["6.1", "6.2", "6.3"]

    # When, where and in what order it is merged changes no byte.
    again, _ = merge([two, three, one], tmp_path / "elsewhere")
    assert tree(again.path) == b
    assert run_counts.read_run(merged, None).rows == run_counts.read_run(alone, None).rows


def test_a_lost_shard_is_named_with_its_command(runs_dir: Path) -> None:
    with pytest.raises(WorldwiseError) as caught:
        merge(shards(runs_dir, 1, 3), runs_dir)
    assert (
        "shard 2 of 3 is missing. 1 of 5 cases cannot be merged: optee/mbedtls-nist-O2/attestdiv."
        in caught.value.message
    )
    assert caught.value.hint == "worldwise run synthetic --operation '*' --shard 2/3"
    assert len(list(runs_dir.iterdir())) == 2


def test_a_shard_that_is_not_whole_is_named_with_its_command(runs_dir: Path) -> None:
    one, two = shards(runs_dir, 1, 2)
    half = shard(runs_dir, 3, done=1)
    with pytest.raises(WorldwiseError, match="was interrupted: 1 of its 2 cases are there") as caught:
        merge([one, two, half], runs_dir)
    assert caught.value.hint == f"worldwise run --resume {half.id} --runs {runs_dir}"
    # Another whole run of it is enough, in whatever order they come.
    better = shard(runs_dir, 3, second=9)
    merged, notes = merge([better, half, two, one], runs_dir)
    assert merged.manifest.merged[2].run == better.id
    assert notes == [f"left out: shard 3 of 3 (run {half.id}) was interrupted: 1 of its 2 cases are there"]


def test_a_killed_and_a_running_shard_are_named(runs_dir: Path) -> None:
    two, three = shards(runs_dir, 2, 3)
    writer = new_writer(runs_dir, PARTS[0], parse_budget("5ms@2GHz"), 1, shard=entry(1))
    with writer, pytest.raises(WorldwiseError, match="is still being written") as caught:
        merge([open_run(writer.run.path, runs_dir), two, three], runs_dir)
    assert caught.value.hint == "wait for it to end"
    with pytest.raises(WorldwiseError, match="was killed: 0 of its 2 cases"):
        merge([open_run(writer.run.path, runs_dir), two, three], runs_dir)


def test_a_shard_measured_twice_is_compared(runs_dir: Path) -> None:
    one, two, three = shards(runs_dir)
    twin = shard(runs_dir, 1, second=20)
    merged, notes = merge([twin, two, three, one], runs_dir)
    assert merged.manifest.merged[0].run == one.id
    assert notes == [
        f"shard 1 is there twice: run {one.id} was taken, not {twin.id}; "
        "2 cases of both compared: every record the same"
    ]

    # Other keys, so other records.
    other = write_run(
        runs_dir,
        PARTS[1],
        None,
        parse_budget("5ms@2GHz"),
        30,
        shard=entry(2),
        host={"machine": "x86_64", "kernel": "6.2"},
    )
    with pytest.raises(WorldwiseError, match="of the same shard are not the same: optee/mbedtls-nist-O2/attestdiv"):
        merge([one, two, other, three], runs_dir)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lab": "b" * 64}, f"differ in lab: {'a' * 64} / {'b' * 64}"),
        ({"git": "fedcba9876543210+"}, "differ in git: 0123456789abcdef / fedcba9876543210+"),
        ({"samples": 7}, "differ in samples: null / 7"),
        ({"suite": make_suite(title="other", warmup=3)}, "differ in suite.toml: sha256 "),
        ({"shard": entry(2, count=4)}, "differ in number of shards: 3 / 4"),
        ({"shard": entry(2, costs="run 20260101T000000Z-x")}, "differ in costs: "),
        ({"shard": entry(2, whole={case.id: 5 for case in CASES[:4]})}, "differ in cases: "),
        ({"shard": entry(2, predict=["cortex-a72"])}, 'differ in --predict: [] / ["cortex-a72"]'),
        ({"shard": None}, "is not a shard: it was made without --shard"),
        ({"cases": [*PARTS[1], CASES[0]]}, "both have the case linux/mbedtls-nist-O2/attestdiv"),
        (
            {"cases": [case for case in SUITE.cases if case.operation == "attestquorum"][:1]},
            "and the whole run lacks it",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_shards_of_other_runs_are_refused_by_name(change: dict[str, Any], says: str, runs_dir: Path) -> None:
    """If this fails, counts of two labs, suites or options stand in one run."""
    one, three = shards(runs_dir, 1, 3)
    other = shard(runs_dir, 2, **change)
    with pytest.raises(WorldwiseError) as caught:
        merge([one, other, three], runs_dir)
    assert says in caught.value.message
    assert not [path for path in runs_dir.iterdir() if "shard" not in path.name and path != other.path]


def test_other_images_and_other_starts_are_refused(runs_dir: Path) -> None:
    one, three = shards(runs_dir, 1, 3)

    def other(second: int, write: Callable[..., None]) -> Run:
        fields = {"shard": entry(2), "host": {"machine": "x86_64"}}
        with new_writer(runs_dir, PARTS[1], parse_budget("5ms@2GHz"), second, **fields) as writer:
            write(writer, CASES[1], records(CASES[1]))
            return writer.finish("complete")

    images = functools.partial(write_case, images={"optee": "d" * 64})
    with pytest.raises(
        WorldwiseError, match="have other images optee: optee/mbedtls-nist-O2/empty-invoke was measured"
    ):
        merge([one, other(40, images), three], runs_dir)

    def cold(writer: Any, case: Case, data: bytes) -> None:
        (writer.case_directory(case.id) / "records.jsonl").write_bytes(data)
        writer.complete_case(case, CaseInputs("boot"), CaseOutcome())

    with pytest.raises(WorldwiseError, match=r"differ in start of the machines: \[\"snapshot\"\] / \[\"boot\"\]"):
        merge([one, other(50, cold), three], runs_dir)


def test_a_changed_file_stops_merging_and_leaves_nothing(runs_dir: Path) -> None:
    runs = shards(runs_dir)
    path = runs[2].records_path(CASES[4].id)
    path.write_bytes(path.read_bytes().replace(b'"count":', b'"count":1', 1))
    with pytest.raises(WorldwiseError, match="has changed since the case was done"):
        merge(runs, runs_dir)
    assert sorted(runs_dir.iterdir()) == [run.path for run in runs]


def test_failed_cases_stay_failed(runs_dir: Path) -> None:
    one, three = shards(runs_dir, 1, 3)
    with new_writer(runs_dir, PARTS[1], parse_budget("5ms@2GHz"), 2, shard=entry(2)) as writer:
        writer.case_directory(CASES[1].id)
        writer.complete_case(CASES[1], CaseInputs("snapshot"), CaseOutcome(error="died"))
        two = writer.finish("failed")
    merged, _ = merge([one, two, three], runs_dir)
    assert merged.state == "failed"
    assert [failed.case for failed in run_counts.read_run(merged, None).failed] == [CASES[1].id]
    # A later run of the shard in which nothing failed is taken instead.
    better = shard(runs_dir, 2, second=30)
    whole, _ = merge([one, two, three, better], runs_dir)
    assert (whole.state, whole.manifest.merged[1].run) == ("complete", better.id)


def test_a_budget_judges_the_merged_run(runs_dir: Path) -> None:
    """A shard without a judged case says nothing of the budget; the merged run judges all."""
    runs = shards(runs_dir)
    judged = [run_counts.read_run(run, None).budget for run in runs]
    assert [budget is not None for budget in judged] == [False, True, False]
    whole = run_counts.read_run(merge(runs, runs_dir)[0], None).budget
    assert whole is not None
    assert whole.judged == judged[1].judged if judged[1] else False


def test_predictions_are_merged_in_the_runs_order(runs_dir: Path) -> None:
    runs = shards(runs_dir)

    def predict(run: Run, core: str, table: str = "1" * 64) -> None:
        cases = [{"case": case_id, "samples": []} for case_id in run.manifest.cases]
        one = {"format": 1, "core": core, "table": table, "plugin": "2" * 64, "cases": cases}
        predictions.store(run, Predicted.model_validate(one))

    for run in runs:
        predict(run, "cortex-a72")
    predict(runs[1], "cortex-a53")
    merged, _ = merge(runs, runs_dir)
    assert {one.core: [each.case for each in one.cases] for one in predictions.load(merged)} == {
        "cortex-a53": [CASES[1].id],
        "cortex-a72": list(IDS),
    }
    predict(runs[0], "cortex-a53", "3" * 64)
    with pytest.raises(WorldwiseError, match="predict cortex-a53 with different models"):
        merge(runs, runs_dir)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": 10**11}, r"shard\.count"),
        ({"count": 9999}, "no more than the cases"),
        ({"number": 4}, "its number is one of theirs"),
        ({"number": 10**30}, r"shard"),
        ({"count": 0}, r"shard\.count"),
        ({"whole": {}}, "no more than the cases"),
        ({"command": ["x"] * 1001}, r"shard\.command"),
    ],
)
def test_a_shard_that_no_split_makes_is_refused(change: dict[str, Any], says: str, runs_dir: Path) -> None:
    """If this fails, a received shard that says how many there are fills the memory."""
    (run,) = shards(runs_dir, 1)
    path = run.path / "run.json"
    fields = json.loads(path.read_text())
    fields["shard"].update(change)
    path.write_text(json.dumps(fields))
    with little_memory(), pytest.raises(WorldwiseError, match=rf"run\.json: corrupt: .*{says}"):
        merge([open_run(run.path, runs_dir)], runs_dir)


def test_an_error_names_so_many_commands(runs_dir: Path) -> None:
    """If this fails, a shard whose command is long, of many shards, fills the memory with ways out."""
    (run,) = shards(runs_dir, 1)
    path = run.path / "run.json"
    fields = json.loads(path.read_text())
    whole = {f"optee/mbedtls-O2/x{number}": 1 for number in range(5000)}
    fields["shard"].update(count=5000, whole=fields["shard"]["whole"] | whole, command=["x" * 1000] * 500)
    path.write_text(json.dumps(fields))
    with little_memory(), pytest.raises(WorldwiseError, match="the run is not whole") as caught:
        merge([open_run(run.path, runs_dir)], runs_dir)
    assert caught.value.hint.endswith("and 4979 more commands")
