# SPDX-License-Identifier: BSD-2-Clause
"""Recomputes what a screen, a card and a sentence say, from nothing but the rows of the JSON export.

It shares no code with worldwise, so that a mistake of the report is not made here again: it groups the rows, ranks
them, and holds every cell of every table against them. A title or a sentence that it does not know is a problem too:
whoever adds an answer teaches it here.
"""

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean, median, stdev
from typing import Any

Row = dict[str, Any]
# A cell as it must be: a text, or a function that says whether a text is right.
Cell = str | Callable[[str], bool]

# A table of a section: headers and rows.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
# A predicted time: core, clock in Hz, cycles, and the interval.
Time = tuple[str, float, int, int, int]

SCREEN_LINES, SCREEN_COLUMNS = 40, 100
_LEAST_CALLS = 100


# --- reading a screen ---


@dataclass
class Block:
    """One answer as it was printed: its title, its table, and all that stands below it as one text."""

    title: str
    headers: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    notes: str = ""


@dataclass
class Screen:
    """A screen in parts: the lines above the answers, the answers, and the lines below them."""

    top: str
    blocks: list[Block]
    rest: str


def parse_screen(text: str) -> Screen:
    """A screen from its text; its parts stand apart by an empty line."""
    first, *others, last = re.split(r"\n[ ]*\n", text.strip("\n"))
    return Screen(_joined(first.split("\n")), [parse_block(each) for each in others], _joined(last.split("\n")))


def parse_block(text: str) -> Block:
    """A title, a table whose headers end with a rule of dashes, and sentences; the table may be missing."""
    lines = text.split("\n")
    rules = [number for number, line in enumerate(lines) if re.fullmatch(r"-{6,}", line.strip())]
    if not rules:
        # A title is one sentence without a full stop; a note begins with a bracket or a capital letter.
        return Block(lines[0], notes=_joined(lines[1:]))
    rule = rules[0]
    end = rule + 1
    while end < len(lines) and re.search(r"\S {2,}\S|^ {2,}\S", lines[end].rstrip()):
        end += 1
    above = next(number for number in range(1, rule + 1) if number == rule or re.search(r" {2,}", lines[number]))
    table = [*lines[above:rule], *lines[rule + 1 : end]]
    heads = rule - above
    spans = _spans(table)
    cells = [[line[begin:stop].strip() for begin, stop in spans] for line in table]
    headers = [" ".join(filter(None, parts)) for parts in zip(*cells[:heads], strict=True)] if heads else []
    return Block(_joined(lines[:above]), headers, cells[heads:], _joined(lines[end:]))


def _spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns of a table stand: two blanks in every line part them."""
    width = max(map(len, lines))
    inked = [any(len(line) > at and line[at] != " " for line in lines) for at in range(width)]
    spans: list[tuple[int, int]] = []
    for at, ink in enumerate(inked):
        if ink and spans and at - spans[-1][1] < 2:
            spans[-1] = (spans[-1][0], at + 1)
        elif ink:
            spans.append((at, at + 1))
    return spans


def _joined(lines: Iterable[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


# --- numbers as they are written ---


def count(value: float) -> str:
    """`1,234`, or `1,234.5` where it is no whole number."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def dash(value: float | None) -> str:
    """A count, or `-` for None."""
    return "-" if value is None else count(value)


def times(value: float) -> str:
    """`1.23`."""
    return f"{value:,.2f}"


def size_text(size: int) -> str:
    """`48B`, `64KiB`, `1MiB`."""
    for unit, bytes_of_it in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size and size % bytes_of_it == 0:
            return f"{size // bytes_of_it}{unit}"
    return f"{size}B"


# --- rows ---


@functools.cache
def _pairs(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split(",") if word)


def given(row: Row) -> dict[str, str]:
    """The parameters of a row's case."""
    return _pairs(row["parameters"])


def quiet(row: Row) -> bool:
    """Whether nothing disturbed the machine."""
    return not {"load", "ticks"} & given(row).keys()


def label(row: Row) -> str:
    """`attestdiv sign`, `sign curve=secp256r1,size=48B`."""
    words = row["operation"] + ("" if row["operation"] == row["measure"] else f" {row['measure']}")
    return f"{words} {row['parameters']}" if row["parameters"] else words


def said(row: Row) -> str:
    """A row as a sentence names it."""
    where = row["board"] or ("" if row["target"] == "optee" else row["target"])
    words = f"{row['variant']}, {label(row).replace(',', ', ')}{f' on {where}' if where else ''}"
    return words if row["place"] in ("mcu", row["target"]) else f"{words} at {row['place']}"


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by a key, in the order of the keys' first rows."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def least(rows: Sequence[Row], of: str = "median") -> list[Row]:
    """All rows that have the least of something; those without it are none."""
    values = [row[of] for row in rows if row[of] is not None]
    return [row for row in rows if values and row[of] == min(values)]


def most(rows: Sequence[Row]) -> list[Row]:
    """All rows that have the greatest median."""
    return [row for row in rows if row["median"] == max(each["median"] for each in rows)]


def names(rows: Iterable[Row], name: Callable[[Row], str] = lambda row: row["variant"]) -> Callable[[str], bool]:
    """A cell that names one of them, and says how many equal it."""
    wanted = {name(row) for row in rows}

    def right(cell: str) -> bool:
        found = re.fullmatch(r"(.*?)(?: \+(\d+) equal)?", cell)
        return found is not None and found[1] in wanted and int(found[2] or 0) == len(wanted) - 1

    right.__doc__ = f"one of {', '.join(sorted(wanted))}" + (f" +{len(wanted) - 1} equal" if len(wanted) > 1 else "")
    return right


def one_of(texts: Iterable[str]) -> Callable[[str], bool]:
    """A cell that is one of these: several rows are equal, and have a figure each."""
    wanted = set(texts)

    def right(cell: str) -> bool:
        return cell in wanted

    right.__doc__ = " or ".join(sorted(wanted))
    return right


def anything(_cell: str) -> bool:
    """words"""
    return True


