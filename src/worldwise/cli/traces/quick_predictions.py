# SPDX-License-Identifier: BSD-2-Clause
"""A few rows of a run in predicted time, for its first screen: two to four calls of each case run through a model.

session = Session(load_rules(), fresh=False, notes=notes)
rows = [("optee/mbedtls-nist-O2/attestdiv", measure, "client") for measure in ("sign", "verify")]
found = quick(session, run, rows, "cortex-a72", Fraction(1_500_000_000))
words = [f"{one.case} {one.measure}: {one.text}, by {one.by}" for one in found]
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from fractions import Fraction

from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces.plugin_runs import Session, outermost
from worldwise.plan.case import Case
from worldwise.predict import cores as known
from worldwise.predict.bounds import Estimate, estimates
from worldwise.predict.errors import load_errors
from worldwise.predict.verdict import time_text
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.model_predictions import PredictedCase
from worldwise.records.parse import read_records
from worldwise.run.folder.rundir import Run

# Warm calls of a case, of which the median is taken: as many as `worldwise predict CASE` runs by default, and fewer
# where all calls together have more instructions than this. A call of a few hundred thousand is not warm the second
# time, one of millions is to 2 %.
SAMPLES, MOST_INSTRUCTIONS = 3, 50_000_000
# The calls are those of the run but for the number of samples in the program's arguments, which moves its counts
# by some tens of instructions. More than this part of a count is another call.
_SAME = 0.01
# Reading the counter, which a count leaves out.
_FEW = 100


@dataclass(frozen=True)
class Predicted:
    """A row of a run in predicted cycles.

    Attributes:
        case, measure, place: the row.
        clock: in Hz, what times are at.
        warm: the median of the warm calls.
        first: of the first call, with empty caches.
        seconds: what predicting its case took, with all its measures; next to nothing if it is kept.
    """

    case: str
    measure: str
    place: str
    clock: Fraction
    warm: Estimate
    first: Estimate
    seconds: float

    @property
    def cycles(self) -> int:
        """Of a warm call; hardware takes from `low` to `high`."""
        return self.warm.cycles

    @property
    def low(self) -> int:
        """In cycles."""
        return self.warm.whole.low

    @property
    def high(self) -> int:
        """In cycles."""
        return self.warm.whole.high

    @property
    def by(self) -> str:
        """What the interval is made of: `error line`, `rules`, or `error line and rules`."""
        if not self.warm.inside:
            return "rules"
        return "error line" if self.warm.inside == self.warm.cycles else "error line and rules"

    @property
    def command(self) -> str:
        """What a user types to have the same cycles with all that is known of them."""
        return f"worldwise predict {self.case} --core {self.warm.core} --samples {self.warm.samples}"

    @property
    def text(self) -> str:
        """`1.46 ms (1.28 to 2.72 ms)`, of a warm call."""
        typical, low, high = (time_text(one, self.clock) for one in (self.cycles, self.low, self.high))
        number, _, unit = low.partition(" ")
        return f"{typical} ({number if unit == high.partition(' ')[2] else low} to {high})"


def quick(
    session: Session,
    run: Run,
    rows: Sequence[tuple[str, str, str]],
    core: str,
    clock: Fraction,
    jobs: int = 2,
) -> list[Predicted]:
    """Predict rows of a finished run on a core: a first call of each case and one to three warm ones, sampled.

    Args:
        session: its machines; all are ended if this function is left by an error.
        run: whose rows they are; its counts must be those of the calls that are predicted.
        rows: case's id, measure and place of each; some 4 to 6 of them, since a case takes seconds.
        core: its name, such as `cortex-a72`.
        clock: in Hz.
        jobs: cases at a time.

    Gives the rows in the order of `rows`, without those of cases that the core does not run.
    What is kept of an earlier call is taken, in tenths of a second. Raises WorldwiseError if the run has no such case
    or measure, if its counts are of other calls, and as running a case does.
    """
    by_id = {one.case().id: one.case() for one in run.complete_cases()}
    missing = [case for case, _, _ in rows if case not in by_id]
    if missing:
        raise WorldwiseError(f"run {run.id} has no complete case '{missing[0]}'", f"it has: {', '.join(by_id)}")
    for case, measure, place in rows:
        if place not in by_id[case].measures.get(measure, ()):
            raise WorldwiseError(f"{case} has no measure {measure} at {place}")
    tables = known.tables([core])
    cases = [by_id[case] for case in dict.fromkeys(case for case, _, _ in rows)]
    cases = [case for case in cases if core in known.cores_of(case, tables)]
    if not cases:
        return []
    session.prepare(cases)

    ended = _ended(session, run, {case: known.cores_of(case, tables) for case in cases}, jobs)
    errors = load_errors()
    made = {
        (case.id, each.sample.measure, each.sample.place, each.state): (each, seconds)
        for case, (found, seconds) in ended.items()
        for each in estimates(found[core], core, errors)
    }
    return [
        Predicted(*row, clock, made[*row, "warm"][0], made[*row, "first"][0], made[*row, "warm"][1])
        for row in rows
        if (*row, "warm") in made
    ]


_Found = tuple[Mapping[str, PredictedCase], float]


def _ended(session: Session, run: Run, cases: Mapping[Case, Mapping[str, str]], jobs: int) -> dict[Case, _Found]:
    """What the models say of each case, and the seconds that it took."""

    def predicted(case: Case, cores: Mapping[str, str]) -> _Found:
        began = time.monotonic()
        run.case_file(case.id)
        path = run.records_path(case.id)
        records = check_records(read_records(path), case, str(path))
        found = session.predicted(_short(case, records), None, cores)
        for one in found.values():
            _require_same(run, records, one)
        return found, time.monotonic() - began

    with ThreadPoolExecutor(jobs, "predict") as pool:
        futures: dict[Case, Future[_Found]] = {}
        try:
            futures = {case: pool.submit(predicted, case, cores) for case, cores in cases.items()}
            wait(futures.values(), return_when=FIRST_EXCEPTION)
            return {case: future.result() for case, future in futures.items()}
        except BaseException:
            session.stop()
            pool.shutdown(cancel_futures=True)
            raise


def _short(case: Case, records: CheckedRecords) -> Case:
    """A case with as few calls as its row is predicted from."""
    call = sum(records.samples[measure, outermost(places)][0].count for measure, places in case.measures.items())
    return replace(case, samples=min(max(MOST_INSTRUCTIONS // call - 1, 1), SAMPLES), warmup=0)


def _require_same(run: Run, records: CheckedRecords, found: PredictedCase) -> None:
    """Raise WorldwiseError unless the calls that were predicted are those of the run."""
    for one in found.samples:
        series = records.samples[one.measure, one.place]
        if one.index >= len(series):
            continue
        count = series[one.index].count
        if abs(one.instructions - count) > max(_SAME * count, _FEW):
            raise WorldwiseError(
                f"{found.case}: {one.measure} at {one.place} takes {one.instructions:,} instructions as it is "
                f"predicted, and call {one.index} of run {run.id} took {count:,}",
                "the run is of other images: measure again, or predict the case with `worldwise predict`",
            )
