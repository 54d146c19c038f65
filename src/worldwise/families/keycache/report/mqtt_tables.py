# SPDX-License-Identifier: BSD-2-Clause
"""Tables of messages through the broker: the cost of relaying one, by receivers, payload and QoS, and beside others."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section, Table, count, count_or_dash, factor, ratio, section_name, whole
from worldwise.base.units import size_text
from worldwise.families.keycache.report.lower_bound import Floor
from worldwise.families.keycache.spec import KEYCACHE_MQTT, RELAYS
from worldwise.read.models import Reading, Row
from worldwise.read.rows import Key, RowIndex, is_quiet
from worldwise.report.surprises import spread_surprises
from worldwise.report.table_builder import Column, answer, number, section
from worldwise.report.tables import ScreenAnswer

SOURCE = "mqttz-keys"
# A receiver's share of the call of the TA may cost so many times the AES of its message, and its share of an invoke.
ALLOWED = 1.3
# BURST_MESSAGES in guest/apps/keycache/mqtt/mqtt.c.
_BURST = 8
# The published times name no clock. Assumed: that of a Raspberry Pi 3, a slow board with OP-TEE, and one instruction in
# each cycle.
_PUBLISHED_GHZ = 1.2

_NAMES = {
    "off": "none",
    "ree": "REE",
    "hit": "TEE, hit",
    "miss": "TEE, miss",
    "naive": "TEE, naive",
}
_PLACES = ("client", "relay", "invoke", "ta", "storage")
_PARTS = ("clients, broker,\nplugin", "TLS, server", "libteec, Linux,\nswitch, core", "TA", "storage")


@dataclass(frozen=True)
class _What:
    """What is relayed: to how many, of which size, by which QoS."""

    variant: str
    subscribers: int
    size: int
    qos: int

    @property
    def label(self) -> list[str]:
        """Its cells in tables."""
        return [str(self.subscribers), size_text(self.size), str(self.qos)]


def _what(row: Row) -> _What:
    return _What(row.variant, int(row.given["subscribers"]), row.size or 0, int(row.given.get("qos", 0)))


def _key(row: Row) -> Key:
    return (_what(row), row.given["relay"], row.measure, row.place)


class _MessageRows(RowIndex):
    """The rows of messages through the broker: by what is relayed, how, the measure and the place."""

    def __init__(self, rows: Iterable[Row]) -> None:
        quiet = [row for row in rows if is_quiet(row)]
        self.floor = Floor(quiet)
        super().__init__((row for row in quiet if row.operation == KEYCACHE_MQTT), _key)
        whats = dict.fromkeys(map(_what, self.rows))
        self.whats = sorted(whats, key=lambda what: (what.variant, what.qos, what.size, what.subscribers))

    def message(self, what: _What, relay: str, place: str = "client") -> Row | None:
        """One message, at a place."""
        return self.row(what, relay, "message", place)

    def cost(self, what: _What, relay: str, place: str = "client") -> float | None:
        """Its median; None if it was not measured."""
        return self.median(what, relay, "message", place)

    def each(self, what: _What, relay: str) -> float | None:
        """A message of a burst."""
        found = self.median(what, relay, "burst", "client")
        return None if found is None else found / _BURST


def keycache_mqtt_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on messages through the broker; empty if the run has no such rows. `full` adds nothing."""
    del full
    table = _MessageRows(reading.rows)
    if not table.whats:
        return []
    parts: list[Section | None] = []
    for variant in dict.fromkeys(what.variant for what in table.whats):
        whats = [what for what in table.whats if what.variant == variant]
        parts += [
            _beside_section(table, variant, whats),
            _limit_section(table, variant, whats),
            _place_section(table, variant, whats),
            _throughput_section(table, variant, whats),
            _published_section(table, reading, variant, whats),
        ]
    return [*(part for part in parts if part), _legend_section(table)]


def _over(value: float | None, by: float | None) -> str:
    return ratio(value / by if value is not None and by else None)


