# SPDX-License-Identifier: BSD-2-Clause
"""The attestation's programs: its TA, by OP-TEE's core or by a library compiled into it, and the same in Linux."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from worldwise.families.attestation.spec import ATTESTATION
from worldwise.lab.image import Recipe
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import CURVES, Portable, find
from worldwise.plan.availability import TEE_CURVE, TEE_NEEDS
from worldwise.plan.case import Case
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees
from worldwise.targets.optee_images import app_programs, with_core_library
from worldwise.targets.portable_images import adapter_trees, source_packages, tee_plan, trees

# The frame of a portable implementation: it is tried on known answers before it is measured.
_FRAME = ("frame.h", "known.c", "known.h", "random.c", "sha256.c", "trial.c", "trial.h")


def programs(name: str, optimisation: str, crates: Callable[[Portable], Path | None]) -> Recipe:
    """The TA, its client and the Linux program.

    Args:
        name: of the implementation: one of OP-TEE's core, or a portable one.
        optimisation: of the TA, the library and the core.
        crates: finds the sources of a library that comes as a crate.
    """
    built = app_programs(ATTESTATION, name, optimisation)
    if name in IMPLEMENTATIONS:
        return with_core_library(built, name, optimisation)
    implementation = find(name)
    return replace(
        built,
        outputs=(*built.outputs, "linux-bench"),
        helpers=(*built.helpers, "app-attestation.py", "tee_library.py", "library.py", "objects.py"),
        needs={**built.needs, **source_packages(implementation)},
        trees={
            **built.trees,
            **guest_trees("attest.h", room="optee-libraries"),
            **guest_trees(*_FRAME, room="operations"),
            **adapter_trees(implementation),
            **trees(implementation, crates(implementation)),
        },
        settings={
            **built.settings,
            "CURVE": str(CURVES.index(TEE_CURVE)),
            "PLAN": json.dumps(tee_plan(implementation, optimisation, TEE_CURVE, TEE_NEEDS)),
        },
    )


def _case_programs(case: Case, _feature: str) -> Recipe:
    return programs(case.implementation, case.optimisation, lambda library: crate_folder(library, Crates()))


IMAGES = Images(programs=_case_programs)
