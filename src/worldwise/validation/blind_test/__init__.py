# SPDX-License-Identifier: BSD-2-Clause
"""The blind test of the predictions: its results and their tables."""
