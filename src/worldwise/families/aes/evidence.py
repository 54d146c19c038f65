# SPDX-License-Identifier: BSD-2-Clause
"""AES: the rules for its records. For each message they have checksums of input and output."""

import functools
import zlib
from typing import Annotated, ClassVar, Literal

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, CTR
from pydantic import Field

from worldwise.families.aes.spec import AES as AES_OPERATION
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.case import Case
from worldwise.plan.parameters import MAX_SIZE
from worldwise.plan.spec import LINUX, OPTEE
from worldwise.records.evidence import Evidence, EvidenceRecord, Once, Owed
from worldwise.records.messages import message_pieces
from worldwise.records.models import Bytes, Count, hex_digits


class CipherEvidence(EvidenceRecord):
    """A reproducible message that was encrypted with AES, or decrypted again: it has checksums of input and output.

    `message` is its number, from which its first bytes are made. In GCM the ciphertext ends with the tag, and `aad` are
    the bytes that were authenticated with it.
    """

    tag: ClassVar[str] = "cipher"
    order: ClassVar[int] = 9

    type: Literal["evidence"]
    measure: Literal["cipher"]
    index: Count
    mode: Literal["cbc", "ctr", "gcm"]
    direction: Literal["encrypt", "decrypt"]
    message: Count
    size: Annotated[int, Field(ge=1, le=MAX_SIZE)]
    key: Annotated[str, Field(pattern="^([0-9a-f]{32}|[0-9a-f]{64})$")]
    iv: Annotated[str, Field(pattern="^([0-9a-f]{24}|[0-9a-f]{32})$")]
    aad: Bytes
    input_crc32: Annotated[str, hex_digits(8)]
    output_crc32: Annotated[str, hex_digits(8)]

    @property
    def bits(self) -> int:
        """The key's length."""
        return len(self.key) * 4

    def misfit(self, case: Case) -> str:
        """Evidence of another key, mode, direction or message than the case's."""
        given = dict(case.parameters)
        problem = self.differs(
            {
                "mode": given["mode"],
                "direction": given["direction"],
                "size": case.size,
                # Decryption has the same message every time.
                "message": self.index if given["direction"] == "encrypt" else 0,
            },
            "must be",
        )
        if not problem and str(self.bits) != given["key"]:
            problem = f"key is {str(self.bits)!r}, must be {given['key']!r}"
        return problem

    def problem(self) -> str:
        if len(self.iv) != (24 if self.mode == "gcm" else 32):
            return f"{self.mode} has no vector of {len(self.iv) // 2} bytes"
        if self.mode == "cbc" and self.size % 16:
            return f"cbc cannot be of {self.size} bytes"
        plain, sealed = _checksums(self.mode, self.key, self.iv, self.aad, self.size, self.message)
        due = (plain, sealed) if self.direction == "encrypt" else (sealed, plain)
        for what, found, wanted in zip(("input", "output"), (self.input_crc32, self.output_crc32), due, strict=True):
            if found != wanted:
                return f"the {what} is wrong: it is not that of AES-{self.bits} in {self.mode} mode"
        return ""

    def once(self) -> Once | None:
        return Once((self.iv,), self.index, "used the vector of {} again") if self.direction == "encrypt" else None


# Cached: every implementation has the same messages, and a report reads them all.
@functools.lru_cache(maxsize=16384)
def _checksums(mode: str, key: str, iv: str, aad: str, size: int, index: int) -> tuple[str, str]:
    """The CRC-32 of a message and of what AES makes of it, in hex."""
    plain = b"".join(message_pieces("blocks", size, index))
    secret, start = bytes.fromhex(key), bytes.fromhex(iv)
    if mode == "gcm":
        sealed = AESGCM(secret).encrypt(start, plain, bytes.fromhex(aad))
    else:
        encryptor = Cipher(AES(secret), CBC(start) if mode == "cbc" else CTR(start)).encryptor()
        sealed = encryptor.update(plain) + encryptor.finalize()
    return f"{zlib.crc32(plain):08x}", f"{zlib.crc32(sealed):08x}"


def _owed(kinds: tuple[str, ...], forged: tuple[str, ...]) -> Owed:
    def checks_of(case: Case) -> tuple[str, ...]:
        return forged if ("mode", "gcm") in case.parameters else ()

    checks = ("known-answer", "decrypted-again")
    return Owed(kinds, AES_OPERATION, measure="cipher", evidence=CipherEvidence, checks=checks, checks_of=checks_of)


EVIDENCE = Evidence(
    (
        # In a TEE no plain text of a forged message may be left.
        _owed((OPTEE,), ("forged-tag-refused", "forged-plaintext-withheld")),
        _owed((LINUX, *PLAIN_TARGETS), ("forged-tag-refused",)),
    )
)
