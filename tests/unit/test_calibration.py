# SPDX-License-Identifier: BSD-2-Clause
"""Judging and fitting: planted numbers come back, half of the cases is never seen, and what must not be fitted is
refused."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import board_run
from board_reading import board_reading, board_row
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import parse
from worldwise.base.units import CYCLES
from worldwise.libraries.boards import Core, load_core, table_of
from worldwise.libraries.fittable import Fittable
from worldwise.plan.case import Case
from worldwise.predict import cores
from worldwise.predict.errors import ErrorLines, load_errors
from worldwise.read.models import HostCase, Reading
from worldwise.read.run_counts import read_run
from worldwise.records.model_predictions import Events, LayerCycles, PredictedCase, PredictedSample
from worldwise.records.models import Sample
from worldwise.run.folder.manifests import ChipClock
from worldwise.run.folder.rundir import Run, open_run
from worldwise.validation import provenance
from worldwise.validation.silicon import judgement_report
from worldwise.validation.silicon.calibration import WAITS, CoreFit, fit, held_out, ranges_of
from worldwise.validation.silicon.core_file import fitted_core
from worldwise.validation.silicon.judgement import Emulated, beside, core_of, require_judge

BOARD, CORE = board_run.BOARD, board_run.CORE
INSTRUCTIONS = 1_000_000
LIBRARIES = ("bearssl", "mbedtls36", "wolfssl", "monocypher", "p256-m", "micro-ecc")


@pytest.fixture
def recorded() -> Run:
    """The committed run of a board."""
    return open_run(board_run.RUN, board_run.FOLDER)


def weights(case: str) -> tuple[int, int, int]:
    """What a case has of taken branches, of those by a register, and of lines that the flash's cache lacks."""
    seed = sum(case.encode())
    return 60_000 + 1_000 * (seed % 37), 9_000 + 500 * (seed % 17), 20_000 + 900 * (seed % 23)


def cycles_of(case: str, refill: int, register: int, waits: int) -> int:
    branches, by_register, lines = weights(case)
    return INSTRUCTIONS + refill * branches + register * by_register + waits * lines


def emulate(case: Case, tables: Mapping[str, str]) -> Emulated:
    """An emulated machine that takes no time, and whose model reads three numbers of the table."""
    (measure,) = case.measures
    samples = tuple(
        Sample(
            type="sample",
            measure=measure,
            place="mcu",
            index=index,
            phase="sample" if index else "first",
            begin=0,
            end=INSTRUCTIONS + 5,
            count=INSTRUCTIONS,
        )
        for index in range(case.calls)
    )

    def predicted(core: str) -> PredictedCase:
        def number(key: str) -> int:
            found = re.search(rf"^{key} (\d+)$", tables[core], re.MULTILINE)
            return int(found[1]) if found else 0

        cycles = cycles_of(case.id, number("number refill"), number("number refill_register"), number("memory wait"))
        layer = LayerCycles(
            layer="program",
            instructions=INSTRUCTIONS,
            cycles=[cycles, 0, 0, 0, 0, 0],
            outside=0,
            outside_instructions=0,
            vector_instructions=0,
            vector_cycles=0,
        )
        events = Events(**dict.fromkeys(Events.model_fields, 0))
        made = [
            PredictedSample(
                measure=measure,
                place="mcu",
                phase=one.phase,
                index=one.index,
                instructions=INSTRUCTIONS,
                layers=[layer],
                events=events,
            )
            for one in samples
        ]
        return PredictedCase(case=case.id, samples=made)

    return Emulated({(measure, "mcu"): samples}, predicted)


def planted(libraries: tuple[str, ...] = LIBRARIES, refill: int = 2, register: int = 3, waits: int = 4) -> Reading:
    """A board's cycles with planted numbers, of two operations of each library."""
    rows = []
    for library in libraries:
        for operation in ("sign", "verify"):
            row = board_row(BOARD, library, operation)
            cycles = cycles_of(row.case, refill, register, waits)
            middle = {"median": float(cycles), "min": cycles, "max": cycles, "unit": CYCLES}
            rows.append(row.model_copy(update=middle))
    return board_reading(rows)


