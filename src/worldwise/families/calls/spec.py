# SPDX-License-Identifier: BSD-2-Clause
"""Calls to a TA that does next to nothing: memory of each kind, sessions, parameters."""

from collections.abc import Mapping

from worldwise.base.units import parse_size
from worldwise.plan.parameters import LOAD, MEMORY, SIZE, TICKS
from worldwise.plan.spec import IN_TEE, OPTEE, App, Operation, Parameter, Spec

# Sessions of one client that are open at a time.
MAX_SESSIONS = 64
_SESSIONS = Parameter("sessions", "sessions", most=MAX_SESSIONS, default="1")
_VALUES = Parameter("parameters", "parameters", ("0", "1", "2", "3", "4"), "0")
_CLIENT = ("client",)


def _payload_problem(_target: str, given: Mapping[str, str]) -> str:
    return "a payload has at least one byte." if parse_size(given["size"]) == 0 else ""


def _call_problem(_target: str, given: Mapping[str, str]) -> str:
    if parse_size(given["size"]) and given.get("parameters") == "4":
        return "a call has four parameters: with memory there are at most 3 values."
    return ""


SPEC = Spec(
    operations=(
        Operation(
            "payload",
            {OPTEE: {"call": _CLIENT, "read": IN_TEE, "once": IN_TEE}},
            {OPTEE: (SIZE, LOAD, TICKS, MEMORY)},
            _payload_problem,
            app="calls",
        ),
        Operation(
            "call",
            {OPTEE: {"oldest": _CLIENT, "newest": _CLIENT}},
            {OPTEE: (SIZE, LOAD, TICKS, _SESSIONS, _VALUES)},
            _call_problem,
            app="calls",
        ),
    ),
    apps={"calls": App("a1f5c2de-0002-4b1c-9a3e-63616c6c7300")},
)
