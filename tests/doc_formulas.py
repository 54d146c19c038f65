# SPDX-License-Identifier: BSD-2-Clause
"""Formulas over figures: cells of the pages' tables, figures that stand in their texts, rows of kept runs, published
figures, error lines of the validation, numbers of sources.

A formula is an expression of Python with the names of `Formulas.names` and no others. A figure that it asks for and
does not find raises Unfound, which says what was looked for.
"""

import ast
import csv
import fnmatch
import functools
import json
import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import doc_pages
import doc_records
from doc_pages import Block, Page, Pages
from worldwise.predict.errors import ErrorLine
from worldwise.validation.record import Run, error_of, load_run


class Unfound(Exception):
    """What a formula asks for is not there, or not once."""


class NotKept(Unfound):
    """The run of a suite that a formula asks is not kept yet: nothing can be said until it is."""


class Values(tuple[float, ...]):
    """Figures of a column, in its order, a cell without one as NaN. Arithmetic is by element."""

    __slots__ = ()

    def _with(self, other: object, by: Callable[[float, float], float]) -> "Values":
        if isinstance(other, Values):
            if len(other) != len(self):
                raise Unfound(f"{len(self)} figures beside {len(other)}")
            return Values(by(one, two) for one, two in zip(self, other, strict=True))
        assert isinstance(other, int | float)
        return Values(by(one, other) for one in self)

    def __add__(self, other: object) -> "Values":
        return self._with(other, operator.add)

    def __radd__(self, other: object) -> "Values":
        return self._with(other, operator.add)

    def __sub__(self, other: object) -> "Values":
        return self._with(other, operator.sub)

    def __rsub__(self, other: object) -> "Values":
        return self._with(other, lambda one, two: two - one)

    def __mul__(self, other: object) -> "Values":
        return self._with(other, operator.mul)

    def __rmul__(self, other: object) -> "Values":
        return self._with(other, operator.mul)

    def __truediv__(self, other: object) -> "Values":
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: object) -> "Values":
        return self._with(other, lambda one, two: two / one)

    def there(self) -> list[float]:
        """Those that are figures."""
        found = [one for one in self if not math.isnan(one)]
        if not found:
            raise Unfound("no figures")
        return found


def _flat(values: Iterable[object]) -> list[float]:
    found: list[float] = []
    for one in values:
        if isinstance(one, Values):
            found += one.there()
        elif isinstance(one, int | float):
            found.append(float(one))
        elif isinstance(one, Iterable):
            found += _flat(one)
        else:
            raise TypeError(type(one))
    return found


_ERRORS = "measured/validation/errors.json"


class Formulas:
    """Formulas of one page, with all pages beside it.

    Attributes:
        lets: names that the page's claims give to formulas.
    """

    def __init__(self, here: Page, pages: Pages = doc_pages.page, lets: Mapping[str, str] | None = None) -> None:
        self._here, self._pages, self.lets = here, pages, dict(lets or {})

    def value(self, formula: str, row: Mapping[str, float] | None = None) -> float:
        """What a formula gives. `row` are figures of the line of a table that it is of. Raises Unfound."""
        found = self._evaluated(formula, row)
        if isinstance(found, Values) and len(found) == 1:
            found = found[0]
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise Unfound(f"{formula} is no figure")
        return float(found)

    def _evaluated(self, formula: str, row: Mapping[str, float] | None = None) -> object:
        tree = ast.parse(formula.strip(), mode="eval")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names = self._names() | ({"x": functools.partial(_of_row, row)} if row is not None else {})
        for name in used & set(self.lets):
            names[name] = self._evaluated(self.lets[name], row)
        try:
            return eval(compile(tree, formula, "eval"), {"__builtins__": {}}, names)
        except ZeroDivisionError:
            raise Unfound(f"{formula} divides by 0") from None
        except NameError as error:
            raise Unfound(str(error)) from None

    def _names(self) -> dict[str, Any]:
        """What a formula can ask for."""
        return {
            "c": self.cell,
            "col": self.column,
            "f": self.told,
            "rows": self.count,
            "cases": doc_records.case_count,
            "run": _of_run,
            "printed": _printed,
            "spreads": _spreads,
            "out": _output,
            "csv": _of_csv,
            "selves": _selves,
            "error": _error_line,
            "errors": _errors,
            "published": _published,
            "source": _source,
            "least": lambda *values: min(_flat(values)),
            "most": lambda *values: max(_flat(values)),
            "total": lambda *values: sum(_flat(values)),
            "middle": lambda *values: _median(_flat(values)),
            "number": lambda *values: float(len(_flat(values))),
            "abs": lambda one: Values(map(abs, one)) if isinstance(one, Values) else abs(one),
            "root": math.sqrt,
            "log2": math.log2,
            "round": round,
        }

    def _page(self, name: str) -> Page:
        return self._pages(name) if name else self._here

    def _tables(self, columns: Sequence[str], near: str, page: str) -> Iterator[Block]:
        for block in self._page(page).tables:
            if block.match(near) and all(block.place(column) is not None for column in columns):
                yield block

    def cell(self, row: str, column: str, near: str = "", page: str = "", nth: int = 1) -> float:
        """The nth number of the one cell at a row, named by cells of it with ` | ` between, and a column.

        `near` are words before the table, in its heading or in its head; `page` another page than this one.
        """
        wanted = [part.strip() for part in row.split("|")]
        found = []
        for block in self._tables([column], near, page):
            place = block.place(column)
            assert place is not None
            found += [one[place] for one in block.rows[1:] if all(part in one for part in wanted)]
        where = f"{page or self._here.name}: {row} / {column}"
        if len(found) != 1:
            raise Unfound(f"{where}: {len(found)} cells")
        figures = doc_pages.numbers(found[0])
        if len(figures) < nth:
            raise Unfound(f"{where}: no figure in '{found[0]}'")
        return figures[nth - 1]

    def column(
        self, column: str, near: str = "", only: str = "", page: str = "", nth: int = 1, but: str = ""
    ) -> Values:
        """The figures of a column, of all tables that have it; of the rows in which the pattern `only` is found."""
        found: list[float] = []
        for block in self._tables([column], near, page):
            place = block.place(column)
            assert place is not None
            for row in block.rows[1:]:
                line = "|".join(row)
                if not re.search(only, line) or (but and re.search(but, line)):
                    continue
                figures = doc_pages.numbers(row[place]) if place < len(row) else []
                found.append(figures[nth - 1] if len(figures) >= nth else math.nan)
        if not found:
            raise Unfound(f"{page or self._here.name}: no column '{column}'{f' near {near}' if near else ''}")
        return Values(found)

    def count(self, near: str, only: str = "", page: str = "") -> float:
        """How many rows the one table near words has, in which the pattern `only` is found."""
        found = [block for block in self._page(page).tables if block.match(near)]
        if len(found) != 1:
            raise Unfound(f"{page or self._here.name}: {len(found)} tables near '{near}'")
        return float(sum(bool(re.search(only, "|".join(row))) for row in found[0].rows[1:]))

    def told(self, words: str, page: str = "") -> float:
        """The number that stands at the last `#` of words of a page, in a sentence, a table or a screen.

        `#` before it and `~` stand for any number, `##` for a `#`; all else is taken literally, with any space between
        words.
        """
        return _told(words, self._page(page).text, page or self._here.name)


