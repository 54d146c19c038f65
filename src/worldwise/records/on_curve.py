# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of operations on any curve: on boards, in plain Linux, and by a TEE's program for curves."""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal, Self

from pydantic import model_validator

from worldwise.libraries import curves
from worldwise.libraries.curve_table import MEASURABLE, WEIERSTRASS
from worldwise.plan.case import Case
from worldwise.records.evidence import EvidenceRecord, Once
from worldwise.records.messages import MessageSize, message
from worldwise.records.models import Bytes, Count, OneOf

REJECTED = ("modified-signature-rejected", "modified-message-rejected")
SIGNATURE_CHECKS = ("known-answer", *REJECTED, "invalid-signatures-rejected")
ECDH_CHECKS = ("known-answer", "agreement")

CurveName = Annotated[str, OneOf(tuple(MEASURABLE))]


def point_checks(case: Case) -> tuple[str, ...]:
    """What a key agreement must have tried besides ECDH_CHECKS: a point off the curve, if the curve has such points."""
    return ("invalid-point-rejected",) if case.curve in WEIERSTRASS else ()


class _OnCurve(EvidenceRecord):
    """Evidence of a board, or of a TEE's operations on any curve.

    Octet strings are as guest/adapters/ops.h has them, in lower-case hex.
    """

    mark: ClassVar[str] = "curve"

    type: Literal["evidence"]
    index: Count
    curve: CurveName

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        for name in ("private", "public", "peer", "signature", "secret"):
            text = getattr(self, name, None)
            if text is not None:
                due = getattr(MEASURABLE[self.curve], "public" if name == "peer" else name)
                if not due or len(text) != 2 * due:
                    raise ValueError(f"{name} has {len(text) // 2} bytes, {self.curve} has {due}")
        return self

    def misfit(self, case: Case) -> str:
        """How the evidence's curve differs from the case's; empty if it does not."""
        return self.differs({"curve": case.curve}, "the case has")

    def problem(self) -> str:
        try:
            return self.problem_on_curve()
        except curves.CurveError as error:
            return str(error)

    @abstractmethod
    def problem_on_curve(self) -> str:
        """What is wrong with the result; empty if it is right. Raises CurveError if a value does not fit the curve."""


class CurveKeygenEvidence(_OnCurve):
    """A throw-away key pair."""

    tag: ClassVar[str] = "keygen on a curve"
    order: ClassVar[int] = 4

    measure: Literal["keygen"]
    public: Bytes
    private: Bytes

    def problem_on_curve(self) -> str:
        right = curves.public_key(self.curve, bytes.fromhex(self.private)).hex() == self.public
        return "" if right else "the public key does not belong to the private key"

    def once(self) -> Once:
        return Once((self.public,), self.index, "made the key that {} had made")


class CurveSignatureEvidence(_OnCurve):
    """A signature that was made or accepted, of a message that anybody can recompute."""

    tag: ClassVar[str] = "signature on a curve"
    order: ClassVar[int] = 5

    measure: Literal["sign", "verify"]
    content: Literal["blocks"]
    size: MessageSize
    public: Bytes
    signature: Bytes

    def misfit(self, case: Case) -> str:
        """How the evidence's curve or size differs from the case's; empty if they do not."""
        return self.differs({"curve": case.curve, "size": case.size}, "the case has")

    def problem_on_curve(self) -> str:
        curves.check_signature(
            self.curve, bytes.fromhex(self.public), message(self.size, self.index), bytes.fromhex(self.signature)
        )
        return ""

    def once(self) -> Once:
        return once_signed(self.public, self.signature, message(self.size, self.index))


class EcdhEvidence(_OnCurve):
    """A secret of one's own private key and the peer's public key."""

    tag: ClassVar[str] = "ecdh"
    order: ClassVar[int] = 6

    measure: Literal["ecdh"]
    private: Bytes
    peer: Bytes
    secret: Bytes

    def problem_on_curve(self) -> str:
        own, peer = bytes.fromhex(self.private), bytes.fromhex(self.peer)
        right = curves.shared_secret(self.curve, own, peer).hex() == self.secret
        return "" if right else "the secret is wrong: it is not that of the two keys"


def once_signed(public: str, signature: str, signed: bytes) -> Once:
    """A signature's nonce: a key may use it again only for the same message."""
    return Once((public, signature[: len(signature) // 2]), signed, "used the nonce of {} again")
