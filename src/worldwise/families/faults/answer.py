# SPDX-License-Identifier: BSD-2-Clause
"""The answer of tampering and power cuts on one screen: what each storage did not detect or lost."""

from worldwise.base.tables import Table, whole
from worldwise.families.faults.attempts import label_of
from worldwise.families.faults.spec import POWER_CUT, TAMPER
from worldwise.plan.case import parameters_of
from worldwise.plan.parameters import STORAGES
from worldwise.read.models import Attempt, Reading
from worldwise.report.tables import Answer

_MISSED = "not detected"
_KEPT = ("old", "new")


def faults_answer(reading: Reading) -> list[Answer]:
    """Attempts by storage, tampering first. Nothing if nothing was tried."""
    tampering = [attempt for attempt in reading.attempts if attempt.operation == TAMPER]
    cuts = [attempt for attempt in reading.attempts if attempt.operation == POWER_CUT]
    if not tampering and not cuts:
        return []
    cells = []
    for storage in STORAGES:
        tried = [one for one in tampering if _storage(one) == storage]
        if tried:
            missed = [one for one in tried if one.result == _MISSED]
            effect = sum(one.result == "no effect" for one in tried)
            cells.append([storage, "tampering", whole(len(tried)), whole(len(missed)), whole(effect)])
    for storage in STORAGES:
        tried = [one for one in cuts if _storage(one) == storage]
        if tried:
            bad = sum(_is_bad(one) for one in tried)
            cells.append([storage, "power cut", whole(len(tried)), whole(bad), "-"])
    missed = [one for one in tampering if one.result == _MISSED]
    names = list(dict.fromkeys(f"{label_of(one.what)} ({_storage(one)})" for one in missed))
    shown = "; ".join(names[:3]) + (f"; and {len(names) - 3} more" if len(names) > 3 else "")
    bad = sum(map(_is_bad, cuts))
    verdict = f"{len(missed):,} of {len(tampering):,} attempts to tamper were not detected." if tampering else ""
    if cuts:
        verdict += f" {bad:,} of {len(cuts):,} power cuts left neither the old object nor the new one."
    headers = ["storage", "what was tried", "\nattempts", "not detected,\nor damaged", "no\neffect"]
    return [
        Answer(
            "What each storage survives",
            Table(headers, cells, 2),
            verdict.strip(),
            (f"Not detected: {shown}.",) if names else (),
            (*(("tampering",) if tampering else ()), *(("power-cuts",) if cuts else ())),
        )
    ]


def _storage(attempt: Attempt) -> str:
    return parameters_of(attempt.parameters).get("storage", "")


def _is_bad(cut: Attempt) -> bool:
    """Whether a cut left neither the old object nor the new one, or damaged something else."""
    return cut.result not in _KEPT or "; " in cut.detail
