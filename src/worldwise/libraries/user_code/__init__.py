# SPDX-License-Identifier: BSD-2-Clause
"""What builds a user's own code: build systems, the harness around functions, and pqm4's layout."""
