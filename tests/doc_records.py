# SPDX-License-Identifier: BSD-2-Clause
"""The kept runs behind the figures of README and docs/, and the kept outputs of commands.

docs/figures/runs/SUITE.json is what `./worldwise report RUN --format json` gave, packed by doc_tables.py: a figure that
several cases have stands once, and neither what follows from the rows, the suite or published/, nor the list of
packages. A kept run gives the same reading, so every report prints of it what it printed of the run.
docs/figures/outputs/NAME.txt is what a command printed, below the command, the lab and the revision: the lines that
pages read, and its first paragraph; `...` stands for others.
"""

import dataclasses
import functools
import io
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

import doc_tables
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.roots import RECIPE
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.suite import load_suite
from worldwise.read.models import NotAvailable, Reading, Row
from worldwise.read.published import Figure, Published
from worldwise.read.row_details.factors import factors
from worldwise.read.rows import in_reading_order
from worldwise.records.model_predictions import Predicted
from worldwise.report import report as reports
from worldwise.report.answer import render_answer
from worldwise.report.formats.printed_sections import print_section
from worldwise.report.report import to_json
from worldwise.report.sections.tasks import Time, Times
from worldwise.report.tables import SCREEN_COLUMNS, named_sections

FIGURES = paths.REPOSITORY / "docs" / "figures"
DECLARED = FIGURES / "blocks.toml"
RUNS = FIGURES / "runs"
OUTPUTS = FIGURES / "outputs"
OLDER = FIGURES / "older.toml"
_FORMAT = 2
# Lists of objects that are packed: rows of a table.
_TABLES = ("rows", "factors", "unavailable", "attempts", "published_table")
# What a row has by its median and the clocks.


@dataclass(frozen=True)
class Kept:
    """A kept run: its reading, and the predicted times of the screen that it ended with."""

    reading: Reading
    times: Times


def kept_runs() -> list[str]:
    """The suites of which a run is kept."""
    return sorted(path.stem for path in RUNS.glob("*.json"))


def is_users(row: Row) -> bool:
    """Whether a row is of a user's library: a kept run beside a suite's own may have one, as docs/examples do."""
    return row.implementation.startswith("my-")


@functools.cache
def today() -> str:
    """The digest of the lab that the repository's lock describes."""
    return load_lock(paths.REPOSITORY / "lab" / "lock.json").digest(RECIPE)


@functools.cache
def older() -> Mapping[str, str]:
    """The records that are of older images, in the same lab: name -> since which change, as the blocks say.

    Raises WorldwiseError for a name that is no record: one that was measured anew has to go from the list.
    """
    if not OLDER.is_file():
        return {}
    found = {}
    for change in tomllib.loads(OLDER.read_text(encoding="utf-8")).get("change", []):
        for name in change["records"]:
            if not is_kept(name) and not (OUTPUTS / f"{name}.txt").is_file():
                raise WorldwiseError(f"docs/figures/older.toml: no record '{name}' is kept", "take it from the list")
            found[name] = change["what"]
    return found


def is_kept(suite: str) -> bool:
    """Whether a run of a suite is kept, without reading it."""
    return (RUNS / f"{suite}.json").is_file()


@functools.cache
def kept(suite: str) -> Kept | None:
    """The kept run of a suite; None if none is kept. Raises WorldwiseError for one of another format of readings."""
    if not is_kept(suite):
        return None
    try:
        return unpacked((RUNS / f"{suite}.json").read_text(encoding="utf-8"))
    except (KeyError, ValueError) as error:
        raise WorldwiseError(
            f"docs/figures/runs/{suite}.json is no reading of today's format: {str(error).splitlines()[0]}",
            f"`docs/figures/remake measure {suite}` keeps a new run",
        ) from error


def packed(reading: Reading, times: Times) -> str:
    """The text of a kept run."""
    document = json.loads(to_json(reading))
    document.pop("predicted", None)
    document["run"]["packages"] = {}
    followed = _following(document["run"]["suite"], reading.rows)
    for name in _TABLES:
        if document[name] == followed.get(name):
            del document[name]
        elif document[name]:
            document[name] = doc_tables.packed(document[name])
    document["kept"] = {
        "format": _FORMAT,
        "times": [
            [case, measure, one.core, str(one.hertz), one.cycles, one.low, one.high]
            for (case, measure), one in times.items()
        ],
        "predictions": [one.model_dump(mode="json") for one in reading.predictions],
    }
    return doc_tables.written(document) + "\n"


def unpacked(text: str) -> Kept:
    """A kept run from its text."""
    document = json.loads(text)
    more = document.pop("kept")
    if more["format"] != _FORMAT:
        raise ValueError(f"it is packed by format {more['format']}, not {_FORMAT}")
    for name in _TABLES:
        if document.get(name):
            document[name] = doc_tables.unpacked(document[name])
    rows = [Row.model_validate(row) for row in document["rows"]]
    document = _following(document["run"]["suite"], rows) | document
    # What families say of a host is no field of a reading.
    reading = Reading.model_validate(document)
    predictions = tuple(Predicted.model_validate(one) for one in more["predictions"])
    times = {
        (case, measure): Time(core, Fraction(hertz), cycles, low, high)
        for case, measure, core, hertz, cycles, low, high in more["times"]
    }
    return Kept(reading.model_copy(update={"predictions": predictions}), times)


