# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of hashing include, and the costs computed from them; published figures beside them."""

from worldwise.families.sha256.cost import CLOCK_GHZ, HASHING, HashReading, Series, read_hashing
from worldwise.plan.catalogue import takes_portables
from worldwise.read.family_fields import Part
from worldwise.read.published import PublishedSource
from worldwise.read.readings import CLIENT_CALL, HASHED_IN_LINUX, Readings, Seen
from worldwise.read.rows import in_reading_order


class Hashing(Part):
    """The cost of hashing in the TEE, by parts."""

    hashing: HashReading = HashReading(clock_ghz=CLOCK_GHZ, costs=(), fits=(), published=(), published_reason="")


def _hashing(seen: Seen) -> Hashing:
    parameters = {manifest.id: manifest.case().parameters for manifest in seen.done}
    series = [
        Series(
            row.case,
            row.variant,
            row.operation,
            row.measure,
            row.place,
            parameters[row.case],
            row.size,
            row.chunk,
            row.calls,
            row.median,
        )
        for row in in_reading_order(seen.rows)
        if row.operation in HASHING and row.size is not None and not takes_portables(row.target)
    ]
    return Hashing(hashing=read_hashing(series, seen.published.hashing, seen.published.reason))


_PUBLISHED = PublishedSource(
    name="optee-sha256-rpi3",
    reason=(
        "Why they differ: the published figures are times of a Cortex-A53 with its caches and memory; ours are "
        "instructions at one per cycle, at the clock of a Raspberry Pi 3 model B. At which clock theirs ran is not "
        "stated, nor are library, OP-TEE's version and the optimisation level. The BCM2837 of that board has no "
        "cryptographic extension, so the variants without -ce are those to compare, and their sha256sum had none "
        "either; ours has, so ours / sha256sum is greater without -ce and the same library in Linux is the fairer "
        "comparison."
    ),
    hashing={
        "SHA-256 throughput": ("throughput", "MB/s"),
        "fixed cost of one call": ("switch", "us"),
        "SHA-256 of an empty message": ("empty message", "us"),
        "TA wrapper overhead": ("wrapper", "us"),
        "slow-down against sha256sum": ("slow-down", "ratio"),
    },
)

READINGS = Readings(
    of_reading=Hashing,
    includes={
        **HASHED_IN_LINUX,
        ("hash", "api"): "TEE_DigestUpdate and TEE_DigestDoFinal as the TA calls them, with the work of OP-TEE's core",
        ("hash", "ta"): "the TA's whole command, from its first instruction to its last",
        ("hash", "client"): f"{CLIENT_CALL}; of all calls that one message takes",
        ("touch", "client"): "as many calls with the same memory, of a command that does nothing",
        ("empty", "client"): "as many calls without parameters, of a command that does nothing",
    },
    whole=_hashing,
    published=_PUBLISHED,
)
