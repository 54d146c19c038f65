# SPDX-License-Identifier: BSD-2-Clause
"""Hello: what its records must say."""

from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed(("optee",), "hello", checks=("value-incremented",)),))
