# SPDX-License-Identifier: BSD-2-Clause
"""Figures in the sentences of README and docs/ follow from those of their tables, of other pages and of kept runs.

docs/figures/claims says of each what it is computed of (doc_claims.py has the form), docs/figures/uncomputed.txt which
ones nothing gives, and why.
"""

import functools
import re
from collections.abc import Callable

import pytest

import doc_claims
import doc_pages
import doc_records
from doc_claims import Claims, Listed
from doc_formulas import Formulas, Unfound
from doc_pages import Page

NAMES = doc_pages.names()
# Ratios that nothing computes. A claim takes one away; nothing should add one.
MOST_RATIOS = 17


@functools.cache
def listed() -> tuple[Listed, ...]:
    """What docs/figures/uncomputed.txt lists."""
    return tuple(doc_claims.read_listed(doc_claims.UNCOMPUTED.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_figures_follow_from_what_they_are_computed_of(name: str) -> None:
    """If this fails, a page says what figures do not. The message names the line, and what the formula gives today."""
    assert not doc_claims.wrong(doc_claims.claims_of(name), doc_pages.page(name))


@pytest.mark.parametrize("name", NAMES)
def test_no_figure_slips_in(name: str) -> None:
    """A ratio, share, sum or difference in a sentence is claimed, or listed with the reason why it cannot be."""
    problems, idle = doc_claims.unlisted(doc_claims.claims_of(name), doc_pages.page(name), listed())
    assert not problems
    assert not idle, "no longer in the page, or claimed: take it out of docs/figures/uncomputed.txt"


def test_claims_and_list_are_of_pages() -> None:
    """If this fails, a page is gone or has another name, and nobody looks at its claims."""
    files = {path.name for path in doc_claims.CLAIMS.iterdir()}
    assert not files - {f"{name.removesuffix('.md')}.txt" for name in NAMES}
    assert not {one.page for one in listed()} - set(NAMES)


def test_few_ratios_are_not_computed() -> None:
    """If this fails, claim the new one."""
    ratios = [one for one in listed() if one.why.startswith("ratio")]
    assert len(ratios) <= MOST_RATIOS


def test_most_figures_are_computed() -> None:
    """If this fails, claims were lost: they must not be taken out to make a page pass."""
    computed = [doc_claims.counted(name) for name in NAMES]
    assert sum(done for done, _ in computed) >= 250
    columns = sum(len(doc_claims.claims_of(name).columns) for name in NAMES)
    # Others are made by docs/figures/blocks.toml.
    assert columns >= 35


# --- planted mistakes: a figure of a sentence, and a cell that a sentence is computed of ---


def planted(name: str, right: str, wrong: str, judged: str) -> list[str]:
    """What is wrong with the page `judged` if on the page `name` `wrong` stands in the place of the pattern `right`."""
    text, count = re.subn(right, wrong, doc_pages.read(name), count=1)
    assert count == 1, (name, right)
    bad = doc_pages.parsed(name, text)
    pages: Callable[[str], Page] = lambda other: bad if other == name else doc_pages.page(other)  # noqa: E731
    return doc_claims.wrong(doc_claims.claims_of(judged), pages(judged), pages)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("mqtt.md", r"it is ([\d.]+) to [\d.]+ times", r"it is \1 to 9.9 times"),
        ("mqtt.md", r"costs \d+ times a hit", "costs 99 times a hit"),
        ("linux.md", r"signature takes \d+ times", "signature takes 99 times"),
        ("linux.md", "nettle signs in a [a-z]+", "nettle signs in a half"),
        ("boards.md", r"takes \d+ to (\d+) %", r"takes 1 to \1 %"),
        ("tee.md", r"it is \d+ % behind", "it is 99 % behind"),
        ("pqc.md", r"takes (\d+) to \d+ % more than Linux", r"takes \1 to 99 % more than Linux"),
        ("keycache.md", "are [a-z]+ tenths of a GET", "are one tenth of a GET"),
        ("predict.md", r"because \d+ to (\d+) % of a warm one", r"because 1 to \1 % of a warm one"),
        ("findings.md", "a [a-z]+ its signature", "a ninth its signature"),
        ("README.md", r"The worst call takes [\d.]+ ms", "The worst call takes 9.999 ms"),
        # Of another page.
        ("table.md", r"by \d+ % for a signature", "by 99 % for a signature"),
        # The order of two figures.
        ("models.md", r"([\d.]+) times too slow, `core_mult3` ([\d.]+)", r"\2 times too slow, `core_mult3` \1"),
    ],
)
def test_a_wrong_figure_of_a_sentence_is_seen(name: str, right: str, wrong: str) -> None:
    """The message names page, line and both figures."""
    found = planted(name, right, wrong, name)
    assert found
    assert doc_pages.path_of(name) in found[0]
    assert ", line " in found[0]
    assert " today" in found[0]


