# SPDX-License-Identifier: BSD-2-Clause
"""Suites: what to measure. A TOML file becomes a list of cases, or an error with file, line and way out."""

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from worldwise import paths, published
from worldwise.errors import WorldwiseError
from worldwise.implementation import IMPLEMENTATIONS as IMPLEMENTATION_TABLE
from worldwise.toml_lines import Path as TomlPath
from worldwise.toml_lines import TomlLines, syntax_error_line

FORMAT = 1

# Everything a suite may ask for, one line each: target -> operation -> measure -> places where it stands.
_IN_TEE = ("ta", "client")
TARGETS: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "optee": {
        "keygen": {"keygen": _IN_TEE},
        "attestdiv": {"sign": _IN_TEE, "verify": _IN_TEE},
        "attestquorum": {"sign": _IN_TEE, "verify": _IN_TEE},
        "empty-invoke": {"invoke": ("client",)},
        "session-open": {"open": ("client",)},
        "ta-load": {"load": ("client",)},
    },
    "linux": {
        "keygen": {"keygen": ("linux",)},
        "attestdiv": {"sign": ("linux",), "verify": ("linux",)},
        "attestquorum": {"sign": ("linux",), "verify": ("linux",)},
    },
}
IMPLEMENTATIONS = tuple(IMPLEMENTATION_TABLE)
OPTIMISATIONS = ("Os", "O2")

OPERATIONS = tuple(dict.fromkeys(operation for operations in TARGETS.values() for operation in operations))
MEASURES = tuple(
    dict.fromkeys(
        measure for operations in TARGETS.values() for measures in operations.values() for measure in measures
    )
)
PLACES = ("ta", "client", "linux")

# Far above any use; they keep a slip of the finger from filling a disk.
MAX_SAMPLES = 100_000
MAX_WARMUP = 10_000

BUDGET_MEASURES = ("sign",)
BUDGET_PLACE = "client"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z\u00b5\u03bc]+)\s*")
_DURATIONS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "\u00b5s": Fraction(1, 10**6),
    "\u03bcs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_FREQUENCIES = {"GHz": Fraction(10**9), "MHz": Fraction(10**6), "kHz": Fraction(10**3), "Hz": Fraction(1)}


@dataclass(frozen=True)
class Case:
    """One thing to measure: an operation of one implementation, built one way, on one target."""

    target: str
    implementation: str
    optimisation: str
    operation: str
    samples: int
    warmup: int

    @property
    def variant(self) -> str:
        """Implementation and optimisation, such as `mbedtls-nist-O2`."""
        return f"{self.implementation}-{self.optimisation}"

    @property
    def id(self) -> str:
        """The case's name, and its directory in a run: `optee/mbedtls-nist-O2/attestdiv`."""
        return f"{self.target}/{self.variant}/{self.operation}"

    @property
    def calls(self) -> int:
        """How often the operation is called: once cold, then warm-up, then samples."""
        return 1 + self.warmup + self.samples

    @property
    def measures(self) -> Mapping[str, tuple[str, ...]]:
        """What the case yields: measure -> places."""
        return TARGETS[self.target][self.operation]


@dataclass(frozen=True)
class Budget:
    """A limit in seconds at a clock in Hz, for some measures at one place."""

    limit: Fraction
    clock: Fraction
    measures: tuple[str, ...] = BUDGET_MEASURES
    place: str = BUDGET_PLACE

    @property
    def instructions(self) -> int:
        """What fits: whole instructions, at the assumed one instruction per cycle."""
        return int(self.limit * self.clock)

    @property
    def limit_text(self) -> str:
        """The limit as people write it: `5 ms`."""
        return _quantity_text(self.limit, _DURATIONS)

    @property
    def clock_text(self) -> str:
        """The clock as people write it: `2 GHz`."""
        return _quantity_text(self.clock, _FREQUENCIES)


@dataclass(frozen=True)
class Suite:
    """A suite that has passed every check; `text` is the file as it was read."""

    name: str
    title: str
    cases: tuple[Case, ...]
    budget: Budget | None
    published: str
    text: str


def parse_duration(text: str) -> Fraction:
    """Seconds from `5ms`, `5 ms` or `800us`. Raises WorldwiseError."""
    return _quantity(text, _DURATIONS, "a duration such as '5 ms' or '800us'")


def parse_frequency(text: str) -> Fraction:
    """Hz from `2GHz`, `1.5 GHz` or `180MHz`. Raises WorldwiseError."""
    return _quantity(text, _FREQUENCIES, "a clock such as '2 GHz' or '180MHz'")


