# SPDX-License-Identifier: BSD-2-Clause
"""Apps: an operation with a TA and a client of its own, in a folder of guest/apps.

Each app has an initramfs of its own, so that what one is made of moves no address, and so no count, of another. The
folder has the client in its C files, the TA in `ta/`, and perhaps in `linux/` what does the same without a TEE.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class App:
    """A folder of guest/apps.

    Attributes:
        uuid: the TA's.
        operations: those of a suite that it does.
        sources: locked source packages that its programs are compiled from.
        packages: locked arm64 packages that its Linux program is compiled with.
        libraries: what its Linux program can be linked with, of what OP-TEE does not have itself.
        portable: whether its TA and its Linux program can be linked with a portable implementation.
        borrows: whose TA it is if it has none of its own: ATTESTATION, or the portable implementation that the
            attestation's TA is linked with.
        elsewhere: where wrong calls of its TA are tried, if not by the operation `abuse`.
    """

    uuid: str
    operations: tuple[str, ...]
    sources: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    portable: bool = False
    borrows: str = ""
    elsewhere: str = ""


# The TA that the published figures are of, which is built as it always was.
ATTESTATION = "attestation"
ATTEST_TA = "7d2f9f7c-5b0e-4b1c-9a3e-617474657374"

# Libraries of Linux that encrypt, with the Armv8 Cryptographic Extension and without.
_CIPHERS = ("mbedtls36", "mbedtls36-ce", "openssl", "openssl-ce")

APPS: Mapping[str, App] = {
    "hello": App("a1f5c2de-0001-4b1c-9a3e-68656c6c6f00", ("hello",)),
    "calls": App("a1f5c2de-0002-4b1c-9a3e-63616c6c7300", ("payload", "call")),
    "aes": App("a1f5c2de-0003-4b1c-9a3e-616573000000", ("aes",), ("mbedtls",), ("libssl-dev", "libssl3t64"), _CIPHERS),
    "storage": App("a1f5c2de-0004-4b1c-9a3e-73746f726500", ("storage", "file")),
    "faults": App("a1f5c2de-0005-4b1c-9a3e-6661756c7400", ("tamper", "power-cut")),
    "crypto": App("a1f5c2de-0006-4b1c-9a3e-63727970746f", ("sign", "verify", "ecdh", "digest"), portable=True),
    "echo": App("a1f5c2de-0007-4b1c-9a3e-6563686f0000", ("echo", "echo-host")),
    # Not of the same family of UUIDs: keycache/ stands on its own.
    "keycache": App(
        "7d2f9f7c-5b0e-4b1c-9a3e-6b6579636163",
        ("keycache", "keycache-load", "keycache-zipf", "keycache-hold", "keycache-cut"),
        elsewhere="keycache/tests/ta",
    ),
    # Clients that call the attestation's TAs wrongly, and do nothing else.
    "attest": App(ATTEST_TA, (), borrows=ATTESTATION),
    "attest-own": App(ATTEST_TA, (), borrows="bearssl"),
}
# What nearly every app has: its TA's commands, called with wrong parameters.
ABUSE = "abuse"
ABUSED = tuple(name for name, app in APPS.items() if not app.elsewhere)


def app_of(operation: str, parameters: Mapping[str, str]) -> str:
    """The app that does an operation, by name; empty for one of the attestation's programs."""
    if operation == ABUSE:
        return parameters["ta"]
    return next((name for name, app in APPS.items() if operation in app.operations), "")


def app_named(operation: str) -> App | None:
    """The app of an operation that is one app's alone."""
    return next((app for app in APPS.values() if operation in app.operations), None)
