# SPDX-License-Identifier: BSD-2-Clause
"""What reports have of the example that increments a value."""

from worldwise.report.tables import Tables

TABLES = Tables(operations={"hello": "a value incremented in the TA"})
