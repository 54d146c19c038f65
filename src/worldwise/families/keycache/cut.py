# SPDX-License-Identifier: BSD-2-Clause
"""The keys that a key cache must have after a power cut, from its client's requests and confirmations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base.errors import WorldwiseError
from worldwise.records.models import Outcome

# Outcomes: no request was open at that instant; the open request is not done, or is done; something that was confirmed
# is missing; any other error. The detail says what is wrong.
BETWEEN, OLD, NEW, LOST, WRONG = "between", "old", "new", "lost", "wrong"
GOOD = (BETWEEN, OLD, NEW)

# The readings of a fresh machine: with the server's log of records, and without it.
READINGS = ("kept", "lost")

_NO_KEY = 0


@dataclass
class Asked:
    """A client's notes: `set CLIENT NUMBER` and `del CLIENT NUMBER` for a request, `done ...` for its confirmation.

    Attributes:
        confirmed: the number of confirmed requests.
        keys: client -> number of its last confirmed key; 0 for none.
        earlier: client -> numbers of its earlier keys.
        pending: client and number of the request that was not confirmed; None if there is none.
    """

    confirmed: int = 0
    keys: dict[int, int] = field(default_factory=dict)
    earlier: dict[int, set[int]] = field(default_factory=dict)
    pending: tuple[int, int] | None = None

    @classmethod
    def read(cls, text: str) -> "Asked":
        """Reads a client's notes. Raises WorldwiseError if a line is no note."""
        asked = cls()
        for line in text.splitlines():
            match = re.fullmatch(r"(set|del|done) ([0-9]+) ([0-9]+)", line)
            if not match or (match[1] == "done") != (asked.pending is not None):
                raise WorldwiseError(f"'{line}' is no note of a key cache's client, or in the wrong place")
            client, number = int(match[2]), int(match[3])
            if match[1] != "done":
                asked.pending = client, number if match[1] == "set" else _NO_KEY
                continue
            assert asked.pending is not None
            asked.earlier.setdefault(client, {_NO_KEY}).add(asked.keys.get(client, _NO_KEY))
            asked.keys[client] = asked.pending[1]
            asked.confirmed += 1
            asked.pending = None
        return asked


def judge(notes: str, readings: Sequence[Outcome]) -> Outcome:
    """The outcome of a cut, from the readings of a fresh machine.

    Raises WorldwiseError if a reading is missing.
    """
    asked = Asked.read(notes)
    if [reading.what for reading in readings] != list(READINGS):
        raise WorldwiseError(f"a machine reported {', '.join(each.what for each in readings) or 'no reading'}")
    found = [_judged(asked, reading) for reading in readings]
    result = next((word for word in (WRONG, LOST) for got, _ in found if got == word), found[0][0])
    more = [f"{reading.what}: {text}" for reading, (_, text) in zip(readings, found, strict=True) if text]
    if found[0][0] != found[1][0] and result not in (WRONG, LOST):
        result = WRONG
        more.append("what is there depends on the server's log")
    refused = re.search(r"stale ([0-9]+)", readings[0].detail)
    parts = [f"{asked.confirmed} confirmed", f"{refused[1] if refused else 0} older records refused", *more]
    return Outcome(type="outcome", what="cut", result=result, detail="; ".join(parts))


def _judged(asked: Asked, reading: Outcome) -> tuple[str, str]:
    keys = _keys(reading.detail)
    if reading.result != "read":
        return WRONG, reading.result
    if re.search(r"(forged|damaged) [1-9]", reading.detail):
        return WRONG, reading.detail.partition("; ")[2]
    problems: list[tuple[str, str]] = []
    for client, text in keys.items():
        wanted = asked.keys.get(client, _NO_KEY)
        allowed = {wanted}
        if asked.pending and asked.pending[0] == client:
            allowed.add(asked.pending[1])
        number = int(text) if text.isdecimal() else -1
        if number in allowed:
            continue
        word = LOST if number in asked.earlier.get(client, ()) else WRONG
        problems.append((word, f"client {client} has {text} and not {wanted}"))
    if problems:
        words = [word for word, _ in problems]
        return (WRONG if WRONG in words else LOST), ", ".join(text for _, text in problems)
    if asked.pending is None:
        return BETWEEN, ""
    client, number = asked.pending
    return (NEW if keys.get(client) == str(number) else OLD), ""


def _keys(detail: str) -> Mapping[int, str]:
    """Client -> what GET gave: a number, `?` or an error, of a reading's detail `0=3 1=0 2=<NOKEY ...>; ...`."""
    found = {int(client): text for client, text in re.findall(r"([0-9]+)=(<[^>]*>|\S+?)(?=[ ;]|$)", detail)}
    if not found:
        raise WorldwiseError(f"a machine read no keys: {detail}")
    return found
