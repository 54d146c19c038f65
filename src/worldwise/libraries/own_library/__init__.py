# SPDX-License-Identifier: BSD-2-Clause
"""A user's own library: its folder, its implementation.toml, and what stands there instead of one."""
