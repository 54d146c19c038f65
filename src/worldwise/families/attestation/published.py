# SPDX-License-Identifier: BSD-2-Clause
"""The published figures of the attestation: P-256 in OP-TEE on a Cortex-A72."""

from worldwise.read.published import Match, PublishedSource

_NIST = "mbedTLS with MBEDTLS_ECP_NIST_OPTIM"
_DEFAULT = "mbedTLS default configuration"

PUBLISHED = PublishedSource(
    name="optee-p256-a72",
    reason=(
        "Why they differ: the published figures come from OP-TEE 4.0 (its copy of mbed TLS, 3.4.0) "
        "on QEMU 8.0, with the optimisation level not stated; ours come from OP-TEE 4.10 with mbed TLS "
        "3.6.5, with -Os and -O2 measured separately."
    ),
    # Its unit is a microsecond of virtual time, where one instruction is one nanosecond.
    matches=(
        Match("keygen", _NIST, ("keygen",), "keygen", "ta", "mbedtls-nist", 1000),
        Match("sign attestdiv (48-byte input)", _NIST, ("attestdiv",), "sign", "ta", "mbedtls-nist", 1000),
        Match("sign attestquorum (40-byte input)", _NIST, ("attestquorum",), "sign", "ta", "mbedtls-nist", 1000),
        Match("sign", _DEFAULT, ("attestdiv", "attestquorum"), "sign", "ta", "mbedtls", 1000),
    ),
)
