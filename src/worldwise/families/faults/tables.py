# SPDX-License-Identifier: BSD-2-Clause
"""Reports of what each storage protects from: tampering, attempt by attempt, and the power cut."""

from collections.abc import Iterable, Sequence

from worldwise.base.tables import Section, Table, section_name, whole
from worldwise.families.faults.answer import faults_answer
from worldwise.families.faults.attempts import AFTER_RESTART, LABELS, STORED, label_of
from worldwise.families.faults.spec import CUT_ACTIONS, POWER_CUT, TAMPER
from worldwise.plan.parameters import STORAGES
from worldwise.read.models import Attempt, Reading
from worldwise.records.models import CUT
from worldwise.report.tables import Group, Tables

_ORDER = list(LABELS)
_RESULTS = ("old", "new", "neither", "mixture")
_PREFIX = "TEE_ERROR_"
# Words of the records: guest/apps/faults/linux/tamper.c writes them, and how many bytes differ behind them.
_OTHER_CONTENT = "other content"
_SHORT = {
    "as if it had never been there": "as if never there",
    "overwrite fails": "write",
    " at the TA's load": " at TA load",
}
# The outcomes of cuts that are listed one by one.
_SHOWN_FINDINGS = 12


def faults_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on tampering and on power cuts; empty if the run has no such rows.

    `full` adds every cut whose outcome is neither the old object nor the new one.
    """
    parts: list[Section | None] = []
    for variant in dict.fromkeys(_variant(attempt) for attempt in reading.attempts):
        own = [attempt for attempt in reading.attempts if _variant(attempt) == variant]
        tampering = [attempt for attempt in own if attempt.operation == TAMPER]
        cuts = [attempt for attempt in own if attempt.operation == POWER_CUT]
        parts += [
            _tamper_section(tampering, variant),
            _besides_section(tampering, variant),
            _cut_section(cuts, variant),
            _findings_section(cuts, variant, full),
        ]
    return [part for part in parts if part]


def _variant(attempt: Attempt) -> str:
    return attempt.case.split("/")[1]


def _parameter(attempt: Attempt, key: str) -> str:
    return attempt.given[key]


# --- tampering ---


def _tamper_section(attempts: Sequence[Attempt], variant: str) -> Section | None:
    if not attempts:
        return None
    storages = [name for name in STORAGES if any(_parameter(attempt, "storage") == name for attempt in attempts)]
    cells: dict[tuple[str, bool, str], str] = {}
    for attempt in attempts:
        what, later = attempt.what.removesuffix(AFTER_RESTART), attempt.what.endswith(AFTER_RESTART)
        cells[what, later, _parameter(attempt, "storage")] = _cell(attempt)
    rows: list[list[str]] = []
    for what in sorted({what for what, _, _ in cells}, key=_order):
        at_once = [cells.get((what, False, storage), "-") for storage in storages]
        again = [cells.get((what, True, storage), "") for storage in storages]
        rows.append([LABELS.get(what, what), *at_once])
        if any(text and text != first for text, first in zip(again, at_once, strict=True)):
            rows.append(["  the same, after a restart", *(text or "-" for text in again)])
    return Section(
        f"Tampering with a stored object of 7,000 bytes: what the TA then reads ({variant})",
        Table(["attempt", *storages], rows, 1 + len(storages)),
        _tamper_notes(any(what in LABELS and what.startswith("wire-") for what, _, _ in cells)),
        name=section_name("tampering", variant),
    )


def _tamper_notes(wire: bool) -> list[str]:
    notes = [
        "Every attempt runs on a machine of its own: the campaign writes and overwrites the object, changes the "
        "stored files or the RPMB device's memory, loads the TA anew and has it read. It tries again after a "
        "restart: a fresh machine into which the same state was put. Where that gave something else it has a row.",
        "'detected' means that the TA got an error, which the table names; 'NOT detected' that it got wrong "
        "content, or the answer for an object that has never been created, and no error to tell the two cases apart.",
        "ree: files of the normal world. ree-rpmb: the same, with the hash of their directory in RPMB. rpmb: the "
        "object itself in RPMB. A dash: this storage has nothing of that kind. RPMB has no file to cut short "
        "or to delete; the nearest is its table of files.",
    ]
    if wire:
        notes += [
            "'message' attempts are those of a normal world without the key, which passes every message between OP-TEE "
            "and the RPMB device; they are tried within one boot. 'chip' attempts change the cells behind the device's "
            "back, which no message can do: RPMB is not made to survive that.",
            "The device is the one that tee-supplicant emulates. It checks the MAC of a write and not the write "
            "counter, as a real one must: 'older write sent again' shows what OP-TEE does when a device takes it.",
        ]
    return notes


def _order(what: str) -> tuple[int, str]:
    return (_ORDER.index(what) if what in _ORDER else len(_ORDER), what)


def _cell(attempt: Attempt) -> str:
    """A result and its reason, short: `detected: CORRUPT_OBJECT`."""
    if attempt.result == "no effect":
        return "no effect"
    text = attempt.detail.split("; ")[0].partition(", ")[2] or attempt.detail.split("; ")[0]
    text = text.replace(_PREFIX, "").replace("TARGET_DEAD", "TA panics").removeprefix("the ")
    for long, short in _SHORT.items():
        text = text.replace(long, short)
    if _OTHER_CONTENT in text:
        text = _OTHER_CONTENT
    return f"{attempt.result.replace('not', 'NOT')}: {text}"


def _besides_section(attempts: Sequence[Attempt], variant: str) -> Section | None:
    """An attempt's effects after the first read: on the second read, on other objects, on the whole storage."""
    rows: dict[tuple[str, str], list[str]] = {}
    for attempt in sorted(attempts, key=lambda each: _order(each.what.removesuffix(AFTER_RESTART))):
        more = "; ".join(attempt.detail.split("; ")[1:]).replace(_PREFIX, "").replace("TARGET_DEAD", "the TA panics")
        more = more.replace(", as if it had never been there", "")
        if not more:
            continue
        listed = rows.setdefault((label_of(attempt.what), more), [])
        storage = _parameter(attempt, "storage")
        if storage not in listed:
            listed.append(storage)
    if not rows:
        return None
    return Section(
        f"Further effects of tampering ({variant})",
        Table(
            ["attempt", "storage", "then"],
            [[label, ", ".join(sorted(names, key=STORAGES.index)), more] for (label, more), names in rows.items()],
            3,
        ),
        [
            "The object is read a second time, then another one that nobody touched ('the neighbour'), then a new one "
            "is created. An attempt that is not listed left all of that as it should be. ITEM_NOT_FOUND is the "
            "answer for an object that has never been created: OP-TEE removes an object that it finds corrupt.",
        ],
        name=section_name("tampering-besides", variant),
    )


