# SPDX-License-Identifier: BSD-2-Clause
"""A reading of every suite that nobody measured: its own cases, with counts that a digest of their names decides.

The counts have what misleads a report: medians that are equal, first calls that are dear, samples that go far apart,
sizes that only some libraries have, and a place within another.
"""

import functools
import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

from board_reading import run_of
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.families.abuse.spec import ABUSE
from worldwise.families.aes.readings import AES_WHOLE
from worldwise.families.aes.spec import AES
from worldwise.families.echo.readings import Host, HostTime
from worldwise.families.faults.attempts import AFTER_RESTART, ATTEMPTS
from worldwise.families.faults.spec import POWER_CUT, TAMPER
from worldwise.families.hardclock.readings import ClockReading, ClocksSaid
from worldwise.families.keycache.attempts import HOLD_ATTEMPTS
from worldwise.families.keycache.spec import KEYCACHE_CUT, KEYCACHE_HOLD
from worldwise.families.pkcs11.readings import TokenCalls, TokenCallsMade
from worldwise.families.pkcs11.spec import OPENSSL
from worldwise.families.pqc import fips204
from worldwise.families.pqc.readings import SIGN, Tail, Tails, middle
from worldwise.libraries.boards import boards
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import OF_CURVE
from worldwise.plan.budget import Budget
from worldwise.plan.case import Case
from worldwise.plan.suite import Suite, load_suite
from worldwise.read import run_counts
from worldwise.read.contests import percentile
from worldwise.read.family_fields import Footprint, OnBoard, Part, Recommended, TaSize
from worldwise.read.models import (
    CLOCK_ASSUMPTION,
    CLOCKS,
    FORMAT,
    Attempt,
    NotAvailable,
    Reading,
    References,
    Row,
    RowCounts,
    fields_of,
)
from worldwise.read.published import Published, Subject
from worldwise.read.readings import Seen, declared_readings, includes
from worldwise.read.row_details.board_ranks import board_times, with_ranks
from worldwise.read.row_details.factors import with_ratios

_LEVELS = {"O0": 7.0, "O1": 1.6, "Os": 1.28, "O2": 1.0, "O3": 0.98}
_CORES = {"cortex-m0": 3.1, "cortex-m3": 1.07, "cortex-m55": 1.04, "cortex-m7": 0.99}
# What a place adds to that within it, in instructions.
_ADDED = {"storage": 0, "api": 0, "ta": 4_000, "invoke": 32_000, "relay": 90_000, "client": 47_000}
# What a caller chooses besides, in parts of the whole.
_CHOICES = {
    "allocated": 0.81,
    "registered": 1.12,
    "partial": 1.11,
    "tee": 0.87,
    "lean": 0.79,
    "rpmb": 3.4,
    "ree-rpmb": 1.06,
}
# Measures around no algorithm: every library has nearly the same.
_CALLS = ("empty-invoke", "session-open", "ta-load", "storage-create", "call", "hello")


def number(*words: object) -> int:
    """A number that these words decide: the same on every machine."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, words)).encode()).digest()[:6], "big")


@functools.cache
def suite_of(name: str) -> Suite:
    """A suite by its name."""
    return load_suite(name)


@functools.cache
def suite_reading(name: str, budget: Budget | None = None, unit: Unit = INSTRUCTIONS) -> Reading:
    """All cases of a suite, read as the lens would. In cycles, boards' chips were measured by a probe."""
    suite = suite_of(name)
    budget = budget or suite.budget
    published = Published(suite.published if unit == INSTRUCTIONS else "")
    cases = [case for case in suite.cases if unit == INSTRUCTIONS or case.board]
    rows = [row for case in cases for row in _rows(case, published, budget, unit)]
    rows = with_ranks(with_ratios(rows))
    return Reading(
        format=FORMAT,
        run=run_of(suite.name, suite.title),
        rows=tuple(rows),
        factors=(),
        attempts=tuple(attempt for case in cases for attempt in _attempts(case)),
        assumption=CLOCK_ASSUMPTION,
        published_reason=published.reason if published.table or any(row.against.published for row in rows) else "",
        published_table=published.table,
        budget=run_counts.budget_result(rows, budget, whole=True) if budget else None,
        failed=(),
        missing=(),
        unavailable=tuple(NotAvailable(**vars(each)) for each in suite.unavailable),
        parts=tuple(part for part in _parts(suite, cases, rows, published) if part != type(part)()),
    )


# --- rows ---


