# SPDX-License-Identifier: BSD-2-Clause
"""What families declare of their records: it must agree with the plan, and a new family must need nothing else."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import pytest

from synthetic import find, make_records
from worldwise.base import family_stages
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.curve_table import CURVES, MEASURABLE
from worldwise.plan.case import Case
from worldwise.plan.catalogue import BOARD_OPERATIONS, TARGETS
from worldwise.plan.spec import BOARD, OPTEE, PLACES
from worldwise.records import evidence, parse
from worldwise.records.check import check_records
from worldwise.records.evidence import CallRecord, Evidence, EvidenceRecord, Once, Owed
from worldwise.records.models import TARGET_CLOCKS, Count, Sample, Text

CASE = Case("optee", "mbedtls", "O2", "empty-invoke", 2, 1)
# What the families declare is put together once.
_REMEMBERED = (evidence.all_owed, parse.record_adapter, parse.evidence_tags)


@pytest.mark.parametrize(("kind", "operation"), evidence.all_owed())
def test_what_is_owed_is_of_an_operation_that_there_is(kind: str, operation: str) -> None:
    owed = evidence.all_owed()[kind, operation]
    measures = (BOARD_OPERATIONS if kind == BOARD else TARGETS[kind])[operation]
    places = {place for places in measures.values() for place in places}
    assert bool(owed.measure) == (owed.evidence is not None)
    assert not owed.measure or owed.measure in measures
    assert {*owed.clocks, *owed.summed, *owed.counted} <= places
    assert not owed.memory_at or owed.memory_at in places


def test_models_of_evidence_are_told_apart() -> None:
    models = evidence.evidence_models()
    assert len({model.tag for model in models}) == len({model.order for model in models}) == len(models) == 14
    for model in models:
        assert model.order < EvidenceRecord.order, "where it stands is left to chance"
        assert {"measure", "index"} <= model.model_fields.keys()
        assert not model.mark or model.mark in model.model_fields


def test_lists_agree() -> None:
    assert TARGET_CLOCKS.keys() <= TARGETS.keys()
    schema = parse.json_schema()["$defs"]
    assert schema["Sample"]["properties"]["place"]["enum"] == list(PLACES)
    assert schema["EcdhEvidence"]["properties"]["curve"]["enum"] == [curve for curve in CURVES if curve in MEASURABLE]


class _Answer(EvidenceRecord):
    """A new family's evidence."""

    tag: ClassVar[str] = "answer"

    type: Literal["evidence"]
    measure: Literal["invoke"]
    index: Count
    answer: Count

    def misfit(self, case: Case) -> str:
        return "" if self.answer >= 40 else f"answer is {self.answer}, {case.operation} has no such"

    def problem(self) -> str:
        return "" if self.answer % 2 == 0 else "the answer is odd"

    def once(self) -> Once:
        return Once((str(self.answer),), self.index, "gave the answer of {} again")


class _Weather(CallRecord):
    """What a new family has beside a sample."""

    type: Literal["weathers"]
    measure: Text
    index: Count
    count: Count

    def problem(self, sample: Sample) -> str:
        return "" if self.count == sample.count else f"the weather of {self.index} is not its sample's."


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Good records of an operation, of which one more family than there are says what it owes."""
    found = [record for record in make_records(CASE) if record["type"] != "end"]
    for index in range(CASE.calls):
        count = find(found, type="sample", index=index)["count"]
        found.append({"type": "evidence", "measure": "invoke", "index": index, "answer": 40 + 2 * index})
        found.append({"type": "weathers", "measure": "invoke", "index": index, "count": count})
    found.append({"type": "end", "status": 0, "idle": 0})
    owed = Owed((OPTEE,), CASE.operation, measure="invoke", evidence=_Answer, beside=_Weather)
    declared = family_stages.declared

    def with_new(stage: str, kind: type[Any]) -> Mapping[str, Any]:
        return {**declared(stage, kind), "new": Evidence((owed,))}

    monkeypatch.setattr(family_stages, "declared", with_new)
    for cache in _REMEMBERED:
        cache.cache_clear()
    yield found
    for cache in _REMEMBERED:
        cache.cache_clear()


def _check(records: list[dict[str, Any]]) -> None:
    lines = enumerate(map(json.dumps, records), 1)
    check_records([parse.parse_line(line, "f", number) for number, line in lines], CASE, "f")


def test_a_new_family_declares_all_that_its_records_need(records: list[dict[str, Any]]) -> None:
    _check(records)
    tags = [model.tag for model in evidence.evidence_models()]
    assert tags[-1] == "answer", "after those that were there before"
    assert "_Weather" in parse.json_schema()["$defs"]


@pytest.mark.parametrize(
    ("kind", "values", "problem"),
    [
        ("evidence", {"answer": 38}, "invoke 1: answer is 38, empty-invoke has no such."),
        ("evidence", {"answer": 43}, "invoke 1: the answer is odd."),
        ("evidence", {"answer": 40}, "invoke 1 gave the answer of invoke 0 again."),
        ("evidence", {"index": 0}, "a second evidence for invoke 0."),
        ("evidence", {"index": 9}, "evidence for invoke 9, a call that did not happen."),
        ("evidence", None, "no evidence for invoke 1 (1 of 4 are missing)."),
        ("weathers", {"count": 1}, "the weather of 1 is not its sample's."),
        ("weathers", {"index": 0}, "weathers of invoke 0, which has no such record or has it already."),
        ("weathers", None, "the weathers of invoke 1 are missing."),
    ],
)
def test_what_a_new_family_refuses(
    records: list[dict[str, Any]], kind: str, values: dict[str, Any] | None, problem: str
) -> None:
    record = find(records, type=kind, index=1)
    if values is None:
        records.remove(record)
    else:
        record.update(values)
    with pytest.raises(WorldwiseError) as error:
        _check(records)
    assert error.value.message.endswith(problem)


def test_all_of_what_is_beside_samples_can_be_missing(records: list[dict[str, Any]]) -> None:
    with pytest.raises(WorldwiseError, match="the weathers of invoke 0 are missing"):
        _check([record for record in records if record["type"] != "weathers"])


def _declare(monkeypatch: pytest.MonkeyPatch, **families: Evidence) -> None:
    monkeypatch.setattr(family_stages, "declared", lambda _stage, _kind: families)
    monkeypatch.setattr(evidence, "all_owed", evidence.all_owed.__wrapped__)
    monkeypatch.setattr(parse, "evidence_tags", parse.evidence_tags.__wrapped__)


def test_two_families_cannot_say_what_one_operation_owes(monkeypatch: pytest.MonkeyPatch) -> None:
    owed = Evidence((Owed((OPTEE,), "hello"),))
    _declare(monkeypatch, one=owed, other=owed)
    with pytest.raises(TypeError, match=r"families\.other: what hello owes on optee is declared already"):
        evidence.all_owed()


def test_two_models_of_one_measure_need_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    class Twin(_Answer):
        tag: ClassVar[str] = "twin"

    one = Owed((OPTEE,), "hello", measure="invoke", evidence=_Answer)
    other = Owed((OPTEE,), "call", measure="invoke", evidence=Twin)
    _declare(monkeypatch, one=Evidence((one, other)))
    with pytest.raises(TypeError, match="Twin: evidence of 'invoke' without anything to tell it apart"):
        parse.evidence_tags()
