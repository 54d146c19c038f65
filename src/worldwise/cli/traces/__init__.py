# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise explain` and `predict`: commands that run a case under the emulator's plugin and read its trace."""
