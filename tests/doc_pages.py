# SPDX-License-Identifier: BSD-2-Clause
"""README and the pages of docs/, taken apart: their sentences with lines, their tables, and their screens.

A screen is a block of four spaces or between ``` that shows what a command prints.
"""

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import paths

ROOT = paths.REPOSITORY
DOCS = ROOT / "docs"
README = "README.md"

NUMBER = re.compile(r"(?<![\w.,])[+-]?\d[\d,]*(?:\.\d+)?")


# The folders of docs/ that have pages; examples, figures and pictures have none.
FOLDERS = ("start", "use", "results", "add", "how")
# Pages of the key cache, a product of its own, whose figures the tool measures.
OF_THE_KEY_CACHE = ("mqtt.md", "keycache-survives.md")


def paths_of_pages() -> list[Path]:
    """Every page of docs/ but its index, and two of the key cache. A page is known by its name, which is its own."""
    ours = (path for folder in FOLDERS for path in (DOCS / folder).glob("*.md"))
    return sorted((*ours, *(paths.KEYCACHE / "docs" / name for name in OF_THE_KEY_CACHE)), key=lambda path: path.name)


def names() -> list[str]:
    """README and every page of docs/, by their names; the index of docs/ is a list of pages without figures."""
    return [README, *(path.name for path in paths_of_pages())]


@dataclass(frozen=True)
class Block:
    """A table or a screen of a page.

    Attributes:
        kind: `table` or `screen`.
        heading: the section that it stands in.
        above: the words before it.
        line: the number of its first line in the page.
        lines: its lines as they stand there, without the line of dashes of a table.
        rows: of a table its cells, row by row, the head among them; an empty first cell has that of the row above.
    """

    kind: str
    heading: str
    above: str
    line: int
    lines: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of a table."""
        return self.rows[0]

    @property
    def name(self) -> str:
        """What tells it from others: its first line that has words."""
        first = next((line for line in self.lines if re.search(r"[\w/]", line)), self.lines[0])
        return " ".join(first.replace("`", "").split())

    def place(self, column: str) -> int | None:
        """Where a column stands, by its head, or by `head#2` for the second of that head; None if it is not there."""
        head, _, which = column.rpartition("#") if re.search(r"#\d+$", column) else (column, "", "1")
        places = [number for number, one in enumerate(self.columns) if one == head]
        return places[int(which) - 1] if len(places) >= int(which) else None

    def match(self, near: str) -> bool:
        """Whether words stand in its heading, before it, or in its own first line."""
        return not near or any(near in text for text in (self.heading, self.above, self.name, self.lines[0]))


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        prose: its sentences, without blocks, with one space between words.
        starts: where in `prose` the text of a line begins, and the line's number.
        text: all of the page with one space between words, blocks among them.
    """

    name: str
    prose: str
    starts: tuple[tuple[int, int], ...]
    blocks: tuple[Block, ...]
    text: str

    @property
    def tables(self) -> tuple[Block, ...]:
        """The blocks that are tables."""
        return tuple(block for block in self.blocks if block.kind == "table")

    def line_at(self, offset: int) -> int:
        """The page's line of a place in its prose."""
        return max((line for start, line in self.starts if start <= offset), default=1)


def cells(line: str) -> tuple[str, ...]:
    """The cells of a line of a table, without emphasis."""
    return tuple(cell.strip().replace("**", "").replace("`", "") for cell in line.strip().strip("|").split("|"))


def parsed(name: str, text: str) -> Page:
    """A page taken apart."""
    prose: list[str] = []
    starts: list[tuple[int, int]] = []
    blocks: list[Block] = []
    heading = above = ""
    length = 0
    for kind, first, lines in _pieces(text.split("\n")):
        if kind == "prose":
            line = " ".join(lines[0].split())
            heading = line.lstrip("# ") if line.startswith("#") else heading
            above = line or above
            if line:
                starts.append((length, first))
                prose.append(line)
                length += len(line) + 1
        elif kind == "table":
            own = [one for number, one in enumerate(lines) if number != 1]
            rows: list[tuple[str, ...]] = []
            for one in own:
                row = cells(one)
                rows.append((rows[-1][0], *row[1:]) if len(rows) > 1 and not row[0] else row)
            blocks.append(Block(kind, heading, above, first, tuple(own), tuple(rows)))
        else:
            blocks.append(Block(kind, heading, above, first, tuple(lines)))
    return Page(name, " ".join(prose), tuple(starts), tuple(blocks), " ".join(text.replace("**", "").split()))


def _pieces(lines: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """The lines of a page by kind, each with the number of its first line: a line of prose, a table, a screen."""
    at = 0
    while at < len(lines):
        line = lines[at]
        begin = at
        if re.match(r" *```", line):
            at += 1
            while at < len(lines) and not re.match(r" *```", lines[at]):
                at += 1
            yield "screen", begin + 2, lines[begin + 1 : at] or [""]
            at += 1
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            yield "table", begin + 1, lines[begin:at]
        elif line.startswith("    ") and (not begin or not lines[begin - 1].strip()) and not _goes_on(lines, begin):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            while not lines[at - 1].strip():
                at -= 1
            yield "screen", begin + 1, lines[begin:at]
        else:
            at += 1
            yield "prose", begin + 1, [re.sub(r"<!--.*?-->", "", line)]


def _goes_on(lines: list[str], at: int) -> bool:
    """Whether an indented line goes on with an item of a list, of which it is a paragraph."""
    before = [line for line in lines[:at] if line.strip()]
    return bool(before) and bool(re.match(r" *\d+\. |  +\S", before[-1])) and not lines[at].startswith("        ")


@functools.cache
def page(name: str) -> Page:
    """README.md, or a page of docs/."""
    return parsed(name, read(name))


def path_of(name: str) -> str:
    """Where a page is, from the repository on."""
    if name == README:
        return name
    found = [path for path in paths_of_pages() if path.name == name]
    return str(found[0].relative_to(ROOT)) if found else f"docs/{name}"


def read(name: str) -> str:
    """The text of a page."""
    return (ROOT / path_of(name)).read_text(encoding="utf-8")


def numbers(text: str) -> list[float]:
    """The numbers of a text, in order."""
    return [float(one.rstrip(",").replace(",", "")) for one in NUMBER.findall(text)]


# Pages by name: those of the repository, or with one in another's place.
Pages = Callable[[str], Page]
