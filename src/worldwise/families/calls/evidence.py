# SPDX-License-Identifier: BSD-2-Clause
"""Calls of a TA: what their records must say."""

from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed((OPTEE,), "payload", checks=("payload-arrived",)),))
