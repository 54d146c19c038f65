# SPDX-License-Identifier: BSD-2-Clause
"""Reports: one reading, shown as tables in a terminal or written as JSON, CSV or Markdown."""

import textwrap
from collections.abc import Callable, Iterable, Mapping

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from worldwise.base.outgoing import Prose, csv_text, json_text, markdown, markdown_heading, markdown_paragraph, visible
from worldwise.base.tables import Section, Table
from worldwise.base.tables import count as _count
from worldwise.base.tables import factor as _factor
from worldwise.base.tables import ratio as _ratio
from worldwise.base.tables import spread as _spread
from worldwise.base.tables import whole as _whole
from worldwise.base.units import size_text
from worldwise.families.abuse.tables import abuse_sections
from worldwise.families.aes.tables import aes_sections, plain_aes_sections
from worldwise.families.calls.tables import calls_sections
from worldwise.families.crypto.tables import crypto_columns, crypto_sections
from worldwise.families.echo.tables import echo_sections
from worldwise.families.faults.tables import faults_sections
from worldwise.families.hardclock.tables import armv7_sections
from worldwise.families.keycache.hold_tables import keycache_hold_sections
from worldwise.families.keycache.load_tables import keycache_load_sections
from worldwise.families.keycache.tables import keycache_sections
from worldwise.families.portable.boards import board_columns, board_sections
from worldwise.families.portable.linux import linux_columns, linux_sections
from worldwise.families.portable.options import options_sections
from worldwise.families.sha256.cost import Fit, HashCost, throughput
from worldwise.families.storage.tables import storage_sections
from worldwise.libraries.implementation import IMPLEMENTATIONS as IMPLEMENTATION_TABLE
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.plan.catalogue import IMPLEMENTATIONS, takes_portables
from worldwise.read.lens import CLOCKS, Factor, Reading, Row, in_reading_order
from worldwise.report import tracking

PROSE_WIDTH = 100
_ANY_WIDTH = 10_000

_OPERATIONS = {
    "keygen": "key generation",
    "attestdiv": "attestdiv, 48-byte input",
    "attestquorum": "attestquorum, 40-byte input",
    "empty-invoke": "empty invoke",
    "session-open": "session opening",
    "ta-load": "load of the TA",
    "sha256": "SHA-256",
    "sha256sum": "sha256sum",
    "storage-create": "a new object of 4 KiB in secure storage",
    "hello": "a value incremented in the TA",
    "aes": "AES",
    "payload": "a payload in shared memory",
    "call": "a command that does nothing",
    "storage": "an object in secure storage",
    "file": "a plain file",
    "sign": "signature",
    "verify": "verification",
    "ecdh": "shared secret",
    "digest": "SHA-256",
    "echo": "a message echoed",
    "keycache": "a request to the key cache",
    "keycache-load": "requests of redis-benchmark to the key cache",
    "keycache-zipf": "requests of many clients to the key cache",
}
# Operations whose figures stand in tables of their own, each with its module.
_OWN_TABLES = (
    *("aes", "payload", "call", "storage", "file", "sign", "verify", "ecdh", "digest", "echo"),
    *("keycache", "keycache-load", "keycache-zipf"),
)
_STYLES = {"fits": "green", "EXCEEDS": "bold red"}

# A header rule and spaces: reads the same in a log, a pipe and a mail.
_ASCII_BOX = Box("    \n    \n -- \n    \n    \n -- \n    \n    \n", ascii=True)


