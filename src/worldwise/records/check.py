# SPDX-License-Identifier: BSD-2-Clause
"""Checking a case's records: whether they are complete, consistent, and their results right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base.errors import WorldwiseError
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.plan.case import Case
from worldwise.plan.catalogue import kind_of, takes_portables
from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import CallRecord, EvidenceRecord, required_checks, verify_evidence
from worldwise.records.models import (
    HOST_CLOCKS,
    TEE_HOST_CLOCKS,
    Check,
    Conditions,
    End,
    Failure,
    Fault,
    Memory,
    Outcome,
    Overhead,
    Sample,
    Start,
)
from worldwise.records.parse import Record
from worldwise.records.samples import check_overheads, check_samples
from worldwise.records.subject import Subject


@dataclass(frozen=True)
class CheckedRecords:
    """The records of a case that passed every check: `samples` by (measure, place), each in index order.

    `memory` is by measure; it is empty except on boards and for cases that measure a TA's memory. `conditions` are by
    (measure, call); they are empty except on Linux hosts.
    """

    start: Start
    overheads: Mapping[str, Overhead]
    samples: Mapping[tuple[str, str], tuple[Sample, ...]]
    memory: Mapping[str, Memory] = field(default_factory=dict)
    conditions: Mapping[tuple[str, int], Conditions] = field(default_factory=dict)


def check_records(
    records: Sequence[Record],
    case: Case,
    file: str = "records.jsonl",
    symbol: Callable[[int], str] = lambda _: "",
    unit: Unit = INSTRUCTIONS,
) -> CheckedRecords:
    """Verifies that the records are those of `case`, complete, consistent and right.

    Every sample that the case owes must be there once, with its arithmetic right; every signature is verified
    and every key checked here again, by another library than the one measured. Raises WorldwiseError at the
    first problem, naming `file` and the line. `symbol` names an address of the measured program, for the
    message about a fault; `unit` is what must have been counted.
    """
    subject = Subject(records, case, file, symbol, unit)
    _check_no_errors(subject)
    start = _check_frame(subject)
    overheads = check_overheads(subject, start.clock)
    samples = check_samples(subject, overheads)
    memory = _check_memory(subject)
    conditions = _check_conditions(subject, start)
    _check_beside(subject, samples)
    _check_evidence(subject)
    _check_outcomes(subject)
    _check_checks(subject)
    return CheckedRecords(start, overheads, samples, memory, conditions)


def _check_no_errors(subject: Subject) -> None:
    # This check comes first: the program's own error explains what is missing after it.
    for number, record in subject.numbered():
        if isinstance(record, Failure):
            subject.fail(number, f"the measured program reports: {record.message}")
        if isinstance(record, Fault):
            subject.fail(number, f"{record.describe(subject.symbol)}.")


def _check_frame(subject: Subject) -> Start:
    """The first record. Raises WorldwiseError if the records do not begin and end as they must."""
    records = subject.records
    if not records:
        subject.fail(None, "there are no records.")
    start, end = records[0], records[-1]
    if not isinstance(start, Start):
        subject.fail(1, f"begins with '{start.type}', not with 'start'.")
    if not isinstance(end, End):
        subject.fail(len(records), "the records stop before 'end': the measured program did not finish.")
    if end.status != 0:
        subject.fail(len(records), f"the measured program ended with status {end.status}.")
    if end.idle:
        subject.fail(
            len(records),
            f"the processor was idle {end.idle} times during the case: its counts would include time without "
            "instructions.",
        )
    for number, record in subject.numbered():
        if isinstance(record, Start) and number > 1:
            subject.fail(number, "a second 'start'.")
        if isinstance(record, End) and number < len(records):
            subject.fail(number, "records follow 'end'.")
    _check_start(subject, start)
    return start


def _check_start(subject: Subject, start: Start) -> None:
    """Refuses the records of another case."""
    case = subject.case
    expected = (
        ("operation", start.operation, case.operation),
        ("samples", start.samples, case.samples),
        ("warmup", start.warmup, case.warmup),
        ("parameters", start.parameters, " ".join(case.arguments)),
        ("unit", start.unit, subject.unit),
        ("board", start.board, case.board or None),
    )
    for key, found, wanted in expected:
        if found != wanted:
            subject.fail(1, f"{key} is {found!r}, the case has {wanted!r}.")
    if start.clock not in subject.clocks:
        wanted = " or ".join(map(repr, subject.clocks)) or f"no counter of {subject.unit}"
        subject.fail(1, f"clock is {start.clock!r}, the case has {wanted}.")
    if start.program.partition("-")[0] != ("mcu" if case.board else case.target.partition("-")[0]):
        subject.fail(1, f"program '{start.program}' does not run on target '{case.target}'.")
    if not _knows_itself(case, start.implementation):
        subject.fail(1, f"implementation '{start.implementation}' is not that of the case.")


def _knows_itself(case: Case, name: str) -> bool:
    """Whether the case's program can be one that calls its implementation `name`."""
    if takes_portables(case.target):
        return name == case.implementation
    # A client does not know OP-TEE's library, and a program does not know its library's configuration.
    return name == "optee" if kind_of(case.target) == OPTEE else f"{case.implementation}-".startswith(f"{name}-")


