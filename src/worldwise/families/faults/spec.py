# SPDX-License-Identifier: BSD-2-Clause
"""Attacks on each storage: tampering, and a power cut at many points."""

from collections.abc import Mapping

from worldwise.plan.parameters import POINTS, SIZE, STORAGE, TICKS, action, out_of_range
from worldwise.plan.spec import OPTEE, App, Operation, Spec

TAMPER = "tamper"
POWER_CUT = "power-cut"
# The actions that power cuts interrupt, and their largest object: FAULTS_MAX_OBJECT in guest/apps/faults/faults.h.
CUT_ACTIONS = ("create", "overwrite", "append", "replace", "rename", "delete")
MAX_CUT = 64 * 1024


def _problem(_target: str, given: Mapping[str, str]) -> str:
    return out_of_range(given["size"], 1, MAX_CUT // 2 if given["action"] == "append" else MAX_CUT)


# The programs of these operations start no load.
SPEC = Spec(
    operations=(
        Operation(TAMPER, {OPTEE: {}}, {OPTEE: (TICKS, STORAGE)}, app="faults"),
        Operation(
            POWER_CUT,
            {OPTEE: {}},
            {OPTEE: (SIZE, TICKS, STORAGE, action(*CUT_ACTIONS), POINTS)},
            _problem,
            app="faults",
        ),
    ),
    apps={"faults": App("a1f5c2de-0005-4b1c-9a3e-6661756c7400")},
)
