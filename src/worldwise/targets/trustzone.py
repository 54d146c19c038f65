# SPDX-License-Identifier: BSD-2-Clause
"""Cores with TrustZone-M: a board with two programs, of which the non-secure one is measured."""

import json
from dataclasses import replace
from pathlib import Path

from worldwise.lab.image import Image, Recipe
from worldwise.libraries.boards import Secure, load_core
from worldwise.libraries.crates import Crates
from worldwise.libraries.portable import find
from worldwise.plan.case import Case
from worldwise.plan.parameters import ACCESSES, FLOATS, GATEWAY, WAYS
from worldwise.targets.board import BoardTarget, board_plan, frame_parts
from worldwise.targets.families import images_of
from worldwise.targets.guest import guest_trees

# What every secure program's script includes.
_VENEERS = "veneers.ld"


def secure_parts(secure: Secure) -> dict[str, Path]:
    """The files of the repository, of no library, that go into the secure program and the calls of its gates."""
    return {**frame_parts(secure.script, _VENEERS), **guest_trees("tzm")}


class TrustZoneTarget(BoardTarget):
    """A board of boards/ with `[secure]`: libraries stand in the secure program, their caller in the measured one."""

    def program_files(self, case: Case) -> dict[str, str]:
        """The files of a case's two programs, by what the machine calls them."""
        if case.implementation == GATEWAY:
            given = dict(case.parameters)
            kind = given.get("float", FLOATS[0])
            return {"program": f"{given.get('way') or given['access']}-{kind}.elf", "secure": f"secure-{kind}.elf"}
        part = self._part(case)
        return {"program": f"{part}.elf", "secure": f"{part}-secure.elf"}

    def _footprint(self, case: Case, image: Image) -> dict[str, int] | None:
        if case.implementation != GATEWAY:
            return super()._footprint(case, image)
        for program in self.program_files(case).values():
            # Whether it fits: nothing is linked for a way between the states alone.
            image.sizes("footprint.json", program.removesuffix(".elf"), "memory")
        return None

    def _recipe(self, case: Case, crates: Crates) -> Recipe:
        recipe = super()._recipe(case, crates)
        secure = self.board.secure
        assert secure
        if images_of(case).board_programs:
            return recipe
        implementation = find(case.implementation)
        plan = board_plan(implementation, case.optimisation, self.name, self.board, load_core(self.board.core))
        ways = (*WAYS, *ACCESSES) if implementation.name == GATEWAY else ()
        plan |= {"secure": secure.model_dump(), "ways": list(ways), "floats": list(FLOATS)}
        return replace(
            recipe,
            script="tzm.sh",
            helpers=("tzm.py", *recipe.helpers),
            trees={**recipe.trees, **secure_parts(secure)},
            settings={**recipe.settings, "PLAN": json.dumps(plan)},
        )

    def qemu_arguments(self) -> tuple[str, ...]:
        """As a board's, with the secure program as kernel and the other one loaded beside it."""
        *common, _kernel, _program = super().qemu_arguments()
        return (*common, "-kernel", "/machine/secure.elf", "-device", "loader,file=/machine/program.elf")
