# SPDX-License-Identifier: BSD-2-Clause
"""Claims: what the figures in the pages' sentences are computed of.

docs/figures/claims/PAGE.txt has those of a page:

    let NAME = FORMULA                       a formula that others name
    @ WORDS :: COLUMN = FORMULA              a column of the tables near these words, line by line: x("other column")
    part of a sentence with {FORMULA} in it  a figure of the page stands there, and is what the formula gives

`{< F}`, `{<= F}` and `{> F}` stand for a figure that F is below, at most, and above; `{~ F}` for one that F is near, by
a tenth of it. A claim has no number of its own: if figures move and the sentence with them, the claim stays as it is.
A claim may go over lines; an empty line ends it. docs/figures/uncomputed.txt lists what no formula can give, and why.
"""

import functools
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import doc_pages
from doc_formulas import Formulas, NotKept, Unfound
from doc_pages import Block, Page, Pages

CLAIMS = doc_pages.DOCS / "figures" / "claims"
UNCOMPUTED = doc_pages.DOCS / "figures" / "uncomputed.txt"

_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty")
_FRACTIONS = {
    **{word: number for number, word in enumerate(("half", "third", "quarter", "fifth", "sixth"), 2)},
    **{word: number for number, word in enumerate(("seventh", "eighth", "ninth", "tenth"), 7)},
    "hundredth": 100,
}
_COUNTS = {
    **{word: number for number, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight"), 1)},
    **{word: number for number, word in enumerate(("nine", "ten", "eleven", "twelve", "thirteen", "fourteen"), 9)},
    **dict.fromkeys(("a", "an"), 1),
    **dict(zip(("fifteen", "sixteen", "seventeen", "eighteen"), range(15, 19), strict=True)),
    **dict(zip(_TENS, range(20, 90, 10), strict=True)),
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_SOME = "|".join(sorted(_COUNTS, key=len, reverse=True))
_PARTS = "|".join(_FRACTIONS)
_DIGITS = r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?"
_WORDS = (
    rf"\b(?:{_SOME}) (?:{_PARTS})s?\b|\b(?:{_SOME}) (?:hundred|thousand)(?: thousand)?\b"
    rf"|\b(?:half|twice|once|doubles?|{_SOME})\b"
)
_FIGURE = rf"(?:{_DIGITS}|(?i:{_WORDS}))"

# A ratio, share or count in a sentence: per cent, times, parts, and figures in thousands and more. A number of one
# digit and zeros, or a power of two, is a setting; `twice` and `half` are ratios only before what they are of.
RATIO = re.compile(
    r"(?<![\w.,])(?!9[059] % (?:within|of)\b|9[059] %:|99 % to\b)(?:\d[\d.,]* to )?\d[\d.,]* (?:%|times\b)"
    r"|\bfactor of \d[\d.]*"
    rf"|\b(?:[Aa]|an|one|two|three|four|five|six|seven) (?:{_PARTS.replace('half|', '')})s?\b"
    r"|(?<!middle )(?<!second )\bhalf (?:of|the|as|to|that|is)\b|\bcosts half\b"
    r"|\btwice (?:as|the|what|that|to)\b|\bcosts twice\b|\bdoubles?\b(?= the)"
    rf"|\b(?:{_SOME}|hundred) times\b"
    r"|(?<![\w.,/-])(?!\d0*(?:,000)+(?![\d,]))(?!1,024\b|4,096\b|16,384\b|16,777,216\b)"
    r"\d[\d,]*,\d{3}(?:\.\d+)?(?![\d-])|\b\d[\d.]* million\b"
)
# So a figure is told that need not be exact.
_ABOUT = re.compile(r"(?:about|some|nearly|almost|around|roughly|up to|most|over|a good)\s+$", re.IGNORECASE)


def figure(text: str) -> tuple[float, bool]:
    """What a figure of a sentence says, and whether it is in words, so that a tenth more or less is the same."""
    if re.fullmatch(_DIGITS, text):
        return float(text.rstrip(",").replace(",", "")), False
    words = text.lower().split()
    if words[-1] in {"twice", "double", "doubles"}:
        return 2.0, True
    if words == ["half"]:
        return 0.5, True
    if words == ["once"]:
        return 1.0, True
    part = words[-1].removesuffix("s")
    if part in _FRACTIONS:
        return _COUNTS[words[0]] / _FRACTIONS[part], True
    value = float(_COUNTS[words[0]])
    for word in words[1:]:
        value *= _SCALES[word]
    return value, True


def shown_as(text: str, value: float, about: bool = False) -> bool:
    """Whether a figure is written so: rounded to its last digit, zeros at its end being no digits."""
    said, words = figure(text)
    if words:
        return abs(said - value) <= 0.1 * said * (1 + 1e-9)
    plain = text.rstrip(",").replace(",", "")
    decimals = len(plain.partition(".")[2])
    step = 10.0**-decimals
    if not decimals and (abs(said) >= 1000 or about):
        step = 10.0 ** (len(plain) - len(plain.rstrip("0")))
    return abs(said - value) <= step / 2 * (1 + 1e-9)


@dataclass(frozen=True)
class Figure:
    """A figure of a claim: how its formula binds it (empty, `<`, `<=`, `>`, `~`), and the formula."""

    bound: str
    formula: str

    def holds(self, text: str, value: float, about: bool) -> bool:
        """Whether the figure that stands in the page is what the formula gives."""
        said, _ = figure(text)
        if self.bound == "<":
            return value < said
        if self.bound == "<=":
            return value <= said or shown_as(text, value, about)
        if self.bound == ">":
            return value > said
        if self.bound == "~":
            return abs(said - value) <= 0.1 * abs(said)
        return shown_as(text, value, about)


@dataclass(frozen=True)
class Claim:
    """A part of a sentence: literal words, and the figures between them."""

    page: str
    line: int
    words: tuple[str, ...]
    figures: tuple[Figure, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """What finds it in a page's prose."""
        return _pattern(self.words)

    def __str__(self) -> str:
        return "#".join(self.words)


@functools.cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"({_FIGURE})".join(re.escape(one) for one in words))


@dataclass(frozen=True)
class Column:
    """A column whose figures follow from others of the same line."""

    page: str
    near: str
    column: str
    formula: str


@dataclass(frozen=True)
class Claims:
    """What is claimed of a page."""

    page: str
    lets: dict[str, str]
    claims: tuple[Claim, ...]
    columns: tuple[Column, ...]


@functools.cache
def claims_of(name: str) -> Claims:
    """Those of a page; none if it has no file."""
    path = CLAIMS / f"{name.removesuffix('.md')}.txt"
    return read_claims(name, path.read_text(encoding="utf-8") if path.is_file() else "")


def read_claims(name: str, text: str) -> Claims:
    """The claims of a file. Raises ValueError naming the line that is none."""
    lets: dict[str, str] = {}
    claims: list[Claim] = []
    columns: list[Column] = []
    for line, piece in _paragraphs(text):
        if piece.startswith("let "):
            key, _, formula = piece.removeprefix("let ").partition(" = ")
            lets[key.strip()] = formula
        elif piece.startswith("@ "):
            near, _, rest = piece.removeprefix("@ ").partition(" :: ")
            column, equals, formula = rest.partition(" = ")
            if not equals:
                raise ValueError(f"{name}, line {line} of its claims: WORDS :: COLUMN = FORMULA is wanted")
            columns.append(Column(name, near.strip(), column.strip(), formula))
        else:
            parts = re.split(r"\{(<=|<|>|~)?\s*(.*?)\}", piece)
            figures = tuple(Figure(*one) for one in zip((part or "" for part in parts[1::3]), parts[2::3], strict=True))
            if not figures:
                raise ValueError(f"{name}, line {line} of its claims: no {{FORMULA}} in '{piece}'")
            claims.append(Claim(name, line, tuple(parts[::3]), figures))
    return Claims(name, lets, tuple(claims), tuple(columns))


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Pieces with the line that they begin at. Lines that begin with `let`, `@` or `#` are pieces of their own."""
    held: list[str] = []
    begin = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = " ".join(line.split())
        alone = line.startswith(("let ", "@ ", "# "))
        if held and (not line or alone):
            yield begin, " ".join(held)
            held = []
        if alone and not line.startswith("# "):
            yield number, line
        elif line and not alone:
            begin = begin if held else number
            held.append(line)


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a place in a page's prose."""
    first = max((one.end() for one in re.finditer(r"[.:;] (?=[A-Z*`(#-])| (?=#{1,6} )", text[:start])), default=0)
    last = re.search(r"[.:;](?= |$)", text[end:])
    return text[first : end + last.end() if last else len(text)].lstrip("#- ").strip()


def wrong(claims: Claims, at: Page, pages: Pages = doc_pages.page) -> list[str]:
    """What the sentences and tables of a page say that does not follow from its claims; a line for each."""
    formulas = Formulas(at, pages, claims.lets)
    found = [problem for claim in claims.claims for problem in _wrong_claim(claim, at, formulas)]
    return found + [problem for column in claims.columns for problem in _wrong_column(column, at, formulas)]


def _wrong_claim(claim: Claim, at: Page, formulas: Formulas) -> Iterable[str]:
    matches = list(claim.pattern.finditer(at.prose))
    if len(matches) != 1:
        yield (
            f"{doc_pages.path_of(at.name)}: '{claim}' (# is a figure; line {claim.line} of docs/figures/claims) "
            f"stands there {len(matches)} times, not once: change the claim with the sentence, or take it out"
        )
        return
    match = matches[0]
    where = f"{doc_pages.path_of(at.name)}, line {at.line_at(match.start())}"
    sentence = _sentence(at.prose, match.start(), match.end())
    for number, one in enumerate(claim.figures, 1):
        shown = match[number]
        about = bool(_ABOUT.search(at.prose[: match.start(number)]))
        try:
            value = formulas.value(one.formula)
        except NotKept:
            continue
        except Unfound as error:
            yield f"{where}: '{sentence}' has '{shown}', which cannot be computed: {error}"
            continue
        if not one.holds(shown, value, about):
            bound = {"": "gives", "~": "is near", "<": "must be less, and is", "<=": "must be no more, and is"}
            yield (
                f"{where}: '{sentence}' says '{shown}'; {one.formula} "
                f"{bound.get(one.bound, 'must be more, and is')} {told(value)} today"
            )


def told(value: float) -> str:
    """A computed figure, with as many digits as anybody reads."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _columns(block: Block) -> list[str]:
    """The heads of a table, the second of a head as `head#2`."""
    seen: dict[str, int] = {}
    names = []
    for head in block.columns:
        seen[head] = seen.get(head, 0) + 1
        names.append(head if seen[head] == 1 else f"{head}#{seen[head]}")
    return names


def _wrong_column(column: Column, at: Page, formulas: Formulas) -> Iterable[str]:
    tables = [one for one in at.tables if one.match(column.near) and one.place(column.column) is not None]
    if not tables:
        yield f"{doc_pages.path_of(at.name)}: no table near '{column.near}' has a column '{column.column}'"
    judged = 0
    for block in tables:
        names = _columns(block)
        place = block.place(column.column)
        assert place is not None
        for number, row in enumerate(block.rows[1:]):
            shown = doc_pages.NUMBER.search(row[place]) if place < len(row) else None
            if shown is None:
                continue
            # A figure is known to half of its last digit.
            figures = {
                name: (doc_pages.numbers(cell)[0], _half(cell))
                for name, cell in zip(names, row, strict=False)
                if doc_pages.numbers(cell)
            }
            try:
                low, high = _between(formulas, column.formula, figures)
            except Unfound:
                continue
            judged += 1
            said, step = doc_pages.numbers(row[place])[0], _half(row[place])
            if not low - step * (1 + 1e-9) <= said <= high + step * (1 + 1e-9):
                yield (
                    f"{doc_pages.path_of(at.name)}, line {block.line + number + 2}: column '{column.column}' says "
                    f"'{shown[0]}'; {column.formula} gives {told((low + high) / 2)} today"
                )
    if tables and not judged:
        yield f"{doc_pages.path_of(at.name)}: column '{column.column}' near '{column.near}': nothing can be computed"


def _half(cell: str) -> float:
    """Half of the last digit of a cell's figure."""
    match = doc_pages.NUMBER.search(cell)
    assert match
    return 0.5 * 10.0 ** -len(match[0].rstrip(",").partition(".")[2])


def _between(formulas: Formulas, formula: str, figures: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """What a formula gives at least and at most, each figure being known to half of its last digit."""
    middle = {name: value for name, (value, _) in figures.items()}
    values = [formulas.value(formula, middle)]
    # A sum of whole figures is as exact as they are.
    exact = not re.search(r"[/*]", re.sub(r'"[^"]*"', "", formula))
    for name, (value, half) in figures.items():
        if not exact or half < 0.5:
            values += [formulas.value(formula, middle | {name: value + sign * half}) for sign in (-1, 1)]
    return values[0] - sum(_less(values)), values[0] + sum(_less(values))


def _less(values: Sequence[float]) -> list[float]:
    """How far each figure's half digit moves the result."""
    return [
        max(abs(one - values[0]), abs(two - values[0])) for one, two in zip(values[1::2], values[2::2], strict=True)
    ]


def counted(name: str) -> tuple[int, int]:
    """How many figures of a page's sentences are computed, and how many of them wait for a run to be kept."""
    claims, waiting = claims_of(name), 0
    formulas = Formulas(doc_pages.page(name), lets=claims.lets)
    for claim in claims.claims:
        for one in claim.figures:
            try:
                formulas.value(one.formula)
            except NotKept:
                waiting += 1
            except Unfound:
                pass
    return sum(len(claim.figures) for claim in claims.claims) - waiting, waiting


def _in_blocks(at: Page) -> frozenset[float]:
    """Every figure of thousands and more in the blocks of a page, and of the pages that its sentences name."""
    named = {name for name in re.findall(r"\]\((?:[\w./-]+/)?([\w-]+\.md)", at.text) if name in doc_pages.names()}
    return _of_blocks(at).union(*map(_of_page, named))


def _of_blocks(page: Page) -> frozenset[float]:
    found = (figure for block in page.blocks for line in block.lines for figure in doc_pages.numbers(line))
    return frozenset(figure for figure in found if figure >= 1000)


@functools.cache
def _of_page(name: str) -> frozenset[float]:
    return _of_blocks(doc_pages.page(name))


def quoted(text: str, there: Container[float]) -> bool:
    """Whether a figure, with all its digits, is one of those in the blocks: where a block moves it must move, too."""
    exact = re.fullmatch(r"[\d,]+(?:\.\d)?", text) and len(text.rstrip("0,")) > 3
    return bool(exact) and figure(text)[0] in there


def _open(claims: Claims, at: Page) -> list[tuple[int, int]]:
    """Where in a page's prose figures stand that no claim has."""
    spans = [match.span() for claim in claims.claims for match in claim.pattern.finditer(at.prose)]
    there = _in_blocks(at)
    return [
        one.span()
        for one in RATIO.finditer(at.prose)
        if not any(start <= one.start() < end for start, end in spans) and not quoted(one[0], there)
    ]


def unclaimed(claims: Claims, at: Page) -> list[tuple[int, str, str]]:
    """Each ratio, share, sum or difference in a page's sentences that no claim has: line, figure, words around."""
    return [
        (at.line_at(start), at.prose[start:end], at.prose[max(0, start - 40) : end + 30].strip())
        for start, end in _open(claims, at)
    ]


@dataclass(frozen=True)
class Listed:
    """A figure that no formula gives: its page, the words around it, and why."""

    page: str
    words: str
    why: str


# What is no figure is listed below this: words that could be one.
NO_FIGURE = "no figure"


def read_listed(text: str) -> list[Listed]:
    """docs/figures/uncomputed.txt: `== why`, and below it `PAGE: words`, a line for each figure."""
    found, why = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("== "):
            why = line.removeprefix("== ").strip()
        elif line.strip() and not line.startswith("#"):
            page, colon, words = line.partition(": ")
            if not colon or not why:
                raise ValueError(f"docs/figures/uncomputed.txt, line {number}: PAGE: WORDS below == WHY is wanted")
            found.append(Listed(page, words.strip(), why))
    return found


def unlisted(claims: Claims, at: Page, listed: Iterable[Listed]) -> tuple[list[str], list[Listed]]:
    """Figures of a page that neither a claim nor the list has, and entries of the list that name nothing there.

    An entry is for each figure within its words.
    """
    own = [one for one in listed if one.page == at.name]
    spans = {one: [match.span() for match in re.finditer(re.escape(one.words), at.prose)] for one in own}
    used: set[Listed] = set()
    problems = []
    for start, end in _open(claims, at):
        inside = [one for one in own if any(first <= start and end <= last for first, last in spans[one])]
        used.update(inside)
        if not inside:
            problems.append(
                f"{doc_pages.path_of(at.name)}, line {at.line_at(start)}: '{at.prose[start:end]}' in "
                f"'{_sentence(at.prose, start, end)}': claim what it is computed of in docs/figures/claims"
            )
    return problems, [one for one in own if one not in used]
