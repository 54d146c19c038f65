# SPDX-License-Identifier: BSD-2-Clause
"""Reports of the key cache: tables of its costs and of what it survives, and the answer on one screen."""
