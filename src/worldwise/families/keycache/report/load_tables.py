# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the key cache under load: the cost of a request with many connections, and with many clients."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section, Table, factor, section_name, whole
from worldwise.families.keycache.spec import KEYCACHE_POLICIES, LOAD_ACTIONS, WORKLOADS
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.drawing.vega import WIDTH, Chart, chart, tooltip

# Okabe and Ito's.
_POLICY_COLOURS = {"none": "#6a6a6a", "naive": "#e69f00", "lru": "#0072b2", "smart": "#d55e00"}
LOAD, ZIPF = "keycache-load", "keycache-zipf"
# The further records of keycache-load and keycache-zipf.
BENCHMARK, HITS, ASKED = "redis-benchmark", "hits", "requests"
# The clock at which counts are shown as time and as rates, at one instruction per cycle.
CLOCK_GHZ = 2.0

_ACTIONS = {"ping": "PING", "seal": "SEAL", "reencrypt": "REENCRYPT"}
STORAGES = {"ree": "REE FS", "rpmb": "RPMB"}
_KEYS = (
    "keys: how many clients' keys are used, each as often by chance (redis-benchmark's __rand_int__). All were "
    "used before: with lru and smart each request is a hit, as INFO confirms."
)


def keycache_load_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on the key cache under load; empty if the run has no such rows. `full` adds nothing."""
    del full
    rows = [row for row in reading.rows if row.operation in (LOAD, ZIPF) and is_quiet(row)]
    parts: list[Section] = []
    for variant in dict.fromkeys(row.variant for row in rows):
        own = [row for row in rows if row.variant == variant]
        loads = _loads(reading, own)
        zipfs = _zipfs(reading, own)
        if loads:
            parts.append(_load_section(variant, loads))
        if zipfs:
            parts.append(_zipf_section(variant, zipfs))
    return [*parts, *_legend_section(rows)]


@dataclass(frozen=True)
class _Load:
    """One case of redis-benchmark.

    Attributes:
        short: a run with `requests`, in instructions.
        long: one with twice as many.
        said: requests per second that redis-benchmark reported, for each run.
    """

    given: dict[str, str]
    short: Row
    long: Row
    requests: int
    said: tuple[float, ...]

    @property
    def each(self) -> float:
        """Instructions of a request."""
        return (self.long.counts.mean - self.short.counts.mean) / self.requests

    @property
    def rest(self) -> float:
        """A run's instructions beside its requests, per connection."""
        return (2 * self.short.counts.mean - self.long.counts.mean) / int(self.given["connections"])

    @property
    def kind(self) -> tuple[str, ...]:
        """The case's parameters without the connections."""
        return tuple(self.given.get(key, "") for key in ("action", "size", "policy", "storage", "clients"))


@dataclass(frozen=True)
class _Zipf:
    """One case of many clients. `hits` of `asked` requests had their key in the TA; `row` is of batches of requests."""

    given: dict[str, str]
    row: Row
    hits: int
    asked: int

    @property
    def each(self) -> float:
        """Instructions of a request, over all batches but the first."""
        return self.row.counts.mean / int(self.given["requests"])

    @property
    def kind(self) -> tuple[str, ...]:
        """The case's parameters without the policy."""
        return tuple(self.given.get(key, "1") for key in ("workload", "clients", "bound", "storage"))


def _loads(reading: Reading, rows: Sequence[Row]) -> list[_Load]:
    found = {(row.case, row.measure): row for row in rows if row.operation == LOAD}
    loads = []
    for case in dict.fromkeys(case for case, _ in found):
        said = [one.result for one in reading.attempts if one.case == case and one.what.startswith(BENCHMARK)]
        short = found[case, "short"]
        given = short.given
        loads.append(_Load(given, short, found[case, "long"], int(given["requests"]), tuple(map(float, said))))
    actions, policies = LOAD_ACTIONS.index, KEYCACHE_POLICIES.index

    def order(load: _Load) -> tuple[int, ...]:
        given = load.given
        plain = (given["storage"] != "ree", "clients" in given)
        return (actions(given["action"]), *plain, policies(given["policy"]), int(given["connections"]))

    return sorted(loads, key=order)


