# SPDX-License-Identifier: BSD-2-Clause
"""The machine of the app `keycache`, with the secure key cache.

TA, server and tools come from keycache/, which stands outside guest/ so that others can use it alone. The programs in
guest/apps/keycache measure and try them.
"""

from dataclasses import replace
from pathlib import Path

from worldwise.base import paths
from worldwise.families.keycache import build
from worldwise.families.keycache.spec import KEYCACHE_MQTT
from worldwise.lab.image import Recipe
from worldwise.plan.case import Case
from worldwise.targets import optee_images
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees

_APP = "keycache"
# The operations that measure inside the TA: each has a machine of its own. One has the broker besides.
_MEASURED = ("keycache", KEYCACHE_MQTT)
# Seconds: the TA's first start makes its objects in secure storage, and thousands of keys may be set before the first
# record.
_PATIENCE = 900.0
# The sources in keycache/ that the app's own programs are compiled from.
_ROOMS = ("include", "server", "ta", "tests/policies")


def app_programs(
    implementation: str, optimisation: str, feature: str, built: Path, *, measured: str = "", broker: Path | None = None
) -> Recipe:
    """The programs of the app: TA, client, and the server and tools that were built before.

    Args:
        implementation: the crypto library of OP-TEE's core.
        optimisation: the core's and the TA's.
        feature: the OP-TEE feature that is needed: one of optee_images.FEATURES.
        built: the folder that `worldwise.families.keycache.build.programs` gives.
        measured: the operation whose TA reports its own share of a call, instead of the devices' TA.
        broker: the folder that `worldwise.families.keycache.build.broker` gives, for a machine with a broker.
    """
    theirs = optee_images.app_programs(_APP, implementation, optimisation, feature)
    rooms = {f"keycache/{room}": paths.KEYCACHE / room for room in _ROOMS}
    network = guest_trees("echo.h", "net.c", "net.h", room="apps/echo")
    campaign = ("journal.h", "linux/store.c", "linux/store.h", "supplicant/journal.c", "supplicant/next.h")
    faults = guest_trees(*campaign, room="apps/faults")
    return replace(
        theirs,
        name="-".join(filter(None, (theirs.name, "measured" * bool(measured), "broker" * bool(broker)))),
        packages=(*theirs.packages, *(("libc6", "libssl3t64") if measured or broker else ())),
        trees={**theirs.trees, **network, **faults, **rooms, "keycache-built": built}
        | ({"broker-built": broker} if broker else {}),
        settings={**theirs.settings, **({"MEASURED": measured} if measured else {})},
    )


def programs_with_broker(case: Case, feature: str) -> Recipe:
    """The programs of a demo with a broker: nothing of them measures."""
    return app_programs(case.implementation, case.optimisation, feature, build.programs(), broker=build.broker())


def _case_programs(case: Case, feature: str) -> Recipe:
    return app_programs(
        case.implementation,
        case.optimisation,
        feature,
        build.programs(),
        measured=case.operation if case.operation in _MEASURED else "",
        broker=build.broker() if case.operation == KEYCACHE_MQTT else None,
    )


def _waits(case: Case) -> bool:
    """What a request costs is measured request by request; loads, campaigns and the broker wait for each other."""
    return case.operation != "keycache"


IMAGES = Images(programs=_case_programs, build_first=build.programs, patience=_PATIENCE, waits_for_timers=_waits)
