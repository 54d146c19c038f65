# SPDX-License-Identifier: BSD-2-Clause
"""Suites: what to measure. A TOML file becomes a list of cases, or an error with file, line and way out."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldwise.base import files, paths, toml_model
from worldwise.base.choices import choice_error, did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml_lines import Path as TomlPath
from worldwise.base.units import parse_duration, parse_frequency
from worldwise.plan.block import Block, require_few, samples_of, warmup_of
from worldwise.plan.budget import BUDGET_MEASURES, BUDGET_PLACE, Budget, check_budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import MEASURES, PUBLISHED
from worldwise.plan.document import Document, kind
from worldwise.plan.spec import PLACES

FORMAT = 1

# A run's folder has the name in its own.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_REQUIRED = ("format", "name", "title", "samples", "warmup", "cases")
_OPTIONAL = ("include", "budget", "published", "recommended")


@dataclass(frozen=True)
class Suite:
    """A suite that has passed every check; `text` is the file as it was read.

    `recommended` is the id of the case that the suite recommends; empty if it recommends none.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    budget: Budget | None
    published: str
    text: str
    unavailable: tuple[Unavailable, ...] = ()
    recommended: str = ""


def load_suite(path_or_name: str | Path, directory: Path = paths.SUITES) -> Suite:
    """Reads and checks a suite: a path, or the bare name of one in `directory`. Raises WorldwiseError."""
    return _load(path_or_name, directory, ())


def parse_suite(text: str, file: str, directory: Path = paths.SUITES, within: tuple[str, ...] = ()) -> Suite:
    """A suite from its text; `file` is the name errors give, `directory` has the suites that it includes.

    `within` names those that include it. Raises WorldwiseError.
    """
    tables = toml_model.load(text, file)
    return _Parser(Document(text, file), directory, within).suite(tables)


def _load(path_or_name: str | Path, directory: Path, within: tuple[str, ...]) -> Suite:
    wanted = str(path_or_name)
    is_name = not isinstance(path_or_name, Path) and "/" not in wanted and not wanted.endswith(".toml")
    path = directory / f"{wanted}.toml" if is_name else Path(path_or_name).expanduser()
    try:
        text = toml_model.decode(files.read_bytes(path, toml_model.MOST_BYTES), f"suite {path}")
    except FileNotFoundError:
        names = sorted(file.stem for file in directory.glob("*.toml"))
        if is_name:
            raise choice_error("suite", wanted, names, what=f"is not in {directory}") from None
        raise WorldwiseError(
            f"suite {path}: there is no such file.",
            hint=f"suites known by name: {', '.join(names)}" if names else "",
        ) from None
    except OSError as error:
        raise WorldwiseError(f"suite {path}: cannot be read: {error.strerror}.") from error
    return parse_suite(text, str(path), directory, (*within, path.stem))


