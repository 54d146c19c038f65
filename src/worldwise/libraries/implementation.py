# SPDX-License-Identifier: BSD-2-Clause
"""The implementations there are: a crypto library in one configuration. Adding a configuration is one line here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Implementation:
    """A crypto library as OP-TEE's core has it, and the same library for Linux.

    Attributes:
        library: OP-TEE's crypto library: a key of `_CRYPTO_LIBRARY` in targets/optee_images.py.
        adapter: the file of guest/ops that calls it from Linux.
        options: definitions that configure the core's mbed TLS; another set recompiles that library alone.
        settings: make settings of OP-TEE; another set recompiles all of it.
        changes: make settings that patches of ours to OP-TEE answer to; what a patch touches alone is recompiled.
        tries: the implementation that it differs from by one change, for docs/findings.md; empty otherwise.
    """

    library: str
    adapter: str
    options: str = ""
    settings: str = ""
    changes: str = ""
    tries: str = ""


# What the authors of a core's library claim of constant time, as in implementation.toml, and its licence, by `library`.
TWEETNACL = "tweetnacl"
CONSTANT_TIME = {
    "libtomcrypt": "partly: its multiplication of points, LTC_ECC_TIMING_RESISTANT",
    "mbedtls": "limited: published attacks only, SECURITY.md",
    # What libtomcrypt has for Curve25519, in every core.
    TWEETNACL: "yes: TweetNaCl's paper, of Ed25519 and X25519",
}
LICENCES = {"libtomcrypt": "Unlicense", TWEETNACL: "Unlicense", "mbedtls": "Apache-2.0 OR GPL-2.0-or-later"}


# SHA, AES and GHASH by the Armv8 Cryptographic Extension, wherever OP-TEE's core has code for it.
_CE = "CFG_CRYPTO_WITH_CE=y"


_NIST = "-DMBEDTLS_ECP_NIST_OPTIM"
# Several of docs/findings.md at once, without those that are a defence or must first be made robust.
_LEAN_SETTINGS = "CFG_TEE_CORE_DEBUG=n CFG_TA_FLOAT_SUPPORT=n"
_LEAN_CHANGES = "WORLDWISE_MEMSET=y WORLDWISE_CORELOCAL=y WORLDWISE_USERDIR=y WORLDWISE_KEEPSHM=y"


def _nist(options: str = "", settings: str = "", changes: str = "") -> Implementation:
    return Implementation("mbedtls", "mbedtls", f"{_NIST} {options}".strip(), settings, changes, "mbedtls-nist")


def _ltc(settings: str = "", changes: str = "") -> Implementation:
    return Implementation("libtomcrypt", "libtomcrypt", "", settings, changes, "libtomcrypt")


# What docs/findings.md tries. OP-TEE's own settings first; then what a patch in patches/optee-os answers to.
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
    "mbedtls-nist-lean": _nist(settings=_LEAN_SETTINGS, changes=_LEAN_CHANGES),
    "libtomcrypt-memset": _ltc(changes="WORLDWISE_MEMSET=y"),
    "libtomcrypt-montgomery": _ltc(changes="WORLDWISE_MONTGOMERY=y"),
    "libtomcrypt-lean": _ltc(settings=_LEAN_SETTINGS, changes=f"{_LEAN_CHANGES} WORLDWISE_MONTGOMERY=y"),
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
