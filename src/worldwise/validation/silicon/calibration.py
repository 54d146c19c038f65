# SPDX-License-Identifier: BSD-2-Clause
"""Calibration: fits what a core's and a board's file declare fittable to cycles of silicon, and holds out half.

Every combination of whole numbers between the bounds is tried on the fitted half; there are few. The other half says
what the fit is worth. Nothing is fitted to published/hardware/validation.toml: no figure of it is a run.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from worldwise.base.errors import WorldwiseError
from worldwise.libraries.boards import boards, load_core
from worldwise.libraries.core_model import CoreModel, flat_table
from worldwise.libraries.fittable import Calibration, FitErrors
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board
from worldwise.predict.bounds import middle
from worldwise.predict.rules import LEAST_CYCLES
from worldwise.read.models import Reading, Row
from worldwise.run.folder.rundir import Run
from worldwise.run.traces.watch import MOST_CORES
from worldwise.validation.silicon.judgement import Emulate, cases_of, clock_of, error_of, wait_states, warm_samples

# The board's number among those of a core.
WAITS = "flash_wait_states"
SPLIT = "by the SHA-256 of their ids, in that order: the first, third, fifth ... are fitted on, the others held out"
# Of each half. A fit needs more cases than it has numbers, too.
LEAST_CASES = 3
# Combinations that are tried.
MOST_TRIES = 512
# Two mean errors closer than this, in per cent, are the same.
_SAME = 1e-9

# Number -> value.
Numbers = Mapping[str, int]


@dataclass(frozen=True)
class Checked:
    """A row before and after: its prediction by the core's file, and by the fitted numbers."""

    row: Row
    held_out: bool
    before: int
    after: int

    @property
    def error_before(self) -> float:
        """In per cent of the measured cycles, as `error_after`."""
        return error_of(self.before, self.row.median)

    @property
    def error_after(self) -> float:
        """See `error_before`."""
        return error_of(self.after, self.row.median)


@dataclass(frozen=True)
class CoreFit:
    """What came out.

    Attributes:
        core, board: of which.
        before, after: all fittable numbers.
        undetermined: those that keep their value since others give the same error.
        rows: every row that is long enough.
        short: rows that are left out, since they take fewer than LEAST_CYCLES.
        tried: how many combinations.
    """

    core: str
    board: str
    before: Numbers
    after: Numbers
    undetermined: tuple[str, ...]
    rows: Sequence[Checked]
    short: Sequence[Row]
    tried: int

    @property
    def changed(self) -> dict[str, int]:
        """The numbers that are others now."""
        return {name: value for name, value in self.after.items() if value != self.before[name]}

    def half(self, held_out: bool) -> list[Checked]:
        """The rows of a half."""
        return [one for one in self.rows if one.held_out == held_out]

    def errors(self, held_out: bool) -> FitErrors:
        """How far off a half is."""
        before = [abs(one.error_before) for one in self.half(held_out)]
        after = [abs(one.error_after) for one in self.half(held_out)]
        values = (fmean(before), fmean(after), max(before), max(after))
        return FitErrors(**dict(zip(FitErrors.model_fields, (round(value, 3) for value in values), strict=True)))

    def require_better(self) -> None:
        """Raises WorldwiseError if the fit changes nothing, or makes the half worse that it did not see."""
        if not self.changed:
            raise WorldwiseError(
                f"{self.core}: no value between the bounds is better than those of its file: nothing is written"
            )
        held_out = self.errors(held_out=True)
        if held_out.mean_after > held_out.mean_before:
            raise WorldwiseError(
                f"{self.core}: the fit makes the held-out cases worse, {held_out.mean_before:.1f} % before and "
                f"{held_out.mean_after:.1f} % after: nothing is written",
                "measure more cases, or of other kinds, or fit fewer numbers with --fit",
            )

    def calibration(self, run: Run) -> Calibration:
        """For the fitted core's file."""
        return Calibration(
            base=self.core,
            board=self.board,
            clock=clock_of(run),
            run=run.id,
            started=run.manifest.started,
            worldwise=run.manifest.worldwise,
            changed=self.changed,
            flash_wait_states=self.after.get(WAITS, wait_states(run, self.board, self.core)),
            undetermined=list(self.undetermined),
            split=SPLIT,
            fitted_on=list(dict.fromkeys(one.row.case for one in self.half(held_out=False))),
            held_out=list(dict.fromkeys(one.row.case for one in self.half(held_out=True))),
            errors_fitted=self.errors(held_out=False),
            errors_held_out=self.errors(held_out=True),
        )


def held_out(cases: Sequence[str]) -> set[str]:
    """Those of some cases that no number may see: see SPLIT. The order of the cases does not matter."""
    ordered = sorted(set(cases), key=lambda case: hashlib.sha256(case.encode()).hexdigest())
    return set(ordered[1::2])


def ranges_of(core: str, board: str, wanted: Sequence[str]) -> dict[str, range]:
    """What may be fitted of a core on a board, or what is wanted of it. Raises WorldwiseError."""
    model = load_core(core).model
    if not is_board(board) or not model:
        raise WorldwiseError(
            f"{core} on {board}: only a board's core can be fitted, one that has a [model]",
            "`worldwise judge` shows how far its predictions are off",
        )
    every = {name: one.values() for name, one in model.fittable.items()}
    fittable = boards()[board].fittable
    if fittable:
        every[WAITS] = fittable.flash_wait_states.values()
    for name in wanted:
        if name not in every:
            raise WorldwiseError(
                f"--fit {name}: neither cores/{core}.toml nor boards/{board}.toml declares it fittable",
                f"what they declare: {', '.join(every) or 'nothing'}",
            )
    if not every:
        raise WorldwiseError(f"neither cores/{core}.toml nor boards/{board}.toml declares anything fittable")
    found = {name: values for name, values in every.items() if not wanted or name in wanted}
    tries = math.prod(map(len, found.values()))
    if tries > MOST_TRIES:
        raise WorldwiseError(
            f"{core} on {board}: {tries:,} combinations of {', '.join(found)}, more than {MOST_TRIES}",
            "fit fewer at a time: --fit NAME",
        )
    return found


