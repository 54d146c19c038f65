# SPDX-License-Identifier: BSD-2-Clause
"""Versions that a lab has in place of its lock's, as runs keep and reports print them. See worldwise.lab.drift."""

import re
from collections.abc import Sequence

from worldwise.lab.debian.lock import Lock

# What one line names.
_MOST_NAMED = 4


def changes(lock: Lock, new: Lock) -> list[str]:
    """What differs, by source package: `linux 6.12.57 for 6.12.48`, the kernel first, then the machines' others."""
    before, after = _versions(lock), _versions(new)
    found = []
    for name in sorted(after, key=lambda name: name != "linux"):
        if after[name] != before.get(name):
            was, now = _shorter(before.get(name, ""), after[name])
            found.append(f"{name} {now} for {was}" if was else f"{name} {now}, which is new")
    return found


def sentence(differing: Sequence[str], title: str = "the lab") -> str:
    """What every run and report of such a lab says, without a full stop; empty if nothing differs."""
    if not differing:
        return ""
    more = len(differing) - _MOST_NAMED
    named = list(differing) if more < 2 else [*differing[:_MOST_NAMED], f"{more} more"]
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"{title} differs from the lock: {listed}; figures are of this lab"


def whole(differing: Sequence[str]) -> str:
    """`sentence` as one that stands alone, with its full stop; empty if nothing differs."""
    said = sentence(differing)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _versions(lock: Lock) -> dict[str, str]:
    """The version of each source package that a root is made of, the measured machines' own first."""
    found: dict[str, str] = {}
    for package in (*lock.target, *lock.lab):
        name = re.sub(r"-signed-\w+$", "", package.source)
        found.setdefault(name, re.sub(r"\+b\d+$", "", package.version))
    for source in lock.sources:
        name = source.name if found.get(source.name, source.version) == source.version else f"{source.name} (source)"
        found[name] = source.version
    return found


def _shorter(before: str, after: str) -> tuple[str, str]:
    """Two versions without epoch, and without Debian's revision if they differ without it."""
    versions = [version.partition(":")[2] or version for version in (before, after)]
    upstream = [re.sub(r"([+~]dfsg[\w.]*|[+]ds)?-[^-]*$", "", version) for version in versions]
    chosen = versions if upstream[0] == upstream[1] else upstream
    return chosen[0], chosen[1]
