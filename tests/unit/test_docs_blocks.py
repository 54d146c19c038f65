# SPDX-License-Identifier: BSD-2-Clause
"""Tables and screens of README and docs/ are what their kept runs and outputs give: see docs/figures/README.md."""

import contextlib
import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import click.testing
import pytest

import doc_blocks
import doc_claims
import doc_figures
import doc_pages
import doc_records
import synthetic
from doc_blocks import Declared, Undeclared
from doc_formulas import Formulas, NotKept
from doc_records import Output
from suite_readings import suite_reading
from worldwise.base.errors import WorldwiseError
from worldwise.plan.suite import load_suite
from worldwise.read.run_counts import read_run

NAMES = doc_pages.names()
RUNS = doc_records.kept_runs()
# A page that is not there.
NEW = doc_pages.path_of("new.md")


@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_what_their_records_give(name: str) -> None:
    """If this fails, run `docs/figures/remake pages` and read what it changes."""
    assert not doc_blocks.stale(name)


def test_every_block_of_figures_is_declared() -> None:
    """If this fails, a table or a screen has figures of which nobody knows where they come from."""
    assert not doc_blocks.undeclared(map(doc_pages.page, NAMES), doc_blocks.declared())


def test_blocks_without_a_record_are_told() -> None:
    """Each line of the list says where the block is, what makes it, and what is missing; the last ones count."""
    lines = doc_blocks.listing()
    assert re.fullmatch(r"\d+ of \d+ blocks of our figures are made from kept records; \d+ are not", lines[-1])
    made, of, left = map(int, re.findall(r"\d+", lines[-1]))
    assert made + left == of
    assert made >= 25
    assert any("(not kept: mqtt)" in line for line in lines) or doc_records.kept("mqtt")


def test_every_declaration_says_what_makes_it() -> None:
    assert not [
        f"{one.page}: {one.block}"
        for one in doc_blocks.declared()
        if not (one.why or one.command) or (one.kind in {"run", "output", "validation"} and not one.command)
    ]


@pytest.mark.parametrize("suite", RUNS)
def test_a_kept_run_is_whole_and_of_its_suite(suite: str) -> None:
    """If this fails, the pages show a run that does not measure what the suite has today.

    A record with a name of its own has a user's library too, beside cases of the suite, or is of another OP-TEE, or has
    cases of the suite that its record leaves out.
    """
    run = doc_records.kept(suite)
    assert run
    assert run.reading.run.suite == suite or suite.startswith(("own-", "optee-", f"{run.reading.run.suite}-"))
    assert bool(run.reading.run.stack) == suite.startswith("optee-")
    assert run.reading.run.state == "complete"
    assert not run.reading.failed
    assert not run.reading.missing
    cases = {case.id for case in load_suite(run.reading.run.suite).cases}
    ours = {row.case for row in run.reading.rows if not doc_records.is_users(row)}
    assert ours
    assert ours <= cases
    assert (ours != {row.case for row in run.reading.rows}) == suite.startswith("own-")


@pytest.mark.parametrize("suite", RUNS)
def test_a_kept_run_is_packed_and_unpacked_the_same(suite: str) -> None:
    text = (doc_records.RUNS / f"{suite}.json").read_text(encoding="utf-8")
    run = doc_records.kept(suite)
    assert run
    assert doc_records.packed(run.reading, run.times) == text


def test_packing_keeps_a_reading(tmp_path: Path) -> None:
    """Every field of a run's reading but the packages, which no page prints."""
    reading = read_run(synthetic.write_run(tmp_path, synthetic.make_suite().cases))
    kept = doc_records.unpacked(doc_records.packed(reading, {}))
    without = reading.run.model_copy(update={"packages": {}})
    assert kept.reading == reading.model_copy(update={"run": without})


