# SPDX-License-Identifier: BSD-2-Clause
"""A Linux host's cases: what disturbed their calls, and its own count of instructions beside QEMU's."""

from collections.abc import Mapping
from statistics import median

from worldwise.base.units import CYCLES
from worldwise.read.models import HostCase
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.models import Conditions
from worldwise.records.parse import parse_records
from worldwise.run.folder.manifests import EMULATED_FILE, CaseManifest
from worldwise.run.folder.rundir import Run

_OF_CALL = Mapping[tuple[str, int], Conditions]


def host_cases(run: Run, manifest: CaseManifest, checked: CheckedRecords) -> list[HostCase]:
    """A case's measures; none elsewhere. Raises WorldwiseError for an emulated machine's records that do not add up."""
    emulated: _OF_CALL = {}
    if EMULATED_FILE in (manifest.files or {}):
        path = run.case_directory(manifest.id) / EMULATED_FILE
        records = parse_records(run.case_file(manifest.id, EMULATED_FILE), str(path))
        emulated = check_records(records, manifest.case(), str(path), unit=CYCLES).conditions
    return [
        _measure(manifest.id, measure, checked, emulated)
        for measure in dict.fromkeys(measure for measure, _ in checked.conditions)
    ]


def _measure(case_id: str, measure: str, checked: CheckedRecords, emulated: _OF_CALL) -> HostCase:
    found = {index: one for (name, index), one in checked.conditions.items() if name == measure}
    # The statistics' calls: the same as those of the counts.
    sampled = [
        sample.index
        for (name, _), series in checked.samples.items()
        if name == measure
        for sample in series
        if sample.phase == "sample"
    ]
    pairs = [(found[index].counted, emulated.get((measure, index))) for index in sampled]
    own = [one for one, _ in pairs if one is not None]
    others = [other.counted for _, other in pairs if other and other.counted is not None]
    compared = len(own) == len(others) == len(pairs)
    return HostCase(
        case=case_id,
        measure=measure,
        calls=len(found),
        switched=sum(one.switches > 0 for one in found.values()),
        migrated=sum(one.migrations > 0 for one in found.values()),
        clocked=sum(one.khz_begin != one.khz_end for one in found.values()),
        instructions=float(median(own)) if own else None,
        emulated=float(median(others)) if compared else None,
        differing=sum(one != other for one, other in zip(own, others, strict=True)) if compared else None,
    )