def _rows(case: Case, published: Published, budget: Budget | None, unit: Unit) -> Iterator[Row]:
    series: dict[tuple[str, str], list[int]] = {
        (measure, place): _counts(case, measure, place) for measure, places in case.measures.items() for place in places
    }
    if case.operation == AES:
        # Through the family's own function it would take a minute.
        for place in case.measures["cipher"]:
            calls = zip(*(series[measure, place] for measure in case.measures), strict=True)
            series[AES_WHOLE, place] = [sum(each) for each in calls]
    for (measure, place), counts in series.items():
        yield _row(case, measure, place, counts, published, budget, unit)


def _row(
    case: Case,
    measure: str,
    place: str,
    counts: Sequence[int],
    published: Published,
    budget: Budget | None,
    unit: Unit,
) -> Row:
    kept = counts[1 + case.warmup :]
    average = math.fsum(kept) / len(kept)
    spread = math.sqrt(math.fsum((one - average) ** 2 for one in kept) / (len(kept) - 1)) if len(kept) > 1 else None
    middle_one = float(median(kept))
    clock = boards()[case.board].clock_mhz if case.board else None
    clocks = {f"{clock:g} MHz": clock} if clock else {f"{each} GHz": each * 1000 for each in CLOCKS}
    what = Subject(case.operation, measure, place, case.implementation, case.board, case.curve, case.size)
    return Row(
        **fields_of(case),
        measure=measure,
        place=place,
        counts=RowCounts(
            unit=unit,
            includes=includes()[measure, place],
            n=len(kept),
            warmup=case.warmup,
            first=counts[0],
            median=middle_one,
            mean=average,
            stdev=spread,
            min=min(kept),
            max=max(kept),
            worst=max(counts),
        ),
        against=References(
            ratio_to_linux=None,
            microseconds={name: middle_one / mhz for name, mhz in clocks.items()},
            published=run_counts.published_figures(published, what, average),
            published_gap=published.gap(what),
            verdict=run_counts.verdict_of(budget, measure, place, max(counts)),
            samples=tuple(kept) if published.has_runs(what) else (),
        ),
        parts=tuple(_row_parts(case, place, clock, unit)),
    )


def _row_parts(case: Case, place: str, clock: float | None, unit: Unit) -> Iterator[Part]:
    library = (case.implementation, case.operation, case.curve)
    small = 0.8 if case.optimisation == "Os" else 1
    flash = None
    # A chip's memory is nobody's to see.
    if (case.board and unit == INSTRUCTIONS) or (case.target in PLAIN_TARGETS and case.operation in OF_CURVE):
        # Some are equal.
        flash = int((1_500 + 1_250 * (number(*library, "flash") % 20)) * small)
    memory = (900 + number(*library, "stack") % 4_000, number(*library, "heap") % 3 * 1_100)
    if unit == INSTRUCTIONS and place in ("mcu", "ta"):
        yield Footprint(stack=memory[0], heap=memory[1], flash=flash, ram=number(*library, "ram") % 300)
    elif flash is not None:
        yield Footprint(flash=flash)
    if case.board:
        yield OnBoard(clock_mhz=clock, runs=case.runs)
    if case.target == "optee" and case.operation in ("sign", "verify", "ecdh", "digest", *_PQC):
        loaded = 90_000 + 1_000 * (number(*library, "ta") % 400)
        yield TaSize(ta_loaded=loaded, ta_file=loaded + 20_000)


_PQC = ("kem-keygen", "encaps", "decaps", "dsa-keygen", "dsa-sign", "dsa-verify")


def _counts(case: Case, measure: str, place: str) -> list[int]:
    """The counts of all calls, the first one first: a cold one of some cases takes thrice the others.

    What goes up and down does so at every place by as much: one is within the other.
    """
    middle_one = _middle(case, measure, place)
    inner = min(_middle(case, measure, each) for each in case.measures[measure])
    seed = number(case.id, measure)
    # Of a few the samples go far apart, of half of what is done by some instructions, of the others not at all.
    step = inner // 16 if seed % 11 == 0 else 7 if number(case.operation, case.curve) % 2 else 0
    if case.operation == SIGN:
        step = inner // 3
    counts = [middle_one + step * ((seed >> index % 13) % 5 - 2) for index in range(case.calls)]
    counts[0] = middle_one + 2 * inner if seed % 7 == 0 else middle_one + 900
    return [max(1, one) for one in counts]


