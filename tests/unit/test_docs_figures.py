# SPDX-License-Identifier: BSD-2-Clause
"""Figures in the pages' sentences follow from the figures beside them.

A claim names a sentence of a page and what its figures are computed of: cells of the page's own tables, by row and
column, or figures that stand in the page. Each other ratio in a sentence stands in tests/data/docs-ratios.txt, the list
of those that nobody computes here: a new one is claimed below, or comes into that list with its reason.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from worldwise.base import paths

DOCS = paths.REPOSITORY / "docs"
LIST = paths.REPOSITORY / "tests" / "data" / "docs-ratios.txt"

_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
# A ratio or share in a sentence.
_PARTS = "half|third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|hundredth"
_COUNTS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred"
RATIO = re.compile(
    rf"(?:\d[\d.,]* to )?\d[\d.,]* ?(?:%|times\b)|\b(?:a|an|one|two|three|four) (?:{_PARTS})s?\b"
    rf"|\b(?:{_COUNTS}) tenths\b|\bhalf\b|\btwice\b|\bdoubles?\b|\b(?:{_COUNTS}) times\b"
)


@dataclass(frozen=True)
class Table:
    """A table of a page: the words above it, its columns, its rows."""

    above: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Page:
    """A page: its sentences, and its tables."""

    name: str
    prose: str
    tables: tuple[Table, ...]

    def cell(self, row: str, column: str, above: str = "") -> float:
        """The figure at a row, named by one of its cells or by several with ` | ` between, and a column.

        A column is named by its head, or by `head#2` for the second of that head. Raises AssertionError unless there is
        exactly one such cell.
        """
        wanted = [part.strip() for part in row.split("|")]
        head, _, which = column.partition("#")
        found = []
        for table in self.tables:
            places = [number for number, name in enumerate(table.columns) if name == head]
            if above not in table.above or not places:
                continue
            place = places[int(which or 1) - 1]
            found += [cells[place] for cells in table.rows if all(part in cells for part in wanted)]
        assert len(found) == 1, f"{self.name}: {row} / {column}: {found}"
        return number(found[0])

    def figure(self, text: str) -> float:
        """A figure that stands in a sentence of the page as it is written here."""
        assert re.search(rf"(?<![\d.,]){re.escape(text)}(?![\d]|[.,]\d)", self.prose), f"{self.name}: {text}"
        return number(text)


def number(text: str) -> float:
    """The first number of a cell; an error if there is none."""
    match = _NUMBER.search(text.replace("*", ""))
    assert match, text
    return float(match[0].replace(",", ""))


@functools.cache
def page(name: str) -> Page:
    """A page of docs/, taken apart."""
    return parsed(name, (DOCS / name).read_text(encoding="utf-8"))


def parsed(name: str, text: str) -> Page:
    """The sentences of a page are all that is no table and no code."""
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    prose: list[str] = []
    tables: list[Table] = []
    rows: list[tuple[str, ...]] = []
    above = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(tuple(cell.strip().strip("*").strip() for cell in line.strip().strip("|").split("|")))
            continue
        if rows:
            tables.append(Table(above, rows[0], tuple(rows[2:])))
            rows = []
        if line.strip() and not line.startswith("    "):
            above = line
            prose.append(line.strip())
    return Page(name, " ".join(prose), tuple(tables))


Computed = Callable[[Page], float]


@dataclass(frozen=True)
class Claim:
    """A part of a sentence, and of each figure in it, in order, what it is computed of.

    None stands for a figure that is none of a ratio: a size, a name.
    """

    page: str
    says: str
    figures: tuple[Computed | None, ...]


def ratio(above: str, below: str, column: str, table: str = "") -> Computed:
    """A cell by another of the same column."""
    return lambda at: at.cell(above, column, table) / at.cell(below, column, table)


def across(row: str, above: str, below: str, table: str = "") -> Computed:
    """A cell by another of the same row."""
    return lambda at: at.cell(row, above, table) / at.cell(row, below, table)


BITS_16 = [
    f"{one} of 16 B" for one in ("bearssl, SHA-256", "mbedtls36, SHA-256", "bearssl, AES-128", "mbedtls36, AES-128")
]
KIB_1 = [row.replace("16 B", "1 KiB") for row in BITS_16]


def gateway(rows: list[str], take: Callable[..., float]) -> Computed:
    """Per cent that the gateway adds to rows of both cores."""
    cores = (("more", "M33, direct"), ("more#2", "M55, direct"))
    return lambda at: take(100 * at.cell(row, more) / at.cell(row, direct) for row in rows for more, direct in cores)


def hit(rows: tuple[str, ...], below: str, take: Callable[..., float]) -> Computed:
    """A hit by another column, in thousands of instructions."""
    return lambda at: take(at.cell(row, "TEE, hit", "256 bytes") / at.cell(row, below, "256 bytes") for row in rows)


def plain_file(action: str, size: str) -> Computed:
    """What a plain file takes: the storage's figure by the bracket behind it."""

    def of(at: Page) -> float:
        table = next(one for one in at.tables if "7000 B" in one.columns)
        cells = next(row for row in table.rows if row[:2] == (action, "REE FS"))
        figure, times = re.fullmatch(r"([\d,]+) \((\d+)\)", cells[table.columns.index(size)]).groups()  # type: ignore[union-attr]
        return number(figure) / float(times)

    return of


