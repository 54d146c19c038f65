# SPDX-License-Identifier: BSD-2-Clause
"""Packing a run on silicon as one file for measured/hardware: samples and versions, and nothing of its user."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.literals import toml_line
from worldwise.libraries.boards import boards
from worldwise.plan.catalogue import is_board
from worldwise.read.models import Reading, Row
from worldwise.read.run_counts import checked_records
from worldwise.records.models import Sample
from worldwise.run.folder.rundir import Run
from worldwise.validation.figures import Figure, Measured, Source
from worldwise.validation.silicon.judgement import core_of, require_judge

# What names of the lab's packages have that compile a board's programs, or a host's.
_OF_BOARDS = "arm-none-eabi"
_OF_HOSTS = ("gcc-aarch64", "gcc-arm-linux", "gcc-14-aarch64", "gcc-14-arm-linux")


def packed(run: Run, reading: Reading, silicon: str, firmware: str, core: str | None, note: str) -> str:
    """The text of the file. Raises WorldwiseError if the run counts no cycles of silicon."""
    require_judge(run, reading)
    if "synthetic" in run.manifest.host:
        raise WorldwiseError(f"run {run.id} comes from a model, not from a chip, so it is not a figure of hardware")
    if run.manifest.own:
        raise WorldwiseError(
            f"run {run.id} measures a library of your own, which nobody else has", "measure without --implementation"
        )
    target = reading.rows[0].target
    name = core_of(run, target, core)
    counters, figures = set(), []
    for manifest in run.complete_cases():
        checked = checked_records(run, manifest)
        counters.add(str(checked.start.clock))
        for (measure, _), samples in checked.samples.items():
            row = next(one for one in reading.rows if (one.case, one.measure) == (manifest.id, measure))
            figures.append(_figure(run, name, row, samples))
    if len(counters) != 1:
        raise WorldwiseError(
            f"run {run.id} was counted by {' and '.join(sorted(counters))}, and a file has one counter"
        )
    measured = Measured(
        board=target,
        silicon=silicon,
        firmware=firmware,
        compiler=_compilers(run, target),
        counter=counters.pop(),
        run=run.id,
        started=run.manifest.started,
        worldwise=run.manifest.worldwise,
        revision=run.manifest.git,
    )
    source = Source(
        id=run.id,
        code=f"worldwise {run.manifest.worldwise}, suite {run.manifest.suite}",
        figures="samples of this file's own run, measured by `worldwise run --via`",
        compilers=", ".join(measured.compiler),
        conditions=f"{boards()[target].title if is_board(target) else target}, {_clock(run)}",
        note=note,
    )
    lines = ["# Cycles that somebody measured on a board, by `worldwise contribute`; docs/use/board.md.", ""]
    lines += ["[measured]", *_lines(measured), "", "[[source]]", *_lines(source)]
    for figure in figures:
        lines += ["", "[[figure]]", *_lines(figure)]
    return "\n".join(lines) + "\n"


def _clock(run: Run) -> str:
    if run.manifest.chip_clock:
        return f"at {run.manifest.chip_clock.words}"
    return "at the clock that it had" if run.manifest.via == "ssh" else "at the clock that its reset leaves"


def _compilers(run: Run, target: str) -> list[str]:
    found = [
        f"{name} {version}"
        for name, version in sorted(run.manifest.packages.items())
        if (_OF_BOARDS in name if is_board(target) else name.startswith(_OF_HOSTS))
    ]
    if not found:
        raise WorldwiseError(f"run {run.id} names no compiler among its packages")
    return found


def _figure(run: Run, core: str, row: Row, every: Sequence[Sample]) -> Figure:
    samples = [one.count for one in every if one.phase == "sample"]
    return Figure(
        source=run.id,
        core=core,
        what=" ".join(filter(None, (row.measure, row.variant, row.parameters))),
        value=median(samples),
        unit=row.counts.unit,
        quality="A",
        clock_mhz=run.manifest.chip_clock.hertz / 10**6 if run.manifest.chip_clock else None,
        board=row.board,
        case=row.case,
        measure=row.measure,
        first=row.counts.first,
        samples=samples,
    )


def _lines(model: Measured | Source | Figure) -> list[str]:
    """The keys of a table that say something, a line each."""
    values: dict[str, Any] = model.model_dump(exclude_defaults=True)
    return [toml_line(key, value) for key, value in values.items()]
