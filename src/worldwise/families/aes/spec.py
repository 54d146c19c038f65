# SPDX-License-Identifier: BSD-2-Clause
"""AES in its four calls, by OP-TEE's libraries in the TEE or by one of Linux."""

from collections.abc import Mapping

from worldwise.base.units import parse_size
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.parameters import LOAD, SIZE, TICKS, in_plain_linux, on_plain, out_of_range
from worldwise.plan.spec import LINUX, OPTEE, App, Operation, Parameter, Spec

AES = "aes"
_CALLS = ("prepare", "set-key", "set-iv", "cipher")
# The longest message: a call passes input and output, each needs page tables of its own, and a call has only so many.
MAX_AES = 4 * 2**20

_KEY = Parameter("key", "keys", ("128", "256"), missing="a key's length in bits, such as key=128")
_MODE = Parameter("mode", "modes", ("cbc", "ctr", "gcm"), missing="a mode, such as mode=ctr")
_DIRECTION = Parameter("direction", "directions", ("encrypt", "decrypt"), missing="a direction: direction=encrypt")
_CIPHER = (_KEY, _MODE, _DIRECTION)

_APP = App(
    "a1f5c2de-0003-4b1c-9a3e-616573000000",
    sources=("mbedtls",),
    packages=("libssl-dev", "libssl3t64"),
    # Libraries of Linux that encrypt, with the Armv8 Cryptographic Extension and without.
    libraries=("mbedtls36", "mbedtls36-ce", "openssl", "openssl-ce"),
)


def _problem(_target: str, given: Mapping[str, str]) -> str:
    size = given["size"]
    if problem := out_of_range(size, 1, MAX_AES):
        return problem
    if given["mode"] == "cbc" and parse_size(size) % 16:
        return f"size {size} is not whole blocks of 16 bytes, and mode=cbc has no padding here."
    return ""


def _reason(target: str, implementation: str, _given: Mapping[str, str]) -> str:
    if target not in PLAIN_TARGETS:
        return ""
    if implementation not in _APP.libraries:
        return f"{implementation} has AES in counter mode alone here: aes128 and aes256"
    if implementation.endswith("-ce") and target == "linux-armv7":
        return f"{implementation} needs the Cryptographic Extension, which Armv7-A lacks"
    return ""


_IN_LINUX = dict.fromkeys(_CALLS, ("linux",))

SPEC = Spec(
    operations=(
        Operation(
            AES,
            {
                OPTEE: dict.fromkeys(_CALLS, ("ta", "invoke", "client")),
                LINUX: _IN_LINUX,
                **in_plain_linux(_IN_LINUX),
            },
            {OPTEE: (SIZE, LOAD, TICKS, *_CIPHER), LINUX: (SIZE, LOAD, *_CIPHER), **on_plain(SIZE, then=_CIPHER)},
            _problem,
            _reason,
            app=AES,
        ),
    ),
    apps={AES: _APP},
    published=("optee-mqttz-apps",),
)