def parse_budget(text: str, measures: Sequence[str] = BUDGET_MEASURES, place: str = BUDGET_PLACE) -> Budget:
    """A budget from its command-line form `5ms@2GHz`. Raises WorldwiseError."""
    limit, at, clock = text.partition("@")
    if not at:
        raise WorldwiseError(
            f"budget '{text}': no clock. A budget is a limit at a clock, such as '5ms@2GHz'.",
            hint=f"try '{text.strip()}@2GHz'" if text.strip() else "",
        )
    for measure in measures:
        if measure not in MEASURES:
            raise _choice_error(f"budget '{text}': measure", measure, MEASURES)
    if place not in PLACES:
        raise _choice_error(f"budget '{text}': place", place, PLACES)
    try:
        return Budget(parse_duration(limit), parse_frequency(clock), tuple(measures), place)
    except WorldwiseError as error:
        raise WorldwiseError(f"budget '{text}': {error.message}", hint=error.hint) from error


def check_budget(budget: Budget, cases: Iterable[Case]) -> None:
    """Raises WorldwiseError if no case would be judged: a budget that judges nothing must not pass."""
    for case in cases:
        if any(budget.place in case.measures.get(measure, ()) for measure in budget.measures):
            return
    raise WorldwiseError(
        f"the budget of {budget.limit_text} at {budget.clock_text} would judge nothing: no chosen case "
        f"measures {' or '.join(budget.measures)} at place '{budget.place}'.",
        hint="choose more cases, or give the budget another place or measure",
    )


def select(
    cases: Sequence[Case],
    variants: Collection[str] = (),
    operations: Collection[str] = (),
    targets: Collection[str] = (),
) -> list[Case]:
    """The cases that pass every filter, in their order. An empty filter passes everything.

    A filter's values are names or shell patterns (`mbedtls-nist-*`). Raises WorldwiseError if a value matches
    no case of the suite, or if together they leave nothing.
    """
    filters = (("variant", variants), ("operation", operations), ("target", targets))
    for kind, values in filters:
        present = list(dict.fromkeys(getattr(case, kind) for case in cases))
        for value in values:
            if not any(fnmatchcase(name, value) for name in present):
                raise _choice_error(kind, value, present, what="is in no case of this suite")
    chosen = [
        case
        for case in cases
        if all(
            not values or any(fnmatchcase(getattr(case, kind), value) for value in values) for kind, values in filters
        )
    ]
    if not chosen:
        asked = ", ".join(f"{kind} {' or '.join(values)}" for kind, values in filters if values)
        raise WorldwiseError(
            f"no case of this suite is {asked} at once." if asked else "the suite has no cases.",
            hint="the suite's cases: " + ", ".join(case.id for case in cases),
        )
    return chosen


def load_suite(path_or_name: str | Path, directory: Path = paths.SUITES) -> Suite:
    """Reads and checks a suite: a path, or the bare name of one in `directory`. Raises WorldwiseError."""
    wanted = str(path_or_name)
    is_name = not isinstance(path_or_name, Path) and "/" not in wanted and not wanted.endswith(".toml")
    path = directory / f"{wanted}.toml" if is_name else Path(path_or_name).expanduser()
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        names = sorted(file.stem for file in directory.glob("*.toml"))
        if is_name:
            raise _choice_error("suite", wanted, names, what=f"is not in {directory}") from None
        raise WorldwiseError(
            f"suite {path}: there is no such file.",
            hint=f"suites known by name: {', '.join(names)}" if names else "",
        ) from None
    except UnicodeDecodeError as error:
        raise WorldwiseError(f"suite {path}: not UTF-8 text ({error.reason} at byte {error.start}).") from error
    except OSError as error:
        raise WorldwiseError(f"suite {path}: cannot be read: {error.strerror}.") from error
    return parse_suite(text, str(path))


