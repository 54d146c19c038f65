# SPDX-License-Identifier: BSD-2-Clause
"""Blocks of figures in README and docs/: which command gives each, from which kept run or output, of which lab.

docs/figures/blocks.toml declares every table and screen that has figures. docs/figures/remake makes all again that have
a record, lists them, and keeps new records.
"""

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import doc_pages
import doc_records
from doc_formulas import Formulas, Unfound
from doc_pages import Block, Page
from worldwise.base.tables import count

# What a cell or line of figures has: thousands, a fraction, a share.
_FIGURES = re.compile(r"\d,\d{3}|\d\.\d|\d ?%|\d x ")
# All blocks of a page that no other declaration has.
REST = "*"
# What is none: code, a link, a comment, a version, a date.
_NO_FIGURES = re.compile(
    r"`[^`]*`|\]\([^)]*\)|#.*$|\d+(?:\.\d+){2,}|\b(?:v|gcc |clang |Python |QEMU )\d[\d.]*|https?://\S+"
)
_COMMAND = re.compile(
    r"\s*(?:\$ |\./|[A-Z-]+/worldwise|[a-z0-9_./-]+ .*(?:\\|--\w)|#|release/wheel|python3|pipx|cp |mkdir |--)"
)
# The line below the head of a table in a screen.
_RULE = re.compile(r" *-{9,}")
# The generated line below a block.
OLD = re.compile(r"^\*Of (?:(?:an older|a) lab, |older images: ).*\*$")
KINDS = {
    "run": "from a kept run",
    "output": "from a kept output",
    "validation": "from the kept run of the validation",
    "none": "without a record",
    "fixed": "no measurement of ours",
}


class Undeclared(Exception):
    """A declaration and the pages do not meet."""


@dataclass(frozen=True)
class Declared:
    """A block of figures.

    Attributes:
        page, block: the page, and words of the block's first line, or before it; `*` for all others of the page.
        kind: `run`, `output`, `validation`, `none` or `fixed`: one of KINDS.
        command: what gives it; of a fixed one empty.
        records: the suites of the kept runs, or the names of the kept outputs.
        section: of a screen of a run: the section that is printed, `answer` for the screen that `run` ends with, or
            `report` for all of it.
        columns: of a table: by its columns how a cell is made: a form and a formula for each figure of it.
        names: what texts of cells stand for in formulas: `<0>` is that of a row's first cell, `<0:1>` its second part,
            between colons, `<row>` that of the first two cells with ` | ` between.
        lets: parts of formulas, by their names.
        cells: of a table: how single cells are made, by `row | column`, in the place of their column's way.
        only: of a screen of a run: a pattern of the rows that it shows; empty for all.
        lab: of one without a record the lab that it was measured in, if anybody knows it.
        why: why it has no record, or whose figures they are.
    """

    page: str
    block: str
    kind: str
    command: str = ""
    records: tuple[str, ...] = ()
    section: str = ""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    lets: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: str = ""
    lab: str = ""
    why: str = ""

    def found(self, page: Page) -> Block:
        """The block of a page. Raises Undeclared unless it is exactly one."""
        found = [one for one in page.blocks if has_figures(one) and one.match(self.block)]
        exact = [one for one in found if self.block in (one.name, one.heading, one.above)]
        found = exact if len(exact) == 1 else found
        if len(found) != 1:
            raise Undeclared(
                f"docs/figures/blocks.toml: {self.page} has {len(found)} blocks of figures near '{self.block}'"
            )
        return found[0]

    def labs(self, block: Block) -> tuple[str, ...]:
        """The digests of the labs that its records are of, as far as known."""
        if self.kind == "run" and self.made(block):
            runs = [doc_records.kept(name) for name in self.records]
            return tuple(dict.fromkeys(run.reading.run.lab for run in runs if run))
        if self.kind == "output" and self.made(block):
            outputs = [doc_records.output(name) for name in self.records]
            return tuple(dict.fromkeys(one.lab for one in outputs if one))
        return (self.lab,) if self.lab else ()

    @property
    def missing(self) -> list[str]:
        """Its records that are not kept."""
        if self.kind == "run":
            return [name for name in self.records if not doc_records.is_kept(name)]
        return [name for name in self.records if doc_records.output(name) is None] if self.kind == "output" else []

    def made(self, block: Block) -> bool:
        """Whether the block can be made again from kept records, now."""
        if self.kind not in {"run", "output", "validation"} or self.missing:
            return False
        if block.kind == "table":
            return bool(self.columns or self.cells)
        return self.kind == "output" or bool(self.section)

    def note(self, block: Block) -> str:
        """The line below a block of an older lab or of older images; empty for one of today's, or if nobody knows."""
        old = [lab for lab in self.labs(block) if not doc_records.today().startswith(lab[:12])]
        if not old:
            known = doc_records.older() if self.made(block) else {}
            changes = dict.fromkeys(known[name] for name in self.records if name in known)
            return f"*Of older images: {'; '.join(changes)}.*" if changes else ""
        return f"*Of an older lab, {', '.join(lab[:12] for lab in old)}; today's is {doc_records.today()[:12]}.*"


