# SPDX-License-Identifier: BSD-2-Clause
"""Cases to suggest to somebody who named an operation alone."""

from collections import Counter
from pathlib import Path

from worldwise.base import paths
from worldwise.base.choices import close_names
from worldwise.plan.catalogue import OPERATIONS, takes_portables
from worldwise.plan.suite import load_suite


def named_operation(text: str) -> str:
    """The operation that `text` is, perhaps with a slip; empty if it is none."""
    return text if text in OPERATIONS else next(iter(close_names(text, OPERATIONS, 1)), "")


def cases_of(operation: str, directory: Path = paths.SUITES) -> list[str]:
    """Ids of an operation's cases on the machine with OP-TEE, of all suites there: those of most suites first."""
    found = Counter(
        case_id
        for path in sorted(directory.glob("*.toml"))
        for case_id in {
            case.id: None
            for case in load_suite(path).cases
            if case.operation == operation and not takes_portables(case.target)
        }
    )
    return [case_id for case_id, _ in found.most_common()]