_LABELS: list[Column[_What]] = [
    number("subscribers", lambda what: what.label[0]),
    number("payload", lambda what: what.label[1]),
    number("QoS", lambda what: what.label[2]),
]


def _relays(value: Callable[[_What, str], float | None]) -> list[Column[_What]]:
    """A column for each way of re-encrypting."""

    def column(relay: str) -> Column[_What]:
        return number(f"{_NAMES[relay]}\ninstr", lambda what: count_or_dash(value(what, relay)))

    return [column(relay) for relay in RELAYS]


def _beside_section(table: _MessageRows, variant: str, whats: Sequence[_What]) -> Section | None:
    def over(relay: str, by: str) -> Callable[[_What], str]:
        return lambda what: _over(table.cost(what, relay), table.cost(what, by))

    def share(what: _What) -> str:
        hit = table.cost(what, "hit")
        return "-" if hit is None else whole(hit / what.subscribers)

    return section(
        f"Broker, a message to its subscribers, {variant} (medians)",
        section_name("keycache-mqtt", variant),
        whats,
        [
            *_LABELS,
            *_relays(table.cost),
            number("hit /\nreceiver", share),
            number("hit /\nnone", over("hit", "off")),
            number("hit /\nREE", over("hit", "ree")),
            number("naive /\nhit", over("naive", "hit")),
        ],
        [
            "All that the machine's one processor executes from the publisher's PUBLISH until every subscriber has its "
            "message: clients, broker, key cache, both worlds. none: the same broker without the plugin, whose "
            "subscribers get what was published. REE: the plugin, and the TA's code in the server's own process, "
            "with OpenSSL's AES. hit: the TA has all keys. miss: it has none, and each comes along in a sealed record. "
            "naive: no cache; for each receiver a session of the TA is opened, and both keys are read from secure "
            "storage."
        ],
    )


def _limit_section(table: _MessageRows, variant: str, whats: Sequence[_What]) -> Section | None:
    empty = table.floor.empty(variant)
    cells = []
    for what in whats:
        seal = table.floor.aes(variant, what.size, ("encrypt",))
        unseal = table.floor.aes(variant, what.size, ("decrypt",))
        invoke = table.cost(what, "hit", "invoke")
        if None in (empty, seal, unseal, invoke) or not (empty and seal and unseal and invoke):
            continue
        aes, share = unseal / what.subscribers + seal, empty / what.subscribers
        limit = ALLOWED * aes + share
        row = table.message(what, "hit", "invoke")
        cells.append(
            [
                *what.label,
                count(invoke),
                count(row.counts.max) if row else "-",
                whole(invoke / what.subscribers),
                whole(aes),
                whole(share),
                whole(limit),
                factor((invoke / what.subscribers - share) / aes),
                "yes" if invoke / what.subscribers <= limit else "NO",
            ]
        )
    if not cells:
        return None
    headers = ["subscribers", "payload", "QoS", "invoke\ninstr", "greatest\ninstr", "/ receiver", "AES open/n\n+ seal"]
    headers += ["invoke/n", f"{ALLOWED} AES\n+ invoke/n", "(/ receiver -\ninvoke/n) / AES", "holds"]
    return Section(
        f"Broker, a receiver's share of the TA's call beside the AES of its message, {variant}",
        Table(headers, cells, 0, (10,)),
        [
            "invoke: the server's TEEC_InvokeCommand that re-encrypts a message for all its receivers, keys in the TA "
            "(medians). AES open/n + seal: what opening the message costs a TA that does nothing else, divided by the "
            "receivers, and sealing it once (set-key, set-iv and cipher of app aes, AES-256-GCM). invoke/n: an empty "
            "invoke, divided by the receivers. holds: the median is not above the limit."
        ],
        name=section_name("keycache-mqtt-limit", variant),
    )