def parse_suite(text: str, file: str) -> Suite:
    """A suite from its text; `file` is the name errors give. Raises WorldwiseError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorldwiseError(f"{file}:{syntax_error_line(error, text)}: not valid TOML: {error}.") from error
    return _Parser(text, file).suite(document)


class _Parser:
    """Checks a parsed document. Every refusal goes through `_refuse`, which knows the line."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._lines = TomlLines(text)

    def suite(self, document: dict[str, Any]) -> Suite:
        required = ("format", "name", "title", "samples", "warmup", "cases")
        self._keys((), document, required, ("budget", "published"))
        if document["format"] != FORMAT or isinstance(document["format"], bool):
            self._refuse(("format",), f"{document['format']!r} is not a known suite format. Allowed: {FORMAT}.")
        name = self._string(("name",), document["name"])
        if not _NAME.fullmatch(name):
            self._refuse(("name",), f"'{name}' does not fit. Allowed: a-z, 0-9 and '-', not starting with '-'.")
        title = self._string(("title",), document["title"])
        samples = self._samples(("samples",), document["samples"])
        warmup = self._warmup(("warmup",), document["warmup"])
        cases = self._cases(document["cases"], samples, warmup)
        budget = self._budget(document["budget"], cases) if "budget" in document else None
        source = self._published(document["published"]) if "published" in document else ""
        return Suite(name, title, tuple(cases), budget, source, self._text)

    def _cases(self, blocks: Any, samples: int, warmup: int) -> list[Case]:
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            self._refuse(("cases",), "must be one or more [[cases]] blocks.")
        if not blocks:
            self._refuse(("cases",), "is empty: nothing would be measured.")
        seen: dict[str, int] = {}
        cases = []
        for number, block in enumerate(blocks):
            path: TomlPath = ("cases", number)
            line = self._lines.line(path)
            for case in self._block(path, block, samples, warmup):
                if case.id in seen:
                    self._refuse(path, f"the case {case.id} is already in the block on line {seen[case.id]}.")
                seen[case.id] = line
                cases.append(case)
        return cases

    def _block(self, path: TomlPath, block: dict[str, Any], samples: int, warmup: int) -> list[Case]:
        lists = ("targets", "operations", "implementations", "optimisations")
        self._keys(path, block, lists, ("samples", "warmup"))
        targets = self._choices((*path, "targets"), block["targets"], TARGETS)
        operations = self._choices((*path, "operations"), block["operations"], OPERATIONS)
        for target in targets:
            for number, operation in enumerate(operations):
                if operation not in TARGETS[target]:
                    self._refuse(
                        (*path, "operations", number),
                        f"'{operation}' does not exist on target '{target}'. "
                        f"Allowed there: {', '.join(TARGETS[target])}.",
                        hint="give it a [[cases]] block of its own, with the targets that have it",
                    )
        implementations = self._choices((*path, "implementations"), block["implementations"], IMPLEMENTATIONS)
        optimisations = self._choices((*path, "optimisations"), block["optimisations"], OPTIMISATIONS)
        if "samples" in block:
            samples = self._samples((*path, "samples"), block["samples"])
        if "warmup" in block:
            warmup = self._warmup((*path, "warmup"), block["warmup"])
        return [
            Case(target, implementation, optimisation, operation, samples, warmup)
            for target in targets
            for implementation in implementations
            for optimisation in optimisations
            for operation in operations
        ]

    def _budget(self, table: Any, cases: list[Case]) -> Budget:
        path: TomlPath = ("budget",)
        if not isinstance(table, dict):
            self._refuse(path, "must be a [budget] table.")
        self._keys(path, table, ("limit", "clock"), ("measures", "place"))
        limit = self._quantity((*path, "limit"), table["limit"], parse_duration)
        clock = self._quantity((*path, "clock"), table["clock"], parse_frequency)
        measures: tuple[str, ...] = BUDGET_MEASURES
        if "measures" in table:
            measures = tuple(self._choices((*path, "measures"), table["measures"], MEASURES))
        place = BUDGET_PLACE
        if "place" in table:
            place = self._choice((*path, "place"), self._string((*path, "place"), table["place"]), PLACES)
        budget = Budget(limit, clock, measures, place)
        try:
            check_budget(budget, cases)
        except WorldwiseError as error:
            self._refuse(path, error.message, error.hint)
        return budget

    def _published(self, table: Any) -> str:
        path: TomlPath = ("published",)
        if not isinstance(table, dict):
            self._refuse(path, "must be a [published] table.")
        self._keys(path, table, ("source",), ())
        source = self._string((*path, "source"), table["source"])
        return self._choice((*path, "source"), source, published.SOURCES)

    def _keys(self, path: TomlPath, table: dict[str, Any], required: Sequence[str], optional: Sequence[str]) -> None:
        allowed = [*required, *optional]
        for key in table:
            if key not in allowed:
                self._refuse(
                    (*path, key),
                    f"there is no such key. Allowed: {', '.join(allowed)}.",
                    did_you_mean(key, allowed),
                )
        for key in required:
            if key not in table:
                self._refuse(path, f"the key '{key}' is missing. Required: {', '.join(required)}.")

    def _choices(self, path: TomlPath, value: Any, allowed: Collection[str]) -> list[str]:
        if not isinstance(value, list):
            self._refuse(path, f"must be a list of strings, is {_kind(value)}. Allowed: {', '.join(allowed)}.")
        if not value:
            self._refuse(path, f"is empty: nothing would be chosen. Allowed: {', '.join(allowed)}.")
        chosen: list[str] = []
        for number, item in enumerate(value):
            name = self._choice((*path, number), self._string((*path, number), item), allowed)
            if name in chosen:
                self._refuse((*path, number), f"'{name}' stands there twice.")
            chosen.append(name)
        return chosen

    def _choice(self, path: TomlPath, value: str, allowed: Collection[str]) -> str:
        if value not in allowed:
            self._refuse(path, f"'{value}' is not known. Allowed: {', '.join(allowed)}.", did_you_mean(value, allowed))
        return value

    def _string(self, path: TomlPath, value: Any) -> str:
        if not isinstance(value, str):
            self._refuse(path, f"must be a string, is {_kind(value)}.")
        if not value.strip():
            self._refuse(path, "is empty.")
        return value

    def _samples(self, path: TomlPath, value: Any) -> int:
        return self._integer(path, value, 1, MAX_SAMPLES)

    def _warmup(self, path: TomlPath, value: Any) -> int:
        return self._integer(path, value, 0, MAX_WARMUP)

    def _integer(self, path: TomlPath, value: Any, least: int, most: int) -> int:
        allowed = f"Allowed: whole numbers from {least} to {most}."
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(path, f"must be a whole number, is {_kind(value)}. {allowed}")
        if not least <= value <= most:
            self._refuse(path, f"{value} is out of range. {allowed}")
        return value

    def _quantity(self, path: TomlPath, value: Any, parse: Any) -> Fraction:
        try:
            quantity: Fraction = parse(self._string(path, value))
        except WorldwiseError as error:
            if error.message.startswith(self._file):
                raise
            self._refuse(path, error.message, error.hint)
        return quantity

    def _refuse(self, path: TomlPath, problem: str, hint: str = "") -> NoReturn:
        where = f"{self._file}:{self._lines.line(path)}"
        raise WorldwiseError(f"{where}: {_path_text(path)}: {problem}" if path else f"{where}: {problem}", hint)


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """`did you mean 'sign'?`, or nothing if no allowed value is close."""
    by_lower = {name.lower(): name for name in allowed}
    close = difflib.get_close_matches(value.lower(), by_lower, n=1)
    return f"did you mean '{by_lower[close[0]]}'?" if close else ""


