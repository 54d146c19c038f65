# SPDX-License-Identifier: BSD-2-Clause
"""Hello: what its records must say."""

from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed((OPTEE,), "hello", checks=("value-incremented",)),))
