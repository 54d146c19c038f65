# SPDX-License-Identifier: BSD-2-Clause
"""The pages: README is short, every page is listed and of a length to be read, and every link leads somewhere."""

import functools
import re
from pathlib import Path

import pytest

import doc_pages
from worldwise.base import paths

ROOT = paths.REPOSITORY
README = ROOT / "README.md"
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
PAGES = doc_pages.paths_of_pages()
OURS = [page for page in PAGES if page.is_relative_to(DOCS)]
WITH_LINKS = [
    INDEX,
    *OURS,
    *sorted([*ROOT.glob("*.md"), *ROOT.glob("keycache/*.md"), *ROOT.glob("keycache/docs/*.md")]),
    ROOT / "published/README.md",
]
# Pages that nobody reads from end to end, which may be longer than the others.
REFERENCES = {
    "findings.md": "twelve findings below one table, each with its listing; a reader looks one up by its number",
    "tried.md": "what was tried once, and where time went: a reader comes to one heading, from a link",
    "format.md": "every key of every file of a run; the guest's sources name this one page",
}
MOST_LINES = 400
FEWER_LINES = {"models-mcu.md": 300}
# What names pages outside of Markdown: messages, comments, suites.
NAMES_PAGES = (
    *(
        "src/**/*.py",
        "src/**/*.sh",
        "src/**/*.toml",
        "tests/**/*.py",
        "suites/*.toml",
        "boards/*",
        "cores/*",
        "lab/*.toml",
    ),
    *("guest/**/*.[chS]", "guest/**/*.mk", "plugin/**/*.[ch]", "patches/**/*.patch", "published/**/*.toml"),
    "docs/examples/*/*",
)


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
    assert len(lines) <= 110
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
    assert "the-table" in anchors(DOCS / "results/boards.md")


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\(([a-z0-9-]+/[a-z0-9-]+\.md)\)", INDEX.read_text(encoding="utf-8")))
    assert listed == {str(page.relative_to(DOCS)) for page in OURS}


def test_a_page_is_in_a_folder_and_has_a_name_of_its_own() -> None:
    """If this fails, a page lies where no test looks at it, or two pages share blocks and claims of figures."""
    apart = {DOCS / folder for folder in ("examples", "figures")}
    found = [page for page in DOCS.rglob("*.md") if not apart & set(page.parents)]
    assert set(found) == {INDEX, *OURS}
    assert len({page.name for page in (INDEX, *PAGES)}) == len(PAGES) + 1


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.name)
def test_a_page_is_of_a_length_to_be_read(page: Path) -> None:
    lines = len(page.read_text(encoding="utf-8").splitlines())
    assert (lines > FEWER_LINES.get(page.name, MOST_LINES)) == (page.name in REFERENCES), f"{lines} lines"


def test_pages_that_the_sources_name_exist() -> None:
    """If this fails, a message or a comment sends its reader to a page that is gone."""
    named = {
        (path.relative_to(ROOT), page)
        for pattern in NAMES_PAGES
        for path in ROOT.glob(pattern)
        # The engine's digest stands for what it has predicted: a comment would make that of another engine.
        if path.is_file() and path.parent != ROOT / "plugin/model"
        for page in re.findall(r"(?<![\w/])docs/(?:[\w-]+/)?[\w-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert {page for _, page in named} >= {"docs/how/format.md", "docs/use/own.md", "docs/how/method.md"}
    assert not sorted((str(path), page) for path, page in named if not (ROOT / page).is_file())


# Pages that say where something stands in the source.
NAME_THE_SOURCE = [*sorted((DOCS / "add").glob("*.md")), ROOT / "CONTRIBUTING.md", README]
SOURCE = ROOT / "src/worldwise"
# From the repository, or from src/worldwise on. One name with a slash may be a folder of anything.
_PATH = re.compile(r"(?:[\w-]+/)+(?:[\w-]+/|[\w.-]+\.(?:py|toml|sh|c|h))")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|_[A-Z][A-Z0-9]{2,}")


def spans(page: Path) -> list[str]:
    """What stands between backticks on one line."""
    return re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))


@functools.cache
def sources() -> str:
    """Every text of the repository in which a constant can be defined or read."""
    folders = ("src", "tests", "guest", "plugin", "patches")
    texts = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    wanted = {".py", ".c", ".h", ".sh", ".mk", ".patch", ".toml"}
    # Inputs of the fuzzer need not be UTF-8.
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in texts if path.suffix in wanted)


@pytest.mark.parametrize("page", NAME_THE_SOURCE, ids=lambda page: page.name)
def test_files_that_the_pages_name_exist(page: Path) -> None:
    """If this fails, a page names a file that has moved."""
    named = {span for span in spans(page) if _PATH.fullmatch(span)}
    assert not [name for name in sorted(named) if not ((ROOT / name).exists() or (SOURCE / name).exists())]


@pytest.mark.parametrize("page", NAME_THE_SOURCE, ids=lambda page: page.name)
def test_constants_that_the_pages_name_exist(page: Path) -> None:
    """If this fails, a page names a table of the tool, or a definition of the guest, that is gone."""
    known = set(re.findall(r"\w+", sources()))
    named = {span for span in spans(page) if _CONSTANT.fullmatch(span)}
    assert not sorted(named - known)


def test_every_file_that_a_family_declares_is_on_the_page() -> None:
    """If this fails, somebody who adds an operation does not learn of a stage that asks the families."""
    asked = {
        stage
        for path in SOURCE.rglob("*.py")
        for stage in re.findall(r"\bdeclared\(\s*\"(\w+)\"", path.read_text(encoding="utf-8"))
    }
    page = (DOCS / "add/add-library.md").read_text(encoding="utf-8")
    assert asked >= {"spec", "tables"}
    assert asked == set(re.findall(r"^\| `(\w+)\.py` \|", page, re.MULTILINE))
