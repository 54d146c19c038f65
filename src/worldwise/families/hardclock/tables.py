# SPDX-License-Identifier: BSD-2-Clause
"""The published benchmark of mbed TLS on Armv7-A: its table beside ours, its optimisation level, its clock."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from worldwise.base.tables import Section, Table, count, factor, section_name, spread, whole
from worldwise.families.hardclock.readings import ClockReading, ClocksSaid
from worldwise.read.models import Reading, Row
from worldwise.read.published import Figure, load_figures
from worldwise.report.row_words import level_rank, machine_text, options_text
from worldwise.report.tables import Group, ScreenAnswer, Tables

SOURCE = "mbedtls-armv7-a9"
# Our figures beside theirs: the same library version, on the machine that they emulated.
_TARGET, _IMPLEMENTATION = "linux-armv7", "mbedtls28"
_OPERATIONS = ("sign", "verify")
_CURVES = ("secp256r1", "secp384r1", "secp256k1")
# This project's guess at the level of the published figures: the table shows or refutes it.
_SUPPOSED = "O0"
# The usual level of programs.
_USUAL = "O2"
# A level counts as shown if the residual of the next one is at least this many times as large.
_CLEARLY = 2.0

# The separator between a level and build options.
_OPTIONS = ", "

# A cell of the published table: curve and operation.
_Cell = tuple[str, str]
_CELLS: tuple[_Cell, ...] = tuple((curve, operation) for curve in _CURVES for operation in _OPERATIONS)


@dataclass(frozen=True)
class HostFit:
    """How well their times fit our counts of one build, times a constant: the speed of their host.

    Attributes:
        level: the optimisation, and build options if they are not the default.
        rates: our instructions per microsecond of theirs, by cell.
    """

    level: str
    rates: Mapping[_Cell, float]

    @property
    def spread(self) -> float:
        """The greatest rate divided by the least: 1 if only the host's speed differs."""
        return max(self.rates.values()) / min(self.rates.values())

    @property
    def variation(self) -> float:
        """The rates' standard deviation, as a share of their mean."""
        return stdev(self.rates.values()) / mean(self.rates.values())

    @property
    def speed(self) -> float:
        """The rates' geometric mean, in instructions per microsecond (million instructions per second)."""
        return math.exp(mean(math.log(rate) for rate in self.rates.values()))

    @property
    def residual(self) -> float:
        """The root mean square of the residuals of the rates' logarithms: about a relative error."""
        middle = math.log(self.speed)
        return math.sqrt(mean((math.log(rate) - middle) ** 2 for rate in self.rates.values()))


def armv7_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on the published benchmark and its clock; none if the run has neither.

    Unless `full`, their table stands beside ours at the best-fitting level and at -O2.
    """
    theirs = {
        (figure.algorithm.removeprefix("ECDSA "), figure.operation): figure
        for figure in reading.published_table
        if figure.source == SOURCE
    }
    ours: dict[str, dict[_Cell, Row]] = {}
    for row in reading.rows:
        if _is_ours(row):
            ours.setdefault(_build(row), {})[row.curve, row.operation] = row
    parts: list[Section | None] = []
    if theirs and ours:
        builds = sorted(ours, key=lambda build: (_OPTIONS in build, level_rank(build.partition(_OPTIONS)[0]), build))
        levels = [build for build in builds if _OPTIONS not in build] or builds
        fits = _fits(levels, ours, {cell: figure.value for cell, figure in theirs.items()})
        nearest = min(fits, key=lambda fit: fit.residual).level if fits else levels[0]
        shown = [level for level in levels if full or level in (nearest, _USUAL)]
        parts += [
            _runs_section(level, ours[level], theirs, _runs_notes(theirs, ours, reading) if level == shown[-1] else [])
            for level in shown
        ]
        parts += [_rates_section(levels, ours, theirs), _shape_section(levels, ours, theirs)]
        parts.append(_level_section(builds, ours, theirs))
    parts.append(_clock_section(reading.part(ClocksSaid).clocks))
    return [part for part in parts if part]


def _is_ours(row: Row) -> bool:
    given = set(row.given)
    return (row.target, row.implementation) == (_TARGET, _IMPLEMENTATION) and (
        row.operation in _OPERATIONS and row.curve in _CURVES and not given - {"curve", "size", "options"}
    )


def _build(row: Row) -> str:
    """How ours was compiled: the level, and the library's options that are not the default."""
    return _OPTIONS.join(filter(None, (row.optimisation, options_text(row))))


