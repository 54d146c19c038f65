# SPDX-License-Identifier: BSD-2-Clause
"""SHA-256 in the TEE, with world switch and memory measured separately, and in Linux."""

from collections.abc import Mapping

from worldwise.base.units import parse_size
from worldwise.plan.availability import core_reason
from worldwise.plan.parameters import CHUNK, LOAD, SIZE, TICKS
from worldwise.plan.spec import IN_TEE, LINUX, OPTEE, App, Operation, Parameter, Spec

SHA256 = "sha256"

# Whether the message lies in untouched pages.
_FAULT = Parameter("fault", "faults", ("none", "fresh"), "none")


def _problem(_target: str, given: Mapping[str, str]) -> str:
    if given.get("fault") == "fresh" and parse_size(given["size"]) == 0:
        return "an empty message has no page that could be fresh."
    return ""


def _reason(target: str, implementation: str, _given: Mapping[str, str]) -> str:
    return core_reason(target, implementation, SHA256)


SPEC = Spec(
    operations=(
        Operation(
            SHA256,
            {
                OPTEE: {"hash": ("api", *IN_TEE), "touch": ("client",), "empty": ("client",)},
                LINUX: {"hash": ("linux",)},
            },
            {OPTEE: (SIZE, CHUNK, LOAD, TICKS), LINUX: (SIZE, CHUNK, _FAULT, LOAD)},
            _problem,
            _reason,
            app=SHA256,
        ),
        Operation("sha256sum", {LINUX: {"hash": ("linux",)}}, {LINUX: (SIZE, LOAD)}, app=SHA256),
    ),
    apps={SHA256: App("a1f5c2de-0009-4b1c-9a3e-736861323536")},
    published=("optee-sha256-rpi3",),
)
