# SPDX-License-Identifier: BSD-2-Clause
"""Operations on any curve in a TEE, and in Linux beside it: the rules for their records."""

from dataclasses import replace

from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, EvidenceRecord, Owed
from worldwise.records.messages import HashEvidence
from worldwise.records.on_curve import (
    ECDH_CHECKS,
    SIGNATURE_CHECKS,
    CurveSignatureEvidence,
    EcdhEvidence,
    point_checks,
)


def _owed(kind: str, memory_at: str) -> tuple[Owed, ...]:
    def owed(operation: str, evidence: type[EvidenceRecord], checks: tuple[str, ...], measure: str = "") -> Owed:
        return Owed(
            (kind,),
            operation,
            measure=measure or operation,
            evidence=evidence,
            checks=checks,
            memory_at=memory_at,
        )

    signature = [owed(operation, CurveSignatureEvidence, SIGNATURE_CHECKS) for operation in ("sign", "verify")]
    ecdh = replace(owed("ecdh", EcdhEvidence, ECDH_CHECKS), checks_of=point_checks)
    return (*signature, ecdh, owed("digest", HashEvidence, ("known-answer",), "hash"))


EVIDENCE = Evidence((*_owed(OPTEE, "ta"), *_owed(LINUX, "")))
