# SPDX-License-Identifier: BSD-2-Clause
"""All implementations of OP-TEE: each is a crypto library in one configuration. A new one is one line here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Implementation:
    """A crypto library as built into OP-TEE's core, and the same library for Linux.

    Attributes:
        library: OP-TEE's crypto library: a key of `_CRYPTO_LIBRARY` in targets/optee_images.py.
        adapter: the file of guest/optee-libraries that calls it from Linux.
        options: definitions that configure the core's mbed TLS; a change recompiles only that library.
        settings: make settings of OP-TEE; a change recompiles all of OP-TEE.
        changes: make settings that our patches to OP-TEE read; a change recompiles only what the patch touches.
        tries: for docs/results/findings.md, the implementation from which it differs by one change; empty otherwise.
    """

    library: str
    adapter: str
    options: str = ""
    settings: str = ""
    changes: str = ""
    tries: str = ""


# By `library`: what its authors claim about constant time, as in implementation.toml, and its licence.
TWEETNACL = "tweetnacl"
CONSTANT_TIME = {
    "libtomcrypt": "partly: its multiplication of points, LTC_ECC_TIMING_RESISTANT",
    "mbedtls": "limited: published attacks only, SECURITY.md",
    # Every OP-TEE core uses TweetNaCl, in libtomcrypt, for Curve25519.
    TWEETNACL: "yes: TweetNaCl's paper, of Ed25519 and X25519",
}
LICENCES = {"libtomcrypt": "Unlicense", TWEETNACL: "Unlicense", "mbedtls": "Apache-2.0 OR GPL-2.0-or-later"}


# SHA, AES and GHASH with the Armv8 Cryptographic Extension, where OP-TEE's core has code for it.
_CE = "CFG_CRYPTO_WITH_CE=y"


_NIST = "-DMBEDTLS_ECP_NIST_OPTIM"
# Several findings of docs/results/findings.md together, without those that are a defence or not yet robust.
_LEAN_SETTINGS = "CFG_TEE_CORE_DEBUG=n CFG_TA_FLOAT_SUPPORT=n"
LEAN_CHANGES = "WORLDWISE_MEMSET=y WORLDWISE_CORELOCAL=y WORLDWISE_USERDIR=y WORLDWISE_KEEPSHM=y"


def _nist(options: str = "", settings: str = "", changes: str = "") -> Implementation:
    return Implementation("mbedtls", "mbedtls", f"{_NIST} {options}".strip(), settings, changes, "mbedtls-nist")


def _ltc(settings: str = "", changes: str = "") -> Implementation:
    return Implementation("libtomcrypt", "libtomcrypt", "", settings, changes, "libtomcrypt")


# The changes of docs/results/findings.md: first OP-TEE's own settings, then those of our patches in patches/optee-os.
_TRIES = {
    "mbedtls-nist-nodebug": _nist(settings="CFG_TEE_CORE_DEBUG=n"),
    "mbedtls-nist-nospectre": _nist(settings="CFG_CORE_WORKAROUND_SPECTRE_BP_SEC=n"),
    "mbedtls-nist-nofloat": _nist(settings="CFG_TA_FLOAT_SUPPORT=n"),
    "mbedtls-nist-nosecstor": _nist(settings="CFG_SECSTOR_TA=n"),
    "mbedtls-nist-asm": _nist("-DMBEDTLS_HAVE_ASM"),
    "mbedtls-nist-memset": _nist(changes="WORLDWISE_MEMSET=y"),
    "mbedtls-nist-corelocal": _nist(changes="WORLDWISE_CORELOCAL=y"),
    "mbedtls-nist-userdir": _nist(changes="WORLDWISE_USERDIR=y"),
    "mbedtls-nist-keepshm": _nist(changes="WORLDWISE_KEEPSHM=y"),
    "mbedtls-nist-keepdir": _nist(changes="WORLDWISE_KEEPDIR=y"),
    "mbedtls-nist-skipzero": _nist("-DWORLDWISE_SKIPZERO"),
    "mbedtls-nist-lean": _nist(settings=_LEAN_SETTINGS, changes=LEAN_CHANGES),
    "libtomcrypt-memset": _ltc(changes="WORLDWISE_MEMSET=y"),
    "libtomcrypt-montgomery": _ltc(changes="WORLDWISE_MONTGOMERY=y"),
    "libtomcrypt-lean": _ltc(settings=_LEAN_SETTINGS, changes=f"{LEAN_CHANGES} WORLDWISE_MONTGOMERY=y"),
}


# In the order of the tables.
IMPLEMENTATIONS = {
    "libtomcrypt": Implementation("libtomcrypt", "libtomcrypt"),
    "libtomcrypt-ce": Implementation("libtomcrypt", "libtomcrypt", settings=_CE),
    "mbedtls": Implementation("mbedtls", "mbedtls"),
    "mbedtls-ce": Implementation("mbedtls", "mbedtls", settings=_CE),
    "mbedtls-nist": Implementation("mbedtls", "mbedtls", _NIST),
    **_TRIES,
}
