# SPDX-License-Identifier: BSD-2-Clause
"""Predictions against hardware: the figures, the statistics, and the run that the repository keeps."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.validation import measurement, provenance, record
from worldwise.validation.bench import CellBench, ExecutedBlock, read_passes
from worldwise.validation.blind_test.results import BlindFigures, kept_blind
from worldwise.validation.cells import CORES, MCU_CORES, Cell, CellCall, call_of, cell_tables, cells, left_out, why_not
from worldwise.validation.code import CALL, Code, as_branch, is_vector, weighted
from worldwise.validation.figures import SETS, load_figures
from worldwise.validation.kept_files import (
    BEGIN,
    BEGIN_BLIND,
    BLIND_PAGE,
    END,
    PAGE,
    blind_page_with,
    page_with,
    run_files,
)
from worldwise.validation.programs import PROGRAMS
from worldwise.validation.record import (
    MEASURED,
    FigureRow,
    Made,
    Run,
    dump_run,
    error_of,
    interquartile_mean,
    load_run,
    out_of_date,
)
from worldwise.validation.report import markdown, sections
from worldwise.validation.statistics import alternatives, best_flat, by_core_and_kind, error_lines, errors

ROW = FigureRow(
    core="cortex-a53",
    which="validation",
    source="lib25519-20260614",
    what="pow_inv25519 ref10",
    file="benchmarks/a53-pi3aplus",
    compiler="gcc 12.2.0 -O2",
    program="lib25519-a53",
    operation="pow_inv25519",
    length=32,
    implementation="ref10",
    hardware=1000.0,
    cycles=(1500, 1090, 1100, 1100, 1110),
    instructions=800,
    causes=(1100, 0, 0, 0, 0, 0),
    outside=0,
    vector=0.0,
    mca=900.0,
    checksum="1",
)


# A blind test of nothing that has an error line.
NO_BLIND = BlindFigures(test=kept_blind().test, source=[], set=[])


def run_of(*rows: FigureRow) -> Run:
    digest = "0" * 64
    return Run(made=Made(engine=digest, cores={}, figures={}, programs={}), rows=rows)


def with_hardware(*values: float, **changes: object) -> list[FigureRow]:
    return [ROW.model_copy(update={"hardware": value, **changes}) for value in values]


def test_the_two_sets_have_no_figure_in_common() -> None:
    calibration, validation = load_figures("calibration"), load_figures("validation")
    assert (len(calibration), len(validation)) == (160, 663)
    assert not {figure.key for figure in calibration} & {figure.key for figure in validation}
    # Not even the same operation of the same library.
    named = [{(one.source, one.what) for one in figures} for figures in (calibration, validation)]
    assert not named[0] & named[1]


def test_every_figure_of_the_four_cores_is_called_by_a_program() -> None:
    for which, expected in (("calibration", 69), ("validation", 547)):
        found = cells((which,), CORES)  # type: ignore[arg-type]
        assert len(found) == expected == sum(one.core in CORES for one in load_figures(which))  # type: ignore[arg-type]
        assert {cell.call.program for cell in found} <= set(PROGRAMS)
    # A call belongs to one figure of a core.
    assert max(Counter((cell.figure.core, cell.call) for cell in cells()).values()) == 1


def test_a_figure_has_a_call_or_a_reason_why_not() -> None:
    """If this fails, a figure is left out and nobody is told why."""
    every = [one for which in SETS for one in load_figures(which)]
    assert not [one for one in every if bool(call_of(one)) == bool(why_not(one))]
    assert sum(left_out().values()) + len(cells()) == len(every)
    assert not {core for core, _ in left_out()} & set(CORES)


def test_how_many_figures_of_each_microcontroller_are_compared() -> None:
    found = {which: Counter(cell.figure.core for cell in cells((which,), MCU_CORES)) for which in SETS}
    assert found["calibration"] == {"cortex-m0": 17, "cortex-m3": 19, "cortex-m4": 24}
    assert found["validation"] == {"cortex-m4": 13, "cortex-m7": 15, "cortex-m33": 4}


def test_figures_become_cycles_of_their_call() -> None:
    found = {(cell.call.program, cell.call.operation): cell.cycles for cell in cells(cores=MCU_CORES)}
    # Cycles a byte, of 1,024; microseconds at 180 MHz; milliseconds at 100 MHz; cycles.
    assert found["wolfssl-h753", "chacha20"] == pytest.approx(15.97 * 1024)
    assert found["c25519-cortex-m4", "sign"] == 298_720 * 180
    assert found["p256-m", "p256_ecdsa_verify"] == 309 * 100_000
    assert found["cifra-m0", "curve25519_test"] == 4_070_271


def test_a_table_has_the_flash_of_the_figures_board() -> None:
    found = cell_tables()
    assert {name for name in found if "wait" in name} == {
        "cortex-m3 with 2 wait states of nucleo-f103rb",
        "cortex-m4 with 3 wait states of nucleo-f446re",
        "cortex-m4 with 5 wait states of nucleo-f446re",
        "cortex-m4 with 5 wait states of olimex-stm32-h405",
    }
    assert "memory wait 3\n" in found["cortex-m4 with 3 wait states of nucleo-f446re"]
    assert "memory" not in found["cortex-m4"]
    assert set(found) >= {*CORES, *MCU_CORES}


def test_lines_of_microcontrollers_tell_waits_and_assembly_apart() -> None:
    mcu = {"core": "cortex-m4", "implementation": "compiled", "mca": None}
    rows = [
        *with_hardware(1000.0, **mcu, waits=5),
        *with_hardware(880.0, **mcu | {"implementation": "assembly"}, waits=0),
    ]
    found = by_core_and_kind(run_of(*rows))
    figures = {kind: (one.figures, one.worst) for (_, kind), one in found.items()}
    assert figures["integer-waits"] == figures["integer-waits-compiled"] == (1, 10.0)
    assert figures["integer-no-waits"] == figures["integer-no-waits-assembly"] == (1, 25.0)
    # A core of the A profile has no such kind.
    assert not [kind for _, kind in by_core_and_kind(run_of(ROW)) if "waits" in kind]
    # Without calibration figures and a model of LLVM's there are two ways.
    assert [way for _, way in alternatives(run_of(*rows))] == ["1 cycle per instruction", "this model"]


def test_a_core_without_held_out_figures_has_a_line_of_what_is_known() -> None:
    rows = [*with_hardware(1000.0), *with_hardware(1000.0, 1100.0, core="cortex-a7", which="calibration")]
    lines = json.loads(error_lines(run_of(*rows), NO_BLIND))["lines"]
    # 1,100 predicted and 1,000 measured; and one that is exact.
    took = {"bias": 5.0, "low": 0, "least": 0.909, "most": 1.0, "lowest": 0.909, "highest": 1.0}
    assert [line for line in lines if line["kind"] == "fitted"] == [
        {"core": "cortex-a7", "kind": "fitted", "figures": 2, "median": 5.0, "p90": 10.0, "worst": 10.0} | took
    ]


def test_a_call_alone_is_the_prediction() -> None:
    assert ROW.model_copy(update={"cycles": (1500,)}).predicted == 1500


def test_code_is_cut_into_instructions(tmp_path: Path) -> None:
    """T32: nop; bl and push of many, which are wide; bx lr. A64 has but one size."""
    content = bytes.fromhex("00bf fff7feff 2de9f04f 7047 1f2003d5")
    thumb, a64 = Code.__new__(Code), Code.__new__(Code)
    for code, is_a64 in ((thumb, False), (a64, True)):
        code.is_a64, code.segments, code.name = is_a64, [(0x100, content)], tmp_path
    assert [part.hex() for part in thumb.instructions((0x100, 4))] == ["00bf", "fff7feff", "2de9f04f", "7047"]
    assert thumb.words((0x10A, 1)) == (0x4770,)
    assert a64.words((0x10C, 1)) == (0xD503201F,)
    for place in ((0x10E, 3), (0x98, 1)):
        with pytest.raises(WorldwiseError, match="no code"):
            thumb.instructions(place)


@pytest.mark.parametrize(("call", "branch"), [("bl\t", "b\t"), ("blr\t", "br\t"), ("blx\t", "bx\t")])
def test_a_branch_stands_for_a_call(call: str, branch: str) -> None:
    assert CALL.sub(as_branch, call) == branch
    assert CALL.sub(as_branch, "blt\t") == "blt\t"


def test_no_number_of_a_core_was_fitted_to_what_judges() -> None:
    assert not [wrong for path in provenance.core_files() for wrong in provenance.wrong_sources(path)]


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("fitted: calibration.toml pow_inv25519 ref10", False),
        ("fitted: validation.toml", True),
        ("fitted: nP_montgomery25519 donna_c64", True),
        ("LLVM 19.1.7, AArch64SchedA53.td", False),
    ],
)
def test_a_source_that_names_what_judges_is_found(tmp_path: Path, source: str, wrong: bool) -> None:
    path = tmp_path / "cortex-x.toml"
    path.write_text(f'[model.numbers]\nwindow = {{ value = 3, source = "{source}" }}\n')
    assert bool(provenance.wrong_sources(path)) == wrong


def test_held_out_names_are_operations_of_held_out_figures_alone() -> None:
    names = provenance.held_out_names()
    assert {"nP_montgomery25519", "multiscalar_ed25519", "core_invsntrup761", "validation.toml"} <= names
    assert "pow_inv25519" not in names


def test_statistics_of_errors() -> None:
    found = errors((100 + error, 100) for error in (-10.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0))
    assert (found.figures, found.median, found.p90, found.worst, found.bias) == (10, 5.5, 9.0, 10.0, 3.5)
    # Of 109 that were predicted hardware took 100, of 90 too: outwards at the fourth decimal.
    assert (found.least, found.most) == (0.9174, 1.1112)
    low = errors([(97.5, 100)])
    high = errors([(102.5, 100)])
    assert replace(low, bias=2.5, least=0.9756, most=1.0, lowest=0.9756, highest=1.0, low=0) == high
    # The model itself is never outside.
    assert (low.least, low.most) == (1.0, 1.0257)


def test_the_prediction_is_the_mean_of_the_middle_half_of_the_warm_calls() -> None:
    assert interquartile_mean((4, 1, 3, 100)) == 3.5
    assert interquartile_mean((7,)) == 7
    assert ROW.predicted == 1100
    assert ROW.error == pytest.approx(10.0)


def test_the_flat_number_is_that_of_the_least_median_error() -> None:
    # 1.0, 1.1 and 1.2 cycles per instruction, and one that is far away.
    assert best_flat(with_hardware(800.0, 880.0, 960.0, 8000.0)) == pytest.approx(1.1)


def test_error_lines_are_of_held_out_figures_by_core_and_kind() -> None:
    rows = [
        *with_hardware(1000.0, 1100.0),
        *with_hardware(880.0, vector=30.0),
        *with_hardware(1.0, which="calibration"),
    ]
    found = json.loads(error_lines(run_of(*rows), NO_BLIND))
    lines = {line["kind"]: line for line in found["lines"]}
    assert found["format"] == 1
    assert lines["all"] == {
        "core": "cortex-a53",
        "kind": "all",
        "figures": 3,
        "median": 10.0,
        "p90": 25.0,
        "worst": 25.0,
        "bias": 11.67,
        "low": 0,
        "least": 0.8,
        "most": 1.0,
        "lowest": 0.8,
        "highest": 1.0,
        "assembly": 0,
        "shortest": 880,
    }
    assert (lines["integer"]["figures"], lines["neon"]["figures"], lines["neon-compiled"]["median"]) == (2, 1, 25.0)
    assert [(line["core"], line["kind"]) for line in found["lines"]] == sorted(by_core_and_kind(run_of(*rows)))


def test_ways_are_compared_on_the_same_figures() -> None:
    fitted = with_hardware(1600.0, which="calibration")
    found = alternatives(run_of(*with_hardware(1000.0), *fitted))
    assert {way: round(one.median, 6) for (_, way), one in found.items()} == {
        "1 cycle per instruction": 20.0,
        "2.00 cycles per instruction (fitted)": 60.0,
        "llvm-mca per block": 10.0,
        "this model": 10.0,
    }


def test_a_run_without_figures_has_tables_without_rows() -> None:
    found = {one.name: one.table.rows for one in sections(run_of(), every=True) if one.table}
    # What the blind test gave is there all the same.
    blind = {"blind", "blind-52e336d2", "blind-6c71c546", "blind-again", "blind-changed"}
    assert {name for name, rows in found.items() if rows} == {"errors", *blind}
    assert found["ways"] == found["calibration"] == []
    assert "x25519" not in markdown(run_of(ROW))


def test_what_is_left_out_is_told_with_its_reason() -> None:
    said = next(section.notes for section in sections(run_of()) if section.name == "left-out")
    assert {why for _, why in left_out()} == {note.rpartition(" (")[0] for note in said}
    assert "p256-m on the STM32F091: no file here describes the flash of that board (cortex-m0 4)." in said


def test_each_figure_has_a_row_with_all_ways() -> None:
    found = sections(run_of(ROW), every=True)[-1]
    assert found.table
    assert found.table.rows == [
        [
            "pow_inv25519 ref10",
            "gcc 12.2.0",
            "held out",
            "integer",
            "1,000",
            "1,100",
            "+10.0",
            "-20.0",
            "-",
            "-10.0",
        ]
    ]


@pytest.mark.parametrize(
    ("word", "vector"),
    [
        (0x9B027C20, False),  # mul x0, x1, x2
        (0xF9400000, False),  # ldr x0, [x0]
        (0xA9400400, False),  # ldp x0, x1, [x0]
        (0xFD400000, True),  # ldr d0, [x0]
        (0xAD400400, True),  # ldp q0, q1, [x0]
        (0x4E22CC20, True),  # fmla v0.4s, v1.4s, v2.4s
        (0x2E228020, True),  # umlal v0.8h, v1.8b, v2.8b
        (0x1E622820, True),  # fadd d0, d1, d2
        (0x54000000, False),  # b.eq
    ],
)
def test_which_instructions_are_simd_or_floating_point(word: int, vector: bool) -> None:
    assert is_vector(word) == vector


def test_blocks_are_weighed_with_their_passes() -> None:
    assert weighted([ExecutedBlock(8, 2, 10), ExecutedBlock(16, 1, 3)], {(8, 2): 1.5, (16, 1): 2.0}) == 21.0


def test_what_program_and_plugin_say_must_agree() -> None:
    call = CellCall("s2n", "x25519-dh", 32, "plain", "assembly")
    region = {
        "type": "region",
        "instructions": 9,
        "cores": {"c": {"cycles": 7, "causes": [7, 0, 0, 0, 0, 0], "outside_instructions": 1}},
    }
    passed = read_passes(call, 2, "x25519-dh 32 plain 2 77 assembly\n", [region, region])
    assert (passed.instructions, passed.checksum, passed.cores["c"].calls) == (9, "77", (7, 7))
    for said, regions in (("x25519-dh 32 plain 2 77 assembly", 1), ("x25519-dh 32 alt 2 77 assembly", 2), ("", 2)):
        with pytest.raises(WorldwiseError):
            read_passes(call, 2, said, [region] * regions)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = run_of(ROW)
    path = tmp_path / "run.json"
    path.write_text(dump_run(run))
    assert load_run(path) == run
    path.write_text(dump_run(run).replace('"validation"', '"both"'))
    with pytest.raises(WorldwiseError, match="which"):
        load_run(path)


def test_a_run_is_out_of_date_when_the_engine_a_core_or_a_figure_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(
        engine=record.engine_digest(),
        cores={"cortex-a53": record.table_digest("core cortex-a53\n")},
        figures=record.figures_digests(),
        programs={},
    )
    run = Run(made=made, rows=(ROW,))
    assert not out_of_date(run, {"cortex-a53": "core cortex-a53\n"})
    assert out_of_date(run, {"cortex-a53": "core cortex-a53\nnumber width 2\n"}) == ["the table of cortex-a53"]
    assert out_of_date(run, {}) == ["the table of cortex-a53"]
    monkeypatch.setattr(record, "engine_digest", lambda: "1" * 64)
    monkeypatch.setattr(record, "figures_digests", lambda: {**made.figures, "validation": "2" * 64})
    found = out_of_date(run, {"cortex-a53": "core cortex-a53\n"})
    assert found == ["the engine's sources (plugin/model, plugin/cycles)", "published/hardware/validation.toml"]


def test_only_cores_of_another_table_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a row of the kept run is of an older table, or of another cell."""
    some = [one for one in cells() if one.figure.core in ("cortex-a53", "cortex-a72") and not one.call.flash]
    kept_rows = tuple(ROW.model_copy(update={"core": one.figure.core, "what": one.figure.what}) for one in some)
    tables = {"cortex-a53": "core cortex-a53\n", "cortex-a72": "core cortex-a72\n"}
    made = Made(
        engine=record.engine_digest(),
        cores={name: record.table_digest(table) for name, table in tables.items()},
        figures=record.figures_digests(),
        programs={"p": "1" * 64, "q": "2" * 64},
    )
    kept = Run(made=made, rows=kept_rows)
    new = {**tables, "cortex-a72": "core cortex-a72\nnumber width 2\n"}

    def measured(_: CellBench, wanted: Sequence[Cell], *_rest: object) -> Run:
        rows = tuple(ROW.model_copy(update={"core": one.figure.core, "instructions": 77}) for one in wanted)
        return Run(made=made.model_copy(update={"programs": programs}), rows=rows)

    programs = {"p": "1" * 64}
    monkeypatch.setattr(measurement, "measure", measured)
    bench = CellBench(lambda _: None)
    run = measurement.measure_changed(bench, kept, some, new, 1, lambda *_: None)
    for row, old in zip(run.rows, kept_rows, strict=True):
        assert row.core == old.core
        assert (row == old) == (row.core == "cortex-a53")
        assert (row.instructions == 77) == (row.core == "cortex-a72")
    assert run.made.cores == {name: record.table_digest(table) for name, table in new.items()}
    assert run.made.programs == made.programs
    with pytest.raises(WorldwiseError, match="no core's table has changed"):
        measurement.measure_changed(bench, kept, some, tables, 1, lambda *_: None)
    programs = {"p": "3" * 64}
    with pytest.raises(WorldwiseError, match="the program p has changed"):
        measurement.measure_changed(bench, kept, some, new, 1, lambda *_: None)
    other = kept.model_copy(update={"made": made.model_copy(update={"engine": "4" * 64})})
    with pytest.raises(WorldwiseError, match="the engine or the figures have changed"):
        measurement.measure_changed(bench, other, some, new, 1, lambda *_: None)


