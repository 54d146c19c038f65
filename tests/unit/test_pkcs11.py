# SPDX-License-Identifier: BSD-2-Clause
"""PKCS#11: what a suite may ask for, which results are believed, what failures are called, and its answer."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from suite_readings import suite_reading
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.explain.layers import load_rules
from worldwise.families.pkcs11 import images
from worldwise.families.pkcs11.answer import pkcs11_answer
from worldwise.families.pkcs11.evidence import Calls, OpensslEvidence, TokenEvidence
from worldwise.families.pkcs11.openssl_tables import openssl_answer, openssl_sections
from worldwise.families.pkcs11.tables import pkcs11_sections
from worldwise.lab.lab import open_lab
from worldwise.plan.case import parse_case
from worldwise.records.messages import message
from worldwise.records.models import Sample
from worldwise.targets import optee_images
from worldwise.targets.optee import OPTEE_TARGETS

CASE = "optee/mbedtls-nist-O2/pkcs11,storage=ree,action="
OPENSSL = "optee/mbedtls-nist-O2/pkcs11-openssl,storage=ree,action="
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


# --- what may be asked for ---


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("sign,object=token", "needs a mechanism, such as mechanism=ecdsa-p256"),
        ("sign,mechanism=ecdsa-p256", "needs a mechanism"),
        ("login,mechanism=ecdsa-p256", "'login' has no mechanism"),
        ("whole,object=token", "'whole' has no object"),
        ("sign,mechanism=aes256-gcm,object=token,message=1KiB", "'sign' has no mechanism=aes256-gcm"),
        ("encrypt,mechanism=ecdsa-p256,object=token", "Allowed: aes256-gcm"),
        ("find,mechanism=rsa2048-pss,object=token", "Allowed: ecdsa-p256, ecdsa-p384"),
        ("sign,mechanism=hmac-sha256,object=token", "needs a message's size"),
        ("sign,mechanism=ecdsa-p256,object=token,message=32B", "leave out message"),
        ("encrypt,mechanism=aes256-gcm,object=token,message=8B", "out of range"),
        ("login,others=65", "others"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(given: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem) as raised:
        parse_case(CASE + given)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        "initialize",
        "login,others=4",
        "find,mechanism=ecdsa-p256,object=session",
        "generate,mechanism=rsa2048-pss,object=token",
    ],
)
def test_what_makes_sense_is_a_case(given: str) -> None:
    assert parse_case(CASE + given).id == CASE + given


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("load,holder=process", "'load' is of a key in the token"),
        ("whole,holder=process", "is made, not loaded"),
        ("sign,holder=process,others=4", "leave out others"),
    ],
)
def test_a_key_in_the_process_has_no_token(given: str, problem: str) -> None:
    with pytest.raises(WorldwiseError, match=problem):
        parse_case(OPENSSL + given)
    assert parse_case(OPENSSL + "handshake,holder=process").id == OPENSSL + "handshake,holder=process"


# --- results ---


def _p256(index: int) -> TokenEvidence:
    private = ec.derive_private_key(7 + index, ec.SECP256R1())
    point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    r, s = decode_dss_signature(private.sign(message(32, index), ec.ECDSA(Prehashed(hashes.SHA256()))))
    return _evidence(index, "ecdsa-p256", 32, bytes((4, len(point))) + point, r.to_bytes(32) + s.to_bytes(32))


def _rsa(index: int) -> TokenEvidence:
    private = rsa.generate_private_key(65537, 2048)
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
    made = private.sign(message(32, index), pss, hashes.SHA256())
    return _evidence(index, "rsa2048-pss", 32, private.public_key().public_numbers().n.to_bytes(256), made)


def _hmac(index: int) -> TokenEvidence:
    due = hmac.HMAC(bytes(32), hashes.SHA256())
    due.update(message(1024, index))
    return _evidence(index, "hmac-sha256", 1024, bytes(32), due.finalize())


def _gcm(index: int) -> TokenEvidence:
    iv = bytes(12)
    return _evidence(
        index, "aes256-gcm", 64, bytes(32), AESGCM(bytes(32)).encrypt(iv, message(64, index), None)[-16:], iv
    )


def _evidence(index: int, mechanism: str, size: int, shown: bytes, made: bytes, iv: bytes = b"") -> TokenEvidence:
    return TokenEvidence.model_validate(
        {
            "type": "evidence",
            "measure": "step",
            "index": index,
            "mechanism": mechanism,
            "size": size,
            "open": shown.hex(),
            "iv": iv.hex(),
            "result": made.hex(),
        }
    )


@pytest.mark.parametrize("make", [_p256, _rsa, _hmac, _gcm])
def test_a_right_result_is_believed_and_a_changed_one_is_not(make: Callable[[int], TokenEvidence]) -> None:
    right = make(3)
    assert right.problem() == ""
    last = "0" if right.result[-1] != "0" else "1"
    assert "wrong" in right.model_copy(update={"result": right.result[:-1] + last}).problem()
    assert "wrong" in right.model_copy(update={"index": 4}).problem()


def _openssl(index: int) -> OpensslEvidence:
    private = ec.derive_private_key(7, ec.SECP256R1())
    point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    made = private.sign(message(130, index), ec.ECDSA(hashes.SHA256()))
    fields = {"type": "evidence", "measure": "openssl", "index": index, "holder": "token", "size": 130}
    return OpensslEvidence.model_validate(fields | {"open": point.hex(), "result": made.hex()})


def test_openssls_signature_is_verified_and_its_key_is_where_the_case_has_it() -> None:
    right, other = _openssl(3), _openssl(4)
    assert right.problem() == ""
    assert "wrong" in right.model_copy(update={"index": 4}).problem()
    assert "wrong" in right.model_copy(update={"result": "00"}).problem()
    assert "not a point" in right.model_copy(update={"open": "00"}).problem()
    assert right.misfit(parse_case(OPENSSL + "load")) == ""
    assert "holder" in right.misfit(parse_case(OPENSSL + "sign,holder=process"))
    first, second = right.once(), other.once()
    assert first
    assert second
    assert first.key != second.key
    assert right.model_copy(update={"result": "00"}).once() is None


def test_calls_that_do_not_add_up_are_a_problem() -> None:
    fields = {"type": "calls", "measure": "openssl", "index": 0, "calls": 3, "commands": 2}
    calls = Calls.model_validate(fields | {"functions": "C_GetSessionInfo 2, C_Sign 1"})
    sample = Sample.model_validate(
        {"type": "sample", "measure": "openssl", "place": "client", "index": 0, "phase": "first"}
        | {"begin": 1, "end": 9, "count": 8}
    )
    assert calls.by_function == {"C_GetSessionInfo": 2, "C_Sign": 1}
    assert calls.problem(sample) == ""
    assert "4, but those of the functions are 3" in calls.model_copy(update={"calls": 4}).problem(sample)
    assert Calls.model_validate(fields | {"calls": 0, "functions": "none"}).by_function == {}
    with pytest.raises(ValueError, match="functions"):
        Calls.model_validate(fields | {"functions": "C_Sign"})


def test_a_key_that_is_none_is_a_problem_and_no_crash() -> None:
    right = _p256(0)
    assert "not a point" in right.model_copy(update={"open": "0441" + "04" + "ff" * 64}).problem()
    assert "not a point" in right.model_copy(update={"open": "00"}).problem()
    assert "modulus" in _rsa(0).model_copy(update={"open": "00" * 256}).problem()
    assert "modulus" in _rsa(0).model_copy(update={"open": "00"}).problem()
    assert "bytes" in right.model_copy(update={"result": "00"}).problem()
    assert "a key of 1 bytes" in _gcm(0).model_copy(update={"open": "00"}).problem()
    assert "a vector of 0" in _gcm(0).model_copy(update={"iv": ""}).problem()


def test_a_result_of_another_key_than_the_cases_is_told() -> None:
    case = parse_case(CASE + "sign,mechanism=ecdsa-p384,object=token")
    assert "mechanism" in _p256(0).misfit(case)
    assert _p256(0).misfit(parse_case(CASE + "login")) == ""
    assert "size" in _hmac(0).misfit(parse_case(CASE + "sign,mechanism=hmac-sha256,object=token,message=16KiB"))


def test_a_nonce_or_a_vector_may_be_used_once() -> None:
    first, second = _p256(1).once(), _p256(2).once()
    assert first
    assert second
    assert first.key != second.key
    vector, other = _gcm(1).once(), _gcm(2).once()
    assert vector
    assert other
    # The same vector with another message.
    assert (vector.key, vector.of) != (other.key, other.of)
    assert vector.key == other.key
    assert _hmac(1).once() is None


# --- failures ---


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_a_failure_has_the_standards_name(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(
        '#include <stdio.h>\n#include "ckr.h"\n'
        "int main(void) { unsigned long codes[] = { 0x0, 0x31, 0xa0, 0xe0, 0x150, 0x80000001ul };\n"
        "for (int i = 0; i < 6; i++) puts(ckr_name(codes[i])); }\n"
    )
    folder = paths.GUEST / "apps" / "pkcs11"
    program = tmp_path / "main"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{folder}"]
    subprocess.run([str(COMPILER), *flags, "-o", str(program), str(source), str(folder / "ckr.c")], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split("\n")
    assert said[:5] == [
        "CKR_OK",
        "CKR_DEVICE_MEMORY",
        "CKR_PIN_INCORRECT",
        "CKR_TOKEN_NOT_PRESENT",
        "CKR_BUFFER_TOO_SMALL",
    ]
    assert said[5] == "CKR 0x80000001"


# --- the machine ---


def test_the_library_is_of_the_same_source_as_the_labs_libteec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If this fails, a client is linked with a libckteec that was built beside another libteec, or the core moved."""
    assert images.locked().version == open_lab().package("libteec2", "arm64").version
    package = tmp_path / "libckteec.deb"
    package.write_bytes(b"package")
    monkeypatch.setattr(images, "library", lambda: package)
    case = parse_case(CASE + "login")
    recipes = OPTEE_TARGETS["optee"].recipes(case)
    # The core is that of every other family, to the digit of its address.
    assert optee_images.optee("mbedtls-nist", "O2") in recipes
    (programs,) = (one for one in recipes if one.name.startswith("programs-"))
    assert programs.trees["libckteec.deb"] == package
    assert programs.needs["source"] == optee_images.optee_source()