def _zipfs(reading: Reading, rows: Sequence[Row]) -> list[_Zipf]:
    zipfs = []
    for row in rows:
        if row.operation != ZIPF:
            continue
        said = {one.what: one.result for one in reading.attempts if one.case == row.case}
        zipfs.append(_Zipf(row.given, row, int(said[HITS]), int(said[ASKED])))
    return zipfs


def _words(one: _Zipf) -> tuple[str, ...]:
    """What a workload is, without the policy."""
    workload, clients, bound, storage = one.kind
    return workload, f"{clients} clients", f"{bound} % kept", STORAGES[storage]


def hit_rates(reading: Reading) -> list[Chart]:
    """The share of requests that find their key in the TA, by policy, for each workload and number of clients."""
    zipfs = _zipfs(reading, reading.rows)
    if not zipfs:
        return []
    kinds = [_words(one) for one in zipfs]
    # What all have in common is said once.
    apart = [one for one in range(len(kinds[0])) if len({kind[one] for kind in kinds}) > 1]
    common = [word for one, word in enumerate(kinds[0]) if one not in apart]
    values = [
        {
            "what": ", ".join(kind[one] for one in apart) or ", ".join(kind),
            "policy": one.given["policy"],
            "rate": round(100 * one.hits / one.asked, 2),
            "requests": one.asked,
            "instructions": one.each,
        }
        for one, kind in zip(zipfs, kinds, strict=True)
    ]
    policies = [name for name in KEYCACHE_POLICIES if any(value["policy"] == name for value in values)]
    spec = {
        "width": WIDTH,
        "height": {"step": 22},
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {
            "y": {"field": "what", "type": "nominal", "sort": None, "title": None, "axis": {"grid": True}},
            "x": {
                "field": "rate",
                "type": "quantitative",
                "scale": {"domain": [0, 100]},
                "title": "requests that found their key in the TA, %",
            },
            "color": {
                "field": "policy",
                "type": "nominal",
                "scale": {"domain": policies, "range": [_POLICY_COLOURS[name] for name in policies]},
            },
            # With the colour's domain, or the two have a legend each.
            "shape": {"field": "policy", "type": "nominal", "scale": {"domain": policies}},
            "tooltip": tooltip(("rate", "requests", "instructions"), "what", "policy"),
        },
    }
    best = max(values, key=lambda value: float(str(value["rate"])))
    words = f"Most hits: {best['rate']} %, policy {best['policy']}, {best['what']}. The server counts them (INFO)."
    if apart and common:
        words += f" All: {', '.join(common)}."
    return [chart("rates", "rates-keycache", "Hit rates of the key cache", words, spec, values)]


def _rate(instructions: float) -> str:
    return whole(CLOCK_GHZ * 1e9 / instructions)