def _place_section(table: _MessageRows, variant: str, whats: Sequence[_What]) -> Section:
    cells = []
    for what in whats:
        for relay in RELAYS:
            rows = [table.message(what, relay, place) for place in _PLACES]
            medians = [row.median for row in rows if row]
            if len(medians) != len(_PLACES) or not rows[0]:
                continue
            parts = [around - inside for around, inside in zip(medians, [*medians[1:], 0.0], strict=True)]
            if relay == "ree":
                # The TA's code is in the server there: nothing goes through a place further in.
                parts[2:] = [0.0] * 3
            cells.append(
                [
                    *what.label,
                    _NAMES[relay],
                    count(medians[0]),
                    count(rows[0].counts.min),
                    count(rows[0].counts.max),
                    *(count(part) if part else "-" for part in parts),
                    whole(medians[0] / what.subscribers),
                ]
            )
    headers = ["subscribers", "payload", "QoS", "re-encryption", "message\ninstr", "least", "greatest", *_PARTS]
    return Section(
        f"Broker, a message by the places it passes through, {variant} (instructions)",
        Table([*headers, "message /\nreceiver"], cells, 0, (3,)),
        [
            "Each column is the difference of two places' medians, the last of them a place itself. TLS, server: the "
            "plugin's one request to the key cache, without the TA (REE: with the TA's code). Two runs have the same "
            "counts. Within a run they differ by what TLS, random numbers, and the timer's interrupts do, and by how "
            "far the broker is when a client reads: hence least and greatest."
        ],
        name=section_name("keycache-mqtt-places", variant),
    )


def _throughput_section(table: _MessageRows, variant: str, whats: Sequence[_What]) -> Section | None:
    def each(what: _What, relay: str) -> float | None:
        value = table.each(what, relay)
        return None if value is None else round(value)

    def rate(relay: str) -> Callable[[_What], str]:
        return lambda what: "-" if (value := table.each(what, relay)) is None else whole(1e9 / value)

    def over(relay: str, by: str) -> Callable[[_What], str]:
        return lambda what: _over(table.each(what, relay), table.each(what, by))

    def latency(what: _What) -> str:
        value = table.cost(what, "hit")
        return "-" if value is None else f"{value / 1e6:,.2f}"

    return section(
        f"Broker, throughput and latency in the machine, {variant} (medians)",
        section_name("keycache-mqtt-throughput", variant),
        whats,
        [
            *_LABELS,
            *_relays(each),
            number("none, messages/s\nEMULATED", rate("off")),
            number("hit, messages/s\nEMULATED", rate("hit")),
            number("hit's rate /\nnone's", over("off", "hit")),
            number("hit's rate /\nREE's", over("ree", "hit")),
            number("latency of hit\nEMULATED ms", latency),
        ],
        [
            f"A message of {_BURST} that are published before the first is received: all that the one processor "
            "executes, divided by them. EMULATED: time of the machine's own clock, in which an instruction takes 1 ns; "
            "no core's. messages/s: messages published; as many times the subscribers are delivered. latency: of one "
            "message alone, until the last subscriber has it. Clients, broker and key cache share the processor."
        ],
    )


def _published_section(table: _MessageRows, reading: Reading, variant: str, whats: Sequence[_What]) -> Section | None:
    figures = {
        (figure.operation, figure.algorithm): figure
        for figure in reading.published_table
        if figure.source == SOURCE and figure.unit == "s"
    }
    cells = []
    for what in whats:
        name = f"message to {what.subscribers} subscriber{'s' * (what.subscribers > 1)}"
        ree, tee = (figures.get((name, f"re-encryption in the {world}")) for world in ("REE", "TEE"))
        ours, beside = table.cost(what, "hit"), table.cost(what, "ree")
        if not ree or not tee or ours is None or (what.qos, what.size) != (0, 256):
            continue
        theirs = tee.value * _PUBLISHED_GHZ * 1e9 / what.subscribers
        cells.append(
            [
                str(what.subscribers),
                f"{ree.value * 1000:,.0f}",
                f"{tee.value * 1000:,.0f}",
                factor(tee.value / ree.value),
                whole(theirs),
                *("-" if one is None else f"{one / (_PUBLISHED_GHZ * 1e6):,.2f}" for one in (beside, ours)),
                _over(ours, beside),
                whole(ours / what.subscribers),
                whole(theirs / (ours / what.subscribers)),
            ]
        )
    if not cells:
        return None
    headers = [
        "subscribers",
        "published\nREE, ms",
        "published\nTEE, ms",
        "TEE /\nREE",
        "TEE / receiver,\nASSUMED instr",
    ]
    headers += [
        "ours, REE,\nASSUMED ms",
        "ours, TEE,\nASSUMED ms",
        "TEE /\nREE",
        "TEE / receiver,\ninstr",
        "published\n/ ours",
    ]
    return Section(
        f"Broker, MQT-TZ's published times beside ours, {variant}",
        Table(headers, cells, 0),
        [
            reading.published_reason,
            f"ASSUMED: {_PUBLISHED_GHZ} GHz and one instruction per cycle, theirs and ours. MQT-TZ's data name "
            "neither; at a higher clock their time has more instructions, at more cycles per instruction fewer. Its "
            "code started a process for each receiver, which opened a session of the TA and printed its result; what "
            "went on to the receivers was the publisher's own ciphertext. Ours are medians of one message of 256 "
            "bytes, hits, with the clients' work.",
        ],
        name=section_name("keycache-mqtt-published", variant),
    )


