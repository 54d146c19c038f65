# SPDX-License-Identifier: BSD-2-Clause
"""OP-TEE's PKCS#11 TA on the machine: the smallest case, twice; a failure by its name; OpenSSL's handshake, twice."""

from pathlib import Path

from machines import RunCase
from worldwise.families.pkcs11.evidence import Calls
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import parse_case
from worldwise.records.check import check_records
from worldwise.records.parse import parse_line
from worldwise.targets.all_targets import EMULATED

CASE = "optee/mbedtls-nist-O2/pkcs11,storage=ree,action="
HANDSHAKE = "optee/mbedtls-nist-O2/pkcs11-openssl,storage=ree,action=handshake"


def test_a_step_is_the_same_twice_and_its_signatures_are_right(records_of: RunCase, images: ImageStore) -> None:
    """The TA's keys and nonces are random, the host verifies each signature, and still no digit differs."""
    case = parse_case(f"{CASE}sign,mechanism=ecdsa-p256,object=session", 2, 0)
    machine = EMULATED["optee"].machine(case, images)
    first = records_of(case, on=machine)
    assert records_of(case, on=machine) == first
    lines = enumerate(first.splitlines(), 1)
    samples = check_records([parse_line(line, "records", number) for number, line in lines], case).samples
    inside, around = ([sample.count for sample in samples["step", place]] for place in ("ta", "client"))
    assert all(4_000_000 < one < 6_000_000 for one in inside)
    # The way there and back for two commands, with the memory that libckteec shares for each.
    assert all(200_000 < outer - inner < 400_000 for inner, outer in zip(inside, around, strict=True))


def test_a_call_that_fails_ends_the_case_with_its_name(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """GCM in the TA keeps what it decrypts until it has seen the tag, in a heap of 32 KiB."""
    case = parse_case(f"{CASE}encrypt,mechanism=aes256-gcm,object=session,message=64KiB", 1, 0)
    target = EMULATED["optee"]
    emulator.run(target.machine(case, images), target.program(case), tmp_path)
    records = (tmp_path / "records.jsonl").read_text()
    assert '"message":"C_Decrypt failed: CKR_DEVICE_MEMORY"' in records
    assert '"type":"end"' not in records


def test_a_handshake_is_the_same_twice_and_takes_six_calls(records_of: RunCase, images: ImageStore) -> None:
    """The host and a TLS client verify what the token signs; a C client makes two calls where OpenSSL makes six."""
    case = parse_case(HANDSHAKE, 2, 1)
    machine = EMULATED["optee"].machine(case, images)
    first = records_of(case, on=machine)
    assert records_of(case, on=machine) == first
    records = [parse_line(line, "records", number) for number, line in enumerate(first.splitlines(), 1)]
    samples = check_records(records, case).samples
    inside, around = (samples["openssl", place] for place in ("ta", "client"))
    assert all(4_000_000 < one.count < 6_000_000 for one in inside)
    assert all(1_500_000 < outer.count - inner.count < 3_500_000 for inner, outer in zip(inside, around, strict=True))
    calls = [record for record in records if isinstance(record, Calls)]
    assert [one.commands for one in calls] == [one.spans for one in inside]
    # The first use of a key tries to copy it into the session, which the token refuses in one for reading.
    assert [one.by_function.get("C_CopyObject", 0) for one in calls] == [1, 0, 0, 0]
    assert calls[-1].by_function == {
        "C_GetSessionInfo": 2,
        "C_GetOperationState": 1,
        "C_SignInit": 1,
        "C_SignUpdate": 1,
        "C_SignFinal": 1,
    }
