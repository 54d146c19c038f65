# SPDX-License-Identifier: BSD-2-Clause
"""ML-KEM as FIPS 203 writes it, for comparing: plain, slow, and not for secrets. Names are those of the standard."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

_N, _Q = 256, 3329
_HALF_INVERSE = 3303  # of 128, modulo q


@dataclass(frozen=True)
class Parameters:
    """Table 2 of FIPS 203."""

    k: int
    eta1: int
    du: int
    dv: int


PARAMETERS = {
    "ml-kem-512": Parameters(2, 3, 10, 4),
    "ml-kem-768": Parameters(3, 2, 10, 4),
    "ml-kem-1024": Parameters(4, 2, 11, 5),
}
_ETA2 = 2

_Poly = list[int]


def _bit_reversed(value: int) -> int:
    return int(f"{value:07b}"[::-1], 2)


_ZETAS = [pow(17, _bit_reversed(i), _Q) for i in range(128)]
_GAMMAS = [pow(17, 2 * _bit_reversed(i) + 1, _Q) for i in range(128)]


def _ntt(f: Sequence[int]) -> _Poly:
    f = list(f)
    i, length = 1, 128
    while length >= 2:
        for start in range(0, _N, 2 * length):
            zeta = _ZETAS[i]
            i += 1
            for j in range(start, start + length):
                t = zeta * f[j + length] % _Q
                f[j + length] = (f[j] - t) % _Q
                f[j] = (f[j] + t) % _Q
        length //= 2
    return f


def _inverse_ntt(f: Sequence[int]) -> _Poly:
    f = list(f)
    i, length = 127, 2
    while length <= 128:
        for start in range(0, _N, 2 * length):
            zeta = _ZETAS[i]
            i -= 1
            for j in range(start, start + length):
                t = f[j]
                f[j] = (t + f[j + length]) % _Q
                f[j + length] = zeta * (f[j + length] - t) % _Q
        length *= 2
    return [value * _HALF_INVERSE % _Q for value in f]


def _product(f: Sequence[int], g: Sequence[int]) -> _Poly:
    found = []
    for i, gamma in enumerate(_GAMMAS):
        a0, a1, b0, b1 = f[2 * i], f[2 * i + 1], g[2 * i], g[2 * i + 1]
        found += [(a0 * b0 + a1 * b1 * gamma) % _Q, (a0 * b1 + a1 * b0) % _Q]
    return found


def _sum(*polynomials: Sequence[int]) -> _Poly:
    return [sum(values) % _Q for values in zip(*polynomials, strict=True)]


def _scalar(first: Sequence[_Poly], second: Sequence[_Poly]) -> _Poly:
    return _sum(*(_product(f, g) for f, g in zip(first, second, strict=True)))


def _encode(f: Sequence[int], bits: int) -> bytes:
    number = sum(value << (bits * i) for i, value in enumerate(f))
    return number.to_bytes(_N * bits // 8, "little")


def _decode(data: bytes, bits: int) -> _Poly:
    number = int.from_bytes(data, "little")
    modulus = _Q if bits == 12 else 1 << bits
    return [(number >> (bits * i) & ((1 << bits) - 1)) % modulus for i in range(_N)]


def _pieces(data: bytes, bits: int) -> list[_Poly]:
    size = _N * bits // 8
    return [_decode(data[at : at + size], bits) for at in range(0, len(data), size)]


def _compress(f: Sequence[int], bits: int) -> _Poly:
    return [((value << bits) + _Q // 2) // _Q % (1 << bits) for value in f]


def _decompress(f: Sequence[int], bits: int) -> _Poly:
    return [(value * _Q + (1 << (bits - 1))) >> bits for value in f]


def _sample_ntt(seed: bytes) -> _Poly:
    stream = hashlib.shake_128(seed).digest(3 * 504)
    found: _Poly = []
    for at in range(0, len(stream), 3):
        first = stream[at] + 256 * (stream[at + 1] % 16)
        second = stream[at + 1] // 16 + 16 * stream[at + 2]
        found += [value for value in (first, second) if value < _Q]
        if len(found) >= _N:
            return found[:_N]
    raise ValueError("a stream of 1,512 bytes is too short: this does not happen")


def _noise(seed: bytes, nonce: int, eta: int) -> _Poly:
    number = int.from_bytes(hashlib.shake_256(seed + bytes([nonce])).digest(64 * eta), "little")
    mask = (1 << eta) - 1
    found = []
    for i in range(_N):
        part = number >> (2 * eta * i)
        found.append(((part & mask).bit_count() - (part >> eta & mask).bit_count()) % _Q)
    return found


# Of one key there are three results or more.
@functools.lru_cache(maxsize=64)
def _matrix(rho: bytes, k: int) -> tuple[tuple[_Poly, ...], ...]:
    return tuple(tuple(_sample_ntt(rho + bytes([j, i])) for j in range(k)) for i in range(k))


@functools.lru_cache(maxsize=256)
def keygen(name: str, seed: bytes) -> tuple[bytes, bytes]:
    """(public key, private key) of a seed d || z."""
    of = PARAMETERS[name]
    d, z = seed[:32], seed[32:]
    expanded = hashlib.sha3_512(d + bytes([of.k])).digest()
    rho, sigma = expanded[:32], expanded[32:]
    secret = [_ntt(_noise(sigma, i, of.eta1)) for i in range(of.k)]
    error = [_ntt(_noise(sigma, of.k + i, of.eta1)) for i in range(of.k)]
    matrix = _matrix(rho, of.k)
    t = [_sum(_scalar(matrix[i], secret), error[i]) for i in range(of.k)]
    public = b"".join(_encode(poly, 12) for poly in t) + rho
    private = b"".join(_encode(poly, 12) for poly in secret)
    return public, private + public + hashlib.sha3_256(public).digest() + z


def _encrypt(of: Parameters, public: bytes, message: bytes, seed: bytes) -> bytes:
    t, rho = _pieces(public[:-32], 12), public[-32:]
    matrix = _matrix(rho, of.k)
    y = [_ntt(_noise(seed, i, of.eta1)) for i in range(of.k)]
    e1 = [_noise(seed, of.k + i, _ETA2) for i in range(of.k)]
    e2 = _noise(seed, 2 * of.k, _ETA2)
    u = [_sum(_inverse_ntt(_scalar([matrix[j][i] for j in range(of.k)], y)), e1[i]) for i in range(of.k)]
    v = _sum(_inverse_ntt(_scalar(t, y)), e2, _decompress(_decode(message, 1), 1))
    return b"".join(_encode(_compress(poly, of.du), of.du) for poly in u) + _encode(_compress(v, of.dv), of.dv)


def _decrypt(of: Parameters, private: bytes, ciphertext: bytes) -> bytes:
    size = _N // 8 * of.du * of.k
    u = [_decompress(poly, of.du) for poly in _pieces(ciphertext[:size], of.du)]
    v = _decompress(_decode(ciphertext[size:], of.dv), of.dv)
    masked = _inverse_ntt(_scalar(_pieces(private, 12), [_ntt(poly) for poly in u]))
    return _encode(_compress([(a - b) % _Q for a, b in zip(v, masked, strict=True)], 1), 1)


def encaps(name: str, public: bytes, message: bytes) -> tuple[bytes, bytes]:
    """(ciphertext, secret) of a public key and m."""
    expanded = hashlib.sha3_512(message + hashlib.sha3_256(public).digest()).digest()
    return _encrypt(PARAMETERS[name], public, message, expanded[32:]), expanded[:32]


def decaps(name: str, private: bytes, ciphertext: bytes) -> bytes:
    """The secret."""
    of = PARAMETERS[name]
    own, public = private[: 384 * of.k], private[384 * of.k : 768 * of.k + 32]
    message = _decrypt(of, own, ciphertext)
    expanded = hashlib.sha3_512(message + private[-64:-32]).digest()
    if _encrypt(of, public, message, expanded[32:]) == ciphertext:
        return expanded[:32]
    return hashlib.shake_256(private[-32:] + ciphertext).digest(32)
