# SPDX-License-Identifier: BSD-2-Clause
"""The programs that hash: the TA, its client, and the core's library in Linux."""

from dataclasses import replace

from worldwise.families.sha256.spec import SHA256
from worldwise.lab.image import Recipe
from worldwise.plan.case import Case
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees
from worldwise.targets.optee_images import app_programs, with_core_library


def _case_programs(case: Case, _feature: str) -> Recipe:
    built = app_programs(SHA256, case.implementation, case.optimisation)
    built = replace(
        built,
        outputs=(*built.outputs, "linux-bench"),
        trees={**built.trees, **guest_trees("attest.h", room="ops")},
    )
    return with_core_library(built, case.implementation, case.optimisation)


IMAGES = Images(app=SHA256, programs=_case_programs)