def _check_memory(subject: Subject) -> dict[str, Memory]:
    """The memory that a call takes, exactly once for each measure of a case that owes it."""
    measures, place = subject.case.measures, subject.owed.memory_at
    found: dict[str, Memory] = {}
    for number, record in subject.numbered():
        if isinstance(record, Memory):
            if record.place != place or record.measure not in measures:
                subject.fail(number, f"the memory of '{record.measure}', which the case lacks.")
            if record.measure in found:
                subject.fail(number, f"a second record of the memory of {record.measure}.")
            if (record.heap_left or 0) > (record.heap or 0):
                subject.fail(
                    number,
                    f"{record.measure} leaves {record.heap_left} bytes of heap, but never had more than {record.heap}.",
                )
            found[record.measure] = record
    for measure in measures:
        if place and measure not in found:
            subject.fail(None, f"the record of the memory of {measure} is missing.")
    return found


def _check_conditions(subject: Subject, start: Start) -> dict[tuple[str, int], Conditions]:
    """The conditions of every call on a host, each once, and none elsewhere.

    Refuses counters that did not count all the time: what they missed is not known.
    """
    on_host = any(start.clock in clocks for clocks in (*HOST_CLOCKS.values(), *TEE_HOST_CLOCKS.values()))
    due = {
        (measure, index) for measure in subject.case.measures for index in range(subject.case.calls if on_host else 0)
    }
    found: dict[tuple[str, int], Conditions] = {}
    for number, record in subject.numbered():
        if isinstance(record, Conditions):
            key = (record.measure, record.index)
            if key not in due:
                subject.fail(
                    number,
                    f"conditions of {record.measure} {record.index}, which has no such record or has it already.",
                )
            due.remove(key)
            _check_counted(subject, number, record)
            found[key] = record
    if due:
        measure, index = min(due)
        subject.fail(None, f"the conditions of {measure} {index} are missing.")
    return found


def _check_counted(subject: Subject, number: int, record: Conditions) -> None:
    what = f"{record.measure} {record.index}"
    if record.running != record.enabled:
        subject.fail(
            number,
            f"{what}: the processor's counters counted for {record.running:,} of {record.enabled:,} ns: another "
            "program has them the rest of the time, or the processor has other counters than perf opened.",
            "end what uses them on the host (perf, a profiler, a watchdog), then: worldwise run --resume --via ...",
        )
    if (record.instructions is None) != (record.overhead is None) or (record.counted or 0) < 0:
        subject.fail(number, f"{what}: {record.instructions} instructions with an overhead of {record.overhead}.")


