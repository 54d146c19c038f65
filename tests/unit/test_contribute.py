# SPDX-License-Identifier: BSD-2-Clause
"""Contributed runs: what a file has, what it must not have, and that the reader of published figures reads it."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner, Result

import board_run
from worldwise import cli
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.literals import toml_line
from worldwise.base.toml.toml_model import load
from worldwise.read.run_counts import read_run
from worldwise.run.folder.manifests import OwnEntry
from worldwise.run.folder.rundir import Run, open_run
from worldwise.validation.figures import SETS, check_contributed, contributed_files, figures_file, load_file
from worldwise.validation.silicon.contribution import packed
from worldwise.validation.silicon.judgement_report import hardware_section

SAID = ("--silicon", "STM32F446RET6 revision A", "--firmware", "ST-LINK V2J43")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The committed run as if a chip had made it."""
    folder = tmp_path / "runs"
    shutil.copytree(board_run.FOLDER, folder)
    path = folder / board_run.RUN / "run.json"
    text = path.read_text()
    assert '"synthetic":' in text
    path.write_text(text.replace('"synthetic":', '"system":'))
    return open_run(board_run.RUN, folder)


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    """A contributed file."""
    path = tmp_path / "f446.toml"
    path.write_text(packed(run, read_run(run), "STM32F446RET6 revision A", "ST-LINK V2J43", None, ""))
    return path


def call(*words: object) -> Result:
    return CliRunner().invoke(cli.cli, ["contribute", *map(str, words)])


def test_a_file_has_every_sample_and_what_made_it(run: Run, file: Path) -> None:
    """If this fails, a figure stands in the file that the run has not, or without its board or compiler."""
    found = check_contributed(file)
    rows = {(row.case, row.measure): row for row in read_run(run).rows}
    assert len(found.figure) == len(rows) == 18
    for figure in found.figure:
        row = rows[figure.case, figure.measure]
        assert figure.value == row.median == median(figure.samples)
        assert (figure.first, figure.unit, figure.core) == (row.counts.first, "cycles", "cortex-m4")
    assert found.measured
    assert (found.measured.board, found.measured.counter) == ("nucleo-f446re", "dwt_cyccnt")
    assert found.measured.silicon == "STM32F446RET6 revision A"
    assert found.measured.compiler == ["gcc-arm-none-eabi 15:14.2.rel1-1"]


def test_nothing_of_the_user_is_in_it(run: Run, file: Path) -> None:
    """If this fails, a host's system, its paths or the address of a server are sent with the figures."""
    text = file.read_text()
    for word in (str(run.path), *map(str, run.manifest.host.values()), "gdb", "localhost"):
        assert word not in text


def test_published_figures_are_read_by_the_same_reader(file: Path) -> None:
    """If this fails, contributed figures and published ones cannot stand in one table."""
    files = {path.stem: load_file(path) for path in (*map(figures_file, SETS), file)}
    assert all(source.figures for one in files.values() for source in one.source)
    table = hardware_section(files).table
    assert table
    assert sum(int(row[-1]) for row in table.rows) == 160 + 663 + 18
    assert table.rows[-1][:5] == [
        *("f446", board_run.RUN, "m4", "nucleo-f446re", "STM32F446RET6 revision A"),
    ]


def test_every_contributed_file_of_the_repository_is_whole() -> None:
    """If this fails, a file in measured/hardware is wrong, or has something personal."""
    for path in contributed_files():
        check_contributed(path)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("value = MEDIAN", "value = 3000", "the median of its samples is MEDIAN"),
        ('firmware = "ST-LINK V2J43"', 'firmware = "/home/somebody/probe"', "firmware"),
        ('conditions = "ST', 'conditions = "of me@example.com, ST', "'@' may be of a path, an address or a person"),
        ('conditions = "ST', 'conditions = "10.0.0.7, ST', "'10.0.0.7' may be of a path"),
        ('silicon = "STM32F446RET6 revision A"\n', "", "'silicon' is missing"),
        ('"2026-01-02T03:04:00+00:00"', '"2026-01-02T03:04:00+00:00"\nhost = "mine"', "host: there is no such key"),
        ("samples = SAMPLES", "samples = []", "has no case, measure or samples"),
        ('source = "20260102T030400Z-synthetic"', 'source = "another"', "'another' is not a source of the file"),
        (
            'case = "nucleo-f446re/bearssl-Os/sha256,size=128B"',
            'case = "nucleo-f446re/bearssl-Os/sha256,size=16B"',
            "is there twice",
        ),
    ],
)
def test_a_wrong_file_is_refused(file: Path, old: str, new: str, problem: str) -> None:
    """If this fails, a file is taken that is not what it says, or that tells of its user."""
    text = file.read_text()
    # The first figure's, which the model of the core decides.
    for word, pattern in (("MEDIAN", r"value = (\d+)"), ("SAMPLES", r"samples = (.*)")):
        found = re.search(pattern, text)
        assert found
        old, problem = old.replace(word, found[1]), problem.replace(word, found[1])
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(WorldwiseError) as caught:
        check_contributed(file)
    assert problem in caught.value.message


def test_a_run_of_a_changed_checkout_says_so(run: Run, tmp_path: Path) -> None:
    """If this fails, who tries a change of their own on a board cannot send its figures."""
    changed = replace(run, manifest=run.manifest.model_copy(update={"git": "0123456789ab+"}))
    path = tmp_path / "changed.toml"
    path.write_text(packed(changed, read_run(run), "STM32F446RET6 revision A", "ST-LINK V2J43", None, ""))
    found = check_contributed(path)
    assert found.measured
    assert found.measured.revision == "0123456789ab+"


def test_the_command_writes_a_file_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    words = (run.path, *SAID, "--output", path)
    assert "has 18 figures" in call(*words).output
    check_contributed(path)
    assert "is overwritten" in str(call(*words).exception)


def test_the_command_refuses_what_is_no_figure(
    run: Run, whole_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, instructions, a model's cycles or somebody's computer get into the figures of hardware."""
    path = tmp_path / "mine.toml"
    assert "needs --silicon, --firmware and --output" in call(run.path).output
    end = (*SAID, "--output", path)
    assert "cycles of silicon alone" in str(call(whole_run.path, *end).exception)
    assert "comes from a model, not from a chip" in str(call(board_run.FOLDER / board_run.RUN, *end).exception)
    monkeypatch.setattr("socket.gethostname", lambda: "Bench-7")
    told = call(run.path, *end, "--note", "it stands at bench-7")
    assert "is the name of this computer or of its user" in str(told.exception)
    assert "may be of a path" in str(call(run.path, *end, "--note", "see /home/x").exception)
    told = call(run.path, *end[:2], "--firmware", "V2J43/M27", *end[4:])
    assert "--firmware: 'V2J43/M27'" in str(told.exception)
    assert not path.exists()


def test_a_library_of_ones_own_is_no_figure_for_others(run: Run) -> None:
    """If this fails, a file has figures that nobody else can repeat."""
    own = OwnEntry(name="mine", manifest="", digest="0" * 64, files={})
    private = replace(run, manifest=run.manifest.model_copy(update={"own": [own]}))
    with pytest.raises(WorldwiseError, match="a library of your own"):
        packed(private, read_run(run), "STM32F446RET6 revision A", "ST-LINK V2J43", None, "")


@pytest.mark.parametrize("value", ['a "b"\\ \n é', 3, 0.5, True, ["x"] * 40, {"a": 1, "b": "c"}, []])
def test_what_is_written_as_toml_is_read_again(value: str) -> None:
    assert load(toml_line("key", value), "file") == {"key": value}
