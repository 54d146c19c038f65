# SPDX-License-Identifier: BSD-2-Clause
"""Sections of a run's report that are for all families: counts, prices, tasks, inputs, units, hosts, verdicts."""
