# SPDX-License-Identifier: BSD-2-Clause
"""An OP-TEE that keeps objects of another is the same to the byte as one that was compiled whole."""

from dataclasses import replace

import pytest

from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.targets import optee_images

WAYS = [
    ("libtomcrypt", "Os", ""),
    ("libtomcrypt-ce", "O2", ""),
    ("mbedtls-nist-lean", "Os", ""),
    ("mbedtls-nist", "O2", "rpmb"),
]


@pytest.mark.parametrize(("implementation", "optimisation", "feature"), WAYS)
def test_kept_objects_are_those_of_a_whole_build(
    lab: Lab, implementation: str, optimisation: str, feature: str
) -> None:
    """If this fails, a core has objects of another configuration."""
    store = ImageStore(lab)
    kept = optee_images.optee_objects(implementation, optimisation, feature)
    assert "objects" in kept.needs
    whole = replace(kept, name=f"{kept.name}-whole", needs={"source": kept.needs["source"]})
    ours, theirs = store.get(kept), store.get(whole)
    # The flags of libraries are listed for more files, in another order.
    for name in ("bl32.bin", "bl32_extra1.bin", "bl32_extra2.bin", "tee.elf", "ldelf.elf", "devkit.tar"):
        assert ours.files[name] == theirs.files[name], name
