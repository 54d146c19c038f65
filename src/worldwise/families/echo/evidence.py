# SPDX-License-Identifier: BSD-2-Clause
"""Echo: what its records must say."""

from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed((OPTEE, LINUX), "echo", checks=("messages-echoed",)),))
