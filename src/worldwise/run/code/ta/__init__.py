# SPDX-License-Identifier: BSD-2-Clause
"""A user's own TA: its functions as regions."""