def test_what_the_ta_calls_its_own_is_no_runtime() -> None:
    """If this fails, `explain` has the TA's commands and attributes in the layer of what every TA is linked with."""
    rules = load_rules()
    assert rules.layer("ta", "theirs/src/object.c", "entry_find_objects_init") == "TA code"
    assert rules.layer("ta", "theirs/src/pkcs11_helpers.c", "tee_init_gcm_operation") == "TA code"
    assert rules.layer("ta", "lib/libutee/tee_api.c", "TEE_Malloc") == "TA runtime"
    assert rules.layer("libckteec", "", "ck_signverify_init") == "libckteec"
    assert rules.layer("libcrypto", "", "EVP_DigestSign") == "OpenSSL"
    assert rules.layer("pkcs11", "", "OSSL_provider_init") == "OpenSSL's provider pkcs11"


# --- what is shown ---


def test_the_answer_says_how_little_of_a_process_the_signature_is() -> None:
    reading = suite_reading("pkcs11")
    (answer,) = pkcs11_answer(reading)
    assert answer.verdict.startswith("A process that signs once with P-256 executes ")
    for call in ("C_Sign", "C_Login"):
        assert call in answer.verdict
    assert answer.table
    shown = [line[0] for line in answer.table.rows]
    assert "C_FindObjects ecdsa-p256, +16 pairs" in shown
    assert "C_Encrypt aes256-gcm 16KiB" in shown
    assert len({tuple(line[:3]) for line in answer.table.rows}) == len(shown)


