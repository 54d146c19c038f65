# SPDX-License-Identifier: BSD-2-Clause
"""PKCS#11: the rules for its records. Each step has what a key signed, authenticated or encrypted after it or in it."""

from typing import Annotated, ClassVar, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import Field

from worldwise.base.units import parse_size
from worldwise.families.pkcs11.spec import EC, HMAC, LEAST, MEASURE, MOST, OPENSSL, OPENSSL_MEASURE, PKCS11
from worldwise.plan.case import Case
from worldwise.plan.spec import OPTEE, TA
from worldwise.records.evidence import CallRecord, Evidence, EvidenceRecord, Once, Owed
from worldwise.records.messages import message_pieces
from worldwise.records.models import Bytes, Count, Sample, Text

# Mechanism -> its curve, the hash whose digest is as long as what is signed, and that length.
_CURVES: dict[str, tuple[ec.EllipticCurve, hashes.HashAlgorithm, int]] = {
    "ecdsa-p256": (ec.SECP256R1(), hashes.SHA256(), 32),
    "ecdsa-p384": (ec.SECP384R1(), hashes.SHA384(), 48),
}
_RSA_BYTES, _RSA_EXPONENT, _SIGNED_BY_RSA = 256, 65537, 32
_TAG, _AES_BYTES = 16, 32
_WRONG = "the signature is wrong: it does not verify"


class TokenEvidence(EvidenceRecord):
    """What a key of the token made of the call's message: a signature, an HMAC, or the tag of AES-256 in GCM.

    `open` is the public key as PKCS#11 gives it (the DER of a point, or a modulus), or the bytes of an imported secret.
    """

    tag: ClassVar[str] = "token"
    mark: ClassVar[str] = "open"
    order: ClassVar[int] = 19

    type: Literal["evidence"]
    measure: Literal["step"]
    index: Count
    mechanism: Literal["ecdsa-p256", "ecdsa-p384", "rsa2048-pss", "hmac-sha256", "aes256-gcm"]
    size: Annotated[int, Field(ge=LEAST, le=MOST)]
    open: Bytes
    iv: Annotated[str, Field(pattern="^([0-9a-f]{24})?$")]
    result: Bytes

    def misfit(self, case: Case) -> str:
        """Evidence of another key or another message than the case's."""
        given = dict(case.parameters)
        name = given.get("mechanism", EC[0])
        own = _CURVES[name][2] if name in _CURVES else _SIGNED_BY_RSA
        size = parse_size(given["message"]) if "message" in given else own
        return self.differs({"mechanism": name, "size": size}, "the case has")

    def problem(self) -> str:
        message = b"".join(message_pieces("blocks", self.size, self.index))
        made, shown = bytes.fromhex(self.result), bytes.fromhex(self.open)
        if self.mechanism in EC:
            return _ecdsa_problem(self.mechanism, shown, message, made)
        if self.mechanism == "rsa2048-pss":
            return _rsa_problem(shown, message, made)
        if self.mechanism == HMAC:
            due = hmac.HMAC(shown, hashes.SHA256())
            due.update(message)
            return "" if due.finalize() == made else "the HMAC is wrong: it is not that of the message"
        if len(shown) != _AES_BYTES or not self.iv:
            return f"a key of {len(shown)} bytes and a vector of {len(self.iv) // 2}"
        sealed = AESGCM(shown).encrypt(bytes.fromhex(self.iv), message, None)
        return "" if sealed[-_TAG:] == made else "the tag is wrong: it is not that of AES-256 in GCM"

    def once(self) -> Once | None:
        if self.mechanism in EC:
            half = len(self.result) // 2
            return Once((self.open, self.result[:half]), self.index, "used the nonce of {} again")
        return Once((self.iv,), self.index, "used the vector of {} again") if self.iv else None


