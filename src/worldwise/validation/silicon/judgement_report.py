# SPDX-License-Identifier: BSD-2-Clause
"""What silicon says of the emulator and of a core's model, and what a fit gave: tables, CSV and JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from worldwise.base.output.safe_text import csv_text, json_text
from worldwise.base.tables import Section, Table, count
from worldwise.predict.rules import LEAST_CYCLES
from worldwise.report.predictions import error_notes
from worldwise.run.folder.rundir import Run
from worldwise.validation.figures import Figures
from worldwise.validation.silicon.calibration import SPLIT, CoreFit
from worldwise.validation.silicon.judgement import JudgedMeasure

FORMAT = 1
_MEASURED = (
    "measured: the median of the chip's cycles, without what measuring costs. count: the same samples on the emulated "
    "machine, exact. predicted: a model of the core that ran through the same trace; some tens of its cycles are what "
    "measuring costs. off: predicted against measured, below 0 where the model is too fast. error: the core's median "
    "error against published figures of other hardware, to which nothing was fitted."
)
_SPREAD = "spread: how far apart the shortest and the longest of the chip's samples are, in per cent of the median."


def judged_section(run: Run, lines: Sequence[JudgedMeasure]) -> Section:
    """Every measure of a run: cycles, instructions and prediction beside each other."""
    counted = any(line.own is not None for line in lines)
    headers = ["case", "measure", "n", "measured\ncycles", "spread\n%", "count\ninstr"]
    headers += ["own count\ninstr"] if counted else []
    headers += ["instr /\ncycle", "predicted\ncycles", "error\n± %", "off\n%"]
    cells = [
        [
            line.case.id,
            line.row.measure,
            str(line.row.counts.n),
            count(line.row.median),
            f"{100 * (line.row.counts.max - line.row.counts.min) / line.row.median:.1f}",
            count(line.instructions),
            *(["-" if line.own is None else count(line.own)] if counted else []),
            f"{line.per_cycle:.2f}",
            count(line.estimate.cycles),
            f"{line.estimate.line.median:g}" if line.estimate.line else "-",
            f"{line.error:+.1f}",
        ]
        for line in lines
    ]
    title = f"{run.manifest.title} (run {run.id}): silicon, emulator and model"
    notes = [_summary(lines), _MEASURED, _SPREAD, emulator_note(lines), *error_notes(line.estimate for line in lines)]
    return Section(title, Table(headers, cells, 2), notes, "judged")


def _summary(lines: Sequence[JudgedMeasure]) -> str:
    errors = [line.error for line in lines]
    sizes = [abs(error) for error in errors]
    return (
        f"The prediction is off by {fmean(sizes):.1f} % in the mean, {max(sizes):.1f} % at worst, "
        f"and {fmean(errors):+.1f} % with the sign: {len(lines)} measures."
    )


def emulator_note(lines: Iterable[JudgedMeasure]) -> str:
    """Whether the chip's own counter of instructions agrees with the emulator."""
    known = [line for line in lines if line.agrees is not None]
    if not known:
        return (
            "own count: this processor has no counter of instructions, so the emulator's counts were not checked by it."
        )
    wrong = [f"{line.case.id} {line.row.measure}" for line in known if not line.agrees]
    names = ", ".join(wrong)
    if not wrong:
        return (
            f"own count: the processor's counter of instructions agrees with the emulator in all {len(known)} measures."
        )
    return f"own count: THE EMULATOR IS WRONG, or the program another one, in {len(wrong)} of {len(known)}: {names}."


def judged_data(lines: Iterable[JudgedMeasure]) -> list[dict[str, Any]]:
    """The same as data."""
    return [
        {
            "case": line.case.id,
            "measure": line.row.measure,
            "place": line.row.place,
            "n": line.row.counts.n,
            "measured_cycles": line.row.median,
            "least_cycles": line.row.counts.min,
            "most_cycles": line.row.counts.max,
            "instructions": line.instructions,
            "own_instructions": line.own,
            "emulator_agrees": line.agrees,
            "core": line.estimate.core,
            "predicted_cycles": line.estimate.cycles,
            "from_cycles": line.estimate.whole.low,
            "to_cycles": line.estimate.whole.high,
            "core_error": line.estimate.error,
            "off_percent": line.error,
        }
        for line in lines
    ]


def judged_json(run: Run, lines: Sequence[JudgedMeasure]) -> str:
    """The table as JSON."""
    document = {"format": FORMAT, "run": run.id, "title": run.manifest.title, "judged": judged_data(lines)}
    return json_text(json.dumps(document, indent=2)) + "\n"