@pytest.mark.parametrize(
    ("name", "right", "wrong", "page"),
    [
        # A cell moves: the sentences that are computed of it fail, on other pages too.
        ("mqtt.md", r"(\| 8 \| [\d,]+ \| [\d,]+ \|) [\d,]+ \|", r"\1 9,999 |", "mqtt.md"),
        ("findings.md", r"(nodebug` \| empty invoke, -O2 \| [\d,]+ \|) [\d,]+ \|", r"\1 9,999 |", "table.md"),
        ("tee.md", r"(`optee=lean`: [^|]* \|) [\d,]+ \|", r"\1 199,999 |", "tee.md"),
        # A column of a table that follows from others.
        ("boards.md", r"(\| bearssl, sign \| [\d,]+ \| [\d,]+ \|) \d+ \|", r"\1 999 |", "boards.md"),
        ("findings.md", r"(nosecstor` \| ta-load, -O2 \| [\d,]+ \| [\d,]+ \|) [\d.]+ \|", r"\1 0.99 |", "findings.md"),
    ],
)
def test_a_cell_that_moves_leaves_its_sentences_wrong(name: str, right: str, wrong: str, page: str) -> None:
    """If this fails, a table made anew keeps the old sentences."""
    assert planted(name, right, wrong, page)


def test_a_new_figure_is_seen() -> None:
    """In a sentence; a screen and a table are their commands' own."""
    other = "\n\n    4 times\n\n| 5 times |\n|---|\n| 6 times |\n\n"
    text = (
        f"It is 3 times as fast.{other}It takes a third, or 7 % more, or twice as much: 12,345 for 2.5 million, "
        "half of it.\n"
    )
    page = doc_pages.parsed("new.md", text)
    problems, _ = doc_claims.unlisted(doc_claims.read_claims("new.md", ""), page, [])
    assert [one.split("'")[1] for one in problems] == [
        "3 times",
        "a third",
        "7 %",
        "twice as",
        "12,345",
        "2.5 million",
        "half of",
    ]
    assert f"{doc_pages.path_of('new.md')}, line 9" in problems[1]


# --- the language of claims ---

PAGE = doc_pages.parsed(
    "page.md",
    """# A page

Words above

| row | a | b | b |
|---|---:|---:|---:|
| **one** | 1,000 | 2 + 3 | 0.5 |
| two | 4,000 | | 2.5 |
| | 6 | 7 | 0.0 |

It is four times as much, 3,000 more, 40 % of it, `a` is at most 5,000, and two fifths.

    $ ./worldwise report
    name      first   then
    ----------------------
    alpha        12   34.5
""",
)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('c("one", "a")', 1000),
        ('c("one", "b", nth=2)', 3),
        ('c("one", "b#2")', 0.5),
        ('c("two | 6", "b#2")', 0),
        ('total(col("a"))', 5006),
        ('most(col("a", only="one|two") / col("a", only="one|two") * 2)', 2),
        ('most(col("b#2", but="one"))', 2.5),
        ('rows("Words above")', 3),
        ('f("alpha ~ #")', 34.5),
        ('f("at most #")', 5000),
        ('cases("quick")', len(doc_records.cases("quick"))),
        ('error("cortex-a72", "integer", "figures")', 82),
        ('source("src/worldwise/predict/rules.py", "LEAST_FIGURES = #")', 5),
        ('published("mqttz-keys", operation="key retrieval", algorithm="secure storage")', 14.49),
    ],
)  # fmt: skip
def test_a_formula_names_figures(formula: str, value: float) -> None:
    assert Formulas(PAGE).value(formula) == pytest.approx(value)


