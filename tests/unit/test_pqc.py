# SPDX-License-Identifier: BSD-2-Clause
"""Post-quantum schemes: the standards as the host has them, known answers, evidence, what fits where."""

import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import x25519

from board_reading import board_reading, board_row
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.families.pqc import fips203, fips204, fips205, hybrid, libraries, readings
from worldwise.families.pqc.evidence import (
    OPENSSL_KEMS,
    OPENSSL_SIGNATURES,
    PqcKeygenEvidence,
    PqcSignatureEvidence,
    SecretEvidence,
)
from worldwise.families.pqc.readings import middle, tail
from worldwise.families.pqc.schemes import KEMS, SCHEMES, SIGNATURES
from worldwise.families.pqc.spec import CALLS
from worldwise.families.pqc.tables import pqc_sections
from worldwise.libraries.boards import boards
from worldwise.libraries.portable import portables
from worldwise.plan.case import parse_case
from worldwise.plan.suite import load_suite
from worldwise.read.contests import LEAST_CALLS, percentile
from worldwise.read.family_fields import TaSize
from worldwise.read.models import Row
from worldwise.records.messages import message
from worldwise.records.models import Sample
from worldwise.records.parse import parse_line

_SEED = bytes(range(64))
_RANDOM = bytes(reversed(range(32)))
_OF_X25519 = bytes(range(100, 132))


def _known(scheme: str) -> Mapping[str, bytes]:
    """The arrays of a header with known answers. What two headers share are words of a third, each a list of bytes."""
    folder = paths.GUEST / "pqc-operations" / "known"
    text = (folder / f"{scheme}.h").read_text(encoding="utf-8")
    for included in re.findall(r'#include "(.*)"', text):
        text = (folder / included).read_text(encoding="utf-8") + text
    text = text.replace("\\\n", " ")
    # A word may be made of those before it.
    for word, body in reversed(re.findall(r"#define (\w+) (.+)", text)):
        text = re.sub(rf"\b{word}\b", body, text)
    return {
        name: bytes(int(byte, 16) for byte in re.findall(r"0x([0-9a-f]{2})", body))
        for name, body in re.findall(r"known_(\w+)\[\] = \{(.*?)\};", text, re.DOTALL)
    }


def _seed(scheme: str) -> bytes:
    """A seed of a KEM's length."""
    return _SEED + (_OF_X25519 if scheme == hybrid.HYBRID else b"")


def _random(scheme: str) -> bytes:
    """Random bytes of an encapsulation."""
    return _RANDOM + (_OF_X25519 if scheme == hybrid.HYBRID else b"")


def _signing_seed(scheme: str) -> bytes:
    """A seed of a signature scheme's length."""
    return _SEED[: SCHEMES[scheme].seed]


def _signing_random(scheme: str) -> bytes:
    """Random bytes of a signature."""
    return _RANDOM[: SCHEMES[scheme].random]


def _key_pair(scheme: str) -> tuple[bytes, bytes]:
    if scheme in KEMS:
        return hybrid.keygen(scheme, _seed(scheme))
    if scheme in fips205.PARAMETERS:
        return fips205.keygen(scheme, _signing_seed(scheme))
    key = fips204.keygen(scheme, _signing_seed(scheme))
    return key.public, key.private


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# --- the standards ---


@pytest.mark.parametrize("scheme", KEMS)
def test_known_answers_of_fips_203(scheme: str) -> None:
    """If this fails, the host or the device has another ML-KEM than NIST, or another X25519 than RFC 7748."""
    known = _known(scheme)
    public, private = hybrid.keygen(scheme, known["seed"])
    assert (_sha256(public), _sha256(private)) == (known["public_sha256"], known["private_sha256"])
    own = SCHEMES[scheme]
    public = known.get("public", known["private"][own.private - 64 - own.public : own.private - 64])
    ciphertext, secret = hybrid.encaps(scheme, public, known["random"])
    assert (_sha256(ciphertext), secret) == (known["output_sha256"], known["secret"])
    assert hybrid.decaps(scheme, known["private"], ciphertext) == secret
    changed = bytes([ciphertext[0] ^ 1]) + ciphertext[1:]
    assert hybrid.decaps(scheme, known["private"], changed) == known["rejected"]