def judged_csv(lines: Sequence[JudgedMeasure]) -> str:
    """A line for each measure, units in the headers."""
    data = judged_data(lines)
    return csv_text([[*data[0]], *([*one.values()] for one in data)])


def fit_sections(run: Run, fit: CoreFit) -> list[Section]:
    """What a fit gave: its numbers, and every case before and after."""
    numbers = [
        [name, str(value), str(fit.after[name]), "not determined" if name in fit.undetermined else ""]
        for name, value in fit.before.items()
    ]
    notes = [f"{fit.tried} combinations were tried; the one with the least mean error on the fitted half is taken."]
    if fit.undetermined:
        notes.append("not determined: another value gives the same error; the one that changes least is taken.")
    found = [
        Section(
            f"{fit.core} on {fit.board}: fitted to run {run.id}",
            Table(["number", "before", "after", ""], numbers, 1, (3,)),
            notes,
            "fit",
        )
    ]
    cells = [
        [
            one.row.case,
            one.row.measure,
            "held out" if one.held_out else "fitted on",
            count(one.row.median),
            count(one.before),
            f"{one.error_before:+.1f}",
            count(one.after),
            f"{one.error_after:+.1f}",
        ]
        for one in sorted(fit.rows, key=lambda one: one.held_out)
    ]
    headers = ["case", "measure", "half", "measured\ncycles", "before\ncycles", "off\n%", "after\ncycles", "off\n%"]
    found.append(Section("Every case before and after", Table(headers, cells, 3), _fit_notes(fit), "fit-cases"))
    return found


def _fit_notes(fit: CoreFit) -> list[str]:
    notes = []
    for name, held_out in (("fitted on", False), ("held out", True)):
        errors = fit.errors(held_out)
        notes.append(
            f"{name}: {errors.mean_before:.1f} % in the mean before and {errors.mean_after:.1f} % after; "
            f"{errors.worst_before:.1f} % at worst before and {errors.worst_after:.1f} % after."
        )
    notes.append(f"The halves: {SPLIT}.")
    if fit.short:
        names = ", ".join(f"{row.case} {row.measure}" for row in fit.short)
        notes.append(f"Left out, since they take fewer than {LEAST_CYCLES:,} cycles: {names}.")
    return notes


def fit_json(run: Run, fit: CoreFit) -> str:
    """A fit as JSON."""
    rows = [
        {
            "case": one.row.case,
            "measure": one.row.measure,
            "held_out": one.held_out,
            "measured_cycles": one.row.median,
            "before_cycles": one.before,
            "after_cycles": one.after,
            "off_before_percent": one.error_before,
            "off_after_percent": one.error_after,
        }
        for one in fit.rows
    ]
    document = {
        "format": FORMAT,
        "run": run.id,
        "core": fit.core,
        "board": fit.board,
        "before": dict(fit.before),
        "after": dict(fit.after),
        "undetermined": list(fit.undetermined),
        "tried": fit.tried,
        "split": SPLIT,
        "errors_fitted": fit.errors(held_out=False).model_dump(),
        "errors_held_out": fit.errors(held_out=True).model_dump(),
        "rows": rows,
    }
    return json_text(json.dumps(document, indent=2)) + "\n"


def hardware_section(files: Mapping[str, Figures]) -> Section:
    """Every source of hardware figures, published or contributed, a line each."""
    cells = []
    for name, found in files.items():
        for source in found.source:
            own = [one for one in found.figure if one.source == source.id]
            cells.append(
                [
                    name,
                    source.id,
                    ", ".join(sorted({one.core.removeprefix("cortex-") for one in own})),
                    _one_or_number({one.board for one in own if one.board}),
                    found.measured.silicon if found.measured else "-",
                    ", ".join(sorted({one.unit for one in own})),
                    str(len(own)),
                ]
            )
    headers = ["file", "source", "core", "board", "silicon", "unit", "figures"]
    table = Table(headers, cells, 6)
    if all(found.measured is None for found in files.values()):
        table = table.without([headers.index("silicon")])
    notes = ["validation: these only judge. calibration: numbers may be fitted to these. Others: contributed runs."]
    return Section("Figures of hardware by others", table, notes, "hardware")


def _one_or_number(names: set[str]) -> str:
    return "-" if not names else names.pop() if len(names) == 1 else f"{len(names)} boards"
