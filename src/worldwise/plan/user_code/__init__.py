# SPDX-License-Identifier: BSD-2-Clause
"""A user's own code as cases, and the worldwise.toml that asks for them."""