def sections(reading: Reading, full: bool = False) -> list[Section]:
    """The parts of a report, in order.

    Unless `full`, times are shown only for what a caller waits for, and of hashing only what its own tables say.
    """
    # Boards and plain Linux have tables of their own, which say more: what a TEE's tables compare, they have not.
    rows = in_reading_order(row for row in reading.rows if not takes_portables(row.target))
    # A case that hashes has five rows for each of many sizes; an app has tables of its own.
    shown = rows if full else [row for row in rows if row.size is None and not _has_own_tables(row)]
    factors = [
        factor for factor in reading.factors if factor.place != "mcu" and (full or "size=" not in factor.parameters)
    ]
    parts = [
        *_count_sections(shown),
        _price_section(shown),
        _nist_section(factors, shown),
        _optimisation_section(factors),
        _change_section(rows),
        *_hash_cost_sections(reading),
        _hash_compare_section(reading),
        _hash_pieces_section(reading),
        _hash_extension_section(reading),
        _hash_fit_section(reading, full),
        _hash_published_section(reading),
        _time_section(shown, reading, full),
        _published_section(rows, reading),
        _legend_section(rows),
        *aes_sections(reading, full),
        *calls_sections(reading, full),
        *crypto_sections(reading, full),
        *abuse_sections(reading, full),
        *echo_sections(reading, full),
        *keycache_sections(reading),
        *keycache_load_sections(reading),
        *keycache_hold_sections(reading, full),
        *storage_sections(reading, full),
        *faults_sections(reading, full),
        *board_sections(reading, full),
        *armv7_sections(reading, full),
        *linux_sections(reading, full),
        *plain_aes_sections(reading, full),
        *options_sections(reading, full),
        _failure_section(reading),
        _budget_section(rows, reading),
    ]
    return [part for part in parts if part]


def _has_own_tables(row: Row) -> bool:
    return row.operation in _OWN_TABLES


def render(reading: Reading, console: Console, full: bool = False) -> None:
    """Prints the report. Nothing is cut off: a table wider than the console is printed as wide as it is."""
    _print_prose(console, _heading(reading), "bold")
    _print_prose(console, _provenance(reading))
    for section in sections(reading, full):
        console.print()
        print_section(section, console)


def print_section(section: Section, console: Console) -> None:
    """Prints one part of a report."""
    _print_prose(console, section.title, "bold")
    if section.table:
        _print_table(console, section.table)
    for note in section.notes:
        _print_prose(console, note)


def to_json(reading: Reading) -> str:
    """The whole reading as JSON, with a format number; counts in full precision."""
    return json_text(reading.model_dump_json(indent=2)) + "\n"


def to_csv(reading: Reading) -> str:
    """One line per row of the reading, units in the headers; several published figures are joined by `;`.

    See `csv_text` for text that a spreadsheet would take for a formula.
    """
    columns: Mapping[str, Callable[[Row], object]] = {
        "run": lambda _: reading.run.id,
        "case": lambda row: row.case,
        "target": lambda row: row.target,
        "variant": lambda row: row.variant,
        "operation": lambda row: row.operation,
        "parameters": lambda row: row.parameters,
        "size_bytes": lambda row: row.size,
        "chunk_bytes": lambda row: row.chunk,
        "calls": lambda row: row.calls,
        "measure": lambda row: row.measure,
        "place": lambda row: row.place,
        "n": lambda row: row.n,
        "warmup": lambda row: row.warmup,
        "first_instructions": lambda row: row.first,
        "median_instructions": lambda row: row.median,
        "mean_instructions": lambda row: row.mean,
        "stdev_instructions": lambda row: row.stdev,
        "min_instructions": lambda row: row.min,
        "max_instructions": lambda row: row.max,
        "worst_instructions": lambda row: row.worst,
        "ratio_to_linux": lambda row: row.ratio_to_linux,
        **{f"assumed_us_at_{clock}_GHz": _time_column(f"{clock} GHz") for clock in CLOCKS},
        "published_instructions": lambda row: ";".join(f"{each.instructions:.0f}" for each in row.published),
        "ratio_to_published": lambda row: ";".join(str(each.ratio) for each in row.published),
        "budget_instructions": lambda row: row.verdict.limit if row.verdict else None,
        "fits_budget": lambda row: str(row.verdict.fits).lower() if row.verdict else None,
        **{f"{part}_instructions": _part_column(reading, part) for part in _PARTS},
        "sha256sum_instructions": _part_column(reading, "sha256sum"),
        "megabytes_per_second": _throughput_column(reading),
        "fit_fixed_instructions": _fit_column(reading, lambda fit, _: fit.fixed),
        "fit_instructions_per_byte": _fit_column(reading, lambda fit, _: fit.per_byte),
        "fit_residual_instructions": _fit_column(reading, lambda fit, size: fit.residuals[size]),
        **board_columns(reading),
        **crypto_columns(reading),
        **linux_columns(reading),
        "includes": lambda row: row.includes,
    }
    rows = ([value(row) for value in columns.values()] for row in in_reading_order(reading.rows))
    return csv_text([[*columns], *rows])