@dataclass(frozen=True)
class Line:
    """A line that a table has, on the screen or not.

    Attributes:
        cells: what it says.
        rank: the lines with the least come first onto a screen; equals in any order.
        who: the names of which its section has one, in a line with its `figures`.
        figures: what its section must say of it.
    """

    cells: tuple[Cell, ...]
    rank: Any = 0
    who: frozenset[str] = frozenset()
    figures: tuple[str, ...] = ()

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether these are its cells."""
        return len(cells) == len(self.cells) and all(map(_fits, self.cells, cells))

    def wrong(self, cells: Sequence[str]) -> int:
        """How many of the cells are others; more than there can be for another number of them."""
        if len(cells) != len(self.cells):
            return 100
        return sum(not _fits(wanted, cell) for wanted, cell in zip(self.cells, cells, strict=True))

    def text(self) -> str:
        """What it should say."""
        return " | ".join(cell if isinstance(cell, str) else f"<{cell.__doc__ or '?'}>" for cell in self.cells)


def _fits(wanted: Cell, cell: str) -> bool:
    return cell == wanted if isinstance(wanted, str) else wanted(cell)


def _without(cells: Sequence[Cell], gone: Sequence[int]) -> tuple[Cell, ...]:
    return tuple(cell for at, cell in enumerate(cells) if at not in gone)


def _narrowed(block: Block, wanted: Sequence[Line]) -> list[Line]:
    """The lines without the columns that a table leaves out, which would make it wider than a screen.

    Names, which the first two columns have, are never left out; two columns at the most are.
    """
    lack = len(wanted[0].cells) - len(block.rows[0]) if wanted and block.rows else 0
    if not 0 < lack <= 2:
        return list(wanted)
    for gone in itertools.combinations(range(2, len(wanted[0].cells)), lack):
        lines = [
            replace(each, cells=tuple(cell for at, cell in enumerate(each.cells) if at not in gone)) for each in wanted
        ]
        if all(any(each.fits(cells) for each in lines) for cells in block.rows):
            return lines
    return list(wanted)


def line(cells: Iterable[Cell], rows: Iterable[Row] = (), rank: Any = 0, figures: Iterable[float | str] = ()) -> Line:
    """A line whose section has the figures, each in a line with the variant of one of the rows."""
    texts = tuple(each if isinstance(each, str) else count(each) for each in figures)
    return Line(tuple(cells), rank, frozenset(row["variant"] for row in rows), texts)


# --- the checker ---

_TOKEN_STEPS = {
    "initialize": "C_Initialize",
    "open-session": "C_OpenSession",
    "login": "C_Login",
    "find": "C_FindObjects",
    "generate": "C_GenerateKeyPair",
    "sign": "C_Sign",
    "verify": "C_Verify",
    "encrypt": "C_Encrypt",
    "whole": "a process, one signature",
}


_OPENSSL_STEPS = {
    "load": "load the key",
    "sign": "sign",
    "handshake": "answer a TLS 1.3 client",
    "whole": "a process, one signature",
}


def _near(value: float) -> Callable[[str], bool]:
    """A cell that is a count without its half, rounded either way."""
    return one_of({f"{value:,.0f}", f"{math.floor(value + 0.5):,}"})


def _token_rank(own: dict[str, str]) -> int:
    """0: a part of a handshake by a P-256 key of the token in plain storage; 1: another step of that; 2: all else."""
    if own["storage"] != "ree" or own.get("mechanism", "ecdsa-p256") != "ecdsa-p256":
        return 2
    return int(own.get("object", "token") != "token" or own["action"] in ("verify", "generate"))


# How many lines an answer's title says that it has, and what its sentences are of.
Expected = tuple[list[Line], Sequence[Row]]

_CURVES = {"secp256r1": "P-256", "ed25519": "Ed25519", "x25519": "X25519"}
_BOARD_OPERATIONS = {
    **{name: name for name in ("keygen", "sign", "verify")},
    "ecdh": "ECDH",
    "sha256": "SHA-256",
    "sha512": "SHA-512",
    "aes128": "AES-128",
    "aes256": "AES-256",
}
_CURVE_OPERATIONS = ("keygen", "sign", "verify", "ecdh")
_MACHINES = {"linux-armv7": "Linux on Armv7-A", "linux-armv8": "Linux on Armv8-A"}
_USUAL_CORES = {"linux-armv7": "cortex-a9", "linux-armv8": "cortex-a72"}
_ATTESTED = {"keygen": None, "attestdiv": 48, "attestquorum": 40}
_CALLS = ("empty-invoke", "session-open", "ta-load", "storage-create")
# Implementations that differ from one without this word by one change to OP-TEE.
_CHANGES = (
    *("nodebug", "nospectre", "nofloat", "corelocal", "userdir", "keepshm", "lean", "memset", "nosecstor", "keepdir"),
    *("skipzero", "asm", "montgomery"),
)
_PQC = {
    "kem-keygen": "keygen",
    "encaps": "encaps",
    "decaps": "decaps",
    "dsa-keygen": "keygen",
    "dsa-sign": "sign",
    "dsa-verify": "verify",
}
_PERMISSIVE = ("Apache-", "BSD-", "MIT", "ISC", "0BSD", "CC0-", "Unlicense", "public domain")
_SHORT_UNITS = {"instructions": "instr", "cycles": "cycles", "nanoseconds": "ns"}


class Checker:
    """Holds what a report says against the rows of its JSON; `problems` has what does not follow from them.

    `sections` are the tables of the report's sections by what `--section` calls them; `predicted` are the times that
    the screen was given, by case and measure.
    """

    def __init__(
        self,
        exported: str,
        sections: Mapping[str, Sequence[Table]] | None = None,
        predicted: Mapping[tuple[str, str], Time] | None = None,
    ) -> None:
        self.data: dict[str, Any] = json.loads(exported)
        self.rows: list[Row] = self.data["rows"]
        self.sections = dict(sections or {})
        self.predicted = dict(predicted or {})
        self._after_reset = False
        # Lines of the answer looked at that are not on the screen.
        self._left: list[Line] = []
        self.problems: list[str] = []
        self._answers: list[tuple[str, Callable[[re.Match[str], Block], Expected]]] = [
            (r"What a client of the TEE waits for(?:: (?P<curve>.+))?", self._tasks),
            (r"What AES-128 costs a caller per byte of (?P<size>\w+), in the order of (?P<mode>\w+)", self._aes),
            (r"What changes to OP-TEE give: medians", self._changes),
            (r"What a call costs before any algorithm runs", self._calls),
            (
                r"What a call with a payload costs by each kind of shared memory: the client's whole call",
                self._payloads,
            ),
            (r"What a call without parameters costs, in the only session there is", self._empty),
            (r"What a round trip of TCP costs by server", self._echo),
            (r"What incrementing a value in a TA costs", self._hello),
            (r"What an access to an object of (?P<size>\w+) costs", self._storage),
            (r"What each storage survives", self._faults),
            (r"What a request to the key cache costs: medians", self._requests),
            (r"What the key cache survives", self._survived),
            (r"What the key cache costs under load", self._load),
            (
                r"What a broker that cannot read costs, (?P<variant>\S+): a message re-encrypted for each subscriber",
                self._broker,
            ),
            (r"Which library is fastest and which is smallest(?:: (?P<board>[\w-]+), .+)?", self._boards),
            (r"Which library is fastest, of those compiled alike:? ?(?P<where>.*)", self._linux),
            (r"Which build options are fastest:? ?(?P<where>.*)", self._options),
            (r"What SHA-256 costs in the TEE \(MB/s: if each instruction took one cycle\)", self._hashes),
            (r"What a step with OP-TEE's PKCS#11 TA costs an application: (?P<variant>\S+)", self._token),
            (r"What OpenSSL pays for a P-256 key in OP-TEE's PKCS#11 TA", self._openssl),
            (r"What post-quantum cryptography costs", self._pqc),
            (r"What a call into the secure state costs, compiled at -(?P<level>\w+): medians", self._gateway),
            (r"How the published figures were compiled", self._compiled),
            (r"What mbedtls_timing_hardclock returns on Arm", self._clock),
            (r"What TAs answer to wrong calls", self._abuse),
            (r"Own code: its regions, the dearest first", self._own),
        ]

    # --- a screen ---

    def check_screen(self, text: str) -> list[str]:
        """All that a screen of 100 columns says; the problems that were found."""
        lines = text.rstrip("\n").split("\n")
        if len(lines) > SCREEN_LINES:
            self._say(f"the screen has {len(lines)} lines")
        for each in lines:
            if len(each.rstrip()) > SCREEN_COLUMNS:
                self._say(f"a line has {len(each.rstrip())} columns: {each.rstrip()}")
        screen = parse_screen(text)
        self._check_top(screen.top)
        for number, block in enumerate(screen.blocks):
            self._check_block(block)
            if not number and self._left and not block.rows:
                self._say(f"'{block.title}': the first answer shows none of its {len(self._left)} lines")
        self._check_rest(screen)
        self._check_tails()
        return self.problems

    def _say(self, text: str) -> None:
        self.problems.append(text)

    def _check_block(self, block: Block) -> None:
        known = ((re.fullmatch(pattern, block.title), expected) for pattern, expected in self._answers)
        found, expected = next((pair for pair in known if pair[0]), (None, None))
        if more := re.fullmatch(r"(\d+) more answers?: --section ([\w, -]+)", block.title):
            self._check_left_answers(int(more[1]), more[2].split(", "))
            return
        if block.title == "The report has":
            # A run without an answer: what there is to read.
            return
        if found is None or expected is None:
            self._say(f"'{block.title}': tests/recomputed.py does not know this answer: teach it")
            return
        for header in block.headers:
            clock = re.search(r"at ([\d.]+ [GMk]Hz)(?:$|[,\s])", header)
            if clock and clock[1] != self.clock and not re.search("predicted|MB/s|ESTIMATE", header):
                self._say(f"'{block.title}': the header '{header}' is not of {self.clock}")
        others = set(_SHORT_UNITS.values()) - {_SHORT_UNITS[self.unit]}
        if self.rows and any(set(header.split()) & others for header in block.headers):
            self._say(f"'{block.title}': its headers name another unit than {self.unit}")
        wanted, scope = expected(found, block)
        self._compare(block, wanted)
        self._check_notes(block, wanted, scope)

    def _check_left_answers(self, number: int, sections: Sequence[str]) -> None:
        """The answers that a screen has no room for: each has a section that the report has."""
        if number < len(sections):
            self._say(f"{number} more answers have {len(sections)} sections")
        for name in sections:
            if self.sections and not any(each == name or each.startswith(f"{name}-") for each in self.sections):
                self._say(f"the report has no section '{name}' of an answer that is left out")

    def _compare(self, block: Block, wanted: Sequence[Line]) -> None:
        """Every line of the table is one of those there are, once; none is left out that comes before it."""
        left = _narrowed(block, wanted)
        shown = []
        for cells in block.rows:
            fitting = [each for each in left if each.fits(cells)]
            if not fitting:
                text = " | ".join(cells)
                near = min(left, key=lambda each: each.wrong(cells), default=None)
                should = f"; the rows say: {near.text()}" if near else "; no such line is left"
                self._say(f"'{block.title}': '{text}' does not follow from the rows{should}")
                continue
            left.remove(fitting[0])
            shown.append(fitting[0])
        if shown and left:
            last = max(each.rank for each in shown)
            for each in left:
                if each.rank < last and len(shown) == len(block.rows):
                    self._say(f"'{block.title}': left out is '{each.text()}', which comes before what is shown")
        self._left = left

    def _check_notes(self, block: Block, wanted: Sequence[Line], scope: Sequence[Row]) -> None:
        rest = block.notes
        more = re.match(r"\(([\d,]+) (?:more )?lines? in the report(?:: --section ([\w-]+))?\) ?", rest)
        hidden = len(wanted) - len(block.rows)
        if more:
            rest = rest[more.end() :]
            if int(more[1].replace(",", "")) != hidden:
                self._say(f"'{block.title}': it says {more[1]} more lines; the rows give {hidden} more")
            if not more[2]:
                self._say(f"'{block.title}': no section is named for {hidden} lines that are left out")
            elif self.sections:
                self._check_section(block, more[2])
        elif hidden:
            self._say(f"'{block.title}': {hidden} lines are left out, and nothing says so")
        for pattern, check in self._sentences(block, scope):
            if found := re.match(pattern + r"(?: |$)", rest):
                rest = rest[found.end() :]
                check(found)
        if rest:
            self._say(f"'{block.title}': tests/recomputed.py does not know this sentence: '{rest}'")

    def _check_section(self, block: Block, name: str) -> None:
        if name not in self.sections:
            self._say(f"'{block.title}': the report has no section '{name}'")
            return
        lines_with: dict[str, list[str]] = {}
        for _, rows in self.sections[name]:
            for cells in rows:
                for cell in cells:
                    lines_with.setdefault(cell, []).append(" | ".join(cells))
        for each in self._left:
            for figure in each.figures:
                there = lines_with.get(figure)
                if not there:
                    self._say(f"'{block.title}': section '{name}' lacks {figure} of the line '{each.text()}'")
                elif each.who and not any(who in printed for printed in there for who in each.who):
                    self._say(f"'{block.title}': section '{name}' has {figure} beside none of {sorted(each.who)}")

    @property
    def unit(self) -> str:
        """What the run counts."""
        return str(self.rows[0]["unit"]) if self.rows else "instructions"

    @property
    def clock(self) -> str:
        """At which counts are shown as time."""
        return self.data["budget"]["clock"] if self.data["budget"] else "2 GHz"

    def milliseconds(self, value: float) -> str:
        """At that clock, one instruction a cycle."""
        return f"{value * 1000 / _hertz(self.clock):,.3f}"

    # --- above and below the answers ---

    def _check_top(self, top: str) -> None:
        found = re.search(r"([\d,]+) cases? measured((?:, [\d,]+ [a-z ]+)*); (\w+)", top)
        if not found:
            self._say("nothing says how many cases were measured")
            return
        done = {each["case"] for each in (*self.rows, *self.data["attempts"])}
        numbers = {"": len(done)}
        for key, words in (("failed", "failed"), ("missing", "not measured")):
            numbers[words] = len(self.data[key])
        numbers["unavailable on their target"] = len(self.data["unavailable"])
        stated = {"": int(found[1].replace(",", ""))}
        for each in re.finditer(r", ([\d,]+) ([a-z ]+?)(?=,|$)", found[2]):
            stated[each[2]] = int(each[1].replace(",", ""))
        if stated != {words: number for words, number in numbers.items() if number or not words}:
            self._say(f"the first lines count {stated}, the JSON {numbers}")
        self._after_reset = "the clock after its reset" in top
        if found[3] != self.unit:
            self._say(f"the first lines say {found[3]}, the rows are of {self.unit}")
        failed = self.data["failed"]
        for one in failed[:3]:
            if f"FAILED {one['case']}: {one['error'].partition(chr(10))[0]}" not in top:
                self._say(f"nothing says that {one['case']} failed")
        if len(failed) > 3 and f"and {len(failed) - 3} more failure" not in top:
            self._say(f"{len(failed) - 3} more failures are not told of")
        budget = re.search(r"Budget (.+?) at ([\d.]+ [GMk]?Hz): (.+)", top.partition(" FAILED ")[0])
        if bool(budget) != bool(self.data["budget"]):
            self._say("the budget is not said, or there is none")
        elif budget:
            if (budget[1], budget[2]) != (self.data["budget"]["limit"], self.data["budget"]["clock"]):
                self._say(f"the budget is {self.data['budget']['limit']} at {self.data['budget']['clock']}")
            self._check_verdict(budget[3])

    def _check_rest(self, screen: Screen) -> None:
        found = re.search(r"with NAME such as (.+?) All names:", screen.rest)
        for name in found[1].split(", ") if found else ():
            if self.sections and name not in self.sections:
                self._say(f"'A part of it' names '{name}', which the report has not")

    def _check_tails(self) -> None:
        for tail in self.data.get("signing", ()):
            few = tail["calls"] < _LEAST_CALLS
            for key in ("p90", "p99", "p90_attempts", "p99_attempts"):
                if few and tail[key] is not None:
                    self._say(f"{tail['case']}: a percentile of {tail['calls']} calls")
        for name, tables in self.sections.items():
            for headers, rows in tables:
                calls = [number for number, header in enumerate(headers) if header in ("calls", "n")]
                shares = [number for number, header in enumerate(headers) if re.match(r"(90|99) %", header)]
                for cells in rows if calls and shares else ():
                    if int(cells[calls[0]].replace(",", "")) < _LEAST_CALLS and any(cells[at] != "-" for at in shares):
                        self._say(f"section '{name}' has a percentile of {cells[calls[0]]} calls: {cells[0]}")

    # --- a budget ---

    def _check_verdict(self, text: str) -> None:
        """Who fits, how many, the best of them, and what nobody judged."""
        budget = self.data["budget"]
        limit = budget["instructions"]
        if limit != int(round(_seconds(budget["limit"]) * _hertz(budget["clock"]), 3)):
            self._say(f"{budget['limit']} at {budget['clock']} are not {limit} instructions")
        groups = grouped((row for row in self.rows if row["place"] == budget["place"]), self._what)
        judged = {name: rows for name, rows in groups.items() if any(row["verdict"] for row in rows)}
        others = {name: rows for name, rows in groups.items() if name not in judged}
        judging, _, rest = text.partition(" Not judged, ")
        if (" Undecided as a whole: not every case was measured." in judging) != (budget["fits"] is None):
            self._say(f"the budget is {'undecided' if budget['fits'] is None else 'decided'}: {judging}")
        whole = not self.data["failed"] and not self.data["missing"]
        exceeded = any(row["verdict"] and not row["verdict"]["fits"] for row in self.rows)
        judged_any = any(row["verdict"] for row in self.rows)
        if budget["fits"] is not (False if exceeded else True if judged_any and whole else None):
            self._say("whether the budget is kept does not follow from the rows")
        for row in self.rows:
            told = row["measure"] in budget["measures"] and row["place"] == budget["place"]
            if told != bool(row["verdict"]) or (told and row["verdict"]["fits"] != (row["worst"] <= limit)):
                self._say(f"{row['case']} at {row['place']}: its verdict does not follow from its worst call")
        for name, rows in judged.items():
            self._check_judged(name, rows, judging, limit)
        told_of = len(re.findall(r"(?:^|; )[^;]+? (?:fits|does not fit)\b", judging))
        if told_of != len(judged):
            self._say(f"the verdict tells of {told_of} things, {len(judged)} were judged: {judging}")
        self._check_unjudged(others, rest, limit)

    def _check_judged(self, name: str, rows: Sequence[Row], text: str, limit: int) -> None:
        fitting = sum(row["worst"] <= limit for row in rows)
        best = least(rows, "worst")
        ms = self.milliseconds(best[0]["worst"])
        whole = f"with all {len(rows)} variants" if fitting == len(rows) else f"with {fitting} of {len(rows)} variants"
        head = re.escape(name)
        if len(rows) == 1:
            pattern = rf"{head} {'fits' if fitting else 'does not fit'}: (?P<ms>[\d.,]+) ms \((?P<who>.+?)\)"
        elif fitting:
            pattern = rf"{head} fits {whole}, best (?P<who>.+?) \((?P<ms>[\d.,]+) ms\)"
        else:
            pattern = (
                rf"{head} fits with none of {len(rows)} variants, the fastest is (?P<ms>[\d.,]+) ms \((?P<who>.+?)\)"
            )
        found = re.search(pattern, text, re.IGNORECASE)
        if not found:
            self._say(f"the verdict does not say that {name} fits {whole} ({ms} ms): {text}")
            return
        if found["ms"] != ms:
            self._say(f"the verdict on {name} says {found['ms']} ms, the least of the worst calls is {ms}")
        if not _names_ways(best, rows)(found["who"]):
            one = " or ".join(row["case"] for row in best)
            self._say(f"the verdict on {name} names {found['who']}, which does not tell {one} from the others")

    def _check_unjudged(self, groups: Mapping[str, Sequence[Row]], text: str, limit: int) -> None:
        least_of = {name: min(row["worst"] for row in rows) for name, rows in groups.items()}
        over = {name for name, worst in least_of.items() if worst > limit}
        for title, wanted in (("would not fit: ", over), ("some variant would fit: ", least_of.keys() - over)):
            _, there, listed = text.partition(title)
            listed = re.split(r"; some variant|\.$", listed)[0]
            if bool(there) != bool(wanted):
                self._say(f"the verdict should say what {title}{', '.join(sorted(wanted)) or 'nothing'}: {text}")
                continue
            more = re.search(r" and (\d+) more$", listed)
            listed = listed.removesuffix(more[0]) if more else listed
            told = [name for name in wanted if re.search(rf"(?:^|, ){re.escape(name)}(?: \(|,|$)", listed)]
            if wanted and len(told) + (int(more[1]) if more else 0) != len(wanted):
                self._say(f"the verdict should name or count {len(wanted)} that {title}{listed}")
            for name in told if title.startswith("would") else ():
                if f"{name} ({self.milliseconds(least_of[name])} ms at the least)" not in listed:
                    self._say(f"{name} takes {self.milliseconds(least_of[name])} ms at the least, not as in: {listed}")

    def _what(self, row: Row) -> str:
        task = _task(row)
        where = f" on {row['board']}" if row["board"] else ""
        return (_task_text(task, True) if task else label(row)) + where

    # --- sentences below a table ---

    def _sentences(self, block: Block, scope: Sequence[Row]) -> list[tuple[str, Callable[[re.Match[str]], None]]]:
        """The sentences that there can be, in their order: the verdict, then the surprises."""

        def exact(text: str) -> tuple[str, Callable[[re.Match[str]], None]]:
            return re.escape(text), lambda _: None

        title = block.title
        first: list[tuple[str, Callable[[re.Match[str]], None]]] = []
        if title.startswith("What a client of the TEE"):
            named = self.data["recommended"].partition("/")[2]
            first = [exact(f"* recommended: {named}.")] if named else []
            for core, hertz, *_ in list(self.predicted.values())[:1]:
                first += [
                    exact(
                        f"Predicted: a warm call on a {core} at {hertz / 1e9:g} GHz by a model of the core, "
                        "in brackets its interval."
                    )
                ]
            first += [(r"Of (?P<limit>[\d.]+ \w+) by prediction: (?P<said>.+?)\.(?= |$)", self._check_by_prediction)]
        elif title.startswith("What a step with OP-TEE's PKCS#11"):
            found = {
                given(row)["action"]: f"{row['median']:,.0f}"
                for row in scope
                if not _token_rank(given(row)) and "others" not in given(row)
            }
            if {"whole", "sign"} <= found.keys():
                login = f", C_Login {found['login']}" if "login" in found else ""
                first = [
                    exact(
                        f"A process that signs once with P-256 executes {found['whole']} instructions, once the TA is "
                        f"loaded: C_Sign {found['sign']}{login}."
                    )
                ]
        elif title.startswith("What OpenSSL pays for"):
            plain = [row for row in scope if "others" not in given(row) and given(row)["storage"] == "ree"]
            took = {
                (given(row)["action"], given(row).get("holder", "token")): f"{row['median']:,.0f}"
                for row in reversed(plain)
            }
            answers = [took.get(("handshake", holder)) for holder in ("token", "process")]
            if all(answers):
                load = took.get(("load", "token"))
                first = [
                    exact(
                        f"A server's answer takes {answers[0]} instructions with its key in the token, {answers[1]} "
                        "without" + (f"; a process pays {load} before, to load the key." if load else ".")
                    )
                ]
        elif title == "What each storage survives":
            first = [(r"(?P<said>\d.*?new one\.|\d.*?not detected\.)", self._check_faults_said)]
            first += [(r"Not detected: (?P<said>.+?)\.(?= |$)", lambda _: None)]
        elif title == "What the key cache survives":
            first = [(r"([\d,]+) of ([\d,]+) attempts hold\.", self._check_survived_said)]
            first += [(r"Does not hold: .+?\.(?= |$)", lambda _: None)]
        elif title.startswith("What a request to the key cache"):
            first = [(r"(?P<said>(?:By their|No) median.+? do\.)", self._check_hits_said)]
        elif title.startswith("What a broker"):
            first = [
                (r"(?P<said>Every receiver's share .+? an invoke\.|\d+ of .+? an invoke\.)", self._check_broker_said)
            ]
        elif title.startswith("How the published"):
            first = [(r"(?P<said>(?:Likely|Shown|Refuted|Not borne|Undecided).+)", self._check_compiled_said)]
        elif title.startswith("What mbedtls_timing"):
            first = [exact("It returns microseconds of the clock, not cycles.")]
        elif title.startswith("What TAs answer"):
            first = [
                exact(
                    "Every wrong call got the one error that it must get, and changed nothing: another answer "
                    "fails its case."
                )
            ]
            first += [(r"Wrong calls that could not be tried: (\d+)\.", self._check_untried)]
        return [
            *first,
            (r"No board has (?P<said>.+?)\.", self._check_nobody),
            (
                r"The first call is expensive: (?P<row>.+?) took (?P<first>[\d,]+) (?P<unit>\w+) at first, "
                r"(?P<times>[\d.,]+) times its median\.",
                lambda found: self._check_cold(found, scope),
            ),
            (
                r"Samples differ: (?P<row>.+?) took (?P<min>[\d,]+) to (?P<max>[\d,]+) (?P<unit>\w+), a range of "
                r"(?P<share>[\d,]+) % of the median(?:; the range of (?P<more>[\d,]+ other rows|another row) is over 5 "
                r"% too)?\.",
                lambda found: self._check_spread(found, scope),
            ),
            (
                r"Unlike what was published: (?P<row>.+?) takes (?P<times>[\d.,]+) times the instructions of "
                r"(?P<source>\S+); (?P<far>[\d,]+) of (?P<all>[\d,]+) figures are off by more than 1\.5 times\.",
                self._check_published,
            ),
            (r"and \d+ more surprises?", lambda _: None),
        ]

    def _check_by_prediction(self, found: re.Match[str]) -> None:
        budget = self.data["budget"]
        if not budget or found["limit"] != budget["limit"]:
            self._say(f"the budget is another: {found[0]}")
            return
        wanted: dict[str, list[str]] = {}
        for row in self.rows:
            time, task = self.predicted.get((row["case"], row["measure"])), _task(row)
            if time is None or task is None or row["place"] != "client":
                continue
            _, hertz, _, low, high = time
            limit = hertz * _seconds(budget["limit"])
            word = "fits" if high <= limit else "does not fit" if low > limit else "undecided"
            wanted.setdefault(word, []).append(f"{_task_text(task, False)} by {row['variant']}")
        told = {part.partition(": ")[0]: part.partition(": ")[2] for part in found["said"].split("; ")}
        same = told.keys() == wanted.keys() and all(
            told[word].count(" by ") == len(listed) and all(f", {one}," in f", {told[word]}," for one in listed)
            for word, listed in wanted.items()
        )
        if not same:
            self._say(f"by prediction {wanted}, not: {found[0]}")

    def _named(self, found: re.Match[str], scope: Sequence[Row]) -> Row | None:
        rows = [row for row in scope if said(row) == found["row"]]
        if len(rows) != 1:
            self._say(f"'{found['row']}' is the name of {len(rows)} rows: {found[0]}")
            return None
        if "unit" in found.groupdict() and found["unit"] != rows[0]["unit"]:
            self._say(f"{found['row']} was counted in {rows[0]['unit']}: {found[0]}")
        return rows[0]

    def _check_cold(self, found: re.Match[str], scope: Sequence[Row]) -> None:
        row = self._named(found, scope)
        if row is None:
            return
        ratio = row["first"] / row["median"]
        if (found["first"], found["times"]) != (f"{row['first']:,}", f"{ratio:,.1f}") or ratio <= 2:
            self._say(f"the first call took {row['first']:,}, {ratio:,.1f} times the median: {found[0]}")
        if any(each["first"] / each["median"] > ratio for each in scope if each["median"]):
            self._say(f"another first call is dearer: {found[0]}")

    def _check_spread(self, found: re.Match[str], scope: Sequence[Row]) -> None:
        row = self._named(found, scope)
        if row is None:
            return
        shares = [(each["max"] - each["min"]) / each["median"] for each in scope if each["median"]]
        share = (row["max"] - row["min"]) / row["median"]
        wanted = (f"{row['min']:,}", f"{row['max']:,}", f"{100 * share:,.0f}")
        if (found["min"], found["max"], found["share"]) != wanted:
            self._say(f"the samples go from {wanted[0]} to {wanted[1]}, {wanted[2]} % of the median: {found[0]}")
        if max(shares) > share:
            self._say(f"another row's samples go further apart ({100 * max(shares):,.0f} %): {found[0]}")
        others = sum(each > 0.05 for each in shares) - 1
        told = (
            0
            if not found["more"]
            else 1
            if found["more"] == "another row"
            else int(found["more"].split()[0].replace(",", ""))
        )
        if told != others:
            self._say(f"{others} other rows have a range over 5 %: {found[0]}")

    def _check_published(self, found: re.Match[str]) -> None:
        pairs = [
            (row, figure)
            for row in self.rows
            for figure in row["published"]
            if row["unit"] == "instructions" and not row["board"]
        ]
        far = [(row, figure) for row, figure in pairs if not 1 / 1.5 <= figure["ratio"] <= 1.5]
        for row, figure in pairs:
            if not math.isclose(figure["ratio"], row["mean"] / figure["instructions"]):
                self._say(f"{row['case']}: its ratio to {figure['source']} is another")
            # Their cycles are not our instructions.
            if (
                figure["unit"] not in ("instructions", "ms", "us", "s", "Minstructions")
                and "instr" not in figure["unit"]
            ):
                self._say(f"{row['case']}: {figure['source']} is in {figure['unit']}, and divided into instructions")
        if (int(found["far"]), int(found["all"])) != (len(far), len(pairs)):
            self._say(f"{len(far)} of {len(pairs)} figures are off by more than 1.5 times: {found[0]}")
        own = [each for each in far if said(each[0]) == found["row"] and each[1]["source"] == found["source"]]
        if not own or times(own[0][1]["ratio"]) != found["times"]:
            self._say(f"the rows do not say so: {found[0]}")
        elif _distance(own[0][1]["ratio"]) < max(_distance(figure["ratio"]) for _, figure in far):
            self._say(f"another figure is further off: {found[0]}")

    def _check_nobody(self, found: re.Match[str]) -> None:
        wanted = {
            f"{each['operation']} on {each['curve']}"
            for each in self.data["unavailable"]
            if each["curve"] and re.match(r"no library|only .+ has .+, in Linux", each["reason"])
        }
        if set(found["said"].split(", ")) != wanted:
            self._say(f"no library has {', '.join(sorted(wanted))}: {found[0]}")
        for each in wanted:
            operation, _, curve = each.partition(" on ")
            if any((row["operation"], row["curve"]) == (operation, curve) and row["board"] for row in self.rows):
                self._say(f"a library has {each}: {found[0]}")

    # --- answers ---

    def _tasks(self, _found: re.Match[str], block: Block) -> Expected:
        waiting = [row for row in self.rows if row["place"] == "client" and _task(row)]
        tasks = grouped(waiting, _task)
        several = len({task[1] for task in tasks}) > 1
        named = self.data["recommended"]
        licences = self._licences()
        # What the suite recommends is of the first task.
        first = next((_task(row) for row in waiting if row["case"] == named), None)
        lines = []
        if block.headers and not {"task", "way", f"median {_SHORT_UNITS[self.unit]}"} <= set(block.headers):
            self._say(f"'{block.title}' has the columns {block.headers}")
        if block.headers and self.predicted and "predicted ms" not in block.headers:
            self._say(f"'{block.title}' does not show the predicted times")
        for task, rows in tasks.items():
            permissive = [row for row in rows if licences.get(row["variant"], "").startswith(_PERMISSIVE)]
            leading = [*least(rows), *(least(permissive) if permissive else [])]
            for row in rows:
                rank = 1 + sum(each["median"] < row["median"] for each in rows)
                told = row in leading or row["case"] == named
                wanted: dict[str, Cell] = {
                    "task": _task_text(task, several),
                    "way": self._way_cell(row, rows),
                    "rank": f"{rank}/{len(rows)}",
                    "licence": anything,
                    f"median {_SHORT_UNITS[self.unit]}": count(row["median"]),
                    f"worst, ms at {self.clock}": self.milliseconds(row["worst"]),
                    "predicted ms": self._predicted_cell(row),
                }
                # A screen leaves out columns for which it has no room.
                cells = [wanted.get(header, "of no known column") for header in block.headers]
                lines.append(line(cells, [row], 0 if told else 1 if task == first else 2, [row["median"]]))
        return lines, waiting

    def _licences(self) -> dict[str, str]:
        """The licence of each variant, as the section with all ways says."""
        found: dict[str, str] = {}
        for headers, rows in self.sections.get("ways", ()):
            if {"way", "licence"} <= set(headers):
                way, licence = headers.index("way"), headers.index("licence")
                found |= {re.split(r"[, ]", cells[way])[0]: cells[licence] for cells in rows}
        return found

    def _way_cell(self, row: Row, rivals: Sequence[Row]) -> Callable[[str], bool]:
        """The name of a way in the table, with a star if the suite recommends it."""

        def right(cell: str) -> bool:
            text = cell.removesuffix(" *")
            return (text != cell) == (row["case"] == self.data["recommended"]) and _tells(text, row, rivals)

        right.__doc__ = f"{row['variant']} of {row['case']}"
        return right

    def _predicted_cell(self, row: Row) -> Callable[[str], bool]:
        found = self.predicted.get((row["case"], row["measure"]))
        if found is None:
            return one_of(["-"])
        _, hertz, *cycles = found
        typical, low, high = (f"{1000 * each / hertz:,.2f}" for each in cycles)
        return one_of([f"{typical} ({low}-{high})"])

    def _aes(self, found: re.Match[str], _block: Block) -> Expected:
        scope = [
            row
            for row in self.rows
            if (row["operation"], row["measure"]) == ("aes", "cipher")
            and row["place"] in ("client", "linux")
            and row["size"]
            and quiet(row)
        ]
        size = max(row["size"] for row in scope)
        if found["size"] != size_text(size):
            self._say(f"the longest message is of {size_text(size)}: {found[0]}")
        shown = [
            row
            for row in scope
            if row["size"] == size and (given(row)["key"], given(row)["direction"]) == ("128", "encrypt")
        ]
        modes = [mode for mode in ("cbc", "ctr", "gcm") if any(given(row)["mode"] == mode for row in shown)]
        numbers = {mode: sum(given(row)["mode"] == mode for row in shown) for mode in modes}
        mode = found["mode"].lower()
        if numbers.get(mode, 0) < max(numbers.values()):
            self._say(f"another mode has more variants than {mode}: {numbers}")
        lines = []
        for (target, variant), rows in grouped(shown, lambda row: (row["target"], row["variant"])).items():
            each = {given(row)["mode"]: row["median"] / size for row in rows}
            cells = [target, variant, *(times(each[name]) if name in each else "-" for name in modes)]
            lines.append(line(cells, rows, each.get(mode, math.inf), [times(value) for value in each.values()]))
        return lines, scope

    def _changes(self, _found: re.Match[str], _block: Block) -> Expected:
        known = {(row["case"], row["measure"], row["place"]): row for row in self.rows}
        pairs = []
        for row in self.rows:
            base = _unchanged(row["implementation"])
            if not base or row["place"] not in ("client", "linux") or row["target"] not in ("optee", "linux"):
                continue
            case = row["case"].replace(f"/{row['variant']}/", f"/{base}-{row['optimisation']}/")
            if before := known.get((case, row["measure"], row["place"])):
                pairs.append((before, row))
        best: dict[Any, float] = {}
        for before, row in pairs:
            key = (label(row), row["place"], before["variant"])
            best[key] = min(row["median"], best.get(key, row["median"]))
        lines = []
        for before, row in pairs:
            key = (label(row), row["place"], before["variant"])
            cells = [*key, row["variant"], count(row["median"]), times(row["median"] / before["median"])]
            rank = (row["place"] != "client", row["median"] != best[key])
            lines.append(line(cells, [row], rank, [row["median"]]))
        return lines, [row for _, row in pairs]

    def _calls(self, _found: re.Match[str], _block: Block) -> Expected:
        waiting = [
            row
            for row in self.rows
            if row["operation"] in _CALLS and row["place"] == "client" and not _unchanged(row["implementation"])
        ]
        lines = []
        for (_, _, _, level), rows in grouped(
            waiting, lambda row: (row["operation"], row["measure"], row["parameters"], row["optimisation"])
        ).items():
            best, worst = least(rows), most(rows)
            differ = len(best) < len(rows)
            who: Cell = names(best) if differ or len(rows) == 1 else f"all {len(rows)} equal"
            cells: list[Cell] = [label(rows[0]), f"-{level}", who, count(best[0]["median"])]
            cells += [self.milliseconds(max(row["worst"] for row in best))]
            cells += [count(worst[0]["median"]) if differ else "-"]
            lines.append(line(cells, best, 0, [best[0]["median"]]))
        return lines, waiting

    def _payloads(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [
            row
            for row in self.rows
            if (row["operation"], row["measure"], row["place"]) == ("payload", "read", "client") and quiet(row)
        ]

        def kind(row: Row) -> str:
            return given(row).get("memory", "temporary")

        kinds = [
            name
            for name in ("temporary", "registered", "partial", "allocated")
            if any(kind(row) == name for row in scope)
        ]
        lines = []
        for (variant, size), rows in grouped(scope, lambda row: (row["variant"], row["size"])).items():
            medians = {kind(row): row["median"] for row in rows}
            ordered = sorted(medians.values())
            best = [name for name in kinds if medians.get(name) == ordered[0]]
            share = f"{100 * (1 - ordered[0] / ordered[1]):.1f}" if len(ordered) > 1 else "-"
            cells = [size_text(size), variant, *(dash(medians.get(name)) for name in kinds)]
            cells += [" = ".join(best) if len(ordered) > 1 else "-", share]
            lines.append(line(cells, (), size, list(medians.values())))
        return lines, scope

    def _empty(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [
            row
            for row in self.rows
            if (row["operation"], row["measure"]) == ("call", "oldest")
            and quiet(row)
            and (given(row).get("sessions", "1"), given(row).get("parameters", "0"), row["size"] or 0) == ("1", "0", 0)
        ]
        cells = [[row["variant"], count(row["median"]), count(row["worst"])] for row in scope]
        return [line(each, (), 0, [row["median"]]) for each, row in zip(cells, scope, strict=True)], scope

    def _echo(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [
            row for row in self.rows if (row["operation"], row["measure"]) == ("echo", "round-trip") and quiet(row)
        ]
        servers = [name for name in ("linux", "call", "socket") if any(given(row)["server"] == name for row in scope)]
        lines = []
        for (variant, size), rows in grouped(scope, lambda row: (row["variant"], row["size"])).items():
            medians = {given(row)["server"]: row["median"] for row in rows}
            plain = medians.get("linux")
            cells = [variant, size_text(size), *(dash(medians.get(name)) for name in servers)]
            cells += [
                times(medians[name] / plain) if plain and name in medians else "-"
                for name in servers
                if name != "linux"
            ]
            lines.append(line(cells, (), (variant, size), list(medians.values())))
        return lines, scope

    def _hello(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [row for row in self.rows if row["operation"] == "hello"]
        lines = []
        for row in scope:
            whole = one_of([count(row["median"]), f"{row['median']:,.0f}"])
            cells = [row["variant"], row["place"], whole, count(row["worst"]), self.milliseconds(row["worst"])]
            lines.append(line(cells, [row], 0, [row["median"]]))
        return lines, scope

    def _token(self, found: re.Match[str], block: Block) -> Expected:
        steps = [row for row in self.rows if row["operation"] == "pkcs11" and quiet(row)]
        variants = [row["variant"] for row in steps]
        if variants.count(found["variant"]) != max(map(variants.count, variants)):
            self._say(f"'{block.title}': another variant has more steps")
        scope = [row for row in steps if row["variant"] == found["variant"]]
        inside = {row["case"]: row["median"] for row in scope if row["place"] == "ta"}
        lines = []
        for row in scope:
            own = given(row)
            if row["place"] != "client" or row["case"] not in inside:
                continue
            words = " ".join(filter(None, (_TOKEN_STEPS[own["action"]], own.get("mechanism"), own.get("message"))))
            pairs = int(own.get("others", "0"))
            among = f", +{pairs} pair" + "s" * (pairs > 1) if pairs else ""
            cells: list[Cell] = [words + among, own.get("object", "-"), own["storage"]]
            cells += [_near(row["first"]), _near(row["median"])]
            cells += [f"{100 * inside[row['case']] / row['median']:.1f}", self.milliseconds(row["median"])]
            lines.append(line(cells, [row], _token_rank(own), [row["median"]]))
        return lines, [row for row in scope if row["place"] == "client"]

    def _openssl(self, _found: re.Match[str], _block: Block) -> Expected:
        made = {one["case"]: one for one in self.data["token_calls"]}
        scope = [row for row in self.rows if row["operation"] == "pkcs11-openssl" and row["place"] == "client"]
        lines = []
        for row in scope:
            own = given(row)
            pairs = int(own.get("others", "0"))
            among = f", +{pairs} pair" + "s" * (pairs > 1) if pairs else ""
            away = " (process)" * (own.get("holder") == "process")
            cells: list[Cell] = [_OPENSSL_STEPS[own["action"]] + among + away, own["storage"], row["variant"]]
            cells += [count(made[row["case"]][name]) for name in ("calls", "commands")]
            cells += [_near(row["first"]), _near(row["median"]), self.milliseconds(row["median"])]
            lines.append(line(cells, [row], 0, [row["median"]]))
        return lines, scope

    def _own(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [row for row in self.rows if row["target"] == "own"]
        lines = []
        for row in scope:
            medians = one_of({f"{row['median']:,.0f}", f"{math.floor(row['median'] + 0.5):,}"})
            cells = [row["variant"], row["operation"], f"{row['n'] + 1:,}", count(row["first"]), medians]
            # The dearest is that whose calls take most together.
            spent = row["first"] + row["n"] * row["mean"]
            lines.append(line([*cells, count(row["worst"])], [row], -spent, [row["first"], row["worst"]]))
        return lines, scope

    def _storage(self, found: re.Match[str], _block: Block) -> Expected:
        rows = [row for row in self.rows if row["place"] in ("client", "linux") and row["size"] and quiet(row)]
        secure = [row for row in rows if row["operation"] == "storage"]
        files = [row for row in rows if row["operation"] == "file" and "sync" not in given(row)]
        size = min({row["size"] for row in secure or files}, key=lambda size: (abs(size - 4096), size))
        if found["size"] != size_text(size):
            self._say(f"the size nearest to 4 KiB is {size_text(size)}: {found[0]}")
        plain = {given(row)["action"]: row["median"] for row in files if row["size"] == size}
        shown = [row for row in secure if row["size"] == size]
        kinds = [kind for kind in ("ree", "ree-rpmb", "rpmb") if any(given(row)["storage"] == kind for row in shown)]
        lines = []
        for (action, variant), each in grouped(shown, lambda row: (given(row)["action"], row["variant"])).items():
            medians = {given(row)["storage"]: row["median"] for row in each}
            file = plain.get(action)
            cells = [action, variant, *(dash(medians.get(kind)) for kind in kinds), dash(file)]
            cells.append(times(medians["ree"] / file) if file and "ree" in medians else "-")
            lines.append(line(cells, (), 0, list(medians.values())))
        there = {given(row)["action"] for row in shown}
        for action, value in plain.items():
            if action not in there:
                lines.append(line([action, "-", *["-"] * len(kinds), count(value), "-"]))
        return lines, [*secure, *files]

    def _tried(self, operation: str) -> list[dict[str, Any]]:
        return [one for one in self.data["attempts"] if one["operation"] == operation]

    def _faults(self, _found: re.Match[str], _block: Block) -> Expected:
        lines = []
        for operation, words in (("tamper", "tampering"), ("power-cut", "power cut")):
            for storage, tried in _by_storage(self._tried(operation)).items():
                cells = [storage, words, f"{len(tried):,}"]
                if operation == "tamper":
                    cells += [f"{sum(one['result'] == result for one in tried):,}" for result in _TAMPERED]
                else:
                    cells += [f"{sum(map(_is_bad, tried)):,}", "-"]
                lines.append(line(cells))
        return lines, ()

    def _check_faults_said(self, found: re.Match[str]) -> None:
        tampering, cuts = self._tried("tamper"), self._tried("power-cut")
        missed = sum(one["result"] == _TAMPERED[0] for one in tampering)
        wanted = []
        if tampering:
            wanted.append(f"{missed:,} of {len(tampering):,} attempts to tamper were not detected.")
        if cuts:
            bad = sum(map(_is_bad, cuts))
            wanted.append(f"{bad:,} of {len(cuts):,} power cuts left neither the old object nor the new one.")
        if found["said"] != " ".join(wanted):
            self._say(f"the attempts say '{' '.join(wanted)}', not '{found['said']}'")

    def _requests(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [row for row in self.rows if row["operation"] == "keycache" and quiet(row)]
        invokes = {row["case"]: row for row in scope if row["place"] == "invoke"}
        lines = []
        for row in scope:
            if row["place"] != "client":
                continue
            own = given(row)
            verb, _, state = own["action"].partition("-")
            invoke = invokes.get(row["case"])
            cells = [f"{verb.upper()} {state}", size_text(row["size"]), own["storage"], own["policy"], row["variant"]]
            cells += [count(row["median"]), dash(invoke["median"] if invoke else None)]
            figures = [row["median"], *([invoke["median"]] if invoke else [])]
            lines.append(line([*cells, self.milliseconds(row["median"])], (), 0, figures))
        return lines, scope

    def _floor(self, variant: str, size: int, directions: Iterable[str]) -> tuple[float, float] | None:
        """An empty invoke, and the AES of a payload in a TA; None if they were not measured."""
        empty = [
            row["median"]
            for row in self.rows
            if (row["operation"], row["parameters"], row["measure"], row["variant"])
            == ("call", "size=0B", "oldest", variant)
        ]
        aes = [
            row["median"]
            for direction in directions
            for row in self.rows
            if row["operation"] == "aes"
            and (row["variant"], row["place"], row["size"], row["measure"] in ("set-key", "set-iv", "cipher"))
            == (variant, "ta", size, True)
            and (given(row)["mode"], given(row)["key"], given(row)["direction"]) == ("gcm", "256", direction)
        ]
        if not empty or len(aes) != 3 * len(list(directions)):
            return None
        return empty[0], sum(aes)

    def _check_hits_said(self, found: re.Match[str]) -> None:
        directions = {"get": (), "seal": ("encrypt",), "open": ("decrypt",), "reencrypt": ("decrypt", "encrypt")}
        over = wide = total = 0
        for row in self.rows:
            action = given(row).get("action", "")
            if (row["operation"], row["place"]) != ("keycache", "invoke") or not action.endswith("-hit"):
                continue
            floor = self._floor(row["variant"], row["size"], directions[action.removesuffix("-hit")])
            if floor is None:
                continue
            limit = 1.5 * floor[0] + floor[1]
            total += 1
            over += row["median"] > limit
            wide += row["max"] > limit
        what = "1.5 empty invokes and the AES of"
        begin = f"By their medians {over} of {total} hits cost more than {what} their payload"
        begin = begin if over else f"No median of a hit exceeds {what} its payload"
        wanted = f"{begin}; by the greatest sample {wide} of {total} do."
        if found["said"] != wanted:
            self._say(f"the rows say '{wanted}', not '{found['said']}'")

    def _load(self, _found: re.Match[str], block: Block) -> Expected:
        scope = [row for row in self.rows if row["operation"].startswith("keycache")]
        rows = {
            (row["case"], row["measure"]): row for row in scope if row["operation"] == "keycache-load" and quiet(row)
        }
        each, rest = {}, {}
        for case in dict.fromkeys(case for case, _ in rows):
            short, long = rows[case, "short"], rows[case, "long"]
            own = given(short)
            each[case] = (long["mean"] - short["mean"]) / int(own["requests"])
            rest[case] = (2 * short["mean"] - long["mean"]) / int(own["connections"])
        floors = {
            given(rows[case, "short"])["connections"]: value
            for case, value in each.items()
            if given(rows[case, "short"])["action"] == "ping"
        }
        # A request's name stands once for all its connections.
        last: list[str] = []
        for printed in block.rows:
            last = printed[:4] if printed[0] else last
            printed[:4] = last
        lines = []
        for case, value in each.items():
            own = given(rows[case, "short"])
            plain = own["action"] == "ping"
            words = {"ping": "PING", "seal": "SEAL", "reencrypt": "REENCRYPT"}[own["action"]]
            bench = [one for one in self.data["attempts"] if one["case"] == case and "benchmark" in one["what"]]
            cells: list[Cell] = [f"{words} {own['size']}", "-" if plain else own["policy"], "-" if plain else anything]
            cells += ["-" if plain else own.get("clients", "1"), own["connections"], f"{value:,.0f}"]
            cells += [times(value / floors[own["connections"]]) if own["connections"] in floors else "-"]
            cells += [f"{2e9 / value:,.0f}", f"{float(bench[-1]['result']):,.0f}" if bench else "-"]
            lines.append(line([*cells, f"{rest[case]:,.0f}"], (), 0, [f"{value:,.0f}"]))
        return lines, scope

    def _survived(self, _found: re.Match[str], _block: Block) -> Expected:
        tried = [one for one in self.data["attempts"] if one["operation"] in ("keycache-cut", "keycache-hold")]
        lines = []
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for one in tried:
            groups.setdefault((one["operation"], _pairs(one["parameters"]).get("storage", "-")), []).append(one)
        for (operation, storage), own in groups.items():
            good = sum(one["result"] in _SURVIVED for one in own)
            lines.append(line([operation, storage, f"{len(own):,}", f"{good:,}", f"{len(own) - good:,}"]))
        return lines, ()

    def _check_survived_said(self, found: re.Match[str]) -> None:
        tried = [one for one in self.data["attempts"] if one["operation"] in ("keycache-cut", "keycache-hold")]
        good = sum(one["result"] in _SURVIVED for one in tried)
        if (found[1], found[2]) != (f"{good:,}", f"{len(tried):,}"):
            self._say(f"{good} of {len(tried)} attempts hold: {found[0]}")

    def _messages(self, variant: str) -> dict[tuple[int, int, int], dict[tuple[str, str, str], Row]]:
        """What is relayed (QoS, size, subscribers) -> (by whom, measure, place) -> row."""
        found: dict[tuple[int, int, int], dict[tuple[str, str, str], Row]] = {}
        for row in self.rows:
            if row["operation"] == "keycache-mqtt" and row["variant"] == variant and quiet(row):
                own = given(row)
                what = (int(own.get("qos", 0)), row["size"], int(own["subscribers"]))
                found.setdefault(what, {})[own["relay"], row["measure"], row["place"]] = row
        return found

    def _broker(self, found: re.Match[str], _block: Block) -> Expected:
        scope = [row for row in self.rows if row["operation"] == "keycache-mqtt" and quiet(row)]
        lines = []
        for (qos, size, subscribers), rows in self._messages(found["variant"]).items():
            off, ree, hit = (rows.get((relay, "message", "client")) for relay in ("off", "ree", "hit"))
            if hit is None:
                continue
            bursts = [rows.get((relay, "burst", "client")) for relay in ("off", "hit")]
            cells = [
                str(subscribers),
                size_text(size),
                str(qos),
                *(dash(one["median"] if one else None) for one in (off, ree)),
            ]
            cells += [count(hit["median"]), f"{hit['median'] / subscribers:,.0f}"]
            cells += [times(hit["median"] / off["median"]) if off else "-"]
            cells += [times(bursts[0]["median"] / bursts[1]["median"]) if bursts[0] and bursts[1] else "-"]
            lines.append(line(cells, (), 0, [hit["median"]]))
        return lines, scope

    def _check_broker_said(self, found: re.Match[str]) -> None:
        variant = next(row["variant"] for row in self.rows if row["operation"] == "keycache-mqtt")
        over = total = 0
        for (_, size, subscribers), rows in self._messages(variant).items():
            invoke = rows.get(("hit", "message", "invoke"))
            seal, unseal = (self._floor(variant, size, [way]) for way in ("encrypt", "decrypt"))
            if not invoke or not seal or not unseal:
                continue
            total += 1
            limit = 1.3 * (unseal[1] / subscribers + seal[1]) + seal[0] / subscribers
            over += invoke["median"] / subscribers > limit
        good = "Every receiver's share of the TA's call costs no more than 1.3 AES and its share of an invoke."
        bad = (
            f"{over} of {total} receivers' shares of the TA's call cost more than 1.3 AES and their share of an invoke."
        )
        if found["said"] != (bad if over else good):
            self._say(f"the rows say '{bad if over else good}', not '{found['said']}'")

    def _boards(self, found: re.Match[str], block: Block) -> Expected:
        rows = [row for row in self.rows if row["board"] and row["operation"] in _BOARD_OPERATIONS]
        one = found["board"]
        lines = []
        for each in _of_fullest_size(rows, lambda row: (row["board"], row["operation"], row["curve"])):
            board = each[0]["board"]
            if one and board != one:
                continue
            fastest, smallest = least(each), least(each, "flash")
            quick = count(fastest[0]["median"])
            ms = one_of(_milliseconds(row["median"], self._clock_mhz(row)) for row in fastest)
            cells: list[Cell] = [_on_board(each[0]), names(fastest), quick, ms]
            small: list[Cell] = [names(smallest), dash(smallest[0]["flash"])] if smallest else ["-", "-"]
            if one:
                cells += [one_of(dash(row["flash"]) for row in fastest), *small]
                cells += [count(min(row["median"] for row in smallest)) if smallest else "-"]
            else:
                cells = [board, *cells, *small]
            lines.append(line(cells, fastest, _asked(each[0]), [fastest[0]["median"]]))
        last = not one or block.notes
        return lines, rows if last else ()

    def _clock_mhz(self, row: Row) -> float | None:
        """The clock of a row's board; of a chip at the clock of its reset nobody knows it."""
        return None if self._after_reset else row["clock_mhz"]

    def _core(self, row: Row) -> str:
        """The core that a row was measured on."""
        return str(given(row).get("core", _USUAL_CORES.get(row["target"], "")))

    def _placed(self, found: re.Match[str], block: Block, rows: Sequence[Row]) -> Callable[[Row], list[Cell]]:
        """The cells that say the machine of a line; what has no column is the same of all, and in the title."""
        machines = {str(row["target"]) for row in rows}
        cores = {self._core(row) for row in rows}
        for name, values in (("machine", machines), ("core", cores)):
            if (name in block.headers) != (len(values) > 1) and block.rows:
                self._say(f"'{block.title}': its lines are of {len(values)} {name}s")
            if len(values) == 1 and next(iter(values)) not in found["where"]:
                self._say(f"'{block.title}' does not say the {name} of its lines: {next(iter(values))}")
        if block.title.rstrip().endswith(":"):
            self._say(f"'{block.title}' ends with a colon, and says nothing after it")

        def placed(row: Row) -> list[Cell]:
            return [
                *([str(row["target"])] if len(machines) > 1 else []),
                *([self._core(row)] if len(cores) > 1 else []),
            ]

        return placed

    def _linux(self, found: re.Match[str], block: Block) -> Expected:
        scope = [
            row
            for row in self.rows
            if row["target"] in _MACHINES
            and row["operation"] in _BOARD_OPERATIONS
            and not given(row).keys() - {"curve", "size", "core"}
        ]

        def what(row: Row) -> Any:
            return (row["target"], self._core(row), row["operation"], row["curve"])

        alike = grouped(scope, lambda row: (*what(row), row["optimisation"], row["size"]))
        chosen: dict[Any, list[Row]] = {}
        for rows in alike.values():
            before = chosen.get(what(rows[0]))
            if before is None or _fuller(rows) > _fuller(before):
                chosen[what(rows[0])] = rows
        several = [rows for rows in chosen.values() if len({row["implementation"] for row in rows}) > 1]
        placed = self._placed(found, block, [row for rows in several for row in rows])
        lines = []
        for rows in several:
            best, worst = least(rows), most(rows)
            cells = [*placed(rows[0]), _on_board(rows[0]), str(len({row["implementation"] for row in rows}))]
            cells += [names(best), count(best[0]["median"])]
            differ = len(best) < len(rows)
            cells += [names(worst), times(worst[0]["median"] / best[0]["median"])] if differ else ["all equal", "-"]
            # Other cores than the usual one run the same instructions, but for what a library chooses by its core.
            rank = ("core" in given(rows[0]), *_asked(rows[0]))
            lines.append(line(cells, best, rank, [best[0]["median"]] if rows[0]["curve"] else []))
        return lines, scope

    def _options(self, found: re.Match[str], block: Block) -> Expected:
        swept = [row for row in self.rows if row["target"] in _MACHINES and row["operation"] in _CURVE_OPERATIONS]

        def key(row: Row) -> Any:
            others = tuple((name, value) for name, value in given(row).items() if name != "options")
            return (row["target"], row["operation"], row["measure"], row["place"], others, row["variant"])

        groups = [
            rows
            for rows in grouped(swept, key).values()
            if len(rows) > 1 and any("options" not in given(row) for row in rows)
        ]
        placed = self._placed(found, block, [rows[0] for rows in groups])
        lines = []
        for rows in groups:
            usual = next(row for row in rows if "options" not in given(row))
            best = least(rows)
            ratio = best[0]["median"] / usual["median"]
            who: Cell = "the default" if usual in best else names(best, lambda row: given(row)["options"])
            cells = [*placed(usual), usual["variant"], _on_board(usual), count(usual["median"])]
            cells += [count(best[0]["median"]), times(ratio), who]
            lines.append(line(cells, (), ratio, [usual["median"], best[0]["median"]]))
        return lines, ()

    def _hashes(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [row for row in self.rows if (row["operation"], row["place"]) == ("sha256", "client")]
        plain = {
            (row["variant"], row["size"]): row["median"]
            for row in self.rows
            if (row["operation"], row["place"], row["parameters"]) == ("sha256", "linux", f"size={_size_of(row)}")
        }
        cases = grouped(
            (
                row
                for row in self.rows
                if row["operation"] == "sha256" and row["target"] == "optee" and not given(row).keys() - {"size"}
            ),
            lambda row: row["case"],
        )
        sizes: dict[str, list[int]] = {}
        for rows in cases.values():
            sizes.setdefault(rows[0]["variant"], []).append(rows[0]["size"])
        lines = []
        for rows in cases.values():
            found = {(row["measure"], row["place"]): row["median"] for row in rows}
            variant, size, total = rows[0]["variant"], rows[0]["size"], found["hash", "client"]
            empty = found["empty", "client"]
            parts = (found["hash", "api"], empty, found["touch", "client"] - empty)
            linux = plain.get((variant, size))
            cells = [variant, size_text(size), count(total), times(total / size) if size else "-"]
            cells += [f"{100 * part / total:.1f}" for part in parts]
            cells += [times(total / linux) if linux else "-", f"{1200 * size / total:,.1f}" if size else "-"]
            ends = (max(sizes[variant]), min(sizes[variant]))
            lines.append(line(cells, (), ends.index(size) if size in ends else 2, [total]))
        return lines, scope

    def _pqc(self, _found: re.Match[str], _block: Block) -> Expected:
        scope = [row for row in self.rows if row["operation"] in _PQC and row["place"] != "ta"]
        lines = []
        for rows in grouped(scope, lambda row: (row["target"], row["operation"], row["parameters"])).values():
            best = least(rows)
            cells: list[Cell] = [rows[0]["target"], given(rows[0])["scheme"], _PQC[rows[0]["operation"]], names(best)]
            cells += [str(len({row["implementation"] for row in rows})), count(best[0]["median"])]
            cells += [one_of(count(row["worst"]) for row in best)]
            asked = given(rows[0])["scheme"] in ("ml-kem-768", "ml-dsa-65")
            rank = (rows[0]["operation"] not in ("decaps", "dsa-sign"), not asked)
            lines.append(line(cells, best, rank, [best[0]["median"]]))
        return lines, scope

    def _gateway(self, found: re.Match[str], block: Block) -> Expected:
        ways = [row for row in self.rows if row["operation"] == "gateway"]
        rows = [row for row in ways if row["optimisation"] == found["level"]]
        if found["level"] != "O2" and any(row["optimisation"] == "O2" for row in ways):
            self._say(f"'{block.title}': -O2 was measured too")
        boards = [header.split()[0] for header in block.headers[3:]]
        if block.headers and set(boards) != {row["board"] for row in rows}:
            self._say(f"'{block.title}' has columns for {boards}")
        boards = boards or sorted({row["board"] for row in rows})
        lines = []
        for (way, floats), each in grouped(
            rows, lambda row: (given(row)["way"], given(row).get("float", "hard"))
        ).items():
            medians = {row["board"]: row["median"] for row in each}
            cells: list[Cell] = [way, anything, floats, *(dash(medians.get(board)) for board in boards)]
            lines.append(line(cells, (), floats != "hard", list(medians.values())))
        return lines, ()

    def _fits(self) -> tuple[list[tuple[str, list[float], list[float]]], float]:
        """Our instructions for each of their microseconds, by build: of their means, and of their medians; and how far
        their runs of one cell go apart."""
        theirs = {
            (each["algorithm"].removeprefix("ECDSA "), each["operation"]): each
            for each in self.data["published_table"]
            if each["source"] == "mbedtls-armv7-a9"
        }
        builds: dict[str, dict[tuple[str, str], float]] = {}
        for row in self.rows:
            own = given(row)
            cell = (row["curve"], row["operation"])
            usual = (row["target"], row["implementation"]) == ("linux-armv7", "mbedtls28")
            if usual and cell in theirs and not own.keys() - {"curve", "size", "options"}:
                build = ", ".join(filter(None, (row["optimisation"], own.get("options", ""))))
                builds.setdefault(build, {})[cell] = row["mean"]
        fits = [
            (
                build,
                [means[cell] / figure["value"] for cell, figure in theirs.items()],
                [means[cell] / median(figure["runs"] or [figure["value"]]) for cell, figure in theirs.items()],
            )
            for build, means in builds.items()
            if theirs.keys() <= means.keys()
        ]
        apart = [stdev(each["runs"]) / mean(each["runs"]) for each in theirs.values() if len(each["runs"] or ()) > 1]
        return fits, median(apart) if apart else 0.0

    def _compiled(self, _found: re.Match[str], _block: Block) -> Expected:
        lines = []
        for build, rates, robust in self._fits()[0]:
            cells = [f"-{build}", f"{min(rates):,.0f}", f"{max(rates):,.0f}", times(max(rates) / min(rates))]
            cells += [f"{100 * stdev(rates) / mean(rates):.1f}", f"{100 * _residual(rates):.1f}"]
            cells += [f"{100 * _residual(robust):.1f}", f"{math.exp(mean(map(math.log, rates))):,.0f}"]
            lines.append(line(cells, (), 0, [cells[3], cells[7]]))
        return lines, ()

    def _check_compiled_said(self, found: re.Match[str]) -> None:
        fits, apart = self._fits()
        ranked = sorted(fits, key=lambda fit: _residual(fit[1]))
        robust = min(fits, key=lambda fit: _residual(fit[2]))
        if len(ranked) < 2:
            return
        said_of = [
            (build, f"{100 * _residual(rates):.1f} %", times(max(rates) / min(rates))) for build, rates, _ in ranked[:2]
        ]
        words = found["said"]
        for wanted in (
            f"-{said_of[0][0]} (residual {said_of[0][1]}, most / least {said_of[0][2]})",
            f"next at -{said_of[1][0]} ({said_of[1][1]}, {said_of[1][2]})",
            f"differ by {100 * apart:.1f} %",
        ):
            if wanted not in words:
                self._say(f"the fits say '{wanted}': {words}")
        agree = robust[0] == ranked[0][0]
        both = [sorted(_residual(fit[1]) for fit in fits), sorted(_residual(fit[2]) for fit in fits)]
        clear = agree and all(second >= 2 * first for first, second, *_ in both)
        if ranked[0][0] == "O0":
            wanted = "Undecided" if not agree else "Shown" if clear else "Likely"
        else:
            wanted = "Undecided" if not agree else "Refuted" if clear else "Not borne out"
        if not words.startswith(wanted):
            self._say(f"the fits say '{wanted}': {words}")

    def _clock(self, _found: re.Match[str], _block: Block) -> Expected:
        lines = []
        for each in self.data["clocks"]:
            if each["hardclock"]:
                cells: list[Cell] = [anything, each["variant"], each["measure"], str(each["n"])]
                cells += [count(each["instructions"]), count(each["hardclock"])]
                cells += [f"{each['instructions'] / each['hardclock']:,.1f}"]
                lines.append(line(cells, (), 0, [each["instructions"], each["hardclock"]]))
        return lines, ()

    def _abuse(self, _found: re.Match[str], _block: Block) -> Expected:
        groups: dict[str, list[dict[str, Any]]] = {}
        for one in self._tried("abuse"):
            groups.setdefault(one["case"], []).append(one)
        lines = []
        for own in groups.values():
            ta = _pairs(own[0]["parameters"])["ta"]
            calls = [one for one in own if one["what"].startswith("random call, answered by ")]
            table = [one for one in own if ": " in one["what"] and one["result"] != "not tried"]
            wrong = sum(not one["what"].endswith(": right call") for one in table)
            panics = sum(int(one["detail"]) for one in calls if one["result"] == "TEE_ERROR_TARGET_DEAD")
            cells: list[Cell] = [lambda cell, ta=ta: re.fullmatch(rf"{ta}(?: with \S+)?", cell) is not None]  # type: ignore[misc]
            cells += [f"{wrong:,}", f"{sum(int(one['detail']) for one in calls):,}", f"{panics:,}"]
            lines.append(line(cells))
        return lines, ()

    def _check_untried(self, found: re.Match[str]) -> None:
        untried = sum(one["result"] == "not tried" for one in self._tried("abuse"))
        if int(found[1]) != untried:
            self._say(f"{untried} wrong calls were not tried: {found[0]}")

    @functools.cached_property
    def _titled(self) -> dict[str, list[Row]]:
        """The rows of each figure by variant and place, by its title."""
        return grouped(self.rows, lambda row: label(row) + (f" on {_system(row)}" if _system(row) else ""))

    @functools.cached_property
    def _carded(self) -> dict[str, list[Row]]:
        """The rows of each card, by its title."""
        return grouped(self.rows, _card_title)

    # --- cards of the HTML report, and sentences below its figures ---

    def check_card(self, title: str, best: str, least_one: float, worst: str, most_one: float, ratio: str) -> None:
        """A card: what was done, who takes the fewest and the most, and how many times."""
        whole = self._carded.get(title)
        if not whole:
            self._say(f"card '{title}': no rows have this title")
            return
        first = whole[0]
        if len({(row["target"], row["place"], row["unit"], _done(row)) for row in whole}) > 1:
            self._say(f"card '{title}': its rows do different things")
        inner = [
            row
            for row in self.rows
            if (row["target"], _done(row)) == (first["target"], _done(first)) and row["place"] != first["place"]
        ]
        if any(row["median"] > max(each["median"] for each in whole) for row in inner):
            self._say(f"card '{title}': another place has more, so that this one is within it")
        for rows in self._carded.values():
            like = (rows[0]["target"], rows[0]["place"], _sizeless(rows[0])) == (
                *(first["target"], first["place"]),
                _sizeless(first),
            )
            if like and len(rows) > len(whole) and times(most(rows)[0]["median"] / least(rows)[0]["median"]) != "1.00":
                self._say(f"card '{title}': {len(whole)} have this size, {len(rows)} another: {_card_title(rows[0])}")
        fewest, greatest = least(whole), most(whole)
        wanted = times(greatest[0]["median"] / fewest[0]["median"])
        if not _names_ways(fewest, whole)(best) or least_one != fewest[0]["median"]:
            self._say(f"card '{title}': best {best} {count(least_one)}; the rows say {_cases(fewest)}")
        if not _names_ways(greatest, whole)(worst) or most_one != greatest[0]["median"]:
            self._say(f"card '{title}': worst {worst} {count(most_one)}; the rows say {_cases(greatest)}")
        if ratio != wanted:
            self._say(f"card '{title}': {ratio} times; the rows say {wanted}")

    def check_best(self, case: str, measure: str, place: str, ratio: str) -> None:
        """How many times the best of its kind a row takes, as the page with all measurements says."""
        row, rivals = self._rivals[case, measure, place]
        best = min(each["median"] for each in rivals)
        wanted = times(row["median"] / best) if len(rivals) > 1 and best else "-"
        if ratio != wanted:
            self._say(f"{case}, {measure} at {place}: {ratio} times the best; the rows say {wanted}")

    @functools.cached_property
    def _rivals(self) -> dict[tuple[str, str, str], tuple[Row, list[Row]]]:
        """Each row, and those that did the same at the same place."""
        groups = grouped(self.rows, lambda row: (row["target"], row["place"], _done(row)))
        return {
            (row["case"], row["measure"], row["place"]): (row, rivals) for rivals in groups.values() for row in rivals
        }

    def check_words(self, kind: str, title: str, words: str) -> None:
        """The sentence below a figure of the kinds `variants`, `sizes` and `price`."""
        if kind == "variants":
            self._check_variants(title, words)
        elif kind == "sizes":
            self._check_sizes(title, words)
        elif kind == "price":
            self._check_price(title, words)
        elif kind not in ("cycles", "rates", "boards"):
            self._say(f"figure '{title}': tests/recomputed.py does not know its kind '{kind}': teach it")

    def _check_variants(self, title: str, words: str) -> None:
        rows = self._titled.get(title, [])
        if not rows:
            self._say(f"figure '{title}': no rows have this title")
            return
        if equal := re.fullmatch(r"All take ([\d.,]+) instructions\.", words):
            ends = {row["place"] for row in rows if count(row["median"]) == equal[1]}
            if not any({count(row["median"]) for row in rows if row["place"] == place} == {equal[1]} for place in ends):
                self._say(f"figure '{title}': {words}")
            return
        found = re.fullmatch(
            r"(?P<best>.+?) takes? the fewest instructions, (?P<least>[\d.,]+); (?P<worst>.+?) the most, "
            r"(?P<most>[\d.,]+), (?P<times>[\d.,]+) times as many\.",
            words,
        )
        if not found:
            self._say(f"figure '{title}': tests/recomputed.py does not know these words: {words}")
            return
        places = [name.partition(" at ")[2].partition(" ")[0] for name in (found["best"], found["worst"])]
        # Places are compared only if nobody else does it.
        rivals = [row for row in rows if row["place"] == places[0]]
        if len(set(places)) > 1 and max(len(each) for each in grouped(rows, lambda row: row["place"]).values()) > 1:
            self._say(f"figure '{title}': one place against another: {words}")
            return
        compared = rivals if len(set(places)) == 1 else rows
        if len({row["target"] for row in compared}) > 1 and len({row["variant"] for row in compared}) > 1:
            self._say(f"figure '{title}': one system against another: {words}")
        fewest, greatest = least(compared), most(compared)

        def named(row: Row) -> str:
            return f"{row['variant']} at {row['place']}"

        if not names(fewest, named)(found["best"]) or found["least"] != count(fewest[0]["median"]):
            self._say(f"figure '{title}': {words} The rows say {_who(fewest)}")
        if not names(greatest, named)(found["worst"]) or found["most"] != count(greatest[0]["median"]):
            self._say(f"figure '{title}': {words} The rows say {_who(greatest)}")
        if found["times"] != times(greatest[0]["median"] / fewest[0]["median"]):
            self._say(f"figure '{title}': {words} It is {times(greatest[0]['median'] / fewest[0]['median'])}")

    @functools.cached_property
    def _sized(self) -> dict[str, list[Row]]:
        """The rows of each figure against the size, by its title: whole calls of variants that have three sizes."""
        found = {}
        for title, rows in grouped((row for row in self.rows if row["size"] is not None), _size_title).items():
            whole = [row for row in rows if row["chunk"] is None] or rows
            outermost: dict[str, str] = {}
            for row in whole:
                before = outermost.get(row["target"], row["place"])
                outermost[row["target"]] = max(before, row["place"], key=_PLACES.index)
            whole = [row for row in whole if row["size"] and row["place"] == outermost[row["target"]]]
            sizes = {
                key: len({row["size"] for row in each})
                for key, each in grouped(whole, lambda row: (row["target"], row["variant"])).items()
            }
            found[title] = [row for row in whole if sizes[row["target"], row["variant"]] >= _LEAST_POINTS]
        return found

    def _check_sizes(self, title: str, words: str) -> None:
        def named(row: Row) -> str:
            return f"{row['variant']} at {row['place']}"

        rows, name, kinds = self._sized.get(title, []), named, ""
        if kinds_of := re.match(r"Storage, (\w+)", title):
            kinds = kinds_of[1]
            rows, name = self._stored(kinds), _storage_text
        found = re.search(
            r"Of (?P<size>\w+) (?P<best>.+?) takes? the fewest instructions, (?P<least>[\d.,]+), and (?P<worst>.+?) "
            r"the most, (?P<most>[\d.,]+)\.",
            words,
        )
        alone = re.search(r"Of (?P<size>\w+) (?P<best>.+?) takes (?P<least>[\d.,]+) instructions\.", words)
        largest = max((row["size"] for row in rows), default=0)
        ends = [row for row in rows if row["size"] == largest]
        if ends and not kinds:
            # A sentence is of one system: that of which most rows compete, and of equals the TEE.
            systems = grouped(ends, lambda row: row["target"])
            ends = max(systems.values(), key=lambda own: (len(own), own[0]["target"] == "optee"))
        said_of = found or alone
        if not ends or not said_of or said_of["size"] != size_text(largest):
            self._say(f"figure '{title}': {words} The rows say nothing of the kind")
            return
        fewest, greatest = least(ends), most(ends)
        if found and not kinds and len({row["place"] for row in (*fewest, *greatest)}) > 1:
            self._say(f"figure '{title}': one place against another: {found[0]}")
        elif not names(fewest, name)(said_of["best"]) or said_of["least"] != count(fewest[0]["median"]):
            self._say(f"figure '{title}': {said_of[0]} The rows say {_who(fewest)}")
        right = found and names(greatest, name)(found["worst"]) and found["most"] == count(greatest[0]["median"])
        if found and not right:
            self._say(f"figure '{title}': {found[0]} The rows say {_who(greatest)}")

    def _stored(self, action: str) -> list[Row]:
        """What an access costs in each storage by one variant, and with a plain file."""
        rows = [
            row
            for row in self.rows
            if (row["operation"], row["place"]) in (("storage", "client"), ("file", "linux"))
            and quiet(row)
            and given(row)["action"] == action
            and row["size"]
        ]
        first: dict[str, str] = {}
        for row in rows:
            first.setdefault(_storage_text(row), row["variant"])
        return [row for row in rows if row["variant"] == first[_storage_text(row)]]

    def _check_price(self, title: str, words: str) -> None:
        operation = title.removeprefix("The price of the TEE: ")
        found = re.match(
            r"The most expensive is (?P<label>.+), (?P<who>\S+) at (?P<place>\w+): (?P<times>[\d.,]+) times", words
        )
        if not found:
            self._say(f"figure '{title}': tests/recomputed.py does not know these words: {words}")
            return
        plain = {
            (row["variant"], row["operation"], row["parameters"], row["measure"]): row["median"]
            for row in self.rows
            if row["target"] == "linux"
        }
        ratios = {}
        for row in self.rows:
            linux = plain.get((row["variant"], row["operation"], row["parameters"], row["measure"]))
            if row["target"] == "optee" and row["operation"] == operation and linux:
                ratios[label(row), row["variant"], row["place"]] = row["median"] / linux
        own = ratios.get((found["label"], found["who"], found["place"]))
        if own is None or times(own) != found["times"]:
            self._say(f"figure '{title}': {words} The rows say {own}")
        elif own < max(ratios.values()):
            self._say(f"figure '{title}': {words} Another is dearer: {times(max(ratios.values()))}")


def _residual(rates: Sequence[float]) -> float:
    logs = [math.log(rate) for rate in rates]
    return math.sqrt(mean((each - mean(logs)) ** 2 for each in logs))


def _who(rows: Sequence[Row]) -> str:
    return f"{', '.join(row['variant'] for row in rows)} {count(rows[0]['median'])}"


def _cases(rows: Sequence[Row]) -> str:
    return f"{', '.join(row['case'] for row in rows)} {count(rows[0]['median'])}"


def _system(row: Row) -> str:
    return "" if row["target"] in ("optee", "linux") else str(row["board"] or row["target"])


def _done(row: Row) -> Any:
    """What is done, by whichever operation: rows of one task do the same in several ways."""
    return _task(row) or label(row)


def _sizeless(row: Row) -> Any:
    """What is done, whatever the size of the message is."""
    task = _task(row)
    return task[:2] if task else (row["operation"], row["measure"], row["curve"])


def _card_title(row: Row) -> str:
    task = _task(row)
    what = _task_text(task, True) if task else label(row).replace(",", ", ")
    return f"{what}, {row['board'] or row['target']}, at {row['place']}"


# The innermost first.
_PLACES = ("storage", "api", "ta", "invoke", "relay", "client", "linux", "mcu")
_LEAST_POINTS = 3


def _size_title(row: Row) -> str:
    words = row["operation"] + ("" if row["operation"] == row["measure"] else f" {row['measure']}")
    where = f", on {_system(row)}" if _system(row) else ""
    others = " ".join(f"{key}={value}" for key, value in given(row).items() if key not in ("size", "chunk"))
    return f"{words} against the size of the message{where}" + (f": {others}" if others else "")


def _storage_text(row: Row) -> str:
    names = {"ree": "REE FS", "ree-rpmb": "REE FS, hash in RPMB", "rpmb": "RPMB"}
    if row["operation"] == "storage":
        return names[given(row)["storage"]]
    return "plain file" + (f", {given(row)['sync']}" if "sync" in given(row) else "")


_TAMPERED = ("not detected", "no effect")
_SURVIVED = ("between", "old", "begun", "new", "holds")


def _by_storage(attempts: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in attempts:
        found.setdefault(_pairs(one["parameters"])["storage"], []).append(one)
    return found


def _is_bad(cut: dict[str, Any]) -> bool:
    return cut["result"] not in ("old", "new") or "; " in cut["detail"]


def _distance(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def _size_of(row: Row) -> str:
    return given(row).get("size", "")


def _unchanged(implementation: str) -> str:
    """The implementation that has no change to OP-TEE, of one that has; else empty."""
    base, _, change = implementation.rpartition("-")
    return base if change in _CHANGES and base else ""


def _task(row: Row) -> tuple[str, str, int | None] | None:
    """What a caller of the TEE has done: the action, the curve, and the size of the message."""
    if row["target"] not in ("optee", "linux"):
        return None
    if row["operation"] in _ATTESTED:
        changed = row["parameters"] or _unchanged(row["implementation"])
        return None if changed else (row["measure"], "secp256r1", _ATTESTED[row["operation"]])
    if row["operation"] in ("sign", "verify", "ecdh", "digest") and quiet(row):
        return (row["operation"], row["curve"], row["size"])
    return None


def _task_text(task: tuple[str, str, int | None], with_curve: bool) -> str:
    action, curve, size = task
    action = {"digest": "SHA-256", "ecdh": "ECDH"}.get(action, action)
    words = [_CURVES.get(curve, curve) if with_curve else "", action, "" if size is None else size_text(size)]
    return " ".join(filter(None, words))


# The defaults of choices, by value: a case that has them does not name them.
_DEFAULTS = {"temporary": "memory", "stock": "optee", "bench": "random"}


def _tells(text: str, row: Row, rivals: Sequence[Row]) -> bool:
    """Whether a name is of a row: of those with its variant only this row has the choices that the name says."""
    variant, *choices = text.split(", ")

    def chosen(each: Row, choice: str) -> bool:
        if default := re.fullmatch(r"default (\w+)", choice):
            return default[1] not in given(each)
        key, _, value = choice.rpartition("=")
        # Most values say by themselves what they are.
        own = {name: what for name, what in given(each).items() if name == key or not key}
        return value in own.values() or (_DEFAULTS.get(value, "-") not in given(each) and value in _DEFAULTS)

    def has(each: Row) -> bool:
        return each["variant"] == variant and all(chosen(each, choice) for choice in choices)

    return has(row) and sum(map(has, rivals)) == 1


def _names_ways(rows: Sequence[Row], rivals: Sequence[Row]) -> Callable[[str], bool]:
    """A text that names one of the rows, tells it from its rivals, and says how many equal it."""

    def right(text: str) -> bool:
        found = re.fullmatch(r"(.*?)(?: \+(\d+) equal)?", text)
        told = found is not None and any(_tells(found[1], row, rivals) for row in rows)
        return told and found is not None and int(found[2] or 0) == len(rows) - 1

    return right


def _on_board(row: Row) -> str:
    """`P-256 sign 32B`, `X25519 ECDH`, `SHA-256 1KiB`."""
    size = "" if row["size"] is None else size_text(row["size"])
    words = [_CURVES.get(row["curve"], row["curve"]), _BOARD_OPERATIONS[row["operation"]], size]
    return " ".join(filter(None, words))


def _asked(row: Row) -> tuple[int, int, int]:
    """What is asked most comes first: curves, and what is done on them."""
    curves, operations = ("secp256r1", "ed25519", "x25519"), ("sign", "verify", "ecdh", "keygen")
    curve = curves.index(row["curve"]) if row["curve"] in curves else len(curves)
    operation = operations.index(row["operation"]) if row["operation"] in operations else len(operations)
    return int(row["operation"] not in operations), curve, operation


def _fuller(rows: Sequence[Row]) -> tuple[int, int]:
    """More rows are fuller; of equals, those whose size is nearer to a digest."""
    return len(rows), -abs((rows[0]["size"] or 0) - 32)


def _of_fullest_size(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[list[Row]]:
    chosen: dict[Any, list[Row]] = {}
    for each in grouped(rows, lambda row: (key(row), row["parameters"], row["measure"])).values():
        before = chosen.get(key(each[0]))
        if before is None or _fuller(each) > _fuller(before):
            chosen[key(each[0])] = each
    return list(chosen.values())


def _milliseconds(value: float, clock_mhz: float | None) -> str:
    return f"{value / clock_mhz / 1000:,.3f}" if clock_mhz else "-"


def _hertz(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"GHz": 1e9, "MHz": 1e6, "kHz": 1e3, "Hz": 1.0}[unit]


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
