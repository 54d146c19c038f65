# SPDX-License-Identifier: BSD-2-Clause
"""Two runs, or a run and a baseline, side by side, and the gate on their difference."""
