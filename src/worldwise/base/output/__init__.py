# SPDX-License-Identifier: BSD-2-Clause
"""What worldwise prints and writes, with the control characters of strangers made visible."""