@functools.cache
def has_figures(block: Block) -> bool:
    """Whether a block has figures, and not only names, settings and commands."""
    if block.kind == "table" and any(_numeric(column) for column in zip(*block.rows[1:], strict=False)):
        return True
    rows = block.lines[1:] if block.kind == "table" else [line for line in block.lines if not _COMMAND.match(line)]
    return any(_FIGURES.search(_NO_FIGURES.sub("", line)) for line in rows)


def _numeric(column: Sequence[str]) -> bool:
    """Whether a column has nothing but whole numbers, two at least of two digits or more."""
    there = [cell for cell in column if cell not in {"", "-"}]
    return all(re.fullmatch(r"[\d,]+", cell) for cell in there) and sum(len(cell) > 1 for cell in there) > 1


@functools.cache
def declared() -> tuple[Declared, ...]:
    """All declarations, in the order of the file."""
    return read_declared(doc_records.DECLARED.read_text(encoding="utf-8"))


def read_declared(text: str) -> tuple[Declared, ...]:
    """Declarations of a text. Raises Undeclared for a key or a kind that there is not."""
    found = []
    document = tomllib.loads(text)
    told = document.pop("commands", {})
    document.pop("pictures", None)
    for page, why in document.pop("rest", {}).items():
        found.append(Declared(f"{page}.md", REST, "fixed", why=why))
    for page, entries in document.items():
        for entry in entries:
            kinds = [kind for kind in KINDS if kind in entry]
            if len(kinds) != 1:
                raise Undeclared(f"{page}, block '{entry.get('block')}': one of {', '.join(KINDS)} is wanted")
            kind = kinds[0]
            value = entry.pop(kind)
            ways = {
                key: {name: _list(each) for name, each in entry.pop(key, {}).items()} for key in ("columns", "cells")
            }
            more: dict[str, Any] = {"records": _list(value)} if kind in {"run", "output"} else {"why": str(value)}
            if kind == "output":
                unknown = [name for name in _list(value) if name not in told]
                if unknown:
                    raise Undeclared(f"{page}, block '{entry.get('block')}': no command of {', '.join(unknown)}")
                more["command"] = "; ".join(told[name] for name in _list(value))
            if kind == "run":
                more["command"] = entry.pop("command", _command_of_run(more["records"], entry.get("section", "")))
            found.append(
                Declared(page=f"{page}.md", kind=kind, columns=ways["columns"], cells=ways["cells"], **more, **entry)
            )
    return tuple(found)


def _command_of_run(records: Sequence[str], section: str) -> str:
    """The command of a block whose entry names none: it measures the runs, or shows a run's sections."""
    if not section:
        return "; ".join(f"./worldwise run {name}" for name in records)
    names = (f"'{name}'" if "*" in name else name for name in section.split())
    return " ".join(("./worldwise report latest", *(f"--section {name}" for name in names)))