# --- the published table, in its own layout ---


def _runs_section(level: str, ours: Mapping[_Cell, Row], theirs: Mapping[_Cell, Figure], notes: list[str]) -> Section:
    headers = ["run"]
    for curve, operation in _CELLS:
        headers += [f"{curve} {operation}\ntheirs us", "\nours instr"]
    runs = max(len(figure.runs or ()) for figure in theirs.values())
    cells = []
    for run in range(runs):
        line = [str(run + 1)]
        for cell in _CELLS:
            line += [_nth(theirs[cell].runs, run) if cell in theirs else "-", _nth(_samples(ours.get(cell)), run)]
        cells.append(line)
    averages, deviations = ["mean"], ["stdev"]
    for cell in _CELLS:
        figure, row = theirs.get(cell), ours.get(cell)
        averages += [f"{figure.value:,.1f}" if figure else "-", count(round(row.counts.mean, 1)) if row else "-"]
        deviations += [_deviation(figure), spread(row.counts.stdev) if row else "-"]
    return Section(
        f"ECDSA of mbed TLS 2.28.3 on an emulated vexpress-a9 as published, and ours at -{level}",
        Table(headers, [*cells, averages, deviations], 1),
        notes,
        name=section_name("armv7-runs", level),
    )


def _runs_notes(theirs: Mapping[_Cell, Figure], ours: Mapping[str, Mapping[_Cell, Row]], reading: Reading) -> list[str]:
    conditions = "; ".join(dict.fromkeys(figure.conditions for figure in theirs.values()))
    includes = dict.fromkeys(row.counts.includes for found in ours.values() for row in found.values())
    return [
        f"theirs: {conditions}. Published as cycles, read by mbedtls_timing_hardclock, which on Arm returns "
        "microseconds of the clock; under QEMU without icount that is the host's time. ours: instructions at place "
        "linux; "
        f"{'; '.join(includes)}.",
        reading.published_reason,
        *_unverified(),
    ]


def _samples(row: Row | None) -> Sequence[float] | None:
    return row.against.samples if row else None


def _nth(values: Sequence[float] | None, number: int) -> str:
    return whole(values[number]) if values and number < len(values) else "-"


def _deviation(figure: Figure | None) -> str:
    """Their standard deviation, computed from their runs: they published none."""
    return spread(stdev(figure.runs)) if figure and figure.runs and len(figure.runs) > 1 else "-"


def _unverified() -> list[str]:
    """A note on the source's figures in an unknown unit, which are not compared with ours."""
    quoted = [figure for figure in load_figures(SOURCE) if not figure.is_measurement]
    if not quoted:
        return []
    values = "; ".join(
        f"{figure.operation} {whole(figure.value)} ({figure.place}, {figure.core}: {figure.note})" for figure in quoted
    )
    return [f"The source also quotes, as cycles: {values}. The report makes no ratio of them."]


# --- how it was compiled ---


def _fits(
    levels: Iterable[str], ours: Mapping[str, Mapping[_Cell, Row]], times: Mapping[_Cell, float]
) -> list[HostFit]:
    """A fit for each build that has every published cell: fewer cells would make the spread smaller."""
    return [
        HostFit(level, {cell: ours[level][cell].counts.mean / value for cell, value in times.items()})
        for level in levels
        if times and times.keys() <= ours[level].keys()
    ]


def _rates_section(
    levels: Sequence[str], ours: Mapping[str, Mapping[_Cell, Row]], theirs: Mapping[_Cell, Figure]
) -> Section:
    headers = ["curve", "operation", "theirs, mean\nus"]
    for level in levels:
        headers += [f"ours -{level}, mean\ninstr", "instr / us\n"]
    cells = []
    for curve, operation in _CELLS:
        figure = theirs.get((curve, operation))
        line = [curve, operation, f"{figure.value:,.1f}" if figure else "-"]
        for level in levels:
            row = ours[level].get((curve, operation))
            line += [whole(row.counts.mean) if row else "-"]
            line += [f"{row.counts.mean / figure.value:,.1f}" if row and figure else "-"]
        cells.append(line)
    return Section(
        "Which optimisation level: our instructions for each microsecond of theirs",
        Table(headers, cells, 2),
        [
            "If their library was compiled as ours was, the six figures of a level are the same: the speed of their "
            "host in million emulated instructions per second, as far as that does not depend on the code."
        ],
        name="armv7-rates",
    )


