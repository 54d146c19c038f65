# SPDX-License-Identifier: BSD-2-Clause
"""Judging: what silicon took for a case, beside its exact count of instructions and what models of cores predict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from worldwise.base.errors import WorldwiseError
from worldwise.base.units import CYCLES
from worldwise.libraries.boards import boards, core_name, load_core, table_of
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board
from worldwise.plan.spec import TEE_TARGETS
from worldwise.predict import cores as known
from worldwise.predict.bounds import Estimate, estimate, middle
from worldwise.predict.domains import Domain, by_of, code_of
from worldwise.predict.errors import ErrorLines
from worldwise.read.models import Reading, Row
from worldwise.records.model_predictions import PredictedCase, PredictedSample
from worldwise.records.models import Sample
from worldwise.report.predictions import predicted_case
from worldwise.run.folder.rundir import Run

Counts = Mapping[tuple[str, str], Sequence[Sample]]


@dataclass(frozen=True)
class Emulated:
    """A case as it ran on the emulated machine: its counts, and what each core's model said.

    Attributes:
        samples: measure and place -> the calls, in order.
        predicted: core's name -> the model's cycles.
    """

    samples: Counts
    predicted: Callable[[str], PredictedCase]


# Runs a case on the emulated machine with tables of cores, by their names.
Emulate = Callable[[Case, Mapping[str, str]], Emulated]


@dataclass(frozen=True)
class JudgedMeasure:
    """A measure of a case: cycles of silicon, instructions, and a prediction. All are of the samples, in their middle.

    Attributes:
        row: the run's, in cycles.
        instructions: the median of the same samples on the emulated machine.
        own: the same by the processor's own counter of instructions; None where nothing counts them.
        agrees: whether that counted as many as the emulator, in every sample; None likewise.
        estimate: the prediction.
    """

    case: Case
    row: Row
    instructions: float
    own: float | None
    agrees: bool | None
    estimate: Estimate

    @property
    def error(self) -> float:
        """How far the prediction is off, in per cent of the measured cycles; below 0 where the model is too fast."""
        return error_of(self.estimate.cycles, self.row.median)

    @property
    def per_cycle(self) -> float:
        """Instructions that silicon finished in a cycle."""
        return self.instructions / self.row.median


def error_of(predicted: float, measured: float) -> float:
    """The error of a prediction in per cent of what was measured."""
    return 100 * (predicted - measured) / measured


def require_judge(run: Run, reading: Reading) -> None:
    """Refuse a run that can judge no prediction of cycles. Raises WorldwiseError."""
    units = sorted({run.manifest.unit, *(row.counts.unit for row in reading.rows)})
    if units != [CYCLES]:
        raise WorldwiseError(
            f"run {run.id} has {' and '.join(units)}; cycles of silicon alone can judge predicted cycles",
            "measure a board: worldwise run mcu --target BOARD --via gdb://HOST:PORT",
        )
    if not reading.rows:
        raise WorldwiseError(f"run {run.id} has no complete case", f"worldwise run --resume {run.id} --via ...")
    targets = {row.target for row in reading.rows}
    if len(targets) != 1:
        raise WorldwiseError(f"run {run.id} is of several machines: {', '.join(sorted(targets))}")
    if targets & TEE_TARGETS.keys():
        raise WorldwiseError(
            f"run {run.id} is of a host with an OP-TEE of its own, and the emulated machine has another one",
            "measure a library in Linux there: worldwise run linux-armv8 --via ssh://USER@HOST",
        )


def core_of(run: Run, target: str, name: str | None) -> str:
    """The core that predicts a run: the board's own, or the one that is named. Raises WorldwiseError."""
    name = core_name(name) if name else name
    if not is_board(target):
        if not name:
            raise WorldwiseError(
                f"run {run.id} is of {target}, and nothing says which core it was", "name it: --core cortex-a72"
            )
        return name
    own = boards()[target].core
    name = name or own
    core, expected = load_core(name), load_core(own)
    if core.part != expected.part:
        raise WorldwiseError(
            f"run {run.id} is of {target}, whose core is a {expected.title}, not a {core.title}",
            f"leave out --core, or name {own} or a core that was fitted from it",
        )
    fitted_on = core.calibration.board if core.calibration else target
    if fitted_on != target:
        raise WorldwiseError(f"core {name} was fitted on {fitted_on}, and run {run.id} is of {target}")
    return name


def clock_of(run: Run) -> str:
    """The name of the clock that a run's board was set to; empty for what its reset leaves."""
    return run.manifest.chip_clock.name if run.manifest.chip_clock else ""


def wait_states(run: Run, target: str, core: str) -> int:
    """Of the flash in a run of a board: what a core was fitted with at that clock, else what the board's file says.

    As its reset leaves it no board here waits.
    """
    clock, calibration = clock_of(run), load_core(core).calibration
    if calibration and calibration.clock == clock:
        return calibration.flash_wait_states
    known_clock = boards()[target].clocks.get(clock)
    return known_clock.flash_wait_states if known_clock else 0


def beside(run: Run, reading: Reading, core: str, emulate: Emulate, errors: ErrorLines) -> list[JudgedMeasure]:
    """Every row of a run with its count and its prediction.

    A Linux host ran another program than the emulated machine here: its count is that of the run, which has both.
    Raises WorldwiseError as running a case does, and if the core has no model.
    """
    hosted = {(one.case, one.measure): one for one in reading.hosted}
    found = []
    for case, rows in cases_of(reading):
        waits = wait_states(run, case.target, core) if is_board(case.target) else 0
        table = table_of(core, case.target, waits) if is_board(case.target) else table_of(core)
        known.check(case, {core: table})
        emulated = emulate(case, {core: table})
        predicted = emulated.predicted(core)
        for row in rows:
            samples = warm_samples(predicted, row)
            sample = middle(samples)
            domain = Domain(code_of(sample), bool(waits) if is_board(case.target) else None, by_of(case.id))
            one = estimate(sample, core, "warm", errors, len(samples), domain)
            host = hosted.get((row.case, row.measure))
            if host and host.emulated is not None:
                found.append(JudgedMeasure(case, row, host.emulated, host.instructions, host.differing == 0, one))
            else:
                found.append(JudgedMeasure(case, row, counts_of(emulated, row), None, None, one))
    return found


def cases_of(reading: Reading) -> list[tuple[Case, list[Row]]]:
    """The cases of a reading with their rows, in its order."""
    found: dict[str, tuple[Case, list[Row]]] = {}
    for row in reading.rows:
        found.setdefault(row.case, (predicted_case(row), []))[1].append(row)
    return list(found.values())


def counts_of(emulated: Emulated, row: Row) -> float:
    """The median of a row's samples, in instructions. Raises WorldwiseError if the emulated machine has no such."""
    samples = [one.count for one in emulated.samples.get((row.measure, row.place), ()) if one.phase == "sample"]
    if not samples:
        raise WorldwiseError(f"{row.case}: the emulated machine has no samples of {row.measure} at {row.place}")
    return float(median(samples))


def warm_samples(predicted: PredictedCase, row: Row) -> list[PredictedSample]:
    """The predicted samples of a row. Raises WorldwiseError if the model has none."""
    samples = [
        one for one in predicted.samples if (one.measure, one.place, one.phase) == (row.measure, row.place, "sample")
    ]
    if not samples:
        raise WorldwiseError(f"{row.case}: there is no prediction of {row.measure} at {row.place}")
    return samples
