# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the key cache's requests: the cost of each by place, and the cost of a hit beside its limit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section, Table, count, count_or_dash, factor, ratio, section_name, whole
from worldwise.base.units import size_text
from worldwise.families.keycache.report.answer import keycache_answers
from worldwise.families.keycache.report.load_tables import (
    CLOCK_GHZ,
    LOAD,
    STORAGES,
    ZIPF,
    hit_rates,
    keycache_load_sections,
)
from worldwise.families.keycache.report.lower_bound import Floor, Hit
from worldwise.families.keycache.report.mqtt_tables import keycache_mqtt_answer, keycache_mqtt_sections
from worldwise.families.keycache.report.survival_tables import keycache_hold_sections
from worldwise.families.keycache.spec import (
    KEYCACHE_ACTIONS,
    KEYCACHE_CUT,
    KEYCACHE_HOLD,
    KEYCACHE_MQTT,
    KEYCACHE_POLICIES,
)
from worldwise.read.models import Reading, Row
from worldwise.read.rows import RowIndex, is_quiet
from worldwise.report.table_builder import Column, name, number, section
from worldwise.report.tables import Group, ScreenAnswer, Tables

OPERATION = "keycache"
SOURCE = "mqttz-keys"
CLOCK = f"{CLOCK_GHZ} GHz"

# A request's verb -> the directions of app aes that it uses on the payload.
_AES = {"get": (), "seal": ("encrypt",), "open": ("decrypt",), "reencrypt": ("decrypt", "encrypt")}
_PLACES = ("client", "invoke", "ta", "storage")
# The places that a request passes through; a column is the difference of two neighbours, the last is a count.
_PARTS = ("client, TCP,\nTLS, server", "libteec, Linux,\nswitch, core", "TA", "storage")


@dataclass(frozen=True)
class _What:
    """The request of a row. `policy` and `storage` are the case's parameters."""

    verb: str
    state: str
    size: int
    storage: str
    policy: str
    variant: str

    @property
    def order(self) -> tuple[object, ...]:
        """The order in which people compare them: a request in each state, by each storage and policy."""
        action = f"{self.verb}-{self.state}"
        return (
            self.variant,
            KEYCACHE_ACTIONS.index(action),
            self.size,
            list(STORAGES).index(self.storage),
            KEYCACHE_POLICIES.index(self.policy),
        )


def _what(row: Row) -> _What:
    verb, _, state = row.given["action"].partition("-")
    return _What(verb, state, row.size or 0, row.given["storage"], row.given["policy"], row.variant)


class _RequestRows(RowIndex):
    """The rows of the key cache, by request and place, and the rows that limit a hit's cost."""

    def __init__(self, rows: Iterable[Row]) -> None:
        quiet = [row for row in rows if is_quiet(row)]
        own = (row for row in quiet if row.operation == OPERATION and row.size is not None)
        super().__init__(own, lambda row: (_what(row), row.place))
        self._floor = Floor(quiet)
        self.whats = sorted(dict.fromkeys(map(_what, self.rows)), key=lambda what: what.order)

    def empty(self, variant: str) -> float | None:
        """An empty invoke, in instructions."""
        return self._floor.empty(variant)

    def aes(self, what: _What) -> float | None:
        """The cost of a payload's AES-GCM in a TA, with setting its keys; None if it was not measured."""
        return self._floor.aes(what.variant, what.size, _AES[what.verb])

    def like(self, what: _What, states: Sequence[str], policies: Sequence[str]) -> float | None:
        """The same request with its key elsewhere, at place invoke: the first measured of these states and policies."""
        for policy in policies:
            for state in states:
                other = _What(what.verb, state, what.size, what.storage, policy, what.variant)
                found = self.median(other, "invoke")
                if found is not None:
                    return found
        return None


def keycache_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on the key cache's requests; empty if the run has no such rows. `full` adds nothing."""
    del full
    table = _RequestRows(reading.rows)
    if not table.whats:
        return []
    parts = [
        _hit_section(table),
        *(_place_section(table, variant) for variant in dict.fromkeys(what.variant for what in table.whats)),
        _published_section(table, reading),
        _legend_section(table),
    ]
    return [part for part in parts if part]


def _name(what: _What) -> str:
    return f"{what.verb.upper()} {what.state}"


