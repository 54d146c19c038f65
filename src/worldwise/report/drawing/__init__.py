# SPDX-License-Identifier: BSD-2-Clause
"""Figures: what is drawn of a run, as Vega's charts and as flame graphs."""
