# SPDX-License-Identifier: BSD-2-Clause
"""The screens of runs, and what an independent checker finds wrong with them: see recomputed.py.

Of runs that were measured: `PYTHONPATH=src:tests python -P -m screens runs/*`.
"""

import functools
import io
import re
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from recomputed import Checker, Table
from suite_readings import suite_reading
from worldwise.base import paths
from worldwise.base.output import safe_text
from worldwise.base.units import CYCLES
from worldwise.plan.budget import parse_budget
from worldwise.plan.spec import OWN
from worldwise.read.models import FailedCase, Reading
from worldwise.read.run_counts import read_run
from worldwise.report.answer import render_answer
from worldwise.report.drawing.charts import charts
from worldwise.report.page.content import cards, measurements
from worldwise.report.report import sections, to_json
from worldwise.report.sections.tasks import Time, Times, kept_times, leading
from worldwise.report.tables import SCREEN_COLUMNS, named_sections
from worldwise.run.folder.rundir import open_run

COMMAND = "worldwise report latest"
SUITES = tuple(sorted(path.stem for path in paths.SUITES.glob("*.toml")))


def _only(name: str, *operations: str) -> Reading:
    """The reading of a suite of which some operations alone were measured."""
    whole = suite_reading(name)
    rows = tuple(row for row in whole.rows if row.operation in operations)
    attempts = tuple(one for one in whole.attempts if one.operation in operations)
    return whole.model_copy(update={"rows": rows, "attempts": attempts})


def _unfinished() -> Reading:
    """A reading of which some cases failed and others were not measured."""
    whole = suite_reading("attestation", parse_budget("200ms@1.5GHz"))
    cases = list(dict.fromkeys(row.case for row in whole.rows))
    gone = {case for case in cases if "/keygen" in case}
    failed = [case for case in cases if "mbedtls-Os" in case and case not in gone]
    rows = tuple(row for row in whole.rows if row.case not in {*gone, *failed})
    assert whole.budget
    verdicts = [row.against.verdict for row in rows if row.against.verdict]
    exceeded = sum(not verdict.fits for verdict in verdicts)
    budget = {"judged": len(verdicts), "exceeded": exceeded, "fits": False if exceeded else None}
    return whole.model_copy(
        update={
            "rows": rows,
            "missing": tuple(gone),
            "failed": tuple(FailedCase(case=case, error="it stopped\nfor no reason") for case in failed),
            "budget": whole.budget.model_copy(update=budget),
        }
    )


def _own() -> Reading:
    """A reading of a user's own code: more regions than a screen has room for."""
    whole = suite_reading("tee")
    rows = [
        row.model_copy(
            update={
                "case": f"{OWN}/{code}/{region}",
                "target": OWN,
                "implementation": code,
                "optimisation": "",
                "variant": code,
                "operation": region,
                "parameters": "",
                "curve": "",
                "size": None,
                "measure": "call",
                "place": "region",
                "n": number % 7,
            }
        )
        for number, row in enumerate(whole.rows[:60])
        for code, region in [("ta", f"TEEC_InvokeCommand.{number}") if number % 2 else ("bench", f"crc32_{number}")]
    ]
    return whole.model_copy(update={"rows": type(whole.rows)(rows), "attempts": (), "unavailable": ()})


READINGS: Mapping[str, Callable[[], Reading]] = {
    **{name: functools.partial(suite_reading, name) for name in SUITES},
    "attestation-5ms-1.5GHz": lambda: suite_reading("attestation", parse_budget("5ms@1.5GHz")),
    "attestation-2ms-2GHz": lambda: suite_reading("attestation", parse_budget("2ms@2GHz")),
    "attestation-predicted": lambda: suite_reading("attestation"),
    "attestation-5ms-predicted": lambda: suite_reading("attestation", parse_budget("5ms@1.5GHz")),
    "attestation-unfinished": _unfinished,
    "cores-cycles": lambda: suite_reading("cores", unit=CYCLES),
    "mcu-cycles": lambda: suite_reading("mcu", unit=CYCLES),
    "own": _own,
    "keycache-load": lambda: _only("keycache", "keycache-load"),
    "keycache-attempts": lambda: _only("keycache", "keycache-hold", "keycache-cut"),
}


def times_of(name: str) -> Times | None:
    """The predicted times that go with a reading of READINGS; None for those that a run keeps."""
    if not name.endswith("-predicted"):
        return None
    return {
        (row.case, row.measure): Time(
            "cortex-a72",
            Fraction(1_500_000_000),
            row.counts.first // 2,
            row.counts.first // 3,
            int(row.counts.first * 1.7),
        )
        for row in leading(READINGS[name]())
    }


def screen(reading: Reading, times: Times | None = None) -> str:
    """What `worldwise run` ends with."""
    file = io.StringIO()
    render_answer(reading, safe_text.console(file=file, width=SCREEN_COLUMNS), COMMAND, times)
    return file.getvalue()


def golden_screen(name: str) -> str:
    """The screen of a reading of READINGS."""
    return screen(READINGS[name](), times_of(name))


def problems(
    reading: Reading,
    text: str | None = None,
    times: Times | None = None,
    exported: str = "",
    screen_alone: bool = False,
) -> list[str]:
    """What does not follow from a reading's rows: of its screen (or of `text` in its place), cards and sentences."""
    text = screen(reading, times) if text is None else text
    predicted = {
        key: (time.core, float(time.hertz), time.cycles, time.low, time.high)
        for key, time in (kept_times(reading) if times is None else times).items()
    }
    checker = Checker(exported or to_json(reading), _tables(reading, text), predicted)
    checker.check_screen(text)
    if screen_alone:
        return checker.problems
    for card in cards(reading):
        checker.check_card(card.title, card.best_name, card.best.median, card.worst_name, card.worst.median, card.times)
    for measured in measurements(reading, {}):
        checker.check_best(measured.row.case, measured.row.measure, measured.row.place, measured.best)
    for one in charts(reading):
        checker.check_words(one.kind, one.title, one.words)
    return checker.problems


def _tables(reading: Reading, text: str) -> dict[str, list[Table]]:
    """The tables of the sections that a screen names, by these names; a name that the report has not is none."""
    words = " ".join(text.split())
    listed = re.search(r"with NAME such as (.+?) All names:", words)
    names = [*re.findall(r"report: --section ([\w-]+)", words), *(listed[1].split(", ") if listed else ())]
    if left := re.search(r"more answers?: --section ([\w-]+(?:, [\w-]+)*)", words):
        names += left[1].split(", ")
    there = sections(reading)
    found: dict[str, list[Table]] = {}
    for name in names:
        for section in named_sections(there, name):
            found.setdefault(name, [])
            if section.table:
                headers = [" ".join(header.split()) for header in section.table.headers]
                found[name].append((headers, section.table.rows))
    return found


def main(runs: list[str]) -> int:
    """Prints what is wrong with the screens of these runs; the exit status is 1 if anything is."""
    wrong = 0
    for path in map(Path, runs):
        found = problems(read_run(open_run(path, path.parent)))
        wrong += len(found)
        sys.stdout.write("".join(f"{line}\n" for line in [f"{path.name}: {len(found)} problems", *found]))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
