# SPDX-License-Identifier: BSD-2-Clause
"""What explain finds, shown: owners of instructions, source lines, dependence on inputs, masked interrupts."""
