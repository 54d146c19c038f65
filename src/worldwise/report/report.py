# SPDX-License-Identifier: BSD-2-Clause
"""Reports: one reading, shown as tables in a terminal or written as JSON, CSV, Markdown or LaTeX."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from rich.console import Console

from worldwise.base.output.safe_text import csv_text, json_text
from worldwise.base.tables import Section, Table, count
from worldwise.lab import lock_differences
from worldwise.read.models import CLOCKS, Reading, Row
from worldwise.read.rows import in_reading_order
from worldwise.report import predictions
from worldwise.report.formats import ci_formats, latex, predicted_data
from worldwise.report.formats.printed_sections import first_lines, print_prose, print_section, section_lines
from worldwise.report.sections import counts, inputs, linux_hosts, prices, tasks
from worldwise.report.sections.counts import label, tee_rows
from worldwise.report.sections.units import in_unit, table_in_unit
from worldwise.report.sections.verdicts import budget_verdict
from worldwise.report.tables import Columns, Group, ScreenAnswer, declared_tables, tables_in


def sections(reading: Reading, full: bool = False) -> list[Section]:
    """The parts of a report, in order.

    Unless `full`, there are times only for what a caller waits for, and hashing has only its own tables.
    """
    groups = [
        *counts.GROUPS,
        tasks.GROUP,
        _PREDICTED,
        prices.GROUP,
        *(group for tables in tables_in(reading) for group in tables.groups),
        *_LAST,
    ]
    ordered = sorted(groups, key=lambda group: group.rank)
    return in_unit([part for group in ordered for part in group.sections(reading, full)], reading)


def answers(reading: Reading, times: tasks.Times | None = None) -> list[ScreenAnswer]:
    """The families' answers for a run on one screen, in order. They name sections that the report has.

    `times` are predicted, of some of its rows; None for those that the run keeps. Empty if no family has measured
    anything.
    """
    times = tasks.kept_times(reading) if times is None else times
    found = [
        *tasks.answers(reading, times),
        *prices.answers(reading),
        *(one for each in tables_in(reading) for one in each.answers(reading)),
    ]
    found.sort(key=lambda answer: answer.rank)
    return [replace(answer, table=table_in_unit(answer.table, reading.unit)) for answer in found]


def _columns() -> list[Columns]:
    # Of all families: a CSV of one version has the same columns whatever was measured, but for those of boards.
    return [columns for tables in declared_tables().values() for columns in tables.columns]


def _end(reading: Reading, _full: bool) -> list[Section]:
    parts = [_failure_section(reading), _budget_section(tee_rows(reading), reading)]
    return [part for part in parts if part]


_LAST = (Group(900, linux_hosts.sections), Group(910, inputs.sections), Group(1000, _end))
# Before the times of one instruction per cycle.
_PREDICTED = Group(299, predictions.sections)


def render(reading: Reading, console: Console, full: bool = False) -> None:
    """Prints the report. Nothing is cut off: a table wider than the console is printed as wide as it is.

    In a terminal of less than 100 columns it is printed line by line instead, each figure with its header.
    """
    print_prose(console, heading(reading), "bold")
    print_prose(console, _provenance(reading))
    for section in sections(reading, full):
        console.print()
        print_section(section, console)


def to_json(reading: Reading) -> str:
    """The whole reading as JSON, with a format number; counts in full precision."""
    more = linux_hosts.host_json(reading) | inputs.inputs_json(reading)
    more |= {"predicted": predicted_data.reading_json(reading)} if reading.predictions else {}
    if not more:
        return json_text(reading.model_dump_json(indent=2)) + "\n"
    document = reading.model_dump(mode="json") | more
    return json_text(json.dumps(document, indent=2)) + "\n"


def to_csv(reading: Reading) -> str:
    """One line per row of the reading, units in the headers; several published figures are joined by `;`.

    See `csv_text` for text that a spreadsheet would take for a formula.
    """
    unit = reading.unit
    columns: Mapping[str, Callable[[Row], object]] = {
        "run": lambda _: reading.run.id,
        "case": lambda row: row.case,
        "target": lambda row: row.target,
        "variant": lambda row: row.variant,
        "operation": lambda row: row.operation,
        "parameters": lambda row: row.parameters,
        "size_bytes": lambda row: row.size,
        "chunk_bytes": lambda row: row.chunk,
        "calls": lambda row: row.calls,
        "measure": lambda row: row.measure,
        "place": lambda row: row.place,
        "n": lambda row: row.counts.n,
        "warmup": lambda row: row.counts.warmup,
        f"first_{unit}": lambda row: row.counts.first,
        f"median_{unit}": lambda row: row.median,
        f"mean_{unit}": lambda row: row.counts.mean,
        f"stdev_{unit}": lambda row: row.counts.stdev,
        f"min_{unit}": lambda row: row.counts.min,
        f"max_{unit}": lambda row: row.counts.max,
        f"worst_{unit}": lambda row: row.counts.worst,
        "ratio_to_linux": lambda row: row.against.ratio_to_linux,
        **{f"assumed_us_at_{clock}_GHz": _time_column(f"{clock} GHz") for clock in CLOCKS},
        "published_instructions": lambda row: ";".join(f"{each.instructions:.0f}" for each in row.against.published),
        "ratio_to_published": lambda row: ";".join(str(each.ratio) for each in row.against.published),
        "budget_instructions": lambda row: row.against.verdict.limit if row.against.verdict else None,
        "fits_budget": lambda row: str(row.against.verdict.fits).lower() if row.against.verdict else None,
        **{
            header: value
            for group in sorted(_columns(), key=lambda group: group.rank)
            for header, value in group.columns(reading).items()
        },
        **linux_hosts.columns(reading),
        **predicted_data.columns(reading),
        "includes": lambda row: row.counts.includes,
    }
    rows = ([value(row) for value in columns.values()] for row in in_reading_order(reading.rows))
    return csv_text([[*columns], *rows])


def to_markdown(reading: Reading) -> str:
    """The full report as Markdown, with the same numbers as in the terminal."""
    lines = first_lines(heading(reading), _provenance(reading))
    for section in sections(reading, full=True):
        lines += ["", *section_lines(section)]
    return "\n".join(lines) + "\n"


def to_latex(reading: Reading) -> str:
    """The full report as a LaTeX document, with the same numbers as in the terminal."""
    return latex.document(reading, heading(reading), _provenance(reading), sections(reading, full=True))


def to_github_action_benchmark(reading: Reading) -> str:
    """The medians, and bytes of memory, as github-action-benchmark reads them (`customSmallerIsBetter`)."""
    return ci_formats.to_github_action_benchmark(_figures(reading))


def to_bencher(reading: Reading) -> str:
    """The medians, and bytes of memory, in Bencher Metric Format."""
    return ci_formats.to_bencher(_figures(reading))


EXPORTERS: Mapping[str, Callable[[Reading], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
    "github-action-benchmark": to_github_action_benchmark,
    "bencher": to_bencher,
}


def _figures(reading: Reading) -> Iterable[ci_formats.Figure]:
    """A figure for every row, under the name that `worldwise compare` gives the row."""
    for row in in_reading_order(reading.rows):
        name = f"{row.case} {row.measure} {row.place}"
        yield ci_formats.Figure(
            name,
            "instructions",
            row.median,
            row.counts.min,
            row.counts.max,
            f"n = {row.counts.n}; {row.counts.includes}",
        )
        for part in ("stack", "heap", "flash", "ram"):
            value = getattr(row.footprint, part)
            if value is not None:
                yield ci_formats.Figure(name, f"{part}-bytes", value)


def heading(reading: Reading) -> str:
    """The title of a run, with its id and state."""
    return f"{reading.run.title} (run {reading.run.id}, {reading.run.state})"


def _provenance(reading: Reading) -> str:
    run = reading.run
    lab = f"lab {run.lab[:16]}" if run.lab else "no lab"
    revision = f", revision {run.git[:12]}" if run.git else ""
    said = f"Started {run.started}; worldwise {run.worldwise}{revision}; {lab}."
    return " ".join(filter(None, (said, run.settings, lock_differences.whole(run.drift))))


def _budget_section(rows: list[Row], reading: Reading) -> Section | None:
    budget = reading.budget
    if budget is None:
        return None
    cells = []
    for row in rows:
        if row.against.verdict:
            cells.append(
                [
                    label(row),
                    row.variant,
                    row.place,
                    count(row.against.verdict.worst),
                    count(row.against.verdict.limit),
                    f"{100 * row.against.verdict.worst / row.against.verdict.limit:,.1f}",
                    "fits" if row.against.verdict.fits else "EXCEEDS",
                ]
            )
    headers = ["measure", "variant", "place", "worst call\ninstr", "budget\ninstr", "used\n%", "verdict"]
    return Section(
        f"Budget: {' and '.join(budget.measures)} at place {budget.place} within {budget.limit} at {budget.clock}",
        Table(headers, cells, 3) if cells else None,
        [
            f"{budget.limit} at {budget.clock} is {budget.instructions:,} instructions, at one per cycle "
            "(assumption). The worst of all calls is judged, the first (cold) one included.",
            budget_verdict(reading),
        ],
        "budget",
    )


def _failure_section(reading: Reading) -> Section | None:
    notes = [f"{failed.case} failed: {failed.error}" for failed in reading.failed]
    notes += [f"{case} was not measured." for case in reading.missing]
    return Section("Not in this report", None, notes, "failures") if notes else None


def _time_column(name: str) -> Callable[[Row], object]:
    return lambda row: row.against.microseconds.get(name)
