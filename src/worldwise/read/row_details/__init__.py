# SPDX-License-Identifier: BSD-2-Clause
"""What rows have besides their counts: other draws, interrupts, factors, a board's clock, a host's disturbances."""
