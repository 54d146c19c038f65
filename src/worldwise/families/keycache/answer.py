# SPDX-License-Identifier: BSD-2-Clause
"""The answer of the key cache on one screen: the cost of requests, the cost of a load, or what it survives."""

from collections.abc import Callable, Sequence

from worldwise.base.tables import Section, Table, whole
from worldwise.base.units import size_text
from worldwise.families.keycache.attempts import HOLDS
from worldwise.families.keycache.cut import GOOD
from worldwise.plan.case import parameters_of
from worldwise.read.models import Attempt, Reading, Row
from worldwise.read.order import is_quiet
from worldwise.report.surprises import clock_text, milliseconds, spread_surprises
from worldwise.report.tables import ANSWER_LINES, Answer

# The answer shows this state: the server manages the cache, its storage is the REE file system.
_POLICIES = ("smart", "lru", "none", "naive")


def keycache_answer(
    reading: Reading,
    hits: Section | None,
    load: Callable[[Reading], list[Section]],
    attempts: Sequence[Attempt],
) -> Answer | None:
    """The answer on requests if the run has them, else on a load, else on the attempts. None if it has none of these.

    `hits` is the table of hits and the most that they may cost.
    """
    return _requests(reading, hits) or _load(reading, load(reading)) or _withstood(attempts)


def _requests(reading: Reading, hits: Section | None) -> Answer | None:
    rows = [row for row in reading.rows if row.operation == "keycache" and is_quiet(row)]
    if not rows:
        return None
    found: dict[tuple[str, int, str], dict[str, Row]] = {}
    for row in rows:
        given = parameters_of(row.parameters)
        found.setdefault((given["action"], row.size or 0, given["storage"]), {}).setdefault(
            f"{given['policy']} {row.place}", row
        )
    cells = []
    for (action, size, storage), places in found.items():
        policy = next((name for name in _POLICIES if f"{name} client" in places), "")
        whole_request, invoke = places.get(f"{policy} client"), places.get(f"{policy} invoke")
        if whole_request:
            verb, _, state = action.partition("-")
            line = [f"{verb.upper()} {state}", size_text(size), storage, policy, whole(whole_request.median)]
            line += [whole(invoke.median) if invoke else "-", milliseconds(whole_request.median, reading)]
            cells.append(line)
    headers = ["request", "payload", "storage", "policy", "client\ninstr", "invoke\ninstr"]
    headers += [f"assumed at\n{clock_text(reading)}, ms"]
    return Answer(
        "What a request to the key cache costs",
        Table(headers, cells[:ANSWER_LINES], 4),
        _verdict(hits),
        spread_surprises(rows),
        ("keycache-hits", "keycache-places"),
    )


def _verdict(hits: Section | None) -> str:
    if not hits or not hits.table:
        return ""
    column = hits.table.headers.index("holds")
    over = sum(row[column] != "yes" for row in hits.table.rows)
    if over:
        return f"{over} of {len(hits.table.rows)} hits cost more than 1.5 empty invokes and the AES of their payload."
    return "Every hit costs no more than 1.5 empty invokes and the AES of its payload."


def _load(reading: Reading, sections: Sequence[Section]) -> Answer | None:
    shown = next((section for section in sections if section.table), None)
    if not shown or not shown.table:
        return None
    rows = [row for row in reading.rows if row.operation.startswith("keycache")]
    table = Table(shown.table.headers, shown.table.rows[:ANSWER_LINES], shown.table.left)
    left = len(shown.table.rows) - len(table.rows)
    more = (f"{left} more lines are in the section.",) if left else ()
    return Answer(
        "What the key cache costs under load",
        table,
        surprises=(*more, *spread_surprises(rows)),
        sections=("keycache-load", "keycache-clients"),
    )


def _withstood(attempts: Sequence[Attempt]) -> Answer | None:
    if not attempts:
        return None
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for one in attempts:
        groups.setdefault((one.operation, parameters_of(one.parameters).get("storage", "-")), []).append(one)
    cells = []
    for (operation, storage), tried in groups.items():
        good = sum(one.result in (*GOOD, HOLDS) for one in tried)
        cells.append([operation, storage, whole(len(tried)), whole(good), whole(len(tried) - good)])
    bad = [one for one in attempts if one.result not in (*GOOD, HOLDS)]
    names = dict.fromkeys(f"{one.what} ({one.result})" for one in bad)
    return Answer(
        "What the key cache survives",
        Table(["what was tried", "storage", "\nattempts", "\nholds", "does\nnot"], cells[:ANSWER_LINES], 2),
        f"{len(attempts) - len(bad):,} of {len(attempts):,} attempts hold.",
        (f"Does not hold: {'; '.join(list(names)[:4])}.",) if names else (),
        ("keycache-attempts", "keycache-cuts"),
    )
