# SPDX-License-Identifier: BSD-2-Clause
"""The app `keycache`: the secure key cache as a machine has it.

Its TA, its server and its tools are those of keycache/, which is no room of the guest's, and which others can take with
them: guest/apps/keycache has what measures and tries them.
"""

from dataclasses import replace
from pathlib import Path

from worldwise.base import paths
from worldwise.lab import image
from worldwise.lab.image import Recipe

APP = "keycache"
# The operation that looks into the TA.
MEASURED = "keycache"
# Seconds: the TA's first start makes its objects in secure storage, and thousands of keys may be set before the first
# record.
PATIENCE = 900.0
# Of keycache/ what the app's own programs are compiled from.
_ROOMS = ("include", "server", "ta")


def app_programs(implementation: str, optimisation: str, feature: str, measured: bool, built: Path) -> Recipe:
    """The programs of the app: its TA, its client, and the server and the tools as they were built.

    Args:
        implementation: the crypto library of OP-TEE's core.
        optimisation: the core's and the TA's.
        feature: what is needed of OP-TEE: one of image.FEATURES.
        measured: with a TA that tells its own share of a call, in place of the one that devices get.
        built: the folder that `worldwise.families.keycache.build.programs` gives.
    """
    theirs = image.app_programs(APP, implementation, optimisation, feature)
    rooms = {f"keycache/{room}": paths.KEYCACHE / room for room in _ROOMS}
    network = image.guest_trees("echo.h", "net.c", "net.h", room="apps/echo")
    campaign = ("journal.h", "linux/store.c", "linux/store.h", "supplicant/journal.c", "supplicant/next.h")
    faults = image.guest_trees(*campaign, room="apps/faults")
    return replace(
        theirs,
        name=f"{theirs.name}{'-measured' * measured}",
        packages=(*theirs.packages, *(("libc6", "libssl3t64") if measured else ())),
        trees={**theirs.trees, **network, **faults, **rooms, "keycache-built": built},
        settings={**theirs.settings, **({"MEASURED": "y"} if measured else {})},
    )
