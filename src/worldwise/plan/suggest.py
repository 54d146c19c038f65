# SPDX-License-Identifier: BSD-2-Clause
"""Cases to suggest to somebody who named only an operation."""

from collections import Counter
from pathlib import Path

from worldwise.base import paths
from worldwise.base.choices import close_names
from worldwise.plan.catalogue import OPERATIONS, takes_portables
from worldwise.plan.suite import load_suite


def named_operation(text: str) -> str:
    """The operation that `text` names, perhaps misspelled; empty if it names none."""
    return text if text in OPERATIONS else next(iter(close_names(text, OPERATIONS, 1)), "")


def cases_of(operation: str, directory: Path = paths.SUITES) -> list[str]:
    """Ids of an operation's cases on the machine with OP-TEE, from all suites; those in most suites come first."""
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