@pytest.mark.parametrize("scheme", fips204.PARAMETERS)
def test_known_answers_of_fips_204(scheme: str) -> None:
    """If this fails, the host or the device has another ML-DSA than NIST."""
    known = _known(scheme)
    key = fips204.keygen(scheme, known["seed"])
    assert (_sha256(key.public), _sha256(key.private)) == (known["public_sha256"], known["private_sha256"])
    key = fips204.key_of(scheme, known["private"])
    signature, attempts = fips204.sign(scheme, key, known["message"], known["random"], known["context"])
    assert _sha256(signature) == known["output_sha256"]
    assert attempts >= 1


@pytest.mark.parametrize("scheme", fips205.PARAMETERS)
def test_known_answers_of_fips_205(scheme: str) -> None:
    """If this fails, the host or the device has another SLH-DSA than NIST."""
    known = _known(scheme)
    public, private = fips205.keygen(scheme, known["seed"])
    assert (_sha256(public), _sha256(private)) == (known["public_sha256"], known["private_sha256"])
    text, context = known["message"], known["context"]
    signature = fips205.sign(scheme, known["private"], text, known["random"], context)
    assert _sha256(signature) == known["output_sha256"]
    public = known["private"][-SCHEMES[scheme].public :]
    assert fips205.verify(scheme, public, text, signature, context)
    assert not fips205.verify(scheme, public, text, signature)
    assert not fips205.verify(scheme, public, text + b"\0", signature, context)
    assert not fips205.verify(scheme, public, text, signature[:-1], context)
    # R, a secret value of FORS, a path of FORS, a chain of WOTS+ of the lowest tree, the highest path.
    for at in (0, fips205.N, 2 * fips205.N, len(signature) // 2, len(signature) - 1):
        changed = signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1 :]
        assert not fips205.verify(scheme, public, text, changed, context), at


@pytest.mark.parametrize("scheme", OPENSSL_KEMS)
def test_ml_kem_is_that_of_openssl(scheme: str) -> None:
    public, private = fips203.keygen(scheme, _SEED)
    theirs = OPENSSL_KEMS[scheme].from_seed_bytes(_SEED)
    assert theirs.public_key().public_bytes_raw() == public
    ciphertext, secret = fips203.encaps(scheme, public, _RANDOM)
    assert theirs.decapsulate(ciphertext) == secret
    secret, ciphertext = theirs.public_key().encapsulate()
    assert fips203.decaps(scheme, private, ciphertext) == secret


@pytest.mark.parametrize("scheme", OPENSSL_SIGNATURES)
def test_ml_dsa_is_that_of_openssl(scheme: str) -> None:
    theirs = OPENSSL_SIGNATURES[scheme].from_seed_bytes(_SEED[:32])
    key = fips204.keygen(scheme, _SEED[:32])
    assert theirs.public_key().public_bytes_raw() == key.public
    assert fips204.key_of(scheme, key.private) == key
    for index in range(4):
        signature, _ = fips204.sign(scheme, key, message(32, index), _RANDOM, b"context")
        theirs.public_key().verify(signature, message(32, index), b"context")


def test_x25519_is_that_of_openssl() -> None:
    theirs = x25519.X25519PrivateKey.from_private_bytes(_OF_X25519)
    other = x25519.X25519PrivateKey.from_private_bytes(_RANDOM)
    share = other.public_key().public_bytes_raw()
    assert hybrid.keygen(hybrid.HYBRID, _SEED + _RANDOM)[0][-hybrid.BYTES :] == share
    assert hybrid.x25519(_OF_X25519, share) == theirs.exchange(other.public_key())
    # RFC 7748, section 5: the last bit of a coordinate is ignored.
    assert hybrid.x25519(_OF_X25519, share[:-1] + bytes([share[-1] | 0x80])) == theirs.exchange(other.public_key())


