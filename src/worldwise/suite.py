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

# Everything a suite may ask for, one line each: target -> operation -> measure -> places where it stands, the
# innermost first.
_IN_TEE = ("ta", "client")
TARGETS: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "optee": {
        "keygen": {"keygen": _IN_TEE},
        "attestdiv": {"sign": _IN_TEE, "verify": _IN_TEE},
        "attestquorum": {"sign": _IN_TEE, "verify": _IN_TEE},
        "empty-invoke": {"invoke": ("client",)},
        "session-open": {"open": ("client",)},
        "ta-load": {"load": ("client",)},
        "sha256": {"hash": ("api", *_IN_TEE), "touch": ("client",), "empty": ("client",)},
        "storage-create": {"create": _IN_TEE},
    },
    "linux": {
        "keygen": {"keygen": ("linux",)},
        "attestdiv": {"sign": ("linux",), "verify": ("linux",)},
        "attestquorum": {"sign": ("linux",), "verify": ("linux",)},
        "sha256": {"hash": ("linux",)},
        "sha256sum": {"hash": ("linux",)},
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
PLACES = ("api", "ta", "client", "linux")

MAX_SIZE = 64 * 2**20
# One call to a TA. OP-TEE maps what it brings by page tables of 2 MiB each, and has eight (CFG_PGT_CACHE_ENTRIES): the
# TA itself takes one, and a message that begins within one takes one more than its size says.
MAX_MEMREF = 12 * 2**20
# With less a message of the greatest size is millions of calls.
MIN_CHUNK = 1024

# Far above any use; they keep a slip of the finger from filling a disk.
MAX_SAMPLES = 100_000
MAX_WARMUP = 10_000

BUDGET_MEASURES = ("sign",)
BUDGET_PLACE = "client"

_SIZE = re.compile(r"([0-9]+)(B|KiB|MiB)?")
_SIZE_UNITS = {"MiB": 2**20, "KiB": 2**10, "B": 1}
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
class Parameter:
    """What an operation can be asked for besides.

    Attributes:
        key: its name in a case's id and on the measured program's command line.
        suite_key: the key of a [[cases]] block that lists its values.
        values: those it can have, the first the one that is meant when it is left out; empty for a size.
        operations: which have it: (target, operation), `*` for each.
        of_machine: it chooses the machine; the measured program is not told.
    """

    key: str
    suite_key: str
    values: tuple[str, ...]
    operations: tuple[tuple[str, str], ...]
    of_machine: bool = False

    def fits(self, target: str, operation: str) -> bool:
        """Whether an operation has it."""
        return any(fnmatchcase(f"{target}/{operation}", "/".join(pattern)) for pattern in self.operations)


# In the order in which they stand in a case's id.
PARAMETERS = (
    Parameter("size", "sizes", (), (("*", "sha256"), ("linux", "sha256sum"))),
    Parameter("chunk", "chunks", (), (("*", "sha256"),)),
    Parameter("fault", "faults", ("none", "fresh"), (("linux", "sha256"),)),
    Parameter("load", "loads", ("none", "busy"), (("*", "*"),)),
    Parameter("ticks", "ticks", ("normal", "both"), (("optee", "*"),), of_machine=True),
)
_BY_KEY = {parameter.key: parameter for parameter in PARAMETERS}


@dataclass(frozen=True)
class Case:
    """One thing to measure: an operation of one implementation, built one way, on one target.

    `parameters` are (key, value) in the order of PARAMETERS, without those that have their default; sizes are as
    `size_text` writes them.
    """

    target: str
    implementation: str
    optimisation: str
    operation: str
    samples: int
    warmup: int
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def variant(self) -> str:
        """Implementation and optimisation, such as `mbedtls-nist-O2`."""
        return f"{self.implementation}-{self.optimisation}"

    @property
    def id(self) -> str:
        """The case's name, and its directory in a run: `optee/mbedtls-O2/sha256,size=1MiB`."""
        return ",".join([f"{self.target}/{self.variant}/{self.operation}", *map("=".join, self.parameters)])

    @property
    def calls(self) -> int:
        """How often the operation is called: once cold, then warm-up, then samples."""
        return 1 + self.warmup + self.samples

    @property
    def measures(self) -> Mapping[str, tuple[str, ...]]:
        """What the case yields: measure -> places, the innermost first."""
        return TARGETS[self.target][self.operation]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The parameters for the measured program: `size=1048576`, sizes in bytes."""
        return tuple(
            f"{key}={value if _BY_KEY[key].values else parse_size(value)}"
            for key, value in self.parameters
            if not _BY_KEY[key].of_machine
        )

    @property
    def ticks_in_both_worlds(self) -> bool:
        """Whether Linux's timer interrupts the secure world too."""
        return ("ticks", "both") in self.parameters

    @property
    def size(self) -> int | None:
        """The message's bytes, for an operation that has messages of any size."""
        return self._bytes("size")

    @property
    def chunk(self) -> int | None:
        """How many bytes of a message go over at a time; None if it goes over whole."""
        return self._bytes("chunk")

    @property
    def spans(self) -> int:
        """How many calls of the TA one call of the operation takes."""
        if not self.size or not self.chunk:
            return 1
        return -(-self.size // self.chunk)

    def _bytes(self, key: str) -> int | None:
        value = dict(self.parameters).get(key)
        return None if value is None else parse_size(value)


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


def parse_size(text: str) -> int:
    """Bytes from `64KiB`, `4MiB`, `100B` or `0`. Raises WorldwiseError."""
    match = _SIZE.fullmatch(text.strip())
    if not match or not (match[2] or int(match[1]) == 0):
        raise WorldwiseError(f"'{text}' is not a size such as '64KiB', '4MiB', '100B' or '0'.")
    return int(match[1]) * _SIZE_UNITS[match[2] or "B"]


def size_text(size: int) -> str:
    """A size as people write it, the one way that a case's id has it: `64KiB`, `4MiB`, `0B`."""
    unit, scale = next(
        (unit, scale) for unit, scale in _SIZE_UNITS.items() if (size >= scale and size % scale == 0) or scale == 1
    )
    return f"{size // scale}{unit}"


def parse_case(text: str, samples: int = 1, warmup: int = 0) -> Case:
    """A case from its id, such as `optee/mbedtls-O2/sha256,size=1MiB`. Raises WorldwiseError."""
    what = f"case '{text}'"
    parts = text.strip().split("/")
    if len(parts) != 3:
        raise WorldwiseError(
            f"{what}: a case is TARGET/VARIANT/OPERATION, with parameters behind a comma.",
            hint="such as optee/mbedtls-nist-O2/attestdiv or linux/mbedtls-O2/sha256,size=1MiB",
        )
    target, variant, rest = parts
    operation, *words = rest.split(",")
    if target not in TARGETS:
        raise _choice_error(f"{what}: target", target, TARGETS)
    variants = [f"{name}-{level}" for name in IMPLEMENTATIONS for level in OPTIMISATIONS]
    if variant not in variants:
        raise _choice_error(f"{what}: variant", variant, variants)
    if operation not in TARGETS[target]:
        raise _choice_error(f"{what}: operation", operation, TARGETS[target], what=f"is not one of target '{target}'")
    allowed = [parameter for parameter in PARAMETERS if parameter.fits(target, operation)]
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in [parameter.key for parameter in allowed]:
            raise _choice_error(f"{what}: parameter", key, [parameter.key for parameter in allowed])
        if not equals or key in given:
            raise WorldwiseError(f"{what}: parameter '{key}' must be there once, as {key}=VALUE.")
        parameter = _BY_KEY[key]
        if parameter.values and value not in parameter.values:
            raise _choice_error(f"{what}: {key}", value, parameter.values)
        try:
            given[key] = value if parameter.values else size_text(parse_size(value))
        except WorldwiseError as error:
            raise WorldwiseError(f"{what}: {key}: {error.message}") from error
    problem = _combination_problem(target, operation, given)
    if problem:
        raise WorldwiseError(f"{what}: {problem}")
    implementation, _, optimisation = variant.rpartition("-")
    return Case(target, implementation, optimisation, operation, samples, warmup, _in_order(given))


def _in_order(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (parameter.key, given[parameter.key])
        for parameter in PARAMETERS
        if parameter.key in given and given[parameter.key] not in parameter.values[:1]
    )


def _combination_problem(target: str, operation: str, given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of an operation, each of which is one that it has; empty if nothing is."""
    if not _BY_KEY["size"].fits(target, operation):
        return ""
    if "size" not in given:
        return f"'{operation}' needs a size, such as size=1MiB."
    size = parse_size(given["size"])
    chunk = parse_size(given["chunk"]) if "chunk" in given else None
    if size > MAX_SIZE:
        return f"size {given['size']} is too much. Allowed: up to {size_text(MAX_SIZE)}."
    if chunk is not None and not MIN_CHUNK <= chunk <= MAX_MEMREF:
        return f"chunk {given['chunk']} is out of range. Allowed: {size_text(MIN_CHUNK)} to {size_text(MAX_MEMREF)}."
    if target == "optee" and chunk is None and size > MAX_MEMREF:
        return (
            f"size {given['size']} is more than one call to a TA can bring, {size_text(MAX_MEMREF)}: OP-TEE has no "
            "more page tables to map it into the TA. Give it a chunk."
        )
    if given.get("fault") == "fresh" and size == 0:
        return "a message of no bytes has no page that could be fresh."
    return ""


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
        keys = [parameter.suite_key for parameter in PARAMETERS]
        self._keys(path, block, lists, ("samples", "warmup", *keys))
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
        parameters = self._parameters(path, block, targets, operations)
        return [
            Case(target, implementation, optimisation, operation, samples, warmup, given)
            for target in targets
            for implementation in implementations
            for optimisation in optimisations
            for operation in operations
            for given in parameters
        ]

    def _parameters(
        self, path: TomlPath, block: dict[str, Any], targets: list[str], operations: list[str]
    ) -> list[tuple[tuple[str, str], ...]]:
        """Each combination of the parameters' values, in their order. Every operation of the block must have them."""
        combinations: list[dict[str, str]] = [{}]
        for parameter in PARAMETERS:
            if parameter.suite_key not in block:
                continue
            where = (*path, parameter.suite_key)
            for target in targets:
                for operation in operations:
                    if not parameter.fits(target, operation):
                        self._refuse(where, f"'{operation}' on target '{target}' has no {parameter.key}.")
            values = (
                self._choices(where, block[parameter.suite_key], parameter.values)
                if parameter.values
                else self._sizes(where, block[parameter.suite_key])
            )
            combinations = [given | {parameter.key: value} for given in combinations for value in values]
        for given in combinations:
            for target in targets:
                for operation in operations:
                    problem = _combination_problem(target, operation, given)
                    if problem:
                        self._refuse(self._parameter_path(path, block, given), problem)
        return [_in_order(given) for given in combinations]

    def _parameter_path(self, path: TomlPath, block: dict[str, Any], given: Mapping[str, str]) -> TomlPath:
        """The size in question, if sizes are given; else the block."""
        for number, text in enumerate(block.get("sizes", ())):
            if size_text(parse_size(text)) == given.get("size"):
                return (*path, "sizes", number)
        return path

    def _sizes(self, path: TomlPath, value: Any) -> list[str]:
        if not isinstance(value, list) or not value:
            self._refuse(path, "must be a list of sizes such as ['64KiB', '4MiB'].")
        sizes: list[str] = []
        for number, item in enumerate(value):
            text = self._string((*path, number), item)
            try:
                size = size_text(parse_size(text))
            except WorldwiseError as error:
                self._refuse((*path, number), error.message)
            if size in sizes:
                self._refuse((*path, number), f"'{text}' stands there twice.")
            sizes.append(size)
        return sizes

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
