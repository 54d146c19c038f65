# SPDX-License-Identifier: BSD-2-Clause
"""AES: what a suite may ask for, what of a case's records is believed, and its tables."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aes_records import aes_cost, aes_records
from readings import titled
from suite_texts import suite_text
from synthetic import lines, new_writer, write_case
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section, Table
from worldwise.families.aes.evidence import CipherEvidence
from worldwise.families.aes.readings import AES_WHOLE
from worldwise.families.aes.tables import aes_sections
from worldwise.plan.case import Case, parse_case
from worldwise.plan.suite import Suite, parse_suite
from worldwise.read.models import Reading
from worldwise.read.published import Published
from worldwise.read.run_counts import read_run
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.evidence import verify_evidence
from worldwise.records.messages import message
from worldwise.records.parse import parse_line
from worldwise.report.report import sections

GCM = "optee/libtomcrypt-O2/aes,size=16B,key=128,mode=gcm,direction=encrypt"
DECRYPT = "linux/openssl-O2/aes,size=256B,key=256,mode=cbc,direction=decrypt"
SUITE = suite_text(
    "aes",
    *(
        f"{target} / aes / {library} {library}-ce / O2 / keys 128 256 / modes {modes} / directions encrypt decrypt"
        " / sizes 16B 4KiB"
        for target, library, modes in (("optee", "libtomcrypt", "ctr gcm"), ("linux", "openssl", "cbc ctr"))
    ),
    samples=3,
    warmup=1,
    title="AES",
    more='[published]\nsource = "optee-mqttz-apps"\n',
)


def checked(text: str, change: Callable[[list[dict[str, Any]]], None] | None = None) -> CheckedRecords:
    case = parse_case(text, 3, 1)
    records = aes_records(case)
    if change:
        change(records)
    parsed = [parse_line(json.dumps(record), "r", number) for number, record in enumerate(records, 1)]
    return check_records(parsed, case)


def evidence_of(records: list[dict[str, Any]], index: int) -> dict[str, Any]:
    return next(record for record in records if record["type"] == "evidence" and record["index"] == index)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("size=100B,key=128,mode=cbc,direction=encrypt", "not whole blocks of 16 bytes"),
        ("size=0,key=128,mode=ctr,direction=encrypt", "out of range. Allowed: 1B to 4MiB"),
        ("size=8MiB,key=128,mode=ctr,direction=encrypt", "out of range. Allowed: 1B to 4MiB"),
        ("size=16B,key=192,mode=ctr,direction=encrypt", "Allowed: 128, 256"),
        ("size=16B,key=128,mode=ecb,direction=encrypt", "Allowed: cbc, ctr, gcm"),
        ("size=16B,key=128,mode=ctr", "needs a direction"),
    ],
)
def test_what_cannot_be_measured_is_refused(parameters: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem):
        parse_case(f"optee/mbedtls-O2/aes,{parameters}")


def test_linux_has_libraries_of_its_own() -> None:
    assert parse_case(DECRYPT).arguments == ("size=256", "key=256", "mode=cbc", "direction=decrypt")
    with pytest.raises(WorldwiseError, match="variant 'openssl-O2'"):
        parse_case(DECRYPT.replace("linux", "optee"))


@pytest.mark.parametrize("text", [GCM, DECRYPT])
def test_a_good_case_is_believed(text: str) -> None:
    assert len(checked(text).samples["cipher", "ta" if text == GCM else "linux"]) == 5


@pytest.mark.parametrize(
    ("index", "change", "problem"),
    [
        (2, {"output_crc32": "00000000"}, "the output is wrong: it is not that of AES-128 in gcm mode"),
        (2, {"input_crc32": "00000000"}, "the input is wrong"),
        (2, {"key": "00" * 16}, "the output is wrong"),
        (2, {"aad": ""}, "the output is wrong"),
        (2, {"iv": "00" * 16}, "gcm has no vector of 16 bytes"),
        (2, {"message": 1}, "message is 1, must be 2"),
        (2, {"size": 17}, "size is 17, must be 16"),
        (2, {"mode": "ctr"}, "mode is 'ctr', must be 'gcm'"),
        (2, {"direction": "decrypt"}, "direction is 'decrypt', must be 'encrypt'"),
        (2, {"key": "40" * 32}, "key is '256', must be '128'"),
    ],
)
def test_evidence_that_is_not_the_cases_is_refused(index: int, change: dict[str, Any], problem: str) -> None:
    """If this fails, a library that encrypts wrongly could be measured."""
    with pytest.raises(WorldwiseError, match=problem):
        checked(GCM, lambda records: evidence_of(records, index).update(change))


def test_a_nonce_that_comes_twice_is_refused() -> None:
    def same_nonce(records: list[dict[str, Any]]) -> None:
        for index in (1, 2):
            other = parse_case(GCM, 3, 1)
            (made,) = [one for one in aes_records(other) if one["type"] == "evidence" and one["index"] == index]
            evidence_of(records, index).update(made)
        first, second = evidence_of(records, 1), evidence_of(records, 2)
        second["iv"] = first["iv"]
        second["output_crc32"] = _sealed_crc(second)

    with pytest.raises(WorldwiseError, match="cipher 2 used the vector of cipher 1 again"):
        checked(GCM, same_nonce)


def _sealed_crc(evidence: dict[str, Any]) -> str:
    plain = message(evidence["size"], evidence["message"])
    sealed = AESGCM(bytes.fromhex(evidence["key"])).encrypt(
        bytes.fromhex(evidence["iv"]), plain, bytes.fromhex(evidence["aad"])
    )
    return f"{zlib.crc32(sealed):08x}"


@pytest.mark.parametrize("name", ["known-answer", "decrypted-again", "forged-tag-refused", "forged-plaintext-withheld"])
def test_every_check_must_have_been_made(name: str) -> None:
    def without(records: list[dict[str, Any]]) -> None:
        records[:] = [record for record in records if record.get("name") != name]

    with pytest.raises(WorldwiseError, match=f"the check '{name}' is missing"):
        checked(GCM, without)


@pytest.mark.parametrize(
    ("mode", "iv", "aad", "crc"),
    [
        ("cbc", "04000000a4a5a6a7a8a9aaabacadaeaf", "", "225e149d"),
        ("ctr", "04000000a4a5a6a7a8a9aaabacadaeaf", "", "952b86b7"),
        ("gcm", "04000000a4a5a6a7a8a9aaab", "101112131415161718191a1b1c", "7dc3c2ee"),
    ],
)
def test_what_a_ta_sent_once_is_right(mode: str, iv: str, aad: str, crc: str) -> None:
    """Evidence of OP-TEE's mbed TLS. If this fails, the host makes another message, or another cipher, of it."""
    evidence = CipherEvidence.model_validate(
        {
            "type": "evidence",
            "measure": "cipher",
            "index": 4,
            "mode": mode,
            "direction": "encrypt",
            "message": 4,
            "size": 16,
            "key": bytes(range(0x40, 0x60)).hex(),
            "iv": iv,
            "aad": aad,
            "input_crc32": "6916920f",
            "output_crc32": crc,
        }
    )
    verify_evidence(evidence)
    with pytest.raises(WorldwiseError, match="the output is wrong"):
        verify_evidence(evidence.model_copy(update={"output_crc32": "6916920f"}))


