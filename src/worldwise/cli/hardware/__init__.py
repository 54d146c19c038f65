# SPDX-License-Identifier: BSD-2-Clause
"""Commands on cycles of real hardware: `judge`, `calibrate`, `contribute` and `validation`."""
