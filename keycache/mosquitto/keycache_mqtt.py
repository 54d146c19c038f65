#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Payloads for a broker that relays what it cannot read: "KC1", length and name of the sender, nonce, ciphertext, tag.
What stands before the nonce is additional data.

keycache_mqtt.py seal NAME KEYFILE <text >payload; keycache_mqtt.py open KEYFILE <payload >text
"""

import os
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def seal(sender: str, key: bytes, text: bytes) -> bytes:
    """A payload to publish; `key`: the sender's, 16 or 32 bytes."""
    nonce, head = os.urandom(12), b"KC1" + bytes([len(sender)]) + sender.encode("ascii")
    return head + nonce + AESGCM(key).encrypt(nonce, text, head)


def unseal(key: bytes, payload: bytes) -> tuple[str, bytes]:
    """Sender and text; `key`: the receiver's. Raises ValueError if it is not sealed for it."""
    at = 4 + payload[3] if len(payload) > 4 and payload[:3] == b"KC1" else len(payload)
    try:
        return payload[4:at].decode("ascii"), AESGCM(key).decrypt(
            payload[at : at + 12], payload[at + 12 :], payload[:at]
        )
    except (InvalidTag, ValueError):
        raise ValueError("the payload is not sealed for this key") from None


if __name__ == "__main__":
    verb, *names, file = sys.argv[1:]
    data, secret = sys.stdin.buffer.read(), Path(file).read_bytes()
    sys.stdout.buffer.write(seal(names[0], secret, data) if verb == "seal" else unseal(secret, data)[1])
