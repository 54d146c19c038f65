# SPDX-License-Identifier: BSD-2-Clause
"""ELF files of strangers: asked and read in a process of their own."""
