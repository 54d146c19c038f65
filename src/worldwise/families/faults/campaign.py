# SPDX-License-Identifier: BSD-2-Clause
"""Tampering and power cuts: many machines for one case.

A power cut is an emulator that ends at a chosen instruction of a write. What tee-supplicant had stored by then is in a
journal on the host; a fresh machine puts it back and says what its TA reads. Tampering is one machine for each attempt,
so that none inherits what another left in OP-TEE's memory.
"""

import struct
from dataclasses import dataclass, field

from worldwise.base.errors import WorldwiseError
from worldwise.families.faults.attempts import AFTER_RESTART, AT_ONCE, ATTEMPTS, STORED
from worldwise.families.faults.spec import POWER_CUT, TAMPER
from worldwise.records.models import CUT, Outcome
from worldwise.run.campaign import Campaign, Trial
from worldwise.run.power_cuts import JOURNAL, LEFT, Cuts, spread

# The size of the attacked object in bytes: two blocks of the REE file system, the second not full.
TAMPER_BYTES = 7000

_STATES = ("before.state", "after.state")
# struct journal_entry of guest/apps/faults/journal.h.
_ENTRY = struct.Struct("<IIQII32s")
_MAGIC = 0x6C6A7777


@dataclass
class Journal:
    """A machine's journal: its bytes, and where each entry ends."""

    data: bytes
    ends: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.ends = []
        at = 0
        while at < len(self.data):
            if at + _ENTRY.size > len(self.data):
                raise WorldwiseError("a journal ends within the head of an entry: a write of the guest's was torn")
            magic, _, _, length, _, _ = _ENTRY.unpack_from(self.data, at)
            at += _ENTRY.size + length
            if magic != _MAGIC or at > len(self.data):
                raise WorldwiseError(f"a journal has no whole entry at byte {self.ends[-1] if self.ends else 0}")
            self.ends.append(at)


def _tamper(trial: Trial) -> None:
    storage, size = dict(trial.case.parameters)["storage"], str(TAMPER_BYTES)
    with trial.step("tamper-write", storage, size) as work:
        states = {name: (work / name).read_bytes() for name in _STATES}
    for attempt in ATTEMPTS[storage]:
        with trial.step("tamper", attempt, "same", storage, size) as work:
            trial.outcome(attempt, trial.said(work))
        if attempt in AT_ONCE:
            continue
        with trial.step("tamper", attempt, "later", storage, size, files=states) as work:
            trial.outcome(attempt + AFTER_RESTART, trial.said(work))


def _power_cut(trial: Trial) -> None:
    case, parameters = trial.case, dict(trial.case.parameters)
    action = (parameters["storage"], parameters["action"], str(case.size))
    cuts = Cuts(trial, ("cut-write", *action))
    length, files = cuts.whole(JOURNAL)
    if not files[JOURNAL]:
        raise WorldwiseError(f"{case.id}: the write stores nothing: its machine left no journal")
    whole = Journal(files[JOURNAL])
    points = spread(length, int(parameters["points"]))
    # What was stored before the write is there when its first instruction is cut.
    tried = sorted({1, *points})
    left = dict(zip(tried, cuts.at(tried, files), strict=True))
    before = len(left[1][JOURNAL])
    found: dict[int, Outcome] = {}
    first = whole.ends.index(before) if before else -1

    def after(stored: int) -> Outcome:
        if stored not in found:
            with trial.step("cut-read", *action, files={JOURNAL: whole.data[:stored]}) as work:
                found[stored] = trial.said(work)
        return found[stored]

    count = len(whole.ends) - 1 - first
    for at in points:
        stored = len(left[at][JOURNAL])
        if stored and stored not in whole.ends:
            raise cuts.other(at)
        done = (whole.ends.index(stored) if stored else -1) - first
        trial.outcome(CUT, after(stored), at, f"{done} of {count} writes stored")
    # Every state of the write is tried, whether or not a cut has met it.
    for done in range(count + 1):
        stored = whole.ends[first + done] if first + done >= 0 else 0
        trial.outcome(STORED, after(stored), None, f"{done} of {count} writes stored")


CAMPAIGN = Campaign(tries={TAMPER: _tamper, POWER_CUT: _power_cut}, left=(*_STATES, *LEFT))
