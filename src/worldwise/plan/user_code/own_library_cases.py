# SPDX-License-Identifier: BSD-2-Clause
"""A user's library in a suite: it gets every case that the suite has for other libraries."""

from collections.abc import Sequence
from dataclasses import replace

from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own_library.own_libraries import OwnLibrary
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import takes_portables
from worldwise.plan.checks import unavailable_reason
from worldwise.plan.suite import Suite

# What a TEE's suite asks of any library. Its other operations measure OP-TEE itself, whatever the library.
_TEE_ASKED = ("keygen", "attestdiv", "attestquorum", "sha256")


def with_own(suite: Suite, brought: Sequence[OwnLibrary]) -> Suite:
    """The suite, with its cases of other libraries repeated for these.

    What a library lacks becomes unavailable, as for the others. Raises WorldwiseError if a library can do no case.
    """
    cases = list(suite.cases)
    unavailable = list(suite.unavailable)
    for own in brought:
        added, lacking = _cases(suite, own)
        if not added:
            reasons = "; ".join(dict.fromkeys(one.reason for one in lacking)) or "it uses no library"
            raise WorldwiseError(
                f"{own.origin}: suite {suite.name} has nothing that '{own.name}' can be measured by: {reasons}",
                "choose another suite, such as mcu or attestation",
            )
        cases += added
        unavailable += lacking
    return replace(suite, cases=tuple(cases), unavailable=tuple(unavailable))


def _cases(suite: Suite, own: OwnLibrary) -> tuple[list[Case], list[Unavailable]]:
    cases: dict[str, Case] = {}
    lacking: dict[Unavailable, None] = {}
    for case in suite.cases:
        if not takes_portables(case.target) and case.operation not in _TEE_ASKED:
            continue
        reason = unavailable_reason(case.target, own.name, case.curve, case.operation)
        if reason:
            lacking[Unavailable(case.target, own.name, case.curve, case.operation, reason)] = None
            continue
        wanted = replace(case, implementation=own.name)
        cases.setdefault(wanted.id, wanted)
    # What all of the suite's libraries lack is not among its cases.
    for one in suite.unavailable:
        reason = unavailable_reason(one.target, own.name, one.curve, one.operation)
        if reason:
            lacking[Unavailable(one.target, own.name, one.curve, one.operation, reason)] = None
    return list(cases.values()), list(lacking)
