# SPDX-License-Identifier: BSD-2-Clause
"""A repository: what its worldwise.toml measures, its benchmarks and limits, and what could be measured there."""
