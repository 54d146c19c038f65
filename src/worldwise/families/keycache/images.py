# SPDX-License-Identifier: BSD-2-Clause
"""The machine of the app `keycache`, with the secure key cache.

TA, server and tools come from keycache/, which stands outside guest/ so that others can use it alone. The programs in
guest/apps/keycache measure and try them.
"""

from dataclasses import replace
from pathlib import Path

from worldwise.base import paths
from worldwise.families.keycache import build
from worldwise.lab.image import Recipe
from worldwise.plan.case import Case
from worldwise.targets import optee_images
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees

_APP = "keycache"
# The operation that measures inside the TA.
_MEASURED = "keycache"
# Seconds: the TA's first start makes its objects in secure storage, and thousands of keys may be set before the first
# record.
_PATIENCE = 900.0
# The sources in keycache/ that the app's own programs are compiled from.
_ROOMS = ("include", "server", "ta")


def app_programs(implementation: str, optimisation: str, feature: str, measured: bool, built: Path) -> Recipe:
    """The programs of the app: TA, client, and the server and tools that were built before.

    Args:
        implementation: the crypto library of OP-TEE's core.
        optimisation: the core's and the TA's.
        feature: the OP-TEE feature that is needed: one of optee_images.FEATURES.
        measured: use a TA that reports its own share of a call, instead of the devices' TA.
        built: the folder that `worldwise.families.keycache.build.programs` gives.
    """
    theirs = optee_images.app_programs(_APP, implementation, optimisation, feature)
    rooms = {f"keycache/{room}": paths.KEYCACHE / room for room in _ROOMS}
    network = guest_trees("echo.h", "net.c", "net.h", room="apps/echo")
    campaign = ("journal.h", "linux/store.c", "linux/store.h", "supplicant/journal.c", "supplicant/next.h")
    faults = guest_trees(*campaign, room="apps/faults")
    return replace(
        theirs,
        name=f"{theirs.name}{'-measured' * measured}",
        packages=(*theirs.packages, *(("libc6", "libssl3t64") if measured else ())),
        trees={**theirs.trees, **network, **faults, **rooms, "keycache-built": built},
        settings={**theirs.settings, **({"MEASURED": "y"} if measured else {})},
    )


def _case_programs(case: Case, feature: str) -> Recipe:
    measured = case.operation == _MEASURED
    return app_programs(case.implementation, case.optimisation, feature, measured, build.programs())


IMAGES = Images(app=_APP, programs=_case_programs, build_first=build.programs, patience=_PATIENCE)
