# SPDX-License-Identifier: BSD-2-Clause
"""What TAs ask of other TAs: whom each call is for, which the session says, and how OP-TEE's own TAs are called."""

import struct
from collections.abc import Sequence
from uuid import UUID

from worldwise.libraries.own_code import CLOSES, OPENS, TA_CALLS, TA_FUNCTIONS
from worldwise.records.trace import Trace
from worldwise.records.trace_records import Pass

# Of a session that was opened before anybody looked.
UNKNOWN = "unknown"
_OPENS, _CLOSES = TA_CALLS + TA_FUNCTIONS.index(OPENS), TA_CALLS + TA_FUNCTIONS.index(CLOSES)
# OP-TEE's pseudo TAs, as its headers pta_*.h have them.
_PSEUDO = {
    "39800861-182a-4720-9b67-2bcd622bc0b5": "attestation",
    "7011a688-ddde-4053-a5a9-7b3c4ddf13b8": "device",
    "2f6e0d48-c574-426d-824e-40198cde5cac": "gprof",
    "ab7a617c-b8e7-4d8f-8301-d09b61036b64": "rng",
    "f389f8c8-845f-496c-8bbe-d64bd24c92fd": "rtc",
    "be0e5821-e718-4f77-ab3e-8e6c73a9c735": "scp03",
    "6e256cba-fc4d-4941-ad09-2ca1860342dd": "secstor_ta_mgmt",
    "3b996a7d-2c2b-4a49-a896-e1fb57664d2f": "socket",
    "d96a5b40-e2c7-b1af-8794-1002a5d5c61b": "stats",
    "3a2f8978-5dc0-11e8-9c2d-fa7ae01bbebc": "system",
    "d96a5b40-c3e5-21e3-8794-1002a5d5c61b": "invoke_tests",
}


def name_of(target: str) -> str:
    """How a TA is called in a region's name: an OP-TEE's own TA by its name, another one by its UUID."""
    return _PSEUDO.get(target, target)


def ta_targets(trace: Trace, addresses: Sequence[int]) -> dict[int, str]:
    """The UUID of the TA that each such call of a trace is for, by the id of its pass."""
    if TA_CALLS not in addresses:
        return {}
    numbers = {addresses.index(TA_CALLS + place) + 1: TA_CALLS + place for place in range(len(TA_FUNCTIONS))}
    found: dict[int, str] = {}
    # A session is one of the TA that has opened it.
    sessions: dict[tuple[int, int], str] = {}
    for one in sorted((one for one in trace.passes if one.call in numbers), key=lambda one: (one.begin, one.id)):
        what, whose = numbers[one.call], one.given[3]
        if what == _OPENS:
            found[one.id] = _uuid(one)
            if not one.result & 0xFFFFFFFF:
                sessions[whose, one.given[2]] = found[one.id]
            continue
        found[one.id] = sessions.get((whose, one.given[0]), UNKNOWN)
        if what == _CLOSES:
            sessions.pop((whose, one.given[0]), None)
    return found


def _uuid(one: Pass) -> str:
    # In memory its first three numbers are the core's, little-endian.
    return str(UUID(bytes_le=struct.pack("<QQ", *one.given[:2])))