@pytest.mark.parametrize(
    ("old", "new"),
    [('"format":2,"times"', '"format":0,"times"'), ('"state":"complete",', ""), ('{"format"', '"format"')],
)
def test_a_kept_run_of_another_format_is_told(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a change of the readings' format ends in a traceback, which does not say what to do."""
    text = (doc_records.RUNS / "findings.json").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "findings.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(doc_records, "RUNS", tmp_path)
    with pytest.raises(WorldwiseError, match=r"runs/findings\.json is no reading of today's format") as told:
        doc_records.kept.__wrapped__("findings")
    assert "remake measure findings" in told.value.hint


def test_only_whole_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doc_records, "RUNS", tmp_path / "kept")
    suite = synthetic.make_suite()
    with synthetic.new_writer(tmp_path, suite.cases) as writer:
        run = writer.finish("interrupted")
    found = click.testing.CliRunner().invoke(doc_figures.main, ["keep", str(run.path)])
    assert isinstance(found.exception, WorldwiseError)
    assert "is interrupted" in found.exception.message
    assert "--resume" in found.exception.hint
    assert not (tmp_path / "kept").exists()


# --- planted mistakes: a stale digit in a screen, in a table and in a list of both ---


@pytest.mark.parametrize(
    "name",
    sorted({one.page for one, block in doc_blocks.every(doc_pages.page) if one.made(block)}),
)
def test_a_stale_digit_is_seen(name: str) -> None:
    """The message names page and line, what stands there, and what the record gives."""
    made = [(one, block) for one, block in doc_blocks.every(doc_pages.page) if one.page == name and one.made(block)]
    assert made
    bad = text = doc_pages.read(name)
    planted = []
    for one, block in made:
        cells = dict(key.rsplit(" | ", 1) for key in one.cells) if not one.columns else {}
        lines = [line for line in block.lines[1:] if not cells or doc_pages.cells(line)[0] in cells]
        columns = [place for head in (*one.columns, *cells.values()) if (place := block.place(head)) is not None]
        right, wrong = _another_digit(lines, columns)
        bad = bad.replace(right, wrong, 1)
        planted.append((bad[: bad.index(wrong)].count("\n") + 1, wrong.strip()))
    # All at once: a page is read once, not once for each of its blocks.
    found = doc_blocks.stale(name, lambda _: bad)
    at = [f"{doc_pages.path_of(name)}, line {number}" for number, _ in sorted(planted)]
    assert sorted((problem.split(": ")[0] for problem in found), key=lambda one: int(one.split()[-1])) == at
    assert all(any(wrong in problem for problem in found) for _, wrong in planted)
    # Made anew the page is as before.
    assert doc_blocks.remade(bad, name, doc_blocks.declared()) == text


def _another_digit(lines: Sequence[str], columns: Sequence[int]) -> tuple[str, str]:
    """A line of a block with a figure that is made, and the same with another last digit of it."""
    for line in lines:
        parts = line.split("|")
        where = parts[1 + columns[0]] if columns and len(parts) > 1 + columns[0] else line
        for figure in re.findall(r"(?<![\w.,])(?<!\S-)\d[\d,]*\.?\d+(?![\w.,])", where):
            if len(figure) > 1 and not re.search(r"\$|sample|n = ", line):
                last = "1" if figure[-1] != "1" else "2"
                changed = where[::-1].replace(figure[::-1], last + figure[:-1][::-1], 1)[::-1]
                return line, line.replace(where, changed, 1)
    raise AssertionError(lines[0])


def test_an_undeclared_block_is_seen() -> None:
    table = "| a | b |\n|---|---|\n| x | {} |\n\n"
    text = f"# New\n\n{table.format('1,234')}    ./worldwise run\n\n    sign  12,345\n\n{table.format('y')}"
    found = doc_blocks.undeclared([doc_pages.parsed("new.md", text)], ())
    assert [one.split(":")[0] for one in found] == [f"{NEW}, line 3", f"{NEW}, line 7"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('block = "a"', "one of run, output, validation, none, fixed is wanted"),
        ('block = "a"\nrun = "mcu"\nnone = "why"', "one of run, output, validation, none, fixed is wanted"),
        ('block = "a"\noutput = "nothing"', "no command of nothing"),
    ],
)
def test_a_declaration_that_is_none_is_refused(entry: str, told: str) -> None:
    with pytest.raises(Undeclared, match=told):
        doc_blocks.read_declared(f"[[new]]\n{entry}\n")


