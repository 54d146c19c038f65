# SPDX-License-Identifier: BSD-2-Clause
"""Calls of a TA: the rules for their records."""

from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed((OPTEE,), "payload", checks=("payload-arrived",)),))
