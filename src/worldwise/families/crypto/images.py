# SPDX-License-Identifier: BSD-2-Clause
"""The crypto app's programs: one TA for each curve, perhaps with a portable implementation compiled into it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from worldwise.families.crypto.spec import SPEC
from worldwise.lab.image import Recipe
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.curve_table import curve_number
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import NO_CURVE, Portable, find
from worldwise.plan.availability import CORE_HAS, TEE_CURVE
from worldwise.plan.case import Case
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees, interface_trees
from worldwise.targets.optee_images import app_programs
from worldwise.targets.portable_images import adapter_trees, source_packages, tee_plan, trees

_APP = "crypto"
# The parts of the bench that the crypto app needs beside those of every app: known answers, random bytes, hash.
_FRAME = ("known.c", "known.h", "frame.h", "random.c", "sha256.c")
# The macros of the known answers -> the operations that an implementation needs for each.
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "sign": ("sign", "verify"),
    "ecdh": ("ecdh",),
    "sha256": ("sha256",),
    **dict.fromkeys(("sha512", "aes128", "aes256"), ("nothing",)),
}


def programs(
    name: str,
    optimisation: str,
    curve: str,
    crates: Callable[[Portable], Path | None],
    feature: str = "",
    options: str = "",
) -> Recipe:
    """The programs of the crypto app for one curve (NO_CURVE for hashing): its TA and its client.

    If the library is compiled into the TA, the Linux program too.

    Args:
        name: of the implementation: one of OP-TEE's core, or a portable one.
        optimisation: of the TA, the library and the core.
        curve: the one curve of the TA.
        crates: finds the sources of a library that comes as a crate.
        feature: what the case needs of OP-TEE, one of optee_images.FEATURES.
        options: build options of a portable implementation, in a case's notation.
    """
    implementation = None if name in IMPLEMENTATIONS else find(name)
    theirs = app_programs(_APP, name, optimisation, feature)
    frame = guest_trees(*_FRAME, room="operations") | interface_trees()
    has: Sequence[str] = implementation.manifest.operations.get(curve, ()) if implementation else CORE_HAS[curve]
    macros = [f"-DFRAME_HAS_{one.upper()}={int(set(needed) <= set(has))}" for one, needed in _NEEDS.items()]
    built = replace(
        theirs,
        name="-".join(filter(None, (theirs.name, curve, options))),
        helpers=(*theirs.helpers, "app-crypto.py", "tee_library.py", "library.py", "objects.py"),
        trees={**theirs.trees, **frame},
        settings={**theirs.settings, "CURVE": str(curve_number(curve)), "FRAME": " ".join(macros)},
    )
    if implementation is None:
        return built
    plan = {**tee_plan(implementation, optimisation, curve, has, options), "curve": curve}
    source = crates(implementation)
    return replace(
        built,
        outputs=(*built.outputs, "linux-bench"),
        needs={**built.needs, **source_packages(implementation)},
        trees={**built.trees, **adapter_trees(implementation), **trees(implementation, source)},
        settings={**built.settings, "PLAN": json.dumps(plan)},
    )


def _case_programs(case: Case, feature: str) -> Recipe:
    own = case.operation in {operation.name for operation in SPEC.operations}
    # Hashing has no curve: the TA of any curve will do.
    curve = case.curve or (NO_CURVE if own else TEE_CURVE)
    return programs(
        case.implementation,
        case.optimisation,
        curve,
        lambda library: crate_folder(library, Crates()),
        feature,
        case.options,
    )


IMAGES = Images(programs=_case_programs, sizes_ta=True)