def fitted(recorded: Run, of: Reading, *wanted: str) -> CoreFit:
    return fit(recorded, of, CORE, wanted, emulate)


# --- judging ---


def test_a_run_stands_beside_count_and_prediction(recorded: Run) -> None:
    """If this fails, cycles, instructions or the prediction stand in another column or row."""
    lines = beside(recorded, planted(), CORE, emulate, load_errors())
    assert len(lines) == 2 * len(LIBRARIES)
    first = lines[0]
    assert first.instructions == INSTRUCTIONS
    # As the board's reset leaves it: no wait states.
    assert first.estimate.cycles == cycles_of(first.case.id, 1, 2, 0)
    assert first.error == pytest.approx(100 * (first.estimate.cycles / first.row.median - 1))
    section = judgement_report.judged_section(recorded, lines)
    assert section.table
    assert section.table.rows[0][3] == f"{first.row.median:,.0f}"
    assert section.table.rows[0][5] == "1,000,000"
    assert section.table.rows[0][-1] == f"{first.error:+.1f}"
    assert "no counter of instructions" in " ".join(section.notes)
    written = next(csv.DictReader(io.StringIO(judgement_report.judged_csv(lines))))
    assert (written["instructions"], written["measured_cycles"]) == ("1000000.0", str(first.row.median))
    assert f'"off_percent": {first.error!r}' in judgement_report.judged_json(recorded, lines)


def test_the_processors_own_counter_checks_the_emulator(recorded: Run) -> None:
    """If this fails, an emulator that counts wrong looks right."""
    of = planted()
    counted: dict[str, Any] = {
        "calls": 4,
        "switched": 0,
        "migrated": 0,
        "clocked": 0,
        "instructions": 900.0,
        "emulated": 900.0,
    }
    hosted = [HostCase(case=row.case, measure=row.measure, differing=0, **counted) for row in of.rows]
    lines = beside(recorded, of.model_copy(update={"hosted": tuple(hosted)}), CORE, emulate, ErrorLines())
    assert {(line.instructions, line.own, line.agrees) for line in lines} == {(900.0, 900.0, True)}
    assert "agrees with the emulator in all 12" in judgement_report.emulator_note(lines)
    table = judgement_report.judged_section(recorded, lines).table
    assert table and table.headers[6] == "own count\ninstr"
    # The medians are equal, and one sample is not.
    hosted[0] = hosted[0].model_copy(update={"differing": 1})
    lines = beside(recorded, of.model_copy(update={"hosted": tuple(hosted)}), CORE, emulate, ErrorLines())
    assert f"THE EMULATOR IS WRONG, or the program another one, in 1 of 12: {of.rows[0].case}" in (
        judgement_report.emulator_note(lines)
    )


def test_wait_states_are_those_of_the_runs_clock(recorded: Run) -> None:
    """If this fails, a board at its full clock is predicted as if its flash never waited."""
    clock = ChipClock(name="180MHz", hertz=180_000_000, words="180 MHz")
    fast = replace(recorded, manifest=recorded.manifest.model_copy(update={"chip_clock": clock}))
    (after_reset, *_), (full, *_) = (beside(run, planted(), CORE, emulate, ErrorLines()) for run in (recorded, fast))
    assert after_reset.estimate.cycles == cycles_of(full.case.id, 1, 2, 0)
    assert full.estimate.cycles == cycles_of(full.case.id, 1, 2, 5)
    assert fit(fast, planted(), CORE, [WAITS], emulate).before == {WAITS: 5}


def test_the_committed_run_says_what_it_is(recorded: Run) -> None:
    """If this fails, figures of a model pass for those of a chip."""
    assert recorded.manifest.unit == CYCLES
    assert recorded.manifest.title.startswith("SYNTHETIC")
    found = read_run(recorded)
    require_judge(recorded, found)
    assert len(found.rows) == 18 and not found.failed
    assert core_of(recorded, BOARD, None) == CORE


# --- fitting ---


