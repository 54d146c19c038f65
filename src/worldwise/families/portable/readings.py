# SPDX-License-Identifier: BSD-2-Clause
"""What the counts on boards and in plain Linux include, and the published figures beside them."""

from worldwise.read.published import OnBoards, PublishedSource
from worldwise.read.readings import HASHED_IN_LINUX, IN_LINUX, ON_BOARD, Readings, on_curves

_PUBLISHED = PublishedSource(
    name="riot-ecc-mcu",
    reason=(
        "How they compare: the published figures are microseconds of real boards with RIOT. Brought to cycles by the "
        "board's clock they stand beside our instructions; ours / published is then the instructions per cycle that "
        "the board would have had if it had run the same code. It did not quite: theirs is c25519 as RIOT packages "
        "it, of a version not stated; ours are c25519 as Monocypher's package has it, and wolfSSL's low-memory "
        "Ed25519, which is derived from c25519 and uses wolfSSL's SHA-512. Their compiler and its flags are not "
        "stated. Their time has in it the flash's wait states (5 cycles a read on the F446RE, 2 on the F103RB, less "
        "what the flash's accelerator or prefetch buffer hides) and RIOT's interrupts. Neither core does more than "
        "one instruction in a cycle, so that an implied figure above 1 says that the code was another. The rows of "
        "micro-ecc are published as '??': secp160r1 is measured here; Ed25519 cannot be, as micro-ecc has none."
    ),
    on_boards=OnBoards(
        places={
            "nucleo-f446re": "Nucleo F446RE, RIOT, hardware",
            "nucleo-f103rb": "Nucleo F103RB, RIOT, hardware",
        },
        library="c25519 (RIOT package)",
        algorithm="Ed25519",
        implementations=("c25519", "wolfssl-small"),
        curve="ed25519",
        sizes=(16, 32, 128, 1024),
        gaps={
            ("nucleo-f446re", "micro-ecc", "secp160r1"): "?? (listed, never measured)",
            ("nucleo-f103rb", "micro-ecc", "secp160r1"): "none (never measured)",
        },
    ),
)

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
    published=_PUBLISHED,
)
