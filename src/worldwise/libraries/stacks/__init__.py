# SPDX-License-Identifier: BSD-2-Clause
"""A user's own stack: another OP-TEE, TF-A or Linux, checked, copied and described."""
