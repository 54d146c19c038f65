# SPDX-License-Identifier: BSD-2-Clause
"""Reports of calls: what shared memory of each kind costs, and what sessions, parameters and bytes add to a call."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from worldwise.base.tables import Section, Table, count, count_or_dash, factor, whole
from worldwise.base.units import size_text
from worldwise.families.calls.answer import calls_answers
from worldwise.read.line_fit import FittedLine, fit_line
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.table_builder import Column, line_cells, name, number, section
from worldwise.report.tables import Group, Tables

PAGE = 4096
_KINDS = ("temporary", "registered", "partial", "allocated")
# For one variant: (measure, place, kind) -> size -> median.
_Payloads = Mapping[tuple[str, str, str], Mapping[int, float]]
# For one variant: measure -> (sessions, parameters, bytes) -> median.
_Calls = Mapping[str, Mapping[tuple[int, int, int], float]]
_ENDS = ("oldest", "newest")


def calls_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on `payload` and `call`; none if the run has neither.

    With `full`, every residual of a line is shown, not only the greatest.
    """
    payloads = _by_variant(reading.rows, "payload")
    calls = _by_variant(reading.rows, "call")
    parts = [
        _payload_section(payloads),
        _once_section(payloads),
        _payload_fit_section(payloads, full),
        _calls_section(calls),
        _calls_fit_section(calls, full),
        _sum_section(calls),
    ]
    return [part for part in parts if part]


