# SPDX-License-Identifier: BSD-2-Clause
"""Tables of wrong calls, from outcomes that no machine recorded; and the tables of commands themselves."""

import re

import pytest

from readings import attempt, cells, reading
from worldwise.base import paths
from worldwise.base.tables import Table
from worldwise.families.abuse.tables import abuse_sections
from worldwise.plan.catalogue import ABUSED
from worldwise.read.models import Attempt

BAD, SHORT = "TEE_ERROR_BAD_PARAMETERS", "TEE_ERROR_SHORT_BUFFER"
APPS_FOLDER = paths.GUEST / "apps"


def tried(ta: str, what: str, result: str, detail: str = "") -> Attempt:
    return attempt(f"optee/mbedtls-nist-O2/abuse,ta={ta},calls=10", what, result, detail)


HELLO = (
    tried("hello", "INCREMENT: right call", "TEE_SUCCESS", "before all else"),
    tried("hello", "INCREMENT: wrong type", BAD, "[0] none, not value inout"),
    tried("hello", "INCREMENT: wrong type", BAD, "[1] value in, not none"),
    tried("hello", "INCREMENT: wrong session", BAD, "closed"),
    tried("hello", "random calls begin", "begun", "10 calls, seed 0x5eed"),
    tried("hello", "random call, answered by the TA", "TEE_SUCCESS", "4"),
    tried("hello", "random call, answered by the TA", BAD, "3"),
    tried("hello", "random call, answered by the TA", "TEE_SUCCESS", "1"),
    tried("hello", "random call, answered by libteec", BAD, "2"),
)
CALLS = (
    tried("calls", "LAST: too small", SHORT, "[0] 4095 bytes of 4096"),
    tried("calls", "LAST: right call", "TEE_SUCCESS"),
    tried("calls", "LAST: wrong state", "not tried", "it would panic"),
    tried("calls", "random call, answered by OP-TEE's core", "TEE_ERROR_OUT_OF_MEMORY", "7"),
)


def tables(*attempts: Attempt, full: bool = False) -> list[Table]:
    found = abuse_sections(reading(attempts=attempts), full)
    assert all(cells(section) for section in found)
    return [section.table for section in found if section.table]


def test_a_run_without_abuse_has_none_of_it() -> None:
    assert abuse_sections(reading()) == []
    other = HELLO[1].model_copy(update={"operation": "tamper"})
    assert abuse_sections(reading(attempts=[other])) == []


def test_wrong_calls_are_counted_by_kind() -> None:
    table, _ = tables(*HELLO, *CALLS)
    assert [header.replace("\n", " ").strip() for header in table.headers] == [
        "TA",
        "commands",
        "wrong type",
        "too small",
        "wrong session",
        "all",
    ]
    assert table.rows == [
        ["hello", "1", "2", "-", "1", "3"],
        ["calls", "1", "-", "1", "-", "1"],
        ["all", "2", "2", "1", "1", "4"],
    ]


def test_a_ta_with_a_library_has_a_row_of_its_own() -> None:
    with_library = HELLO[1].model_copy(update={"case": "optee/micro-ecc-O2/abuse,ta=hello,calls=10"})
    (table,) = tables(*HELLO[:2], with_library)
    assert [row[0] for row in table.rows] == ["hello", "hello with micro-ecc", "all"]


def test_each_command_has_a_row_in_full() -> None:
    table, _, codes = tables(*HELLO, full=True)
    assert table.rows == [["hello", "INCREMENT", "2", "1", "3"]]
    assert ["hello", "the TA", "TEE_SUCCESS", "5", "50.00"] in codes.rows


def test_what_was_not_tried_is_said() -> None:
    section, _ = abuse_sections(reading(attempts=HELLO + CALLS))
    assert "calls, LAST, wrong state: not tried, it would panic." in section.notes
    assert any("hello: BAD_PARAMETERS." in note and "calls: SHORT_BUFFER." in note for note in section.notes)


def test_random_calls_are_summed_by_who_answered() -> None:
    _, table = tables(*HELLO, *CALLS)
    assert table.rows == [
        ["hello", "10", "5", "3", "0", "0", "2", "2", "0"],
        ["calls", "7", "0", "0", "7", "0", "0", "1", "0"],
        ["all", "17", "5", "3", "7", "0", "2", "3", "0"],
    ]
    _, section = abuse_sections(reading(attempts=HELLO))
    assert any("seed 0x5eed" in note for note in section.notes)


@pytest.mark.parametrize("name", ABUSED)
def test_every_command_of_an_app_is_in_its_table_of_wrong_calls(name: str) -> None:
    """A command that nobody calls wrongly would be one that nobody has looked at."""
    header = APPS_FOLDER / name / f"{name}.h"
    text = header.read_text(encoding="utf-8")
    (body,) = re.findall(r"enum \w+_command \{(.*?)\};", text, re.DOTALL)
    commands = re.findall(r"^\t([A-Z_0-9]+)", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL), re.MULTILINE)
    assert commands
    clients = "".join(path.read_text(encoding="utf-8") for path in sorted((APPS_FOLDER / name).glob("*.c")))
    assert "struct abuse_table app_abuse = " in clients
    listed = set(re.findall(r"\.(?:command|left_out) = ([A-Z_0-9]+)", clients))
    assert set(commands) <= listed
