# SPDX-License-Identifier: BSD-2-Clause
"""Echo: what its records must say."""

from worldwise.records.evidence import Evidence, Owed

EVIDENCE = Evidence((Owed(("optee", "linux"), "echo", checks=("messages-echoed",)),))
