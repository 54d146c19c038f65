# SPDX-License-Identifier: BSD-2-Clause
"""What stands beside a case's records: other draws of its inputs, and its own path where interrupts are counted."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from worldwise.plan.case import Case
from worldwise.plan.inputs import OWN_PATH_FILE, others
from worldwise.read.models import Drawn, Interrupted
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.models import Sample
from worldwise.records.parse import parse_records
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run


def own_path(run: Run, manifest: CaseManifest) -> tuple[str, Case]:
    """The file with the records of a case's own path, and the case that they are of."""
    case = manifest.case()
    if case.as_shipped and OWN_PATH_FILE in (manifest.files or {}):
        return OWN_PATH_FILE, replace(case, as_shipped=False)
    return run.records_path(manifest.id).name, case


def drawn_rows(run: Run, manifest: CaseManifest, checked: CheckedRecords) -> Iterator[Drawn]:
    """A case's rows over all its draws; none if it has one. Raises WorldwiseError for records that do not add up."""
    found = [
        _checked(run, manifest, name, case)
        for name, case in others(manifest.case(), run.manifest.seeds)
        if name != OWN_PATH_FILE and name in (manifest.files or {})
    ]
    if not found:
        return
    for (measure, place), series in checked.samples.items():
        medians = [_median(one) for each in (checked, *found) if (one := each.samples.get((measure, place)))]
        yield Drawn(
            case=manifest.id,
            measure=measure,
            place=place,
            draws=len(medians),
            median=_median(series),
            least=min(medians),
            most=max(medians),
        )


def interrupted_rows(run: Run, manifest: CaseManifest, checked: CheckedRecords) -> Iterator[Interrupted]:
    """The rows of a case as it is shipped; none else. Raises WorldwiseError for records that do not add up."""
    name, case = own_path(run, manifest)
    if name != OWN_PATH_FILE:
        return
    quiet = _checked(run, manifest, name, case)
    for (measure, place), series in checked.samples.items():
        own = quiet.samples.get((measure, place))
        if not own:
            continue
        added = [one.count - other.count for one, other in zip(series, own, strict=True) if one.phase == "sample"]
        yield Interrupted(
            case=manifest.id,
            measure=measure,
            place=place,
            own_first=own[0].count,
            own=_median(own),
            added=float(median(added)),
            most=max(added),
        )


def _checked(run: Run, manifest: CaseManifest, name: str, case: Case) -> CheckedRecords:
    path = str(run.case_directory(manifest.id) / name)
    return check_records(parse_records(run.case_file(manifest.id, name), path), case, path, unit=run.manifest.unit)


def _median(series: "tuple[Sample, ...] | list[Sample]") -> float:
    return float(median(one.count for one in series if one.phase == "sample"))
