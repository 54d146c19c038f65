# SPDX-License-Identifier: BSD-2-Clause
"""The keys that a key cache must have after a power cut, from its client's requests and confirmations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from worldwise.base.errors import WorldwiseError
from worldwise.records.models import Outcome

# Outcomes: no request was open at that instant; the open request is not done; it has changed the previous key and not
# yet the current one; it is done; something that was confirmed is missing; any other error, which the detail tells.
BETWEEN, OLD, BEGUN, NEW, LOST, WRONG = "between", "old", "begun", "new", "lost", "wrong"
GOOD = (BETWEEN, OLD, BEGUN, NEW)

# The readings of a fresh machine: with the server's log of records, and without it.
READINGS = ("kept", "lost")

_NO_KEY = 0


@dataclass(frozen=True)
class Held:
    """What a client has.

    Attributes:
        key: the number of its current key; 0 for none.
        previous: the number of its previous key, which opens what it sealed; 0 for none.
    """

    key: int = _NO_KEY
    previous: int = _NO_KEY

    def text(self) -> str:
        """As a machine says it."""
        # A key that is its own predecessor is one key.
        return f"{self.key}+{self.previous}" if self.previous not in (_NO_KEY, self.key) else str(self.key)


@dataclass(frozen=True)
class _Request:
    """A request by its word: what it makes of what a client has, in the steps that secure storage takes it in."""

    client: int
    word: str
    number: int

    def steps(self, had: Held) -> list[Held]:
        """What there is after each step; the last is what the confirmation says."""
        if self.word == "keep" and had.key:
            return [Held(had.key, had.key), Held(self.number, had.key)]
        if self.word in ("set", "keep"):
            return [Held(self.number, had.previous)]
        forgotten = Held(had.key)
        return [forgotten] if self.word == "forget" else [forgotten, Held()]


@dataclass
class Asked:
    """A client's notes: `set|keep|forget|del CLIENT NUMBER` for a request, `done CLIENT NUMBER` for its confirmation.

    Attributes:
        confirmed: the number of confirmed requests.
        held: client -> what it has by its last confirmed request.
        earlier: client -> numbers of the keys that it had, 0 for none among them.
        pending: the request that was not confirmed; None if there is none.
    """

    confirmed: int = 0
    held: dict[int, Held] = field(default_factory=dict)
    earlier: dict[int, set[int]] = field(default_factory=dict)
    pending: _Request | None = None

    @classmethod
    def read(cls, text: str) -> "Asked":
        """Reads a client's notes. Raises WorldwiseError if a line is no note."""
        asked = cls()
        for line in text.splitlines():
            match = re.fullmatch(r"(set|keep|forget|del|done) ([0-9]+) ([0-9]+)", line)
            if not match or (match[1] == "done") != (asked.pending is not None):
                raise WorldwiseError(f"'{line}' is no note of a key cache's client, or in the wrong place")
            client = int(match[2])
            if match[1] != "done":
                asked.pending = _Request(client, match[1], int(match[3]))
                continue
            assert asked.pending is not None
            had = asked.held.get(client, Held())
            asked.earlier.setdefault(client, {_NO_KEY}).add(had.key)
            asked.held[client] = asked.pending.steps(had)[-1]
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
        had = asked.held.get(client, Held())
        pending = asked.pending if asked.pending and asked.pending.client == client else None
        if text in {had.text(), *(held.text() for held in (pending.steps(had) if pending else ()))}:
            continue
        numbers = {int(number) if number.isdecimal() else -1 for number in text.split("+")}
        known = asked.earlier.get(client, set()) | {had.key} | ({pending.number} if pending else set())
        word = LOST if numbers <= known else WRONG
        problems.append((word, f"client {client} has {text} and not {had.text()}"))
    if problems:
        words = [word for word, _ in problems]
        return (WRONG if WRONG in words else LOST), ", ".join(text for _, text in problems)
    if asked.pending is None:
        return BETWEEN, ""
    had = asked.held.get(asked.pending.client, Held())
    found = keys.get(asked.pending.client, had.text())
    if found == asked.pending.steps(had)[-1].text():
        return NEW, ""
    return (OLD if found == had.text() else BEGUN), ""


def _keys(detail: str) -> Mapping[int, str]:
    """Client -> what it has: `3`, `3+2` with the previous key, `?` or an error, of `0=3+2 1=0 2=<NOKEY ...>; ...`."""
    found = {int(client): text for client, text in re.findall(r"([0-9]+)=(<[^>]*>|\S+?)(?=[ ;]|$)", detail)}
    if not found:
        raise WorldwiseError(f"a machine read no keys: {detail}")
    return found
