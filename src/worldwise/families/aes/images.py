# SPDX-License-Identifier: BSD-2-Clause
"""The program for plain Linux that makes the four calls of AES with a library of Linux."""

from worldwise.families.aes.spec import AES, SPEC
from worldwise.lab.image import Recipe
from worldwise.libraries.portable import find
from worldwise.plan.case import Case
from worldwise.targets.architecture import Architecture
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees, unpacked

_OPENSSL = "openssl"


def _plain_programs(case: Case, architecture: Architecture) -> Recipe:
    library, optimisation = case.implementation, case.optimisation
    # OpenSSL is Debian's compiled library, as for its portable implementation.
    packaged = find(_OPENSSL).manifest.source if library.startswith(_OPENSSL) else None
    libraries = packaged.packages if packaged else ()
    sources = () if packaged else SPEC.apps[AES].sources
    return Recipe(
        name="-".join((f"programs-{case.target}", AES, library, optimisation)),
        script="plain-aes.sh",
        helpers=("plain.sh", "bench-parameters.sh", "app-aes.sh"),
        outputs=("linux-bench",),
        needs={f"unpacked-{package}": unpacked(package) for package in sources},
        packages=libraries,
        trees={
            **guest_trees("bench", "linux", "apps/aes"),
            **guest_trees("parameters.h", room="apps/common"),
            **guest_trees("semihost_call.h", room="mcu"),
            **guest_trees("attest.h", room="ops"),
        },
        settings={
            "IMPLEMENTATION": library,
            "OPTIMISATION": optimisation,
            "PACKAGES": " ".join(sources),
            "LIBRARIES": " ".join(libraries),
            "STATIC": "1",
            "TRIPLET": architecture.triplet,
            "FLAGS": " ".join(architecture.flags),
            "COUNTER": " ".join(architecture.counter),
        },
        architecture=architecture.debian,
    )


IMAGES = Images(app=AES, plain_programs=_plain_programs)