def _ecdsa_problem(mechanism: str, shown: bytes, digest: bytes, made: bytes) -> str:
    curve, algorithm, size = _CURVES[mechanism]
    # The octet string's own tag and length come before the point.
    if len(shown) != 2 * size + 3 or shown[:3] != bytes((4, 2 * size + 1, 4)):
        return "the public key is not a point of the curve"
    if len(made) != 2 * size or len(digest) != size:
        return f"a signature of {len(made)} bytes of a digest of {len(digest)}"
    try:
        public = ec.EllipticCurvePublicKey.from_encoded_point(curve, shown[2:])
    except ValueError:
        return "the public key is not a point of the curve"
    signature = encode_dss_signature(int.from_bytes(made[:size]), int.from_bytes(made[size:]))
    try:
        public.verify(signature, digest, ec.ECDSA(Prehashed(algorithm)))
    except InvalidSignature:
        return _WRONG
    return ""


def _rsa_problem(shown: bytes, message: bytes, made: bytes) -> str:
    if len(shown) != _RSA_BYTES:
        return f"a modulus of {len(shown)} bytes"
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), salt_length=32)
    try:
        public = rsa.RSAPublicNumbers(_RSA_EXPONENT, int.from_bytes(shown)).public_key()
        public.verify(made, message, pss, hashes.SHA256())
    except ValueError:
        return "the modulus is not an RSA modulus"
    except InvalidSignature:
        return _WRONG
    return ""


class OpensslEvidence(EvidenceRecord):
    """What OpenSSL signed with P-256 and SHA-256 in the step or after it.

    `open` is the point, `result` the signature in DER.
    """

    tag: ClassVar[str] = "openssl"
    order: ClassVar[int] = 23

    type: Literal["evidence"]
    measure: Literal["openssl"]
    index: Count
    holder: Literal["token", "process"]
    size: Annotated[int, Field(ge=LEAST, le=MOST)]
    open: Bytes
    result: Bytes

    def misfit(self, case: Case) -> str:
        """Evidence of a key elsewhere than the case has it."""
        return self.differs({"holder": dict(case.parameters).get("holder", "token")}, "the case has")

    def problem(self) -> str:
        message = b"".join(message_pieces("blocks", self.size, self.index))
        try:
            public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes.fromhex(self.open))
        except ValueError:
            return "the public key is not a point of the curve"
        try:
            public.verify(bytes.fromhex(self.result), message, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return _WRONG
        return ""

    def once(self) -> Once | None:
        try:
            nonce, _ = decode_dss_signature(bytes.fromhex(self.result))
        except ValueError:
            return None
        return Once((self.open, f"{nonce:x}"), self.index, "used the nonce of {} again")


class Calls(CallRecord):
    """How many calls of PKCS#11 a step by OpenSSL took, and commands of the TA.

    They are counted when the step is made once more, by a module that goes on to libckteec. `functions` has the calls
    of each function, `C_SignInit 1, C_Sign 1`, in the order of PKCS#11's list.
    """

    type: Literal["calls"]
    measure: Text
    index: Count
    calls: Count
    commands: Count
    functions: Annotated[str, Field(pattern="^(none|C_[A-Za-z]+ [0-9]+(, C_[A-Za-z]+ [0-9]+)*)$")]

    @property
    def by_function(self) -> dict[str, int]:
        """The calls of each function that was called."""
        if self.functions == "none":
            return {}
        return {name: int(times) for name, times in (one.split(" ") for one in self.functions.split(", "))}

    def problem(self, _sample: Sample) -> str:
        """Functions whose calls do not add up to all."""
        found = sum(self.by_function.values())
        if found == self.calls:
            return ""
        return f"calls of {self.measure} {self.index}: {self.calls}, but those of the functions are {found}."


EVIDENCE = Evidence(
    (
        Owed(
            (OPTEE,),
            PKCS11,
            measure=MEASURE,
            evidence=TokenEvidence,
            checks=("token-accepts", "changed-refused"),
            summed=(TA,),
            counted=(TA,),
        ),
        Owed(
            (OPTEE,),
            OPENSSL,
            measure=OPENSSL_MEASURE,
            evidence=OpensslEvidence,
            checks=("public-key-accepts", "changed-refused"),
            summed=(TA,),
            counted=(TA,),
            beside=Calls,
        ),
    )
)
