# SPDX-License-Identifier: BSD-2-Clause
"""The post-quantum schemes: lengths of their octet strings, as guest/pqc-adapters/pqc.h has them."""

from collections.abc import Mapping
from dataclasses import dataclass

KEM = ("keygen", "encaps", "decaps")
SIGNATURE = ("keygen", "sign", "verify")


@dataclass(frozen=True)
class Scheme:
    """A scheme's lengths in bytes.

    Attributes:
        number: PQC_SCHEME in C.
        operations: what can be done with it, as in ops.h of its libraries.
        seed: what a key pair is made of.
        private: a private key.
        public: a public key.
        output: a ciphertext or a signature.
        random: what an encapsulation or a signature draws.
    """

    number: int
    operations: tuple[str, ...]
    seed: int
    private: int
    public: int
    output: int
    random: int = 32


# In the order of the tables.
SCHEMES: Mapping[str, Scheme] = {
    "ml-kem-512": Scheme(1, KEM, 64, 1632, 800, 768),
    "ml-kem-768": Scheme(2, KEM, 64, 2400, 1184, 1088),
    "ml-kem-1024": Scheme(3, KEM, 64, 3168, 1568, 1568),
    "x25519-ml-kem-768": Scheme(7, KEM, 96, 2432, 1216, 1120, 64),
    "ml-dsa-44": Scheme(4, SIGNATURE, 32, 2560, 1312, 2420),
    "ml-dsa-65": Scheme(5, SIGNATURE, 32, 4032, 1952, 3309),
    "ml-dsa-87": Scheme(6, SIGNATURE, 32, 4896, 2592, 4627),
    "slh-dsa-sha2-128s": Scheme(8, SIGNATURE, 48, 64, 32, 7856, 16),
    "slh-dsa-sha2-128f": Scheme(9, SIGNATURE, 48, 64, 32, 17088, 16),
    "slh-dsa-shake-128f": Scheme(10, SIGNATURE, 48, 64, 32, 17088, 16),
}
KEMS = tuple(name for name, scheme in SCHEMES.items() if scheme.operations == KEM)
SIGNATURES = tuple(name for name, scheme in SCHEMES.items() if scheme.operations == SIGNATURE)