def test_a_declaration_of_a_block_that_is_gone_is_seen() -> None:
    page = doc_pages.parsed("new.md", "| a | b |\n|---|---|\n| x | 1,234 |\n")
    declared = doc_blocks.read_declared('[[new]]\nblock = "b"\nnone = "w"\n[[new]]\nblock = "c"\nnone = "w"\n')
    found = doc_blocks.undeclared([page], declared)
    assert found == ["docs/figures/blocks.toml: new.md has 0 blocks of figures near 'c'"]


# --- making ---

PAGE = """# New

Words

| library | A9 | both |
|---|---:|---|
| openssl | 1,000 | 1 (2) |
| none | - | |

The end.
"""
TABLE = Declared(
    "new.md",
    "library | A9",
    "run",
    records=("linux-armv7",),
    columns={
        "A9": ('.0 run("linux-armv7", "linux-armv7/<0>-O2/ecdh,curve=secp256r1") / 1000',),
        "both": (
            'n run("linux-armv7", "linux-armv7/<0>-O2/ecdh,curve=secp256r1")',
            '.2 run("linux-armv7", "linux-armv7/<0>-O2/ecdh,curve=secp256r1") / 1e6',
        ),
    },
)


def test_a_table_is_made_of_its_formulas() -> None:
    """Figures change; words, and cells without a figure, stay."""
    (median,) = doc_records.figures("linux-armv7", "linux-armv7/openssl-O2/ecdh,curve=secp256r1", "", "", "median")
    made = doc_blocks.remade(PAGE, "new.md", [TABLE])
    assert f"| openssl | {median / 1000:,.0f} | {median:,.0f} ({median / 1e6:.2f}) |" in made.replace(".5 (", " (")
    assert "| none | - | |" in made
    assert doc_blocks.remade(made, "new.md", [TABLE]) == made


def test_a_row_that_the_record_has_not_is_an_error() -> None:
    with pytest.raises(Undeclared, match=r"new.md, line 5, 'nossl \| 1,000.*0 figures"):
        doc_blocks.remade(PAGE.replace("openssl", "nossl"), "new.md", [TABLE])


def test_a_block_of_an_older_lab_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By machine: the line comes with an older lab, and goes with today's."""
    made = doc_blocks.remade(PAGE, "new.md", [TABLE])
    lab = doc_records.kept("linux-armv7").reading.run.lab  # type: ignore[union-attr]
    monkeypatch.setattr(doc_records, "today", lambda: "f" * 64)
    old = doc_blocks.remade(made, "new.md", [TABLE])
    assert f"| none | - | |\n\n*Of an older lab, {lab[:12]}; today's is ffffffffffff.*\n\nThe end.\n" in old
    assert doc_blocks.remade(old, "new.md", [TABLE]) == old
    monkeypatch.setattr(doc_records, "today", lambda: lab)
    assert doc_blocks.remade(old, "new.md", [TABLE]) == made


def test_a_block_of_older_images_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By machine: the line comes when its record is listed, and goes when it is measured anew."""
    monkeypatch.setattr(doc_records, "older", dict)
    made = doc_blocks.remade(PAGE, "new.md", [TABLE])
    monkeypatch.setattr(doc_records, "older", lambda: {TABLE.records[0]: "before the change"})
    old = doc_blocks.remade(made, "new.md", [TABLE])
    assert "\n\n*Of older images: before the change.*\n\nThe end.\n" in old
    assert doc_blocks.remade(old, "new.md", [TABLE]) == old
    monkeypatch.setattr(doc_records, "older", dict)
    assert doc_blocks.remade(old, "new.md", [TABLE]) == made


SCREEN = """Of a command:

    $ ./worldwise explain a
    after / before = 0.9, -9 instructions
    ...
    memset (tee)     1  0.5
    $ ./worldwise explain b
    ...
    memset (tee)     2  0.5

