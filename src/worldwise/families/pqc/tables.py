# SPDX-License-Identifier: BSD-2-Clause
"""Reports of post-quantum schemes: a table for each machine, what does not fit, and how far signatures go apart."""

from collections.abc import Iterable, Mapping, Sequence

from worldwise.base.tables import Section, Table, count, count_or_dash, section_name
from worldwise.families.pqc.libraries import libraries
from worldwise.families.pqc.readings import SIGN, Tails
from worldwise.families.pqc.schemes import SCHEMES
from worldwise.families.pqc.spec import CALLS
from worldwise.libraries.boards import boards
from worldwise.plan.spec import OPTEE
from worldwise.read.contests import LEAST_CALLS, Match, matches
from worldwise.read.family_fields import TaSize
from worldwise.read.models import Reading, Row
from worldwise.report.citation.components import Component
from worldwise.report.contests import names
from worldwise.report.sections.units import OfInstructions, board_note
from worldwise.report.table_builder import answer, name, number, section
from worldwise.report.tables import Group, ScreenAnswer, Tables

_OPERATIONS = tuple(CALLS)
_ORDER = {name: number for number, name in enumerate(_OPERATIONS)}


def _scheme(row: Row) -> str:
    return row.given["scheme"]


def _rows(reading: Reading) -> list[Row]:
    order = list(SCHEMES)
    return sorted(
        (row for row in reading.rows if row.operation in _ORDER),
        key=lambda row: (row.target, order.index(_scheme(row)), _ORDER[row.operation], row.median, row.variant),
    )


def pqc_sections(reading: Reading, _full: bool = False) -> list[Section]:
    """The sections on post-quantum schemes; empty if the run has no such rows."""
    rows = _rows(reading)
    lacking = [each for each in reading.unavailable if each.operation in _ORDER]
    targets = dict.fromkeys([*(row.target for row in rows), *(each.target for each in lacking)])
    parts: list[Section | None] = []
    for target in targets:
        parts.append(_machine_section(target, [row for row in rows if row.target == target]))
    parts += [_tail_section(reading), _published_section(rows, reading)]
    parts += [_unavailable_section(reading), _legend_section(rows)]
    return [part for part in parts if part]


def _machine_section(target: str, rows: Sequence[Row]) -> Section | None:
    if not rows:
        return None
    if target == OPTEE:
        return _tee_section(rows)
    headers = ["scheme", "operation", "library", "n", "median\ninstr", "worst\ninstr"]
    headers += ["stack\nbytes", "heap\nbytes", "code\nbytes", "RAM\nbytes"]
    cells = []
    for row in rows:
        taken = row.footprint
        cells.append(
            [
                _scheme(row),
                CALLS[row.operation],
                row.variant,
                f"{row.counts.n:,}",
                count(row.median),
                count(row.counts.worst),
                *map(count_or_dash, (taken.stack, taken.heap, taken.flash, taken.ram)),
            ]
        )
    return Section(
        f"{target}: post-quantum schemes", Table(headers, cells, 3), name=section_name("post-quantum", target)
    )


def _tee_section(rows: Sequence[Row]) -> Section:
    inside = {row.case: row for row in rows if row.place == "ta"}
    headers = ["scheme", "operation", "library", "n", "in the TA\ninstr", "from the client\ninstr", "worst\ninstr"]
    headers += ["TA\nbytes", "stack\nbytes", "heap\nbytes"]
    cells = []
    for row in rows:
        if row.place == "client":
            ta = inside[row.case]
            taken = (row.part(TaSize).ta_loaded, ta.footprint.stack, ta.footprint.heap)
            cells.append(
                [
                    _scheme(row),
                    CALLS[row.operation],
                    row.variant,
                    f"{row.counts.n:,}",
                    *map(count, (ta.median, row.median, row.counts.worst)),
                    *map(count_or_dash, taken),
                ]
            )
    return Section(
        "In a TA: post-quantum schemes",
        Table(headers, cells, 3),
        [
            "in the TA, from the client: medians; the client's call has the way there and back, and what goes in and "
            "out is in temporary memory. worst: of all calls from the client, the first included. TA bytes: code, "
            "constants and initial values of a TA that has this one scheme. stack: the deepest that the call goes. "
            "heap: the least free heap with which it succeeds, with what the allocator adds; keys, message and output "
            "stand outside of both."
        ],
        name=section_name("post-quantum", OPTEE),
    )


def _tail_section(reading: Reading) -> Section | None:
    return section(
        "ML-DSA signing begins anew until a signature tells nothing of the key: how far its calls go apart",
        "signing-tail",
        reading.part(Tails).signing,
        [
            name("case", lambda tail: tail.case),
            number("calls", lambda tail: f"{tail.calls:,}"),
            number("median\ninstr", lambda tail: count_or_dash(tail.median)),
            number("90 %\ninstr", lambda tail: count_or_dash(tail.p90)),
            number("99 %\ninstr", lambda tail: count_or_dash(tail.p99)),
            number("worst\ninstr", lambda tail: count_or_dash(tail.worst)),
            number("attempts,\nmean", lambda tail: f"{tail.mean_attempts:.2f}"),
            number("\nmedian", lambda tail: count_or_dash(tail.median_attempts)),
            number("\n90 %", lambda tail: count_or_dash(tail.p90_attempts)),
            number("\n99 %", lambda tail: count_or_dash(tail.p99_attempts)),
            number("\nworst", lambda tail: count_or_dash(tail.worst_attempts)),
        ],
        [
            "Of all calls of a case, the first one included: each with a message and random bytes of its own, under "
            "one key. attempts: how often signing began, by FIPS 204 on the host from the same key, message and random "
            f"bytes. A budget is judged by the tail, not by the median. -: a percentile of fewer than {LEAST_CALLS} "
            "calls would be the worst call under another name; `--samples 100` measures more."
        ],
    )