def test_the_pages_have_a_place_for_the_tables() -> None:
    run = run_of(*with_hardware(900.0), ROW.model_copy(update={"which": "calibration"}))
    for begin, made in ((BEGIN, page_with), (BEGIN_BLIND, blind_page_with)):
        text = made(f"above\n{begin}\nold\n{END}\nbelow\n", run)
        assert "old\n" not in text
        assert text.startswith(f"above\n{begin}\n")
        assert text.endswith(f"{END}\nbelow\n")
        with pytest.raises(WorldwiseError):
            made("no place", run)


# The run that the repository keeps; `worldwise validation measure --keep` makes it anew.


def test_the_kept_run_was_made_with_the_engine_and_the_cores_that_are_there() -> None:
    assert out_of_date(load_run(), cell_tables()) == []


def test_the_kept_run_has_every_figure() -> None:
    rows = load_run().rows
    expected = [(cell.figure.core, cell.which, cell.figure.what, cell.cycles, cell.call) for cell in cells()]
    assert [(row.core, row.which, row.what, row.hardware, row.call) for row in rows] == expected


def test_all_implementations_of_an_operation_left_the_same() -> None:
    left: dict[tuple[str, int], set[str]] = {}
    for row in load_run().rows:
        if row.program.startswith("lib25519"):
            left.setdefault((row.operation, row.length), set()).add(row.checksum)
    assert {len(checksums) for checksums in left.values()} == {1}