def _list(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def undeclared(pages: Iterable[Page], all_declared: Sequence[Declared]) -> list[str]:
    """Blocks of figures that nothing declares, and declarations that meet no block or the same one twice."""
    problems: list[str] = []
    seen: set[tuple[str, int]] = set()
    by_name = {page.name: page for page in pages}
    rest = {one.page for one in all_declared if one.block == REST}
    for one in all_declared:
        if one.block == REST:
            continue
        page = by_name.get(one.page)
        try:
            if page is None:
                raise Undeclared(f"docs/figures/blocks.toml: there is no page {one.page}")
            block = one.found(page)
            if (one.page, block.line) in seen:
                raise Undeclared(f"docs/figures/blocks.toml: {one.page}, line {block.line} is declared twice")
            seen.add((one.page, block.line))
        except Undeclared as error:
            problems.append(str(error))
    for page in by_name.values():
        others = [block for block in page.blocks if has_figures(block) and (page.name, block.line) not in seen]
        if page.name in rest:
            if not others:
                problems.append(f"docs/figures/blocks.toml: {page.name} has no other blocks of figures")
            continue
        problems += [
            f"{doc_pages.path_of(page.name)}, line {block.line}: a block of figures that docs/figures/blocks.toml "
            f"does not declare: {block.name[:70]}"
            for block in others
        ]
    return problems


# --- making ---


def remade(text: str, name: str, all_declared: Sequence[Declared]) -> str:
    """The text of a page with all blocks made anew that can be, and the lines below those of an older lab."""
    lines = text.split("\n")
    page = doc_pages.parsed(name, text)
    changes: list[tuple[int, int, list[str]]] = []
    for one in all_declared:
        if one.page != name or one.block == REST:
            continue
        block = one.found(page)
        begin, end = block.line - 1, block.line - 1 + len(block.lines) + (block.kind == "table")
        new = made_lines(one, block, lines[begin:end], page) if one.made(block) else lines[begin:end]
        # A line between ``` stands behind the fence.
        after = end + (end < len(lines) and bool(re.match(r" *```", lines[end])))
        fence = lines[end:after]
        old = [number for number in range(after, min(after + 2, len(lines))) if OLD.match(lines[number])]
        rest = old[-1] + 1 if old else after
        note = ["", one.note(block)] if one.note(block) else []
        changes.append((begin, rest, [*new, *fence, *note]))
    for begin, rest, new in sorted(changes, reverse=True):
        lines[begin:rest] = new
    return "\n".join(lines)


def made_lines(one: Declared, block: Block, lines: Sequence[str], page: Page) -> list[str]:
    """The lines of a block, made from its records. Raises Undeclared where a record has not what a line asks for."""
    if block.kind == "table":
        return _made_table(one, block, lines, page)
    if one.kind == "output":
        return _excerpt(one, lines)
    indent = "" if not lines[0].startswith("    ") else "    "
    printed: Sequence[str] = doc_records.printed(one.records[0], one.section)
    if one.section != "report":
        printed = _shown(printed, [line[len(indent) :] for line in lines], one)
    return [f"{indent}{line}".rstrip() for line in printed]


def _words(line: str) -> str:
    """A line without its figures, its dashes and its spaces: what tells it from others."""
    return " ".join(re.sub(r"(?<![\w.])[+-]?\d[\d,.]*(?!\w)|-{3,}", "", line).split())


def _shown(printed: Sequence[str], lines: Sequence[str], one: Declared) -> list[str]:
    """Of what is printed what a screen shows: of each of its paragraphs all from its first line to its last.

    A declaration with `only` leaves out the rows of tables in which that pattern is not found. Raises Undeclared where
    a first or last line is printed no more.
    """
    found: list[str] = []
    at = 0
    for paragraph in _apart(lines):
        first = _place(printed, paragraph[0], at, one)
        last = _place(printed, paragraph[-1], first, one)
        found += [*([""] if found else []), *_chosen(printed[first : last + 1], one.only)]
        at = last + 1
    return found


def _apart(lines: Sequence[str]) -> list[list[str]]:
    """Lines by paragraphs."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _place(printed: Sequence[str], line: str, begin: int, one: Declared) -> int:
    words = _words(line)
    for place in range(begin, len(printed)):
        if _words(printed[place]) == words:
            return place
    raise Undeclared(f"{one.page}: '{line.strip()[:60]}' is not printed by `{one.command}` any more")


def _chosen(printed: Sequence[str], only: str) -> list[str]:
    rule = next((number for number, line in enumerate(printed) if _RULE.fullmatch(line)), len(printed))
    return [line for number, line in enumerate(printed) if number <= rule or re.search(only, line)]


def _lines_of(printed: Sequence[str], lines: Sequence[str], one: Declared, read: set[int]) -> list[str]:
    """Of what is printed the lines that have the same words as a screen's, in order; `...` stays. `read` gets theirs.

    A head of a table may show its first columns alone: then so do the rows below it. So may a line that ends in `...`.
    """
    found: list[str] = []
    at, width = 0, 0
    for line in lines:
        if not line.strip():
            width = 0
        if line.strip() in {"", "..."}:
            found.append(line)
            continue
        if _RULE.fullmatch(line):
            at = next((place for place in range(at, len(printed)) if _RULE.fullmatch(printed[place])), at)
            found.append(printed[at][: width or None])
            read.add(at)
            continue
        at, text, end = _begun(printed, line, at, one)
        read.update((at - 1,) if text == printed[at - 1] else (at - 2, at - 1))
        if line.rstrip().endswith("..."):
            found.append(f"{text[:end]} ...")
        else:
            # A head, which has no figure, says how wide its rows are.
            width = width if re.search(r"\d", line) else end * (_words(text) != _words(line))
            found.append(text[: width or None].rstrip())
    return found


def _begun(printed: Sequence[str], line: str, begin: int, one: Declared) -> tuple[int, str, int]:
    """The line that has the words of a screen's line, or begins with them: the number of the next one, its text, and
    where these words end in it. A screen may have on one line what is printed on two.
    """
    words = _words(line).removesuffix("...").strip()
    lines = [
        (place + number, " ".join(printed[place : place + number]))
        for number in (1, 2)
        for place in range(begin, len(printed))
        # A rule has no words.
        if all(map(_words, printed[place : place + number]))
    ]
    for exact in (True, False):
        for place, text in lines:
            told = _words(text)
            if told == words or (not exact and told.startswith(f"{words} ")):
                return place, text, _end(text, words)
    raise Undeclared(f"{one.page}: '{line.strip()[:60]}' is not printed by `{one.command}` any more")


def _end(text: str, words: str) -> int:
    """Where words end in a text, in which figures stand between them."""
    at = 0
    for word in words.split():
        at = text.index(word, at) + len(word)
    return at


def _excerpt(one: Declared, lines: Sequence[str]) -> list[str]:
    """A screen of kept outputs: each begins at its line `$ command`, and is shortened where `...` stands."""
    found: list[str] = []
    for name, part in zip(one.records, _parts(lines, len(one.records)), strict=True):
        kept = doc_records.output(name)
        assert kept
        head = [line for line in part if line.lstrip().startswith("$ ")]
        indent = "    " if lines[0].startswith("    ") else ""
        rest = [line[len(indent) :] for line in part if line not in head]
        read: set[int] = set()
        found += head + [f"{indent}{line}".rstrip() for line in _lines_of(kept.text.split("\n"), rest, one, read)]
        doc_records.mark(name, read)
    return found


def _parts(lines: Sequence[str], number: int) -> list[list[str]]:
    """A screen taken apart at its lines that begin with `$ `."""
    parts: list[list[str]] = []
    for line in lines:
        if line.lstrip().startswith("$ ") or not parts:
            parts.append([])
        parts[-1].append(line)
    if len(parts) != number:
        raise Undeclared(f"{len(parts)} commands in a screen, and {number} records declared")
    return parts


def _made_table(one: Declared, block: Block, lines: Sequence[str], page: Page) -> list[str]:
    """A table with the figures of its declared columns made anew: other words of a cell stay."""
    formulas = Formulas(page)
    made = list(lines[:2])
    unknown = {key.rpartition(" | ")[0] for key in one.cells} - {row[0] for row in block.rows[1:]}
    if unknown:
        raise Undeclared(f"{one.page}, line {block.line}: no row '{', '.join(sorted(unknown))}'")
    for line, row in zip(lines[2:], block.rows[1:], strict=True):
        parts = line.strip().strip("|").split("|")
        single = {key.rpartition(" | ")[2]: way for key, way in one.cells.items() if key.startswith(f"{row[0]} | ")}
        for column, recipes in {**one.columns, **single}.items():
            place = block.place(column)
            if place is None:
                raise Undeclared(f"{one.page}, line {block.line}: no column '{column}'")
            if re.search(r"\d", parts[place]):
                parts[place] = _made_cell(parts[place], recipes, row, block, formulas, one)
        made.append("|" + "|".join(parts) + "|")
    return made


def _made_cell(
    cell: str, recipes: Sequence[str], row: Sequence[str], block: Block, formulas: Formulas, one: Declared
) -> str:
    figures = list(doc_pages.NUMBER.finditer(cell))
    figures_of_row = {
        head: doc_pages.numbers(text)[0]
        for head, text in zip(block.columns, row, strict=False)
        if doc_pages.numbers(text)
    }
    if len(figures) < len(recipes):
        raise Undeclared(f"{one.page}: '{cell.strip()}' has {len(figures)} figures, and {len(recipes)} are declared")
    for match, recipe in sorted(zip(figures, recipes, strict=False), key=lambda each: -each[0].start()):
        form, _, formula = recipe.partition(" ")
        if form == "=":
            continue
        formula = _filled(formula, row, one)
        try:
            value = formulas.value(formula, figures_of_row)
        except Unfound as error:
            raise Undeclared(f"{one.page}, line {block.line}, '{' | '.join(row)[:60]}': {error}") from None
        cell = cell[: match.start()] + written(form, value) + cell[match.start() + len(match[0].rstrip(",")) :]
    return cell


def _filled(formula: str, row: Sequence[str], one: Declared) -> str:
    """A formula with what the cells of a row stand for, and with the declaration's parts of formulas."""
    both = " | ".join(row[:2])
    for _ in range(3):
        for number, text in [(str(number), text) for number, text in enumerate(row)] + [("row", both)]:
            name = one.names.get(text, text)
            formula = formula.replace(f"<{number}>", name)
            for part, words in enumerate(name.split(":")):
                formula = formula.replace(f"<{number}:{part}>", words)
        for let, text in one.lets.items():
            formula = re.sub(rf"(?<![\w\"]){let}(?![\w\"])", lambda _, text=text: f"({text})", formula)  # type: ignore[misc]
    return formula


def written(form: str, value: float) -> str:
    """A figure in a form: `n` a count as reports write it, `.2` so many decimals, `+.1` with its sign."""
    if form == "n":
        return count(value)
    return f"{value:{'+' if form.startswith('+') else ''},{form.lstrip('+')}f}"


# --- listing ---


def every(pages: doc_pages.Pages) -> Iterator[tuple[Declared, Block]]:
    """All blocks of figures with what declares them."""
    seen: set[tuple[str, int]] = set()
    for one in sorted(declared(), key=lambda one: one.block == REST):
        page = pages(one.page)
        blocks = page.blocks if one.block == REST else [one.found(page)]
        for block in blocks:
            if has_figures(block) and (page.name, block.line) not in seen:
                seen.add((page.name, block.line))
                yield one, block


def listing() -> list[str]:
    """A line for each block, and the numbers of each kind."""
    lines, numbers, made = [], dict.fromkeys(KINDS, 0), 0
    for one, block in every(doc_pages.page):
        numbers[one.kind] += 1
        made += one.made(block)
        state = "made" if one.made(block) else one.why or f"not kept: {', '.join(one.missing)}"
        lines.append(f"{doc_pages.path_of(one.page)}:{block.line}: {block.name[:50]}: {KINDS[one.kind]} ({state})")
        lines += [f"    {one.command}"] if one.command else []
    figured = sum(numbers.values()) - numbers["fixed"]
    lines += [f"{number} blocks {KINDS[kind]}" for kind, number in numbers.items()]
    lines.append(f"{made} of {figured} blocks of our figures are made from kept records; {figured - made} are not")
    return lines


def stale(name: str, read: Callable[[str], str] = doc_pages.read) -> list[str]:
    """Lines of a page that are not what its records give today."""
    text = read(name)
    new = remade(text, name, declared())
    if text == new:
        return []
    old_lines, new_lines = text.split("\n"), new.split("\n")
    if len(old_lines) != len(new_lines):
        return [f"{doc_pages.path_of(name)}: a line below a block must come or go: docs/figures/remake pages"]
    return [
        f"{doc_pages.path_of(name)}, line {number}: '{one.strip()}' is '{two.strip()}' by its record"
        for number, (one, two) in enumerate(zip(old_lines, new_lines, strict=True), 1)
        if one != two
    ]
