# SPDX-License-Identifier: BSD-2-Clause
"""Pages of runs that no machine made, for the tests of HTML reports."""

import re
from pathlib import Path

import synthetic
from flames import FLAME_STACKS
from worldwise.base.tables import Section, Table
from worldwise.explain.explanation import Explanation, LevelPath
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.read.models import Row
from worldwise.read.run_counts import read_run, samples_of
from worldwise.records.models import Sample
from worldwise.report.page.content import Traced
from worldwise.report.page.write import Material, to_html
from worldwise.run.folder.rundir import Run, open_run

BUDGET = "5ms@2GHz"
# A title as a stranger may choose it.
HOSTILE = '</script><script>alert("x")</script> <img src=x onerror=alert(1)> {{ 7 * 7 }} \x1b[31m'


def traced(run: Run, graph: str = "") -> Traced:
    """A trace of the run's first case; with a flame graph as SVG, if there is one."""
    manifest = run.complete_cases()[0]
    case = manifest.case()
    total = sum(FLAME_STACKS.values())
    explanation = Explanation(
        case, "sign", "client", 3, "sample", total, 5, 0, FLAME_STACKS, 0, frozenset(), LevelPath([], 0)
    )
    layers = Section("Layers", Table(["layer", "self"], [["TA code", f"{total:,}"]], 1))
    return Traced(explanation, [layers], graph)


def page_of(run: Run, *found: Traced) -> str:
    """The page of a run, judged by BUDGET."""
    return to_html(read_run(run, parse_budget(BUDGET)), Material(run, samples_of(run), found))


def large_page(run: Run, rows: int, samples: int) -> str:
    """A page with so many rows, of so many samples each, all with other counts: of the size of a run of suite `tee`."""
    reading = read_run(run, parse_budget(BUDGET))
    known = samples_of(run)
    many: list[Row] = []
    series: dict[tuple[str, str, str], list[Sample]] = {}
    for number in range(rows):
        row = reading.rows[number % len(reading.rows)]
        copy = number // len(reading.rows)
        made = row.model_copy(update={"case": f"{row.case},copy={copy}", "parameters": f"copy={copy}", "n": samples})
        many.append(made)
        first = known[row.case, row.measure, row.place][0]
        series[made.case, made.measure, made.place] = [
            first.model_copy(update={"phase": "sample", "index": index, "count": first.count + 7 * index * index})
            for index in range(samples)
        ]
    return to_html(reading.model_copy(update={"rows": tuple(many)}), Material(run, series))


def hostile_run(runs: Path, case: Case) -> Run:
    """A run whose title is HOSTILE."""
    run = synthetic.write_run(runs, [case])
    path = run.path / "run.json"
    path.write_text(path.read_text().replace("A synthetic run", HOSTILE.replace('"', '\\"').replace("\x1b", "\\u001b")))
    return open_run(run.path, runs)


def text_of(page: str) -> str:
    """What can be read of a page, without scripts and styles, in one line."""
    plain = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", plain).split())