def fit(run: Run, reading: Reading, core: str, wanted: Sequence[str], emulate: Emulate) -> CoreFit:
    """Fit a core's numbers to a run's cycles. Raises WorldwiseError for what must not be fitted."""
    board = reading.rows[0].target
    ranges = ranges_of(core, board, wanted)
    short = [row for row in reading.rows if row.median < LEAST_CYCLES]
    cases = [(case, long) for case, rows in cases_of(reading) if (long := [row for row in rows if row not in short])]
    out = held_out([case.id for case, _ in cases])
    _require_enough(run, cases, out, ranges)
    model = load_core(core).model
    assert model
    waits = wait_states(run, board, core)
    before = {name: waits if name == WAITS else model.numbers[name].value for name in ranges}
    tables = {_name(core, numbers): _table(core, board, numbers, waits) for numbers in _every(ranges)}
    own = _name(core, before)
    tables.setdefault(own, _table(core, board, before, waits))
    fitted = [(case, rows) for case, rows in cases if case.id not in out]
    found = {
        (row.case, row.measure): cycles for case, rows in fitted for row, cycles in _run(case, rows, tables, emulate)
    }
    after, undetermined = _best(core, ranges, before, fitted, found)
    last = _name(core, after)
    for case, rows in cases:
        if case.id in out:
            some = {name: tables[name] for name in dict.fromkeys((own, last))}
            found |= {(row.case, row.measure): cycles for row, cycles in _run(case, rows, some, emulate)}
    checked = [
        Checked(row, case.id in out, found[row.case, row.measure][own], found[row.case, row.measure][last])
        for case, rows in cases
        for row in rows
    ]
    return CoreFit(core, board, before, after, undetermined, checked, short, len(tables))


def with_numbers(model: CoreModel, numbers: Numbers, source: str) -> CoreModel:
    """A core's model with other numbers."""
    changed = {
        name: model.numbers[name].model_copy(update={"value": value, "source": source})
        for name, value in numbers.items()
        if name != WAITS
    }
    return model.model_copy(update={"numbers": {**model.numbers, **changed}})


def _require_enough(
    run: Run, cases: Sequence[tuple[Case, list[Row]]], out: set[str], ranges: Mapping[str, range]
) -> None:
    least = max(LEAST_CASES, len(ranges) + 1)
    halves = (len(cases) - len(out), len(out))
    if min(halves) < least:
        raise WorldwiseError(
            f"run {run.id} has {len(cases)} cases of {LEAST_CYCLES:,} cycles or more: {halves[0]} to fit on and "
            f"{halves[1]} to hold out. {len(ranges)} numbers ({', '.join(ranges)}) need {least} of each",
            "measure more cases, or fit fewer numbers: --fit NAME",
        )


def _every(ranges: Mapping[str, range]) -> Iterator[dict[str, int]]:
    for values in itertools.product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))


def _name(core: str, numbers: Numbers) -> str:
    return "-".join([core, *(str(value) for value in numbers.values())])


def _table(core: str, board: str, numbers: Numbers, waits: int) -> str:
    model = load_core(core).model
    assert model
    changed = with_numbers(model, numbers, "fitted")
    return flat_table(_name(core, numbers), changed, boards()[board].memory, numbers.get(WAITS, waits))


def _run(
    case: Case, rows: Sequence[Row], tables: Mapping[str, str], emulate: Emulate
) -> Iterator[tuple[Row, dict[str, int]]]:
    """Each row with its cycles by table, of as many passes as the tables need."""
    cycles: dict[str, dict[str, int]] = {row.measure: {} for row in rows}
    every = list(tables)
    for begin in range(0, len(every), MOST_CORES):
        names = every[begin : begin + MOST_CORES]
        emulated = emulate(case, {name: tables[name] for name in names})
        for name in names:
            predicted = emulated.predicted(name)
            for row in rows:
                cycles[row.measure][name] = middle(warm_samples(predicted, row)).cycles
    for row in rows:
        yield row, cycles[row.measure]


def _best(
    core: str,
    ranges: Mapping[str, range],
    before: Numbers,
    cases: Sequence[tuple[Case, list[Row]]],
    found: Mapping[tuple[str, str], Mapping[str, int]],
) -> tuple[Numbers, tuple[str, ...]]:
    """The numbers of the least mean error, and those of them that could have another value at the same error.

    Of equals the one that changes least wins.
    """
    rows = [row for _, some in cases for row in some]

    def mean(numbers: Numbers) -> float:
        name = _name(core, numbers)
        return fmean(abs(error_of(found[row.case, row.measure][name], row.median)) for row in rows)

    def change(numbers: Numbers) -> int:
        return sum(abs(value - before[name]) for name, value in numbers.items())

    means = [(mean(numbers), numbers) for numbers in _every(ranges)]
    least = min(value for value, _ in means)
    equals = [numbers for value, numbers in means if value <= least + _SAME]
    best = min(equals, key=change)
    return best, tuple(name for name in ranges if len({one[name] for one in equals}) > 1)
