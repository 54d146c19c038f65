# SPDX-License-Identifier: BSD-2-Clause
"""A Linux host behind ssh, as a measurer, and the trusted applications that its own OP-TEE loads."""