# --- the power cut ---


def _cut_section(attempts: Sequence[Attempt], variant: str) -> Section | None:
    if not attempts:
        return None
    rows: list[list[str]] = []
    for case in sorted(
        dict.fromkeys(attempt.case for attempt in attempts), key=lambda name: _cut_order(name, attempts)
    ):
        own = [attempt for attempt in attempts if attempt.case == case]
        first = own[0]
        for what, title in ((CUT, "instructions"), (STORED, "stored states")):
            tried = [attempt for attempt in own if attempt.what == what]
            if not tried:
                continue
            counts = [sum(attempt.result == result for attempt in tried) for result in _RESULTS]
            rows.append(
                [
                    _parameter(first, "storage"),
                    _parameter(first, "action"),
                    _parameter(first, "size"),
                    title,
                    whole(len(tried)),
                    *map(whole, counts),
                    whole(len(tried) - sum(counts)),
                    whole(sum(bool(_damage(attempt)) for attempt in tried)),
                ]
            )
    return Section(
        f"Power cut during a write: what a fresh machine's TA finds ({variant})",
        Table(
            ["storage", "action", "size", "cut at", "tried", *_RESULTS, "error", "other damage"],
            rows,
            4,
        ),
        [
            "Each of the 'instructions' is one machine, ended by the emulator when it had executed so many of the "
            "client's call, evenly spread from its first to its last; the TA was loaded before. What tee-supplicant "
            "had stored by then is given to a fresh machine, whose TA reads the object. 'Stored states' are all that "
            "the storage goes through, one after each write, whether or not one of those instructions met it.",
            "old and new: the object as before and as after the action (for create, old is no object; for delete, new "
            "is). neither: no object where there must be one. mixture: any other content. error: the TA got an error. "
            "other damage: another object is gone or changed, or nothing new can be stored.",
            "Assumed of the storage below: a sector of 512 bytes, and a request to the RPMB device, is stored whole or "
            "not at all, in the order in which it was written, and stays stored once the call returns. tee-supplicant "
            "asks the file system for that (it opens files with O_SYNC, which the campaign checks); a disk that holds "
            "back or reorders writes in spite of it is not tried.",
        ],
        name=section_name("power-cuts", variant),
    )


def _cut_order(case: str, attempts: Iterable[Attempt]) -> tuple[int, int]:
    first = next(attempt for attempt in attempts if attempt.case == case)
    return CUT_ACTIONS.index(_parameter(first, "action")), STORAGES.index(_parameter(first, "storage"))


def _damage(attempt: Attempt) -> str:
    """The part of a cut's detail behind the number of stored writes."""
    return "; ".join(attempt.detail.split("; ")[1:])


def _findings_section(attempts: Sequence[Attempt], variant: str, full: bool) -> Section | None:
    """The cuts after which there is neither the old object nor the new one, or other damage."""
    found = [
        attempt
        for attempt in attempts
        if (attempt.result not in ("old", "new") or _damage(attempt)) and (full or attempt.what == STORED)
    ]
    if not found:
        return None
    shown = found if full else found[:_SHOWN_FINDINGS]
    rows = [
        [
            _parameter(attempt, "storage"),
            _parameter(attempt, "action"),
            "-" if attempt.at is None else whole(attempt.at),
            attempt.detail.split("; ")[0],
            attempt.result.replace(_PREFIX, ""),
            _damage(attempt).replace(_PREFIX, ""),
        ]
        for attempt in shown
    ]
    left = len(found) - len(shown)
    return Section(
        f"Power cuts that left neither the old object nor the new one ({variant})",
        Table(["storage", "action", "instruction", "stored", "found", "besides"], rows, 6),
        [f"{left} more: --full lists them all."] if left else [],
        name=section_name("power-cuts-found", variant),
    )


TABLES = Tables(groups=(Group(470, faults_sections),), answers=faults_answer)
