# SPDX-License-Identifier: BSD-2-Clause
"""A microcontroller's board: its debugger, its clock, its serial line, and the farm that lends it."""