SIZES = ("32 B", "7000 B")
ACTIONS = ("create", "read", "overwrite", "append 32 B", "delete")
EIGHT_ON = ("8", "16", "32", "64", "8, 16 B", "8, 4 KiB")
EVERY = ("1", "2", "4", *EIGHT_ON, "8, QoS 1", "8, QoS 2")
SMALL = [plain_file(action, size) for action in ACTIONS for size in SIZES]
COMBS = ("7x37x1", "6x43x1", "7x19x2", "6x11x4")


def behind(core: str) -> Computed:
    """How far 6x11x4 is behind the best comb of a core, in per cent, with `plain`."""
    return lambda at: (
        100 * (at.cell("6x11x4 | plain", core) / min(at.cell(f"{comb} | plain", core) for comb in COMBS) - 1)
    )


MONTGOMERY = "reduce without dividing"
FINDINGS = functools.partial(page, "findings.md")


def error(row: str) -> Computed:
    """Of a figure of hardware and its prediction, in per cent."""
    return lambda at: 100 * (at.cell(row, "predicted") / at.cell(row, "hardware") - 1)


CLAIMS = (
    Claim("mqtt.md", "costs a broker 1.7 to 4.6 times the message", (hit(EVERY, "none", min), hit(EVERY, "none", max))),
    Claim(
        "mqtt.md",
        "it is 2.7 to 2.9 times, with 64 KiB 3.3, with QoS 1 2.1 and with QoS 2 1.7 times",
        (
            hit(EIGHT_ON, "none", min),
            hit(EIGHT_ON, "none", max),
            None,
            hit(("8, 64 KiB",), "none", min),
            None,
            hit(("8, QoS 1",), "none", min),
            None,
            hit(("8, QoS 2",), "none", min),
        ),
    ),
    Claim("mqtt.md", "costs 1.2 to 1.6 times the same in the REE", (hit(EVERY, "REE", min), hit(EVERY, "REE", max))),
    Claim(
        "mqtt.md",
        "costs 23 times a hit for 8 subscribers and 33 times for 16",
        (across("8", "TEE, naive", "TEE, hit"), None, across("16", "TEE, naive", "TEE, hit"), None),
    ),
    Claim(
        "tz-m.md",
        "takes 3 to 26 % more behind the gateway, one of 1 KiB 0.2 to 0.7 %",
        (gateway(BITS_16, min), gateway(BITS_16, max), None, gateway(KIB_1, min), gateway(KIB_1, max)),
    ),
    Claim(
        "linux.md",
        "its signature takes 11 times as many instructions as on the A72 "
        "(its verification 3.8 times, its ECDH 6.4 times)",
        (
            across("openssl", "A9 sign", "A72 sign", "secp384r1"),
            across("openssl", "A9 verify", "A72 verify", "secp384r1"),
            across("openssl", "A9 ECDH", "A72 ECDH", "secp384r1"),
        ),
    ),
    Claim("linux.md", "nettle signs in a ninth of that", (ratio("openssl", "nettle", "A9 sign", "secp384r1"),)),
    Claim(
        "storage.md",
        "costs 9,000 to 22,000 instructions up to 7000 bytes",
        (lambda at: min(one(at) for one in SMALL), lambda at: max(one(at) for one in SMALL), None),
    ),
    Claim("storage.md", "one of 64 KiB 83,000", (None, plain_file("create", "64 KiB"))),
    Claim("storage.md", "one of 1 MiB 1.5 million", (None, lambda at: plain_file("create", "1 MiB")(at) / 1e6)),
    Claim(
        "fastest-signature.md",
        "whose 151,552 bytes are 4.6 times the 32 KiB",
        (lambda at: at.cell("7x37x1", "table, bytes"), lambda at: at.figure("151,552") / 32 / 1024, None),
    ),
    Claim(
        "fastest-signature.md",
        "a first call pays 59,000 cycles more than with 6x11x4, whose 22,528 bytes",
        (
            lambda at: at.cell("7x37x1 | plain", "A72 first") - at.cell("6x11x4 | plain", "A72 first"),
            lambda at: at.cell("6x11x4", "table, bytes"),
        ),
    ),
    Claim(
        "fastest-signature.md",
        "it is 3 % behind the best comb of an A72, 6 % behind that of an A53, 11 % of an A76",
        (behind("A72 warm"), behind("A53 warm"), behind("A76 warm")),
    ),
    Claim(
        "findings-crypto.md",
        "still 7.3 times the 6,407,220",
        (lambda at: FINDINGS().cell(MONTGOMERY, "after") / at.figure("6,407,220"), None),
    ),
    Claim(
        "predict.md",
        "292.1 and 682.0 ms: -2.2 and -1.5 %",
        (
            lambda _: (
                page("models-mcu.md").cell("M4 c25519 sign, F446RE at 180 MHz, 5 wait states, ART", "predicted") / 180e3
            ),
            lambda _: page("models-mcu.md").cell("M4 c25519 verify", "predicted") / 180e3,
            lambda _: error("M4 c25519 sign, F446RE at 180 MHz, 5 wait states, ART")(page("models-mcu.md")),
            lambda _: error("M4 c25519 verify")(page("models-mcu.md")),
        ),
    ),
)


