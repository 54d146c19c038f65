# SPDX-License-Identifier: BSD-2-Clause
"""Echo: the rules for its records."""

from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed((OPTEE, LINUX), "echo", checks=("messages-echoed",)),))
