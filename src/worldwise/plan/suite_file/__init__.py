# SPDX-License-Identifier: BSD-2-Clause
"""A suite's TOML file: its tables, its blocks of cases, and what is refused in them."""
