# SPDX-License-Identifier: BSD-2-Clause
"""Tables for every operation: medians, time, published figures, and how to read them."""

from collections.abc import Callable, Iterable, Mapping

from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table, count, factor, ratio, section_name, spread, whole
from worldwise.plan.catalogue import family_of, takes_portables
from worldwise.read.models import CLOCKS, Factor, Reading, Row
from worldwise.read.rows import in_reading_order
from worldwise.report.sections.units import unit_note
from worldwise.report.tables import Group, Tables, declared_tables, operation_name, tables_of


def tee_rows(reading: Reading) -> list[Row]:
    """The rows of the TEE and of its Linux, in reading order. Boards and plain Linux have tables of their own."""
    return in_reading_order(row for row in reading.rows if not takes_portables(row.target))


def shown_rows(reading: Reading, full: bool) -> list[Row]:
    """The `tee_rows` of the general tables: unless `full`, without the families that have tables of their own."""
    rows = tee_rows(reading)
    if full:
        return rows
    # A case that hashes has five rows for each of many sizes.
    return [row for row in rows if row.size is None and row.operation not in tables_of(row).own]


def shown_factors(reading: Reading, full: bool) -> list[Factor]:
    """The factors that the general tables show: none of boards, and unless `full` none of hashing."""
    return [
        factor for factor in reading.factors if factor.place != "mcu" and (full or "size=" not in factor.parameters)
    ]


def _medians(reading: Reading, full: bool) -> list[Section]:
    return list(count_sections(shown_rows(reading, full)))


def _times(reading: Reading, full: bool) -> list[Section]:
    rows = tee_rows(reading)
    parts = [
        _time_section(shown_rows(reading, full), reading, full),
        _published_section(rows, reading),
        _legend_section(rows),
    ]
    return [part for part in parts if part]


