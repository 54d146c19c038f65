# SPDX-License-Identifier: BSD-2-Clause
"""The host's own arithmetic: what every board's result is verified by, held against published vectors."""

import pytest

from worldwise.libraries.curve_table import CURVES, MEASURABLE, WEIERSTRASS
from worldwise.libraries.curves import CurveError, check_signature, public_key, shared_secret
from worldwise.libraries.portable import portables

# SEC 2: the generator's X, and the order of the group.
DOMAIN = {
    "secp112r1": ("09487239995a5ee76b55f9c2f098", "db7c2abf62e35e7628dfac6561c5"),
    "secp160r1": ("4a96b5688ef573284664698968c38bb913cbfc82", "0100000000000000000001f4c8f927aed3ca752257"),
    "secp192r1": (
        "188da80eb03090f67cbf20eb43a18800f4ff0afd82ff1012",
        "ffffffffffffffffffffffff99def836146bc9b1b4d22831",
    ),
    "secp224r1": (
        "b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21",
        "ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d",
    ),
    "secp256r1": (
        "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    ),
    "secp384r1": (
        "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
        "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    ),
    "secp256k1": (
        "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
    ),
}


def test_every_curve_that_somebody_has_can_be_verified() -> None:
    assert MEASURABLE.keys() == {curve for library in portables().values() for curve in library.curves}
    assert MEASURABLE.keys() == CURVES.keys()
    assert set(WEIERSTRASS) == DOMAIN.keys()


@pytest.mark.parametrize("curve", DOMAIN)
def test_domain_parameters(curve: str) -> None:
    generator, order = (bytes.fromhex(text) for text in DOMAIN[curve])
    lengths = MEASURABLE[curve]
    assert (lengths.private, lengths.signature, lengths.secret) == (len(order), 2 * len(order), len(generator))
    one = bytes(lengths.private - 1) + b"\1"
    point = public_key(curve, one)
    assert len(point) == lengths.public
    assert point[: len(generator)] == generator
    # -1: the same X, so that ECDH with it gives the generator's X again.
    last = (int.from_bytes(order) - 1).to_bytes(lengths.private)
    assert public_key(curve, last)[: len(generator)] == generator
    assert shared_secret(curve, last, point) == shared_secret(curve, one, point) == generator
    for private in (bytes(lengths.private), order):
        with pytest.raises(CurveError, match="the private key is out of range"):
            public_key(curve, private)
    with pytest.raises(CurveError, match=f"the public key is not a point of {curve}"):
        shared_secret(curve, one, point[:-1] + bytes([point[-1] ^ 1]))
    for signature in (bytes(lengths.signature), order * 2):
        with pytest.raises(CurveError, match="the signature is wrong"):
            check_signature(curve, point, b"message", signature)


def test_rfc_6979_signatures_are_accepted() -> None:
    # A.2.3 and A.2.5 with SHA-256 of "sample".
    private = {
        "secp192r1": "6fab034934e4c0fc9ae67f5b5659a9d7d1fefd187ee09fd4",
        "secp256r1": "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
    }
    signature = {
        "secp192r1": "4b0b8ce98a92866a2820e20aa6b75b56382e0f9bfd5ecb55ccdb006926ea9565cbadc840829d8c384e06de1f1e381b85",
        "secp256r1": "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
        "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    }
    for curve, text in private.items():
        point = public_key(curve, bytes.fromhex(text))
        check_signature(curve, point, b"sample", bytes.fromhex(signature[curve]))
        with pytest.raises(CurveError, match="does not verify"):
            check_signature(curve, point, b"Sample", bytes.fromhex(signature[curve]))


def test_rfc_8032_and_rfc_7748() -> None:
    # RFC 8032, 7.1, test 2.
    public = public_key("ed25519", bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
    assert public.hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    check_signature("ed25519", public, b"\x72", signature)
    with pytest.raises(CurveError, match="does not verify"):
        check_signature("ed25519", public, b"\x73", signature)
    # RFC 7748, 6.1.
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    secret = shared_secret("x25519", alice, public_key("x25519", bob))
    assert secret == shared_secret("x25519", bob, public_key("x25519", alice))
    assert secret.hex() == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
    with pytest.raises(CurveError, match="of a small order"):
        shared_secret("x25519", alice, bytes(32))
