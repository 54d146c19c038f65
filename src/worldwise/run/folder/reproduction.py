# SPDX-License-Identifier: BSD-2-Clause
"""Two runs side by side: the same case must have the same records, byte for byte."""

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.records.models import Sample
from worldwise.records.parse import parse_line, read_content
from worldwise.run.folder.rundir import Run


@dataclass(frozen=True)
class SampleDifference:
    """The first sample of a case that differs between two runs; None for a run that lacks the sample."""

    measure: str
    place: str
    index: int
    line: int
    a: Sample | None
    b: Sample | None


@dataclass(frozen=True)
class Difference:
    """The first difference in the records of a case: the first line (from 1) and the first sample that differ."""

    case_id: str
    line: int
    line_a: str
    line_b: str
    sample: SampleDifference | None

    def describe(self) -> str:
        """A few lines for a person: the case, the line, the sample, both counts."""
        text = f"{self.case_id}: the records differ from line {self.line} on."
        if self.sample is None:
            return f"{text} No sample differs.\n  a: {self.line_a}\n  b: {self.line_b}"
        sample = self.sample
        text += (
            f" The first sample that differs is {sample.measure} {sample.index} at {sample.place} "
            f"(line {sample.line}):\n  a: {_describe(sample.a)}\n  b: {_describe(sample.b)}"
        )
        if sample.a and sample.b:
            apart = sample.b.count - sample.a.count
            text += f"\n  b - a: {apart:+,} instructions" if apart else "\n  the counts agree; the clock does not"
        return text


@dataclass(frozen=True)
class Reproduction:
    """Two runs, case by case. `provenance` names the inputs that differ, as `what: a / b`."""

    run_a: str
    run_b: str
    same: tuple[str, ...]
    different: tuple[Difference, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    provenance: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether both runs have the same complete cases, at least one, with the same bytes in every one."""
        return bool(self.same) and not (self.different or self.only_a or self.only_b)


def compare_runs(run_a: Run, run_b: Run) -> Reproduction:
    """Compares the complete cases of two runs; their order does not matter. Raises WorldwiseError."""
    a = {manifest.id: manifest for manifest in run_a.complete_cases()}
    b = {manifest.id: manifest for manifest in run_b.complete_cases()}
    both = [case_id for case_id in a if case_id in b]
    found = {case_id: compare_case(run_a, run_b, case_id) for case_id in both}
    provenance = []
    for name in ("worldwise", "git", "lab"):
        provenance += _provenance(name, getattr(run_a.manifest, name), getattr(run_b.manifest, name))
    for name in sorted(run_a.manifest.packages.keys() | run_b.manifest.packages.keys()):
        provenance += _provenance(
            f"package {name}", run_a.manifest.packages.get(name, ""), run_b.manifest.packages.get(name, "")
        )
    for case_id in both:
        for name in sorted(a[case_id].images.keys() | b[case_id].images.keys()):
            provenance += _provenance(
                f"{case_id}: image {name}", a[case_id].images.get(name, ""), b[case_id].images.get(name, "")
            )
    return Reproduction(
        run_a=run_a.id,
        run_b=run_b.id,
        same=tuple(case_id for case_id in both if found[case_id] is None),
        different=tuple(difference for difference in found.values() if difference),
        only_a=tuple(case_id for case_id in a if case_id not in b),
        only_b=tuple(case_id for case_id in b if case_id not in a),
        provenance=tuple(provenance),
    )


def first_difference(run_a: Run, run_b: Run) -> Difference | None:
    """The first case, in the order of `run_a`, whose records differ; None if they are the same byte for byte.

    Raises WorldwiseError if the runs do not have the same complete cases: a case is verified only if it was
    measured twice.
    """
    comparison = compare_runs(run_a, run_b)
    for run, other, missing in ((run_a, run_b, comparison.only_a), (run_b, run_a, comparison.only_b)):
        if missing:
            raise WorldwiseError(f"run {other.id} lacks case {missing[0]}, which run {run.id} has.")
    if not comparison.same and not comparison.different:
        raise WorldwiseError(f"runs {run_a.id} and {run_b.id} have no complete case to compare.")
    return comparison.different[0] if comparison.different else None


def compare_case(run_a: Run, run_b: Run, case_id: str) -> Difference | None:
    """Where the records of one case first differ; None if they are the same. Raises WorldwiseError."""
    return compare_cases(run_a, case_id, run_b, case_id)


def compare_cases(run_a: Run, case_a: str, run_b: Run, case_b: str) -> Difference | None:
    """Where the records of two cases first differ; None if they are the same.

    Raises WorldwiseError, also if a run's records have changed since they were made.
    """
    return _difference(
        case_a,
        (run_a.case_file(case_a), str(run_a.records_path(case_a))),
        (run_b.case_file(case_b), str(run_b.records_path(case_b))),
    )


def compare_records(case_id: str, path_a: Path, path_b: Path) -> Difference | None:
    """Where two record files of one case first differ; None if they are the same. Raises WorldwiseError."""
    return _difference(case_id, (read_content(path_a), str(path_a)), (read_content(path_b), str(path_b)))


def _difference(case_id: str, a: tuple[bytes, str], b: tuple[bytes, str]) -> Difference | None:
    (data_a, file_a), (data_b, file_b) = a, b
    if data_a == data_b:
        return None
    lines_a, lines_b = data_a.split(b"\n"), data_b.split(b"\n")
    pairs = enumerate(zip_longest(lines_a, lines_b, fillvalue=b""), 1)
    number, line_a, line_b = next((n, a, b) for n, (a, b) in pairs if a != b)
    return Difference(
        case_id,
        number,
        files.quoted(line_a, 500),
        files.quoted(line_b, 500),
        _first_sample(_samples(lines_a, file_a), _samples(lines_b, file_b)),
    )


_Key = tuple[str, str, int]


def _first_sample(a: dict[_Key, tuple[int, Sample]], b: dict[_Key, tuple[int, Sample]]) -> SampleDifference | None:
    for key in dict.fromkeys([*a, *b]):
        in_a, in_b = a.get(key), b.get(key)
        sample_a, sample_b = in_a[1] if in_a else None, in_b[1] if in_b else None
        if sample_a != sample_b:
            line = in_a[0] if in_a else in_b[0] if in_b else 0
            return SampleDifference(*key, line, sample_a, sample_b)
    return None


def _samples(lines: list[bytes], file: str) -> dict[_Key, tuple[int, Sample]]:
    samples: dict[_Key, tuple[int, Sample]] = {}
    for number, line in enumerate(lines, 1):
        if line:
            record = parse_line(line, file, number)
            if isinstance(record, Sample):
                samples[record.measure, record.place, record.index] = number, record
    return samples


def _provenance(name: str, a: str, b: str) -> list[str]:
    return [f"{name}: {a or 'none'} / {b or 'none'}"] if a != b else []


def _describe(sample: Sample | None) -> str:
    if sample is None:
        return "no such sample"
    return f"{sample.count:,} instructions (begin {sample.begin}, end {sample.end})"
