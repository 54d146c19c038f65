# SPDX-License-Identifier: BSD-2-Clause
"""Traces: what the emulator's plugins saw of a case, made, kept in the cache, and their cost."""
