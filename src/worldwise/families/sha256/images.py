# SPDX-License-Identifier: BSD-2-Clause
"""The programs that hash: the TA, its client, and the core's library in Linux."""

from worldwise.families.sha256.spec import SHA256
from worldwise.lab.image import Recipe
from worldwise.plan.case import Case
from worldwise.targets.families import Images
from worldwise.targets.optee_images import app_programs, with_core_library


def _case_programs(case: Case, feature: str) -> Recipe:
    variant = (case.implementation, case.optimisation)
    return with_core_library(app_programs(SHA256, *variant, feature), *variant)


IMAGES = Images(programs=_case_programs, counts_cycles=True)