def _choice_error(kind: str, value: str, allowed: Collection[str], what: str = "is not known") -> WorldwiseError:
    listed = ", ".join(allowed) if allowed else "none"
    return WorldwiseError(f"{kind} '{value}' {what}. Allowed: {listed}.", hint=did_you_mean(value, allowed))


def _path_text(path: TomlPath) -> str:
    """`cases[2].targets`: blocks counted from 1, as people do; the line already points at the element."""
    text = ""
    for number, part in enumerate(path):
        if isinstance(part, str):
            text += f".{part}" if text else part
        elif number < len(path) - 1 or path[0] == "cases" == path[number - 1]:
            text += f"[{part + 1}]"
    return text


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")


def _quantity(text: str, units: Mapping[str, Fraction], what: str) -> Fraction:
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise WorldwiseError(f"'{text}' is not {what}.")
    number, unit = match.groups()
    # GHz is written in many ways; ms and Ms must stay apart.
    by_name = {name.lower(): value for name, value in units.items()} if "Hz" in units else dict(units)
    value = by_name.get(unit.lower() if "Hz" in units else unit)
    if value is None:
        plain = [name for name in units if name.isascii()]
        raise WorldwiseError(
            f"'{text}': the unit '{unit}' is not known. Allowed: {', '.join(plain)}.",
            hint=did_you_mean(unit, plain),
        )
    if Fraction(number) == 0:
        raise WorldwiseError(f"'{text}' is zero; it must be more.")
    return Fraction(number) * value


def _quantity_text(value: Fraction, units: Mapping[str, Fraction]) -> str:
    name, scale = next(((n, s) for n, s in units.items() if value >= s), list(units.items())[-1])
    return f"{float(value / scale):g} {name}"
