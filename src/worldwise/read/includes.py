# SPDX-License-Identifier: BSD-2-Clause
"""What counts include, as several families say it."""

from collections.abc import Iterable, Mapping

CLIENT_CALL = (
    "the client's whole TEEC_InvokeCommand: libteec, Linux, the secure monitor, OP-TEE's core, the TA, and the way back"
)
IN_TA = "inside the TA, with the work of OP-TEE's core; not the way there and back"
IN_LINUX = "by the library's own calls in a Linux process"
# Of the counter's own interrupts on an emulated board.
COUNTER_TAKEN_AWAY = "which is subtracted"
ON_BOARD = f"by the library's own calls on the bare core; no interrupts but the counter's own, {COUNTER_TAKEN_AWAY}"

_IN_TA = {
    "keygen": "TEE_GenerateKey",
    "sign": "SHA-256 of the input and the signature",
    "verify": "SHA-256 of the input and the verification",
    "ecdh": "the shared secret, with what refuses a bad public key of the peer",
}
_IN_LINUX = {**_IN_TA, "keygen": "a key pair made"}


def on_curves(measures: Iterable[str], places: Iterable[str]) -> Mapping[tuple[str, str], str]:
    """What is done on a curve, at some of the places ta, client and linux."""
    return {(measure, place): _on_curve(measure, place) for measure in measures for place in places}


def _on_curve(measure: str, place: str) -> str:
    if place == "client":
        return CLIENT_CALL
    return f"{_IN_TA[measure]}, {IN_TA}" if place == "ta" else f"{_IN_LINUX[measure]}, {IN_LINUX}"


HASHED_IN_LINUX = {
    ("hash", "linux"): "the whole message, by the library's own calls in a Linux process; sha256sum: from fork to wait"
}