def _load_section(variant: str, loads: Sequence[_Load]) -> Section:
    floors = {load.given["connections"]: load.each for load in loads if load.given["action"] == "ping"}
    lines = []
    last: tuple[str, ...] = ()
    for load in loads:
        action, size, policy, storage, clients = load.kind
        label = [f"{_ACTIONS[action]} {size}", "-" if action == "ping" else policy, STORAGES[storage], clients or "1"]
        if action == "ping":
            label[2:] = ["-", "-"]
        floor = floors.get(load.given["connections"])
        lines.append(
            [
                *(label if load.kind != last else [""] * len(label)),
                load.given["connections"],
                whole(load.each),
                "-" if floor is None else factor(load.each / floor),
                _rate(load.each),
                f"{load.said[-1]:,.0f}" if load.said else "-",
                whole(load.rest),
            ]
        )
        last = load.kind
    headers = ["request", "policy", "storage", "keys", "connections", "instr /\nrequest", "/ PING"]
    headers += [f"requests/s,\nESTIMATE {CLOCK_GHZ:g} GHz", "redis-benchmark\nsays, 1 GHz", "instr /\nconnection"]
    samples = ", ".join(map(whole, sorted({load.long.counts.n for load in loads})))
    return Section(
        f"Key cache, throughput by redis-benchmark over TLS, {variant} (mean of {samples} samples)",
        Table(headers, lines, 4),
        [
            "instr / request: all that the machine's one processor executes for a request, redis-benchmark among it, "
            "without starts and handshakes: two runs, one with twice the other's requests, subtracted and divided.",
            "instr / connection: what a run has besides its requests, divided by the connections: redis-benchmark's "
            "start and end, the handshakes with both certificates, and its turning round while the last are answered.",
            _estimate_note(),
            "redis-benchmark says: requests per second by its own clock, which is the machine's: 1 ns for an "
            "instruction. Its time begins before the handshakes, so it says less than instr / request does.",
        ],
        name=section_name("keycache-load", variant),
    )


def _estimate_note() -> str:
    return (
        f"requests/s: an estimate, not measured: of one core at {CLOCK_GHZ:g} GHz that finishes one instruction per "
        "cycle, and has both client and server."
    )


def _zipf_section(variant: str, zipfs: Sequence[_Zipf]) -> Section:
    policies = [name for name in KEYCACHE_POLICIES if any(one.given["policy"] == name for one in zipfs)]
    kinds = sorted(
        dict.fromkeys(one.kind for one in zipfs),
        key=lambda kind: (kind[3] != "ree", WORKLOADS.index(kind[0]), int(kind[1]), int(kind[2])),
    )
    by_kind = {(one.kind, one.given["policy"]): one for one in zipfs}
    lines = []
    for kind in kinds:
        workload, clients, bound, storage = kind
        row = [by_kind.get((kind, policy)) for policy in policies]
        lines.append(
            [
                workload,
                STORAGES[storage],
                whole(int(clients)),
                f"{bound} %",
                whole(next(one.asked for one in row if one)),
                *(whole(one.hits) if one else "-" for one in row),
                *(f"{100 * one.hits / one.asked:.1f}" if one else "-" for one in row),
                *(whole(one.each) if one else "-" for one in row),
            ]
        )
    headers = ["workload", "storage", "clients", "kept", "requests"]
    for unit in ("hits", "%", "instr"):
        headers += [f"{unit}:\n{name}" if not at else name for at, name in enumerate(policies)]
    return Section(
        f"Key cache, many clients, {variant}: GET, one connection",
        Table(headers, lines, 2),
        [
            "hits, %: requests that found their key in the TA, of all, as INFO counts them. They are those of the "
            "policy alone, in keycache-sim, to the last one: each case compares them, and fails if they differ.",
            "instr: of a request, all that the one processor executes, with the client and TLS; mean of all requests "
            "but the first batch, in which the cache fills.",
        ],
        name=section_name("keycache-clients", variant),
    )


def _legend_section(rows: Iterable[Row]) -> list[Section]:
    shown = list(rows)
    if not shown:
        return []
    includes = {f"{row.measure}, {row.place}": row.counts.includes for row in shown}
    return [
        Section(
            "How to read the tables of the key cache under load",
            None,
            [
                "policy none: each use opens a sealed record of the normal world. lru: the TA keeps what was used "
                "last. smart: the server decides (S3-FIFO). naive: neither cache nor records, each use reads secure "
                "storage, which is cheapest with one key in it.",
                *([_KEYS] if any(row.operation == LOAD for row in shown) else []),
                *(f"{what}: {text}." for what, text in includes.items()),
            ],
            name="keycache-load-legend",
        )
    ]
