# SPDX-License-Identifier: BSD-2-Clause
"""What the counts around a library's clock include, and the values of the clocks; published figures beside them."""

from collections.abc import Iterable
from statistics import median

from worldwise.families.hardclock.evidence import Clocks
from worldwise.libraries.portable import HARDCLOCK
from worldwise.read.family_fields import Part, Result
from worldwise.read.published import PublishedSource
from worldwise.read.readings import Readings, Seen, on_curves
from worldwise.records.models import Sample
from worldwise.records.parse import parse_records
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run


class ClockReading(Result):
    """The clocks' values around an operation that was counted too: medians over the n samples after the warm-up.

    `hardclock` is the result of mbedtls_timing_hardclock(), in a unit that the table finds out; `gettimeofday` is in
    microseconds, `monotonic` in nanoseconds, both of virtual time. `calls` is how often mbedtls_timing_hardclock()
    called gettimeofday() between the two readings of a sample, the most of all samples.
    """

    case: str
    target: str
    core: str
    variant: str
    measure: str
    n: int
    instructions: float
    hardclock: float
    gettimeofday: float
    monotonic: float
    calls: int


class ClocksSaid(Part):
    """The clocks' values in every case that reads them."""

    clocks: tuple[ClockReading, ...] = ()


def _clocks(seen: Seen) -> ClocksSaid:
    return ClocksSaid(clocks=tuple(said for manifest in seen.done for said in _clock_readings(seen.run, manifest)))


def _clock_readings(run: Run, manifest: CaseManifest) -> Iterable[ClockReading]:
    case = manifest.case()
    if case.operation != HARDCLOCK:
        return
    records = parse_records(run.case_file(case.id), str(run.records_path(case.id)))
    for measure in case.measures:
        samples = {
            record.index: record
            for record in records
            if isinstance(record, Sample) and record.measure == measure and record.phase == "sample"
        }
        clocks = [
            record
            for record in records
            if isinstance(record, Clocks) and record.measure == measure and record.index in samples
        ]
        yield ClockReading(
            case=case.id,
            target=case.target,
            core=case.core,
            variant=case.variant,
            measure=measure,
            n=len(clocks),
            instructions=median(sample.count for sample in samples.values()),
            hardclock=median(record.hardclock for record in clocks),
            gettimeofday=median(record.gettimeofday for record in clocks),
            monotonic=median(record.monotonic for record in clocks),
            calls=max(record.calls for record in clocks),
        )


_PUBLISHED = PublishedSource(
    name="mbedtls-armv7-a9",
    reason=(
        "Why they differ: the published figures are microseconds of a host's clock while QEMU emulated the machine "
        "without icount: they contain the host's speed and its other work, and say nothing about a core. Ours "
        "are instructions. The source states neither the optimisation level, nor the compiler's version, nor the host."
    ),
    has_tables=True,
)

READINGS = Readings(
    of_reading=ClocksSaid,
    includes={
        **on_curves(("sign",), ("linux",)),
        ("loop", "linux"): "a loop of one million turns of two instructions, in a Linux process",
    },
    whole=_clocks,
    published=_PUBLISHED,
)
