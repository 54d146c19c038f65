# SPDX-License-Identifier: BSD-2-Clause
"""A run's folder: what is in it, how it is written and read, and how the folders of shards become one."""