def to_markdown(reading: Reading) -> str:
    """The full report as Markdown, with the same numbers as in the terminal."""
    lines = [f"# {markdown_heading(_heading(reading))}", "", markdown_paragraph(_provenance(reading))]
    for section in sections(reading, full=True):
        lines += ["", *section_lines(section)]
    return "\n".join(lines) + "\n"


def section_lines(section: Section) -> list[str]:
    """The lines of one part of a report, as Markdown."""
    lines = [f"## {markdown_heading(section.title)}"]
    if section.table:
        lines += ["", *_markdown_table(section.table)]
    for note in section.notes:
        lines += ["", markdown_paragraph(note)]
    return lines


def to_github_action_benchmark(reading: Reading) -> str:
    """The medians, and bytes of memory, as github-action-benchmark reads them (`customSmallerIsBetter`)."""
    return tracking.to_github_action_benchmark(_figures(reading))


def to_bencher(reading: Reading) -> str:
    """The medians, and bytes of memory, in Bencher Metric Format."""
    return tracking.to_bencher(_figures(reading))


EXPORTERS: Mapping[str, Callable[[Reading], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "github-action-benchmark": to_github_action_benchmark,
    "bencher": to_bencher,
}


def _figures(reading: Reading) -> Iterable[tracking.Figure]:
    """Every row under the name that `worldwise compare` gives it."""
    for row in in_reading_order(reading.rows):
        name = f"{row.case} {row.measure} {row.place}"
        yield tracking.Figure(name, "instructions", row.median, row.min, row.max, f"n = {row.n}; {row.includes}")
        for part in ("stack", "heap", "flash", "ram"):
            value = getattr(row, part)
            if value is not None:
                yield tracking.Figure(name, f"{part}-bytes", value)


def _heading(reading: Reading) -> str:
    return f"{reading.run.title} (run {reading.run.id}, {reading.run.state})"


def _provenance(reading: Reading) -> str:
    run = reading.run
    lab = f"lab {run.lab[:16]}" if run.lab else "no lab"
    revision = f", revision {run.git[:12]}" if run.git else ""
    return f"Started {run.started}; worldwise {run.worldwise}{revision}; {lab}."


def _count_sections(rows: list[Row]) -> Iterable[Section]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.operation, row.measure, row.parameters), []).append(row)
    for (operation, measure, parameters), group in groups.items():
        sizes = {(row.n, row.warmup) for row in group}
        headers = ["variant", "place", "first call\ninstr", "first /\nmedian"]
        headers += [f"{name}\ninstr" for name in ("median", "mean", "stdev", "min", "max")]
        if len(sizes) > 1:
            headers.insert(2, "n")
        cells = []
        for row in group:
            line = [row.variant, row.place, _count(row.first), _factor(row.first / row.median)]
            line += [
                _count(row.median),
                _whole(row.mean),
                _spread(row.stdev),
                _count(row.min),
                _count(row.max),
            ]
            if len(sizes) > 1:
                line.insert(2, _count(row.n))
            cells.append(line)
        title = f"{measure}: {_OPERATIONS[operation]}" if measure != operation else _OPERATIONS[operation]
        if parameters:
            title += f", {parameters.replace(',', ', ')}"
        if len(sizes) == 1:
            n, warmup = sizes.pop()
            title += f" (n = {n:,} after 1 first call and {warmup:,} warm-up)"
        yield Section(title, Table(headers, cells, 2))


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
                        _label(row),
                        row.variant,
                        _count(row.median),
                        _count(inside.median),
                        _ratio(inside.ratio_to_linux),
                        _count(around.median),
                        _ratio(around.ratio_to_linux),
                    ]
                )
    if not cells:
        return None
    headers = ["measure", "variant", "Linux\ninstr", "TA\ninstr", "TA /\nLinux"]
    headers += ["client\ninstr", "client /\nLinux"]
    return Section(
        "Price of the TEE: medians, and how many times the same in Linux user space", Table(headers, cells, 2)
    )


