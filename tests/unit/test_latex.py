# SPDX-License-Identifier: BSD-2-Clause
"""Reports as LaTeX, without a TeX; tests/tex sets the pages."""

import re

import pytest

from board_reading import board_reading
from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table
from worldwise.read.models import Reading
from worldwise.report.formats.latex import PREAMBLE, escaped, tables
from worldwise.report.report import sections, to_latex


def of(table: Table, reading: Reading, title: str = "A title") -> str:
    return tables(reading, [Section(title, table, name="a-name")])


# Characters that four lines of a caption hold on a page of `article`, in one column.
FOUR_LINES = 4 * 80


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\textbraceleft{}/etc/passwd\textbraceright{}"),
        ("50 % & $x_1^2$ #1 ~", r"50 \% \& \$x\_1\textasciicircum{}2\$ \#1 \textasciitilde{}"),
        ("a--b,,c''", "a-{}-b,{},c'{}'"),
        ("± × é 中", r"\textpm{} \texttimes{} é [U+4E2D]"),
        ("\x1b[31m", r"\textbackslash{}x1b[31m"),
        ("a\nb", "a b"),
        ("no `code`", r"no \textasciigrave{}code\textasciigrave{}"),
        (Prose("run `a_b`"), r"run \texttt{a\_b}"),
    ],
)
def test_text_is_set_as_it_is(text: str, wanted: str) -> None:
    """If this fails, a name changes what TeX does, or a document does not compile."""
    assert escaped(text) == wanted


def test_numbers_are_siunitx_and_all_else_is_text(budgeted: Reading) -> None:
    """If this fails, siunitx stops at a dash, or a column's points do not stand below each other."""
    rows = [["x", "1,234,567.5", "-12", "fits"], ["y", "-", "3.25", ""]]
    text = of(Table(["name", "median\ninstr", "change", "verdict"], rows, 1), budgeted)
    assert r"\begin{tabular}{@{}lS[table-format=7.1]S[table-format=-2.2]r@{}}" in text
    assert r"{x} & 1234567.5 & -12 & {fits} \\" in text
    assert r"{y} & {-} & 3.25 & {} \\" in text
    assert r"{\shortstack[r]{median\\instr}}" in text


def test_a_short_row_and_a_long_name_are_set_too(budgeted: Reading) -> None:
    """If this fails, TeX stops for want of a cell, or a name runs over the margin."""
    name = "sign curve=secp256r1,size=48B,memory=allocated"
    text = of(Table(["measure", "us", "us"], [[name, "1"]], 1), budgeted)
    assert "p{19em}" in text
    assert r"{sign curve=\allowbreak{}secp256r1,\allowbreak{}size=\allowbreak{}48B,\allowbreak{}memory" in text
    assert r" & 1 & {} \\" in text


def test_a_table_says_what_the_method_section_must(budgeted: Reading) -> None:
    """If this fails, a table that is torn from its report does not say what its figures are."""
    section = next(one for one in sections(budgeted) if one.name == "sign-attestdiv")
    text = tables(budgeted, [section])
    caption = " ".join(re.findall(r"\\caption\{(.*)\}\\label", text))
    for part in (
        "Instructions executed, counted exactly under emulation",
        "n = 4 samples after 1 first call and 2 warm-up calls",
        "Lab " + "a" * 12 + ";",
        "worldwise 0.1.0, QEMU 10.0",
    ):
        assert part in caption, part
    below = text.partition(r"\bottomrule")[2]
    for part in (
        "instructions executed, counted exactly",
        "sign at ta: SHA-256 of the input and the signature, inside the TA",
        "sign at client: the client's whole TEEC",
        "Lab " + r"\allowbreak{}".join(["a" * 8] * 8) + ";",
    ):
        assert part in below, part
    # Not of measures that the table has not.
    assert "keygen at" not in text


def test_captions_are_short(budgeted: Reading) -> None:
    """If this fails, a caption takes a quarter of a page."""
    for one in (budgeted, board_reading()):
        captions = re.findall(r"\\caption\{(.*)\}\\label", to_latex(one))
        assert captions
        for caption in captions:
            assert len(caption.replace(r"\allowbreak{}", "")) <= FOUR_LINES, caption


def test_long_words_may_be_broken_but_numbers_may_not() -> None:
    """If this fails, a digest or a case runs over the margin, or a version is torn apart."""
    assert escaped("f" * 64) == r"\allowbreak{}".join(["f" * 8] * 8)
    assert escaped(Prose("`optee/mbedtls-O2/sign,size=32B`")) == (
        r"\texttt{optee/\allowbreak{}mbedtls-\allowbreak{}O2/\allowbreak{}sign,\allowbreak{}size=\allowbreak{}32B}"
    )
    assert escaped("10.0.13+ds-0+deb13u1.1") == r"10.0.13+ds-\allowbreak{}0+deb13u1.1"
    assert escaped("short-word,x=1") == "short-word,x=1"


def test_a_long_table_is_broken_over_pages_and_a_short_one_floats(budgeted: Reading) -> None:
    """If this fails, LaTeX stops in a paper of two columns, or a table ends at the page's foot."""
    few, many = ([[f"row {number}", str(number)] for number in range(count)] for count in (30, 31))
    assert r"\begin{table*}" in of(Table(["name", "instr"], few, 1), budgeted)
    assert r"\begin{longtable}" in of(Table(["name", "instr"], many, 1), budgeted)
    wide = [["x"] * 30]
    assert "% 120 characters in a line" in of(Table(["ab"] * 30, wide, 1), budgeted)
    assert "characters in a line" not in of(Table(["ab"] * 9, [["x"] * 9], 1), budgeted)


def test_a_document_has_every_table_once(budgeted: Reading) -> None:
    """If this fails, a table is missing, or two have one label."""
    text = to_latex(budgeted)
    wanted = [one.name for one in sections(budgeted, full=True) if one.table and one.table.rows]
    assert re.findall(r"\\label\{tab:(.*)\}", text) == wanted
    assert PREAMBLE in text
    assert text.startswith(r"\documentclass") and text.endswith("\\end{document}\n")


def test_single_tables_say_what_they_need(budgeted: Reading) -> None:
    """If this fails, who puts a table into a paper has to guess the packages."""
    text = tables(budgeted, [one for one in sections(budgeted) if one.name == "budget"])
    assert r"\documentclass" not in text
    assert all(f"% {line}" in text for line in PREAMBLE.splitlines())
    assert "P-256 sign 48B fits with 2 of 6 variants, best mbedtls-nist-O2 (2.330 ms)" in text


def test_boards_have_their_memory_in_bytes() -> None:
    """If this fails, a family's tables do not reach LaTeX."""
    text = to_latex(board_reading())
    assert r"{\shortstack[r]{flash\\bytes}}" in text
    assert "{p256-cortex-m4-O2}" in text
