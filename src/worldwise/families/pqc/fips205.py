# SPDX-License-Identifier: BSD-2-Clause
"""SLH-DSA of security category 1 as FIPS 205 writes it, for comparing: plain, slow, and not for secrets.

Names are those of the standard. A signature of 128s takes more than two million hashes, one of 128f a hundred thousand.
"""

import functools
import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# Of a hash that is kept, of one that is signed by WOTS+, and of a key's four parts.
N = 16
_W_BITS, _LEN1, _LEN2 = 4, 32, 3
_LEN = _LEN1 + _LEN2
_STEPS = tuple(i.to_bytes(4, "big") for i in range(16))
_WOTS_HASH, _WOTS_PK, _TREE, _FORS_TREE, _FORS_ROOTS, _WOTS_PRF, _FORS_PRF = range(7)


@dataclass(frozen=True)
class Parameters:
    """Table 2 of FIPS 205, and which of the two families of hashes."""

    shake: bool
    d: int
    height: int
    a: int
    k: int

    @property
    def bytes_of_md(self) -> int:
        """Of the digest of a message: the part that FORS signs."""
        return -(-self.k * self.a // 8)

    @property
    def tree_bits(self) -> int:
        """The bits of a tree's number."""
        return self.height * (self.d - 1)

    @property
    def signature(self) -> int:
        """The bytes of a signature."""
        return N * (1 + self.k * (1 + self.a) + self.d * (self.height + _LEN))


PARAMETERS = {
    "slh-dsa-sha2-128s": Parameters(False, 7, 9, 12, 14),
    "slh-dsa-sha2-128f": Parameters(False, 22, 3, 6, 33),
    "slh-dsa-shake-128f": Parameters(True, 22, 3, 6, 33),
}


@dataclass(frozen=True)
class _Sha2:
    """Section 11.2.1."""

    seed: bytes

    def hasher(self) -> Callable[[bytes], bytes]:
        """F, H, T and PRF: of an address and what follows it."""
        start = hashlib.sha256(self.seed + bytes(64 - N))

        def hashed(data: bytes) -> bytes:
            state = start.copy()
            state.update(data)
            return state.digest()[:N]

        return hashed

    def head(self, layer: int, tree: int, kind: int) -> bytes:
        """An address but for its last three words."""
        return bytes([layer]) + tree.to_bytes(8, "big") + bytes([kind])

    def digest(self, r: bytes, root: bytes, message: bytes, length: int) -> bytes:
        """H_msg."""
        start = r + self.seed
        start += hashlib.sha256(start + root + message).digest()
        blocks = (hashlib.sha256(start + i.to_bytes(4, "big")).digest() for i in range(-(-length // 32)))
        return b"".join(blocks)[:length]

    def randomizer(self, prf: bytes, random: bytes, message: bytes) -> bytes:
        """PRF_msg."""
        return hmac.digest(prf, random + message, "sha256")[:N]


@dataclass(frozen=True)
class _Shake:
    """Section 11.1."""

    seed: bytes

    def hasher(self) -> Callable[[bytes], bytes]:
        """F, H, T and PRF: of an address and what follows it."""
        seed, shake = self.seed, hashlib.shake_256
        return lambda data: shake(seed + data).digest(N)

    def head(self, layer: int, tree: int, kind: int) -> bytes:
        """An address but for its last three words."""
        return layer.to_bytes(4, "big") + tree.to_bytes(12, "big") + kind.to_bytes(4, "big")

    def digest(self, r: bytes, root: bytes, message: bytes, length: int) -> bytes:
        """H_msg."""
        return hashlib.shake_256(r + self.seed + root + message).digest(length)

    def randomizer(self, prf: bytes, random: bytes, message: bytes) -> bytes:
        """PRF_msg."""
        return hashlib.shake_256(prf + random + message).digest(N)


def _word(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "big") for value in values)


def _digits(number: bytes, bits: int, count: int) -> list[int]:
    """base_2b: the first so many digits."""
    whole, length = int.from_bytes(number, "big"), 8 * len(number)
    return [whole >> (length - bits * (i + 1)) & ((1 << bits) - 1) for i in range(count)]


def _chain_lengths(message: bytes) -> list[int]:
    digits = _digits(message, _W_BITS, _LEN1)
    checksum = sum(15 - digit for digit in digits) << 4
    return digits + _digits(checksum.to_bytes(2, "big"), _W_BITS, _LEN2)


class _Signer:
    """The algorithms of sections 5 to 9 with one key; without SK.seed those of a verifier."""

    def __init__(self, of: Parameters, seed: bytes, secret: bytes = b"") -> None:
        self.of = of
        self.family = (_Shake if of.shake else _Sha2)(seed)
        self.hash = self.family.hasher()
        self.secret = secret

    # --- WOTS+, section 5 ---

    def _compressed(self, layer: int, tree: int, leaf: int, chains: Sequence[bytes]) -> bytes:
        return self.hash(self.family.head(layer, tree, _WOTS_PK) + _word(leaf, 0, 0) + b"".join(chains))

    def _chains(
        self, layer: int, tree: int, leaf: int, values: Sequence[bytes], spans: Sequence[tuple[int, int]]
    ) -> list[bytes]:
        hashed, found = self.hash, []
        head = self.family.head(layer, tree, _WOTS_HASH)
        for i, (value, (begin, end)) in enumerate(zip(values, spans, strict=True)):
            prefix = head + _word(leaf, i)
            for step in _STEPS[begin:end]:
                value = hashed(prefix + step + value)
            found.append(value)
        return found

    def _wots_secrets(self, layer: int, tree: int, leaf: int) -> list[bytes]:
        head = self.family.head(layer, tree, _WOTS_PRF)
        return [self.hash(head + _word(leaf, i, 0) + self.secret) for i in range(_LEN)]

    def _wots_public(self, layer: int, tree: int, leaf: int) -> bytes:
        secrets = self._wots_secrets(layer, tree, leaf)
        return self._compressed(layer, tree, leaf, self._chains(layer, tree, leaf, secrets, [(0, 15)] * _LEN))

    def _wots_sign(self, layer: int, tree: int, leaf: int, message: bytes) -> list[bytes]:
        spans = [(0, length) for length in _chain_lengths(message)]
        return self._chains(layer, tree, leaf, self._wots_secrets(layer, tree, leaf), spans)

    def _wots_public_of(self, layer: int, tree: int, leaf: int, message: bytes, signature: Sequence[bytes]) -> bytes:
        spans = [(length, 15) for length in _chain_lengths(message)]
        return self._compressed(layer, tree, leaf, self._chains(layer, tree, leaf, signature, spans))

    # --- trees: XMSS, section 6, and FORS, section 8 ---

    def _levels(self, head: bytes, first: int, leaves: list[bytes], offset: int) -> list[list[bytes]]:
        """All nodes of a tree, its leaves first; the leftmost leaf has number `offset` among all of its level."""
        levels = [leaves]
        while len(levels[-1]) > 1:
            below, height = levels[-1], len(levels)
            start = offset >> height
            levels.append(
                [
                    self.hash(head + _word(first, height, start + i) + below[2 * i] + below[2 * i + 1])
                    for i in range(len(below) // 2)
                ]
            )
        return levels

    def _climb(self, head: bytes, first: int, index: int, node: bytes, path: Sequence[bytes]) -> bytes:
        """The root, from a leaf and its authentication path."""
        for height, other in enumerate(path, 1):
            pair = other + node if index & 1 else node + other
            index >>= 1
            node = self.hash(head + _word(first, height, index) + pair)
        return node

    def xmss(self, layer: int, tree: int) -> list[list[bytes]]:
        """All nodes of one tree of the hypertree."""
        leaves = [self._wots_public(layer, tree, leaf) for leaf in range(1 << self.of.height)]
        return self._levels(self.family.head(layer, tree, _TREE), 0, leaves, 0)

    def fors_sign(self, tree: int, leaf: int, indices: Sequence[int]) -> Iterator[bytes]:
        """Of each tree the secret value and the path."""
        of, family = self.of, self.family
        secret = family.head(0, tree, _FORS_PRF) + _word(leaf, 0)
        head = family.head(0, tree, _FORS_TREE)
        for i, index in enumerate(indices):
            offset = i << of.a
            values = [self.hash(secret + _word(offset + j) + self.secret) for j in range(1 << of.a)]
            leaves = [self.hash(head + _word(leaf, 0, offset + j) + value) for j, value in enumerate(values)]
            yield values[index]
            yield from _path(self._levels(head, leaf, leaves, offset), index)

    def fors_public(self, tree: int, leaf: int, indices: Sequence[int], signature: Sequence[bytes]) -> bytes:
        """The key of FORS that a signature of it stands for."""
        of, family = self.of, self.family
        head = family.head(0, tree, _FORS_TREE)
        roots = []
        for i, index in enumerate(indices):
            value, *path = signature[i * (1 + of.a) : (i + 1) * (1 + of.a)]
            number = (i << of.a) + index
            roots.append(self._climb(head, leaf, number, self.hash(head + _word(leaf, 0, number) + value), path))
        return self.hash(family.head(0, tree, _FORS_ROOTS) + _word(leaf, 0, 0) + b"".join(roots))

    # --- the hypertree, section 7 ---

    def _places(self, tree: int, leaf: int) -> Iterator[tuple[int, int, int]]:
        """(layer, tree, leaf) from below."""
        for layer in range(self.of.d):
            yield layer, tree, leaf
            tree, leaf = tree >> self.of.height, tree & ((1 << self.of.height) - 1)

    def hypertree_sign(self, tree: int, leaf: int, message: bytes) -> Iterator[bytes]:
        """Of each layer the signature of the root below, and the path."""
        for layer, number, place in self._places(tree, leaf):
            yield from self._wots_sign(layer, number, place, message)
            levels = self.xmss(layer, number)
            yield from _path(levels, place)
            message = levels[-1][0]

    def hypertree_root(self, tree: int, leaf: int, message: bytes, signature: Sequence[bytes]) -> bytes:
        """The root that a signature of the hypertree stands for."""
        size = _LEN + self.of.height
        for layer, number, place in self._places(tree, leaf):
            part = signature[layer * size : (layer + 1) * size]
            node = self._wots_public_of(layer, number, place, message, part[:_LEN])
            message = self._climb(self.family.head(layer, number, _TREE), 0, place, node, part[_LEN:])
        return message

    def parts_of(self, r: bytes, root: bytes, message: bytes) -> tuple[list[int], int, int]:
        """(FORS's indices, tree, leaf) that the digest of a message says."""
        of = self.of
        sizes = (of.bytes_of_md, -(-of.tree_bits // 8), -(-of.height // 8))
        digest = self.family.digest(r, root, message, sum(sizes))
        md, tree, leaf = digest[: sizes[0]], digest[sizes[0] : -sizes[2]], digest[-sizes[2] :]
        return (
            _digits(md, of.a, of.k),
            int.from_bytes(tree, "big") % (1 << of.tree_bits),
            int.from_bytes(leaf, "big") % (1 << of.height),
        )


def _path(levels: Sequence[Sequence[bytes]], index: int) -> Iterator[bytes]:
    for level in levels[:-1]:
        yield level[index ^ 1]
        index >>= 1


def _pure(message: bytes, context: bytes) -> bytes:
    return bytes([0, len(context)]) + context + message


@functools.lru_cache(maxsize=64)
def keygen(name: str, seed: bytes) -> tuple[bytes, bytes]:
    """(public key, private key) of SK.seed || SK.prf || PK.seed."""
    of = PARAMETERS[name]
    own = seed[2 * N :]
    public = own + _Signer(of, own, seed[:N]).xmss(of.d - 1, 0)[-1][0]
    return public, seed[: 2 * N] + public


def sign(name: str, private: bytes, message: bytes, random: bytes, context: bytes = b"") -> bytes:
    """The hedged signature in pure mode; `random` is addrnd."""
    secret, prf, seed, root = (private[at : at + N] for at in range(0, 4 * N, N))
    signer = _Signer(PARAMETERS[name], seed, secret)
    text = _pure(message, context)
    r = signer.family.randomizer(prf, random, text)
    indices, tree, leaf = signer.parts_of(r, root, text)
    of_fors = list(signer.fors_sign(tree, leaf, indices))
    key = signer.fors_public(tree, leaf, indices, of_fors)
    return b"".join((r, *of_fors, *signer.hypertree_sign(tree, leaf, key)))


def verify(name: str, public: bytes, message: bytes, signature: bytes, context: bytes = b"") -> bool:
    """Whether a signature in pure mode is valid."""
    of = PARAMETERS[name]
    if len(signature) != of.signature:
        return False
    r, *rest = (signature[at : at + N] for at in range(0, len(signature), N))
    signer, root = _Signer(of, public[:N]), public[N:]
    indices, tree, leaf = signer.parts_of(r, root, _pure(message, context))
    size = of.k * (1 + of.a)
    key = signer.fors_public(tree, leaf, indices, rest[:size])
    return signer.hypertree_root(tree, leaf, key, rest[size:]) == root


# Programs draw the same random bytes, so libraries and operations have signatures in common.
@functools.lru_cache(maxsize=4096)
def sign_seeded(name: str, seed: bytes, message: bytes, random: bytes) -> bytes:
    """`sign` with the key of a seed and an empty context."""
    return sign(name, keygen(name, seed)[1], message, random)
