# SPDX-License-Identifier: BSD-2-Clause
"""Storage: what its records must say. Of a TA's objects they say besides how often tee-supplicant was asked."""

from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, Owed

_CHECKS = ("state-as-it-must-be",)

EVIDENCE = Evidence(
    (
        Owed((OPTEE,), "storage", checks=_CHECKS, outcomes=True),
        Owed((LINUX,), "file", checks=_CHECKS),
    )
)