def test_attempts_are_as_many_as_fips_204_expects() -> None:
    """If this fails, the count of attempts is wrong: FIPS 204, table 1, expects 4.25 with ML-DSA-44."""
    key = fips204.keygen("ml-dsa-44", _SEED[:32])
    attempts = [fips204.sign("ml-dsa-44", key, message(32, index), _RANDOM)[1] for index in range(30)]
    assert min(attempts) == 1
    assert 3 < sum(attempts) / len(attempts) < 5.5


# --- the interface ---


def test_lengths_are_those_of_the_interface() -> None:
    """If this fails, the tool and the programs speak of different schemes."""
    text = (libraries.FOLDER / "pqc.h").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"^#define PQC_((?:X25519_ML|ML|SLH)_\w+) (\d+)$", text, re.MULTILINE))
    found = re.findall(
        r"PQC_SCHEME == PQC_((?:X25519_ML|ML|SLH)_\w+)\n#define PQC_NAME \"(.*)\"\n#define PQC_PRIVATE_BYTES (\d+)\n"
        r"#define PQC_PUBLIC_BYTES (\d+)\n#define PQC_OUTPUT_BYTES (\d+)\n",
        text,
    )
    there = {name: (int(numbers[number]), *map(int, rest)) for number, name, *rest in found}
    assert there == {
        name: (scheme.number, scheme.private, scheme.public, scheme.output) for name, scheme in SCHEMES.items()
    }
    for name, scheme in SCHEMES.items():
        public, private = _key_pair(name)
        if name in KEMS:
            output = len(hybrid.encaps(name, public, _random(name))[0])
        elif name in fips205.PARAMETERS:
            output = fips205.PARAMETERS[name].signature
        else:
            output = len(fips204.sign_seeded(name, _signing_seed(name), b"", _RANDOM)[0])
        assert (len(private), len(public), output) == (scheme.private, scheme.public, scheme.output)


