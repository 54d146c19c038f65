# SPDX-License-Identifier: BSD-2-Clause
"""Reports of the TCP echo servers: what a message costs by each kind of server, and the host's times beside it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from worldwise.base.tables import Section, Table, count, factor, section_name, whole
from worldwise.base.units import size_text
from worldwise.families.echo.host_times import STREAM_MESSAGES
from worldwise.families.echo.readings import Host, HostTime
from worldwise.plan.case import parameters_of
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.table_builder import Column, answer, any_of, name, number, per_side
from worldwise.report.tables import Group, ScreenAnswer, Tables


def echo_answer(reading: Reading, servers: Mapping[str, str]) -> list[ScreenAnswer]:
    """Round trips by size of the message; `servers` is the words for each. Nothing if the run has none."""
    rows = [row for row in reading.rows if (row.operation, row.measure) == ("echo", "round-trip") and is_quiet(row)]
    lines = side_by_side(rows, lambda row: (row.variant, row.size), lambda row: row.given["server"], servers)
    return answer(
        "What a round trip of TCP costs by server",
        sorted(lines.found, key=lambda line: (any_of(line).variant, any_of(line).size or 0)),
        [
            name("variant", lambda line: any_of(line).variant),
            name("message", lambda line: size_text(any_of(line).size or 0)),
            *per_side({side: f"{servers[side]}\ninstr" for side in lines.sides}),
            *(_against_linux(side, f"{servers[side]}\n/ Linux") for side in lines.sides if side != "linux"),
        ],
        ("echo-round-trips", "echo-throughput"),
        rows=rows,
    )


def _against_linux(side: str, header: str) -> Column[Mapping[str, Row]]:
    def cell(line: Mapping[str, Row]) -> str:
        return factor(line[side].median / line["linux"].median) if {side, "linux"} <= line.keys() else "-"

    return number(header, cell)


# The kinds of server as tables name them, the plain one first.
SERVERS = {"linux": "Linux", "call": "TA called", "socket": "TA's socket"}

_WHAT = (
    "Linux: a process that echoes. TA called: a process that hands each message to the TA in shared memory, made once, "
    "and sends what the TA gives back. TA's socket: the TA itself receives and sends, by GlobalPlatform's TEE Sockets; "
    "tee-supplicant does the network for it."
)
_DIRECTION = (
    "TEE Sockets can connect and not listen: the TA's socket is one that the TA opened to its client, where the other "
    "two servers are connected to."
)
_COUNTED = (
    "The count is all that the one processor executes from the client's send until it has everything back: client, "
    "server, TCP in the kernel, and with a TA both worlds and tee-supplicant."
)
_ACKNOWLEDGED = (
    "TEE Sockets have no TCP_NODELAY. What they send waits until all before it is acknowledged, for 40 ms if the "
    "peer acknowledges as Linux does by default. The client here acknowledges at once whatever it has of an answer "
    "that is not complete, which the other two servers do not need."
)
_STREAM = f"A stream is {STREAM_MESSAGES} messages, sent without waiting for an answer; the counts are of one of them."
_HOST_TIME = (
    "Wall time of this host: of an emulator without instruction counting, its network code and a client in Python. It "
    "says nothing of a board, does not repeat, and is never compared with a count or by --verify. The least of the "
    "samples is what the host's other work disturbed least."
)
_HOST_LINK = (
    "The client is on the host's loopback, 127.0.0.1, joined to the machine's network card by QEMU's user network. For "
    "the TA's socket QEMU takes the TA's connection to the client's listener."
)


class _Cell(Protocol):
    @property
    def parameters(self) -> str: ...


_C = TypeVar("_C", bound=_Cell)
_Grid = dict[int, dict[str, _C]]


def echo_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The tables of the echo servers, one set for each variant; none if the run has no such case.

    `full` adds the first round trip, which finds nothing in place, and the spread.
    """
    rows = [row for row in reading.rows if row.operation == "echo" and is_quiet(row)]
    host = reading.part(Host).host
    variants = dict.fromkeys([row.variant for row in rows] + [times.variant for times in host])
    parts = []
    for variant in variants:
        own = [row for row in rows if row.variant == variant]
        trips = _grid([row for row in own if row.measure == "round-trip"], lambda row: row.size or 0)
        streams = _grid([row for row in own if row.measure == "stream"], lambda row: row.size or 0)
        if trips:
            parts.append(_round_trips(variant, trips, full))
        if streams:
            parts.append(_streams(variant, streams))
        times = [times for times in host if times.variant == variant]
        if times:
            parts.append(_host(variant, times))
    return parts


def _grid(cells: Sequence[_C], size: Callable[[_C], int]) -> _Grid[_C]:
    """Cells by size, then by server in the order of SERVERS."""
    found: _Grid[_C] = {}
    for cell in sorted(cells, key=size):
        found.setdefault(size(cell), {})[_server(cell.parameters)] = cell
    return {key: {name: row[name] for name in SERVERS if name in row} for key, row in found.items()}


def _server(parameters: str) -> str:
    return parameters_of(parameters)["server"]


def _there(grid: _Grid[_C]) -> list[str]:
    """The servers that any size has, in the order of SERVERS."""
    return [name for name in SERVERS if any(name in row for row in grid.values())]