"""


def test_a_screen_of_kept_outputs_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line from its own output, in its order; `...` stays. Of an output of another lab the line below says so."""
    monkeypatch.setattr(doc_records, "OUTPUTS", tmp_path)
    doc_records.output.cache_clear()
    lines = (
        "before: 3\nafter / before = 0.8842, -1,234 instructions\n\nmemcpy (tee)  7  1.0\nmemset (tee)  12,345  9.25\n"
    )
    for name, text in (("one", lines), ("two", lines.replace("12,345", "54,321"))):
        doc_records.write_output(name, Output(f"./worldwise explain {name}", doc_records.today(), "0123456789ab", text))
    one = Declared("new.md", "$ ./worldwise explain a", "output", records=("one", "two"))
    try:
        assert not one.missing
        page = doc_pages.parsed("new.md", SCREEN)
        made = doc_blocks.made_lines(one, one.found(page), SCREEN.split("\n")[2:9], page)
    finally:
        doc_records.output.cache_clear()
    assert made == [
        "    $ ./worldwise explain a",
        "    after / before = 0.8842, -1,234 instructions",
        "    ...",
        "    memset (tee)  12,345  9.25",
        "    $ ./worldwise explain b",
        "    ...",
        "    memset (tee)  54,321  9.25",
    ]


def test_an_output_is_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doc_records, "OUTPUTS", tmp_path)
    one = Output("./worldwise predict x --case 'a*'", "f" * 64, "0123456789ab", "a\n\nb\n")
    doc_records.write_output("x", one)
    assert doc_records.read_output(tmp_path / "x.txt") == one


# --- recipes of runs that are not kept yet ---


# What doc_records says then, remembered apart from what it says of today's.
EVERY_RUN: dict[str, Callable[..., object]] = {
    "is_kept": lambda _: True,
    "kept": functools.cache(
        lambda suite, real=doc_records.kept: real(suite) or doc_records.Kept(suite_reading(suite), {})
    ),
    **{
        one.__name__: functools.cache(one.__wrapped__)
        for one in (doc_records.rows_by_case, doc_records.report_of, doc_records.printed)
    },
}


@pytest.fixture
def every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of every suite: where none is kept, one with the suite's own cases, and counts that nobody measured."""
    for name, one in EVERY_RUN.items():
        monkeypatch.setattr(doc_records, name, one)


@pytest.mark.usefixtures("every_run")
def test_every_table_can_be_made_once_its_run_is_kept() -> None:
    """If this fails, a declaration names a case, a measure or a place that its suite has not."""
    made = 0
    for one, block in doc_blocks.every(doc_pages.page):
        if one.kind == "run" and block.kind == "table" and one.made(block):
            lines = doc_pages.read(one.page).split("\n")[block.line - 1 : block.line + len(block.lines)]
            assert len(doc_blocks.made_lines(one, block, lines, doc_pages.page(one.page))) == len(lines)
            made += 1
    assert made >= 30


@pytest.mark.usefixtures("every_run")
@pytest.mark.parametrize("name", NAMES)
def test_a_claim_that_waits_can_be_computed_once_its_run_is_kept(name: str) -> None:
    """If this fails, a claim names a case that its suite has not, and nobody would see it before the suite is kept."""
    claims = doc_claims.claims_of(name)
    formulas = Formulas(doc_pages.page(name), lets=claims.lets)
    for claim in claims.claims:
        for figure in claim.figures:
            with contextlib.suppress(NotKept):
                formulas.value(figure.formula)
