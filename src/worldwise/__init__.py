# SPDX-License-Identifier: BSD-2-Clause
"""worldwise: what cryptography costs on Arm, in the secure world and the normal one."""

__version__ = "0.1.0"
