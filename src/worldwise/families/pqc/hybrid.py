# SPDX-License-Identifier: BSD-2-Clause
"""Key encapsulation as the host makes it again: ML-KEM by FIPS 203, and X25519MLKEM768 of TLS 1.3 on top of it.

X25519MLKEM768 is ML-KEM-768 and X25519 side by side (draft-ietf-tls-ecdhe-mlkem): whatever goes over and whatever comes
out is ML-KEM's part and then X25519's.
"""

from worldwise.families.pqc import fips203

HYBRID = "x25519-ml-kem-768"
_KEM = "ml-kem-768"
# Of X25519: a scalar, a coordinate. FIPS 203's seed and random bytes come before its own.
BYTES = 32
_SEED_BYTES, _RANDOM_BYTES = 64, 32
_P = 2**255 - 19
_A24 = 121665
_BASE = (9).to_bytes(BYTES, "little")


def x25519(scalar: bytes, coordinate: bytes) -> bytes:
    """RFC 7748, section 5: plain, slow, and not for secrets."""
    k = int.from_bytes(scalar, "little") & ~7 & (2**255 - 1) | 2**254
    x1 = int.from_bytes(coordinate, "little") % 2**255
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % _P, b * b % _P, d * a % _P, c * b % _P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % _P, x1 * (da - cb) ** 2 % _P
        x2, z2 = aa * bb % _P, e * (aa + _A24 * e) % _P
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, -1, _P) % _P if z2 else 0).to_bytes(BYTES, "little")


def keygen(scheme: str, seed: bytes) -> tuple[bytes, bytes]:
    """(public key, private key) of a seed: d || z, and in the hybrid X25519's scalar behind it."""
    if scheme != HYBRID:
        return fips203.keygen(scheme, seed)
    public, private = fips203.keygen(_KEM, seed[:_SEED_BYTES])
    scalar = seed[_SEED_BYTES:]
    return public + x25519(scalar, _BASE), private + scalar


def encaps(scheme: str, public: bytes, random: bytes) -> tuple[bytes, bytes]:
    """(ciphertext, secret) of a public key and m, and in the hybrid the ephemeral scalar behind it."""
    if scheme != HYBRID:
        return fips203.encaps(scheme, public, random)
    ciphertext, secret = fips203.encaps(_KEM, public[:-BYTES], random[:_RANDOM_BYTES])
    scalar = random[_RANDOM_BYTES:]
    return ciphertext + x25519(scalar, _BASE), secret + x25519(scalar, public[-BYTES:])


def decaps(scheme: str, private: bytes, ciphertext: bytes) -> bytes:
    """The secret."""
    if scheme != HYBRID:
        return fips203.decaps(scheme, private, ciphertext)
    secret = fips203.decaps(_KEM, private[:-BYTES], ciphertext[:-BYTES])
    return secret + x25519(private[-BYTES:], ciphertext[-BYTES:])
