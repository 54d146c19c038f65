# SPDX-License-Identifier: BSD-2-Clause
"""Rows, attempts and readings of what a test needs and nothing more; and the tables of sections made of them.

`row`: a figure of a case, by the case's id. `attempt`: what a case tried, and what came of it. `reading`: these rows
and attempts, beside a published source's table. `cells`: the rows of a section's table. `titled`: the section of a
title.
Whole readings, as fixtures: `reading` of a run of every case, `budgeted` of the same with a budget, `two_boards` of
a suite on boards. board_reading.py makes rows of boards that have every field.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from board_reading import board_reading
from worldwise.base.tables import Section
from worldwise.base.units import parse_size
from worldwise.plan.budget import parse_budget
from worldwise.read.models import Attempt, Reading, References, Row, RowCounts
from worldwise.read.published import Published
from worldwise.read.run_counts import read_run
from worldwise.run.folder.rundir import Run


def row(case: str, measure: str, place: str, median: float, **fields: Any) -> Row:
    """A row of a case, with the fields that its id gives and these; nothing asks whether there is such a case."""
    target, variant, rest = case.split("/", 2)
    implementation, _, optimisation = variant.rpartition("-")
    operation, _, parameters = rest.partition(",")
    given = dict(each.split("=", 1) for each in parameters.split(",") if each)
    usual = {
        "case": case,
        "target": target,
        "implementation": implementation,
        "optimisation": optimisation,
        "variant": variant,
        "operation": operation,
        "parameters": parameters,
        "curve": given.get("curve", ""),
        "size": parse_size(given["size"]) if "size" in given else None,
        "chunk": None,
        "measure": measure,
        "place": place,
        "includes": f"what is in {measure} at {place}",
        "median": float(median),
    }
    return row_of(usual | fields)


def row_of(fields: Mapping[str, Any]) -> Row:
    """A row that has these fields alone, those of its records too, which nothing checks."""
    rest = dict(fields)
    counts, against = (
        kind.model_construct(**{name: rest.pop(name) for name in kind.model_fields if name in rest})
        for kind in (RowCounts, References)
    )
    return Row.model_construct(counts=counts, against=against, **rest)


def attempt(case: str, what: str, result: str, detail: str = "", at: int | None = None) -> Attempt:
    """An attempt of a case that nobody ran."""
    operation, _, parameters = case.rpartition("/")[2].partition(",")
    return Attempt(
        case=case, operation=operation, parameters=parameters, what=what, result=result, detail=detail, at=at
    )


def reading(
    rows: Iterable[Row] = (), attempts: Iterable[Attempt] = (), *, published: str = "", **fields: Any
) -> Reading:
    """A reading of these alone, with the table of a published source if one is named, and with other fields."""
    source = Published(published)
    usual = {"published_table": source.table, "published_reason": source.reason, "unavailable": ()}
    return Reading.model_construct(rows=tuple(rows), attempts=tuple(attempts), **usual | fields)


def cells(section: Section) -> list[list[str]]:
    """The rows of a section's table, each as wide as its head."""
    assert section.table
    assert all(len(line) == len(section.table.headers) for line in section.table.rows)
    return section.table.rows


def titled(sections: Iterable[Section], title: str) -> Section:
    """The one section whose title begins so."""
    (found,) = (each for each in sections if each.title.startswith(title))
    return found


@pytest.fixture(scope="session", name="reading")
def whole_reading(whole_run: Run) -> Reading:
    """The run of every case, read. Shared."""
    return read_run(whole_run)


@pytest.fixture(scope="session")
def budgeted(whole_run: Run) -> Reading:
    """The run of every case, read with a budget. Shared."""
    return read_run(whole_run, parse_budget("5ms@2GHz"))


@pytest.fixture(scope="session")
def two_boards() -> Reading:
    """A suite's figures of two boards. Shared."""
    return board_reading()
