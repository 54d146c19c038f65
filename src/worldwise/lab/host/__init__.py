# SPDX-License-Identifier: BSD-2-Clause
"""What worldwise needs of the host, and whether it is there."""