def test_libraries_have_names_of_their_own() -> None:
    found = libraries.libraries()
    assert found
    assert not found.keys() & portables().keys()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ml-dsa-87 = ", "ml-dsa-88 = ", "scheme 'ml-dsa-88' is not known"),
        ('ml-kem-512 = ["keygen", ', "ml-kem-512 = [", "ml-kem-512 has keygen, encaps, decaps, each of them"),
        ('crate = "wolfssl-sys"', 'debian = "wolfssl"', "a crate"),
        ('name = "wolfssl-pqc"', 'name = "other"', "its name is 'other', not that of the file"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = tmp_path / "wolfssl-pqc.c"
    text = (libraries.FOLDER / path.name).read_text(encoding="utf-8")
    assert old in text
    if "debian" in new:
        text = re.sub(r'^(version|sha256) = ".*"\n', "", text, flags=re.MULTILINE)
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(WorldwiseError, match=re.escape(problem)) as refused:
        libraries.load(path)
    assert str(path) in refused.value.message


# --- evidence ---


def _keygen(scheme: str) -> dict[str, Any]:
    kem = scheme in KEMS
    public, private = _key_pair(scheme)
    return {
        "type": "evidence",
        "measure": "kem-keygen" if kem else "dsa-keygen",
        "index": 0,
        "scheme": scheme,
        "seed": (_seed(scheme) if kem else _signing_seed(scheme)).hex(),
        "public_sha256": _sha256(public).hex(),
        "private_sha256": _sha256(private).hex(),
    }


def _secret(scheme: str) -> dict[str, Any]:
    ciphertext, secret = hybrid.encaps(scheme, hybrid.keygen(scheme, _seed(scheme))[0], _random(scheme))
    return {
        "type": "evidence",
        "measure": "encaps",
        "index": 0,
        "scheme": scheme,
        "seed": _seed(scheme).hex(),
        "random": _random(scheme).hex(),
        "ciphertext_sha256": _sha256(ciphertext).hex(),
        "secret": secret.hex(),
    }


def _signature(scheme: str) -> dict[str, Any]:
    seed, random = _signing_seed(scheme), _signing_random(scheme)
    if scheme in fips205.PARAMETERS:
        signature = fips205.sign_seeded(scheme, seed, message(32, 3), random)
    else:
        signature, _ = fips204.sign_seeded(scheme, seed, message(32, 3), random)
    return {
        "type": "evidence",
        "measure": "dsa-sign",
        "index": 3,
        "scheme": scheme,
        "seed": seed.hex(),
        "random": random.hex(),
        "content": "blocks",
        "size": 32,
        "signature_sha256": _sha256(signature).hex(),
    }


_EVIDENCE = [
    *((PqcKeygenEvidence, _keygen, scheme) for scheme in SCHEMES),
    *((SecretEvidence, _secret, scheme) for scheme in KEMS),
    # A signature of 128s takes the host seconds, and is made as that of 128f.
    *((PqcSignatureEvidence, _signature, scheme) for scheme in SIGNATURES if not scheme.endswith("128s")),
]


@pytest.mark.parametrize(("model", "make", "scheme"), _EVIDENCE)
def test_a_wrong_result_is_found(model: Any, make: Callable[[str], dict[str, Any]], scheme: str) -> None:
    """If this fails, a library may compute anything and is measured all the same."""
    record = make(scheme)
    assert not model.model_validate(record).problem()
    for key, value in record.items():
        if key in ("seed", "random", "secret") or key.endswith("_sha256"):
            changed = f"{int(value[0], 16) ^ 1:x}{value[1:]}"
            assert model.model_validate({**record, key: changed}).problem(), key


def test_a_seed_of_another_length_is_refused() -> None:
    record = {**_keygen("ml-kem-512"), "seed": _SEED[:32].hex()}
    problem = PqcKeygenEvidence.model_validate(record).problem()
    assert problem == "the seed has 32 bytes, ml-kem-512 has 64"


def test_random_bytes_of_another_length_are_refused() -> None:
    record = {**_signature("slh-dsa-sha2-128f"), "random": _RANDOM.hex()}
    problem = PqcSignatureEvidence.model_validate(record).problem()
    assert problem == "the random part has 32 bytes, slh-dsa-sha2-128f has 16"


def test_evidence_of_another_case_is_refused() -> None:
    case = parse_case("nucleo-f446re/wolfssl-pqc-O2/dsa-sign,scheme=ml-dsa-65,size=32B", 1, 0)
    misfit = PqcSignatureEvidence.model_validate(_signature("ml-dsa-44")).misfit(case)
    assert misfit == "scheme is 'ml-dsa-44', the case has 'ml-dsa-65'"


# --- the suite ---


def test_what_is_not_there_is_said_with_its_reason() -> None:
    """If this fails, a board is asked for what its RAM cannot hold, and the run fails."""
    suite = load_suite("pqc")
    reasons = {(each.operation, each.reason) for each in suite.unavailable if each.target == "microbit"}
    told = r"sign needs what keygen makes: keygen of ml-dsa-44 takes [\d,]+ bytes of stack .* and there are 16,384"
    assert any(operation == "dsa-sign" and re.fullmatch(told, reason) for operation, reason in reasons)
    assert {case.target for case in suite.cases} >= {"microbit", "nucleo-f446re", "linux-armv8", "linux-armv7"}


@pytest.mark.parametrize("name", libraries.NAMES)
def test_every_operation_has_its_memory(name: str) -> None:
    """If this fails, nobody knows whether it fits a board."""
    library = libraries.libraries()[name]
    for scheme, operations in library.manifest.operations.items():
        for operation in operations:
            peak = library.peak(scheme, operation)
            assert peak
            assert peak.stack > 0


def test_every_operation_is_of_a_library() -> None:
    assert set(CALLS.values()) == {call for scheme in SCHEMES.values() for call in scheme.operations}
    assert "nucleo-f446re" in boards()


def test_ranks() -> None:
    values = list(range(1, 1002))
    assert [middle(values), percentile(values, 90), percentile(values, 99)] == [501, 901, 991]
    assert percentile(values[: LEAST_CALLS - 1], 90) is None
    assert middle([7]) == 7


# --- in a TA ---

_IN_LINUX = "linux-armv8/wolfssl-pqc-O2/dsa-sign,scheme={},size=32B"
_IN_TEE = "optee/wolfssl-pqc-O2/dsa-sign,scheme=ml-dsa-44,size=32B"


def test_a_ta_has_every_scheme_of_both_libraries() -> None:
    """In C and with assembly. If this fails, a scheme is left out of the TEE, or is refused there for a board's RAM.

    But for 128s: its signature is too slow for a suite, with as many calls as a TA's heap takes to be found.
    """
    cases = [case for case in load_suite("pqc").cases if case.target == "optee" and case.operation in CALLS]
    there = {dict(case.parameters)["scheme"] for case in cases}
    assert SCHEMES.keys() - there == {"slh-dsa-sha2-128s"}
    assert len(cases) == 2 * sum(len(SCHEMES[name].operations) for name in there)
    with pytest.raises(WorldwiseError, match="mbedtls-nist has no post-quantum scheme"):
        parse_case(_IN_TEE.replace("wolfssl-pqc", "mbedtls-nist"))


def _row(place: str, median: int) -> Row:
    case = parse_case(_IN_TEE)
    usual = board_row()
    told = {
        "case": case.id,
        "target": "optee",
        "board": "",
        "variant": case.variant,
        "operation": case.operation,
        "parameters": case.parameter_text,
        "place": place,
        "median": median,
        "worst": 2 * median,
        "n": 7,
    }
    of_ta = usual.footprint.model_copy(update={"stack": 5200, "heap": 51_200} if place == "ta" else {"stack": None})
    row: Row = usual.model_copy(update=told).with_part(of_ta)
    return row.with_part(TaSize(ta_loaded=61_000, ta_file=50_000))


def test_the_table_of_the_tee_has_both_places_in_one_line() -> None:
    """If this fails, a TA's figures are shown as the client's, or its memory is lost."""
    rows = (_row("client", 1_350_000), _row("ta", 1_250_000))
    sections = pqc_sections(board_reading().model_copy(update={"rows": rows}))
    (table,) = (section.table for section in sections if section.title.startswith("In a TA"))
    assert table
    assert table.rows == [
        ["ml-dsa-44", "sign", "wolfssl-pqc-O2", "7", "1,250,000", "1,350,000", "2,700,000", "61,000", "5,200", "51,200"]
    ]


def test_the_tail_in_a_tee_is_the_client_s() -> None:
    """If this fails, counts of two places are mixed, and a budget is judged by half of them too low."""
    sample = {"type": "sample", "measure": "dsa-sign", "index": 0, "phase": "first", "begin": 0}
    evidence = PqcSignatureEvidence.model_validate(_signature("ml-dsa-44"))
    places = (("ta", 100), ("client", 300))
    samples = [Sample.model_validate({**sample, "place": place, "end": n, "count": n}) for place, n in places]
    found = tail(parse_case(_IN_TEE), [*samples, evidence])
    assert (found.calls, found.median, found.worst) == (1, 300, 300)
    assert found.median_attempts == evidence.attempts


def test_only_signatures_with_attempts_have_a_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the section on ML-DSA's attempts says that SLH-DSA always takes one."""
    monkeypatch.setattr(readings, "read_records", str)
    monkeypatch.setattr(readings, "tail", lambda _case, records: records)
    monkeypatch.setattr(readings, "Tails", SimpleNamespace)
    ours = [_IN_LINUX.format(scheme) for scheme in ("ml-dsa-44", "slh-dsa-sha2-128f")]
    done = [SimpleNamespace(case=functools.partial(parse_case, text)) for text in ours]
    seen: Any = SimpleNamespace(done=done, run=SimpleNamespace(records_path=str))
    whole: Any = readings.READINGS.whole
    assert whole(seen).signing == (parse_case(ours[0]).id,)


def test_a_ta_may_say_its_heap() -> None:
    line = b'{"type":"memory","measure":"dsa-sign","place":"ta","stack":5200,"heap":51200}'
    assert parse_line(line, "here", 1)
