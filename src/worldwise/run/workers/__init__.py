# SPDX-License-Identifier: BSD-2-Clause
"""Workers of `run --on`: a scheduler, its tasks, its key, and SLURM's jobs."""
