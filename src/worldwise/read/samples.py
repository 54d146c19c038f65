# SPDX-License-Identifier: BSD-2-Clause
"""The single samples of a run, in the shape of its rows."""

from collections.abc import Mapping, Sequence

from worldwise.read.readings import readings_of
from worldwise.records.models import Sample
from worldwise.records.parse import parse_records
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run

# (case, measure, place) -> its samples in the order of the calls, the first and the warm-up ones included.
Samples = Mapping[tuple[str, str, str], Sequence[Sample]]


def samples_of(run: Run) -> Samples:
    """The samples behind each row of a reading, those that families sum up included.

    `read_run` has checked the records; nothing is checked again here.
    """
    return {
        (manifest.id, measure, place): series
        for manifest in run.complete_cases()
        for (measure, place), series in _of_case(run, manifest).items()
    }


def _of_case(run: Run, manifest: CaseManifest) -> dict[tuple[str, str], Sequence[Sample]]:
    found: dict[tuple[str, str], list[Sample]] = {}
    for record in parse_records(run.case_file(manifest.id), str(run.records_path(manifest.id))):
        if isinstance(record, Sample):
            found.setdefault((record.measure, record.place), []).append(record)
    ordered = {key: tuple(sorted(series, key=lambda one: one.index)) for key, series in found.items()}
    case = manifest.case()
    return {**ordered, **dict(readings_of(case).sums(case, ordered))}