def shown_as(shown: str, value: float) -> bool:
    """Whether a number is written so, rounded to its last digit, zeros at its end being no digits."""
    text = shown.replace(",", "")
    decimals = len(text.partition(".")[2])
    step = 10.0**-decimals
    if "." not in text:
        step = 10.0 ** (len(text) - len(text.rstrip("0"))) if float(text) >= 1000 else 1.0
    return abs(float(text) - value) <= step / 2 * (1 + 1e-9)


# Words for figures, as a ratio has them.
WORDS = {"a third": 3, "a quarter": 4, "a sixth": 6, "a ninth": 9, "a tenth": 10}


def wrong(claim: Claim, at: Page) -> list[str]:
    """What of a claim does not follow from its page; raises AssertionError where page and claim do not meet."""
    text = " ".join(at.prose.split())
    whole = text + " | ".join(" | ".join(row) for table in at.tables for row in table.rows)
    assert claim.says in whole, f"{at.name} does not say: {claim.says}"
    words = re.findall("|".join(WORDS), claim.says)
    found = [str(WORDS[word]) for word in words] or re.findall(
        r"(?<![\w.-])[+-]?\d[\d,]*(?:\.\d+)?(?![\dx]|\.\d)", claim.says
    )
    numbers = [one.rstrip(",") for one in found]
    assert len(numbers) == len(claim.figures), (claim.says, numbers)
    return [
        f"{at.name}: {claim.says}: {shown} is {computed(at)}"
        for shown, computed in zip(numbers, claim.figures, strict=True)
        if computed and not shown_as(shown, computed(at))
    ]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda one: f"{one.page}:{one.says[:40]}")
def test_a_figure_in_a_sentence_follows_from_those_beside_it(claim: Claim) -> None:
    """If this fails, a page says what its own table does not."""
    assert not wrong(claim, page(claim.page))


