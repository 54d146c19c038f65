# SPDX-License-Identifier: BSD-2-Clause
"""A user's own code, run and counted: programs, TAs, firmware, and what a worldwise.toml asks for."""
