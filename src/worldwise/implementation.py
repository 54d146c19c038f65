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
    """

    library: str
    adapter: str
    options: str = ""


# In the order of the tables.
IMPLEMENTATIONS = {
    "libtomcrypt": Implementation("libtomcrypt", "libtomcrypt"),
    "mbedtls": Implementation("mbedtls", "mbedtls"),
    "mbedtls-nist": Implementation("mbedtls", "mbedtls", "-DMBEDTLS_ECP_NIST_OPTIM"),
}
