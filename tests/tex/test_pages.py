# SPDX-License-Identifier: BSD-2-Clause
"""LaTeX reports, set by a TeX: they compile without edits, and the page says what the report says."""

import functools
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from board_reading import board_reading
from machines import fresh_cache
from worldwise.base.files import write_whole
from worldwise.base.tables import Section, Table
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.sandbox.lent_folders import lent
from worldwise.libraries.portable import portables
from worldwise.plan.budget import parse_budget
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.report.citation import references
from worldwise.report.citation.citation import cited
from worldwise.report.formats.latex import PREAMBLE, document, tables
from worldwise.report.report import sections, to_latex
from worldwise.run.folder.rundir import Run

# The first has the root made, which takes minutes.
pytestmark = [pytest.mark.tex, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def tex() -> Lab:
    """The root with a TeX, made if need be."""
    lab = open_lab(name="tex")
    lab.ensure()
    return lab


@pytest.fixture(scope="module")
def reading(whole_run: Run) -> Reading:
    return read_run(whole_run, parse_budget("5ms@2GHz"))


Typeset = Callable[..., str]


@pytest.fixture
def typeset(tex: Lab, tmp_path: Path) -> Typeset:
    """Sets a document, and gives the text that stands on its pages. TeX stops at the first error."""
    return functools.partial(_typeset, tex, tmp_path)


def _typeset(tex: Lab, folder: Path, text: str, **beside: str) -> str:
    """TeX makes the same pages of the same files: what it made of them is kept."""
    given = {"report.tex": text, **{name.replace("_", "."): content for name, content in beside.items()}}
    digest = hashlib.sha256(json.dumps([tex.digest, given], sort_keys=True).encode()).hexdigest()[:20]
    cache, log_name, page_name = fresh_cache(tex.cache / "again"), f"tex-{digest}.log", f"tex-{digest}.txt"
    known = (cache / page_name).exists()
    if known:
        shutil.copyfile(cache / log_name, folder / "report.log")
        shutil.copyfile(cache / page_name, folder / "report.txt")
    else:
        _run_tex(tex, folder, given)
    log = (folder / "report.log").read_text(encoding="latin-1")
    assert not re.findall(r"^(?:Overfull \\hbox.*|LaTeX Warning: (?:Ref|Cit|There).*)", log, re.MULTILINE)
    if not known:
        # The page comes last: where it is, the log is too.
        write_whole(cache, log_name, (folder / "report.log").read_bytes())
        write_whole(cache, page_name, (folder / "report.txt").read_bytes())
    # A thin space between groups of digits is a space there.
    return " ".join((folder / "report.txt").read_text(encoding="utf-8").split())


def _run_tex(tex: Lab, folder: Path, given: Mapping[str, str]) -> None:
    """Sets report.tex of these files in the sandbox."""
    for name, content in given.items():
        (folder / name).write_text(content, encoding="utf-8")
    latex = "pdflatex -interaction=nonstopmode -halt-on-error report.tex"
    bibtex = f"bibtex report && {latex} && " if "entries.bib" in given else ""
    # TeX knows nothing from one pass to the next but report.aux: where that stays the same, the next page would too.
    again = f"cp report.aux before.aux && {latex} && {{ cmp -s report.aux before.aux || {latex}; }}"
    with lent([folder]):
        tex.run(
            ["sh", "-c", f"{latex} && {bibtex}{again} && pdftotext -layout report.pdf"],
            binds=[(folder, "/work", "rw")],
            chdir="/work",
            timeout=300,
        )


def test_a_run_of_the_tee_compiles_and_says_its_figures(typeset: Typeset, reading: Reading) -> None:
    """If this fails, a researcher has to mend the table before the paper compiles."""
    page = typeset(to_latex(reading))
    for part in (
        "A synthetic run (run 20260102T030400Z-synthetic, complete)",
        "240 000 005",
        "2 400.6",
        "EXCEEDS",
        "counted exactly under emulation",
        "n = 4 samples after 1 first call and 2 warm-up calls",
        "worldwise 0.1.0, QEMU 10.0",
        "P-256 sign 48B fits with 2 of 6 variants, best mbedtls-nist-O2 (2.330 ms)",
    ):
        assert part in page, part


def test_boards_compile(typeset: Typeset) -> None:
    """If this fails, the widest tables run over the margin, or a symbol is missing."""
    page = typeset(to_latex(board_reading()))
    assert "p256-cortex-m4-O2" in page
    assert "12 400 000" in page


def test_a_strangers_words_stand_there_as_they_are(typeset: Typeset, reading: Reading) -> None:
    """If this fails, a run from somebody else makes TeX read a file, or stop."""
    words = r"\input{/etc/passwd} 50% & $x_1^2$ #1 ~ `a' a--b [1] {x} |<>|" + " é 中"
    table = Table([words, "n"], [[words, words], ["[2]", "1"], [words[:20], "*2"]], 1)
    page = typeset(document(reading, words, words, [Section(words, table, [words]), Section("x", None, [words])]))
    assert page.count(r"\input{/etc/passwd}") >= 5
    assert "root:" not in page
    for part in ("[U+4E2D]", "a--b", "|<>|", "[2]", "*2"):
        assert part in page, part


@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_single_tables_stand_in_a_paper_with_what_it_cites(typeset: Typeset, reading: Reading, columns: str) -> None:
    """If this fails, `--section` or `cite` gives what no paper can take in, or lines run over its margin."""
    chosen = [one for one in sections(reading) if one.name in ("budget", "sign-attestdiv")]
    paper = (
        f"\\documentclass[{columns}]{{article}}\n{PREAMBLE}"
        "\\begin{document}\n\\input{method.tex}\n"
        "See Table~\\ref{tab:budget}.\n\\input{tables.tex}\n\\bibliographystyle{plain}\\bibliography{entries}\n"
        "\\end{document}\n"
    )
    page = typeset(
        paper,
        method_tex=cited(reading, {}, "latex"),
        tables_tex=tables(reading, chosen),
        entries_bib=cited(reading, {}, "bibtex"),
    )
    assert "[?]" not in page
    # Lines of two columns stand beside each other there.
    if columns == "onecolumn":
        assert re.search(r"worldwise 0\.1\.0 \[\d\]", page)
        for part in ("Fabrice Bellard and The QEMU developers. QEMU.", "www.qemu.org/, 2025.", "See Table 2."):
            assert part in page, part


def test_all_tables_and_every_address_fit_a_narrow_page(typeset: Typeset, tmp_path: Path, reading: Reading) -> None:
    """If this fails, a table, a digest or an address runs over the margin of a paper; or a caption has five lines."""
    addresses = {
        key: found.url
        for key in references.known_references()
        if (found := references.reference(key, "")) and found.url
    }
    every = [f"@misc{{{key}, title={{x}}, howpublished={{\\url{{{url}}}}}}}\n" for key, url in addresses.items()]
    assert len(every) > 20
    paper = (
        f"\\documentclass[twocolumn]{{article}}\n{PREAMBLE}\\begin{{document}}\n\\nocite{{*}}\n"
        "\\bibliographystyle{plain}\\bibliography{entries}\n\\end{document}\n"
    )
    entries = cited(reading, {}, "bibtex").partition("@misc{")[0] + "".join(every)
    typeset(paper, entries_bib=entries)
    for one in (reading, board_reading()):
        text = tables(one, sections(one))
        captions = re.findall(r"\\caption\{(.*)\}\\label", text)
        counted = "".join(
            f"\\setbox0\\vbox{{\\small Table 99: {caption}\\par\\typeout{{caption has \\the\\prevgraf}}}}\n"
            for caption in captions
        )
        paper = (
            f"\\documentclass{{article}}\n{PREAMBLE}\\begin{{document}}\n{counted}\\input{{tables.tex}}\n"
            "\\end{document}\n"
        )
        typeset(paper, tables_tex=text)
        log = (tmp_path / "report.log").read_text(encoding="latin-1")
        lines = list(map(int, re.findall(r"^caption has (\d+)", log, re.MULTILINE)))
        assert len(lines) == len(captions) > 5
        assert max(lines) <= 4, captions[lines.index(max(lines))]


def test_a_strangers_title_is_one_reference(typeset: Typeset) -> None:
    """If this fails, a library's title brings an entry of its own into a bibliography, or stops bibtex."""
    title = r"Mine }},} @misc{evil, title={x}} \write18{x} 50% {a}"
    reading = board_reading()
    name = reading.rows[0].implementation
    manifest = portables()[name].manifest.model_copy(update={"title": title, "licence": title})
    own = {name: (manifest, "1" * 64)}
    paper = (
        f"\\documentclass[landscape]{{article}}\n{PREAMBLE}\\pagestyle{{empty}}\n\\begin{{document}}\n\\sloppy\n\\input{{method.tex}}\n"
        "\\bibliographystyle{plain}\\nocite{*}\\bibliography{entries}\n\\end{document}\n"
    )
    entries = cited(reading, own, "bibtex")
    page = typeset(paper, method_tex=cited(reading, own, "latex"), entries_bib=entries)
    # Pages have no numbers, of which one would stand inside the title.
    assert page.count(title) == 3
    assert len(set(re.findall(r"\[(\d+)\] (?=\S)", page.partition("References")[2]))) == entries.count("@misc{")
    assert "evil, title={x}" in page
