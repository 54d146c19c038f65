# SPDX-License-Identifier: BSD-2-Clause
"""Programs of a portable library on OP-TEE's machine: compiled into a TA, and the same for its Linux."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldwise.lab import image
from worldwise.lab.image import Recipe
from worldwise.libraries import portable
from worldwise.libraries.cores import TEE_CORE
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import NO_CURVE, Portable, find
from worldwise.plan.availability import CORE_HAS
from worldwise.plan.own import TEE_CURVE, TEE_NEEDS
from worldwise.targets.library import adapter_trees, curve_plan, source_packages, trees

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
            f"{image.ATTEST_TA}.ta",
            f"{image.ATTEST_TA}.elf",
        ),
        sources=packages,
        trees=image.guest_trees("bench", "linux", "mcu", "ops", "optee")
        | trees(implementation)
        | ({"source": source} if source else {}),
        needs={
            "optee": image.optee(OPTEE_VARIANT, optimisation),
            "base": image.programs(OPTEE_VARIANT, optimisation),
        },
        settings={
            "PACKAGES": " ".join(packages),
            "PLAN": json.dumps(_plan(implementation, optimisation, TEE_CURVE, TEE_NEEDS)),
        },
    )


def library_initramfs(implementation: Portable, optimisation: str, source: Path | None) -> Recipe:
    """The user space of the machine that has these programs."""
    theirs = image.initramfs(OPTEE_VARIANT, optimisation)
    return replace(
        theirs,
        name=f"initramfs-{implementation.name}-{optimisation}",
        needs={**theirs.needs, "programs": library_programs(implementation, optimisation, source)},
    )


# What the crypto app needs of the bench beside what every app has: the known answers, the random bytes, the hash.
_CRYPTO_FRAME = (("mcu", ("known.c", "known.h", "frame.h")), ("ops/common", ("random.c", "sha256.c")))

# The macros of the known answers, and what an implementation must have for each. The app has no more.
_CRYPTO_NEEDS: Mapping[str, tuple[str, ...]] = {
    "sign": ("sign", "verify"),
    "ecdh": ("ecdh",),
    "sha256": ("sha256",),
    **dict.fromkeys(("sha512", "aes128", "aes256"), ("nothing",)),
}

CRYPTO = "crypto"


def crypto_programs(name: str, optimisation: str, curve: str, crates: Callable[[Portable], Path | None]) -> Recipe:
    """The programs of the crypto app for one curve (NO_CURVE for hashing): its TA and its client.

    For a library that is compiled into the TA the Linux program too.

    Args:
        name: of the implementation: one of OP-TEE's core, or a portable one.
        optimisation: of the TA, the library and the core.
        curve: the one curve of the TA.
        crates: says where a library's sources are that come as a crate.
    """
    implementation = None if name in IMPLEMENTATIONS else find(name)
    theirs = image.app_programs(CRYPTO, name, optimisation)
    rooms = [image.guest_trees(*files, room=room) for room, files in _CRYPTO_FRAME]
    rooms.append(image.guest_trees("ops.h", room="ops/portable"))
    frame = {key: path for room in rooms for key, path in room.items()}
    has: Sequence[str] = implementation.manifest.operations.get(curve, ()) if implementation else CORE_HAS[curve]
    macros = [f"-DFRAME_HAS_{one.upper()}={int(set(needed) <= set(has))}" for one, needed in _CRYPTO_NEEDS.items()]
    number = 0 if curve == NO_CURVE else portable.CURVES.index(curve)
    built = replace(
        theirs,
        name=f"{theirs.name}-{curve}",
        helpers=(*theirs.helpers, "app-crypto.py", "tee_library.py", "library.py", "objects.py"),
        trees={**theirs.trees, **frame},
        settings={**theirs.settings, "CURVE": str(number), "FRAME": " ".join(macros)},
    )
    if implementation is None:
        return built
    plan = {**_plan(implementation, optimisation, curve, has), "curve": curve}
    source = crates(implementation)
    packages = source_packages(implementation)
    return replace(
        built,
        outputs=(*built.outputs, "linux-bench"),
        sources=packages,
        trees={**built.trees, **adapter_trees(implementation), **trees(implementation)}
        | ({"source": source} if source else {}),
        settings={**built.settings, "PACKAGES": " ".join(packages), "PLAN": json.dumps(plan)},
    )


def _plan(implementation: Portable, optimisation: str, curve: str, operations: Sequence[str]) -> dict[str, Any]:
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