@pytest.mark.parametrize(
    ("name", "right", "planted"),
    [
        ("mqtt.md", "2.7 to 2.9 times", "2.7 to 2.8 times"),
        ("linux.md", "takes 11 times", "takes 12 times"),
        ("linux.md", "a ninth", "a tenth"),
        ("tz-m.md", "takes 3 to 26 %", "takes 10 to 25 %"),
        ("fastest-signature.md", "it is 3 % behind", "it is 2 % behind"),
    ],
)
def test_a_wrong_figure_is_seen(name: str, right: str, planted: str) -> None:
    """Also the sentence that the table has left behind."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert right in text
    bad = parsed(name, text.replace(right, planted))
    claims = [one for one in CLAIMS if one.page == name and right in one.says]
    assert claims
    for claim in claims:
        with pytest.raises(AssertionError, match="does not say"):
            wrong(claim, bad)
        told = Claim(name, claim.says.replace(right, planted), claim.figures)
        assert wrong(told, bad)


def unclaimed(at: Page) -> list[str]:
    """Every ratio in the sentences of a page that stands in no claim, with the words around it."""
    text = at.prose
    spans = [
        (start, start + len(one.says)) for one in CLAIMS if one.page == at.name and (start := text.find(one.says)) >= 0
    ]
    return [
        f"{at.name}: {text[max(0, one.start() - 40) : one.end() + 30].strip()}"
        for one in RATIO.finditer(text)
        if not any(start <= one.start() < end for start, end in spans)
    ]


def test_no_ratio_slips_in() -> None:
    """A new ratio in a sentence is claimed above, or listed with the others that nobody computes here."""
    listed = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    there = [words for path in sorted(DOCS.glob("*.md")) for words in unclaimed(page(path.name))]
    assert not sorted(set(there) - set(listed)), f"new ratios: claim them here, or list them in {LIST.name}"
    assert not sorted(set(listed) - set(there)), f"no longer in the pages, or claimed: take them out of {LIST.name}"


def test_a_new_ratio_is_seen() -> None:
    """In a sentence; code and tables are the reports' own."""
    other = "\n\n    4 times\n\n| 5 times |\n|---|\n| 6 times |\n\n"
    text = f"It is 3 times as fast.{other}It takes a third, or 7 % more, or twice it."
    assert len(unclaimed(parsed("new.md", text))) == 4


def errors_told(at: Page) -> list[tuple[str, float, str]]:
    """Rows of hardware and prediction with one error each: name, error in per cent by the figures, as it is shown."""
    found = []
    for table in at.tables:
        if not {"hardware", "predicted", "error"} <= set(table.columns):
            continue
        places = [table.columns.index(name) for name in ("hardware", "predicted", "error")]
        for cells in table.rows:
            hardware, predicted, shown = (cells[place].split(" %")[0].split() for place in places)
            # Thousands are too coarse for a tenth of a per cent.
            if len(hardware) == len(predicted) == len(shown) and not any("k" in one for one in hardware):
                found += [
                    (cells[0], 100 * (number(two) / number(one) - 1), three)
                    for one, two, three in zip(hardware, predicted, shown, strict=True)
                ]
    return found


@pytest.mark.parametrize("name", [path.name for path in sorted(DOCS.glob("*.md")) if errors_told(page(path.name))])
def test_an_error_in_a_table_follows_from_its_row(name: str) -> None:
    """Hardware, predicted, error: the last is computed of the other two, rounded to its digits."""
    rows = errors_told(page(name))
    assert [row for row in rows if not shown_as(row[2], row[1])] == []


def test_ratios_of_findings_follow_from_their_rows() -> None:
    """Before, after and after / before."""
    rows = [row for table in FINDINGS().tables if "after" in table.columns for row in table.rows]
    assert len(rows) > 15
    wrong_rows = [row for row in rows if row[-2] and not shown_as(row[-1], number(row[-2]) / number(row[-3]))]
    assert wrong_rows == []


def test_what_more_is_follows_from_its_row() -> None:
    """Of the gateway: behind it, less the direct call."""
    rows = [row for table in page("tz-m.md").tables if "more" in table.columns for row in table.rows]
    assert len(rows) >= 14
    for row in rows:
        assert number(row[2]) - number(row[1]) == number(row[3]), row
        assert number(row[5]) - number(row[4]) == number(row[6]), row
