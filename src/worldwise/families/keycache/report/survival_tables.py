# SPDX-License-Identifier: BSD-2-Clause
"""Reports of what the key cache survives: a power cut while keys are set, and all other attempts."""

import re
from collections.abc import Sequence

from worldwise.base.tables import Section, Table, whole
from worldwise.families.keycache.attempts import HOLD_ATTEMPTS, HOLDS, LABELS
from worldwise.families.keycache.power_cut import BEGUN, BETWEEN, GOOD, LOST, NEW, OLD, WRONG
from worldwise.families.keycache.spec import KEYCACHE_CUT, KEYCACHE_HOLD, KEYS
from worldwise.read.models import Attempt, Reading

_OUTCOMES = (*GOOD, LOST, WRONG)

# The most bad cuts that are listed one by one.
_SHOWN = 12


def keycache_hold_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The parts of a report on what the key cache survives; none if the run has no attempts on it.

    `full` adds every cut with a wrong outcome.
    """
    held = [attempt for attempt in reading.attempts if attempt.operation == KEYCACHE_HOLD]
    cuts = [attempt for attempt in reading.attempts if attempt.operation == KEYCACHE_CUT]
    parts = (_cut_section(cuts), _findings_section(cuts, full), _hold_section(held))
    return [part for part in parts if part]


def _cases(attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.case, []).append(attempt)
    return found


def _parameter(attempt: Attempt, key: str, otherwise: str = "") -> str:
    return attempt.given.get(key, otherwise)


def _cut_section(attempts: Sequence[Attempt]) -> Section | None:
    if not attempts:
        return None
    rows = []
    for tried in _cases(attempts).values():
        counts = {word: sum(attempt.result == word for attempt in tried) for word in _OUTCOMES}
        rows.append(
            [
                _parameter(tried[0], "storage"),
                _parameter(tried[0], "stream", KEYS),
                _parameter(tried[0], "durability", "full"),
                f"{whole(sum(counts[word] for word in GOOD))} of {whole(len(tried))}",
                *map(whole, counts.values()),
                whole(sum(_refused(attempt) > 0 for attempt in tried)),
            ]
        )
    return Section(
        "The key cache after a power cut: what a fresh machine has of the keys that were set over TLS",
        Table(
            ["storage", "stream", "durability", "all confirmed is there", *_OUTCOMES, "older record refused"],
            rows,
            3,
        ),
        [
            "A client sets keys of known and of new clients and removes some, one request after the other, each noted "
            "outside the machine when it is confirmed. Each cut is a machine that the emulator ends at an instruction, "
            "evenly spread from the first request to the last answer. What tee-supplicant had stored and what the "
            "server had in its log is given to a fresh machine, whose server is asked for every client's key; then "
            "once more without any log.",
            "stream=versions: most keys are set with KEEP, some previous keys are forgotten, and another client relays "
            "what the key before sealed, message after message. The fresh machine must open what the current and "
            "the kept keys sealed, and nothing else.",
            f"{BETWEEN}: no request was open, all is as confirmed. {OLD}, {NEW}: the one that was open is not done, or "
            f"is done; all else is as confirmed. {BEGUN}: it has changed the previous key alone: the key to be kept is "
            "there twice, or the previous key of a client that is removed is gone. "
            f"{LOST}: something confirmed is not there. {WRONG}: anything else, "
            "such as a key that was never set, another answer without the log than with it, a new key that is refused.",
            "older record refused: cuts in which the log was behind the storage. The TA refuses such a record, and the "
            "server has it made anew. durability=relaxed confirms before it stores, and may lose what it confirmed "
            "last (keycached --help).",
        ],
        name="keycache-cuts",
    )


def _refused(attempt: Attempt) -> int:
    match = re.search(r"([0-9]+) older records refused", attempt.detail)
    return int(match[1]) if match else 0


def _findings_section(attempts: Sequence[Attempt], full: bool) -> Section | None:
    found = [attempt for attempt in attempts if attempt.result not in GOOD]
    if not found:
        return None
    shown = found if full else found[:_SHOWN]
    rows = [
        [
            _parameter(attempt, "storage"),
            _parameter(attempt, "stream", KEYS),
            _parameter(attempt, "durability", "full"),
            "-" if attempt.at is None else whole(attempt.at),
            attempt.result,
            attempt.detail,
        ]
        for attempt in shown
    ]
    left = len(found) - len(shown)
    return Section(
        "Power cuts after which the key cache lacks what it confirmed",
        Table(["storage", "stream", "durability", "instruction", "result", "what was found"], rows, 6),
        [f"{left} more: --full lists them all."] if left else [],
        name="keycache-cuts-found",
    )


def _hold_section(attempts: Sequence[Attempt]) -> Section | None:
    if not attempts:
        return None
    order = {what: number for number, what in enumerate(HOLD_ATTEMPTS)}
    rows = [
        [LABELS.get(attempt.what, attempt.what), _parameter(attempt, "storage"), _result(attempt), attempt.detail]
        for attempt in sorted(attempts, key=lambda each: order.get(each.what, len(order)))
    ]
    return Section(
        "What the key cache was put through",
        Table(["attempt", "storage", "result", "what was seen"], rows, 4),
        [
            "Each attempt is one machine, with the server, the TA and tee-supplicant as a device has them. 'holds': "
            "every key that was confirmed is there and no other was ever given, INFO counted what was refused, "
            "and the server keeps serving. In capitals: what the key cache does not survive, as the threat model says "
            "(keycache/docs/DESIGN.md).",
        ],
        name="keycache-attempts",
    )


def _result(attempt: Attempt) -> str:
    return attempt.result if attempt.result == HOLDS else attempt.result.upper()
