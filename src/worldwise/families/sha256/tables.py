# SPDX-License-Identifier: BSD-2-Clause
"""Tables of hashing in the TEE: where the instructions go, how they grow with the message, what others published."""

from collections.abc import Callable, Iterable, Mapping

from worldwise.base.tables import Section, Table, count, count_or_dash, factor, ratio, section_name, whole
from worldwise.base.units import size_text
from worldwise.families.sha256.answer import sha256_answer
from worldwise.families.sha256.cost import HashCost, HashReading, SizeFit, throughput
from worldwise.families.sha256.readings import Hashing
from worldwise.read.models import Reading, Row
from worldwise.report.table_builder import Column, line_cells, name, number, section
from worldwise.report.tables import Columns, Group, Tables


def sha256_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on hashing in the TEE; empty if the run has no such rows.

    With `full`, every residual of a line is shown, not only the greatest.
    """
    parts = [
        *_hash_cost_sections(reading),
        _hash_compare_section(reading),
        _hash_pieces_section(reading),
        _hash_extension_section(reading),
        _hash_fit_section(reading, full),
        _hash_published_section(reading),
    ]
    return [part for part in parts if part]


def sha256_columns(reading: Reading) -> Mapping[str, Callable[[Row], object]]:
    """The columns of a CSV that are of hashing; empty in other rows."""
    return {
        **{f"{part}_instructions": _part_column(reading, part) for part in _PARTS},
        "sha256sum_instructions": _part_column(reading, "sha256sum"),
        "megabytes_per_second": _throughput_column(reading),
        "fit_fixed_instructions": _fit_column(reading, lambda fit, _: fit.fixed),
        "fit_instructions_per_byte": _fit_column(reading, lambda fit, _: fit.per_byte),
        "fit_residual_instructions": _fit_column(reading, lambda fit, size: fit.residuals[size]),
    }


def _hashing(reading: Reading) -> HashReading:
    return reading.part(Hashing).hashing


# The parts of a hashing call of the TA; fields of HashCost.
_PARTS = ("algorithm", "memory", "switch", "wrapper", "rest")


_HASH_PARTS_NOTE = (
    "total = algorithm + memory + switch + wrapper + rest. algorithm: the calls of the API in the TA. memory: bringing "
    "message and digest over, by registering and mapping pages; no byte is copied. switch: the way into the TA and "
    "back, of all calls. wrapper: the rest of the TA's command. rest: what the TA's counter does not see (the "
    "monitor's part in its system calls), timer interrupts that waited in Linux until the TA returned, and what "
    "differs between the calls; it can be less than 0 where an interrupt fell into the calls that are taken away."
)


def _hash_cost_sections(reading: Reading) -> Iterable[Section]:
    costs = _hashing(reading).costs
    for chunked, title in ((False, "in one call"), (True, "in pieces")):
        chosen = [cost for cost in costs if (cost.chunk is not None) == chunked]
        if not chosen:
            continue
        headers = ["variant", "size", *(["piece"] if chunked else []), "calls"]
        headers += ["total\ninstr", *(f"{name}\ninstr" for name in _PARTS)]
        headers += ["total /\nbyte", f"at {_hashing(reading).clock_ghz} GHz\nMB/s"]
        cells = []
        for cost in chosen:
            line = [_cost_label(cost), size_text(cost.size)]
            if cost.chunk is not None:
                line.append(size_text(cost.chunk))
            line += [f"{cost.calls:,}", count(cost.total)]
            line += [count(getattr(cost, part)) for part in _PARTS]
            if cost.size:
                line += [factor(cost.total / cost.size), f"{throughput(cost.size, cost.total):,.1f}"]
            else:
                line += ["-", "-"]
            cells.append(line)
        notes = [] if chunked and len(costs) > len(chosen) else [_HASH_PARTS_NOTE, reading.assumption]
        yield Section(
            f"SHA-256 in the TA, {title}: where the client's instructions go (medians)",
            Table(headers, cells, 1),
            notes,
            section_name("sha256-cost", title),
        )


def _cost_label(cost: HashCost) -> str:
    return f"{cost.variant} {cost.parameters}" if cost.parameters else cost.variant


_WHO: list[Column[HashCost]] = [
    name("variant", _cost_label),
    number("size", lambda cost: size_text(cost.size)),
    number("piece", lambda cost: "-" if cost.chunk is None else size_text(cost.chunk)),
]


def _hash_compare_section(reading: Reading) -> Section | None:
    return section(
        "SHA-256: the TEE against the same library in Linux, and against sha256sum",
        "sha256-compared",
        [cost for cost in _hashing(reading).costs if cost.linux or cost.sha256sum],
        [
            *_WHO,
            number("client\ninstr", lambda cost: count(cost.total)),
            number("Linux\ninstr", lambda cost: count_or_dash(cost.linux)),
            number("client /\nLinux", lambda cost: ratio(cost.total / cost.linux if cost.linux else None)),
            number("algorithm /\nLinux", lambda cost: ratio(cost.algorithm / cost.linux if cost.linux else None)),
            number("sha256sum\ninstr", lambda cost: count_or_dash(cost.sha256sum)),
            number("client /\nsha256sum", lambda cost: ratio(cost.total / cost.sha256sum if cost.sha256sum else None)),
        ],
        [
            "sha256sum: fork, exec, reading the file from memory, hashing, output and wait, with OpenSSL's code for "
            "the cryptographic extension. It is the same program in every variant."
        ],
    )


def _hash_pieces_section(reading: Reading) -> Section | None:
    costs = _hashing(reading).costs
    in_one = {(cost.variant, cost.size, cost.parameters): cost for cost in costs if cost.chunk is None}

    def single(cost: HashCost) -> float:
        return in_one[cost.variant, cost.size, cost.parameters].total

    return section(
        "SHA-256 in one call against in pieces, from the client",
        "sha256-pieces",
        [
            cost
            for cost in costs
            if cost.chunk is not None and cost.calls > 1 and (cost.variant, cost.size, cost.parameters) in in_one
        ],
        [
            *_WHO,
            number("calls", lambda cost: f"{cost.calls:,}"),
            number("one call\ninstr", lambda cost: count(single(cost))),
            number("in pieces\ninstr", lambda cost: count(cost.total)),
            number("pieces /\none call", lambda cost: factor(cost.total / single(cost))),
            number("each further\ncall, instr", lambda cost: whole((cost.total - single(cost)) / (cost.calls - 1))),
        ],
    )


def _hash_extension_section(reading: Reading) -> Section | None:
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for one in reading.factors:
        if (one.kind, one.operation, one.measure) == ("crypto-extension", "sha256", "hash"):
            key = (f"{one.implementation}-{one.optimisation}", one.parameters)
            lines.setdefault(key, {})[one.place] = one.value
    return section(
        "What the Armv8 Cryptographic Extension gives SHA-256: median without it / median with it",
        "sha256-extension",
        list(lines.items()),
        [
            name("variant", lambda line: line[0][0]),
            name("case", lambda line: line[0][1].replace(",", ", ")),
            number("algorithm\nfactor", lambda line: ratio(line[1].get("api"))),
            number("client\nfactor", lambda line: ratio(line[1].get("client"))),
            number("Linux\nfactor", lambda line: ratio(line[1].get("linux"))),
        ],
    )


def _hash_fit_section(reading: Reading, full: bool) -> Section | None:
    cells: list[list[str]] = []
    for fit in _hashing(reading).fits:
        names = [fit.variant, fit.what, "-" if fit.chunk is None else size_text(fit.chunk)]
        cells += line_cells(names, fit.line, size_text, full)
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
        "sha256-per-byte",
    )


def _hash_published_section(reading: Reading) -> Section | None:
    hashing = _hashing(reading)
    notes = (f"{one.source}, {one.quantity}: {one.conditions} ({one.note})." for one in hashing.published)
    return section(
        f"Published figures of SHA-256 beside ours, at {hashing.clock_ghz} GHz and one instruction per cycle",
        "sha256-published",
        hashing.published,
        [
            name("what", lambda figure: figure.quantity),
            name("variant", lambda figure: figure.variant),
            name("ours is of", lambda figure: figure.of.removeprefix(f"optee/{figure.variant}/")),
            number("ours\nin its unit", lambda figure: f"{figure.ours:,.2f}"),
            number("published\nin its unit", lambda figure: f"{figure.value:,.4g}"),
            number("\nunit", lambda figure: figure.unit),
            number("ours /\npublished", lambda figure: factor(figure.ratio)),
        ],
        [*dict.fromkeys(notes), hashing.published_reason],
    )


def _part_column(reading: Reading, part: str) -> Callable[[Row], object]:
    costs = {cost.case: cost for cost in _hashing(reading).costs}

    def value(row: Row) -> object:
        if (row.measure, row.place) != ("hash", "client") or row.case not in costs:
            return None
        return getattr(costs[row.case], part)

    return value


def _throughput_column(reading: Reading) -> Callable[[Row], object]:
    clock = _hashing(reading).clock_ghz
    return lambda row: throughput(row.size, row.median, clock) if row.size and row.measure == "hash" else None


def _fit_column(reading: Reading, value: Callable[[SizeFit, int], float]) -> Callable[[Row], object]:
    fits = {(fit.variant, fit.what, fit.chunk): fit for fit in _hashing(reading).fits}

    def of(row: Row) -> object:
        what = "sha256sum" if row.operation == "sha256sum" else row.place
        fit = fits.get((row.variant, what, row.chunk)) if row.measure == "hash" and row.size is not None else None
        return value(fit, row.size) if fit and row.size in fit.residuals else None

    return of


TABLES = Tables(
    groups=(Group(200, sha256_sections),),
    answers=sha256_answer,
    operations={"sha256": "SHA-256", "sha256sum": "sha256sum"},
    columns=(Columns(0, sha256_columns),),
)
