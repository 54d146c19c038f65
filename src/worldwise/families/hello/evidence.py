# SPDX-License-Identifier: BSD-2-Clause
"""Hello: the rules for its records."""

from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed((OPTEE,), "hello", checks=("value-incremented",)),))