def _legend_section(table: _MessageRows) -> Section:
    includes = {f"{row.measure}, {row.place}": row.counts.includes for row in table.rows}
    samples = sorted({row.counts.n for row in table.rows})
    return Section(
        "How to read the tables of the broker",
        None,
        [
            f"Samples a case: {', '.join(f'{n:,}' for n in samples)}. Stock mosquitto 2.1, TLS 1.3 with a certificate "
            "for each client; publisher and subscribers are one process, with a connection each. After each sample "
            "every subscriber's message was opened with its own key, and no two were the same; the key cache's "
            "counters said that keys were found where the row's name says.",
            *(f"{what}: {text}." for what, text in includes.items()),
        ],
        name="keycache-mqtt-legend",
    )


def keycache_mqtt_answer(reading: Reading) -> list[ScreenAnswer]:
    """The answer on one screen; nothing if the run has no messages through the broker."""
    table = _MessageRows(reading.rows)
    if not table.whats:
        return []
    variant = table.whats[0].variant
    whats = [what for what in table.whats if what.variant == variant]
    published = _published_section(table, reading, variant, whats)
    names = ("keycache-mqtt", "keycache-mqtt-places", *(("keycache-mqtt-published",) if published else ()))
    sections = [section_name(each, variant) for each in names]
    title = f"What a broker that cannot read costs, {variant}: a message re-encrypted for each subscriber"
    verdict = _verdict(_limit_section(table, variant, whats))

    def cost(relay: str) -> Callable[[_What], str]:
        return lambda what: count_or_dash(table.cost(what, relay))

    found = answer(
        title,
        [what for what in whats if table.cost(what, "hit") is not None],
        [
            *_LABELS,
            number("none\ninstr", cost("off")),
            number("REE\ninstr", cost("ree")),
            number("TEE\ninstr", cost("hit")),
            number("TEE /\nreceiver", lambda what: whole((table.cost(what, "hit") or 0) / what.subscribers)),
            number("TEE /\nnone", lambda what: _over(table.cost(what, "hit"), table.cost(what, "off"))),
            number("rate /\nnone's", lambda what: _over(table.each(what, "off"), table.each(what, "hit"))),
        ],
        sections,
        rows=table.rows,
        verdict=verdict,
    )
    # Without a hit there is the verdict alone.
    return found or [ScreenAnswer(title, None, verdict, spread_surprises(table.rows), tuple(sections))]


def _verdict(limit: Section | None) -> str:
    if not limit or not limit.table:
        return ""
    over = sum(row[-1] != "yes" for row in limit.table.rows)
    if over:
        shares = f"{over} of {len(limit.table.rows)} receivers' shares of the TA's call"
        return f"{shares} cost more than {ALLOWED} AES and their share of an invoke."
    return f"Every receiver's share of the TA's call costs no more than {ALLOWED} AES and its share of an invoke."