@pytest.mark.parametrize(
    "formula",
    [
        'c("three", "a")',
        'c("one", "c")',
        'c("two", "b")',
        'f("at most nothing #")',
        'f("#")',
        'run("findings", "optee/none-O2/empty-invoke")',
        'run("mqtt", "optee/none-O2/empty-invoke")',
        'printed("attestation", "no-section", "#")',
        'error("cortex-a72", "no kind", "median")',
        'source("no/file", "#")',
        'published("mqttz-keys", operation="none")',
        '1 / (c("one", "a") - 1000)',
        'open("/etc/passwd")',
        'col("a")',
    ],
)  # fmt: skip
def test_a_formula_of_nothing_is_an_error(formula: str) -> None:
    """If this fails, a claim of a cell that is gone passes."""
    with pytest.raises(Unfound):
        Formulas(PAGE).value(formula)


CLAIMS = """
let four = c("two | 2.5", "a")
It is {four / c("one", "a")} times as much, {four - c("one", "a")} more, {100 * c("one", "a") / 2500} % of it

at most {<= four}, and {c("one", "b") / 5}

@ Words above :: b#2 = x("a") / 2000
"""


def claims(text: str) -> Claims:
    return doc_claims.read_claims("page.md", text)


def test_claims_are_read_and_compared() -> None:
    found = doc_claims.wrong(claims(CLAIMS), PAGE)
    # The columns' formula holds of the first row alone.
    assert len(found) == 1
    assert found[0].startswith(f"{doc_pages.path_of('page.md')}, line 8: column 'b#2' says '2.5'")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("/ 2500", "/ 2600", "says '40'"),
        ("four - c", "four + c", "says '3,000'"),
        ("It is {four /", "It is {2 * four /", "says 'four'"),
        ("<= four", "<= 2 * four", "must be no more"),
        ("<= four", "> 4000", "must be more, and is 4,000"),
        ("<= four", "< 5001", "must be less"),
        ("at most", "at least", "0 times, not once"),
        ('"b") / 5}', '"c") / 5}', "cannot be computed: page.md: one / c: 0 cells"),
        ("Words above", "No words", "no table near 'No words'"),
        ('x("a") / 2000', 'x("c")', "nothing can be computed"),
    ],
)
def test_what_a_claim_says_wrong_is_told(old: str, new: str, told: str) -> None:
    assert old in CLAIMS
    found = doc_claims.wrong(claims(CLAIMS.replace(old, new, 1)), PAGE)
    assert any(told in problem for problem in found), found


@pytest.mark.parametrize("text", ["no figure in it", "@ words :: no formula"])
def test_a_claim_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1 of its claims"):
        claims(text)


@pytest.mark.parametrize(
    ("text", "value", "about", "is_it"),
    [
        ("3", 2.51, False, True),
        ("3", 2.49, False, False),
        ("0.56", 0.5649, False, True),
        ("98,000", 98_499, False, True),
        ("98,000", 98_501, False, False),
        ("30,508", 30_509, False, False),
        ("40", 43, False, False),
        ("40", 43, True, True),
        ("a third", 0.36, False, True),
        ("a third", 0.37, False, False),
        ("seven tenths", 0.686, False, True),
        ("Twice", 2.3, False, False),
        ("two hundred", 201, False, True),
        ("half", 0.5, False, True),
        ("-2.2", -2.23, False, True),
    ],
)  # fmt: skip
def test_a_figure_is_rounded_as_it_is_shown(text: str, value: float, about: bool, is_it: bool) -> None:
    assert doc_claims.shown_as(text, value, about) == is_it
