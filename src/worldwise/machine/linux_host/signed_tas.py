# SPDX-License-Identifier: BSD-2-Clause
"""Trusted applications for a host's own OP-TEE: signed with the key that it trusts, in the folder where it looks.

The format is OP-TEE's "signed header" (core/include/signed_hdr.h of OP-TEE OS, and its scripts/sign_encrypt.py):
header, hash, signature, UUID and version, program. The key is read where it lies and is copied nowhere.
"""

import hashlib
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.errors import WorldwiseError

# Where OP-TEE's own tee-supplicant looks, and the word for the key that everybody has.
TA_FOLDER, DEVELOPMENT = "/lib/optee_armtz", "development"
_FOLDER = re.compile(r"(?:/[\w.+-]+)+", re.ASCII)
# Magic, kind, bytes of the program, algorithm, bytes of the hash and of the signature.
_HEADER = struct.Struct("<IIIIHH")
_MAGIC, _BOOTSTRAP = 0x4F545348, 1
_RSA_PSS_SHA256 = 0x70414930
# UUID and version of a program of this kind.
_NAMED = 16 + 4
_LEAST_BITS = 2048
_NEEDED = (
    "OP-TEE runs only TAs signed with the private half of its built-in key (TA_SIGN_KEY, or "
    "TA_PUBLIC_KEY, of its make): --ta-key FILE names that key; --ta-key development is for an OP-TEE that was built "
    "with none of its own, and so trusts the development key that everybody has"
)


@dataclass(frozen=True)
class Trust:
    """How a host's OP-TEE gets a TA.

    Attributes:
        folder: of the host, where its tee-supplicant looks for TAs.
        signed: a TA as the dev kit signed it -> as the host's OP-TEE trusts it.
    """

    folder: str
    signed: Callable[[bytes], bytes]


def trust_of(key: str, folder: str) -> Trust:
    """What `--ta-key` and `--ta-folder` say; no key is refused. Raises WorldwiseError."""
    if not key:
        raise WorldwiseError("--via ssh: a host with OP-TEE needs --ta-key.", _NEEDED)
    folder = folder or TA_FOLDER
    if not _FOLDER.fullmatch(folder) or ".." in folder.split("/"):
        raise WorldwiseError(
            "--ta-folder: it is not the whole path of a folder in plain letters.", f"such as {TA_FOLDER}"
        )
    return Trust(folder, (lambda ta: ta) if key == DEVELOPMENT else _signer(Path(key)))


def _signer(path: Path) -> Callable[[bytes], bytes]:
    """Signs TAs with the RSA key of a PEM file. Raises WorldwiseError."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    what = f"--ta-key {path}"
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise WorldwiseError(f"{what}: it cannot be read: {error.strerror}.", _NEEDED) from None
    except TypeError:
        raise WorldwiseError(
            f"{what}: the key is encrypted, and worldwise asks for no password.",
            "decrypt it in a place that only you can read: openssl pkey -in FILE -out OTHER",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise WorldwiseError(f"{what}: it has no private key in PEM.", _NEEDED) from None
    if not isinstance(key, rsa.RSAPrivateKey) or key.key_size < _LEAST_BITS:
        raise WorldwiseError(f"{what}: OP-TEE checks only RSA signatures of {_LEAST_BITS} bits and more.", _NEEDED)
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256().digest_size)

    def signed(ta: bytes) -> bytes:
        named, program = _parts(ta)
        header = _HEADER.pack(
            _MAGIC, _BOOTSTRAP, len(program), _RSA_PSS_SHA256, hashes.SHA256().digest_size, key.key_size // 8
        )
        digest = hashlib.sha256(header + named + program).digest()
        return header + digest + key.sign(digest, pss, Prehashed(hashes.SHA256())) + named + program

    return signed


def _parts(ta: bytes) -> tuple[bytes, bytes]:
    """UUID and version, and the program, of a signed TA."""
    try:
        magic, kind, size, _, hashed, signature = _HEADER.unpack_from(ta)
    except struct.error:
        magic = 0
    if magic != _MAGIC or kind != _BOOTSTRAP:
        raise WorldwiseError("the dev kit did not sign the TA.")
    at = _HEADER.size + hashed + signature
    named, program = ta[at : at + _NAMED], ta[at + _NAMED :]
    if len(program) != size:
        raise WorldwiseError("the TA's program is not as long as its header says.")
    return named, program
