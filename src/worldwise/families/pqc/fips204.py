# SPDX-License-Identifier: BSD-2-Clause
"""ML-DSA as FIPS 204 writes it, for comparing: plain, slow, and not for secrets. Names are those of the standard.

It also says how many attempts a signature takes, which no library tells.
"""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

_N, _Q, _D = 256, 8380417, 13
_INVERSE = 8347681  # of 256, modulo q


@dataclass(frozen=True)
class Parameters:
    """Table 1 of FIPS 204."""

    k: int
    l: int  # noqa: E741
    eta: int
    tau: int
    challenge: int
    gamma1: int
    gamma2: int
    omega: int

    @property
    def beta(self) -> int:
        """The most that a secret can add to a coefficient."""
        return self.tau * self.eta


PARAMETERS = {
    "ml-dsa-44": Parameters(4, 4, 2, 39, 32, 1 << 17, (_Q - 1) // 88, 80),
    "ml-dsa-65": Parameters(6, 5, 4, 49, 48, 1 << 19, (_Q - 1) // 32, 55),
    "ml-dsa-87": Parameters(8, 7, 2, 60, 64, 1 << 19, (_Q - 1) // 32, 75),
}

_Poly = list[int]


@dataclass(frozen=True)
class Key:
    """A key pair as FIPS 204 has it in its algorithms, and as octet strings."""

    public: bytes
    private: bytes
    rho: bytes
    secret: bytes
    tr: bytes
    s1: tuple[_Poly, ...]
    s2: tuple[_Poly, ...]
    t0: tuple[_Poly, ...]


_ZETAS = [pow(1753, int(f"{i:08b}"[::-1], 2), _Q) for i in range(_N)]


def _ntt(w: Sequence[int]) -> _Poly:
    w = list(w)
    m, length = 0, 128
    while length >= 1:
        for start in range(0, _N, 2 * length):
            m += 1
            zeta = _ZETAS[m]
            for j in range(start, start + length):
                t = zeta * w[j + length] % _Q
                w[j + length] = w[j] - t
                w[j] += t
        length //= 2
    return [value % _Q for value in w]


def _inverse_ntt(w: Sequence[int]) -> _Poly:
    w = list(w)
    m, length = _N, 1
    while length < _N:
        for start in range(0, _N, 2 * length):
            m -= 1
            zeta = _Q - _ZETAS[m]
            for j in range(start, start + length):
                t = w[j]
                w[j] = t + w[j + length]
                w[j + length] = zeta * (t - w[j + length]) % _Q
        length *= 2
    return [value * _INVERSE % _Q for value in w]


def _scalar(first: Sequence[_Poly], second: Sequence[_Poly]) -> _Poly:
    total = [0] * _N
    for f, g in zip(first, second, strict=True):
        total = [value + a * b for value, a, b in zip(total, f, g, strict=True)]
    return [value % _Q for value in total]


def _encode(values: Sequence[int], bits: int) -> bytes:
    return sum(value << (bits * i) for i, value in enumerate(values)).to_bytes(_N * bits // 8, "little")


def _sample_matrix(seed: bytes) -> _Poly:
    stream = hashlib.shake_128(seed).digest(3 * 336)
    found = []
    for at in range(0, len(stream), 3):
        value = stream[at] | stream[at + 1] << 8 | (stream[at + 2] & 127) << 16
        if value < _Q:
            found.append(value)
            if len(found) == _N:
                return found
    raise ValueError("a stream of 1,008 bytes is too short: this does not happen")


@functools.lru_cache(maxsize=16)
def _matrix(rho: bytes, k: int, columns: int) -> tuple[tuple[_Poly, ...], ...]:
    return tuple(tuple(_sample_matrix(rho + bytes([s, r])) for s in range(columns)) for r in range(k))


def _sample_short(seed: bytes, eta: int) -> _Poly:
    found: _Poly = []
    for byte in hashlib.shake_256(seed).digest(512):
        for half in (byte & 15, byte >> 4):
            if eta == 2 and half < 15:
                found.append(2 - half % 5)
            elif eta == 4 and half < 9:
                found.append(4 - half)
    return found[:_N]


@functools.lru_cache(maxsize=64)
def keygen(name: str, seed: bytes) -> Key:
    """The key pair of a seed xi."""
    of = PARAMETERS[name]
    expanded = hashlib.shake_256(seed + bytes([of.k, of.l])).digest(128)
    rho, noise, secret = expanded[:32], expanded[32:96], expanded[96:]
    short = [_sample_short(noise + r.to_bytes(2, "little"), of.eta) for r in range(of.l + of.k)]
    return _key(of, rho, secret, short)


def key_of(name: str, private: bytes) -> Key:
    """The key pair of a private key's octet string, of which it takes only what the rest follows from."""
    of = PARAMETERS[name]
    bits = 3 if of.eta == 2 else 4
    size = _N * bits // 8
    numbers = [int.from_bytes(private[at : at + size], "little") for at in range(128, 128 + size * (of.l + of.k), size)]
    short = [[of.eta - (number >> (bits * i) & ((1 << bits) - 1)) for i in range(_N)] for number in numbers]
    return _key(of, private[:32], private[32:64], short)


def _key(of: Parameters, rho: bytes, secret: bytes, short: Sequence[_Poly]) -> Key:
    """The key pair of the polynomials of s1 and s2."""
    s1, s2 = short[: of.l], short[of.l :]
    transformed = [_ntt(poly) for poly in s1]
    t1, t0 = [], []
    for row, error in zip(_matrix(rho, of.k, of.l), s2, strict=True):
        t = [(a + b) % _Q for a, b in zip(_inverse_ntt(_scalar(row, transformed)), error, strict=True)]
        low = [_centred(value, 1 << _D) for value in t]
        t1.append([(value - part) >> _D for value, part in zip(t, low, strict=True)])
        t0.append(low)
    public = rho + b"".join(_encode(poly, 10) for poly in t1)
    tr = hashlib.shake_256(public).digest(64)
    private = rho + secret + tr
    private += b"".join(_encode([of.eta - value for value in poly], 3 if of.eta == 2 else 4) for poly in short)
    private += b"".join(_encode([(1 << (_D - 1)) - value for value in poly], _D) for poly in t0)
    return Key(
        public,
        private,
        rho,
        secret,
        tr,
        tuple(transformed),
        tuple(_ntt(poly) for poly in s2),
        tuple(_ntt(poly) for poly in t0),
    )


def _centred(value: int, modulus: int) -> int:
    """The representative of a value in the range above minus half the modulus up to half of it."""
    rest = value % modulus
    return rest - modulus if rest > modulus // 2 else rest


def _decompose(value: int, gamma2: int) -> tuple[int, int]:
    value %= _Q
    low = _centred(value, 2 * gamma2)
    return (0, low - 1) if value - low == _Q - 1 else ((value - low) // (2 * gamma2), low)


def _mask(seed: bytes, nonce: int, gamma1: int) -> _Poly:
    bits = gamma1.bit_length()
    number = int.from_bytes(hashlib.shake_256(seed + nonce.to_bytes(2, "little")).digest(32 * bits), "little")
    return [gamma1 - (number >> (bits * i) & ((1 << bits) - 1)) for i in range(_N)]


def _challenge(seed: bytes, tau: int) -> _Poly:
    stream = hashlib.shake_256(seed).digest(512)
    signs, at = int.from_bytes(stream[:8], "little"), 8
    c = [0] * _N
    for i in range(_N - tau, _N):
        while stream[at] > i:
            at += 1
        c[i] = c[stream[at]]
        c[stream[at]] = -1 if signs >> (i + tau - _N) & 1 else 1
        at += 1
    return c


def _large(poly: Sequence[int], bound: int) -> bool:
    return any(abs(_centred(value, _Q)) >= bound for value in poly)


def _times(c: _Poly, poly: _Poly) -> _Poly:
    return _inverse_ntt([a * b % _Q for a, b in zip(c, poly, strict=True)])


def sign(name: str, key: Key, message: bytes, random: bytes, context: bytes = b"") -> tuple[bytes, int]:
    """(signature in pure mode, number of attempts that it took, the successful one included)."""
    of = PARAMETERS[name]
    mu = hashlib.shake_256(key.tr + bytes([0, len(context)]) + context + message).digest(64)
    noise = hashlib.shake_256(key.secret + random + mu).digest(64)
    matrix = _matrix(key.rho, of.k, of.l)
    attempt = 0
    while True:
        y = [_mask(noise, attempt * of.l + r, of.gamma1) for r in range(of.l)]
        attempt += 1
        transformed = [_ntt(poly) for poly in y]
        w = [_inverse_ntt(_scalar(row, transformed)) for row in matrix]
        w1 = [[_decompose(value, of.gamma2)[0] for value in poly] for poly in w]
        bits = 6 if of.gamma2 == (_Q - 1) // 88 else 4
        hashed = hashlib.shake_256(mu + b"".join(_encode(poly, bits) for poly in w1)).digest(of.challenge)
        c = _ntt(_challenge(hashed, of.tau))
        z = _answer(of, c, key, y)
        hints = _hints(of, c, key, w) if z else None
        if z and hints is not None:
            packed = b"".join(
                _encode([of.gamma1 - _centred(value, _Q) for value in poly], of.gamma1.bit_length()) for poly in z
            )
            return hashed + packed + hints, attempt


def _answer(of: Parameters, c: _Poly, key: Key, y: Sequence[_Poly]) -> list[_Poly] | None:
    """The vector z; None if it would tell something of the key."""
    z = []
    for poly, secret in zip(y, key.s1, strict=True):
        z.append([a + b for a, b in zip(poly, _times(c, secret), strict=True)])
        if _large(z[-1], of.gamma1 - of.beta):
            return None
    return z


def _hints(of: Parameters, c: _Poly, key: Key, w: Sequence[_Poly]) -> bytes | None:
    """The hints as they are packed; None if the attempt fails."""
    places = bytearray()
    ends = bytearray()
    for poly, s2, t0 in zip(w, key.s2, key.t0, strict=True):
        rest = [(a - b) % _Q for a, b in zip(poly, _times(c, s2), strict=True)]
        if any(abs(_decompose(value, of.gamma2)[1]) >= of.gamma2 - of.beta for value in rest):
            return None
        high = _times(c, t0)
        if _large(high, of.gamma2):
            return None
        for i, (value, more) in enumerate(zip(rest, high, strict=True)):
            if _decompose(value + more, of.gamma2)[0] != _decompose(value, of.gamma2)[0]:
                places.append(i)
        ends.append(min(len(places), 255))
    return None if len(places) > of.omega else bytes(places.ljust(of.omega, b"\0") + ends)


# A report reads every signature's evidence, and then the attempts.
@functools.lru_cache(maxsize=65536)
def sign_seeded(name: str, seed: bytes, message: bytes, random: bytes) -> tuple[bytes, int]:
    """`sign` with the key of a seed and an empty context."""
    return sign(name, keygen(name, seed), message, random)
