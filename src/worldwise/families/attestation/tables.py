# SPDX-License-Identifier: BSD-2-Clause
"""Tables of attestation and of operations without their own tables: the price of the TEE, the gain of changes to
OP-TEE."""

from collections.abc import Iterable, Sequence

from worldwise.base.tables import Section, Table, count, ratio
from worldwise.families.attestation.answer import call_answer, change_answer, changes, tried_on
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.read.models import Factor, Reading, Row
from worldwise.report.counts import factor_section, label, shown_factors, shown_rows, tee_rows
from worldwise.report.tables import Answer, Group, Tables, Task


def attestation_sections(reading: Reading, full: bool = False) -> list[Section]:
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
        _call_section(tee_rows(reading)),
    ]
    return [part for part in parts if part]


def _price_section(rows: list[Row]) -> Section | None:
    medians = {(row.operation, row.measure, row.parameters, row.variant, row.place): row for row in rows}
    cells = []
    for row in rows:
        if row.place == "linux":
            key = (row.operation, row.measure, row.parameters, row.variant)
            inside, around = medians.get((*key, "ta")), medians.get((*key, "client"))
            if inside and around:
                cells.append(
                    [
                        label(row),
                        row.variant,
                        count(row.median),
                        count(inside.median),
                        ratio(inside.ratio_to_linux),
                        count(around.median),
                        ratio(around.ratio_to_linux),
                    ]
                )
    if not cells:
        return None
    headers = ["measure", "variant", "Linux\ninstr", "TA\ninstr", "TA /\nLinux"]
    headers += ["client\ninstr", "client /\nLinux"]
    return Section(
        "Price of the TEE: medians, and how many times the same in Linux user space",
        Table(headers, cells, 2),
        name="price",
    )


def _nist_section(factors: Sequence[Factor], rows: Iterable[Row]) -> Section | None:
    chosen = [factor for factor in factors if factor.kind == "nist-optim"]
    levels = {factor.optimisation for factor in chosen}
    section = factor_section(
        "What MBEDTLS_ECP_NIST_OPTIM gives: median without it / median with it",
        "nist-optim",
        chosen,
        {f"-{name}\nfactor": name for name in OPTIMISATIONS if name in levels},
        lambda factor: factor.optimisation,
    )
    if section:
        section.notes.extend(_published_nist_factors(rows))
    return section


def _published_nist_factors(rows: Iterable[Row]) -> list[str]:
    """The same factor from other people's figures, where they have both."""
    figures: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        for figure in row.published:
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
    cells = [
        [
            label(after),
            after.place,
            after.variant,
            count(before.median),
            count(after.median),
            f"{'-' if after.median < before.median else '+'}{count(abs(after.median - before.median))}",
            f"{after.median / before.median:.4f}",
        ]
        for before, after in changes(rows)
    ]
    if not cells:
        return None
    headers = [
        "measure",
        "place",
        "change",
        "before\ninstr",
        "after\ninstr",
        "after - before\ninstr",
        "after /\nbefore",
    ]
    title = "What changes to OP-TEE give: medians (docs/findings.md)"
    return Section(title, Table(headers, cells, 3), name="changes")


def _call_section(rows: Iterable[Row]) -> Section | None:
    """Calls without an algorithm: what each variant pays."""
    cells = [
        [label(row), row.variant, count(row.median), count(row.first), count(row.worst)]
        for row in rows
        if row.place == "client" and row.operation in _CALLS
    ]
    if not cells:
        return None
    headers = ["measure", "variant", "median\ninstr", "first\ninstr", "worst\ninstr"]
    title = "What a call costs before any algorithm runs, as the client sees it"
    return Section(title, Table(headers, cells, 2), name="calls-alone")


def _answers(reading: Reading) -> list[Answer]:
    rows = tee_rows(reading)
    calls = [row for row in rows if row.operation in _CALLS and not tried_on(row)]
    return [*change_answer(rows), *call_answer(reading, calls)]


def _task(row: Row) -> Task | None:
    if row.operation not in _BYTES or row.parameters or tried_on(row):
        return None
    return Task(row.measure, "secp256r1", _BYTES[row.operation])


# Bytes of what is signed; a key pair has none.
_BYTES = {"keygen": None, "attestdiv": 48, "attestquorum": 40}
_CALLS = ("empty-invoke", "session-open", "ta-load", "storage-create")
_OPERATIONS = {
    "keygen": "key generation",
    "attestdiv": "attestdiv, 48-byte input",
    "attestquorum": "attestquorum, 40-byte input",
    "empty-invoke": "empty invoke",
    "session-open": "session opening",
    "ta-load": "load of the TA",
    "storage-create": "a new object of 4 KiB in secure storage",
}
TABLES = Tables(groups=(Group(100, attestation_sections),), answers=_answers, task=_task, operations=_OPERATIONS)