def count_sections(rows: list[Row]) -> Iterable[Section]:
    """A section for each operation, measure and parameters, with each place's counts."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.operation, row.measure, row.parameters), []).append(row)
    for (operation, measure, parameters), group in groups.items():
        sizes = {(row.counts.n, row.counts.warmup) for row in group}
        headers = ["variant", "place", "first call\ninstr", "first /\nmedian"]
        headers += [f"{name}\ninstr" for name in ("median", "mean", "stdev", "min", "max")]
        if len(sizes) > 1:
            headers.insert(2, "n")
        cells = []
        for row in group:
            # A hit of the key cache has nothing in storage.
            times = factor(row.counts.first / row.median) if row.median else "-"
            line = [row.variant, row.place, count(row.counts.first), times]
            line += [
                count(row.median),
                whole(row.counts.mean),
                spread(row.counts.stdev),
                count(row.counts.min),
                count(row.counts.max),
            ]
            if len(sizes) > 1:
                line.insert(2, count(row.counts.n))
            cells.append(line)
        words = operation_name(group[0])
        title = f"{measure}: {words}" if measure != operation else words
        if parameters:
            title += f", {parameters.replace(',', ', ')}"
        if len(sizes) == 1:
            n, warmup = sizes.pop()
            title += f" (n = {n:,} after 1 first call and {warmup:,} warm-up)"
        name = section_name(*dict.fromkeys((measure, operation)), parameters)
        yield Section(title, Table(headers, cells, 2), name=name)


def _time_section(rows: list[Row], reading: Reading, full: bool) -> Section | None:
    waiting = [row for row in rows if row.place == "client"]
    shown = [row for row in (rows if full or not waiting else waiting) if row.against.microseconds]
    if not shown:
        return None
    headers = ["measure", "variant", "place", *(f"{clock} GHz\nus" for clock in CLOCKS)]
    cells = [
        [label(row), row.variant, row.place, *(f"{value:,.0f}" for value in row.against.microseconds.values())]
        for row in shown
    ]
    return Section(
        "Time if a core finished one instruction per cycle", Table(headers, cells, 3), [reading.assumption], "time"
    )


def _published_section(rows: list[Row], reading: Reading) -> Section | None:
    cells = []
    notes: dict[str, None] = {}
    for row in rows:
        for each in row.against.published:
            published = f"{each.value:,.0f} {each.unit}"
            cells.append(
                [
                    label(row),
                    row.variant,
                    each.statistic,
                    whole(row.counts.mean),
                    whole(each.instructions),
                    published,
                    factor(each.ratio),
                ]
            )
            notes[f"{each.source}, {published}: {each.conditions} ({each.note})."] = None
    if not cells:
        return None
    headers = ["measure", "variant", "statistic", "ours, mean\ninstr"]
    headers += ["published\ninstr", "as\npublished", "ours /\npublished"]
    return Section(
        "Published figures beside ours, inside the TA",
        Table(headers, cells, 3),
        [*notes, reading.published_reason],
        "published",
    )


def _legend_section(rows: list[Row]) -> Section | None:
    if not rows:
        return None
    includes: dict[str, list[str]] = {}
    for row in rows:
        names = includes.setdefault(f"at {row.place}: {row.counts.includes}.", [])
        if row.measure not in names:
            names.append(row.measure)
    return Section(
        "How to read this",
        None,
        [
            unit_note(
                "instr: instructions, counted exactly; the same lock gives the same digits on every machine. "
                "The cost of measuring is itself measured and subtracted.",
                " Where interrupts are on, they count.",
            ),
            "first call: the cold one, in no statistic. median to max: of the n samples after the "
            "warm-up; stdev: of the sample (n - 1). The mean is rounded here; JSON and CSV have all digits.",
            "variant: crypto library and compiler optimisation; mbedtls-nist is mbed TLS with "
            "MBEDTLS_ECP_NIST_OPTIM, -ce is OP-TEE with the Armv8 Cryptographic Extension. place: where the "
            "measure stands.",
            *(note for tables, own in _by_tables(rows) for note in tables.legend(own)),
            *(Prose(f"{', '.join(names)} {text}") for text, names in includes.items()),
        ],
        "legend",
    )


def _by_tables(rows: Iterable[Row]) -> list[tuple[Tables, list[Row]]]:
    """The tables of each family that any of the rows are of, and these rows; in the order of the families."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(family_of(row), []).append(row)
    return [(declared_tables()[family], found[family]) for family in declared_tables() if family in found]


def factor_section(
    title: str, name: str, factors: list[Factor], columns: Mapping[str, str], column_of: Callable[[Factor], str]
) -> Section | None:
    """Factors by measure and place, in `columns` (header -> what `column_of` gives); None if there are none."""
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for one in factors:
        lines.setdefault((label(one), one.place), {})[column_of(one)] = one.value
    if not lines:
        return None
    cells = [
        [label, place, *(ratio(values.get(name)) for name in columns.values())]
        for (label, place), values in lines.items()
    ]
    return Section(title, Table(["measure", "place", *columns], cells, 2), name=name)


def label(item: Row | Factor) -> str:
    """The operation of a row or factor, with its parameters: `attestdiv sign`, `keygen`."""
    words = item.operation if item.operation == item.measure else f"{item.operation} {item.measure}"
    return f"{words} {item.parameters}" if item.parameters else words


def row_text(row: Row) -> str:
    """A row in a sentence, with all that tells it from others: variant, operation, size, board or system, place."""
    where = row.board or ("" if row.target == "optee" else f"{row.target}{f' {row.core}' if row.core else ''}")
    at = "" if row.place in ("mcu", row.target) else f" at {row.place}"
    return f"{row.variant}, {label(row).replace(',', ', ')}{f' on {where}' if where else ''}{at}"


# Between these stand the tables of the TEE's cost; below them the tables of single families.
GROUPS = (Group(0, _medians), Group(300, _times))
