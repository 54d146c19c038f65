# SPDX-License-Identifier: BSD-2-Clause
"""Programs of a portable library on OP-TEE's machine: compiled into a TA, and the same for its Linux."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldwise.lab.image import Recipe
from worldwise.libraries.own import TEE_CURVE, TEE_NEEDS
from worldwise.libraries.portable import Portable
from worldwise.plan.spec import ATTEST_TA, TEE_CORE
from worldwise.targets import optee_images
from worldwise.targets.guest import guest_trees
from worldwise.targets.library import curve_plan, source_packages, trees

# The OP-TEE whose TA calls the library. What its core does for cryptography takes no part in what is measured.
OPTEE_VARIANT = "mbedtls-nist"


def library_programs(implementation: Portable, optimisation: str, source: Path | None) -> Recipe:
    """The TA and the Linux program that call a portable implementation.

    The client and the first process are those of OPTEE_VARIANT, the same files. `source` has the library's sources if
    they are a crate's.
    """
    packages = source_packages(implementation)
    return Recipe(
        name=f"programs-{implementation.name}-{optimisation}",
        script="programs-own.sh",
        helpers=("programs-own.py", "tee_library.py", "library.py", "objects.py", "packages.sh"),
        outputs=(
            "init",
            "faults",
            "symbols",
            "optee-client",
            "linux-bench",
            f"{ATTEST_TA}.ta",
            f"{ATTEST_TA}.elf",
        ),
        sources=packages,
        trees=guest_trees("bench", "linux", "mcu", "ops", "optee")
        | trees(implementation)
        | ({"source": source} if source else {}),
        needs={
            "optee": optee_images.optee(OPTEE_VARIANT, optimisation),
            "base": optee_images.programs(OPTEE_VARIANT, optimisation),
        },
        settings={
            "PACKAGES": " ".join(packages),
            "PLAN": json.dumps(tee_plan(implementation, optimisation, TEE_CURVE, TEE_NEEDS)),
        },
    )


def library_initramfs(implementation: Portable, optimisation: str, source: Path | None) -> Recipe:
    """The user space of the machine that has these programs."""
    theirs = optee_images.initramfs(OPTEE_VARIANT, optimisation)
    return replace(
        theirs,
        name=f"initramfs-{implementation.name}-{optimisation}",
        needs={**theirs.needs, "programs": library_programs(implementation, optimisation, source)},
    )


def tee_plan(implementation: Portable, optimisation: str, curve: str, operations: Sequence[str]) -> dict[str, Any]:
    """What recipes/tee_library.py compiles."""
    source = implementation.manifest.source
    debian = source.debian if source else None
    return {
        "name": implementation.name,
        "debian": debian or "",
        "own": source is None,
        "optimisation": optimisation,
        "frame_sha256": implementation.manifest.needs.frame_sha256,
        "operations": list(operations),
        **curve_plan(implementation, curve, TEE_CORE),
    }
