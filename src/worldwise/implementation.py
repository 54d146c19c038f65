# SPDX-License-Identifier: BSD-2-Clause
"""The implementations there are: a crypto library in one configuration. Adding a configuration is one line here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Implementation:
    """A crypto library as OP-TEE's core has it, and the same library for Linux.

    Attributes:
        library: OP-TEE's crypto library: a key of `_CRYPTO_LIBRARY` in image.py.
        adapter: the file of guest/ops that calls it from Linux.
        options: definitions that configure the core's mbed TLS; another set recompiles that library alone.
        settings: make settings of OP-TEE; another set recompiles all of it.
    """

    library: str
    adapter: str
    options: str = ""
    settings: str = ""


# SHA, AES and GHASH by the Armv8 Cryptographic Extension, wherever OP-TEE's core has code for it.
_CE = "CFG_CRYPTO_WITH_CE=y"


# In the order of the tables.
IMPLEMENTATIONS = {
    "libtomcrypt": Implementation("libtomcrypt", "libtomcrypt"),
    "libtomcrypt-ce": Implementation("libtomcrypt", "libtomcrypt", settings=_CE),
    "mbedtls": Implementation("mbedtls", "mbedtls"),
    "mbedtls-ce": Implementation("mbedtls", "mbedtls", settings=_CE),
    "mbedtls-nist": Implementation("mbedtls", "mbedtls", "-DMBEDTLS_ECP_NIST_OPTIM"),
}