class _Parser:
    """Checks a document. `within` has the suites that include this one, itself the last."""

    def __init__(self, document: Document, directory: Path, within: tuple[str, ...]) -> None:
        self._document = document
        self._directory = directory
        self._within = within
        self._unavailable: dict[Unavailable, None] = {}

    def suite(self, tables: dict[str, Any]) -> Suite:
        document = self._document
        document.keys((), tables, _REQUIRED, _OPTIONAL)
        if tables["format"] != FORMAT or isinstance(tables["format"], bool):
            shown = files.quoted(repr(tables["format"]))
            document.refuse(("format",), f"{shown} is not a known suite format. Allowed: {FORMAT}.")
        name = document.string(("name",), tables["name"])
        if not _NAME.fullmatch(name):
            shown = files.quoted(name)
            document.refuse(("name",), f"'{shown}' does not fit. Allowed: a-z, 0-9 and '-', not starting with '-'.")
        title = document.string(("title",), tables["title"])
        samples = samples_of(document, ("samples",), tables["samples"])
        warmup = warmup_of(document, ("warmup",), tables["warmup"])
        cases = self._cases(tables["cases"], samples, warmup)
        cases += self._included(tables.get("include", []), {case.id for case in cases})
        budget = self._budget(tables["budget"], cases) if "budget" in tables else None
        source = self._published(tables["published"]) if "published" in tables else ""
        chosen = self._recommended(tables["recommended"], cases) if "recommended" in tables else ""
        return Suite(name, title, tuple(cases), budget, source, document.text, tuple(self._unavailable), chosen)

    def _cases(self, blocks: Any, samples: int, warmup: int) -> list[Case]:
        document = self._document
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            document.refuse(("cases",), "must be one or more [[cases]] blocks.")
        if not blocks:
            document.refuse(("cases",), "is empty: nothing would be measured.")
        seen: dict[str, int] = {}
        cases: list[Case] = []
        for number, block in enumerate(blocks):
            path: TomlPath = ("cases", number)
            line = document.line(path)
            found = Block(document, path, block).read(samples, warmup)
            require_few(document, path, len(cases) + len(found.cases))
            for case in found.cases:
                if case.id in seen:
                    document.refuse(path, f"the case {case.id} is already in the block on line {seen[case.id]}.")
                seen[case.id] = line
                cases.append(case)
            self._unavailable |= dict.fromkeys(found.unavailable)
        return cases

    def _included(self, value: Any, seen: set[str]) -> list[Case]:
        """The cases of the suites that this one includes, by name, each with its own numbers of samples."""
        document = self._document
        path: TomlPath = ("include",)
        if not isinstance(value, list):
            document.refuse(path, f"must be a list of names of suites, is {kind(value)}.")
        cases: list[Case] = []
        for number, item in enumerate(value):
            name = document.string((*path, number), item)
            # A path would lead to any file.
            if not _NAME.fullmatch(name):
                document.refuse((*path, number), f"'{files.quoted(name)}' is no name of a suite: a-z, 0-9 and '-'.")
            # It would include itself for ever.
            if self._within and name in self._within:
                document.refuse((*path, number), f"suite '{name}' includes this one.")
            included = _load(name, self._directory, self._within)
            require_few(document, (*path, number), len(seen) + len(included.cases))
            for case in included.cases:
                if case.id in seen:
                    document.refuse((*path, number), f"the case {case.id} of suite '{name}' is here already.")
                seen.add(case.id)
                cases.append(case)
            self._unavailable |= dict.fromkeys(included.unavailable)
        return cases

    def _table(self, path: TomlPath, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._document.refuse(path, f"must be a [{path[0]}] table.")
        return value

    def _budget(self, value: Any, cases: list[Case]) -> Budget:
        document = self._document
        path: TomlPath = ("budget",)
        table = self._table(path, value)
        document.keys(path, table, ("limit", "clock"), ("measures", "place"))
        limit = document.quantity((*path, "limit"), table["limit"], parse_duration)
        clock = document.quantity((*path, "clock"), table["clock"], parse_frequency)
        measures: tuple[str, ...] = BUDGET_MEASURES
        if "measures" in table:
            measures = tuple(document.choices((*path, "measures"), table["measures"], MEASURES))
        place = BUDGET_PLACE
        if "place" in table:
            where = (*path, "place")
            place = document.choice(where, document.string(where, table["place"]), PLACES)
        budget = Budget(limit, clock, measures, place)
        try:
            check_budget(budget, cases)
        except WorldwiseError as error:
            document.refuse(path, error.message, error.hint)
        return budget

    def _recommended(self, value: Any, cases: list[Case]) -> str:
        document = self._document
        path: TomlPath = ("recommended",)
        table = self._table(path, value)
        document.keys(path, table, ("case",), ())
        chosen = document.string((*path, "case"), table["case"])
        ids = [case.id for case in cases]
        if chosen not in ids:
            document.refuse((*path, "case"), f"'{chosen}' is no case of this suite.", did_you_mean(chosen, ids))
        return chosen

    def _published(self, value: Any) -> str:
        document = self._document
        path: TomlPath = ("published",)
        table = self._table(path, value)
        document.keys(path, table, ("source",), ())
        source = document.string((*path, "source"), table["source"])
        return document.choice((*path, "source"), source, PUBLISHED)
