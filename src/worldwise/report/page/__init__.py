# SPDX-License-Identifier: BSD-2-Clause
"""Reports as one HTML file that needs nothing else: no network, no server, and for reading no JavaScript."""
