# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of cryptography in a TA include, the sizes of its TAs, and the suite's recommendation."""

from worldwise.plan.case import Case
from worldwise.read.includes import on_curves
from worldwise.read.parts import Recommended, TaSize
from worldwise.read.readings import Readings, Seen
from worldwise.run.rundir import CaseManifest, RunManifest


def _ta_size(_case: Case, manifest: CaseManifest, _run: RunManifest) -> TaSize | None:
    found = manifest.footprint or {}
    return TaSize(ta_loaded=found.get("ta_loaded"), ta_file=found.get("ta_file"))


def _recommended(seen: Seen) -> Recommended:
    return Recommended(recommended=seen.run.manifest.recommended)


READINGS = Readings(
    of_row=TaSize,
    of_reading=Recommended,
    includes=on_curves(("keygen", "sign", "verify", "ecdh"), ("ta", "client", "linux")),
    row=_ta_size,
    whole=_recommended,
)
