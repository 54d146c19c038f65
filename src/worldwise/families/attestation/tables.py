# SPDX-License-Identifier: BSD-2-Clause
"""Tables of attestation, and of calls without an algorithm."""

from worldwise.base.tables import Section, count
from worldwise.families.attestation.answer import call_answer
from worldwise.read.models import Reading, Row
from worldwise.report.contests import variant_of
from worldwise.report.sections.counts import label, tee_rows
from worldwise.report.sections.prices import tried_on
from worldwise.report.table_builder import median_text, name, number, section
from worldwise.report.tables import Group, ScreenAnswer, Tables, Task


def attestation_sections(reading: Reading, _full: bool = False) -> list[Section]:
    """Calls without an algorithm: what each variant pays. None if the run has none."""
    found = section(
        "What a call costs before any algorithm runs, as the client sees it",
        "calls-alone",
        [row for row in tee_rows(reading) if row.place == "client" and row.operation in _CALLS],
        [
            name("measure", lambda row: label(row)),
            name("variant", variant_of),
            number("median\ninstr", median_text),
            number("first\ninstr", lambda row: count(row.counts.first)),
            number("worst\ninstr", lambda row: count(row.counts.worst)),
        ],
    )
    return [found] if found else []


def _answers(reading: Reading) -> list[ScreenAnswer]:
    return call_answer(reading, [row for row in tee_rows(reading) if row.operation in _CALLS and not tried_on(row)])


def _task(row: Row) -> Task | None:
    if row.operation not in _BYTES or row.parameters or tried_on(row):
        return None
    return Task(row.measure, "secp256r1", _BYTES[row.operation])


# Bytes of what is signed; a key pair has none.
_BYTES = {"keygen": None, "attestdiv": 48, "attestquorum": 40}
_CALLS = ("empty-invoke", "session-open", "ta-load", "storage-create")
_OPERATIONS = {
    "keygen": "key generation",
    "attestdiv": "attestdiv, 48-byte input",
    "attestquorum": "attestquorum, 40-byte input",
    "empty-invoke": "empty invoke",
    "session-open": "session opening",
    "ta-load": "load of the TA",
    "storage-create": "a new object of 4 KiB in secure storage",
}
TABLES = Tables(groups=(Group(100, attestation_sections),), answers=_answers, task=_task, operations=_OPERATIONS)
