# SPDX-License-Identifier: BSD-2-Clause
"""The machine of the app `pkcs11`: OP-TEE's TA of ta/pkcs11, and Debian's libckteec in the client's process."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from worldwise.families.pkcs11.spec import PKCS11
from worldwise.lab.debian.lock import Package
from worldwise.lab.image import Recipe
from worldwise.lab.lab import open_lab
from worldwise.plan.case import Case
from worldwise.targets import optee_images
from worldwise.targets.families import Images

# The lab's own lock has optee-client-dev without it. The root of the key cache has it locked, of the same source and
# version; another package in the lab's lock would move the address of every image.
_LOCKED_BY = "keycache"
_LIBRARY = ("libckteec0t64", "arm64")


def locked() -> Package:
    """The package of libckteec, as it is locked."""
    return open_lab(name=_LOCKED_BY).package(*_LIBRARY)


@functools.cache
def library() -> Path:
    """The package of libckteec, downloaded if need be. Raises WorldwiseError if no mirror has it."""
    return open_lab(name=_LOCKED_BY).package_file(*_LIBRARY)


def _first(_notify: Callable[[str], None]) -> Path:
    return library()


def _programs(case: Case, feature: str) -> Recipe:
    theirs = optee_images.app_programs(PKCS11, case.implementation, case.optimisation, feature)
    return replace(
        theirs,
        trees={**theirs.trees, "libckteec.deb": library()},
        # The TA parses keys and wraps them by Mbed TLS, of which the dev kit of our own TAs has a few files.
        needs={
            **theirs.needs,
            "optee": optee_images.whole_dev_kit(case.implementation, case.optimisation),
            "source": optee_images.optee_source(),
        },
    )


IMAGES = Images(programs=_programs, build_first=_first)
