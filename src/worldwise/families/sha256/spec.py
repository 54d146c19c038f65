# SPDX-License-Identifier: BSD-2-Clause
"""SHA-256 in the TEE, with world switch and memory measured separately, and in Linux."""

from collections.abc import Mapping

from worldwise.base.units import parse_size
from worldwise.plan.parameters import CHUNK, LOAD, SIZE, TICKS
from worldwise.plan.spec import IN_TEE, LINUX, OPTEE, Operation, Parameter, Spec

# Whether the message lies in untouched pages.
_FAULT = Parameter("fault", "faults", ("none", "fresh"), "none")


def _problem(_target: str, given: Mapping[str, str]) -> str:
    if given.get("fault") == "fresh" and parse_size(given["size"]) == 0:
        return "an empty message has no page that could be fresh."
    return ""


SPEC = Spec(
    operations=(
        Operation(
            "sha256",
            {
                OPTEE: {"hash": ("api", *IN_TEE), "touch": ("client",), "empty": ("client",)},
                LINUX: {"hash": ("linux",)},
            },
            {OPTEE: (SIZE, CHUNK, LOAD, TICKS), LINUX: (SIZE, CHUNK, _FAULT, LOAD)},
            _problem,
        ),
        Operation("sha256sum", {LINUX: {"hash": ("linux",)}}, {LINUX: (SIZE, LOAD)}),
    ),
    published=("optee-sha256-rpi3",),
)
