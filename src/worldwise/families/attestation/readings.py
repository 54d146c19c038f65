# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of an attestation include, and the published figures beside them."""

from worldwise.read.published import Match, PublishedSource
from worldwise.read.readings import CLIENT_CALL, IN_TA, Readings, on_curves

_NIST = "mbedTLS with MBEDTLS_ECP_NIST_OPTIM"
_DEFAULT = "mbedTLS default configuration"

_PUBLISHED = PublishedSource(
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

READINGS = Readings(
    includes={
        **on_curves(("keygen", "sign", "verify"), ("ta", "client", "linux")),
        ("invoke", "client"): f"{CLIENT_CALL}; the TA does nothing and gets no parameters",
        ("open", "client"): "the client's whole TEEC_OpenSession, with the TA already loaded",
        ("load", "client"): "the client's whole TEEC_OpenSession, with the TA loaded and its signature checked anew",
        ("create", "ta"): f"TEE_CreatePersistentObject of 4 KiB in the REE's file system, {IN_TA}, but with "
        "tee-supplicant's work in Linux",
        ("create", "client"): CLIENT_CALL,
    },
    published=_PUBLISHED,
)
