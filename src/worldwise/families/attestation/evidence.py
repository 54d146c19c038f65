# SPDX-License-Identifier: BSD-2-Clause
"""Attestation: the rules for its records. Keys and signatures are of P-256, in the TA's format."""

from typing import Annotated, ClassVar, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from worldwise.plan.case import Case
from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, EvidenceRecord, Once, Owed
from worldwise.records.models import Bytes, Count, hex_digits
from worldwise.records.on_curve import REJECTED, once_signed

# The length of the message that each operation signs, in bytes.
MESSAGE_BYTES = {"attestdiv": 48, "attestquorum": 40}
_NO_POINT = "the public key is not a point of P-256"


class SignEvidence(EvidenceRecord):
    """A signature with all that is needed to verify it: X||Y, the message, r||s, in lower-case hex."""

    tag: ClassVar[str] = "sign"
    order: ClassVar[int] = 1

    type: Literal["evidence"]
    measure: Literal["sign"]
    index: Count
    public: Annotated[str, hex_digits(128)]
    message: Bytes
    signature: Annotated[str, hex_digits(128)]

    def misfit(self, case: Case) -> str:
        """A message of another length than the operation's."""
        length, due = len(self.message) // 2, MESSAGE_BYTES[case.operation]
        return "" if length == due else f"the message has {length} bytes, not {due}"

    def problem(self) -> str:
        public = _public(self.public)
        if public is None:
            return _NO_POINT
        signature = encode_dss_signature(int(self.signature[:64], 16), int(self.signature[64:], 16))
        try:
            public.verify(signature, bytes.fromhex(self.message), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return "the signature is wrong: it does not verify"
        return ""

    def once(self) -> Once:
        return once_signed(self.public, self.signature, bytes.fromhex(self.message))


class KeygenEvidence(EvidenceRecord):
    """A throw-away key pair made by the benchmark: X||Y and the private scalar, in lower-case hex."""

    tag: ClassVar[str] = "keygen"
    order: ClassVar[int] = 2

    type: Literal["evidence"]
    measure: Literal["keygen"]
    index: Count
    public: Annotated[str, hex_digits(128)]
    private: Annotated[str, hex_digits(64)]

    def problem(self) -> str:
        public = _public(self.public)
        if public is None:
            return _NO_POINT
        try:
            derived = ec.derive_private_key(int(self.private, 16), ec.SECP256R1()).public_key()
        except ValueError:
            return "the private key is out of range"
        same = derived.public_numbers() == public.public_numbers()
        return "" if same else "the public key does not belong to the private key"

    def once(self) -> Once:
        return Once((self.public,), self.index, "made the key that {} had made")


def _public(text: str) -> ec.EllipticCurvePublicKey | None:
    """The key of X||Y in hex; None if it is not a point of P-256."""
    try:
        return ec.EllipticCurvePublicNumbers(int(text[:64], 16), int(text[64:], 16), ec.SECP256R1()).public_key()
    except ValueError:
        return None


_KINDS = (OPTEE, LINUX)

EVIDENCE = Evidence(
    (
        Owed(_KINDS, "keygen", measure="keygen", evidence=KeygenEvidence),
        *(
            Owed(_KINDS, operation, measure="sign", evidence=SignEvidence, checks=REJECTED)
            for operation in MESSAGE_BYTES
        ),
        Owed((OPTEE,), "storage-create", checks=("content-read-back",)),
    )
)
