# SPDX-License-Identifier: BSD-2-Clause
"""What --variant, --operation, --target and --curve ask for: other names of curves, and names that match nothing."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from worldwise.base.choices import close_names
from worldwise.base.errors import WorldwiseError
from worldwise.base.files import quoted
from worldwise.libraries.curve_table import curve_name
from worldwise.plan.case import Case

# So many names stand in a message; of more than that only those that are close.
_FEW = 12


def curve_names(values: Iterable[str]) -> tuple[str, ...]:
    """The curves by the names that suites have: P-256, p256 and prime256v1 are secp256r1. Patterns stay."""
    return tuple(map(curve_name, values))


def require_known(cases: Sequence[Case], suite: str, kind: str, values: Iterable[str]) -> None:
    """Check the values of a filter, which are names or shell patterns; `kind` is an attribute of a case.

    Raises WorldwiseError if one matches no case and an error cannot list all names in a line that is read: it names
    those that are close. What has few names is left to worldwise.plan.suite.select, which lists them.
    """
    known = [name for name in dict.fromkeys(getattr(case, kind) for case in cases) if name]
    for value in values:
        if any(fnmatchcase(name, value) for name in known):
            continue
        if not known:
            raise WorldwiseError(
                f"suite {suite} has no case with a {kind}, so --{kind} {quoted(value)} cannot choose one.",
                f"leave --{kind} out; `worldwise suites {quoted(suite)}` shows what the suite has",
            )
        if len(known) > _FEW:
            close = close_names(value, known)
            raise WorldwiseError(
                f"{kind} '{quoted(value)}' is in no case of suite {suite}, which has {len(known)} {kind}s"
                + (f". Close to it: {', '.join(close)}." if close else "."),
                f"`worldwise suites {quoted(suite)}` lists all; '{_pattern(known)}' would choose several",
            )


def _pattern(known: Sequence[str]) -> str:
    return f"{known[0].partition('-')[0]}*"