def _by_variant(rows: Iterable[Row], operation: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.operation == operation and is_quiet(row):
            found.setdefault(row.variant, []).append(row)
    return found


# --- payloads ---


def _payloads(rows: Sequence[Row]) -> _Payloads:
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in rows:
        kind = row.given.get("memory", _KINDS[0])
        found.setdefault((row.measure, row.place, kind), {})[row.size or 0] = row.median
    return found


def _sizes(payloads: _Payloads) -> list[int]:
    return sorted({size for points in payloads.values() for size in points})


def _minus(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


# A payload of one variant.
_Payload = tuple[str, int, _Payloads]


def _each_payload(variants: Mapping[str, Sequence[Row]]) -> list[_Payload]:
    by_variant = {variant: _payloads(rows) for variant, rows in variants.items()}
    return [(variant, size, found) for variant, found in by_variant.items() for size in _sizes(found)]


def _at(payload: _Payload, measure: str, kind: str, place: str = "client") -> float | None:
    _, size, found = payload
    return found.get((measure, place, kind), {}).get(size)


def _more(measure: str, kind: str, other: str, than: str) -> Callable[[_Payload], float | None]:
    """By how much one kind of memory costs more for a measure than another one."""
    return lambda payload: _minus(_at(payload, measure, kind), _at(payload, other, than))


def _of_kinds(measure: str) -> list[Column[_Payload]]:
    def column(kind: str) -> Column[_Payload]:
        return number(f"{kind}\ninstr", lambda payload: count_or_dash(_at(payload, measure, kind)))

    return [
        name("variant", lambda payload: payload[0]),
        name("payload", lambda payload: size_text(payload[1])),
        *(column(kind) for kind in _KINDS),
    ]


def _payload_section(variants: Mapping[str, Sequence[Row]]) -> Section | None:
    sharing, copied = _more("read", "temporary", "read", "registered"), _more("read", "allocated", "read", "registered")

    def inside(payload: _Payload) -> float | None:
        return next((one for kind in _KINDS if (one := _at(payload, "read", kind, "ta")) is not None), None)

    return section(
        "A payload by each kind of shared memory, from the client: the TA reads all of it",
        "payload",
        _each_payload(variants),
        [
            *_of_kinds("read"),
            number("of it\nsharing", lambda payload: count_or_dash(sharing(payload))),
            number("copy in\nthe TA", lambda payload: count_or_dash(inside(payload))),
            number("copy in\nthe client", lambda payload: count_or_dash(copied(payload))),
        ],
        [
            "temporary: TEEC_MEMREF_TEMP_INPUT, which libteec registers and releases for every call. registered: the "
            "application's own buffer, registered before. partial: the same as the middle of a block of twice the "
            "size. allocated: from TEEC_AllocateSharedMemory; the count includes the client's copy of the payload "
            "into it. All have the TA's copy into its own memory.",
            "of it sharing: registering and releasing (temporary less registered). copy in the TA: a part "
            "of every kind; OP-TEE itself copies no byte. copy in the client: allocated less registered.",
            "Pages are of 4 KiB: huge pages are off. Linux's timer does not interrupt a call.",
        ],
    )


def _once_section(variants: Mapping[str, Sequence[Row]]) -> Section | None:
    def staying(kind: str) -> list[Column[_Payload]]:
        set_up, saved = _more("once", kind, "read", kind), _more("read", "temporary", "read", kind)
        return [
            number(f"{kind}:\nset up", lambda payload: count_or_dash(set_up(payload))),
            number(f"{kind}:\npays off", lambda payload: _pays_off(set_up(payload), saved(payload))),
        ]

    return section(
        "One payload alone, from the client: memory made, filled, read by the TA, given back",
        "payload-once",
        _each_payload(variants),
        [*_of_kinds("once"), *staying("registered"), *staying("allocated")],
        [
            "set up: registering and releasing, or allocating and releasing, without the call between. pays off: from "
            "this call on, all calls with memory that stays cost less together than as many with temporary memory; "
            "never: a call with it costs more, since the client copies.",
            "Allocated memory is from the C library's heap. Small pieces are reused; from 128 KiB on they are new "
            "pages each time, which Linux clears and maps one by one.",
        ],
    )


def _pays_off(set_up: float | None, saved: float | None) -> str:
    if set_up is None or saved is None:
        return "-"
    return "never" if saved <= 0 else f"{int(set_up // saved) + 1:,}"


def _payload_fit_section(variants: Mapping[str, Sequence[Row]], full: bool) -> Section | None:
    cells: list[list[str]] = []
    notes: list[str] = []
    for variant, rows in variants.items():
        found = _payloads(rows)
        for (measure, place), title in (
            (("call", "client"), "call, TA reads nothing"),
            (("read", "client"), "call, TA reads all"),
            (("once", "client"), "one payload alone"),
            (("read", "ta"), "copy in the TA"),
        ):
            for kind in _KINDS:
                points = found.get((measure, place, kind), {})
                line = fit_line(points)
                if line and (place == "client" or kind == _KINDS[0]):
                    cells += line_cells([variant, title, kind if place == "client" else "any"], line, size_text, full)
        notes += _page_notes(variant, found)
    if not cells:
        return None
    headers = ["variant", "what", "memory", "sizes", "fixed\ninstr", "per byte\ninstr", "residual\nat"]
    headers += ["residual\ninstr", "residual\n% of it"]
    return Section(
        "Shared memory as fixed cost and cost per byte: lines through the medians by least squares",
        Table(headers, cells, 3),
        [*_residual_note(full), *notes],
        name="payload-per-byte",
    )


def _page_notes(variant: str, found: _Payloads) -> Iterator[str]:
    """How far a call's cost is from a straight line: the cost of each further page, between neighbouring sizes."""
    points = found.get(("call", "client", "registered"), {})
    sizes = [size for size in sorted(points) if size >= PAGE]
    if len(sizes) < 2 or not any(size < PAGE for size in points):
        return
    pages = [(points[more] - points[less]) / ((more - less) / PAGE) for less, more in pairwise(sizes)]
    within = [points[size] for size in points if size <= PAGE]
    least, most = count(min(within)), count(max(within))
    yield (
        f"{variant}: the cost of a call that shares registered memory without reading it does not follow a "
        f"line. It depends on whole pages of 4 KiB: up to one page it costs "
        f"{least if least == most else f'{least} to {most}'}, and each page "
        f"more costs {min(pages):,.1f} to {max(pages):,.1f}, depending on the size."
    )


def _residual_note(full: bool) -> list[str]:
    return [] if full else ["Shown is the greatest residual of each line; --full has all of them."]


# --- calls ---


def _calls(rows: Sequence[Row]) -> _Calls:
    found: dict[str, dict[tuple[int, int, int], float]] = {}
    for row in rows:
        given = row.given
        key = (int(given.get("sessions", "1")), int(given.get("parameters", "0")), row.size or 0)
        found.setdefault(row.measure, {})[key] = row.median
    return found


def _calls_section(variants: Mapping[str, Sequence[Row]]) -> Section | None:
    cells = []
    for variant, rows in variants.items():
        found = _calls(rows)
        base = {end: found[end].get((1, 0, 0)) for end in _ENDS}
        for key in sorted(found["oldest"], key=_one_at_a_time):
            sessions, parameters, size = key
            cells.append(
                [
                    variant,
                    str(sessions),
                    str(parameters),
                    "-" if size == 0 else size_text(size),
                    *(count(found[end][key]) for end in _ENDS),
                    *(count_or_dash(_minus(found[end][key], base[end])) for end in _ENDS),
                ]
            )
    if not cells:
        return None
    headers = ["variant", "sessions\nopen", "values\nin", "memory\nshared"]
    headers += ["oldest\ninstr", "newest\ninstr", "oldest: more\nthan least", "newest: more\nthan least"]
    return Section(
        "An invocation of a command that does nothing, from the client",
        Table(headers, cells, 1),
        [
            "oldest, newest: of the session that was opened first, and of the one that was opened last. The memory is "
            "temporary, and the TA does not touch it. least: one session, no parameters."
        ],
        name="calls",
    )


def _one_at_a_time(key: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """The order of calls: those that change only one thing come first."""
    sessions, parameters, size = key
    return (_changes(key), size, parameters, sessions)


def _changes(key: tuple[int, int, int]) -> int:
    return sum(value != least for value, least in zip(key, (1, 0, 0), strict=True))


def _lines(points: Mapping[tuple[int, int, int], float]) -> dict[str, FittedLine]:
    """A line through the calls that change only one thing, for each such thing."""
    alone: dict[str, dict[int, float]] = {
        "session": {sessions: median for (sessions, *rest), median in points.items() if rest == [0, 0]},
        "value": {values: median for (sessions, values, size), median in points.items() if (sessions, size) == (1, 0)},
        # A call without memory is another kind of call than one with little memory.
        "byte": {size: median for (*rest, size), median in points.items() if rest == [1, 0] and size},
    }
    lines = {what: fit_line(of) for what, of in alone.items()}
    return {what: line for what, line in lines.items() if line}


def _calls_fit_section(variants: Mapping[str, Sequence[Row]], full: bool) -> Section | None:
    cells: list[list[str]] = []
    notes = []
    for variant, rows in variants.items():
        found = _calls(rows)
        for end in _ENDS:
            for what, line in _lines(found[end]).items():
                named = size_text if what == "byte" else str
                cells += line_cells([variant, what, end], line, named, full, "{:,.3f}")
        bytes_line = _lines(found["oldest"]).get("byte")
        least = found["oldest"].get((1, 0, 0))
        if bytes_line and least:
            notes.append(
                f"{variant}: the first byte of memory costs {whole(bytes_line.fixed - least)} more than none, since "
                "a page is registered with OP-TEE and mapped; each line through bytes begins with memory."
            )
    if not cells:
        return None
    headers = ["variant", "per", "session", "points", "fixed\ninstr", "per one\ninstr", "residual\nat"]
    headers += ["residual\ninstr", "residual\n% of it"]
    return Section(
        "An invocation as fixed cost and cost per session, value and byte: lines by least squares",
        Table(headers, cells, 3),
        [*_residual_note(full), *notes],
        name="calls-per-thing",
    )


def _sum_section(variants: Mapping[str, Sequence[Row]]) -> Section | None:
    """Whether the costs add up: what the lines predict for calls that change several things at once."""
    cells = []
    for variant, rows in variants.items():
        for end, points in _calls(rows).items():
            lines = _lines(points)
            if len(lines) < 3 or (1, 0, 0) not in points:
                continue
            for key in sorted(points):
                if _changes(key) < 2:
                    continue
                sessions, values, size = key
                told = points[1, 0, 0] + lines["session"].slope * (sessions - 1) + lines["value"].slope * values
                if size:
                    told += lines["byte"].fixed + lines["byte"].slope * size - points[1, 0, 0]
                cells.append(
                    [
                        variant,
                        end,
                        str(sessions),
                        str(values),
                        "-" if size == 0 else size_text(size),
                        count(points[key]),
                        whole(told),
                        factor(points[key] / told),
                    ]
                )
    if not cells:
        return None
    headers = ["variant", "session", "sessions\nopen", "values\nin", "memory\nshared"]
    headers += ["measured\ninstr", "by the lines\ninstr", "measured /\nby the lines"]
    return Section(
        "Several things at once: measured, and predicted by the lines above",
        Table(headers, cells, 2),
        ["The lines are fitted to calls that change one thing alone; the calls of this table are not among them."],
        name="calls-together",
    )


TABLES = Tables(
    groups=(Group(410, calls_sections),),
    answers=calls_answers,
    operations={"payload": "a payload in shared memory", "call": "a command that does nothing"},
    own=("payload", "call"),
)
