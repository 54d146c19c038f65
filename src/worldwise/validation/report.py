# SPDX-License-Identifier: BSD-2-Clause
"""What a run of the validation says: tables of errors, of ways to predict, and of each figure."""

from collections.abc import Iterable

from worldwise.base.tables import Section, Table
from worldwise.validation.blind_test.report_tables import again_section, blind_section, changed_section, numbers
from worldwise.validation.blind_test.results import kept_blind
from worldwise.validation.cells import left_out
from worldwise.validation.record import FigureRow, Run, error_of
from worldwise.validation.statistics import (
    FLAT,
    MCA,
    ONE,
    alternatives,
    by_calibration,
    by_core_and_kind,
    held_out,
    telling,
    ways,
)

_HELD_OUT = (
    "Held-out figures, and those of the blind test: nothing was fitted to them. Errors in % of the hardware's cycles. "
    "Where today's engine predicted some again, median and the column behind it are the larger of all figures' and of "
    "those by which no rule may have been chosen."
)
_FITTED = "The fitted number of cycles per instruction is that of the least median error on the calibration figures."
_ALONE = "Held-out figures alone, without those of the blind test."
_P90 = "90 %: nine of ten figures are not further off. mean: with its sign, below 0 where the model is too fast."
_TOOK = (
    "from, to: hardware took between so many times what was predicted, without the 2.5 % of the figures at either end, "
    "where there are enough to leave one out: an interval of a prediction is made of these two."
)


def sections(run: Run, every: bool = False) -> list[Section]:
    """The parts of the report; `every` adds a line for each figure."""
    found = [_errors(run), _ways(run), *_blind(run), _calibration(run), _left_out()]
    return [*found, *(_figures(run, core) for core in _cores(run.rows))] if every else found


def first_sections(run: Run) -> list[Section]:
    """What stands on the first screen: a line for each core."""
    found_of, rows = alternatives(run), []
    for (core, kind), found in by_core_and_kind(run, kept_blind()).items():
        if kind == "all":
            known = {way.column: found_of[core, way.name] for way in ways(run, core) if (core, way.name) in found_of}
            shown = [f"{known[way].median:.1f}" if way in known else "-" for way in (ONE, MCA)]
            rows.append([core, *numbers(found), f"{found.least:.3f}", f"{found.most:.3f}", *shown])
    headers = ["core", *_HEADERS, "from", "to", "median at one\ncycle an instr", "median of\nllvm-mca"]
    table = Table(headers, rows, left=1)
    return [Section("Errors of predicted cycles", table, [_HELD_OUT, _P90, _TOOK], "errors"), _calibration(run)]


def _blind(run: Run) -> list[Section]:
    """The tables of the blind tests."""
    found = kept_blind()
    later = [blind_section(found, test) for test in found.later]
    return [blind_section(found), *later, *again_section(found), changed_section(run, found)]


def _cores(rows: Iterable[FigureRow]) -> list[str]:
    return sorted({row.core for row in rows})


_HEADERS = ["figures", "median", "90 %", "worst", "mean"]


def _errors(run: Run) -> Section:
    rows = [
        [core, kind, *numbers(found), f"{found.least:.3f}", f"{found.most:.3f}"]
        for (core, kind), found in telling(by_core_and_kind(run, kept_blind())).items()
    ]
    return Section(
        "Errors of predicted cycles",
        Table(["core", "code", *_HEADERS, "from", "to"], rows, left=2),
        [_HELD_OUT, _P90, _TOOK],
        "errors",
    )


def _ways(run: Run) -> Section:
    rows = [[core, way, *numbers(found)] for (core, way), found in alternatives(run).items()]
    return Section(
        "What the model is worth: other ways to predict the same figures",
        Table(["core", "way", *_HEADERS], rows, left=2),
        [_ALONE, _FITTED],
        "ways",
    )


def _calibration(run: Run) -> Section:
    rows = [[core, *numbers(found)] for core, found in by_calibration(run).items()]
    return Section(
        "Errors of the figures that numbers of the cores may be fitted to",
        Table(["core", *_HEADERS], rows, left=1),
        [
            "They say nothing about other code, and no line has them. No number of a Cortex-M was fitted to them, but "
            "its rules were made with them in view.",
        ],
        "calibration",
    )


def _left_out() -> Section:
    found: dict[str, list[str]] = {}
    for (core, reason), figures in left_out().items():
        found.setdefault(reason, []).append(f"{core} {figures}")
    notes = [f"{reason} ({', '.join(cores)})." for reason, cores in sorted(found.items())]
    return Section("Published figures without a program here, with their numbers", None, notes, "left-out")


def _figures(run: Run, core: str) -> Section:
    known = {way.column: way for way in ways(run, core)}
    rows = []
    for row in run.rows:
        if row.core == core:
            label = row.what + (f" {row.implementation}" if row.program == "s2n" else "")
            compiler = " ".join(row.compiler.split()[:2]) or "assembly"
            others = [
                f"{error_of(known[column].predict(row), row.hardware):+.1f}" if column in known else "-"
                for column in (ONE, FLAT, MCA)
            ]
            rows.append(
                [
                    *(label, compiler, "held out" if row.which == "validation" else "calibration", row.kind),
                    *(f"{row.hardware:,.0f}", f"{row.predicted:,.0f}", f"{row.error:+.1f}", *others),
                ]
            )
    names = ["figure", "compiler", "set", "code", "hardware", "predicted", "error %", ONE, FLAT, MCA]
    return Section(f"Figures of {core}", Table(names, rows, left=4), [], f"figures-{core}")


def markdown(run: Run) -> str:
    """The tables of errors and ways, for a page of docs."""
    return _page(sections(run)[:2])


def blind_markdown(run: Run) -> str:
    """The tables of the blind test, for a page of docs."""
    return _page(_blind(run))


def _page(found: Iterable[Section]) -> str:
    parts = []
    for section in found:
        assert section.table
        head, left = section.table.headers, section.table.left
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * left + "---:|" * (len(head) - left)]
        lines += ["| " + " | ".join(row) + " |" for row in section.table.rows]
        parts.append("\n".join([f"{section.title}:", "", *lines, "", *section.notes]))
    return "\n\n".join(parts) + "\n"


def worst(run: Run, core: str, most: int) -> list[FigureRow]:
    """The held-out figures of a core that are furthest off, the worst first."""
    rows = [row for row in held_out(run.rows) if row.core == core]
    return sorted(rows, key=lambda row: -abs(row.error))[:most]
