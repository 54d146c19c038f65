# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of post-quantum schemes include, and how often ML-DSA's signing begins anew;
published figures beside them."""

from collections.abc import Iterable

from worldwise.families.pqc import fips204
from worldwise.families.pqc.evidence import PqcSignatureEvidence
from worldwise.plan.case import Case
from worldwise.read.contests import percentile
from worldwise.read.family_fields import Part, Result
from worldwise.read.published import PublishedSource
from worldwise.read.readings import CLIENT_CALL, IN_LINUX, ON_BOARD, Readings, Seen
from worldwise.records.models import RecordModel, Sample
from worldwise.records.parse import read_records

SIGN = "dsa-sign"
_IN_TA = "by the library's own calls inside the TA; not the way there and back"
_WHAT = {
    "kem-keygen": "a key pair from given random bytes (FIPS 203, 7.1; hybrid: X25519's too), both keys as bytes",
    "encaps": "a secret and its ciphertext from given random bytes (FIPS 203, 7.2; hybrid: X25519 too), the key read",
    "decaps": "the secret from a ciphertext (FIPS 203, 7.3; hybrid: X25519 too), the key read, and encrypting again",
    "dsa-keygen": "a key pair from given random bytes (FIPS 204, 5.1, or FIPS 205, 9.1), both keys as bytes",
    SIGN: "the hedged signature in pure mode (FIPS 204, 5.2, or FIPS 205, 10.2), the key read, and ML-DSA's attempts",
    "dsa-verify": "the verification (FIPS 204, 5.3, or FIPS 205, 10.3), the key read",
}


class Tail(Result):
    """How far ML-DSA's signatures of one case go apart: counts of instructions, and attempts, by their ranks.

    Each is the value of this rank among all calls of a case, the first and the warm-up's included: the least that so
    many per cent of the calls do not exceed; None for a percentile of too few calls (`LEAST_CALLS`).
    """

    case: str
    calls: int
    median: int
    p90: int | None
    p99: int | None
    worst: int
    median_attempts: int
    p90_attempts: int | None
    p99_attempts: int | None
    worst_attempts: int
    mean_attempts: float


class Tails(Part):
    """The distribution of ML-DSA's signatures, by case; empty if the run has no such rows."""

    signing: tuple[Tail, ...] = ()


def middle(values: Iterable[int]) -> int:
    """The least of the values that half of them do not exceed."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def tail(case: Case, records: Iterable[RecordModel]) -> Tail:
    """How far the signatures of a case go apart: in a TEE, from the client's call to its return."""
    listed = list(records)
    outermost = case.measures[SIGN][-1]
    counts = [record.count for record in listed if isinstance(record, Sample) and record.place == outermost]
    attempts = [record.attempts for record in listed if isinstance(record, PqcSignatureEvidence)]
    return Tail(
        case=case.id,
        calls=len(counts),
        median=middle(counts),
        p90=percentile(counts, 90),
        p99=percentile(counts, 99),
        worst=max(counts),
        median_attempts=middle(attempts),
        p90_attempts=percentile(attempts, 90),
        p99_attempts=percentile(attempts, 99),
        worst_attempts=max(attempts),
        mean_attempts=sum(attempts) / len(attempts),
    )


def _tails(seen: Seen) -> Tails:
    found = []
    for manifest in seen.done:
        case = manifest.case()
        if case.operation == SIGN and dict(case.parameters)["scheme"] in fips204.PARAMETERS:
            found.append(tail(case, read_records(seen.run.records_path(case.id))))
    return Tails(signing=tuple(found))


_PUBLISHED = PublishedSource(
    name="pqm4",
    reason=(
        "How they compare: pqm4's figures are cycles of a board, ours instructions, and a Cortex-M4 does at most one "
        "instruction in a cycle. The code is another: clean is PQClean's C, m4f and m4fspeed are pqm4's assembly for "
        "speed, m4fstack for little stack; ours is wolfSSL. pqm4's calls draw their random bytes and have no heap: its "
        "stack stands beside our stack and heap. Its compiler's version and flags are not stated beside the figures. "
        "Signatures are a mean of 1,000 there."
    ),
    has_tables=True,
)

READINGS = Readings(
    of_reading=Tails,
    includes={
        **{
            (measure, place): f"{what}, {where}"
            for measure, what in _WHAT.items()
            for place, where in (("mcu", ON_BOARD), ("linux", IN_LINUX), ("ta", _IN_TA))
        },
        **{(measure, "client"): CLIENT_CALL for measure in _WHAT},
    },
    whole=_tails,
    published=_PUBLISHED,
)
