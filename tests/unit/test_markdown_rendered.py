# SPDX-License-Identifier: BSD-2-Clause
"""Markdown with a stranger's words, rendered by GitHub's own parser: no link, no picture, no HTML, nobody called.

GitHub looks for `@name`, `#1` and commits in the finished HTML, outside of code; the patterns below stand in for that.
"""

import html.parser
import random
import re
from collections.abc import Callable
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from hostile_runs import run_of_words
from worldwise.base.output.safe_text import Prose, markdown, markdown_heading, markdown_paragraph, visible
from worldwise.base.tables import Section, Table
from worldwise.read.compared import gate
from worldwise.read.run_counts import read_run
from worldwise.report import comparisons, report
from worldwise.report.formats.printed_sections import markdown_text

ACTIVE = (
    *("@everyone", "@org/team", "(@x)", "_@x_", "é@x", "a.@x", "@x@y", "\\@x", "&#64;x", "&commat;x", "@x's", "**@x**"),
    *("https://example.org/a_b?c=*d*&e", "HTTP://x", "ftp://x.y", "www.example.org", "WWW.X.ORG", "(www.x.org)"),
    *("me@example.org", "mailto:me@example.org", "5ms@1.5GHz", "xmpp:a@b.c/d", "https&#58;//x.y", "//x.y://z"),
    *("#123", "GH-1", "gh-22", "org/repo#1", "x#1", "org/repo@0123abcd", "!12", "$12", "&12", "~12", "%3"),
    *("0123abc", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", ":tada:", ":+1:", "x:skull:y"),
)
QUIET = (
    *("5ms@2GHz", "# C#", "#", "<b>", "<!-- x", "<script>", "<img src=x onerror=y>", "![a](b)", "[a](javascript:b)"),
    *("[a]: b", "[^1]", "a|b", "|", "||", "\\|", "\\", "\\\\", "`", "``", "```sh", "~~~", "*b*", "_i_", "~~s~~", "$m$"),
    *("&lt;", "&amp;#64;", "$`x`$", "- [ ] x", "1. x", "> x", "/close", "---", "===", "a  b", "<details>", "\x1b[m"),
    *("curve=ed25519,size=48B", "12,345,678.5", "1:10.0+ds-0", "中", "mbedtls-nist-O2", "a@", "<", ">", "x\ty"),
    *("2026-01-02T03:04:00+00:00", "-12,5 % !", "a#b", "x&y", "50%", "$", "1:2:3"),
)
# What GitHub would act on: a mention, an issue, a commit, an emoji. GitLab: requests, labels, snippets, epics.
ACTED_ON = re.compile(
    r"(?<![a-z0-9])@[a-z0-9]|#\d|\bgh-\d|(?<!\w)[!$%&~^]\d|://|\bwww\.|\w@\w+\.\w"
    r"|\b(?!ed25519\b)(?=\d*[a-f])[0-9a-f]{7,40}\b|:[a-z+][\w+]*:",
    re.IGNORECASE | re.ASCII,
)
TAGS = {"h1", "h2", "p", "code", "table", "thead", "tbody", "tr", "th", "td"}


class Page(html.parser.HTMLParser):
    """What a rendered page has: its tags with attributes, the text outside of code, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.bare = ""
        self.all = ""
        self._code = False
        # Without the filters, so that what got through is seen.
        self.feed(cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._code = tag == "code"
        # An element beside it ends a word as a space does.
        self.bare += "\x00"

    def handle_endtag(self, tag: str) -> None:
        """Note the end of code."""
        if tag == "code":
            self._code = False
        self.bare += "\x00"

    def handle_data(self, data: str) -> None:
        """Note the text."""
        self.all += data
        self.bare += "" if self._code else data

    def handle_comment(self, data: str) -> None:
        """Note HTML that nobody sees."""
        self.tags.add(f"<!--{data}")


def assert_inert(text: str, shown: str | None = None) -> None:
    """Markdown that does nothing; `shown` is what a reader sees, white space aside."""
    page = Page(text)
    assert page.tags <= TAGS, text
    assert page.attributes <= {"align"}, text
    assert not ACTED_ON.search(page.bare), (text, page.bare)
    if shown is not None:
        assert page.all.split() == shown.split(), text


def as_table(text: str) -> str:
    """The text in a heading, a table's head, two cells and a note."""
    return markdown_text([Section(text, Table([text, "n"], [[text, text]], 1), [text])])


FORMS: tuple[tuple[Callable[[str], str], Callable[[str], str]], ...] = (
    (lambda text: f"x {markdown(text)} y", lambda shown: f"x {shown} y"),
    (markdown_paragraph, str),
    (lambda text: f"# {markdown_heading(text)}", str),
    (as_table, lambda shown: f"{shown} {shown} n {shown} {shown} {shown}"),
)


@pytest.mark.parametrize("text", [*ACTIVE, *QUIET])
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_a_strangers_word_does_nothing_and_reads_as_it_is(text: str, form: int) -> None:
    """If this fails, the comment of a pipeline calls people, links, or hides what it says."""
    written, seen = FORMS[form]
    assert_inert(written(text), seen(visible(text)))


def test_any_mixture_of_them_does_nothing() -> None:
    """With and without spaces between: two harmless words may make a harmful one."""
    draw = random.Random(33)
    words = (*ACTIVE, *QUIET, *"@#`|\\<>[]()!&;:/_*~$ \n", "www", ".", "1", "a", "GH-", "http")
    for _ in range(4000):
        text = draw.choice(("", " ")).join(draw.choices(words, k=draw.randint(2, 9)))
        written, seen = draw.choice(FORMS)
        assert_inert(written(text), seen(visible(text)))


@pytest.mark.parametrize("text", ACTIVE)
def test_each_of_them_does_something_where_nobody_looks(text: str) -> None:
    """So the two tests above can fail."""
    page = Page(text)
    assert page.tags - TAGS or ACTED_ON.search(page.bare)


def test_what_is_in_our_prose_is_code_once() -> None:
    """Code between backticks stays as it is, and what stands beside it is a stranger's all the same."""
    assert markdown(Prose("`#1 @x` and #1, `--allow cases`")) == "`#1 @x` and `#1`, `--allow cases`"


def test_whole_reports_and_comparisons_of_a_strangers_run(runs_dir: Path) -> None:
    """Title, revision, lab, version and error of a run, in each place where a report has them."""
    words = " ".join([*ACTIVE, *QUIET])
    run = run_of_words(runs_dir, words)
    for text in (
        report.to_markdown(read_run(run)),
        comparisons.to_markdown(gate.compare_runs(run, run, gate.GateOptions())),
    ):
        assert "@everyone" in text
        assert_inert(text)
