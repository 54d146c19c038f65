# SPDX-License-Identifier: BSD-2-Clause
"""Which implementation a TA should use: what can be asked for, what records must hold, and the tables."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from board_reading import board_reading, board_row
from readings import cells, titled
from worldwise.base.errors import WorldwiseError
from worldwise.families.crypto.tables import crypto_columns, crypto_sections, subject_text
from worldwise.libraries.portable import portables
from worldwise.plan.case import parse_case
from worldwise.plan.checks import unavailable_reason
from worldwise.plan.suite import load_suite, parse_suite
from worldwise.read.family_fields import Recommended, TaSize
from worldwise.read.models import NotAvailable, Reading, Row
from worldwise.records.check import check_records
from worldwise.records.messages import message
from worldwise.records.parse import parse_line
from worldwise.report.row_words import claim

RECOMMENDED = "optee/wolfssl-sp-O2/sign,curve=secp256r1,size=48B,memory=allocated,random=tee"
SIGN = "sign,curve=secp256r1,size=48B"


def rows(case_id: str, ta: float, client: float, stack: int = 1000) -> list[Row]:
    """A case of the app in the TEE."""
    return [_row(case_id, "ta", ta, stack), _row(case_id, "client", client)]


def linux(case_id: str, median: float) -> list[Row]:
    """A case in Linux."""
    return [_row(case_id, "linux", median)]


def _row(case_id: str, place: str, median: float, stack: int | None = None) -> Row:
    case = parse_case(case_id)
    in_tee = case.target == "optee"
    usual = board_row()
    found = usual.model_copy(
        update={
            "case": case.id,
            "target": case.target,
            "board": "",
            "implementation": case.implementation,
            "optimisation": case.optimisation,
            "variant": case.variant,
            "operation": case.operation,
            "parameters": ",".join(map("=".join, case.parameters)),
            "curve": case.curve,
            "size": case.size,
            "measure": {"digest": "hash", "attestdiv": "sign"}.get(case.operation, case.operation),
            "place": place,
            "median": median,
            "mean": median,
            "n": 100,
        }
    )
    found = found.with_part(usual.footprint.model_copy(update={"stack": stack}))
    return found.with_part(TaSize(ta_loaded=200_000, ta_file=90_000)) if in_tee else found


def crypto_reading(listed: Iterable[Row], recommended: str = "", unavailable: Iterable[NotAvailable] = ()) -> Reading:
    change = {"rows": tuple(listed), "unavailable": tuple(unavailable)}
    changed: Reading = board_reading().model_copy(update=change)
    return changed.with_part(Recommended(recommended=recommended))


WHOLE = [
    *rows(f"optee/mbedtls-nist-O2/{SIGN}", 4_600_000, 4_750_000, 416),
    *rows(f"optee/wolfssl-sp-O2/{SIGN}", 188_000, 327_000, 3632),
    *rows(RECOMMENDED, 196_000, 242_000, 3632),
    *rows(f"optee/libtomcrypt-O2/{SIGN}", 140_000_000, 140_150_000),
    *linux(f"linux/wolfssl-sp-O2/{SIGN}", 187_000),
    *linux("linux/mbedtls-nist-O2/attestdiv", 4_500_000),
    *rows("optee/mbedtls-nist-O2/digest,size=64KiB", 2_500_000, 2_700_000),
    *rows("optee/bearssl-O2/digest,size=64KiB", 2_800_000, 2_960_000),
]


def test_the_table_ranks_what_does_the_same() -> None:
    """If this fails, one operation is compared with another, or the order is not that of the client's figures."""
    table = cells(
        titled(crypto_sections(crypto_reading(WHOLE)), "Which implementation in a TA: medians at -O2 (n = 100)")
    )
    assert [(line[0], line[1], line[7]) for line in table] == [
        ("P-256 sign", "wolfssl-sp", "1"),
        ("P-256 sign", "mbedtls-nist", "2"),
        ("P-256 sign", "libtomcrypt", "3"),
        ("SHA-256 64KiB", "mbedtls-nist", "1"),
        ("SHA-256 64KiB", "bearssl", "2"),
    ]
    assert table[0][2:] == ["188,000", "327,000", "187,000", "200,000", "3,632", "1", "resistant", "GPL-3.0+"]
    # The same message by the core's library in Linux is the attestation's; one that was not measured is a dash.
    assert [line[4] for line in table] == ["187,000", "4,500,000", "-", "-", "-"]


@pytest.mark.parametrize("before", [True, False])
def test_another_machine_s_linux_is_not_set_beside_a_ta(before: bool) -> None:
    other = linux(f"linux-armv8/wolfssl-sp-O2/{SIGN}", 374_000)
    listed = [*other, *WHOLE] if before else [*WHOLE, *other]
    assert crypto_sections(crypto_reading(listed, RECOMMENDED)) == crypto_sections(crypto_reading(WHOLE, RECOMMENDED))


