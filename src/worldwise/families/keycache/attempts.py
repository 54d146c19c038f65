# SPDX-License-Identifier: BSD-2-Clause
"""The attempts that the key cache must survive; guest/apps/keycache/linux/ makes them."""

from collections.abc import Mapping
from typing import NamedTuple


class _Tried(NamedTuple):
    """One attempt.

    Attributes:
        label: its name in tables.
        rpmb: whether it is tried with storage=rpmb too. RPMB has no files, and nobody but the device writes to it;
            connections have nothing to do with storage.
    """

    label: str
    rpmb: bool = True


# In the order of the tables; they are tried in the same order.
_ATTEMPTS: Mapping[str, _Tried] = {
    "kill-server": _Tried("server killed at any time (rpmb: not within a SET)"),
    "server-within": _Tried("server killed within a SET, known client"),
    "supplicant-idle": _Tried("tee-supplicant killed with nothing to do"),
    "supplicant-first": _Tried("tee-supplicant killed at a SET's first request"),
    "supplicant-known": _Tried("tee-supplicant killed within a SET, known client"),
    "supplicant-new": _Tried("tee-supplicant killed within a SET, new client"),
    "ta-panic": _Tried("TA ends (panic) because a disk fails", rpmb=False),
    "record-older": _Tried("record of a replaced key put back"),
    "record-flipped": _Tried("bit of a record flipped"),
    "record-other": _Tried("another client's record under this name"),
    "record-removed": _Tried("record of before a DEL put back"),
    "record-damaged": _Tried("log of records damaged, cut short, gone"),
    "full": _Tried("storage full"),
    "storage-older": _Tried("older storage put back, TA runs on", rpmb=False),
    "storage-older-later": _Tried("older storage put back, TA loaded anew", rpmb=False),
    "bucket-flipped": _Tried("bits of a bucket's file flipped", rpmb=False),
    "bucket-short": _Tried("bucket's file cut to half", rpmb=False),
    "bucket-gone": _Tried("bucket's file deleted", rpmb=False),
    "idle-1000": _Tried("1,000 idle connections", rpmb=False),
    "slow-clients": _Tried("clients that are slow, silent, deaf", rpmb=False),
    "normal-world": _Tried("normal world asks the TA for a relayed text", rpmb=False),
}

# The result of an attempt that the key cache survives.
HOLDS = "holds"

# The attempts' names in tables.
LABELS: Mapping[str, str] = {name: tried.label for name, tried in _ATTEMPTS.items()}
HOLD_ATTEMPTS = tuple(_ATTEMPTS)
# Storage -> the attempts that are not tried on it.
NOT_TRIED: Mapping[str, tuple[str, ...]] = {
    "rpmb": tuple(name for name, tried in _ATTEMPTS.items() if not tried.rpmb),
}
