# SPDX-License-Identifier: BSD-2-Clause
"""Portable implementations, on boards and in plain Linux: the rules for their records."""

import hashlib
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from pydantic import Field

from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.case import Case
from worldwise.plan.spec import BOARD
from worldwise.records.evidence import Evidence, EvidenceRecord, Owed
from worldwise.records.messages import MessageSize, message
from worldwise.records.models import Count, hex_digits
from worldwise.records.on_curve import (
    ECDH_CHECKS,
    SIGNATURE_CHECKS,
    CurveKeygenEvidence,
    CurveSignatureEvidence,
    EcdhEvidence,
    point_checks,
)


class DigestEvidence(EvidenceRecord):
    """A digest of a reproducible message, computed on a board."""

    tag: ClassVar[str] = "digest"
    mark: ClassVar[str] = "algorithm"
    order: ClassVar[int] = 7

    type: Literal["evidence"]
    measure: Literal["hash"]
    index: Count
    algorithm: Literal["sha256", "sha512"]
    content: Literal["blocks"]
    size: MessageSize
    digest: Annotated[str, Field(pattern="^([0-9a-f]{64}|[0-9a-f]{128})$")]

    def misfit(self, case: Case) -> str:
        """Evidence of another algorithm or size than the case's."""
        return self.differs({"algorithm": case.operation, "size": case.size}, "the case has")

    def problem(self) -> str:
        digest = hashlib.new(self.algorithm, message(self.size, self.index)).hexdigest()
        name = self.algorithm.replace("sha", "SHA-")
        return "" if self.digest == digest else f"the digest is wrong: it is not the {name} of the message"


class EncryptEvidence(EvidenceRecord):
    """A reproducible message, encrypted on a board: the record has a digest of the output."""

    tag: ClassVar[str] = "encrypt"
    order: ClassVar[int] = 8

    type: Literal["evidence"]
    measure: Literal["encrypt"]
    index: Count
    cipher: Literal["aes128-ctr", "aes256-ctr"]
    content: Literal["blocks"]
    size: MessageSize
    key: Annotated[str, Field(pattern="^([0-9a-f]{32}|[0-9a-f]{64})$")]
    counter: Annotated[str, hex_digits(32)]
    output_sha256: Annotated[str, hex_digits(64)]

    def misfit(self, case: Case) -> str:
        """Evidence of another cipher or size than the case's."""
        return self.differs({"cipher": f"{case.operation}-ctr", "size": case.size}, "the case has")

    def problem(self) -> str:
        bits = int(self.cipher.removeprefix("aes").removesuffix("-ctr"))
        if len(self.key) * 4 != bits:
            return f"the key has {len(self.key) * 4} bits, {self.cipher} has {bits}"
        encryptor = Cipher(AES(bytes.fromhex(self.key)), CTR(bytes.fromhex(self.counter))).encryptor()
        output = encryptor.update(message(self.size, self.index)) + encryptor.finalize()
        if hashlib.sha256(output).hexdigest() == self.output_sha256:
            return ""
        return f"the output is wrong: it is not the message under {self.cipher}"


_KNOWN_ANSWER = ("known-answer",)
# The same on every kind of target.
_OWED = (
    Owed((), "keygen", measure="keygen", evidence=CurveKeygenEvidence),
    Owed((), "sign", measure="sign", evidence=CurveSignatureEvidence, checks=SIGNATURE_CHECKS),
    Owed((), "verify", measure="verify", evidence=CurveSignatureEvidence, checks=SIGNATURE_CHECKS),
    Owed((), "ecdh", measure="ecdh", evidence=EcdhEvidence, checks=ECDH_CHECKS, checks_of=point_checks),
    *(Owed((), name, measure="hash", evidence=DigestEvidence, checks=_KNOWN_ANSWER) for name in ("sha256", "sha512")),
    *(
        Owed((), name, measure="encrypt", evidence=EncryptEvidence, checks=_KNOWN_ANSWER)
        for name in ("aes128", "aes256")
    ),
)

EVIDENCE = Evidence(
    (
        *(replace(owed, kinds=(BOARD,), memory_at="mcu") for owed in _OWED),
        *(replace(owed, kinds=tuple(PLAIN_TARGETS)) for owed in _OWED),
        Owed((BOARD,), "dhrystone", checks=("final-values",), memory_at="mcu"),
    )
)
