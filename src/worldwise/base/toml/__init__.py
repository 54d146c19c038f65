# SPDX-License-Identifier: BSD-2-Clause
"""TOML files: read into checked objects, with errors that name file, line and key; and written."""