def _following(suite: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Tables of a reading that follow from its rows, or from its suite and the suite's published figures."""
    chosen = [row for row in rows if row.target not in PLAIN_TARGETS]
    published, unavailable = _of_suite(suite)
    return {
        "factors": [one.model_dump(mode="json") for one in factors(in_reading_order(chosen))],
        "published_table": [one.model_dump(mode="json") for one in published],
        "unavailable": [one.model_dump(mode="json") for one in unavailable],
    }


@functools.cache
def _of_suite(name: str) -> tuple[Sequence[Figure], Sequence[NotAvailable]]:
    # A run of own code is of no suite.
    if not (paths.SUITES / f"{name}.toml").is_file():
        return (), ()
    suite = load_suite(name)
    lacking = [NotAvailable(**dataclasses.asdict(one)) for one in suite.unavailable]
    return Published(suite.published).table, lacking


@functools.cache
def rows_by_case(suite: str) -> dict[str, list[Row]]:
    """The rows of a kept run by their cases; none if no run is kept."""
    run = kept(suite)
    found: dict[str, list[Row]] = {}
    for row in run.reading.rows if run else ():
        found.setdefault(row.case, []).append(row)
    return found


def figures(suite: str, case: str, measure: str, place: str, what: str) -> list[float]:
    """The figures of a case's rows in a kept run: median, mean, min, max, first, worst, stack, heap, flash, ram or
    ta_loaded. An empty measure or place stands for any.
    """
    rows = [
        row for row in rows_by_case(suite).get(case, ()) if measure in ("", row.measure) and place in ("", row.place)
    ]
    values = [row.model_dump()[what] for row in rows]
    return [float(value) for value in values if value is not None]


@functools.cache
def printed(suite: str, section: str) -> tuple[str, ...]:
    """What the report of a kept run prints: sections by names and patterns, with spaces between; `report` is all of it,
    `answer` the screen that `run` ends with. Raises KeyError if no such run is kept, or it has no such section.
    """
    run = kept(suite)
    if run is None:
        raise KeyError(suite)
    file = io.StringIO()
    if section == "answer":
        console = safe_text.console(file=file, width=SCREEN_COLUMNS)
        render_answer(run.reading, console, "worldwise report latest", run.times)
    elif section == "report":
        reports.render(run.reading, safe_text.console(file=file))
    else:
        console = safe_text.console(file=file)
        for part in _sections(suite, section):
            print_section(part, console)
            console.print()
    return tuple(line.rstrip() for line in file.getvalue().rstrip("\n").split("\n"))


@functools.cache
def report_of(suite: str) -> tuple[list[Section], dict[str, Section]]:
    """The sections of a kept run's whole report, and by their names those of its usual one."""
    run = kept(suite)
    assert run
    return reports.sections(run.reading, full=True), {part.name: part for part in reports.sections(run.reading)}


def _sections(suite: str, names: str) -> list[Section]:
    every, shown = report_of(suite)
    found: dict[str, Section] = {}
    for name in names.split():
        parts = named_sections(every, name) or [part for part in every if fnmatchcase(part.name, name)]
        if not parts:
            raise KeyError(name)
        found |= {part.name: shown.get(part.name, part) for part in parts}
    return list(found.values())


def rows(suite: str) -> list[Row]:
    """The rows of a kept run; none if no run is kept."""
    return [row for rows in rows_by_case(suite).values() for row in rows]


@functools.cache
def cases(suite: str) -> frozenset[str]:
    """The ids of a suite's cases."""
    return frozenset(case.id for case in load_suite(suite).cases)


def case_count(suite: str) -> int:
    """How many cases a suite has."""
    return len(cases(suite))


@functools.cache
def commands() -> dict[str, str]:
    """The commands whose outputs are kept, by the outputs' names."""
    found: dict[str, str] = tomllib.loads(DECLARED.read_text(encoding="utf-8"))["commands"]
    return found


@dataclass(frozen=True)
class Output:
    """What a command printed, in which lab and revision."""

    command: str
    lab: str
    revision: str
    text: str


@functools.cache
def output(name: str) -> Output | None:
    """A kept output; None if it is not kept."""
    path = OUTPUTS / f"{name}.txt"
    return read_output(path) if path.is_file() else None


def read_output(path: Path) -> Output:
    """An output from its file."""
    command, lab, revision, _, *lines = path.read_text(encoding="utf-8").split("\n")
    return Output(
        command.removeprefix("$ "), lab.removeprefix("lab "), revision.removeprefix("revision "), "\n".join(lines)
    )


def write_output(name: str, one: Output) -> None:
    """Keep an output."""
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    text = f"$ {one.command}\nlab {one.lab}\nrevision {one.revision}\n\n{one.text}"
    (OUTPUTS / f"{name}.txt").write_text(text, encoding="utf-8")


# Of the kept outputs the lines that pages read, from 0: all of them once all blocks and claims are made out.
READ: dict[str, set[int]] = {}
LEFT_OUT = "..."


def mark(name: str, lines: Iterable[int]) -> None:
    """Note that a page reads lines of a kept output."""
    READ.setdefault(name, set()).update(lines)


def shortened(text: str, read: Set[int]) -> str:
    """An output without the lines that no page reads; its first paragraph says what it is of, and stays."""
    lines = text.split("\n")
    first = lines.index("") if "" in lines else len(lines)
    found: list[str] = []
    for number, line in enumerate(lines):
        if number in read or number < first or (not line and found and found[-1] not in ("", LEFT_OUT)):
            found.append(line)
        elif line and found and found[-1] != LEFT_OUT:
            found.append(LEFT_OUT)
    return "\n".join(found).rstrip("\n") + "\n"
