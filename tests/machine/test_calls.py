# SPDX-License-Identifier: BSD-2-Clause
"""Shared memory, calls and wrong calls on the machine itself."""

import pytest

from machines import Measured, RunCase
from worldwise.plan.case import parse_case
from worldwise.records.models import Outcome
from worldwise.records.parse import parse_line

PAYLOAD = "optee/mbedtls-nist-O2/payload,size=16KiB"
CALL = "optee/mbedtls-nist-O2/call,size=0B"
KINDS = ("", ",memory=registered", ",memory=partial", ",memory=allocated")


def test_each_kind_of_memory_brings_the_payload(measured: Measured) -> None:
    """What the TA copies costs the same whatever brought it, and registering costs what `once` has besides."""
    found = {}
    for kind in KINDS:
        records = measured(PAYLOAD + kind)
        for measure in ("read", "once"):
            for inside, around in zip(records.samples[measure, "ta"], records.samples[measure, "client"], strict=True):
                assert inside.count < around.count
        found[kind] = {key: series[-1].count for key, series in records.samples.items()}
    copied = {each["read", "ta"] for each in found.values()}
    assert len(copied) == 1
    assert copied.pop() > 16 * 1024 / 8
    temporary, registered, _, allocated = found.values()
    assert temporary["read", "client"] > registered["read", "client"] + 20_000
    assert registered["once", "client"] > registered["read", "client"] + 20_000
    # The client's copy, 16 bytes in few instructions.
    assert 500 < allocated["read", "client"] - registered["read", "client"] < 16 * 1024


def test_sessions_and_values_cost_little(measured: Measured) -> None:
    least, many = (
        measured(case).samples["newest", "client"][-1].count for case in (CALL, f"{CALL},sessions=16,parameters=4")
    )
    assert 0 < many - least < 1_000


@pytest.mark.parametrize(("variant", "ta"), [("mbedtls-nist-O2", "hello"), ("bearssl-O2", "attestation")])
def test_wrong_calls_get_the_errors_that_are_due(records_of: RunCase, variant: str, ta: str) -> None:
    """A TA, and one with a library compiled into it."""
    case = parse_case(f"optee/{variant}/abuse,ta={ta},calls=300")
    lines = records_of(case).splitlines()
    found = [record for n, line in enumerate(lines, 1) if isinstance(record := parse_line(line, "r", n), Outcome)]
    tried = {record.what.partition(": ")[2]: record.result for record in found if ": " in record.what}
    assert tried["wrong type"] == "TEE_ERROR_BAD_PARAMETERS"
    assert tried["unknown command"] == "TEE_ERROR_NOT_SUPPORTED"
    assert tried["wrong session"] == "TEE_ERROR_BAD_PARAMETERS"
    assert sum(int(record.detail) for record in found if record.what.startswith("random call, ")) == 300
    assert not any(record.result == "TEE_ERROR_TARGET_DEAD" for record in found)


def test_no_command_reads_the_cycle_counter_without_leave(records_of: RunCase) -> None:
    """The read would trap and end the TA: those that measure by that counter look first whether they may."""
    case = parse_case("optee/mbedtls-nist-O2/abuse,ta=sha256,calls=100")
    lines = records_of(case).splitlines()
    found = [record for n, line in enumerate(lines, 1) if isinstance(record := parse_line(line, "r", n), Outcome)]
    for command in ("CALIBRATE", "UPDATE", "FINAL"):
        tried = {record.detail: record.result for record in found if record.what == f"{command}: wrong state"}
        bad = "TEE_ERROR_BAD_STATE"
        assert tried == {"COUNTER_ENABLE": bad, "after COUNTER_RESTORE": bad}
