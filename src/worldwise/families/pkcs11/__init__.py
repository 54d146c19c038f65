# SPDX-License-Identifier: BSD-2-Clause
"""OP-TEE's own PKCS#11 TA, as an application has it: through libckteec."""
