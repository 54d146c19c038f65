# SPDX-License-Identifier: BSD-2-Clause
"""`python -m worldwise`."""

from worldwise.cli import main

main()
