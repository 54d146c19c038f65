# SPDX-License-Identifier: BSD-2-Clause
"""The machines of the apps `pkcs11` and `pkcs11-openssl`: OP-TEE's TA of ta/pkcs11, and in the client's process
Debian's libckteec, with OpenSSL and its provider for the second."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from worldwise.families.pkcs11.spec import OPENSSL, PKCS11
from worldwise.lab.debian.lock import Package
from worldwise.lab.image import Recipe
from worldwise.lab.lab import open_lab
from worldwise.plan.case import Case
from worldwise.targets import optee_images
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees

# The lab's own lock has optee-client-dev without it. The root of the key cache has it locked, of the same source and
# version; another package in the lab's lock would move the address of every image.
_LOCKED_BY = "keycache"
_LIBRARY = ("libckteec0t64", "arm64")
# The provider has a lock of its own, for the same reason.
_PROVIDER_LOCKED_BY = "pkcs11"
_PROVIDER = ("pkcs11-provider", "arm64")
# What the second app takes of the first.
_SHARED = ("ckr.c", "ckr.h", "measured", "ta", "token.c", "token.h")
_OPENSSL = ("libssl-dev", "libssl3t64", "libzstd1", "zlib1g")


def locked() -> Package:
    """The package of libckteec, as it is locked."""
    return open_lab(name=_LOCKED_BY).package(*_LIBRARY)


@functools.cache
def library() -> Path:
    """The package of libckteec, downloaded if need be. Raises WorldwiseError if no mirror has it."""
    return open_lab(name=_LOCKED_BY).package_file(*_LIBRARY)


def locked_provider() -> Package:
    """The package of OpenSSL's provider for PKCS#11, as it is locked."""
    return open_lab(name=_PROVIDER_LOCKED_BY).package(*_PROVIDER)


@functools.cache
def provider() -> Path:
    """The package of that provider, downloaded if need be. Raises WorldwiseError if no mirror has it."""
    return open_lab(name=_PROVIDER_LOCKED_BY).package_file(*_PROVIDER)


def _first(_notify: Callable[[str], None]) -> Path:
    provider()
    return library()


def _programs(case: Case, feature: str) -> Recipe:
    app = case.operation
    theirs = optee_images.app_programs(app, case.implementation, case.optimisation, feature)
    if app == OPENSSL:
        theirs = replace(
            theirs,
            helpers=(*theirs.helpers, f"app-{PKCS11}.sh"),
            packages=(*theirs.packages, *_OPENSSL),
            trees={
                **theirs.trees,
                **guest_trees(*_SHARED, room=f"apps/{PKCS11}"),
                "pkcs11-provider.deb": provider(),
            },
        )
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


IMAGES = Images(programs=_programs, build_first=_first, private_storage=True)