_FIGURE = r"[+-]?\d[\d,]*(?:\.\d+)?"


def _told(words: str, text: str, where: str) -> float:
    return _found(words, text, where)[0]


def _found(words: str, text: str, where: str) -> tuple[float, list[re.Match[str]]]:
    """The one number, and all places where it is told."""
    words = words.replace("##", "\0")
    last = words.rfind("#")
    if last < 0:
        raise Unfound(f"no # in '{words}'")
    pattern = ""
    for number, letter in enumerate(words):
        if letter in "#~":
            pattern += f"({_FIGURE})" if number == last else _FIGURE
        else:
            pattern += r"\s+" if letter.isspace() else re.escape(letter.replace("\0", "#"))
    places = list(re.finditer(rf"(?<![\w.,]){pattern}(?!\d)", text))
    found = {one[1].rstrip(",") for one in places}
    if len(found) != 1:
        raise Unfound(f"{where}: '{words}' is told {len(found)} times: {', '.join(sorted(found)[:3])}")
    return float(found.pop().replace(",", "")), places


def _of_row(row: Mapping[str, float] | None, column: str) -> float:
    if row is None or column not in row or math.isnan(row[column]):
        raise Unfound(f"no figure in column '{column}'")
    return row[column]


def _median(values: list[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _of_run(suite: str, case: str, measure: str = "", place: str = "", what: str = "median") -> float:
    """A figure of the one row of a case in a kept run; of several by their measure and place."""
    found = doc_records.figures(suite, case, measure, place, what)
    if not doc_records.is_kept(suite):
        if case not in doc_records.cases(suite):
            raise Unfound(f"the suite {suite} has no case {case}")
        raise NotKept(f"no run of {suite} is kept")
    if len(found) != 1:
        told = " ".join(one for one in (case, measure, f"at {place}" if place else "") if one)
        raise Unfound(f"the kept run of {suite} has {len(found)} figures ({what}) of {told}")
    return found[0]


def _spreads(suite: str, only: str, measure: str = "", place: str = "") -> Values:
    """Of the cases in which the pattern `only` is found: greatest less least, in per cent of the median."""
    if not doc_records.is_kept(suite):
        raise NotKept(f"no run of {suite} is kept")
    found = Values(
        100 * (row.counts.max - row.counts.min) / row.median
        for row in doc_records.rows(suite)
        if re.search(only, row.case) and measure in ("", row.measure) and place in ("", row.place)
    )
    if not found:
        raise Unfound(f"the kept run of {suite} has no rows of {only}")
    return found


def _printed(suite: str, section: str, words: str) -> float:
    """The number at `#` of words that a section of a kept run's report has, in its tables or sentences."""
    if not doc_records.is_kept(suite):
        raise NotKept(f"no run of {suite} is kept")
    try:
        lines = doc_records.printed(suite, section)
    except KeyError as error:
        raise Unfound(f"nothing is printed of {suite}, section {section}: no {error}") from None
    return _told(words, " ".join(" ".join(lines).split()), f"the report of {suite}")


def _output(name: str, words: str) -> float:
    """The number at `#` of words of a kept output."""
    # The text in one line, and of each of its letters the line that it stands on.
    parts = [(number, word) for number, line in enumerate(_kept(name).split("\n")) for word in line.split()]
    numbers = [number for number, word in parts for _ in f"{word} "]
    value, places = _found(words, " ".join(word for _, word in parts), f"the output {name}")
    for place in places:
        doc_records.mark(name, numbers[place.start() : place.end()])
    return value


def _kept(name: str) -> str:
    if name not in doc_records.commands():
        raise Unfound(f"docs/figures/blocks.toml has no command of {name}")
    output = doc_records.output(name)
    if output is None:
        raise NotKept(f"no output {name} is kept")
    return output.text


def _of_csv(name: str, words: str, column: str) -> float:
    """A figure of the one row of a kept output in CSV that has all these words, each a cell of its own."""
    rows = list(csv.DictReader(_kept(name).splitlines()))
    fitting = [number for number, row in enumerate(rows) if set(words.split()) <= set(row.values())]
    found = [rows[number] for number in fitting]
    doc_records.mark(name, [0, *(number + 1 for number in fitting)])
    if len(found) != 1 or not found[0].get(column):
        raise Unfound(f"the output {name}: '{words}' has {len(found)} rows, '{column}' is a column of one")
    return float(found[0][column])


_ROW = re.compile(r"(\S+) \(\S+\) +([\d,]+) ")


def _selves(name: str, patterns: str) -> float:
    """What functions execute themselves by a kept output of `explain`: all that have a pattern and none with a `!`."""
    lines = _kept(name).split("\n")
    head = lines.index("Functions") if "Functions" in lines else len(lines)
    rows = [(number, _ROW.match(line)) for number, line in enumerate(lines) if number > head]
    wanted = [one for one in patterns.split() if not one.startswith("!")] or ["*"]
    others = [one[1:] for one in patterns.split() if one.startswith("!")]

    def has(function: str, of: Iterable[str]) -> bool:
        return any(fnmatch.fnmatchcase(function, one) for one in of)

    chosen = [(number, row) for number, row in rows if row and has(row[1], wanted) and not has(row[1], others)]
    found = [int(row[2].replace(",", "")) for _, row in chosen]
    # With the table's head.
    doc_records.mark(name, [head, head + 1, head + 2, *(number for number, _ in chosen)])
    if not found:
        raise Unfound(f"the output {name} has no function like '{patterns}'")
    return float(sum(found))


@functools.cache
def _lines() -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = json.loads((doc_pages.ROOT / _ERRORS).read_text(encoding="utf-8"))["lines"]
    return lines


def _error_line(core: str, kind: str, what: str) -> float:
    """A number of an error line, by its name in the file; `expected` and `sure` in per cent."""
    for line in _lines():
        if (line["core"], line["kind"]) == (core, kind):
            if what in ("expected", "sure"):
                return 100 * float(getattr(ErrorLine.model_validate(line), what))
            return float(line[what])
    raise Unfound(f"{_ERRORS} has no line {core} {kind}")


@functools.cache
def _validation() -> Run:
    return load_run()


def _errors(core: str, only: str, by: str = "model") -> Values:
    """Errors in per cent of the validation's figures of a core in which the pattern `only` is found.

    It is looked for in `source operation implementation compiler`. `by` is the model, or `mca`: llvm-mca.
    """
    found = Values(
        error_of(row.mca or 0.0, row.hardware) if by == "mca" else row.error
        for row in _validation().rows
        if row.core == core and re.search(only, f"{row.source} {row.operation} {row.implementation} {row.compiler}")
    )
    if not found:
        raise Unfound(f"the validation has no figure of {core} with {only}")
    return found


@functools.cache
def _figures(path: str) -> list[dict[str, Any]]:
    """The figures of published/PATH.toml, those of its rows written out."""
    text = (doc_pages.ROOT / "published" / f"{path}.toml").read_text(encoding="utf-8")
    return [
        table | dict(zip(table.get("columns", ()), row, strict=True))
        for table in tomllib.loads(text)["figure"]
        for row in table.get("rows", [[]])
    ]


def _published(path: str, key: str = "value", **where: object) -> Values:
    """The values of published/PATH.toml for which all else is as `where` says."""
    wanted = [one for one in _figures(path) if all(one.get(name) == value for name, value in where.items())]
    found = Values(_flat(one[key] for one in wanted if key in one))
    if not found:
        raise Unfound(f"published/{path}.toml has no figure with {where}")
    return found


@functools.cache
def _text(path: str) -> str:
    return " ".join((doc_pages.ROOT / path).read_text(encoding="utf-8").split())


def _source(path: str, words: str) -> float:
    """The number at `#` of words of a file of the repository."""
    if not (doc_pages.ROOT / path).is_file():
        raise Unfound(f"there is no {path}")
    return _told(words, _text(path), path)