def _published_section(rows: Sequence[Row], reading: Reading) -> Section | None:
    """Published figures beside ours on boards with the same core; none if the run has no such board."""
    cells = []
    theirs: dict[tuple[str, str, str], dict[str, float]] = {}
    for figure in reading.published_table:
        key = (figure.algorithm, figure.operation, figure.library)
        theirs.setdefault(key, {})[figure.unit] = figure.value
    cores = {figure.core for figure in reading.published_table}
    own = [row for row in rows if row.board in boards() and boards()[row.board].core in cores]
    for scheme, operation in dict.fromkeys((_scheme(row), row.operation) for row in own):
        lines = [
            (f"pqm4 {library}", found.get("cycles"), found.get("bytes of stack"))
            for (algorithm, done, library), found in theirs.items()
            if (algorithm, done) == (scheme, operation)
        ]
        lines += [
            (f"{row.variant} on {row.board}", row.counts.mean, (row.footprint.stack or 0) + (row.footprint.heap or 0))
            for row in own
            if (_scheme(row), row.operation) == (scheme, operation)
        ]
        cells += [
            [scheme, CALLS[operation], name, count_or_dash(cost), count_or_dash(size)] for name, cost, size in lines
        ]
    if not cells or not theirs:
        return None
    headers = ["scheme", "operation", "library", "mean: cycles of pqm4,\ninstr of ours", "stack and heap\nbytes"]
    return Section(
        "pqm4's published cycles on a Cortex-M4, beside our instructions",
        Table(headers, cells, 3),
        [reading.published_reason],
        name="pqm4",
    )


def _unavailable_section(reading: Reading) -> Section | None:
    groups: dict[tuple[str, str, str], dict[str, None]] = {}
    for each in reading.unavailable:
        if each.operation in _ORDER:
            groups.setdefault((each.target, each.implementation, each.reason), {})[each.operation] = None
    if not groups:
        return None
    cells = [
        [target, library, ", ".join(sorted(operations, key=_ORDER.__getitem__)), reason]
        for (target, library, reason), operations in groups.items()
    ]
    return Section(
        "Post-quantum schemes: what does not fit, and what a library lacks",
        Table(["target", "library", "operations", "why"], cells, 4),
        name="post-quantum-unavailable",
    )


def _legend_section(rows: Iterable[Row]) -> Section | None:
    includes = {row.operation: f"{row.operation}: {row.counts.includes}." for row in rows}
    if not includes:
        return None
    legend = (
        "instr: instructions, counted exactly. worst: the most of all calls, the first included. stack, heap: the most "
        "that one call has; keys, message and output stand outside of both. code: code and constants of the operation; "
        "RAM: its static data."
    )
    notes: list[str] = [
        OfInstructions(legend, lambda words: legend if words.hosted else words.legend),
        *map(board_note, includes.values()),
    ]
    return Section("How to read the tables of post-quantum schemes", None, notes, name="post-quantum-legend")


def _answer(reading: Reading) -> list[ScreenAnswer]:
    rows = [row for row in _rows(reading) if row.place != "ta"]
    return answer(
        "What post-quantum cryptography costs",
        sorted(matches(rows), key=_first),
        [
            name("target", lambda match: match.first.target),
            name("scheme", lambda match: _scheme(match.first)),
            name("operation", lambda match: CALLS[match.first.operation]),
            name("library with\nthe fewest", lambda match: names(match.least())),
            number("of libra-\nries", lambda match: str(match.libraries), spare=1),
            number("median\ninstr", lambda match: count(match.least()[0].median)),
            number("worst\ninstr", lambda match: count(match.least()[0].counts.worst), spare=2),
        ],
        ("post-quantum", *(("signing-tail",) if reading.part(Tails).signing else ())),
        rows=rows,
    )


def _first(match: Match) -> tuple[object, ...]:
    """The order of importance: what a device does with its own key, by the schemes that are asked most, in the TEE
    first."""
    row, scheme = match.first, _scheme(match.first)
    asked = _ASKED.index(scheme) if scheme in _ASKED else len(_ASKED)
    return (row.operation not in ("decaps", SIGN), asked, row.target != OPTEE, row.target, _order(row))


def _order(row: Row) -> tuple[int, int]:
    return (list(SCHEMES).index(_scheme(row)), _ORDER[row.operation])


# The parameter sets of category 3, which most profiles name.
_ASKED = ("ml-kem-768", "ml-dsa-65")
_NAMES: Mapping[str, str] = {
    "kem-keygen": "ML-KEM key generation",
    "encaps": "ML-KEM encapsulation",
    "decaps": "ML-KEM decapsulation",
    "dsa-keygen": "signature key generation",
    SIGN: "post-quantum signature",
    "dsa-verify": "post-quantum verification",
}


def _component(name: str) -> Component | None:
    """The library of this name, as a paper cites it; None for any that is not of these schemes."""
    library = libraries().get(name)
    if library is None:
        return None
    manifest = library.manifest
    source = f"crate {manifest.source.crate}, SHA-256 {manifest.source.sha256}"
    return Component(name, manifest.title, manifest.source.version or "", source, manifest.licence)


TABLES = Tables(
    groups=(Group(490, pqc_sections),),
    answers=_answer,
    operations=_NAMES,
    own=_OPERATIONS,
    cited=_component,
)