# --- tables ---


@pytest.fixture(scope="module")
def suite() -> Suite:
    return parse_suite(SUITE, "aes.toml")


@pytest.fixture(scope="module")
def ciphers(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Reading:
    with new_writer(tmp_path_factory.mktemp("runs"), suite.cases, suite=suite) as writer:
        for case in suite.cases:
            write_case(writer, case, lines(aes_records(case)))
        run = writer.finish("complete")
    return read_run(run)


def table(reading: Reading, title: str, full: bool = False) -> Table:
    found = titled(aes_sections(reading, full), title)
    assert found.table
    return found.table


def section(reading: Reading, title: str) -> Section:
    return titled(aes_sections(reading), title)


def test_the_four_calls_are_added_up_sample_by_sample(ciphers: Reading, suite: Suite) -> None:
    (row,) = (row for row in ciphers.rows if row.case == GCM and (row.measure, row.place) == (AES_WHOLE, "client"))
    case = next(case for case in suite.cases if case.id == GCM)
    sums = [sum(aes_cost(case, measure, "client", index) for measure in case.measures) for index in range(case.calls)]
    assert (row.counts.first, row.counts.n, row.counts.mean) == (sums[0], 3, sum(sums[2:]) / 3)
    assert row.counts.min == min(sums[2:]) and row.counts.worst == max(sums)


def test_the_published_table_is_complete(ciphers: Reading) -> None:
    """Every cell of the source stands there, with ours beside it."""
    overall = table(ciphers, "AES of 4 kB as published for OP-TEE, and ours: the whole")
    calls = table(ciphers, "AES of 4 kB as published for OP-TEE, and ours: call by call")
    assert [row[0] for row in overall.rows] == [
        "encrypt_secure",
        "encrypt_non_secure",
        "decrypt_secure",
        "decrypt_non_secure",
    ]
    assert len(calls.rows) == 2 * (1 + 4 * 2)
    shown = [cell.rstrip("*") for row in (*overall.rows, *calls.rows) for cell in row]
    figures = [figure for figure in Published("optee-mqttz-apps").table if figure.algorithm.startswith("AES")]
    assert len(figures) == 4 * 2 + 15 * 2
    for figure in figures:
        assert f"{figure.value:.5f}" in shown and f"{figure.stdev or 0:.6f}" in shown
    assert overall.rows[0][1:3] == ["10.01550", "1.778416"]
    # Ours of CTR in the TA, of CBC by OpenSSL with the extension: what the source's program asks for.
    case = parse_case("optee/libtomcrypt-O2/aes,size=4KiB,key=128,mode=ctr,direction=encrypt", 3, 1)
    mean = sum(aes_cost(case, measure, "client", index) for measure in case.measures for index in (2, 3, 4)) / 3
    assert overall.rows[0][3:6] == [f"{mean:,.0f}", "4.0", f"{mean / 2000:,.1f}"]
    assert not [row for row in overall.rows if "-" in row]
    # The one cell that the source does not have.
    lacking = [row[0] for row in calls.rows if row[1] == "-"]
    assert lacking == ["set_iv (Inv)"]


def test_what_the_source_overwrote_is_marked(ciphers: Reading) -> None:
    calls = table(ciphers, "AES of 4 kB as published for OP-TEE, and ours: call by call")
    marked = [row[0] for row in calls.rows if row[1].endswith("*")]
    assert marked == ["set_iv (All)", "set_key (All)", "cipher_buffer (All)"]
    assert marked == [row[0] for row in calls.rows if row[6].endswith("*")]
    assert calls.rows[3][0] == "set_iv (All)" and calls.rows[3][1] == "1.77147*"
    notes = " ".join(section(ciphers, "AES of 4 kB as published for OP-TEE, and ours: call").notes)
    assert "row 4 of arrays that have rows 0 to 3" in notes


def test_the_units_and_the_clock_are_told(ciphers: Reading) -> None:
    notes = " ".join(section(ciphers, "AES of 4 kB as published for OP-TEE, and ours: the whole").notes)
    for fact in ("host's clock", "without icount", "header has ms^2", "so it is in ms", "CTR", "CBC", "an assumption"):
        assert fact in notes
    headers = table(ciphers, "AES of 4 kB as published for OP-TEE, and ours: the whole").headers
    assert "\nstdev ms" in headers and "assumed\nus" in headers


def test_ours_are_told_by_library_and_size(ciphers: Reading) -> None:
    ctr = table(ciphers, "AES-CTR, encrypt")
    assert ctr.headers[3:] == ["16B\ninstr", "4KiB\ninstr", "4KiB\ninstr / byte"]
    found = {tuple(row[:3]): row[3:] for row in ctr.rows}
    assert len(found) == 2 * (2 * 2 + 2)
    client = 6_000 + 30_030 + 60 * 4096
    assert found["128", "libtomcrypt-O2", "client"][1] == f"{client + 1:,}"
    assert found["128", "libtomcrypt-O2", "client"][2] == f"{(client + 1) / 4096:,.2f}"
    assert found["128", "openssl-ce-O2", "linux"][1] == f"{6_000 - 1_000 + 2 * 4096 + 1:,}"
    assert len([each for each in aes_sections(ciphers, full=True) if ", decrypt:" in each.title]) == 3


def test_factors_are_what_they_say(ciphers: Reading) -> None:
    extension = table(ciphers, "AES-128, encrypt: how many times as many instructions without")
    (row,) = (row for row in extension.rows if row[:3] == ["openssl-O2", "linux", "ctr"])
    assert row[4] == f"{(5_001 + 20 * 4096) / (5_001 + 2 * 4096):,.2f}"
    worlds = table(ciphers, "AES-128, encrypt, -O2: how many times")
    (row,) = (row for row in worlds.rows if row[:4] == ["libtomcrypt / openssl", "ctr", "cipher", "ta"])
    assert row[5] == f"{(6_001 + 60 * 4096) / (5_001 + 20 * 4096):,.2f}"
    keys = table(ciphers, "AES-256 / AES-128")
    (row,) = (row for row in keys.rows if row[:2] == ["libtomcrypt-O2", "ctr"])
    assert row[4] == f"{(6_001 + 84 * 4096) / (6_001 + 60 * 4096):,.2f}"


def test_what_does_not_depend_on_the_size_stands_once(ciphers: Reading) -> None:
    fixed = table(ciphers, "AES, encrypt: what does not depend")
    (row,) = (row for row in fixed.rows if row[:3] == ["libtomcrypt-O2", "ctr", "128"])
    assert row[3:] == ["44,031", "14,001", "56,031", "26,001", "32,731", "2,701"]
    (row,) = (row for row in fixed.rows if row[:3] == ["openssl-O2", "ctr", "128"])
    assert row[3:] == ["13,001", "-", "25,001", "-", "1,701", "-"]
    assert len(table(ciphers, "AES, encrypt: what does not depend", full=True).rows) == 2 * len(fixed.rows)


def test_the_report_has_them_and_no_table_of_every_case(ciphers: Reading) -> None:
    """If this fails, AES has no tables, or one for each of hundreds of cases."""
    titles = [each.title for each in sections(ciphers)]
    assert "How to read the tables of AES" in titles
    assert not [title for title in titles if title.startswith(("cipher: ", "whole: "))]
    without = ciphers.model_copy(update={"rows": ()})
    assert aes_sections(without) == []


def test_without_the_source_the_published_table_is_left_out(ciphers: Reading) -> None:
    plain = ciphers.model_copy(update={"published_table": ()})
    assert not [each for each in aes_sections(plain) if "published" in each.title]


def test_a_run_of_one_case_has_its_row(tmp_path: Path) -> None:
    case = parse_case(DECRYPT, 3, 1)
    one = reading_of(tmp_path, case)
    assert [row[:3] for row in table(one, "AES-CBC, decrypt", full=True).rows] == [["256", "openssl-O2", "linux"]]


def reading_of(directory: Path, case: Case) -> Reading:
    with new_writer(directory, [case]) as writer:
        write_case(writer, case, lines(aes_records(case)))
        return read_run(writer.finish("complete"))
