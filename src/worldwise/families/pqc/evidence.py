# SPDX-License-Identifier: BSD-2-Clause
"""Post-quantum schemes: the rules for their records.

A record has the random bytes of a call and digests of its result. The host makes the result again by the text of the
standards (fips203.py, fips204.py, fips205.py), compares the digests, and has OpenSSL use it where that has the scheme.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import mldsa, mlkem, x25519
from pydantic import Field

from worldwise.families.pqc import fips204, fips205, hybrid
from worldwise.families.pqc.schemes import KEMS, SCHEMES
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.case import Case
from worldwise.plan.spec import BOARD, OPTEE
from worldwise.records.evidence import Evidence, EvidenceRecord, Once, Owed
from worldwise.records.messages import MessageSize, message
from worldwise.records.models import Count, hex_digits

_KemScheme = Literal["ml-kem-512", "ml-kem-768", "ml-kem-1024", "x25519-ml-kem-768"]
_DsaScheme = Literal[
    "ml-dsa-44",
    "ml-dsa-65",
    "ml-dsa-87",
    "slh-dsa-sha2-128s",
    "slh-dsa-sha2-128f",
    "slh-dsa-shake-128f",
]
_Digest = Annotated[str, hex_digits(64)]
_Seed = Annotated[str, Field(pattern="^([0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}|[0-9a-f]{192})$")]
# 32 bytes, in SLH-DSA 16.
_OfSignature = Annotated[str, Field(pattern="^([0-9a-f]{32}|[0-9a-f]{64})$")]
# 32 bytes, and in the hybrid 32 of X25519.
_OfKem = Annotated[str, Field(pattern="^([0-9a-f]{64}|[0-9a-f]{128})$")]

# OpenSSL's private keys, of the schemes that it has.
OPENSSL_KEMS: Mapping[str, type[mlkem.MLKEM768PrivateKey | mlkem.MLKEM1024PrivateKey]] = {
    "ml-kem-768": mlkem.MLKEM768PrivateKey,
    "ml-kem-1024": mlkem.MLKEM1024PrivateKey,
}
OPENSSL_SIGNATURES: Mapping[str, type[mldsa.MLDSA44PrivateKey | mldsa.MLDSA65PrivateKey | mldsa.MLDSA87PrivateKey]] = {
    "ml-dsa-44": mldsa.MLDSA44PrivateKey,
    "ml-dsa-65": mldsa.MLDSA65PrivateKey,
    "ml-dsa-87": mldsa.MLDSA87PrivateKey,
}


def _known_public(scheme: str, seed: bytes) -> bytes | None:
    """The public key of a seed by OpenSSL; None where that lacks the scheme."""
    if scheme == hybrid.HYBRID:
        scalar = x25519.X25519PrivateKey.from_private_bytes(seed[-hybrid.BYTES :])
        of_kem = mlkem.MLKEM768PrivateKey.from_seed_bytes(seed[: -hybrid.BYTES])
        return of_kem.public_key().public_bytes_raw() + scalar.public_key().public_bytes_raw()
    other = OPENSSL_KEMS.get(scheme)
    return other.from_seed_bytes(seed).public_key().public_bytes_raw() if other else None


def _known_secret(scheme: str, seed: bytes, ciphertext: bytes) -> bytes | None:
    """The secret in a ciphertext by OpenSSL; None where that lacks the scheme."""
    if scheme == hybrid.HYBRID:
        scalar = x25519.X25519PrivateKey.from_private_bytes(seed[-hybrid.BYTES :])
        peer = x25519.X25519PublicKey.from_public_bytes(ciphertext[-hybrid.BYTES :])
        of_kem = mlkem.MLKEM768PrivateKey.from_seed_bytes(seed[: -hybrid.BYTES])
        return of_kem.decapsulate(ciphertext[: -hybrid.BYTES]) + scalar.exchange(peer)
    other = OPENSSL_KEMS.get(scheme)
    return other.from_seed_bytes(seed).decapsulate(ciphertext) if other else None


def _is(data: bytes, digest: str) -> bool:
    return hashlib.sha256(data).hexdigest() == digest


def _scheme_misfit(evidence: EvidenceRecord, case: Case, **more: object) -> str:
    return evidence.differs({"scheme": dict(case.parameters)["scheme"], **more}, "the case has")


def _length_problem(scheme: str, seed: str, random: str | None = None) -> str:
    of = SCHEMES[scheme]
    for what, value, wanted in (("seed", seed, of.seed), ("random part", random, of.random)):
        if value is not None and len(value) != 2 * wanted:
            return f"the {what} has {len(value) // 2} bytes, {scheme} has {wanted}"
    return ""


class PqcKeygenEvidence(EvidenceRecord):
    """A key pair, by the seed that it is made of and digests of its octet strings."""

    tag: ClassVar[str] = "pqc-keygen"
    order: ClassVar[int] = 20

    type: Literal["evidence"]
    measure: Literal["kem-keygen", "dsa-keygen"]
    index: Count
    scheme: _KemScheme | _DsaScheme
    seed: _Seed
    public_sha256: _Digest
    private_sha256: _Digest

    def misfit(self, case: Case) -> str:
        """Evidence of another scheme than the case's."""
        return _scheme_misfit(self, case)

    def problem(self) -> str:
        if problem := _length_problem(self.scheme, self.seed):
            return problem
        seed = bytes.fromhex(self.seed)
        if self.scheme in KEMS:
            public, private = hybrid.keygen(self.scheme, seed)
            known = _known_public(self.scheme, seed) or public
        elif self.scheme in fips205.PARAMETERS:
            public, private = fips205.keygen(self.scheme, seed)
            known = public
        else:
            key = fips204.keygen(self.scheme, seed)
            public, private = key.public, key.private
            known = OPENSSL_SIGNATURES[self.scheme].from_seed_bytes(seed).public_key().public_bytes_raw()
        if not (_is(public, self.public_sha256) and public == known):
            return f"the public key is wrong: it is not that of {self.scheme} of the seed"
        if not _is(private, self.private_sha256):
            return f"the private key is wrong: it is not that of {self.scheme} of the seed"
        return ""

    def once(self) -> Once | None:
        return Once((self.seed,), self.index, "has the seed of {} again")


