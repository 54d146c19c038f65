# SPDX-License-Identifier: BSD-2-Clause
"""Errors of predictions in numbers: by core and kind of code, over held-out figures, and of the ways to predict."""

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from worldwise.predict.domains import NOT_FLOAT, Domain, kinds_of
from worldwise.predict.errors import ALL, FITTED, rank, took
from worldwise.validation.blind_test.results import BlindFigures, changed, judging, kept_blind, of_today
from worldwise.validation.record import FigureRow, Run, error_of


@dataclass(frozen=True)
class FigureErrors:
    """Errors of some figures, in per cent: of their absolute values, and their mean with its sign.

    `p90` is the smallest error that at least 90 % of them do not exceed, `low` the number of those predicted too low.
    Hardware took between `lowest` and `highest` times what was predicted; between `least` and `most` times without
    those that an interval leaves out.
    """

    figures: int
    median: float
    p90: float
    worst: float
    bias: float
    least: float
    most: float
    lowest: float
    highest: float
    low: int


def errors(found: Iterable[tuple[float, float]]) -> FigureErrors:
    """The numbers of some figures: predicted and measured cycles of each, above 0; at least one."""
    figures = list(found)
    signed = [error_of(predicted, measured) for predicted, measured in figures]
    least, most = took(figures, rank(len(figures)))
    lowest, highest = took(figures)
    sizes = sorted(map(abs, signed))
    return FigureErrors(
        figures=len(sizes),
        median=statistics.median(sizes),
        p90=sizes[math.ceil(0.9 * len(sizes)) - 1],
        worst=sizes[-1],
        bias=statistics.fmean(signed),
        least=least,
        most=most,
        lowest=lowest,
        highest=highest,
        low=sum(error < 0 for error in signed),
    )


@dataclass(frozen=True)
class Judge:
    """A figure that says how far predictions of a core are off.

    Attributes:
        domain: what its code is.
        program: what ran; empty if it is of the blind test.
        calibrating: whether a core may be fitted to it from now on.
        again: whether it is of the blind test, and today's engine predicted it again.
        whole: whether its cycles are a call's, not those of a block or a byte of one.
        test: the commit of the later blind test that it is of; empty if of the first or of none.
    """

    core: str
    domain: Domain
    predicted: float
    hardware: float
    program: str = ""
    calibrating: bool = False
    again: bool = False
    whole: bool = True
    test: str = ""

    @property
    def seen(self) -> bool:
        """Whether today's rules may have been chosen by it."""
        return self.again and self.calibrating

    @property
    def kinds(self) -> list[str]:
        """The kinds of error lines that it counts in."""
        return [ALL, *kinds_of(self.domain), *(name for name in PROGRAMS if self.program.startswith(name))]

    @property
    def pair(self) -> tuple[float, float]:
        """Predicted and measured cycles."""
        return self.predicted, self.hardware


# Kinds that are of what ran alone: no prediction has their lines.
PROGRAMS = ("lib25519", "libntruprime")


def domain_of(row: FigureRow) -> Domain:
    """What a row's code is. None of the run's programs computes with floating-point numbers."""
    return Domain(
        "neon" if row.kind == "vector" else "integer",
        None if row.waits is None else row.waits > 0,
        "assembly" if _is_assembly(row) else "compiled",
    )


def _is_assembly(row: FigureRow) -> bool:
    return row.implementation == "assembly" or row.implementation.startswith("arm64-")


def held_out(rows: Iterable[FigureRow]) -> list[FigureRow]:
    """The rows to whose figures nothing was fitted."""
    return [row for row in rows if row.which == "validation"]


def judges(run: Run, blind: BlindFigures | None = None) -> list[Judge]:
    """Every figure that says how far predictions are off: the held-out ones of a run, and those of the blind test."""
    found = [Judge(row.core, domain_of(row), row.predicted, row.hardware, row.program) for row in held_out(run.rows)]
    if blind:
        again = of_today(blind, blind.test.cores)
        found += [
            Judge(
                one.core,
                one.domain,
                predicted,
                measured,
                calibrating=one.role == "calibrate",
                again=one.core in again and bool(one.again),
                whole=one.per == "call",
                test=one.test,
            )
            for one in judging(blind)
            for _, predicted, measured in (one.again if one.core in again and one.again else one.predicted)
        ]
    return found


def errors_of(some: Sequence[Judge]) -> FigureErrors:
    """The errors of figures; their median and 90 % are never below those of the figures that chose no rule."""
    found = errors(one.pair for one in some)
    others = [one.pair for one in some if not one.seen]
    if not others or len(others) == len(some):
        return found
    alone = errors(others)
    return replace(found, median=max(found.median, alone.median), p90=max(found.p90, alone.p90))


def by_core_and_kind(run: Run, blind: BlindFigures | None = None) -> dict[tuple[str, str], FigureErrors]:
    """The errors of the figures that judge, by core and kind, in that order."""
    return {key: errors_of(some) for key, some in _grouped(judges(run, blind)).items()}


