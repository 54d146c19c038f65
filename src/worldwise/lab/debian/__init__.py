# SPDX-License-Identifier: BSD-2-Clause
"""Debian's packages and sources: locked, found on mirrors and second sources, fetched and verified."""
