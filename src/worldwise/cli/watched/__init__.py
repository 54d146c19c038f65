# SPDX-License-Identifier: BSD-2-Clause
"""Commands that run a case under the emulator's plugin."""
