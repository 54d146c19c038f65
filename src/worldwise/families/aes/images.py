# SPDX-License-Identifier: BSD-2-Clause
"""The program for plain Linux that makes the four calls of AES with a library of Linux."""

from worldwise.families.aes.spec import AES, SPEC
from worldwise.lab.image import Recipe
from worldwise.libraries.portable import find
from worldwise.plan.case import Case
from worldwise.plan.catalogue import parameters_of_program
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
        helpers=("plain.sh", "unpacked.sh", "guest.sh", "app-aes.sh"),
        outputs=("linux-bench",),
        needs=unpacked(*sources),
        packages=libraries,
        trees={
            **guest_trees("bench", "linux", "apps/aes"),
        },
        settings={
            "IMPLEMENTATION": library,
            "OPTIMISATION": optimisation,
            "PARAMETERS": " ".join(parameters_of_program((case.target,), AES)),
            "LIBRARIES": " ".join(libraries),
            "STATIC": "1",
            "TRIPLET": architecture.triplet,
            "FLAGS": " ".join(architecture.flags),
            "COUNTER": " ".join(architecture.counter),
        },
        architecture=architecture.debian,
    )


IMAGES = Images(plain_programs=_plain_programs)
