# SPDX-License-Identifier: BSD-2-Clause
"""SHA-256: the rules for its records. They have the digest of each message.

In a TEE the algorithm is measured within the TA, by the core's own counter, one span for each piece of the message.
"""

from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, Owed
from worldwise.records.messages import HashEvidence
from worldwise.records.models import Clock

_CYCLES: Clock = "pmccntr_el0"

EVIDENCE = Evidence(
    (
        Owed(
            (OPTEE,),
            "sha256",
            measure="hash",
            evidence=HashEvidence,
            checks=("known-answer", "counter-registers-restored"),
            clocks={"api": _CYCLES, "ta": _CYCLES},
            summed=("api", "ta"),
        ),
        Owed((LINUX,), "sha256", measure="hash", evidence=HashEvidence, checks=("known-answer",)),
        Owed((LINUX,), "sha256sum", measure="hash", evidence=HashEvidence),
    )
)