def _middle(case: Case, measure: str, place: str) -> int:
    """About what a call takes at a place: more than at the one within it, and the more the longer the message is."""
    given = dict(case.parameters)
    if case.operation == "sha256" and case.target == "optee":
        return _hashed(case, measure, place)
    if case.operation in ("gateway", "refused"):
        way = given.get("way") or given.get("access")
        return 8 + number(way, given.get("float")) % 250 + 30 * (case.optimisation == "Os") + 4 * ("m33" in case.board)
    what = (case.operation, case.curve, given.get("scheme"), given.get("mode"), given.get("action"), measure)
    base = 40_000 * (1 + number(*what) % 200)
    factor = _LEVELS[case.optimisation]
    if case.operation in _CALLS:
        base, factor = 900, 1 + 0.6 * (case.optimisation == "Os")
        # Two instructions apart, or none.
        base += 2 * (number(case.implementation, case.operation) % 2)
    elif case.target == "optee" and case.operation == "keycache":
        base = 30_000
    else:
        # In steps, so that a few are equal.
        factor *= 1 + number(case.implementation, case.operation, case.curve) % 12 / 4
    if case.board:
        factor *= _CORES.get(boards()[case.board].core, 1.0)
    elif case.target in PLAIN_TARGETS:
        factor *= 0.9 + 0.1 * (case.target == "linux-armv7")
    for value in given.values():
        factor *= _CHOICES.get(value, 1.0)
    if given.get("options"):
        factor *= 0.75 + number(given["options"], case.implementation) % 16 / 32
    for key in ("sessions", "parameters", "subscribers", "connections"):
        factor *= 1 + int(given.get(key, "1")) / 50
    if given.get("relay"):
        factor *= {"off": 1.0, "ree": 1.3, "hit": 1.5, "miss": 2.1, "naive": 9.0}[given["relay"]]
    if given.get("policy"):
        factor *= {"none": 1.6, "lru": 1.02, "smart": 1.0, "naive": 5.0}[given["policy"]]
    if given.get("server"):
        factor *= {"linux": 1.0, "call": 2.3, "socket": 3.1}[given["server"]]
    if measure == "long":
        factor *= 2
    if measure == "empty":
        base = 30_000
    bytes_of_it = (case.size or 0) * (2 + number(case.implementation, case.operation, "byte") % 12)
    whole = int((base + bytes_of_it) * factor) * case.spans
    places = case.measures[measure]
    for number_of_it, each in enumerate(places):
        whole += _ADDED.get(each, 0) * (number_of_it > 0)
        if each == place:
            break
    return whole if place != "linux" else int(whole * 0.6)


def _hashed(case: Case, measure: str, place: str) -> int:
    """A hash in a TA: so many calls without parameters, or with the same memory, are within it."""
    size, calls = case.size or 0, case.spans
    empty = 30_000 * calls
    touched = empty + 4_000 * calls + size // 4096 * 210
    if measure != "hash":
        return empty if measure == "empty" else touched
    inside = int((6_000 * calls + size * (2 + number(case.implementation, "byte") % 30)) * _LEVELS[case.optimisation])
    return {"api": inside, "ta": inside + 14 * calls, "client": inside + 14 * calls + touched + 300}[place]


# --- attempts ---


def _attempts(case: Case) -> Iterator[Attempt]:
    for what, result, detail, at in _outcomes(case, dict(case.parameters)):
        yield Attempt(
            case=case.id,
            operation=case.operation,
            parameters=case.parameter_text,
            what=what,
            result=result,
            detail=detail,
            at=at,
        )


def _outcomes(case: Case, given: Mapping[str, str]) -> Iterator[tuple[str, str, str, int | None]]:
    def chosen(what: object, *results: str) -> str:
        return results[number(case.id, what) % len(results)]

    if case.operation == TAMPER:
        for what in ATTEMPTS[given["storage"]]:
            for later in ("", AFTER_RESTART):
                yield what + later, chosen(what, "detected", "detected", "not detected", "no effect"), "as it was", None
    elif case.operation == POWER_CUT:
        points = int(given["points"])
        for point in range(points):
            yield "cut", "old" if point < points // 3 else "new", "the content", 1_000 * point
        yield "stored", "old", "the older content", None
    elif case.operation == KEYCACHE_CUT:
        results = ("between", "old", "begun", "new", *(["lost"] if "durability" in given else []))
        for point in range(int(given["points"])):
            yield "cut", chosen(point, *results), "4 confirmed; 0 older records refused", 1_000 * point
    elif case.operation == KEYCACHE_HOLD:
        for what in HOLD_ATTEMPTS:
            yield what, chosen(what, "holds", "holds", "holds", "not detected"), "25 of them", None
    elif case.operation == "keycache-load":
        for run in range(case.samples):
            yield f"redis-benchmark {run}", f"{1_000 + number(case.id, run) % 9_000}.50", "", None
    elif case.operation == "keycache-zipf":
        asked = 100 * int(given["requests"])
        hits = asked * (40 + number(case.id) % 50) // 100
        said = {"requests": asked, "keys in the TA": 100, "hits": hits, "records opened": asked - hits}
        yield from ((what, str(value), "", None) for what, value in said.items())
    elif case.operation == ABUSE:
        for command in ("FIRST", "SECOND"):
            yield f"{command}: right call", "TEE_SUCCESS", "before all else", None
            for kind in ("wrong type", "too small", "NULL"):
                yield f"{command}: {kind}", "TEE_ERROR_BAD_PARAMETERS", "[0] none", None
        yield "SECOND: wrong state", "not tried", "it would panic", None
        yield "random calls begin", "begun", f"{given['calls']} calls, seed 0x5eed", None
        left = int(given["calls"])
        for whose, share in (("the TA", 2), ("OP-TEE's core", 3), ("Linux", 2), ("libteec", 1)):
            part = left // share
            left -= part
            yield (
                f"random call, answered by {whose}",
                chosen(whose, "TEE_SUCCESS", "TEE_ERROR_GENERIC"),
                str(part),
                None,
            )


