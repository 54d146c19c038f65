# SPDX-License-Identifier: BSD-2-Clause
import json
from pathlib import Path
from typing import Any

import pytest

import boards
from synthetic import RecordList, find, lines, make_records, new_writer, write_case
from worldwise.base.errors import WorldwiseError
from worldwise.plan.case import Case
from worldwise.run.folder.reproduction import compare_runs, first_difference
from worldwise.run.folder.rundir import Run

A = Case("optee", "mbedtls-nist", "O2", "attestdiv", 3, 1)
B = Case("linux", "mbedtls-nist", "O2", "keygen", 3, 1)

# Made once: both runs get the same bytes, as two runs of a deterministic machine do.
DATA = {case.id: lines(make_records(case)) for case in (A, B)}


def run_with(runs_dir: Path, second: int, data: dict[str, bytes] | None = None, **fields: Any) -> Run:
    images = fields.pop("images", None)
    chosen = DATA if data is None else data
    cases = [case for case in (A, B) if case.id in chosen]
    if second % 2:
        cases.reverse()
    with new_writer(runs_dir, cases, second=second, **fields) as writer:
        for case in cases:
            write_case(writer, case, chosen[case.id], images)
        return writer.finish("complete")


def changed(case: Case, **record: Any) -> dict[str, bytes]:
    """The data with one record changed; `record` has the fields to find it by and, in `to`, the new ones."""
    to = record.pop("to")
    records: RecordList = [json.loads(line) for line in DATA[case.id].splitlines()]
    find(records, **record).update(to)
    return {**DATA, case.id: lines(records)}


def test_the_same_bytes_are_the_same_run_in_any_order(runs_dir: Path) -> None:
    a, b = run_with(runs_dir, 0), run_with(runs_dir, 1)
    comparison = compare_runs(a, b)
    assert comparison.identical
    assert comparison.same == (A.id, B.id)
    assert comparison.provenance == ()
    assert first_difference(a, b) is None


def test_the_first_sample_that_differs_is_named(runs_dir: Path) -> None:
    records = [json.loads(line) for line in DATA[A.id].splitlines()]
    old = find(records, type="sample", measure="verify", place="client", index=2)
    to = {"end": old["end"] + 7, "count": old["count"] + 7}
    data = changed(A, type="sample", measure="verify", place="client", index=2, to=to)
    difference = first_difference(run_with(runs_dir, 0), run_with(runs_dir, 1, data))
    assert difference is not None
    assert (difference.case_id, difference.line) == (A.id, records.index(old) + 1)
    sample = difference.sample
    assert sample is not None
    assert (sample.measure, sample.place, sample.index, sample.line) == (
        "verify",
        "client",
        2,
        difference.line,
    )
    assert sample.a is not None
    assert sample.b is not None
    assert (sample.a.count, sample.b.count) == (old["count"], old["count"] + 7)
    text = difference.describe()
    for part in (
        A.id,
        f"line {difference.line}",
        "verify 2 at client",
        f"{old['count']:,}",
        "+7 instructions",
    ):
        assert part in text


def test_a_moved_clock_is_a_difference_too(runs_dir: Path) -> None:
    records = [json.loads(line) for line in DATA[B.id].splitlines()]
    old = find(records, type="sample", index=4)
    to = {"begin": old["begin"] + 1, "end": old["end"] + 1}
    data = changed(B, type="sample", index=4, to=to)
    difference = first_difference(run_with(runs_dir, 0), run_with(runs_dir, 1, data))
    assert difference is not None
    assert difference.sample is not None
    assert difference.sample.index == 4
    assert "the counts agree; the clock does not" in difference.describe()


def test_a_difference_outside_the_samples(runs_dir: Path) -> None:
    data = changed(A, type="evidence", index=1, to={"signature": "0" * 128})
    difference = first_difference(run_with(runs_dir, 0), run_with(runs_dir, 1, data))
    assert difference is not None
    assert difference.sample is None
    assert "No sample differs" in difference.describe()
    assert "0" * 128 in difference.line_b


def test_a_missing_sample(runs_dir: Path) -> None:
    shorter = b"\n".join(DATA[B.id].split(b"\n")[:-4]) + b"\n"
    difference = first_difference(run_with(runs_dir, 0), run_with(runs_dir, 1, {**DATA, B.id: shorter}))
    assert difference is not None
    assert difference.case_id == B.id
    assert difference.sample is not None
    assert (difference.sample.index, difference.sample.b) == (4, None)
    assert "no such sample" in difference.describe()


def test_cases_of_one_run_only(runs_dir: Path) -> None:
    a, b = run_with(runs_dir, 0), run_with(runs_dir, 2, {A.id: DATA[A.id]})
    comparison = compare_runs(a, b)
    assert (comparison.only_a, comparison.only_b, comparison.identical) == ((B.id,), (), False)
    assert compare_runs(b, a).only_b == (B.id,)
    for pair in ((a, b), (b, a)):
        with pytest.raises(WorldwiseError, match=f"lacks case {B.id}"):
            first_difference(*pair)


def test_nothing_to_compare_is_not_the_same(runs_dir: Path) -> None:
    a, b = run_with(runs_dir, 0, {}), run_with(runs_dir, 1, {})
    assert not compare_runs(a, b).identical
    with pytest.raises(WorldwiseError, match="no complete case"):
        first_difference(a, b)


def test_what_went_in_is_compared(runs_dir: Path) -> None:
    a = run_with(runs_dir, 0, {A.id: DATA[A.id]}, images={"kernel": "1", "ta": "2"})
    b = run_with(
        runs_dir,
        2,
        {A.id: DATA[A.id]},
        images={"kernel": "1", "ta": "3"},
        lab="f" * 64,
        packages={"gcc": "14"},
    )
    comparison = compare_runs(a, b)
    assert comparison.identical
    assert comparison.provenance == (
        f"lab: {'a' * 64} / {'f' * 64}",
        "package gcc: none / 14",
        "package qemu-system-arm: 1:10.0 / none",
        f"{A.id}: image ta: 2 / 3",
    )


def test_a_file_that_went_away(runs_dir: Path) -> None:
    a, b = run_with(runs_dir, 0), run_with(runs_dir, 1)
    b.records_path(B.id).unlink()
    with pytest.raises(WorldwiseError, match="cannot be read"):
        first_difference(a, b)


def test_stack_of_a_board_is_compared_too(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boards.use(monkeypatch)
    case = Case("nucleo-f446re", "bearssl", "Os", "keygen", 2, 0, (("curve", "secp256r1"),))
    records = make_records(case)

    def run_of(second: int) -> Run:
        with new_writer(runs_dir, [case], second=second) as writer:
            write_case(writer, case, lines(records))
            return writer.finish("complete")

    a, again = run_of(0), run_of(1)
    find(records, type="memory")["stack"] += 8
    b = run_of(2)
    assert compare_runs(a, again).identical
    difference = first_difference(a, b)
    assert difference is not None
    assert difference.sample is None
    for stack in (boards.STACK, boards.STACK + 8):
        assert f'"stack":{stack}' in difference.describe()
