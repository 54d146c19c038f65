# SPDX-License-Identifier: BSD-2-Clause
"""The blind test: its figures, what they may be used for, and the error lines that count them."""

import json
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.boards import table_of
from worldwise.predict.domains import Domain
from worldwise.predict.errors import ErrorLines, load_errors
from worldwise.validation.blind_test import results
from worldwise.validation.blind_test.report_tables import blind_section
from worldwise.validation.blind_test.results import BLIND, BlindFigures, Engine, kept_blind, load_blind, of_today
from worldwise.validation.record import engine_digest, load_run, table_digest
from worldwise.validation.statistics import Judge, error_lines, errors_of

SOURCE = """
[test]
commit = "6a500a3"
made = "2026-11-24"
engine = "{digest}"
[test.cores]
cortex-m4 = "{digest}"
[[source]]
id = "code"
code = "somewhere"
figures = "there"
[[set]]
source = "code"
core = "cortex-m4"
code = "integer"
by = "assembly"
waits = 0
role = "{role}"
figures = [["one", 100, 99], ["two", 200.5, 210], ["three", 300]]
"""


AGAIN = {"cortex-m3", "cortex-m33", "cortex-m4", "cortex-a72", "cortex-a76", "neoverse-n1"}


def written(path: Path, role: str = "judge", **changes: str) -> Path:
    text = SOURCE.format(digest="0" * 64, role=role)
    for old, new in changes.items():
        text = text.replace(old, new)
    file = path / "blind.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_what_the_test_has() -> None:
    """If this fails, a figure of the blind test is lost, or is there that nobody predicted."""
    found = kept_blind()
    roles = {role: sum(len(one.predicted) for one in found.set if one.role == role) for role in ("judge", "calibrate")}
    assert roles == {"judge": 135 + 99 + 10, "calibrate": 115}
    assert sum(len(one.figures) for one in found.set) == 265 + 99 + 10
    assert sum(len(one.predicted) for one in found.set if one.test == "52e336d2") == 99
    assert sum(len(one.predicted) for one in found.set if one.test == "6c71c546") == 10
    # Those of a core of which there was no model at the first test.
    assert {one.core for one in found.set if not one.predicted} == {"cortex-a78"}


def test_figures_of_the_blind_test_are_read_and_checked(tmp_path: Path) -> None:
    """If this fails, a figure that cannot be is in an error line."""
    (one,) = load_blind(written(tmp_path)).set
    assert one.predicted == [("one", 99.0, 100.0), ("two", 210.0, 200.5)]
    assert one.domain == Domain("integer", False, "assembly")
    for old, new, said in (
        ('source = "code"', 'source = "none"', "is not a source"),
        ('core = "cortex-m4"', 'core = "cortex-m3"', "no digest of its table"),
        ('[["one", 100, 99]', "[[100, 99]", "a figure is its name"),
        ('["two"', '["one"', "there twice"),
        ('"judge"', '"both"', "role"),
        ("waits = 0", 'test = "1234567"\nwaits = 0', "no later test"),
        ("100, 99", "100, -99", "figures"),
    ):
        with pytest.raises(WorldwiseError, match=said):
            load_blind(written(tmp_path, **{old: new}))