def test_memory_and_random_bytes_have_a_table_of_their_own() -> None:
    table = cells(titled(crypto_sections(crypto_reading(WHOLE)), "What shared memory and random bytes change"))
    assert [line[2:] for line in table] == [
        ["allocated", "tee", "196,000", "46,000", "242,000", "-85,000"],
        ["temporary", "bench", "188,000", "139,000", "327,000", "-"],
    ]


def test_the_recommendation_is_set_against_what_was_published_and_the_default() -> None:
    """If this fails, a ratio has lost one of its sides."""
    found = titled(
        crypto_sections(crypto_reading(WHOLE, RECOMMENDED)), "Recommended attestation signature: wolfssl-sp-O2/sign"
    )
    assert [line[0] for line in cells(found)] == [
        "from the client's call to its return",
        "of it in the TA",
        "of it the way there and back",
        "the same library in Linux",
        "libtomcrypt-O2, in the TA",
        "libtomcrypt-O2, from the client",
        "published, in the TA",
    ]
    by_name = {line[0]: line[1:] for line in cells(found)}
    assert by_name["from the client's call to its return"] == ["242,000", "11.98", "-"]
    assert by_name["of it the way there and back"][0] == "46,000"
    assert by_name["libtomcrypt-O2, from the client"] == ["140,150,000", "0.02", "579.13"]
    assert by_name["published, in the TA"] == ["2,900,000", "1.00", "14.80"]
    text = " ".join(found.notes)
    assert "TEE_GenerateRandom, as in a real TA" in text
    assert "resistant" in text
    assert "says nothing of power" in text


def test_random_bytes_of_the_bench_are_owned_up_to() -> None:
    case = f"optee/wolfssl-sp-O2/{SIGN}"
    found = titled(crypto_sections(crypto_reading(WHOLE, case)), "Recommended")
    assert any("a real TA must take them from TEE_GenerateRandom" in note for note in found.notes)


def test_nothing_is_said_of_a_run_without_these_operations() -> None:
    assert crypto_sections(board_reading()) == []
    assert crypto_columns(board_reading()) == {}
    assert set(crypto_columns(crypto_reading(WHOLE))) == {"ta_loaded_bytes", "ta_file_bytes", "ta_stack_bytes"}


def test_what_is_not_available_is_told_once() -> None:
    lacking = [
        NotAvailable(
            target="optee", implementation="c25519", curve="secp256r1", operation=operation, reason="it has none"
        )
        for operation in ("sign", "verify")
    ]
    core = NotAvailable(
        target="linux", implementation="mbedtls", curve="secp256r1", operation="sign", reason="OP-TEE's"
    )
    found = titled(crypto_sections(crypto_reading(WHOLE, "", [*lacking, core])), "Not available")
    assert found.notes == ["c25519 in a TA: it has none (P-256 sign, P-256 verify)."]
    assert len(titled(crypto_sections(crypto_reading(WHOLE, "", [*lacking, core]), True), "Not available").notes) == 2


def test_every_library_has_a_licence_and_says_what_it_claims() -> None:
    for name in (*portables(), "libtomcrypt", "mbedtls", "mbedtls-nist"):
        word, where, licence = claim(name)
        assert word in ("yes", "resistant", "limited", "partly", "none")
        assert where
        assert licence
    assert claim("mbedtls-nist", "ed25519")[0] == "yes"
    assert claim("a-users-own") == ("?", "a library of the user's own that is not here", "?")
    assert subject_text("ecdh", "secp256r1", None) == "P-256 ECDH"
    assert subject_text("sign", "ed25519", 1024) == "Ed25519 sign 1KiB"


# --- what can be asked for ---


@pytest.mark.parametrize(
    ("target", "implementation", "curve", "operation", "reason"),
    [
        ("optee", "wolfssl-sp", "secp256r1", "sign", ""),
        ("linux", "wolfssl-sp", "secp256r1", "verify", ""),
        ("optee", "mbedtls-nist", "ed25519", "sign", ""),
        ("optee", "bearssl", "", "digest", ""),
        ("optee", "wolfssl-sp", "ed25519", "sign", "wolfssl-sp has no ed25519"),
        ("optee", "p256-cortex-m4", "secp256r1", "sign", "p256-cortex-m4 is for Cortex-M4, M7 and M33"),
        ("optee", "micro-ecc", "", "digest", "micro-ecc has no sha256"),
        ("optee", "mbedtls", "secp192r1", "sign", "the TA asks OP-TEE's core for secp256r1, ed25519, x25519"),
        ("optee", "monocypher", "x25519", "verify", "x25519 is not for sign or verify"),
        ("nucleo-f446re", "wolfssl-sp", "secp256r1", "sign", "wolfssl-sp is for Cortex-A72"),
        ("optee", "mbedtls", "", "attestdiv", ""),
    ],
)
def test_what_cannot_be_had_says_why(target: str, implementation: str, curve: str, operation: str, reason: str) -> None:
    assert unavailable_reason(target, implementation, curve, operation) == reason