def _check_beside(subject: Subject, samples: Mapping[tuple[str, str], tuple[Sample, ...]]) -> None:
    """Checks the record that a call owes beside its sample: once for each call, and consistent with the sample."""
    model = subject.owed.beside
    due = (
        {(measure, sample.index): sample for (measure, _), series in samples.items() for sample in series}
        if model
        else {}
    )
    for number, record in subject.numbered():
        if not isinstance(record, CallRecord):
            continue
        sample = due.pop((record.measure, record.index), None) if model and isinstance(record, model) else None
        if sample is None:
            subject.fail(
                number, f"{record.type} of {record.measure} {record.index}, which has no such record or has it already."
            )
        problem = record.problem(sample)
        if problem:
            subject.fail(number, problem)
    if model and due:
        measure, index = next(iter(due))
        subject.fail(None, f"the {model.noun()} of {measure} {index} are missing.")


def _check_evidence(subject: Subject) -> None:
    """Verifies the result of every call of a measure that owes evidence."""
    case, measure = subject.case, subject.owed.measure
    calls = case.calls
    seen: set[int] = set()
    once: dict[tuple[str, ...], tuple[int, object]] = {}
    for number, record in subject.numbered():
        if not isinstance(record, EvidenceRecord):
            continue
        if record.measure != measure or type(record) is not subject.owed.evidence:
            subject.fail(number, f"evidence for '{record.measure}', which the case lacks.")
        if record.index in seen:
            subject.fail(number, f"a second evidence for {record.measure} {record.index}.")
        if record.index >= calls:
            subject.fail(number, f"evidence for {record.measure} {record.index}, a call that did not happen.")
        seen.add(record.index)
        _check_result(subject, number, record)
        _check_once(subject, number, record, once)
    missing = sorted(set(range(calls)) - seen) if measure else []
    if missing:
        subject.fail(None, f"no evidence for {measure} {missing[0]} ({len(missing)} of {calls} are missing).")


def _check_result(subject: Subject, number: int, evidence: EvidenceRecord) -> None:
    """Refuses evidence of another case, and a wrong result."""
    misfit = evidence.misfit(subject.case)
    if misfit:
        subject.fail(number, f"{evidence.measure} {evidence.index}: {misfit}.")
    try:
        verify_evidence(evidence, subject.file, number)
    except WorldwiseError as error:
        raise WorldwiseError(
            error.message,
            hint="the measured implementation gave a wrong answer: its counts are worthless",
            details=f"case {subject.case.id}",
        ) from error


def _check_once(
    subject: Subject, number: int, evidence: EvidenceRecord, found: dict[tuple[str, ...], tuple[int, object]]
) -> None:
    """Refuses what an earlier call had already if no two calls may share it; `found` has that of all earlier calls."""
    once = evidence.once()
    if once is None:
        return
    before, of = found.setdefault(once.key, (evidence.index, once.of))
    if of != once.of:
        problem = once.problem.format(f"{evidence.measure} {before}")
        subject.fail(number, f"{evidence.measure} {evidence.index} {problem}.")


def _check_outcomes(subject: Subject) -> None:
    """A campaign has outcomes and no samples; other cases have samples, and only a few operations outcomes too."""
    found = [number for number, record in subject.numbered() if isinstance(record, Outcome)]
    if found and subject.case.measures and not subject.owed.outcomes:
        subject.fail(found[0], "an outcome, which the case lacks.")
    if not found and not subject.case.measures:
        subject.fail(None, "there is no outcome: the campaign tried nothing.")


def _check_checks(subject: Subject) -> None:
    measures = subject.case.measures
    passed = set()
    for number, record in subject.numbered():
        if isinstance(record, Check):
            if measures and record.measure not in measures:
                subject.fail(number, f"check '{record.name}' of '{record.measure}', which the case lacks.")
            if not record.ok:
                subject.fail(number, f"check '{record.name}' of {record.measure} failed.")
            passed.add(record.name)
    for name in required_checks(subject.case):
        if name not in passed:
            subject.fail(None, f"the check '{name}' is missing: nothing tried it.")