def test_planted_numbers_come_back(recorded: Run) -> None:
    """If this fails, a fit finds other numbers than those that made the cycles."""
    found = fitted(recorded, planted())
    assert found.before == {"refill": 1, "refill_register": 2, WAITS: 0}
    assert found.after == {"refill": 2, "refill_register": 3, WAITS: 4}
    assert found.undetermined == ()
    assert found.tried == 3 * 3 * 8
    assert found.errors(held_out=True).worst_after == 0 < found.errors(held_out=True).mean_before
    text = " ".join(note for one in judgement_report.fit_sections(recorded, found) for note in one.notes)
    assert "0.0 % after" in text and "72 combinations" in text


def test_half_is_held_out_and_never_seen(recorded: Run) -> None:
    """If this fails, the half that judges a fit was fitted to."""
    of = planted()
    out = held_out([row.case for row in of.rows])
    assert len(out) == len(of.rows) // 2
    assert out == held_out([row.case for row in reversed(of.rows)])
    rows = [row.model_copy(update={"median": row.median * 3}) if row.case in out else row for row in of.rows]
    found = fitted(recorded, of.model_copy(update={"rows": tuple(rows)}))
    assert found.after == {"refill": 2, "refill_register": 3, WAITS: 4}
    assert {one.row.case for one in found.half(held_out=True)} == out