def _nist_section(factors: Iterable[Factor], rows: Iterable[Row]) -> Section | None:
    chosen = [factor for factor in factors if factor.kind == "nist-optim"]
    levels = {factor.optimisation for factor in chosen}
    section = _factor_section(
        "What MBEDTLS_ECP_NIST_OPTIM gives: median without it / median with it",
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
            figures.setdefault((_label(row), row.place, figure.source), {})[row.implementation] = figure.instructions
    return [
        f"Published ({source}) for {label} at {place}: {both['mbedtls'] / both['mbedtls-nist']:.2f}."
        for (label, place, source), both in figures.items()
        if {"mbedtls", "mbedtls-nist"} <= both.keys()
    ]


def _optimisation_section(factors: Iterable[Factor]) -> Section | None:
    chosen = [factor for factor in factors if factor.kind == "optimisation"]
    present = {factor.implementation for factor in chosen}
    return _factor_section(
        "What -O2 gives: median at -Os / median at -O2",
        chosen,
        {
            f"{name}\nfactor": name
            for name in dict.fromkeys([*IMPLEMENTATIONS, *sorted(present)])
            if name in present or not IMPLEMENTATION_TABLE[name].tries
        },
        lambda factor: factor.implementation,
    )


def _change_section(rows: Iterable[Row]) -> Section | None:
    """What each implementation that tries a change gives, beside the one that it is tried on."""
    listed = list(rows)
    medians = {(row.case, row.measure, row.place): row.median for row in listed}
    cells = []
    for row in listed:
        known = IMPLEMENTATION_TABLE.get(row.implementation)
        base = known.tries if known else ""
        case = row.case.replace(f"/{row.variant}/", f"/{base}-{row.optimisation}/")
        before = medians.get((case, row.measure, row.place)) if base else None
        if before:
            cells.append(
                [
                    _label(row),
                    row.place,
                    row.variant,
                    _count(before),
                    _count(row.median),
                    f"{'-' if row.median < before else '+'}{_count(abs(row.median - before))}",
                    f"{row.median / before:.4f}",
                ]
            )
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
    return Section(title, Table(headers, cells, 3))


def _factor_section(
    title: str, factors: list[Factor], columns: Mapping[str, str], column_of: Callable[[Factor], str]
) -> Section | None:
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for factor in factors:
        lines.setdefault((_label(factor), factor.place), {})[column_of(factor)] = factor.value
    if not lines:
        return None
    cells = [
        [label, place, *(_ratio(values.get(name)) for name in columns.values())]
        for (label, place), values in lines.items()
    ]
    return Section(title, Table(["measure", "place", *columns], cells, 2))


# What a call of the TA that hashes is made of, and what the tables call it.
_PARTS = {
    "algorithm": "algorithm",
    "memory": "memory",
    "switch": "switch",
    "wrapper": "wrapper",
    "rest": "rest",
}


def _hash_cost_sections(reading: Reading) -> Iterable[Section]:
    costs = reading.hashing.costs
    for chunked, title in ((False, "in one call"), (True, "in pieces")):
        chosen = [cost for cost in costs if (cost.chunk is not None) == chunked]
        if not chosen:
            continue
        headers = ["variant", "size", *(["piece"] if chunked else []), "calls"]
        headers += ["total\ninstr", *(f"{name}\ninstr" for name in _PARTS.values())]
        headers += ["total /\nbyte", f"at {reading.hashing.clock_ghz} GHz\nMB/s"]
        cells = []
        for cost in chosen:
            line = [_cost_label(cost), size_text(cost.size)]
            if cost.chunk is not None:
                line.append(size_text(cost.chunk))
            line += [f"{cost.calls:,}", _count(cost.total)]
            line += [_count(getattr(cost, part)) for part in _PARTS]
            if cost.size:
                line += [_factor(cost.total / cost.size), f"{throughput(cost.size, cost.total):,.1f}"]
            else:
                line += ["-", "-"]
            cells.append(line)
        notes = [] if chunked and len(costs) > len(chosen) else [_HASH_PARTS_NOTE, reading.assumption]
        yield Section(
            f"SHA-256 in the TA, {title}: where the client's instructions go (medians)",
            Table(headers, cells, 1),
            notes,
        )


_HASH_PARTS_NOTE = (
    "total = algorithm + memory + switch + wrapper + rest. algorithm: the calls of the API in the TA. memory: bringing "
    "message and digest over, by registering and mapping pages; no byte is copied. switch: the way into the TA and "
    "back, of all calls. wrapper: the rest of the TA's command. rest: what the TA's counter does not see (the "
    "monitor's part in its system calls), timer interrupts that waited in Linux until the TA returned, and what "
    "differs between the calls; it can be less than 0 where an interrupt fell into the calls that are taken away."
)


def _cost_label(cost: HashCost) -> str:
    return f"{cost.variant} {cost.parameters}" if cost.parameters else cost.variant


def _hash_compare_section(reading: Reading) -> Section | None:
    cells = [
        [
            _cost_label(cost),
            size_text(cost.size),
            "-" if cost.chunk is None else size_text(cost.chunk),
            _count(cost.total),
            "-" if cost.linux is None else _count(cost.linux),
            _ratio(cost.total / cost.linux if cost.linux else None),
            _ratio(cost.algorithm / cost.linux if cost.linux else None),
            "-" if cost.sha256sum is None else _count(cost.sha256sum),
            _ratio(cost.total / cost.sha256sum if cost.sha256sum else None),
        ]
        for cost in reading.hashing.costs
        if cost.linux or cost.sha256sum
    ]
    if not cells:
        return None
    headers = ["variant", "size", "piece", "client\ninstr", "Linux\ninstr", "client /\nLinux", "algorithm /\nLinux"]
    headers += ["sha256sum\ninstr", "client /\nsha256sum"]
    return Section(
        "SHA-256: the TEE against the same library in Linux, and against sha256sum",
        Table(headers, cells, 1),
        [
            "sha256sum: fork, exec, reading the file from memory, hashing, output and wait, with OpenSSL's code for "
            "the cryptographic extension. It is the same program in every variant."
        ],
    )


def _hash_pieces_section(reading: Reading) -> Section | None:
    whole = {(cost.variant, cost.size, cost.parameters): cost for cost in reading.hashing.costs if cost.chunk is None}
    cells = []
    for cost in reading.hashing.costs:
        single = whole.get((cost.variant, cost.size, cost.parameters))
        if cost.chunk is not None and single and cost.calls > 1:
            more = (cost.total - single.total) / (cost.calls - 1)
            cells.append(
                [
                    _cost_label(cost),
                    size_text(cost.size),
                    size_text(cost.chunk),
                    f"{cost.calls:,}",
                    _count(single.total),
                    _count(cost.total),
                    _factor(cost.total / single.total),
                    _whole(more),
                ]
            )
    if not cells:
        return None
    headers = ["variant", "size", "piece", "calls", "one call\ninstr", "in pieces\ninstr", "pieces /\none call"]
    headers += ["each further\ncall, instr"]
    return Section("SHA-256 in one call against in pieces, from the client", Table(headers, cells, 1))


def _hash_extension_section(reading: Reading) -> Section | None:
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for factor in reading.factors:
        if (factor.kind, factor.operation, factor.measure) == ("crypto-extension", "sha256", "hash"):
            key = (f"{factor.implementation}-{factor.optimisation}", factor.parameters)
            lines.setdefault(key, {})[factor.place] = factor.value
    cells = [
        [variant, parameters.replace(",", ", "), *(_ratio(values.get(place)) for place in ("api", "client", "linux"))]
        for (variant, parameters), values in lines.items()
    ]
    if not cells:
        return None
    headers = ["variant", "case", "algorithm\nfactor", "client\nfactor", "Linux\nfactor"]
    return Section(
        "What the Armv8 Cryptographic Extension gives SHA-256: median without it / median with it",
        Table(headers, cells, 2),
    )


def _hash_fit_section(reading: Reading, full: bool) -> Section | None:
    cells = []
    for fit in reading.hashing.fits:
        worst = max(fit.residuals, key=lambda size: abs(fit.residuals[size]))
        sizes = sorted(fit.residuals) if full else [worst]
        for size in sizes:
            cells.append(
                [
                    fit.variant,
                    fit.what,
                    "-" if fit.chunk is None else size_text(fit.chunk),
                    str(len(fit.residuals)),
                    _whole(fit.fixed),
                    f"{fit.per_byte:,.4f}",
                    size_text(size),
                    _whole(fit.residuals[size]),
                    f"{100 * fit.relative[size]:,.2f}",
                ]
            )
    if not cells:
        return None
    headers = ["variant", "place", "piece", "sizes", "fixed\ninstr", "per byte\ninstr", "residual\nat size"]
    headers += ["residual\ninstr", "residual\n% of it"]
    return Section(
        "SHA-256 as fixed cost and cost per byte: a line through the medians by least squares",
        Table(headers, cells, 2),
        [
            *([] if full else ["Shown is the greatest residual of each line; --full and the JSON have all of them."]),
            "The client's line bends at its beginning: an empty message has no memory to bring over.",
        ],
    )


def _hash_published_section(reading: Reading) -> Section | None:
    cells = []
    notes: dict[str, None] = {}
    for figure in reading.hashing.published:
        cells.append(
            [
                figure.quantity,
                figure.variant,
                figure.of.removeprefix(f"optee/{figure.variant}/"),
                f"{figure.ours:,.2f}",
                f"{figure.value:,.4g}",
                figure.unit,
                _factor(figure.ratio),
            ]
        )
        notes[f"{figure.source}, {figure.quantity}: {figure.conditions} ({figure.note})."] = None
    if not cells:
        return None
    headers = ["what", "variant", "ours is of", "ours\nin its unit", "published\nin its unit", "\nunit"]
    headers += ["ours /\npublished"]
    return Section(
        f"Published figures of SHA-256 beside ours, at {reading.hashing.clock_ghz} GHz and one instruction per cycle",
        Table(headers, cells, 3),
        [*notes, reading.hashing.published_reason],
    )


def _part_column(reading: Reading, part: str) -> Callable[[Row], object]:
    costs = {cost.case: cost for cost in reading.hashing.costs}

    def value(row: Row) -> object:
        if (row.measure, row.place) != ("hash", "client") or row.case not in costs:
            return None
        return getattr(costs[row.case], part)

    return value


def _throughput_column(reading: Reading) -> Callable[[Row], object]:
    clock = reading.hashing.clock_ghz
    return lambda row: throughput(row.size, row.median, clock) if row.size and row.measure == "hash" else None


def _fit_column(reading: Reading, value: Callable[[Fit, int], float]) -> Callable[[Row], object]:
    fits = {(fit.variant, fit.what, fit.chunk): fit for fit in reading.hashing.fits}

    def of(row: Row) -> object:
        what = "sha256sum" if row.operation == "sha256sum" else row.place
        fit = fits.get((row.variant, what, row.chunk)) if row.measure == "hash" and row.size is not None else None
        return value(fit, row.size) if fit and row.size in fit.residuals else None

    return of


def _time_section(rows: list[Row], reading: Reading, full: bool) -> Section | None:
    waiting = [row for row in rows if row.place == "client"]
    shown = rows if full or not waiting else waiting
    if not shown:
        return None
    headers = ["measure", "variant", "place", *(f"{clock} GHz\nus" for clock in CLOCKS)]
    cells = [
        [_label(row), row.variant, row.place, *(f"{value:,.0f}" for value in row.microseconds.values())]
        for row in shown
    ]
    return Section("Time if a core finished one instruction per cycle", Table(headers, cells, 3), [reading.assumption])


def _published_section(rows: list[Row], reading: Reading) -> Section | None:
    cells = []
    notes: dict[str, None] = {}
    for row in rows:
        for each in row.published:
            published = f"{each.value:,.0f} {each.unit}"
            cells.append(
                [
                    _label(row),
                    row.variant,
                    each.statistic,
                    _whole(row.mean),
                    _whole(each.instructions),
                    published,
                    _factor(each.ratio),
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
    )


def _budget_section(rows: list[Row], reading: Reading) -> Section | None:
    budget = reading.budget
    if budget is None:
        return None
    cells = []
    for row in rows:
        if row.verdict:
            cells.append(
                [
                    _label(row),
                    row.variant,
                    row.place,
                    _count(row.verdict.worst),
                    _count(row.verdict.limit),
                    f"{100 * row.verdict.worst / row.verdict.limit:,.1f}",
                    "fits" if row.verdict.fits else "EXCEEDS",
                ]
            )
    headers = ["measure", "variant", "place", "worst call\ninstr", "budget\ninstr", "used\n%", "verdict"]
    if budget.fits is None:
        verdict = "Undecided: not every case was measured."
    elif budget.fits:
        verdict = f"It fits: all {budget.judged} measured."
    else:
        verdict = f"It does not fit: {budget.exceeded} of {budget.judged} exceed it."
    return Section(
        f"Budget: {' and '.join(budget.measures)} at place {budget.place} within {budget.limit} at {budget.clock}",
        Table(headers, cells, 3) if cells else None,
        [
            f"{budget.limit} at {budget.clock} is {budget.instructions:,} instructions, at one per cycle "
            "(assumption). The worst of all calls is judged, the first (cold) one included.",
            verdict,
        ],
    )


def _failure_section(reading: Reading) -> Section | None:
    notes = [f"{failed.case} failed: {failed.error}" for failed in reading.failed]
    notes += [f"{case} was not measured." for case in reading.missing]
    return Section("Not in this report", None, notes) if notes else None


def _legend_section(rows: list[Row]) -> Section | None:
    if not rows:
        return None
    includes: dict[str, list[str]] = {}
    for row in rows:
        names = includes.setdefault(f"at {row.place}: {row.includes}.", [])
        if row.measure not in names:
            names.append(row.measure)
    return Section(
        "How to read this",
        None,
        [
            "instr: instructions, counted exactly; the same lock gives the same digits on every machine. "
            "What measuring costs is itself measured and taken away. Interrupts inside a region count.",
            "first call: the cold one, in no statistic. median to max: of the n samples after the "
            "warm-up; stdev: of the sample (n - 1). The mean is rounded here; JSON and CSV have all digits.",
            "variant: crypto library and compiler optimisation; mbedtls-nist is mbed TLS with "
            "MBEDTLS_ECP_NIST_OPTIM, -ce is OP-TEE with the Armv8 Cryptographic Extension. place: where the "
            "measure stands.",
            *_own_notes(rows),
            *(Prose(f"{', '.join(names)} {text}") for text, names in includes.items()),
        ],
    )


def _own_notes(rows: Iterable[Row]) -> list[str]:
    """What libraries that are no part of OP-TEE do in a TEE."""
    names = list(
        dict.fromkeys(
            row.implementation
            for row in rows
            if row.implementation not in IMPLEMENTATION_TABLE and row.operation != "aes"
        )
    )
    if not names:
        return []
    return [
        f"{', '.join(names)}: compiled into the TA (and into the Linux program) with the flags of the TA dev kit of "
        "mbedtls-nist at the same optimisation, and called there; the cryptography of OP-TEE's core takes no part."
    ]


def _print_prose(console: Console, text: str, style: str = "") -> None:
    width = min(console.width, PROSE_WIDTH) if console.is_terminal else PROSE_WIDTH
    wrapped = textwrap.fill(visible(text), max(width, 20), break_long_words=False, break_on_hyphens=False)
    _print_wide(console, Text(wrapped, style=style, no_wrap=True))


def _print_table(console: Console, table: Table) -> None:
    rich = _rich_table(console, table, gap=2)
    # A pipe has no width to keep to.
    if console.is_terminal and _natural_width(console, rich) > console.width:
        rich = _rich_table(console, table, gap=1)
    _print_wide(console, rich)


def _rich_table(console: Console, table: Table, gap: int) -> RichTable:
    plain = not console.is_terminal or console.options.ascii_only
    rich = RichTable(
        box=_ASCII_BOX if plain else SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, gap - 1, 0, 0),
        header_style="bold",
    )
    for number, header in enumerate(table.headers):
        rich.add_column(Text(visible(header)), justify="left" if table.is_name(number) else "right", no_wrap=True)
    for row in table.rows:
        rich.add_row(*(Text(visible(cell), style=_STYLES.get(cell, "")) for cell in row))
    return rich


def _natural_width(console: Console, renderable: RichTable | Text) -> int:
    return Measurement.get(console, console.options.update(width=_ANY_WIDTH), renderable).maximum


def _print_wide(console: Console, renderable: RichTable | Text) -> None:
    width = console.width
    console.width = max(width, _natural_width(console, renderable))
    try:
        console.print(renderable)
    finally:
        console.width = width


def _markdown_table(table: Table) -> list[str]:
    rule = ["---" if table.is_name(number) else "---:" for number in range(len(table.headers))]
    lines = [[header.replace("\n", " ") for header in table.headers], rule, *table.rows]
    return ["| " + " | ".join(markdown(cell) for cell in line) + " |" for line in lines]


def _time_column(name: str) -> Callable[[Row], object]:
    return lambda row: row.microseconds.get(name)


def _label(item: Row | Factor) -> str:
    label = item.operation if item.operation == item.measure else f"{item.operation} {item.measure}"
    return f"{label} {item.parameters}" if item.parameters else label
