# SPDX-License-Identifier: BSD-2-Clause
"""What commands share: groups, help, options, progress, and the end of a process."""