def _shape_section(
    levels: Sequence[str], ours: Mapping[str, Mapping[_Cell, Row]], theirs: Mapping[_Cell, Figure]
) -> Section:
    """Ratios within each column, in which the host's speed cancels out."""
    pairs: list[tuple[str, _Cell, _Cell]] = [
        (f"{curve}: verify / sign", (curve, "verify"), (curve, "sign")) for curve in _CURVES
    ]
    first, *others = _CURVES
    pairs += [
        (f"{operation}: {curve} / {first}", (curve, operation), (first, operation))
        for curve in others
        for operation in _OPERATIONS
    ]
    times = {cell: figure.value for cell, figure in theirs.items()}
    means = {level: {cell: row.counts.mean for cell, row in ours[level].items()} for level in levels}
    cells = [
        [name, *(_share(values, above, below) for values in (times, *means.values()))] for name, above, below in pairs
    ]
    return Section(
        "Which optimisation level: ratios that do not depend on their host's speed",
        Table(["ratio of means", "theirs", *(f"ours\n-{level}" for level in levels)], cells, 1),
        name="armv7-ratios",
    )


def _share(values: Mapping[_Cell, float], above: _Cell, below: _Cell) -> str:
    return f"{values[above] / values[below]:.3f}" if above in values and below in values else "-"


def _level_section(
    levels: Sequence[str], ours: Mapping[str, Mapping[_Cell, Row]], theirs: Mapping[_Cell, Figure]
) -> Section | None:
    by_mean = _fits(levels, ours, {cell: figure.value for cell, figure in theirs.items()})
    middles = {cell: median(figure.runs or [figure.value]) for cell, figure in theirs.items()}
    by_median = _fits(levels, ours, middles)
    if not by_mean:
        return None
    cells = []
    for fit, robust in zip(by_mean, by_median, strict=True):
        rates = fit.rates.values()
        cells.append(
            [
                f"-{fit.level}",
                f"{min(rates):,.0f}",
                f"{max(rates):,.0f}",
                factor(fit.spread),
                f"{100 * fit.variation:.1f}",
                f"{100 * fit.residual:.1f}",
                f"{100 * robust.residual:.1f}",
                f"{fit.speed:,.0f}",
            ]
        )
    headers = ["ours\ncompiled", "least\ninstr / us", "most\ninstr / us", "most /\nleast", "variation\n%"]
    headers += ["residual\n%", "residual, of\ntheir medians %", "speed implied\nM instr / s"]
    return Section(
        "Which optimisation level: how nearly constant the instructions per microsecond are",
        Table(headers, cells, 1),
        [
            verdict(by_mean, by_median, _scatter(theirs.values())),
            "variation: the six rates' standard deviation by their mean. residual: the root mean square of their "
            "logarithms around the mean, the part that no host speed explains. Of their medians too, as one of their "
            "runs can be far off the others.",
            "What this can show: ratios between operations and between curves, in which the host's speed cancels out. "
            "What it cannot: QEMU without icount executes as many instructions in a microsecond as the code lets it, "
            "fewer where they load and store or branch more, so that even the right level is not quite constant. "
            "Their compiler, its version and the C library differ from ours too, and they state no level. Any speed "
            "from a hundred million to some thousand million emulated instructions per second is one that a host can "
            "have: by itself it decides nothing.",
        ],
        name="armv7-level",
    )


def _scatter(figures: Iterable[Figure]) -> float:
    """How much their runs of one cell differ: the median of the cells' relative standard deviations."""
    shares = [stdev(figure.runs) / mean(figure.runs) for figure in figures if figure.runs and len(figure.runs) > 1]
    return median(shares) if shares else 0.0


