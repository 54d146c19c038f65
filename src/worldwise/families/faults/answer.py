# SPDX-License-Identifier: BSD-2-Clause
"""The answer of tampering and power cuts on one screen: what each storage did not detect or lost."""

from collections.abc import Sequence
from typing import NamedTuple

from worldwise.base.tables import whole
from worldwise.families.faults.attempts import label_of
from worldwise.families.faults.spec import POWER_CUT, TAMPER
from worldwise.plan.parameters import STORAGES
from worldwise.read.models import Attempt, Reading
from worldwise.report.table_builder import answer, name, number
from worldwise.report.tables import ScreenAnswer

_MISSED = "not detected"
_KEPT = ("old", "new")


class _Tried(NamedTuple):
    """The attempts of one kind on one storage."""

    storage: str
    what: str
    attempts: Sequence[Attempt]

    @property
    def bad(self) -> int:
        """How many were not detected, or damaged something."""
        return sum(map(_is_bad if self.what == "power cut" else _is_missed, self.attempts))


def faults_answer(reading: Reading) -> list[ScreenAnswer]:
    """Attempts by storage, tampering first. Nothing if nothing was tried."""
    tampering = [attempt for attempt in reading.attempts if attempt.operation == TAMPER]
    cuts = [attempt for attempt in reading.attempts if attempt.operation == POWER_CUT]
    tried = [
        _Tried(storage, what, own)
        for what, attempts in (("tampering", tampering), ("power cut", cuts))
        for storage in STORAGES
        if (own := [one for one in attempts if one.given.get("storage") == storage])
    ]
    missed = [one for one in tampering if _is_missed(one)]
    names = list(dict.fromkeys(f"{label_of(one.what)} ({one.given.get('storage', '')})" for one in missed))
    shown = "; ".join(names[:3]) + (f"; and {len(names) - 3} more" if len(names) > 3 else "")
    verdict = f"{len(missed):,} of {len(tampering):,} attempts to tamper were not detected." if tampering else ""
    if cuts:
        verdict += (
            f" {sum(map(_is_bad, cuts)):,} of {len(cuts):,} power cuts left neither the old object nor the new one."
        )
    return answer(
        "What each storage survives",
        tried,
        [
            name("storage", lambda one: one.storage),
            name("what was tried", lambda one: one.what),
            number("\nattempts", lambda one: whole(len(one.attempts))),
            number("not detected,\nor damaged", lambda one: whole(one.bad)),
            number("no\neffect", _without_effect),
        ],
        (*(("tampering",) if tampering else ()), *(("power-cuts",) if cuts else ())),
        surprises=(f"Not detected: {shown}.",) if names else (),
        verdict=verdict.strip(),
    )


def _without_effect(tried: _Tried) -> str:
    return "-" if tried.what == "power cut" else whole(sum(one.result == "no effect" for one in tried.attempts))


def _is_missed(attempt: Attempt) -> bool:
    return attempt.result == _MISSED


def _is_bad(cut: Attempt) -> bool:
    """Whether a cut left neither the old object nor the new one, or damaged something else."""
    return cut.result not in _KEPT or "; " in cut.detail