def _under(unit: str, servers: Sequence[str]) -> list[str]:
    """The headers of neighbouring columns of one unit, which the first of them names."""
    return [f"{unit}: {SERVERS[name]}" if at == 0 else SERVERS[name] for at, name in enumerate(servers)]


def _cells(row: Mapping[str, _C], servers: Sequence[str], text: Callable[[_C], str]) -> list[str]:
    return [text(row[name]) if name in row else "-" for name in servers]


def _times_linux(row: Mapping[str, Row], servers: Sequence[str]) -> list[str]:
    plain = row.get("linux")
    return [factor(row[name].median / plain.median) if plain and name in row else "-" for name in servers]


def _round_trips(variant: str, grid: _Grid[Row], full: bool) -> Section:
    servers = _there(grid)
    with_ta = [name for name in servers if name != "linux"]
    headers = ["message", *(f"{SERVERS[name]}: instr" for name in servers)]
    headers += [f"{SERVERS[name]} / Linux" for name in with_ta]
    if full:
        for name in servers:
            headers += [f"{SERVERS[name]}: first", "min", "max"]
    rows = []
    for size, row in grid.items():
        cells = [size_text(size), *_cells(row, servers, lambda one: count(one.median)), *_times_linux(row, with_ta)]
        if full:
            for name in servers:
                one = row.get(name)
                cells += [whole(one.counts.first), whole(one.counts.min), whole(one.counts.max)] if one else ["-"] * 3
        rows.append(cells)
    notes = [_WHAT, _COUNTED]
    if "socket" in servers:
        notes += [_DIRECTION, _ACKNOWLEDGED]
    least, most = min(grid), max(grid)
    notes += [
        f"{SERVERS[name]} costs {_more(grid[size][name].median - grid[size]['linux'].median)} than Linux for a message "
        f"of {size_text(size)}."
        for name in with_ta
        for size in dict.fromkeys((least, most))
        if "linux" in grid[size] and name in grid[size]
    ]
    samples = min(one.counts.n for row in grid.values() for one in row.values())
    return Section(
        f"TCP echo, {variant}: one round trip, client in the same machine (median of {samples} samples)",
        Table(headers, rows, left=1),
        notes,
        name=section_name("echo-round-trips", variant),
    )


def _more(difference: float) -> str:
    return f"{whole(abs(difference))} instructions {'less' if difference < 0 else 'more'}"


def _streams(variant: str, grid: _Grid[Row]) -> Section:
    servers = _there(grid)
    with_ta = [name for name in servers if name != "linux"]
    headers = ["message", *_under("instr/msg", servers), *_under("instr/B", servers)]
    headers += [f"{SERVERS[name]} / Linux" for name in with_ta]
    rows = [
        [
            size_text(size),
            *_cells(row, servers, lambda one: whole(one.median / STREAM_MESSAGES)),
            *_cells(row, servers, lambda one: f"{one.median / STREAM_MESSAGES / (one.size or 1):,.2f}"),
            *_times_linux(row, with_ta),
        ]
        for size, row in grid.items()
    ]
    samples = min(one.counts.n for row in grid.values() for one in row.values())
    return Section(
        f"TCP echo, {variant}: throughput, client in the same machine (median of {samples} samples)",
        Table(headers, rows, left=1),
        [_STREAM],
        name=section_name("echo-throughput", variant),
    )


def _host(variant: str, times: Sequence[HostTime]) -> Section:
    trips = _grid([one for one in times if one.measure == "round-trip"], lambda one: one.size)
    streams = _grid([one for one in times if one.measure == "stream"], lambda one: one.size)
    servers = _there(trips)
    headers = ["message"]
    for server in servers:
        headers += [f"{SERVERS[server]}: us", "least us"]
    headers += _under("kB/s", servers)
    rows = []
    for size, row in trips.items():
        cells = [size_text(size)]
        for server in servers:
            cells += [whole(row[server].median), whole(row[server].min)] if server in row else ["-", "-"]
        cells += _cells(
            streams.get(size, {}), servers, lambda one: f"{one.size * one.messages / one.median * 1000:,.1f}"
        )
        rows.append(cells)
    loads = [one.load for one in times]
    # Linux delays an acknowledgement by 40 ms.
    paused = [size_text(size) for size, row in trips.items() if "socket" in row and row["socket"].min > 40_000]
    pause = (
        f"Every round trip to the TA's socket at {', '.join(paused)} takes more than 40 ms. Linux puts an "
        "acknowledgement off for that long: on this link something waited for one. No such pause is in the counts."
    )
    return Section(
        f"TCP echo, {variant}: client on the host, HOST TIME of an emulator "
        f"(median of {min(one.n for one in times)} samples)",
        Table(headers, rows, left=1),
        [
            _HOST_TIME,
            _HOST_LINK,
            *([pause] if paused else []),
            f"us: one round trip. kB/s: 1000 bytes of messages echoed per second, in streams of {STREAM_MESSAGES}. The "
            f"host's load average was {min(loads):.1f} to {max(loads):.1f}.",
        ],
        name=section_name("echo-host-time", variant),
    )


TABLES = Tables(
    groups=(Group(440, echo_sections),),
    answers=lambda reading: echo_answer(reading, SERVERS),
    operations={"echo": "a message echoed"},
    own=("echo",),
)
