# SPDX-License-Identifier: BSD-2-Clause
"""Names of functions for the addresses of a measured machine, and where each program lies."""
