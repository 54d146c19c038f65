# SPDX-License-Identifier: BSD-2-Clause
"""The formats of reports: a terminal, Markdown, LaTeX, SARIF, and data for other programs."""