# --- parts of the whole ---


def _parts(suite: Suite, cases: Sequence[Case], rows: Sequence[Row], published: Published) -> Iterator[Part]:
    # Those that need records are made here.
    own = {"hardclock": _clocks(cases, rows), "pqc": _tails(cases), "echo": _host(cases), "pkcs11": _token_calls(cases)}
    manifests = [SimpleNamespace(id=case.id, case=lambda case=case: case) for case in cases]
    run = SimpleNamespace(manifest=SimpleNamespace(recommended=suite.recommended))
    seen = Seen(cast(Any, run), cast(Any, manifests), rows, published)
    yield from (Recommended(recommended=suite.recommended), board_times(rows))
    for family, readings in declared_readings().items():
        part = own[family] if family in own else readings.whole(seen)
        if part is not None:
            yield part


def _clocks(cases: Sequence[Case], rows: Iterable[Row]) -> ClocksSaid:
    listed = {(row.case, row.measure): row for row in rows if row.operation == "hardclock"}
    return ClocksSaid(
        clocks=tuple(
            ClockReading(
                case=case.id,
                target=case.target,
                core=case.core,
                variant=case.variant,
                measure=measure,
                n=row.counts.n,
                instructions=row.median,
                hardclock=row.median // 1000 + 1,
                gettimeofday=row.median // 1000 + 1,
                monotonic=row.median + 40,
                calls=2,
            )
            for case in cases
            for measure in case.measures
            if (row := listed.get((case.id, measure)))
        )
    )


def _token_calls(cases: Iterable[Case]) -> TokenCallsMade:
    found = []
    for case in cases:
        if case.operation == OPENSSL:
            given = dict(case.parameters)
            times = 0 if given.get("holder") == "process" else 1 + number(case.id, "calls") % 5
            functions = {"C_GetSessionInfo": times, "C_Sign": 1} if times else {}
            calls = sum(functions.values())
            found.append(
                TokenCalls(
                    case=case.id,
                    first_calls=2 * calls,
                    first_commands=2 * calls,
                    calls=calls,
                    commands=calls,
                    functions=functions,
                    same=True,
                )
            )
    return TokenCallsMade(token_calls=tuple(found))


def _tails(cases: Iterable[Case]) -> Tails:
    found = []
    for case in cases:
        if case.operation != SIGN or dict(case.parameters)["scheme"] not in fips204.PARAMETERS:
            continue
        counts = _counts(case, SIGN, case.measures[SIGN][-1])
        attempts = [1 + number(case.id, index) % 9 for index in range(len(counts))]
        found.append(
            Tail(
                case=case.id,
                calls=len(counts),
                median=middle(counts),
                p90=percentile(counts, 90),
                p99=percentile(counts, 99),
                worst=max(counts),
                median_attempts=middle(attempts),
                p90_attempts=percentile(attempts, 90),
                p99_attempts=percentile(attempts, 99),
                worst_attempts=max(attempts),
                mean_attempts=sum(attempts) / len(attempts),
            )
        )
    return Tails(signing=tuple(found))


def _host(cases: Iterable[Case]) -> Host:
    found = []
    for case in cases:
        for measure in ("round-trip", "stream") if case.operation == "echo-host" else ():
            middle_one = 40.0 + number(case.id, measure) % 900
            found.append(
                HostTime(
                    case=case.id,
                    target=case.target,
                    variant=case.variant,
                    parameters=case.parameter_text,
                    size=case.size or 0,
                    measure=measure,
                    messages=32 if measure == "stream" else 1,
                    n=case.samples,
                    median=middle_one,
                    min=middle_one - 9,
                    max=middle_one + 70,
                    load=0.5,
                )
            )
    return Host(host=tuple(found))
