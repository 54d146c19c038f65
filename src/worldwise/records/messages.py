# SPDX-License-Identifier: BSD-2-Clause
"""The messages that measured programs hash, sign and encrypt; anybody can recompute them: guest/bench/message.h."""

import functools
import hashlib
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from worldwise.plan.case import Case
from worldwise.plan.parameters import MAX_SIZE
from worldwise.records.evidence import EvidenceRecord
from worldwise.records.models import Count, hex_digits

_BLOCK = 65536

Content = Literal["blocks", "zeros"]
MessageSize = Annotated[int, Field(ge=0, le=MAX_SIZE)]


def message(size: int, index: int) -> bytes:
    """The message of `size` bytes, up to 64 KiB, that call `index` takes: see guest/bench/message.h."""
    return (index.to_bytes(4, "little") + bytes(4) + _message_block()[8:])[:size]


def message_pieces(content: Content, size: int, index: int) -> Iterator[bytes]:
    """The message of any size that call `index` takes, in pieces of 64 KiB."""
    block = bytes(_BLOCK) if content == "zeros" else _message_block()
    first = block if content == "zeros" else message(_BLOCK, index)
    for done in range(0, size, _BLOCK):
        yield (first if done == 0 else block)[: size - done]


# Every case of a size has the same messages, and a report reads them all.
@functools.lru_cache(maxsize=4096)
def message_digest(content: Content, size: int, index: int) -> str:
    """The SHA-256 of the message that call `index` hashes, in hex."""
    digest = hashlib.sha256()
    for piece in message_pieces(content, size, index):
        digest.update(piece)
    return digest.hexdigest()


@functools.cache
def _message_block() -> bytes:
    state = 1
    block = bytearray()
    for _ in range(_BLOCK):
        state = (state * 1664525 + 1013904223) % 2**32
        block.append(state >> 24)
    return bytes(block)


class HashEvidence(EvidenceRecord):
    """The SHA-256 of a message that anybody can recompute from its content, its size and the call's number."""

    tag: ClassVar[str] = "hash"
    order: ClassVar[int] = 3

    type: Literal["evidence"]
    measure: Literal["hash"]
    index: Count
    content: Content
    size: MessageSize
    digest: Annotated[str, hex_digits(64)]

    def misfit(self, case: Case) -> str:
        """How the hashed message differs from the case's; empty if it does not."""
        content = "zeros" if dict(case.parameters).get("fault") == "fresh" else "blocks"
        if (self.size, self.content) == (case.size, content):
            return ""
        return f"a message of {self.size} bytes ({self.content}), the case has {case.size} ({content})"

    def problem(self) -> str:
        right = self.digest == message_digest(self.content, self.size, self.index)
        return "" if right else "the digest is wrong: it is not the SHA-256 of the message"