def verdict(by_mean: Sequence[HostFit], by_median: Sequence[HostFit], scatter: float) -> str:
    """The verdict of the fits on the supposed optimisation level of the published figures."""
    if len(by_mean) < 2:
        return "Undecided: there is only one level, so nothing to compare it with."
    ranked = sorted(by_mean, key=lambda fit: fit.residual)
    best, second = ranked[0], ranked[1]
    robust = sorted(by_median, key=lambda fit: fit.residual)
    found = (
        f"the rate is nearest to constant at -{best.level} (residual {100 * best.residual:.1f} %, most / least "
        f"{factor(best.spread)}), next at -{second.level} ({100 * second.residual:.1f} %, {factor(second.spread)}); "
        f"their own runs of one cell differ by {100 * scatter:.1f} % (standard deviation)."
    )
    agree = robust[0].level == best.level
    clear = agree and all(fits[1].residual >= _CLEARLY * fits[0].residual for fits in (ranked, robust) if len(fits) > 1)
    if not agree:
        return f"Undecided: {found} By their medians it would be -{robust[0].level}."
    if best.level != _SUPPOSED:
        return f"{'Refuted' if clear else 'Not borne out'} that they look like -{_SUPPOSED}: {found}"
    if clear:
        return (
            f"Shown that they look like -{_SUPPOSED}: {found} No other level that was measured comes within "
            f"{_CLEARLY:g} times of that."
        )
    return f"Likely, but not shown, that they look like -{_SUPPOSED}: {found}"


# --- what mbedtls_timing_hardclock returns ---


def _clock_section(clocks: Sequence[ClockReading]) -> Section | None:
    if not clocks:
        return None
    cells = []
    for each in clocks:
        cells.append(
            [
                machine_text((each.target, each.core)),
                each.variant,
                each.measure,
                str(each.n),
                count(each.instructions),
                count(each.hardclock),
                count(each.gettimeofday),
                f"{each.monotonic / 1000:,.1f}",
                f"{each.instructions / each.hardclock:,.1f}" if each.hardclock else "-",
            ]
        )
    headers = ["machine", "library", "operation", "n", "counted\ninstr", "mbedtls_timing_\nhardclock"]
    headers += ["gettimeofday\nus", "CLOCK_MONOTONIC\nus", "instr /\nhardclock"]
    ratios = [each.instructions / each.hardclock for each in clocks if each.hardclock]
    between = f"{min(ratios):,.1f} to {max(ratios):,.1f}" if ratios else "no"
    calls = sorted({each.calls for each in clocks})
    samples = sum(each.n for each in clocks)
    return Section(
        "What mbedtls_timing_hardclock returns on Arm: medians around the same operation",
        Table(headers, cells, 3),
        [
            "On a core that does one instruction in a cycle a cycle counter would say the same as the count. It says "
            f"one for {between} instructions. Virtual time advances by 1 ns with each instruction here, so that "
            "1,000 of them are a microsecond: mbedtls_timing_hardclock returns microseconds since its first call, and "
            "no cycles.",
            "How it gets them is part of the program: timing.c of the library is compiled as it is, with its calls of "
            "gettimeofday counted. None of its branches for a counter (x86, PowerPC, SPARC, Alpha, Itanium) is one "
            "for Arm, and the program compiles only if the last branch was taken, which has gettimeofday alone. "
            f"Between the two readings of a sample it was called {' or '.join(map(str, calls))} times, and what was "
            "returned is the difference of its results, digit for digit.",
            f"All {samples:,} samples: the host checks that the three clocks agree with the counter within what "
            "lies between their readings. loop: one million turns of two instructions. On a real Arm board it "
            "would be microseconds of real time, not cycles either, unless the core runs at 1 MHz.",
        ],
        name="hardclock",
    )


def armv7_answer(reading: Reading) -> list[ScreenAnswer]:
    """How nearly each build explains the published times, and what the clock returns; nothing without."""
    parts = {section.name: section for section in armv7_sections(reading)}
    level, clock = parts.get("armv7-level"), parts.get("hardclock")
    if level and level.table:
        title = "How the published figures were compiled"
        names = ("armv7-level", "armv7", *(("hardclock",) if clock else ()))
        return [ScreenAnswer(title, level.table, level.notes[0], sections=names)]
    if clock and clock.table:
        title = "What mbedtls_timing_hardclock returns on Arm"
        verdict = "It returns microseconds of the clock, not cycles."
        return [ScreenAnswer(title, _narrow(clock.table), verdict, sections=("hardclock",))]
    return []


def _narrow(table: Table) -> Table:
    """What a screen has room for: the clocks that say the same again are left out."""
    return table.without([number for number, header in enumerate(table.headers) if header.startswith(_CLOCKS)])


_CLOCKS = ("gettimeofday", "CLOCK_MONOTONIC")
TABLES = Tables(groups=(Group(490, armv7_sections),), answers=armv7_answer)
