# SPDX-License-Identifier: BSD-2-Clause
"""All curves. A curve is one row here; docs/add/add-board.md says what the guest needs besides."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Curve:
    """Lengths of a curve's octet strings in bytes, as in guest/adapters/ops_curve.h; 0 for those it lacks.

    Attributes:
        private: a private key. 0: no library has the curve, and it has a name only so that reports can say so.
        public: a public key.
        signature: a signature.
        secret: what a key agreement gives.
        names: NIST's and OpenSSL's names of it, in small letters and without dashes.
        weierstrass: whether a public key is a point that can be off the curve.
        own_number: its number in C if that is not its place: a curve that has a header of its own, guest/curves/NAME.h,
            which goes into its own programs alone. No board and no TA has it.
    """

    private: int = 0
    public: int = 0
    signature: int = 0
    secret: int = 0
    names: tuple[str, ...] = ()
    weierstrass: bool = False
    own_number: int = 0

    @property
    def not_for(self) -> tuple[str, ...]:
        """The operations that do not go with it, in any library."""
        if not self.private:
            return ()
        return (*(() if self.signature else ("sign", "verify")), *(() if self.secret else ("ecdh",)))


def _weierstrass(field: int, order: int, *names: str) -> Curve:
    return Curve(private=order, public=2 * field, signature=2 * order, secret=field, names=names, weierstrass=True)


# In the order of the tables. A curve's place is its number in C, OPS_CURVE of guest/adapters/ops_curve.h, so a new
# one stands last. The first place is that of no curve, and who stands there has a number of its own.
CURVES: Mapping[str, Curve] = {
    "secp112r1": Curve(14, 28, 28, 14, names=("wapwsgidmecidwtls6",), weierstrass=True, own_number=112),
    "secp160r1": _weierstrass(20, 21),
    "secp192r1": _weierstrass(24, 24, "p192", "prime192v1"),
    "secp224r1": _weierstrass(28, 28, "p224"),
    "secp256r1": _weierstrass(32, 32, "p256", "prime256v1"),
    "secp384r1": _weierstrass(48, 48, "p384"),
    "secp256k1": _weierstrass(32, 32, "k256"),
    "ed25519": Curve(32, 32, 64, 0),
    "x25519": Curve(32, 32, 0, 32, names=("curve25519",)),
}
# Those that a library can have.
MEASURABLE: Mapping[str, Curve] = {name: curve for name, curve in CURVES.items() if curve.private}
# Those of ops_curve.h: what a board's frame is compiled for.
IN_FRAME: Mapping[str, Curve] = {name: curve for name, curve in MEASURABLE.items() if not curve.own_number}
WEIERSTRASS = tuple(name for name, curve in CURVES.items() if curve.weierstrass)
_OTHER_NAMES = {other: name for name, curve in CURVES.items() for other in curve.names}


def curve_name(text: str) -> str:
    """Our name of a curve for another name of it, such as P-256; any other text is returned unchanged."""
    return _OTHER_NAMES.get(text.lower().replace("-", "").replace("_", ""), text)


def curve_number(curve: str) -> int:
    """The value of OPS_CURVE for a curve; 0 for any other text, which is no curve."""
    if curve not in CURVES:
        return 0
    return CURVES[curve].own_number or tuple(CURVES).index(curve)
