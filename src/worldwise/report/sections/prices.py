# SPDX-License-Identifier: BSD-2-Clause
"""The price of the TEE against Linux, and what options, levels and changes to OP-TEE give: for rows of all families."""

from collections.abc import Iterable, Sequence

from worldwise.base.tables import Section, count, factor, ratio
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.read.contests import matches
from worldwise.read.models import Factor, Reading, Row
from worldwise.report.sections.counts import factor_section, label, shown_factors, shown_rows, tee_rows
from worldwise.report.table_builder import answer, name, number, section
from worldwise.report.tables import Group, ScreenAnswer

_PLACE = "client"
Change = tuple[Row, Row]


def price_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The price of the TEE against Linux, and the gain of options, levels and changes, for operations without tables of
    their own.

    With `full`, for all operations.
    """
    rows, factors = shown_rows(reading, full), shown_factors(reading, full)
    parts = [
        _price_section(rows),
        _nist_section(factors, rows),
        _optimisation_section(factors),
        _change_section(tee_rows(reading)),
    ]
    return [part for part in parts if part]


def _price_section(rows: list[Row]) -> Section | None:
    known = {(row.operation, row.measure, row.parameters, row.variant, row.place): row for row in rows}

    def at(row: Row, place: str) -> Row | None:
        return known.get((row.operation, row.measure, row.parameters, row.variant, place))

    return section(
        "Price of the TEE: medians, and how many times the same in Linux user space",
        "price",
        [
            (row, inside, around)
            for row in rows
            if row.place == "linux" and (inside := at(row, "ta")) and (around := at(row, "client"))
        ],
        [
            name("measure", lambda three: label(three[0])),
            name("variant", lambda three: three[0].variant),
            number("Linux\ninstr", lambda three: count(three[0].median)),
            number("TA\ninstr", lambda three: count(three[1].median)),
            number("TA /\nLinux", lambda three: ratio(three[1].against.ratio_to_linux)),
            number("client\ninstr", lambda three: count(three[2].median)),
            number("client /\nLinux", lambda three: ratio(three[2].against.ratio_to_linux)),
        ],
    )


def _nist_section(factors: Sequence[Factor], rows: Iterable[Row]) -> Section | None:
    chosen = [factor for factor in factors if factor.kind == "nist-optim"]
    levels = {factor.optimisation for factor in chosen}
    found = factor_section(
        "What MBEDTLS_ECP_NIST_OPTIM gives: median without it / median with it",
        "nist-optim",
        chosen,
        {f"-{name}\nfactor": name for name in OPTIMISATIONS if name in levels},
        lambda factor: factor.optimisation,
    )
    if found:
        found.notes.extend(_published_nist_factors(rows))
    return found


def _published_nist_factors(rows: Iterable[Row]) -> list[str]:
    """The same factor from other people's figures, where they have both."""
    figures: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        for figure in row.against.published:
            figures.setdefault((label(row), row.place, figure.source), {})[row.implementation] = figure.instructions
    return [
        f"Published ({source}) for {label} at {place}: {both['mbedtls'] / both['mbedtls-nist']:.2f}."
        for (label, place, source), both in figures.items()
        if {"mbedtls", "mbedtls-nist"} <= both.keys()
    ]


def _optimisation_section(factors: Iterable[Factor]) -> Section | None:
    chosen = [factor for factor in factors if factor.kind == "optimisation"]
    present = {factor.implementation for factor in chosen}
    return factor_section(
        "What -O2 gives: median at -Os / median at -O2",
        "optimisation",
        chosen,
        {
            f"{name}\nfactor": name
            for name in dict.fromkeys([*IMPLEMENTATIONS, *sorted(present)])
            if name in present or not IMPLEMENTATIONS[name].tries
        },
        lambda factor: factor.implementation,
    )


def _change_section(rows: Iterable[Row]) -> Section | None:
    """The gain of each implementation that tries a change, beside the unchanged one."""
    return section(
        "What changes to OP-TEE give: medians (docs/results/findings.md)",
        "changes",
        changes(rows),
        [
            name("measure", lambda pair: label(pair[1])),
            name("place", lambda pair: pair[1].place),
            name("change", lambda pair: pair[1].variant),
            number("before\ninstr", lambda pair: count(pair[0].median)),
            number("after\ninstr", lambda pair: count(pair[1].median)),
            number("after - before\ninstr", _difference),
            number("after /\nbefore", lambda pair: f"{pair[1].median / pair[0].median:.4f}"),
        ],
    )


def _difference(pair: Change) -> str:
    before, after = pair
    sign = "-" if after.median < before.median else "+"
    return f"{sign}{count(abs(after.median - before.median))}"


def tried_on(row: Row) -> str:
    """The implementation from which that of a row differs by one change; empty if that row tries no change."""
    return IMPLEMENTATIONS[row.implementation].tries if row.implementation in IMPLEMENTATIONS else ""


def changes(rows: Iterable[Row]) -> list[Change]:
    """(unchanged, changed): the rows of each implementation that tries a change, beside the one that it tries it on.

    Both at one level, one measure and one place; in the order of `rows`.
    """
    listed = list(rows)
    known = {(row.case, row.measure, row.place): row for row in listed}
    found = []
    for row in listed:
        base = tried_on(row)
        case = row.case.replace(f"/{row.variant}/", f"/{base}-{row.optimisation}/")
        before = known.get((case, row.measure, row.place)) if base else None
        if before and before.median:
            found.append((before, row))
    return found


def answers(reading: Reading) -> list[ScreenAnswer]:
    """What each change saves its caller: of each measure that with which it costs least; nothing if the run tries none.

    The best changes of all measures are the most important lines, then the others.
    """
    before = {(after.case, after.measure, after.place): base for base, after in changes(tee_rows(reading))}

    def base_of(row: Row) -> Row:
        return before[row.case, row.measure, row.place]

    tried = [
        row
        for row in tee_rows(reading)
        if (row.case, row.measure, row.place) in before and row.place in (_PLACE, "linux")
    ]
    ranked = [
        (match, row) for match in matches(tried, apart=lambda row: base_of(row).variant) for row in match.ranked()
    ]
    return answer(
        "What changes to OP-TEE give: medians",
        [row for _, row in ranked],
        [
            name("measure", _measure),
            name("place", lambda row: row.place),
            name("before", lambda row: base_of(row).variant),
            name("after: with the change", lambda row: row.variant),
            number("after\ninstr", lambda row: count(row.median)),
            number("after /\nbefore", lambda row: factor(row.median / base_of(row).median)),
        ],
        ("changes",),
        rows=tried,
        tiers=[(row.place != _PLACE, row not in match.least()) for match, row in ranked],
        rank=10,
    )


def _measure(row: Row) -> str:
    return label(row)


GROUP = Group(100, price_sections)
