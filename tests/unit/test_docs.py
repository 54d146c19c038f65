# SPDX-License-Identifier: BSD-2-Clause
"""The pages: README is short, every page is listed and of a length to be read, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

from worldwise.base import paths

ROOT = paths.REPOSITORY
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WITH_LINKS = [*PAGES, *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("keycache/*.md")), ROOT / "published/README.md"]
# Pages that nobody reads from end to end, which may be longer than the others.
REFERENCES = {
    "example.md": "one printed report, whole, so that a figure can be looked up",
    "format.md": "every key of every file of a run; the guest's sources name this one page",
}
MOST_LINES = 300
# What names pages outside of Markdown: messages, comments, suites.
NAMES_PAGES = ("src/**/*.py", "tests/**/*.py", "suites/*.toml", "guest/**/*.[ch]", "docs/examples/*/*")


def prose(page: Path) -> str:
    """A page without blocks and spans of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    result = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *$", text, re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = found.setdefault(slug, 0)
        found[slug] += 1
        result.add(f"{slug}-{number}" if number else slug)
    return result


def test_readme_is_short_and_has_the_two_commands() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    commands = [line.split("#")[0].strip() for line in lines if line.startswith("    ./")]
    assert commands[:2] == ["./worldwise run", "./test"]
    assert commands[1] in (ROOT / ".ci/run").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", WITH_LINKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        assert other.exists(), target
        assert other.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(other), target


def test_links_are_found() -> None:
    """If this fails, the test above looks at nothing."""
    assert sum(len(re.findall(r"\]\(", prose(page))) for page in WITH_LINKS) > 200
    assert "the-table" in anchors(DOCS / "boards.md")


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\(([a-z0-9-]+\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert listed == {page.name for page in PAGES} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_of_a_length_to_be_read(page: Path) -> None:
    lines = len(page.read_text(encoding="utf-8").splitlines())
    assert (lines > MOST_LINES) == (page.name in REFERENCES), f"{lines} lines"


def test_pages_that_the_sources_name_exist() -> None:
    """If this fails, a message or a comment sends its reader to a page that is gone."""
    named = {
        (path.relative_to(ROOT), page)
        for pattern in NAMES_PAGES
        for path in ROOT.glob(pattern)
        if path.is_file()
        for page in re.findall(r"(?<![\w/])docs/[\w-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert {page for _, page in named} >= {"docs/format.md", "docs/own.md"}
    assert not [f"{path}: {page}" for path, page in sorted(named) if not (ROOT / page).is_file()]