def _hits(table: _RequestRows) -> dict[_What, Hit]:
    """What hits cost, of those whose limit was measured too."""
    found = {}
    for what in (one for one in table.whats if one.state == "hit"):
        row, empty, aes = table.row(what, "invoke"), table.empty(what.variant), table.aes(what)
        if row and empty is not None and aes is not None:
            found[what] = Hit(row, empty, aes)
    return found


def _hit_section(table: _RequestRows) -> Section | None:
    hits = _hits(table)

    def holds(limit: Callable[[Hit], float]) -> Column[_What]:
        return number("holds", lambda what: "yes" if hits[what].row.median <= limit(hits[what]) else "NO")

    def missed(header: str, policy: str = "") -> Column[_What]:
        return number(header, lambda what: count_or_dash(table.like(what, ("miss",), (policy or what.policy,))))

    return section(
        "The key cache, a hit beside an empty invoke and the AES of its payload: TA and kernel together",
        "keycache-hits",
        list(hits),
        [
            name("variant", lambda what: what.variant),
            name("request", _name),
            name("payload", lambda what: size_text(what.size)),
            name("storage, policy", lambda what: f"{STORAGES[what.storage]}, {what.policy}"),
            number("hit\ninstr", lambda what: count(hits[what].row.median)),
            number("greatest\ninstr", lambda what: count(hits[what].row.counts.max)),
            number("empty\ninstr", lambda what: count(hits[what].empty)),
            number("AES\ninstr", lambda what: count(hits[what].aes)),
            number("1.5 empty\n+ AES", lambda what: whole(hits[what].limit)),
            number(
                "(hit - AES)\n/ empty", lambda what: factor((hits[what].row.median - hits[what].aes) / hits[what].empty)
            ),
            holds(lambda hit: hit.limit),
            number("1.5 (empty\n+ AES)", lambda what: whole(hits[what].wider_limit)),
            holds(lambda hit: hit.wider_limit),
            missed("miss\ninstr"),
            missed("naive\ninstr", "naive"),
        ],
        [
            "hit, miss, naive: the server's TEEC_InvokeCommand (medians). empty: that of a command that does nothing "
            "and has no parameters. AES: what setting a key of 256 bits, the nonce and the message's AES-GCM cost in a "
            "TA that does nothing else (set-key, set-iv and cipher of app aes, whose set-iv also takes 13 bytes that "
            "are authenticated alone); of REENCRYPT both messages'. GET computes nothing.",
            "1.5 empty + AES: the limit of a hit, which is one and a half empty invokes and its AES. 1.5 (empty + "
            "AES): a wider limit, one and a half times both. holds: the median is not above the limit. greatest: of "
            "all samples; Linux's timer interrupts every 4 million instructions, for up to 21,000 of its own, and a "
            "sample that it falls into has them.",
            "hit: the key is in the TA, and is another one than that of the call before. miss: it comes along in a "
            "sealed record. naive: it is read from an object of secure storage of its own.",
        ],
    )


def _place_section(table: _RequestRows, variant: str) -> Section | None:
    at = {
        what: known
        for what in table.whats
        if what.variant == variant
        and len(known := [one for place in _PLACES if (one := table.median(what, place)) is not None]) == len(_PLACES)
    }

    def part(which: int, header: str) -> Column[_What]:
        return number(header, lambda what: count(at[what][which] - [*at[what], 0.0][which + 1]))

    def greatest(what: _What) -> str:
        row = table.row(what, "client")
        return count(row.counts.max) if row else "-"

    return section(
        f"The key cache, a request by the places it passes through, {variant} (instructions)",
        section_name("keycache-places", variant),
        list(at),
        [
            name("request", _name),
            name("payload", lambda what: size_text(what.size)),
            name("storage", lambda what: STORAGES[what.storage]),
            name("policy", lambda what: what.policy),
            number("request\ninstr", lambda what: count(at[what][0])),
            *(part(which, header) for which, header in enumerate(_PARTS)),
            number("invoke\ninstr", lambda what: count(at[what][1])),
            number("greatest\nrequest", greatest),
            number("assumed\nus", lambda what: f"{at[what][0] / (CLOCK_GHZ * 1000):,.1f}"),
        ],
    )