def test_what_the_cases_do_not_determine_stays(recorded: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a number that no cycle depends on is fitted to noise."""
    monkeypatch.setattr("test_calibration.weights", lambda _: (70_000, 0, 30_000))
    found = fitted(recorded, planted(waits=1))
    assert found.undetermined == ("refill_register",)
    assert found.changed == {"refill": 2, WAITS: 1}


def test_one_number_can_be_fitted_alone(recorded: Run) -> None:
    found = fitted(recorded, planted(refill=1, register=2), WAITS)
    assert (found.after, found.tried) == ({WAITS: 4}, 8)


def test_the_fitted_cores_file_says_where_it_comes_from(
    recorded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a fitted number stands in a core's file without its run, its halves or their errors."""
    found = fitted(recorded, planted())
    text = fitted_core(found, found.calibration(recorded))
    path = tmp_path / "cortex-m4-mine.toml"
    path.write_text(text)
    core = parse(Core, text, path)
    assert core.model and core.calibration
    assert core.model.numbers["refill"].value == 2
    assert recorded.id in core.model.numbers["refill"].source
    assert core.calibration.run == recorded.id
    assert core.calibration.changed == found.changed
    assert len(core.calibration.fitted_on) == len(core.calibration.held_out) == 6
    assert core.calibration.errors_held_out.mean_after == 0
    # Nothing else is another now.
    own = load_core(CORE).model
    assert own and {name for name in own.numbers if own.numbers[name] != core.model.numbers[name]} == {
        "refill",
        "refill_register",
    }
    assert not provenance.wrong_sources(path)
    # It is a core like any other, on its board with its wait states.
    for name in ("cortex-m4", "cortex-m3"):
        (tmp_path / f"{name}.toml").write_text((paths.CORES / f"{name}.toml").read_text())
    load_core.cache_clear()
    monkeypatch.setattr(paths, "CORES", tmp_path)
    try:
        case = Case(BOARD, "bearssl", "O2", "sha256", 3, 0, (("size", "1KiB"),))
        tables = cores.cores_of(case, cores.tables(["cortex-m4-mine"]))
        assert "memory wait 4\n" in tables["cortex-m4-mine"]
        assert core_of(recorded, BOARD, "cortex-m4-mine") == "cortex-m4-mine"
        with pytest.raises(WorldwiseError, match="was fitted on nucleo-f446re"):
            core_of(recorded, "olimex-stm32-h405", "cortex-m4-mine")
    finally:
        monkeypatch.undo()
        load_core.cache_clear()


# --- what must not be fitted ---


def test_what_must_not_be_fitted_is_refused(recorded: Run) -> None:
    """If this fails, a fit is made of what can say nothing."""
    few = planted(LIBRARIES[:3])
    with pytest.raises(WorldwiseError, match=r"has 6 cases .* 3 numbers .* need 4 of each"):
        fitted(recorded, few)
    assert fitted(recorded, few, WAITS)
    short = few.model_copy(update={"rows": tuple(row.model_copy(update={"median": 900.0}) for row in few.rows)})
    with pytest.raises(WorldwiseError, match="has 0 cases of 2,000 cycles or more"):
        fitted(recorded, short, WAITS)
    with pytest.raises(WorldwiseError, match=r"--fit wide_group: neither .* declares it fittable"):
        ranges_of(CORE, BOARD, ["wide_group"])
    with pytest.raises(WorldwiseError, match="only a board's core can be fitted"):
        ranges_of("cortex-a72", "linux-armv8", [])
    with pytest.raises(WorldwiseError, match="whose core is a Cortex-M4, not a Cortex-M3"):
        core_of(recorded, BOARD, "cortex-m3")
    with pytest.raises(WorldwiseError, match="nothing says which core it was"):
        core_of(recorded, "linux-armv8", None)


def test_a_run_that_cannot_judge_is_refused(recorded: Run, whole_run: Run) -> None:
    """If this fails, instructions are taken for cycles, or two boards for one."""
    with pytest.raises(WorldwiseError, match="has instructions; cycles of silicon alone"):
        require_judge(whole_run, read_run(whole_run))
    of = planted()
    mixed = (of.rows[0].model_copy(update={"unit": "nanoseconds"}), *of.rows[1:])
    with pytest.raises(WorldwiseError, match="has cycles and nanoseconds"):
        require_judge(recorded, of.model_copy(update={"rows": mixed}))
    two = (of.rows[0].model_copy(update={"target": "microbit"}), *of.rows[1:])
    with pytest.raises(WorldwiseError, match="several machines: microbit, nucleo-f446re"):
        require_judge(recorded, of.model_copy(update={"rows": two}))
    with pytest.raises(WorldwiseError, match="no complete case"):
        require_judge(recorded, of.model_copy(update={"rows": ()}))


def test_a_fit_that_is_worth_nothing_is_not_written(recorded: Run) -> None:
    """If this fails, a core's file is written that predicts worse, or as before."""
    with pytest.raises(WorldwiseError, match="nothing is written"):
        fitted(recorded, planted(refill=1, register=2, waits=0)).require_better()
    of = planted()
    out = held_out([row.case for row in of.rows])
    # The held-out half is as the core's file says already.
    rows = [
        row.model_copy(update={"median": float(cycles_of(row.case, 1, 2, 0))}) if row.case in out else row
        for row in of.rows
    ]
    with pytest.raises(WorldwiseError, match="makes the held-out cases worse"):
        fitted(recorded, of.model_copy(update={"rows": tuple(rows)})).require_better()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('refil = { least = 1, most = 3, source = "trm" }', "fittable.refil: the core has no such number"),
        ('refill = { least = 2, most = 3, source = "trm" }', "not between its bounds"),
        ('refill = { least = 3, most = 1, source = "trm" }', "'most' must be above 'least'"),
        ('refill = { least = 0, most = 99, source = "trm" }', "'most' must be above 'least'"),
        ('refill = { least = 1, most = 3, source = "hearsay" }', "begins with 'hearsay'"),
        ('refill = { least = 1, most = 3, source = "chosen: validation.toml" }', "no number may be fitted"),
        ("refill = { least = 1, most = 3 }", "source' is missing"),
    ],
)
def test_a_wrong_declaration_is_refused(line: str, problem: str) -> None:
    """If this fails, a core's file lets anything be fitted."""
    text = (paths.CORES / f"{CORE}.toml").read_text()
    changed = re.sub(r"^refill = \{ least.*$", line, text, flags=re.MULTILINE)
    assert changed != text
    with pytest.raises(WorldwiseError, match=re.escape(problem)):
        parse(Core, changed, "core.toml")


def test_what_is_declared_changes_no_table() -> None:
    """If this fails, a declaration changes predictions, and the committed validation is out of date."""
    table = table_of(CORE, BOARD)
    assert "fittable" not in table and "least" not in table
    assert Fittable(least=0, most=7, source="chosen").values() == range(8)