class SecretEvidence(EvidenceRecord):
    """A shared secret, with the random bytes of both sides and the digest of the ciphertext."""

    tag: ClassVar[str] = "pqc-secret"
    order: ClassVar[int] = 21

    type: Literal["evidence"]
    measure: Literal["encaps", "decaps"]
    index: Count
    scheme: _KemScheme
    seed: _Seed
    random: _OfKem
    ciphertext_sha256: _Digest
    secret: _OfKem

    def misfit(self, case: Case) -> str:
        """Evidence of another scheme than the case's."""
        return _scheme_misfit(self, case)

    def problem(self) -> str:
        if problem := _length_problem(self.scheme, self.seed, self.random):
            return problem
        seed = bytes.fromhex(self.seed)
        public, _ = hybrid.keygen(self.scheme, seed)
        ciphertext, secret = hybrid.encaps(self.scheme, public, bytes.fromhex(self.random))
        if not _is(ciphertext, self.ciphertext_sha256):
            return f"the ciphertext is wrong: it is not that of {self.scheme} of the key and the random bytes"
        if secret.hex() != self.secret or secret != (_known_secret(self.scheme, seed, ciphertext) or secret):
            return f"the secret is wrong: it is not that of {self.scheme} in the ciphertext"
        return ""

    def once(self) -> Once | None:
        return Once((self.random,), self.index, "has the random bytes of {} again")


class PqcSignatureEvidence(EvidenceRecord):
    """A signature of a reproducible message, with the seed of the key, the random bytes and its digest."""

    tag: ClassVar[str] = "pqc-signature"
    order: ClassVar[int] = 22

    type: Literal["evidence"]
    measure: Literal["dsa-sign", "dsa-verify"]
    index: Count
    scheme: _DsaScheme
    seed: _Seed
    random: _OfSignature
    content: Literal["blocks"]
    size: MessageSize
    signature_sha256: _Digest

    def misfit(self, case: Case) -> str:
        """Evidence of another scheme or size than the case's."""
        return _scheme_misfit(self, case, size=case.size)

    def _signature(self) -> tuple[bytes, int]:
        text = message(self.size, self.index)
        seed, random = bytes.fromhex(self.seed), bytes.fromhex(self.random)
        if self.scheme in fips205.PARAMETERS:
            return fips205.sign_seeded(self.scheme, seed, text, random), 1
        return fips204.sign_seeded(self.scheme, seed, text, random)

    @property
    def attempts(self) -> int:
        """How many attempts the signature takes, by FIPS 204, the successful one included; one by FIPS 205."""
        return self._signature()[1]

    def problem(self) -> str:
        if problem := _length_problem(self.scheme, self.seed, self.random):
            return problem
        signature, _ = self._signature()
        if not _is(signature, self.signature_sha256):
            return (
                f"the signature is wrong: it is not that of {self.scheme} of the key, the message and the random bytes"
            )
        if self.scheme not in OPENSSL_SIGNATURES:
            return ""
        public = OPENSSL_SIGNATURES[self.scheme].from_seed_bytes(bytes.fromhex(self.seed)).public_key()
        try:
            public.verify(signature, message(self.size, self.index))
        except InvalidSignature:
            return "the signature is wrong: OpenSSL does not accept it"
        return ""

    def once(self) -> Once | None:
        return Once((self.random,), self.index, "has the random bytes of {} again")


_ANSWER = ("known-answer",)
_DONE = (
    ("kem-keygen", PqcKeygenEvidence, _ANSWER),
    ("encaps", SecretEvidence, _ANSWER),
    ("decaps", SecretEvidence, (*_ANSWER, "modified-ciphertext-rejected")),
    ("dsa-keygen", PqcKeygenEvidence, _ANSWER),
    ("dsa-sign", PqcSignatureEvidence, (*_ANSWER, "invalid-signatures-rejected")),
    ("dsa-verify", PqcSignatureEvidence, (*_ANSWER, "invalid-signatures-rejected")),
)

EVIDENCE = Evidence(
    tuple(
        Owed(kinds, name, measure=name, evidence=model, checks=checks, memory_at=place)
        for kinds, place in (((BOARD,), "mcu"), ((OPTEE,), "ta"), (tuple(PLAIN_TARGETS), ""))
        for name, model, checks in _DONE
    )
)