def test_the_core_has_no_program_of_its_own_in_linux() -> None:
    assert "attestdiv and sha256 measure" in unavailable_reason("linux", "mbedtls", "secp256r1", "sign")


@pytest.mark.parametrize("words", ["size=0", "size=2KiB", "size=48B,memory=registered"])
def test_a_message_that_the_ta_refuses_is_refused_before(words: str) -> None:
    with pytest.raises(WorldwiseError):
        parse_case(f"optee/wolfssl-sp-O2/sign,curve=secp256r1,{words}")


def test_a_suite_recommends_one_of_its_own_cases() -> None:
    suite = load_suite("attestation")
    assert suite.recommended == RECOMMENDED
    with pytest.raises(WorldwiseError, match=r"recommended\.case"):
        parse_suite(suite.text.replace('case = "optee/wolfssl-sp-O2', 'case = "optee/wolfssl-sp-O3'), "test.toml")


def test_a_suite_measures_some_of_its_own_cases_first() -> None:
    suite = load_suite("attestation")
    assert suite.first == ("optee/mbedtls-nist-O2/attestdiv", RECOMMENDED)
    with pytest.raises(
        WorldwiseError, match=r"test.toml:12: first: 'optee/mbedtls-nist-O2/atestdiv' is not a case"
    ) as caught:
        parse_suite(suite.text.replace("O2/attestdiv", "O2/atestdiv"), "test.toml")
    assert "attestdiv" in caught.value.hint


# --- records ---

KEY = ec.derive_private_key(12345, ec.SECP256R1())


def records() -> list[dict[str, Any]]:
    """What a case of one sample sends."""
    numbers = KEY.public_key().public_numbers()
    r, s = decode_dss_signature(KEY.sign(message(48, 0), ec.ECDSA(hashes.SHA256())))
    r2, s2 = decode_dss_signature(KEY.sign(message(48, 1), ec.ECDSA(hashes.SHA256())))
    found: list[dict[str, Any]] = [
        {
            "type": "start",
            "format": 2,
            "program": "optee-client",
            "operation": "sign",
            "implementation": "optee",
            "clock": "cntvct_el0",
            "unit": "instructions",
            "warmup": 0,
            "samples": 1,
            "parameters": "curve=secp256r1 size=48",
        },
        {"type": "overhead", "place": "ta", "clock": "cntvct_el0", "count": 2, "nested": 5},
        {"type": "overhead", "place": "client", "clock": "cntvct_el0", "count": 2, "nested": 5},
        *(
            {"type": "check", "name": name, "measure": "sign", "ok": True}
            for name in (
                "known-answer",
                "modified-signature-rejected",
                "modified-message-rejected",
                "invalid-signatures-rejected",
            )
        ),
        {"type": "memory", "measure": "sign", "place": "ta", "stack": 900},
    ]
    for index, (one, two) in enumerate(((r, s), (r2, s2))):
        begin = 1000 * (index + 1)
        phase = "first" if index == 0 else "sample"
        sample = {"type": "sample", "measure": "sign", "index": index, "phase": phase}
        found += [
            sample | {"place": "ta", "begin": begin + 100, "end": begin + 202, "count": 100},
            sample | {"place": "client", "begin": begin, "end": begin + 307, "inner": 5, "count": 300},
            {
                "type": "evidence",
                "measure": "sign",
                "index": index,
                "curve": "secp256r1",
                "content": "blocks",
                "size": 48,
                "public": f"{numbers.x:064x}{numbers.y:064x}",
                "signature": f"{one:064x}{two:064x}",
            },
        ]
    return [*found, {"type": "end", "status": 0, "idle": 0}]


def check(listed: list[dict[str, Any]]) -> Any:
    case = parse_case(f"optee/wolfssl-sp-O2/{SIGN}")
    return check_records([parse_line(json.dumps(one), "r", 1) for one in listed], case)


def test_records_of_a_signature_in_a_ta_are_checked() -> None:
    found = check(records())
    assert found.memory["sign"].stack == 900
    assert found.memory["sign"].heap is None


@pytest.mark.parametrize(
    ("what", "fields", "problem"),
    [
        ("evidence", {"signature": "11" * 64}, "signature"),
        ("evidence", {"curve": "secp256k1"}, "curve"),
        ("evidence", {"size": 47}, "size"),
        ("memory", {"place": "mcu", "heap": 0, "heap_left": 0}, "memory of 'sign'"),
        ("check", {"name": "something-else"}, "known-answer"),
    ],
)
def test_a_wrong_record_is_refused(what: str, fields: dict[str, Any], problem: str) -> None:
    """If this fails, a wrong signature would be measured, or a figure be given that nobody found."""
    listed = records()
    next(one for one in listed if one["type"] == what).update(fields)
    with pytest.raises(WorldwiseError, match=problem):
        check(listed)


def test_the_stack_of_the_ta_must_be_there() -> None:
    listed = [one for one in records() if one["type"] != "memory"]
    with pytest.raises(WorldwiseError, match="the memory of sign is missing"):
        check(listed)