def test_a_search_says_what_each_further_pair_takes() -> None:
    found = {part.name: part for part in pkcs11_sections(suite_reading("pkcs11"))}
    assert set(found) == {"pkcs11", "pkcs11-find", "pkcs11-legend"}
    table = found["pkcs11-find"].table
    assert table
    shown = [(line[0], line[1], line[2], line[-1] == "-") for line in table.rows]
    nist, ce = "mbedtls-nist-O2", "mbedtls-ce-O2"
    assert [line for line in shown if line[:2] == ("ree", nist)] == [
        ("ree", nist, others, others == "0") for others in ("0", "1", "2", "4", "8", "16")
    ]
    # Without the search in a token with one pair nothing says what a further one adds.
    assert [line for line in shown if line[1] == ce] == [("ree", ce, "4", True)]
    assert [line for line in shown if line[0] == "rpmb"] == [("rpmb", nist, "0", True), ("rpmb", nist, "4", False)]


def test_openssls_answer_says_what_the_token_adds_to_a_handshake() -> None:
    reading = suite_reading("pkcs11-openssl")
    (answer,) = openssl_answer(reading)
    assert "instructions with its key in the token, " in answer.verdict
    assert "a process pays" in answer.verdict
    assert answer.table
    shown = [line[0] for line in answer.table.rows]
    assert "answer a TLS 1.3 client (process)" in shown
    assert "a process, one signature, +4 pairs" in shown
    found = {part.name: part for part in openssl_sections(reading)}
    assert set(found) == {"pkcs11-openssl", "pkcs11-openssl-calls", "pkcs11-openssl-legend"}
    calls = found["pkcs11-openssl-calls"].table
    assert calls
    assert [line[0] for line in calls.rows] == ["C_GetSessionInfo", "C_Sign"]
    assert openssl_answer(suite_reading("pkcs11")) == []
    assert openssl_sections(suite_reading("pkcs11")) == []
    assert pkcs11_answer(reading) == []


