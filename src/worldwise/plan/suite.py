# SPDX-License-Identifier: BSD-2-Clause
"""Suites: what to measure. A TOML file becomes a list of cases, or an error with file, line and way out."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files, paths
from worldwise.base.choices import choice_error, close_names, did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml import toml_model
from worldwise.base.toml.key_lines import Path as TomlPath
from worldwise.base.units import parse_duration, parse_frequency
from worldwise.plan.budget import BUDGET_MEASURES, BUDGET_PLACE, Budget, check_budget
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import MEASURES, OPERATIONS, PUBLISHED, takes_portables
from worldwise.plan.spec import PLACES
from worldwise.plan.suite_file.block import BlockReader, require_few
from worldwise.plan.suite_file.document import Document
from worldwise.plan.suite_file.tables import (
    BudgetTable,
    CasesTable,
    PublishedTable,
    RecommendedTable,
    SuiteTable,
    suite_table,
)

FORMAT = 1

# A run's folder has the name in its own.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")


@dataclass(frozen=True)
class Suite:
    """A suite that has passed every check; `text` is the file as it was read.

    `recommended` is the id of the case that the suite recommends; empty if it recommends none. `first` has the ids of
    the cases that are built and measured before all others, and whose figures are printed at once.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    budget: Budget | None
    published: str
    text: str
    unavailable: tuple[Unavailable, ...] = ()
    recommended: str = ""
    first: tuple[str, ...] = ()


def load_suite(path_or_name: str | Path, directory: Path = paths.SUITES) -> Suite:
    """Reads and checks a suite: a path, or the bare name of one in `directory`. Raises WorldwiseError."""
    return _load(path_or_name, directory, ())


def parse_suite(text: str, file: str, directory: Path = paths.SUITES, within: tuple[str, ...] = ()) -> Suite:
    """A suite from its text; `file` is the name errors give, `directory` has the suites that it includes.

    `within` names those that include it. Raises WorldwiseError.
    """
    table = toml_model.parse(suite_table(), text, file)
    return _Parser(Document(text, file), directory, within).suite(table)


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

    def suite(self, table: SuiteTable) -> Suite:
        document = self._document
        if table.format != FORMAT or isinstance(table.format, bool):
            shown = files.quoted(repr(table.format))
            document.refuse(("format",), f"{shown} is not a known suite format. Allowed: {FORMAT}.")
        if not _NAME.fullmatch(table.name):
            shown = files.quoted(table.name)
            document.refuse(("name",), f"'{shown}' does not fit. Allowed: a-z, 0-9 and '-', not starting with '-'.")
        cases = self._cases(table.cases, table.samples, table.warmup)
        cases += self._included(table.include, {case.id for case in cases})
        budget = self._budget(table.budget, cases) if table.budget else None
        source = self._published(table.published) if table.published else ""
        chosen = self._recommended(table.recommended, cases) if table.recommended else ""
        first = self._first(table.first, cases)
        left = tuple(self._unavailable)
        return Suite(table.name, table.title, tuple(cases), budget, source, document.text, left, chosen, first)

    def _cases(self, blocks: list[CasesTable], samples: int, warmup: int) -> list[Case]:
        document = self._document
        if not blocks:
            document.refuse(("cases",), "is empty: nothing would be measured.")
        seen: dict[str, TomlPath] = {}
        cases: list[Case] = []
        for number, block in enumerate(blocks):
            path: TomlPath = ("cases", number)
            found = BlockReader(document, path, block).read(samples, warmup)
            require_few(document, path, len(cases) + len(found.cases))
            for case in found.cases:
                if case.id in seen:
                    line = document.line(seen[case.id])
                    document.refuse(path, f"the case {case.id} is already in the block on line {line}.")
                seen[case.id] = path
                cases.append(case)
            self._unavailable |= dict.fromkeys(found.unavailable)
        return cases

    def _included(self, names: list[str], seen: set[str]) -> list[Case]:
        """The cases of the suites that this one includes, by name, each with its own numbers of samples."""
        document = self._document
        path: TomlPath = ("include",)
        cases: list[Case] = []
        for number, name in enumerate(names):
            # A path would lead to any file.
            if not _NAME.fullmatch(name):
                document.refuse((*path, number), f"'{files.quoted(name)}' is not a suite's name: a-z, 0-9 and '-'.")
            # It would include itself for ever.
            if self._within and name in self._within:
                document.refuse((*path, number), f"suite '{name}' includes this one.")
            included = _load(name, self._directory, self._within)
            require_few(document, (*path, number), len(seen) + len(included.cases))
            for case in included.cases:
                if case.id in seen:
                    document.refuse((*path, number), f"the case {case.id} of suite '{name}' is already in this one.")
                seen.add(case.id)
                cases.append(case)
            self._unavailable |= dict.fromkeys(included.unavailable)
        return cases

    def _budget(self, table: BudgetTable, cases: list[Case]) -> Budget:
        document = self._document
        path: TomlPath = ("budget",)
        limit = document.quantity((*path, "limit"), table.limit, parse_duration)
        clock = document.quantity((*path, "clock"), table.clock, parse_frequency)
        measures: tuple[str, ...] = BUDGET_MEASURES
        if table.measures is not None:
            measures = tuple(document.choices((*path, "measures"), table.measures, MEASURES))
        place = document.choice((*path, "place"), table.place, PLACES) if table.place else BUDGET_PLACE
        budget = Budget(limit, clock, measures, place)
        try:
            check_budget(budget, cases)
        except WorldwiseError as error:
            document.refuse(path, error.message, error.hint)
        return budget

    def _recommended(self, table: RecommendedTable, cases: list[Case]) -> str:
        ids = [case.id for case in cases]
        if table.case not in ids:
            problem = f"'{table.case}' is not a case of this suite."
            self._document.refuse(("recommended", "case"), problem, did_you_mean(table.case, ids))
        return table.case

    def _first(self, first: list[str], cases: list[Case]) -> tuple[str, ...]:
        ids = [case.id for case in cases]
        for number, case in enumerate(first):
            if case not in ids:
                problem = f"'{files.quoted(case)}' is not a case of this suite."
                self._document.refuse(("first", number), problem, did_you_mean(case, ids))
        return tuple(dict.fromkeys(first))

    def _published(self, table: PublishedTable) -> str:
        return self._document.choice(("published", "source"), table.source, PUBLISHED)


def named_operation(text: str) -> str:
    """The operation that `text` names, perhaps misspelled; empty if it names none."""
    return text if text in OPERATIONS else next(iter(close_names(text, OPERATIONS, 1)), "")


def cases_of(operation: str, directory: Path = paths.SUITES) -> list[str]:
    """Ids of an operation's cases on the machine with OP-TEE, from all suites; those in most suites come first."""
    found = Counter(
        case_id
        for path in sorted(directory.glob("*.toml"))
        for case_id in {
            case.id: None
            for case in load_suite(path).cases
            if case.operation == operation and not takes_portables(case.target)
        }
    )
    return [case_id for case_id, _ in found.most_common()]