def test_nothing_is_fitted_to_what_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a core is judged by the figures that it was made for."""
    assert results.broken(kept_blind()) == []
    monkeypatch.setattr(paths, "CORES", tmp_path)
    judge = load_blind(written(tmp_path))
    may = load_blind(written(tmp_path, "calibrate"))
    assert results.judging(may) == may.set
    (tmp_path / "cortex-m4.toml").write_text('source = "code: the figure of one"\n', encoding="utf-8")
    assert results.broken(judge) == ["cortex-m4: code"]
    # From here on these say nothing of the core.
    assert results.judging(may) == []


def test_predictions_that_cannot_be_made_again_are_said_to_be_of_the_old_engine() -> None:
    """If this fails, a rule that has changed is told to be as good as the one before it."""
    lines = ErrorLines.model_validate_json(error_lines(load_run(), kept_blind()))
    line = lines.line("cortex-m0", Domain("integer", False, "assembly"))
    assert line and not line.old
    assert "26 held-out figures, all blind, by the engine of 6a500a3; 90 %" in line.text()
    found = kept_blind()
    cores = found.test.cores | {"cortex-m0plus": "0" * 64}
    changed = found.model_copy(update={"test": found.test.model_copy(update={"cores": cores})})
    lines = ErrorLines.model_validate_json(error_lines(load_run(), changed))
    assert {one.core for one in lines.lines if one.old} == {"cortex-m0plus"}
    assert {one.core for one in lines.lines if one.again} == AGAIN
    line = lines.line("cortex-m0plus", Domain("integer", False, "assembly"))
    assert line
    assert "by the engine of 6a500a3, which has changed since: they cannot be predicted again here" in line.text()
    other = found.model_copy(update={"test": found.test.model_copy(update={"behaviour": {}}), "again": None})
    lines = ErrorLines.model_validate_json(error_lines(load_run(), other))
    assert {one.core for one in lines.lines if one.old} == {one.core for one in lines.lines if one.blind > one.newer}


def test_what_is_predicted_again_is_of_todays_engine_or_the_lines_say_that_it_is_old() -> None:
    """If this fails, a rule was changed, and a line still has what was predicted before it."""
    found = kept_blind()
    assert found.again
    today = {core for core in AGAIN if found.again.cores[core] == table_digest(table_of(core))}
    if found.again.engine != engine_digest():
        engine = json.loads(results.ENGINE.read_text(encoding="utf-8"))
        assert engine["engine"] == engine_digest()
        today = {core for core in today if engine["cores"][core] == found.again.behaviour[core]}
    for line in (line for line in load_errors().lines if line.core in AGAIN and line.blind):
        assert (line.again, line.old) == (line.core in today, line.core not in today)
        assert ("predicted again by today's engine" in line.text()) == line.again


def test_a_number_that_is_predicted_again_counts_only_where_it_is_of_todays_engine() -> None:
    """If this fails, a line is made of what an engine said that is no more, or of numbers that nobody needs."""
    found = kept_blind()
    assert found.again
    assert of_today(found, found.test.cores) == AGAIN
    # Another table; another engine that does something else, and one that does the same with the M4.
    other = found.again.model_copy(update={"cores": found.again.cores | {"cortex-m3": "0" * 64}})
    assert of_today(found.model_copy(update={"again": other}), AGAIN) == AGAIN - {"cortex-m3"}
    other = found.again.model_copy(update={"engine": "0" * 64, "behaviour": {}})
    newer = found.model_copy(update={"again": other})
    assert of_today(newer, AGAIN) == set()
    same = other.model_copy(update={"behaviour": {"cortex-m4": "4" * 64}})
    engine = Engine(engine=engine_digest(), cores=dict.fromkeys(AGAIN, "4" * 64))
    assert of_today(found.model_copy(update={"again": same}), AGAIN, engine) == {"cortex-m4"}
    # A core of which the blind test's engine says the same as today's needs none.
    test = found.test.model_copy(update={"engine": engine_digest()})
    test = test.model_copy(update={"cores": test.cores | {"cortex-m4": table_digest(table_of("cortex-m4"))}})
    assert of_today(found.model_copy(update={"test": test}), AGAIN) == AGAIN - {"cortex-m4"}
    # The lines have the first predictions then, and say so.
    lines = ErrorLines.model_validate_json(error_lines(load_run(), newer))
    line = lines.exact("cortex-m3", "integer-no-waits-assembly")
    assert line and line.old and not line.again and line.worst == 4.64
    line = load_errors().exact("cortex-m3", "integer-no-waits-assembly")
    assert line and line.again and not line.old and line.worst == 2.83
    assert (
        "27 held-out figures, all of the blind test, predicted again by today's engine; its rules may have been chosen "
        "by 12, so median and 90 % are the larger of all figures' and of the others'; 90 %" in line.text()
    )
    line = load_errors().exact("cortex-m33", "integer-no-waits-assembly")
    assert line and "8 of the blind test, predicted again by today's engine, whose makers had seen them" in line.text()


def test_a_later_test_has_an_engine_of_its_own() -> None:
    """If this fails, a figure is told to be of another engine than predicted it, or a changed engine is not told."""
    found = kept_blind()
    for test in found.later:
        assert set(test.cores) == {one.core for one in found.set if one.test == test.commit}
    assert {found.test_of(one).commit for one in found.set} == {"6a500a3", "52e336d2", "6c71c546"}
    later, newest = found.later
    other = later.model_copy(update={"cores": later.cores | {"cortex-a55": "0" * 64}})
    lines = ErrorLines.model_validate_json(error_lines(load_run(), found.model_copy(update={"later": [other, newest]})))
    line = lines.line("cortex-a55", Domain("neon", None, "assembly"))
    assert line and line.newer_old
    assert "all blind, by the engine of 52e336d2, which has changed since" in line.text()
    table = blind_section(found, later).table
    assert table and sum(int(row[2]) for row in table.rows) == 99


def test_all_of_a_cores_figures_are_predicted_again_or_none(tmp_path: Path) -> None:
    """If this fails, those that came out better can be chosen."""
    digest = "1" * 64
    again = f'[again]\nmade = "then"\nengine = "{digest}"\ncompiler = "one"\n[again.cores]\ncortex-m4 = "{digest}"\n'
    source = "\n[[source]]"
    with pytest.raises(WorldwiseError, match="0 figures are predicted again, not 2"):
        load_blind(written(tmp_path, **{source: f"\n{again}{source}"}))
    with pytest.raises(WorldwiseError, match="1 figures are predicted again, not 0"):
        load_blind(written(tmp_path, **{"100, 99": "100, 99, 98"}))
    found = load_blind(
        written(tmp_path, **{source: f"\n{again}{source}", "100, 99": "100, 99, 98", "200.5, 210": "200.5, 210, 200"})
    )
    assert found.set[0].again == [("one", 98.0, 100.0), ("two", 200.0, 200.5)]
    assert found.set[0].predicted == [("one", 99.0, 100.0), ("two", 210.0, 200.5)]


def test_figures_by_which_a_rule_was_chosen_make_no_line_better() -> None:
    """If this fails, a median is of figures that the rules were made for."""

    def judge(error: float, calibrating: bool, again: bool = True) -> Judge:
        return Judge("cortex-m4", Domain("integer", False, "assembly"), 100 + error, 100, "", calibrating, again)

    others = [judge(error, calibrating=False) for error in (1, 2, 3)]
    near = [judge(0, calibrating=True) for _ in range(5)]
    assert errors_of([*others, *near]).median == pytest.approx(2)
    assert errors_of([*others, *near]).figures == 8
    far = [judge(9, calibrating=True) for _ in range(5)]
    assert errors_of([*others, *far]).median == pytest.approx(9)
    # Blind ones chose nothing.
    assert errors_of([*others, *(judge(0, calibrating=True, again=False) for _ in range(5))]).median == 0


def test_a_line_needs_figures_that_only_judge() -> None:
    """If this fails, floating point on an A72 is validated by the figures to which the core may be fitted."""
    errors = load_errors()
    assert errors.line("cortex-a72", Domain("float", None, "compiled")) is None
    # The A72 was fitted to those of floating point that there were, so that they are in no line.
    assert errors.unvalidated("cortex-a72", Domain("float", None, "compiled")).startswith(
        "unvalidated: no held-out figure of compiled floating-point code; its "
    )
    assert errors.unvalidated("cortex-m3", Domain("integer", True, "assembly")) == (
        "unvalidated: its 12 blind figures of such or like code, predicted again, to which the core may be fitted, are "
        "off by 3.78 % in the median, 8.19 % at worst"
    )
    # Figures of the first test that the A55 may be fitted to are in none; those of a later one judge it.
    line = errors.line("cortex-a55", Domain("neon", None, "assembly"))
    assert line and (line.figures, line.blind, line.newer, line.calibrating) == (13, 13, 13, 0)
    assert "13 held-out figures, all blind, by the engine of 52e336d2; 90 %" in line.text()
    line = errors.line("cortex-a76", Domain("neon", None, "assembly"))
    assert line and (
        "9 of the blind test, predicted again by today's engine, whose makers had seen them; 9 blind, by the engine of "
        "52e336d2; 90 %" in line.text()
    )
    line = errors.line("cortex-m4", Domain("integer", False, "compiled"))
    assert line and line.joined.startswith("assembly and compiled code joined, for no figure is of compiled")
    # Code that waits has no line of code that does not.
    assert errors.line("cortex-m33", Domain("integer", True, "compiled")) is None


def test_the_table_of_the_blind_test_is_of_all_its_figures() -> None:
    """If this fails, the figures that were predicted worst are not in the table."""
    table = blind_section(load_blind(BLIND)).table
    assert table and sum(int(row[2]) for row in table.rows) == 250
    assert ["cortex-a72", "float-compiled", "8", "27.0", "43.7", "43.7", "-23.7", "0"] in table.rows
    assert json.dumps(table.rows)


def test_a_test_without_figures_makes_no_line() -> None:
    nothing = BlindFigures(test=kept_blind().test, source=[], set=[])
    lines = ErrorLines.model_validate_json(error_lines(load_run(), nothing))
    assert not [one for one in lines.lines if one.blind]
    assert lines.line("cortex-m0plus", Domain("integer", False)) is None