def test_without_a_file_system_objects_are_in_rpmb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If this fails, storage=rpmb measures files: the TA leaves it to OP-TEE, which prefers them."""
    package = tmp_path / "package"
    package.write_bytes(b"package")
    monkeypatch.setattr(images, "library", lambda: package)
    alone = optee_images.optee("mbedtls-nist", "O2", optee_images.RPMB_ALONE)
    assert "CFG_REE_FS=n" in alone.needs["objects"].settings["CRYPTO_LIBRARY"].split()
    for storage, wanted in (("rpmb", alone), ("ree-rpmb", optee_images.optee("mbedtls-nist", "O2", "rpmb"))):
        case = parse_case(f"optee/mbedtls-nist-O2/pkcs11,storage={storage},action=login")
        assert wanted in OPTEE_TARGETS["optee"].recipes(case)
    # Another TA says itself which storage it wants.
    case = parse_case("optee/mbedtls-nist-O2/storage,size=32B,storage=rpmb,action=read")
    assert optee_images.optee("mbedtls-nist", "O2", "rpmb") in OPTEE_TARGETS["optee"].recipes(case)


def test_openssls_machine_has_the_tas_core_and_the_locked_provider(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If this fails, the provider comes from elsewhere, or it moved the address of another image."""
    for name in ("library", "provider"):
        package = tmp_path / name
        package.write_bytes(name.encode())
        monkeypatch.setattr(images, name, lambda package=package: package)
    recipes = OPTEE_TARGETS["optee"].recipes(parse_case(OPENSSL + "load"))
    assert optee_images.optee("mbedtls-nist", "O2") in recipes
    (programs,) = (one for one in recipes if one.name.startswith("programs-"))
    assert programs.trees["pkcs11-provider.deb"] == tmp_path / "provider"
    assert programs.trees["libckteec.deb"] == tmp_path / "library"
    assert {"guest/apps/pkcs11/token.c", "guest/apps/pkcs11/ta"} <= programs.trees.keys()
    assert "guest/apps/pkcs11/client.c" not in programs.trees