def telling(found: Mapping[tuple[str, str], FigureErrors]) -> dict[tuple[str, str], FigureErrors]:
    """The lines that a table has: of each domain, and of those joins that have more figures than one of its parts."""
    kept: dict[tuple[str, str], FigureErrors] = {}
    for (core, kind), one in found.items():
        narrower = (name for of, name in found if of == core and name.startswith(f"{kind}-"))
        same = any(found[core, name].figures == one.figures for name in narrower)
        if kind != ALL and not kind.startswith(f"{NOT_FLOAT}-") and not same:
            kept[core, kind] = one
    return kept


def _grouped(every: Iterable[Judge]) -> dict[tuple[str, str], list[Judge]]:
    found: dict[tuple[str, str], list[Judge]] = {}
    for one in every:
        for kind in one.kinds:
            found.setdefault((one.core, kind), []).append(one)
    return dict(sorted(found.items()))


def by_calibration(run: Run) -> dict[str, FigureErrors]:
    """The errors of the calibration figures, by core."""
    rows = [row for row in run.rows if row.which == "calibration"]
    return {
        core: errors((row.predicted, row.hardware) for row in rows if row.core == core)
        for core in sorted({row.core for row in rows})
    }


def error_lines(run: Run, blind: BlindFigures | None = None) -> str:
    """The file of error lines, measured/validation/errors.json, that a run and the blind test make.

    Of a core that has no held-out figure, it is its calibration figures': they are told, but are no error line.
    """
    blind = kept_blind() if blind is None else blind
    groups = _grouped(judges(run, blind))
    lines = []
    old = changed(blind.test, {core for core, _ in groups})
    later = {test.commit: changed(test, {core for core, _ in groups}) for test in blind.later}
    for (core, kind), some in groups.items():
        number = sum(not one.program for one in some)
        may = sum(one.calibrating for one in some)
        again = any(one.again for one in some)
        test: dict[str, object] = {}
        if number:
            test = {"blind": number, "calibrating": may, "engine": blind.test.commit}
            test |= {"again": True} if again else {"old": core in old}
        # One later test at most has figures of a core and kind.
        for commit in sorted({one.test for one in some if one.test and not one.again}):
            newer = sum(one.test == commit and not one.again for one in some)
            test |= {"newer": newer, "newer_engine": commit, "newer_old": core in later[commit]}
            if newer == number:
                test |= {"engine": "", "old": False}
        own = {
            "assembly": sum(one.domain.by == "assembly" for one in some),
            "shortest": min((math.floor(one.hardware) for one in some if one.whole), default=0),
        }
        lines.append(_line(core, kind, errors_of(some)) | own | test)
    lines += [_line(core, FITTED, one) for core, one in by_calibration(run).items() if (core, ALL) not in groups]
    lines.sort(key=lambda line: (line["core"], line["kind"]))
    listed = ",\n".join(json.dumps(line) for line in lines)
    return f'{{"format": 1, "made_by": "worldwise validation measure", "lines": [\n{listed}\n]}}\n'


def _line(core: str, kind: str, one: FigureErrors) -> dict[str, object]:
    return {
        "core": core,
        "kind": kind,
        "figures": one.figures,
        "median": round(one.median, 2),
        "p90": round(one.p90, 2),
        "worst": round(one.worst, 2),
        "bias": round(one.bias, 2),
        "low": one.low,
        "least": one.least,
        "most": one.most,
        "lowest": one.lowest,
        "highest": one.highest,
    }


def best_flat(rows: Sequence[FigureRow]) -> float:
    """The one number of cycles per instruction that leaves the smallest median error in these rows."""
    candidates = sorted(row.hardware / row.instructions for row in rows)

    def median(cycles: float) -> float:
        return statistics.median(abs(error_of(cycles * row.instructions, row.hardware)) for row in rows)

    return min(candidates, key=median)


# Ways to predict, as a table's columns name them.
ONE, FLAT, MCA, MODEL = "1 CPI", "flat", "llvm-mca", "model"


@dataclass(frozen=True)
class Predictor:
    """A way to predict: its column, its name, and what it says of a row."""

    column: str
    name: str
    predict: Callable[[FigureRow], float]


def ways(run: Run, core: str) -> list[Predictor]:
    """The ways that are compared for a core: one is fitted to its calibration figures, one needs LLVM's model of it."""
    calibration = [row for row in run.rows if row.core == core and row.which == "calibration"]
    found = [Predictor(ONE, "1 cycle per instruction", lambda row: row.instructions)]
    if calibration:
        flat = best_flat(calibration)
        found.append(
            Predictor(FLAT, f"{flat:.2f} cycles per instruction (fitted)", lambda row: flat * row.instructions)
        )
    if all(row.mca is not None for row in run.rows if row.core == core):
        found.append(Predictor(MCA, "llvm-mca per block", lambda row: row.mca or 0.0))
    return [*found, Predictor(MODEL, "this model", lambda row: row.predicted)]


def alternatives(run: Run) -> dict[tuple[str, str], FigureErrors]:
    """The errors of each way on the same held-out figures, by core and way."""
    rows = held_out(run.rows)
    return {
        (core, way.name): errors((way.predict(row), row.hardware) for row in rows if row.core == core)
        for core in sorted({row.core for row in rows})
        for way in ways(run, core)
    }
