# SPDX-License-Identifier: BSD-2-Clause
"""What the counts on boards and in plain Linux include."""

from worldwise.read.includes import HASHED_IN_LINUX, IN_LINUX, ON_BOARD, on_curves
from worldwise.read.readings import Readings

READINGS = Readings(
    includes={
        **on_curves(("keygen", "sign", "verify", "ecdh"), ("linux",)),
        **HASHED_IN_LINUX,
        ("keygen", "mcu"): f"a private key from random bytes and its public key, {ON_BOARD}",
        ("sign", "mcu"): "the signature; for ECDSA with SHA-256 of the message, for Ed25519 with the SHA-512 that is "
        f"part of it, {ON_BOARD}",
        ("verify", "mcu"): "the verification, with the check that the public key is on the curve; for ECDSA with "
        f"SHA-256 of the message, {ON_BOARD}",
        (
            "ecdh",
            "mcu",
        ): f"the shared secret from the own private and the peer's public key, with its check, {ON_BOARD}",
        ("hash", "mcu"): f"the whole message, {ON_BOARD}",
        ("encrypt", "mcu"): f"the whole message in counter mode, with the key's expansion, {ON_BOARD}",
        ("run", "mcu"): f"all runs through the benchmark's loop, {ON_BOARD}",
        ("encrypt", "linux"): f"the whole message in counter mode, with the key's expansion, {IN_LINUX}",
    },
)