def test_lines_plot_and_pages_come_from_the_kept_run() -> None:
    run = load_run()
    for name, content in run_files(run).items():
        assert (MEASURED / name).read_bytes() == content, name
    for page, made in ((PAGE, page_with), (BLIND_PAGE, blind_page_with)):
        text = page.read_text(encoding="utf-8")
        assert made(text, run) == text


def test_causes_add_up_to_the_last_call() -> None:
    for row in load_run().rows:
        assert sum(row.causes) == row.cycles[-1], row.what


def test_the_errors_of_the_page_follow_from_the_figures_beside_them() -> None:
    """If this fails, docs/how/models-mcu.md says an error that its own row contradicts."""
    numbers = re.compile(r"\d[\d,]*(?:\.\d+)?")
    compared = 0
    for line in (paths.REPOSITORY / "docs" / "how" / "models-mcu.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 6 or not cells[4].endswith("%"):
            continue
        hardware, predicted = ([float(one.replace(",", "")) for one in numbers.findall(cell)] for cell in cells[2:4])
        said = re.findall(r"[+-]\d+\.\d", cells[4])
        # Rows of which no figures are told, and those in thousands, which are rounded.
        if not hardware or "k" in cells[2]:
            continue
        compared += len(said)
        assert said == [f"{error_of(*pair):+.1f}" for pair in zip(predicted, hardware, strict=True)], line
    assert compared == 20


def test_c25519_is_the_same_on_both_pages() -> None:
    """If this fails, docs/use/predict.md and docs/how/models-mcu.md disagree with the kept run."""
    page = (paths.REPOSITORY / "docs" / "use" / "predict.md").read_text(encoding="utf-8")
    (said,) = [line for line in page.splitlines() if line.startswith("| c25519 on a Nucleo-F446RE")]
    rows = [row for row in load_run().rows if row.program == "c25519-cortex-m4"]
    # At 180 MHz.
    times = " and ".join(f"{row.predicted / 180_000:.1f}" for row in rows)
    off = " and ".join(f"{row.error:+.1f}" for row in rows)
    assert f"| {times} ms: {off} % |" in said
