# SPDX-License-Identifier: BSD-2-Clause
"""Verification of measured results on the host, by other libraries than those measured.

All values are octet strings as in guest/adapters/ops.h: integers big-endian and padded, a public key X || Y,
a signature r || s; Ed25519 and X25519 as in RFC 8032 and RFC 7748.
"""

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, x25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from worldwise.libraries.curve_table import MEASURABLE

_WRONG_SIGNATURE = "the signature is wrong: it does not verify"

# All calls of a case may have the same inputs, and a report reads all cases again.
_remembered = functools.lru_cache(maxsize=65536)


class CurveError(ValueError):
    """A value is wrong. The message says which value and how, without a full stop."""


# The curves that `cryptography` has, by name; python-ecdsa does the others.
_EC: Mapping[str, type[ec.EllipticCurve]] = {
    kind().name.lower(): kind
    for kind in vars(ec).values()
    if isinstance(kind, type) and issubclass(kind, ec.EllipticCurve) and kind is not ec.EllipticCurve
}


@_remembered
def public_key(curve: str, private: bytes) -> bytes:
    """The public key that belongs to a private one. Raises CurveError if the private key is out of range."""
    if curve == "ed25519":
        return ed25519.Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    if curve == "x25519":
        return x25519.X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    if curve not in _EC:
        return bytes(_ecdsa_private(curve, private).verifying_key.to_string())
    numbers = _private(curve, private).public_key().public_numbers()
    return _joined(numbers.x, numbers.y, MEASURABLE[curve].public // 2)


@_remembered
def check_signature(curve: str, public: bytes, message: bytes, signature: bytes) -> None:
    """Verifies Ed25519, or ECDSA with SHA-256. Raises CurveError if the key or the signature is wrong."""
    if curve not in _EC and curve != "ed25519":
        _ecdsa_check(curve, public, message, signature)
        return
    try:
        if curve == "ed25519":
            ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
            return
        half = len(signature) // 2
        r, s = int.from_bytes(signature[:half]), int.from_bytes(signature[half:])
        _public(curve, public).verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        raise CurveError(_WRONG_SIGNATURE) from error


@_remembered
def shared_secret(curve: str, private: bytes, peer: bytes) -> bytes:
    """X of the shared point, or X25519's output. Raises CurveError if a key is wrong, or the output is zero."""
    if curve == "x25519":
        try:
            own = x25519.X25519PrivateKey.from_private_bytes(private)
            return own.exchange(x25519.X25519PublicKey.from_public_bytes(peer))
        except ValueError as error:
            raise CurveError("the peer's public key is of a small order") from error
    if curve not in _EC:
        return _ecdsa_shared(curve, private, peer)
    return _private(curve, private).exchange(ec.ECDH(), _public(curve, peer))


def _private(curve: str, private: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        return ec.derive_private_key(int.from_bytes(private), _EC[curve]())
    except ValueError as error:
        raise CurveError("the private key is out of range") from error


def _public(curve: str, public: bytes) -> ec.EllipticCurvePublicKey:
    half = len(public) // 2
    x, y = int.from_bytes(public[:half]), int.from_bytes(public[half:])
    try:
        return ec.EllipticCurvePublicNumbers(x, y, _EC[curve]()).public_key()
    except ValueError as error:
        raise CurveError(f"the public key is not a point of {curve}") from error


def _joined(x: int, y: int, length: int) -> bytes:
    return x.to_bytes(length) + y.to_bytes(length)


def _ecdsa(curve: str) -> tuple[Any, Any]:
    """python-ecdsa and its curve. It is slow and not constant-time; neither matters for verification."""
    # Imported here, so that other curves need not wait for it.
    import ecdsa

    return ecdsa, next(one for one in ecdsa.curves.curves if one.name.lower() == curve)


def _ecdsa_private(curve: str, private: bytes) -> Any:
    ecdsa, its_curve = _ecdsa(curve)
    try:
        return ecdsa.SigningKey.from_string(private, its_curve)
    except ecdsa.MalformedPointError as error:
        raise CurveError("the private key is out of range") from error


def _ecdsa_public(curve: str, public: bytes) -> Any:
    ecdsa, its_curve = _ecdsa(curve)
    try:
        return ecdsa.VerifyingKey.from_string(public, its_curve, valid_encodings=("raw",))
    except ecdsa.MalformedPointError as error:
        raise CurveError(f"the public key is not a point of {curve}") from error


def _ecdsa_check(curve: str, public: bytes, message: bytes, signature: bytes) -> None:
    ecdsa, _ = _ecdsa(curve)
    try:
        _ecdsa_public(curve, public).verify(signature, message, hashfunc=hashlib.sha256, allow_truncate=True)
    except ecdsa.BadSignatureError as error:
        raise CurveError(_WRONG_SIGNATURE) from error


def _ecdsa_shared(curve: str, private: bytes, peer: bytes) -> bytes:
    ecdsa, its_curve = _ecdsa(curve)
    exchange = ecdsa.ECDH(its_curve, _ecdsa_private(curve, private), _ecdsa_public(curve, peer))
    secret: bytes = exchange.generate_sharedsecret_bytes()
    return secret
