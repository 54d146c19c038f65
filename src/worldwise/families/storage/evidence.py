# SPDX-License-Identifier: BSD-2-Clause
"""Storage: the rules for its records. For a TA's objects they also have the number of requests to tee-supplicant."""

from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, Owed

_CHECKS = ("state-as-it-must-be",)

EVIDENCE = Evidence(
    (
        Owed((OPTEE,), "storage", checks=_CHECKS, outcomes=True),
        Owed((LINUX,), "file", checks=_CHECKS),
    )
)
