# SPDX-License-Identifier: BSD-2-Clause
"""Calls of a TA: what their records must say."""

from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed(("optee",), "payload", checks=("payload-arrived",)),))
