# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run` and `worldwise merge`: their options, and the measuring of suites, whole or in shards."""
