# SPDX-License-Identifier: BSD-2-Clause
"""Compiles both programs of a core with TrustZone-M, in the lab: the secure one, and the measured one before its gates.

PLAN, in JSON, is what `worldwise.targets.trustzone` writes: that of a board, with the secure program's flash, RAM and
script, and either curves with a library's operations or the ways between the states.
"""

import concurrent.futures
import copy
import json
import os
from pathlib import Path
from typing import Any

# The recipes' folder is where this is started from.
from frame import FRAME, GUEST  # type: ignore[import-not-found]
from library import STRICT  # type: ignore[import-not-found]
from mcu import Builder, check, footprint, program, too_much  # type: ignore[import-not-found]
from objects import Refused, finish  # type: ignore[import-not-found]

# Of a board's program, what the secure one has too, and what a program without a library has no use for.
_SHARED = ("mcu/start.c", "mcu/heap.c", "operations/random.c", "bench/record.c", "bench/semihost.c")
_OF_LIBRARIES = ("operations/operations.c", "operations/known.c")


class States:
    """The programs of both states."""

    def __init__(self, builder: Any) -> None:
        plan = builder.plan
        self.level = f"-{plan['optimisation']}"
        self.normal = builder
        self.secure = copy.copy(builder)
        self.secure.plan = {**plan, **plan["secure"]}

    def passing(self, kind: str) -> "States":
        """The same for code that passes floating-point numbers in this way; soft has no unit for them."""
        other = copy.copy(self)
        for name in ("normal", "secure"):
            builder = copy.copy(getattr(self, name))
            if kind == "soft":
                others = [flag for flag in builder.core if not flag.startswith(("-mfloat-abi=", "-mfpu="))]
                builder.core = [*others, "-mfloat-abi=soft"]
            setattr(other, name, builder)
        return other

    def compiled(self, names: list[str], *flags: str) -> list[str]:
        """The objects of files of guest/: those between the states at the plan's level, others at the frame's."""
        # Part of the object's name: the same file is compiled for both kinds of floating point.
        core = self.normal.core
        return [
            self.normal.compile(GUEST / name, [self.level if "tzm" in name else "-O2", *STRICT, *core, *flags])
            for name in names
        ]

    def secure_program(self, name: str, objects: list[str]) -> tuple[dict[str, Any], list[str]]:
        """Link the secure program; what there is to say of it, and the object with its gates' addresses."""
        gates = f"/build/{name}.gates.o"
        options = ["-Wl,--cmse-implib", f"-Wl,--out-implib={gates}"]
        return program(self.secure, name, [*objects, *options]), [gates]


def of_library(
    states: States, name: str, part: dict[str, Any], hashing: str, between: tuple[str, str], macros: list[str]
) -> dict[str, Any]:
    """The programs of one curve or scheme, with the library in the secure one; its sizes are those of any board.

    `between`: the files of guest/ with what its gate does, and with its calls of the gate; `macros` are for both. Of
    `part` the operations are by the names of their parts, which a footprint is linked of.
    """
    normal = states.normal
    calls: dict[str, str] = part["operations"]
    macros = [*macros, f"-DOPS_CURVE={part['number']}", f'-DLIBRARY_NAME="{normal.plan["name"]}"']
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        library = list(pool.map(lambda one: normal.compile(*one), normal.library(part)))
    inner = states.compiled([*_SHARED, "tzm/secure.c", between[0]], "-mcmse", *macros)
    said, gates = states.secure_program(f"{name}-secure", [*inner, *library, hashing])
    if "problem" in said:
        return {"problem": f"in the secure program {said['problem']}"}
    frame = [normal.compile(*one) for one in normal.frame(part)]
    outer = states.compiled([between[1]], *macros)
    result: dict[str, Any] = program(normal, name, [*frame, *outer, hashing, *gates])
    if normal.plan["own"]:
        check(normal, name, library, [*frame, *inner, *outer])
    parts = {one: normal.compile(*normal.footprint_part(call)) for one, call in {"": "", **calls}.items()}
    try:
        result["operations"] = footprint(normal, name, [*library, hashing], parts)
    except Refused as refused:
        problem = too_much(refused.details)
        if not problem:
            raise
        result.setdefault("problem", problem)
    return result


def of_ways(states: States, kind: str, ways: list[str]) -> dict[str, Any]:
    """The programs without a library: one for each way between the states, all before the same gates."""
    # The library's own functions are not there; the frame asks for them, and a way's program has them.
    secure, gates = states.secure_program(
        f"secure-{kind}", states.compiled([*_SHARED, "tzm/secure.c", "tzm/library.c"], "-mcmse", "-DOPS_CURVE=0")
    )
    frame = [
        states.normal.compile(source, [*flags, *states.normal.core])
        for source, flags in states.normal.frame({"operations": [], "number": 0})
        if str(source.relative_to(GUEST)) not in _OF_LIBRARIES
    ]
    # Every way's caller calls and returns alike; with a jump for a call some would have no stack.
    macros = ["-fno-optimize-sibling-calls"]
    macros += [f"-D{key}={value}" for key, value in states.normal.plan["counter"].items()]
    found = {f"secure-{kind}": _sized(secure)}
    for way in ways:
        name = f"{way}-{kind}"
        macro = f"-DGATEWAY_WAY=way_{way.replace('-', '_')}"
        outer = states.compiled(["tzm/gateway.c"], *macros, "-DOPS_CURVE=0", macro)
        found[name] = _sized(program(states.normal, name, [*frame, *outer, *gates]))
    return found


def _sized(said: dict[str, Any]) -> dict[str, Any]:
    """What is said of a program: its memory, or why it does not fit."""
    return said if "problem" in said else {"memory": said}


def main() -> int:
    """Build everything of the plan."""
    plan: dict[str, Any] = json.loads(os.environ["PLAN"])
    states = States(Builder(plan))
    result: dict[str, Any] = {}
    if plan["ways"]:
        for kind in plan["floats"]:
            result.update(of_ways(states.passing(kind), kind, plan["ways"]))
    else:
        hashing = states.normal.hashing()
        for name, curve in plan["curves"].items():
            part = {**curve, "operations": {one: one for one in curve["operations"]}}
            macros = [f"-DFRAME_HAS_{one.upper()}=1" for one in curve["operations"]]
            result[name] = of_library(states, name, part, hashing, ("tzm/library.c", "tzm/behind.c"), macros)
    Path("/out/footprint.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


assert set(_SHARED) | set(_OF_LIBRARIES) <= set(FRAME)

if __name__ == "__main__":
    finish(main)
