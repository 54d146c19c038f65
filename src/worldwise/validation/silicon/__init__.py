# SPDX-License-Identifier: BSD-2-Clause
"""Runs on silicon of one's own: judged, fitted to, reported and contributed."""
