# SPDX-License-Identifier: BSD-2-Clause
"""TrustZone-M: ways between the security states, and accesses that must be refused."""

from collections.abc import Mapping

from worldwise.libraries import boards
from worldwise.plan.parameters import ACCESSES, FLOATS, GATEWAY, WAYS
from worldwise.plan.spec import BOARD, Operation, Parameter, Spec, no_problem

_FLOAT = Parameter("float", "floats", FLOATS, FLOATS[0], of_machine=True)
_WAY = Parameter("way", "ways", WAYS, missing="a way between the states, such as way=empty", of_machine=True)
_ACCESS = Parameter("access", "accesses", ACCESSES, missing="an access, such as access=read", of_machine=True)


def _reason(target: str, implementation: str, _given: Mapping[str, str]) -> str:
    if not boards.boards()[target].secure:
        return "a board with one program has no second security state"
    return "" if implementation == GATEWAY else f"{implementation} is a library: it is '{GATEWAY}' that measures this"


def _problem(_target: str, given: Mapping[str, str]) -> str:
    if given["way"] in ("callback-lazy", "callback-float") and given.get("float") == "soft":
        return f"way={given['way']} has floating-point registers in use, and float=soft uses none."
    return ""


SPEC = Spec(
    operations=(
        Operation("gateway", {BOARD: {"gateway": ("mcu",)}}, {BOARD: (_WAY, _FLOAT)}, _problem, _reason),
        Operation("refused", {BOARD: {"refused": ("mcu",)}}, {BOARD: (_ACCESS,)}, no_problem, _reason),
    ),
    also=("portable", "pqc"),
)