def _published_section(table: _RequestRows, reading: Reading) -> Section | None:
    figures = {figure.algorithm: figure for figure in reading.published_table if figure.source == SOURCE}
    memory, storage = figures.get("cache in the TA's memory"), figures.get("secure storage")
    if not memory or not storage:
        return None
    cells = []
    for what in table.whats:
        if (what.verb, what.state) != ("get", "hit"):
            continue
        hit = table.median(what, "invoke")
        cold = table.like(what, ("cold",), (what.policy,))
        naive = table.like(what, ("miss",), ("naive",))
        if not hit:
            continue
        cells.append([what.variant, f"{STORAGES[what.storage]}, {what.policy}"])
        for value in (hit, table.like(what, ("miss",), (what.policy,)), cold, naive):
            cells[-1] += [count_or_dash(value), "-" if value is None else f"{value / (CLOCK_GHZ * 1000):,.1f}"]
        cells[-1].append(ratio(naive / hit if naive else None))
    if not cells:
        return None
    cells.append(
        [
            "published",
            "",
            "-",
            f"{memory.value * 1000:,.0f}",
            *("-",) * 5,
            f"{storage.value * 1000:,.0f}",
            factor(storage.value / memory.value),
        ]
    )
    headers = ["variant", "storage, policy", "from the TA\ninstr", "us", "from a record\ninstr", "us"]
    headers += ["record lost\ninstr", "us", "naive\ninstr", "us", "naive /\nfrom the TA"]
    return Section(
        "The key cache, a key retrieved: published figures beside ours",
        Table(headers, cells, 2),
        [
            reading.published_reason,
            "ours: GET of a key of 32 bytes, the server's TEEC_InvokeCommand and all within it (medians). us: at "
            f"{CLOCK} and one instruction per cycle; published: of their clock. record lost: secure storage is read, a "
            "new record is sealed, and the key is taken from it; that is three calls, with the one by which a "
            "server that has just started asks for the cache's size. naive: an object of secure storage for each "
            "client, opened and read for every use. "
            + " ".join(dict.fromkeys(figure.note for figure in (memory, storage) if figure.note)),
        ],
        name="keycache-published",
    )


def _legend_section(table: _RequestRows) -> Section:
    includes = {row.place: row.counts.includes for row in table.rows}
    samples = sorted({row.counts.n for row in table.rows})
    return Section(
        "How to read the tables of the key cache",
        None,
        [
            "The places are one within the other, and what stands between two of them is the difference of their "
            "medians: client, TCP, TLS, server: the request's less the invoke's (both programs, and the kernel's TCP "
            "between them); libteec, Linux, switch, core: the invoke's less the TA's; TA: the TA's less storage's; "
            "storage: by itself, with what tee-supplicant does. What the regions within add to those around them is "
            "measured, and taken away.",
            f"Each sample ({', '.join(f'{n:,}' for n in samples)} a case) finds the state that its name says, as the "
            "TA's own counters confirm, and each answer is checked by another library in the client: the key, the "
            "plaintext, the message. 32 clients have keys. smart: S3-FIFO in the server. Misses: the TA has room for 4 "
            "keys and 24 other clients used theirs in between. cold: the server was started anew without its records.",
            "The measured server is the production server and knows nothing of it: the regions are in a "
            "library between it and "
            "libteec, and the TA is the production TA, with functions put between OP-TEE and it by the linker.",
            *(f"{place}: {text}." for place, text in includes.items()),
        ],
        name="keycache-legend",
    )


def _answers(reading: Reading) -> list[ScreenAnswer]:
    table = _RequestRows(reading.rows)
    attempts = [one for one in reading.attempts if one.operation in (KEYCACHE_CUT, KEYCACHE_HOLD)]
    requests = keycache_answers(reading, list(_hits(table).values()), keycache_load_sections, attempts)
    return requests or keycache_mqtt_answer(reading)


TABLES = Tables(
    groups=(
        Group(450, keycache_sections),
        Group(450, keycache_load_sections),
        Group(450, keycache_mqtt_sections),
        Group(450, keycache_hold_sections),
    ),
    answers=_answers,
    operations={
        OPERATION: "a request to the key cache",
        LOAD: "requests of redis-benchmark to the key cache",
        ZIPF: "requests of many clients to the key cache",
        KEYCACHE_MQTT: "messages through a broker that has the key cache re-encrypt them",
    },
    own=(OPERATION, LOAD, ZIPF, KEYCACHE_MQTT),
    charts=hit_rates,
)
