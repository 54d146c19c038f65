# SPDX-License-Identifier: BSD-2-Clause
"""The blind test: its figures, what they may be used for, and the error lines that count them."""

import json
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.predict.domains import Domain
from worldwise.predict.errors import ErrorLines, load_errors
from worldwise.validation.blind_test import results
from worldwise.validation.blind_test.report_tables import blind_section
from worldwise.validation.blind_test.results import BLIND, BlindFigures, kept_blind, load_blind
from worldwise.validation.record import load_run
from worldwise.validation.statistics import error_lines

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
    assert roles == {"judge": 135, "calibrate": 115}
    assert sum(len(one.figures) for one in found.set) == 265
    # Those of a core of which there is no model yet.
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
    # Rules of these have changed since. The engine has too, but not what it does with the others.
    newer = {"cortex-a72", "cortex-a76", "cortex-m3", "cortex-m33", "cortex-m4", "neoverse-n1"}
    assert {one.core for one in lines.lines if one.old} == newer | {"cortex-m0plus"}
    line = lines.line("cortex-m0plus", Domain("integer", False, "assembly"))
    assert line
    assert "by the engine of 6a500a3, which has changed since: they cannot be predicted again here" in line.text()
    other = found.model_copy(update={"test": found.test.model_copy(update={"behaviour": {}})})
    lines = ErrorLines.model_validate_json(error_lines(load_run(), other))
    assert {one.core for one in lines.lines if one.old} == {one.core for one in lines.lines if one.blind}


def test_a_line_needs_figures_that_only_judge() -> None:
    """If this fails, floating point on an A72 is validated by the figures to which the core may be fitted."""
    errors = load_errors()
    assert errors.line("cortex-a72", Domain("float", None, "compiled")) is None
    # The A72 was fitted to those of floating point that there were, so that they are in no line.
    assert errors.unvalidated("cortex-a72", Domain("float", None, "compiled")).startswith(
        "unvalidated: no held-out figure of compiled floating-point code; its "
    )
    assert errors.unvalidated("cortex-m3", Domain("integer", True, "assembly")) == (
        "unvalidated: its 12 blind figures of such or like code, to which the core may be fitted, are off by 3.94 % in "
        "the median, 11.02 % at worst"
    )
    assert errors.line("cortex-a55", Domain("integer")) is None
    line = errors.line("cortex-m4", Domain("integer", False, "compiled"))
    assert line and line.joined.startswith("assembly and compiled code joined, for one figure alone is of compiled")
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
