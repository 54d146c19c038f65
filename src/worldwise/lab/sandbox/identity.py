# SPDX-License-Identifier: BSD-2-Clause
"""Who a sandboxed process is on the host: a user of its own, where the host has one to give."""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldwise.base.errors import WorldwiseError

# Ids that no system gives to anybody: above those of containers, below 2^31.
# Source: systemd, "Users, Groups, UIDs and GIDs on systemd Systems".
_NOBODYS_IDS = range(1_879_048_192 + 65_536, 2**31 - 65_536)

# What an id of a smaller map is taken from: its last ids, but not the very last, which often is nobody's.
_LAST_IDS = 1000

# Of them the first is for what a user starts by hand (`lab enter`): a program may write what one before it made.
# No build and no emulator ever has it.
_STEADY = 1

Kind = Literal["user namespace", "another user", "none"]


@dataclass(frozen=True)
class Confinement:
    """Who a sandboxed process is on the host.

    Attributes:
        kind: `user namespace`: the user who started the tool, with no capability; `another user`: an id that is
            nobody's, which root can take; `none`: root itself, since the host gives neither.
        uid: the id on the host.
        why_not: for `none`: why the host gives nothing better.
    """

    kind: Kind
    uid: int
    why_not: str = ""

    def describe(self) -> str:
        """One clause for a message: `as user 1879113728 ...`."""
        who = {
            "user namespace": "in a user namespace",
            "another user": f"as user {self.uid}, who owns nothing on this host",
            "none": "as root",
        }[self.kind]
        return f"{who}, with no network, no capabilities, and no file of yours but those in the folder"


def _mapped(start: int, count: int, extents: Sequence[tuple[int, int]]) -> bool:
    return any(first <= start and start + count <= first + length for first, length in extents)


def confinement_of(euid: int, uid_map: str, gid_map: str, pid: int | None) -> Confinement:
    """Who a sandboxed process is to be; see `confinement`. `uid_map` and `gid_map` are texts as /proc/PID/uid_map.

    Tools with different `pid` get different ids, nearly always; without one it is always the same id, which no `pid`
    gives.
    """
    if euid != 0:
        return Confinement("user namespace", euid)
    maps = [
        [(int(inside), int(length)) for inside, _, length in (line.split() for line in text.splitlines())]
        for text in (uid_map, gid_map)
    ]
    for first, last in ((_NOBODYS_IDS.start, _NOBODYS_IDS.stop), (60_000, 65_000), (1_000, 60_000)):
        if all(_mapped(first, last - first, extents) for extents in maps):
            others = min(_LAST_IDS, last - first) - _STEADY
            return Confinement("another user", last - 1 - (others if pid is None else pid % others))
    lines = [line.split() for line in uid_map.splitlines()]
    if any(inside == "0" and outside != "0" for inside, outside, _ in lines):
        # This root is an ordinary user of the host, and stays one inside.
        return Confinement("user namespace", 0)
    return Confinement("none", 0, "this root has no other user id to give it (/proc/self/uid_map maps too few)")


@functools.cache
def confinement(steady: bool = False) -> Confinement:
    """Who a sandboxed process is on this host: another one for each tool, or `steady`, the same one each time."""
    return confinement_of(
        os.geteuid(),
        Path("/proc/self/uid_map").read_text(encoding="ascii"),
        Path("/proc/self/gid_map").read_text(encoding="ascii"),
        None if steady else os.getpid(),
    )


def require_confinement(whose: str) -> None:
    """Refuse to run what a stranger wrote where it would run as the host's root. Raises WorldwiseError."""
    found = confinement()
    if found.kind == "none":
        raise WorldwiseError(
            f"{whose} is not built or run here: it would run as root of this host, since {found.why_not}",
            "start worldwise as an ordinary user, or in a container that has more user ids",
        )
