# SPDX-License-Identifier: BSD-2-Clause
"""The answers of the key cache on one screen: the cost of requests, the cost of a load, or what it survives."""

from collections.abc import Callable, Sequence

from worldwise.base.tables import Section, whole
from worldwise.base.units import size_text
from worldwise.families.keycache.attempts import HOLDS
from worldwise.families.keycache.power_cut import GOOD
from worldwise.families.keycache.report.lower_bound import ALLOWED, Hit
from worldwise.families.keycache.spec import KEYCACHE_CUT, KEYCACHE_HOLD
from worldwise.read.models import Attempt, Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.contests import side_by_side
from worldwise.report.surprises import clock_text, milliseconds, spread_surprises
from worldwise.report.table_builder import answer, name, number, per_side
from worldwise.report.tables import ScreenAnswer, named_sections

# The order of importance: what a cache is for comes first, then by which policy.
_ACTIONS_FIRST = ("get-hit", "seal-hit", "open-hit", "reencrypt-hit", "get-miss", "set-new")
_POLICIES_FIRST = ("smart", "lru", "none", "naive")
_STORAGES_FIRST = ("ree", "rpmb")
_PLACES = ("client", "invoke")
_SECTIONS = (("keycache-attempts", KEYCACHE_HOLD), ("keycache-cuts", KEYCACHE_CUT))


def keycache_answers(
    reading: Reading,
    hits: Sequence[Hit],
    load: Callable[[Reading], list[Section]],
    attempts: Sequence[Attempt],
) -> list[ScreenAnswer]:
    """The answer on requests if the run has them, else on a load, else on the attempts; nothing if it has none.

    `hits` are beside the most that they may cost.
    """
    return _requests(reading, hits) or _load(reading, load(reading)) or _withstood(attempts)


def _requests(reading: Reading, hits: Sequence[Hit]) -> list[ScreenAnswer]:
    rows = [row for row in reading.rows if row.operation == "keycache" and is_quiet(row)]
    lines = side_by_side(
        (row for row in rows if row.place in _PLACES),
        lambda row: (row.variant, row.parameters),
        lambda row: row.place,
        _PLACES,
    )
    return answer(
        "What a request to the key cache costs: medians",
        sorted((line for line in lines.found if "client" in line), key=lambda line: _first(line["client"])),
        [
            name("request", lambda line: _request(line["client"])),
            name("payload", lambda line: size_text(line["client"].size or 0)),
            name("storage", lambda line: line["client"].given["storage"]),
            name("policy", lambda line: line["client"].given["policy"]),
            name("variant", lambda line: line["client"].variant),
            *per_side({place: f"{place}\ninstr" for place in _PLACES}),
            number(f"assumed at\n{clock_text(reading)}, ms", lambda line: milliseconds(line["client"].median, reading)),
        ],
        ("keycache-places", *(("keycache-hits",) if hits else ())),
        rows=rows,
        verdict=_verdict(hits),
    )


def _request(row: Row) -> str:
    verb, _, state = row.given["action"].partition("-")
    return f"{verb.upper()} {state}"


def _first(row: Row) -> tuple[object, ...]:
    given = row.given
    return (
        _place(given["policy"], _POLICIES_FIRST) > 0,
        _place(given["action"], _ACTIONS_FIRST),
        _place(given["storage"], _STORAGES_FIRST),
        row.size,
        _place(given["policy"], _POLICIES_FIRST),
        row.variant,
    )


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def _verdict(hits: Sequence[Hit]) -> str:
    """Whether hits hold their limit: by their medians, and by the greatest of their samples."""
    if not hits:
        return ""
    over = sum(hit.row.median > hit.limit for hit in hits)
    wide = sum(hit.row.counts.max > hit.limit for hit in hits)
    what = f"{ALLOWED} empty invokes and the AES of its payload"
    by_medians = (
        f"No median of a hit exceeds {what}"
        if not over
        else f"By their medians {over} of {len(hits)} hits cost more than {what.replace('its', 'their')}"
    )
    return f"{by_medians}; by the greatest sample {wide} of {len(hits)} do."


def _load(reading: Reading, sections: Sequence[Section]) -> list[ScreenAnswer]:
    shown = next((section for section in sections if section.table), None)
    if not shown or not shown.table:
        return []
    rows = [row for row in reading.rows if row.operation.startswith("keycache")]
    return [
        ScreenAnswer(
            "What the key cache costs under load",
            shown.table,
            surprises=spread_surprises(rows),
            sections=(
                shown.name,
                *(name for name in ("keycache-load", "keycache-clients") if named_sections(sections, name)),
            ),
            # What redis-benchmark says by the clock of an emulator.
            optional=tuple(at for at, header in enumerate(shown.table.headers) if "says" in header),
        )
    ]


def _withstood(attempts: Sequence[Attempt]) -> list[ScreenAnswer]:
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for one in attempts:
        groups.setdefault((one.operation, one.given.get("storage", "-")), []).append(one)
    bad = [one for one in attempts if not _holds(one)]
    names = dict.fromkeys(f"{one.what} ({one.result})" for one in bad)
    more = f"; and {len(names) - 4} more" if len(names) > 4 else ""
    return answer(
        "What the key cache survives",
        list(groups.items()),
        [
            name("what was tried", lambda group: group[0][0]),
            name("storage", lambda group: group[0][1]),
            number("\nattempts", lambda group: whole(len(group[1]))),
            number("\nholds", lambda group: whole(sum(map(_holds, group[1])))),
            number("does\nnot", lambda group: whole(sum(not _holds(one) for one in group[1]))),
        ],
        (at for at, operation in _SECTIONS if any(one.operation == operation for one in attempts)),
        surprises=(f"Does not hold: {'; '.join(list(names)[:4])}{more}.",) if names else (),
        verdict=f"{len(attempts) - len(bad):,} of {len(attempts):,} attempts hold.",
    )


def _holds(attempt: Attempt) -> bool:
    return attempt.result in (*GOOD, HOLDS)
