#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Payloads for a broker that relays what it cannot read: "KC1" or "KC2", length and name of the sender, nonce,
ciphertext, tag. What stands before the nonce is additional data; with KC2 so is the topic, which is not in the payload.

keycache_mqtt.py seal NAME KEYFILE [--topic TOPIC] <text >payload
keycache_mqtt.py open KEYFILE [--topic TOPIC] <payload >text
"""

import argparse
import os
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def seal(sender: str, key: bytes, text: bytes, topic: str | None = None) -> bytes:
    """A payload to publish; `key`: the sender's, 16 or 32 bytes. With a topic it opens by that one alone."""
    nonce, magic = os.urandom(12), b"KC1" if topic is None else b"KC2"
    head = magic + bytes([len(sender)]) + sender.encode("ascii")
    return head + nonce + AESGCM(key).encrypt(nonce, text, head + (topic or "").encode())


def unseal(key: bytes, payload: bytes, topic: str | None = None) -> tuple[str, bytes]:
    """Sender and text; `key`: the receiver's; `topic`: by which it came, if it must be sealed for it. Or ValueError."""
    magic = b"KC1" if topic is None else b"KC2"
    at = 4 + payload[3] if len(payload) > 4 and payload[:3] == magic else len(payload)
    try:
        return payload[4:at].decode("ascii"), AESGCM(key).decrypt(
            payload[at : at + 12], payload[at + 12 :], payload[:at] + (topic or "").encode()
        )
    except (InvalidTag, ValueError):
        about = "" if topic is None else f" and the topic {topic}"
        raise ValueError(f"the payload is not sealed for this key{about}") from None


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("verb", choices=["seal", "open"])
    words.add_argument("names", nargs="+", metavar="NAME KEYFILE | KEYFILE")
    words.add_argument("--topic")
    given = words.parse_intermixed_args()
    data, secret = sys.stdin.buffer.read(), Path(given.names[-1]).read_bytes()
    if given.verb == "seal":
        sys.stdout.buffer.write(seal(given.names[0], secret, data, given.topic))
    else:
        sys.stdout.buffer.write(unseal(secret, data, given.topic)[1])
