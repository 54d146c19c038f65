# SPDX-License-Identifier: BSD-2-Clause
"""TCP echo servers: in Linux alone, with a call to a TA for each message, and in a TA through sockets."""

from collections.abc import Mapping

from worldwise.plan.parameters import LOAD, SIZE, TICKS, out_of_range
from worldwise.plan.spec import LINUX, OPTEE, App, Measures, Operation, Parameter, Spec

# A message: ECHO_MAX_BYTES in guest/apps/echo/echo.h.
MAX_ECHO = 64 * 1024
_SERVER = Parameter("server", "servers", ("linux", "call", "socket"), missing="a server, such as server=call")
_PARAMETERS = {OPTEE: (SIZE, LOAD, TICKS, _SERVER), LINUX: (SIZE, LOAD, _SERVER)}


def _problem(target: str, given: Mapping[str, str]) -> str:
    if problem := out_of_range(given["size"], 1, MAX_ECHO):
        return problem
    if (target == LINUX) != (given["server"] == "linux"):
        return "target 'linux' has server=linux, target 'optee' has server=call and server=socket."
    return ""


def _operation(name: str, in_tee: Measures, in_linux: Measures) -> Operation:
    return Operation(name, {OPTEE: in_tee, LINUX: in_linux}, _PARAMETERS, _problem, app="echo")


SPEC = Spec(
    operations=(
        _operation(
            "echo",
            {"round-trip": ("client",), "stream": ("client",)},
            {"round-trip": ("linux",), "stream": ("linux",)},
        ),
        # The operation that the host measures, by its own clock.
        _operation("echo-host", {}, {}),
    ),
    apps={"echo": App("a1f5c2de-0007-4b1c-9a3e-6563686f0000")},
)
