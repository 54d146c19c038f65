# SPDX-License-Identifier: BSD-2-Clause
"""Parts of guests that several targets share: Debian's kernel, sources as archives, folders of guest/."""

from pathlib import Path

from worldwise.base import paths
from worldwise.lab.image import Recipe

KERNEL_PACKAGE = "linux-image-cloud-arm64"


def kernel() -> Recipe:
    """Debian's arm64 cloud kernel and its TEE modules."""
    return Recipe(
        name="linux",
        script="linux.sh",
        outputs=("Image", "tee.ko", "optee.ko"),
        packages=(KERNEL_PACKAGE,),
    )


def kernel_net() -> Recipe:
    """The kernel's modules for an emulated network card."""
    return Recipe(
        name="linux-net",
        script="linux-net.sh",
        outputs=("failover.ko", "net_failover.ko", "virtio_net.ko"),
        packages=(KERNEL_PACKAGE,),
    )


def unpacked(*packages: str, parts: tuple[str, ...] = ()) -> dict[str, Recipe]:
    """Locked source packages as a recipe's needs, which unpacked.sh lays down.

    With `parts` there are these folders alone of each.
    """
    return {f"unpacked-{name}": _unpacked(name, parts) for name in packages}


def _unpacked(package: str, parts: tuple[str, ...]) -> Recipe:
    """One as an uncompressed archive, with Debian's changes if these are locked too: many images are built from it."""
    return Recipe(
        name=f"unpacked-{package}",
        script="unpack.sh",
        helpers=("packages.sh",),
        outputs=("source.tar",),
        sources=(package,),
        settings={"PACKAGES": package, "PARTS": " ".join(parts)},
    )


def interface_trees() -> dict[str, Path]:
    """The headers between the libraries and what measures them."""
    return guest_trees("ops.h", "ops_curve.h", "ops_given.h", room="ops/portable")


def guest_trees(*names: str, room: str = "") -> dict[str, Path]:
    """Folders of guest/, or files of one (`room`), as a recipe's trees: other files do not change the address."""
    return {f"guest/{Path(room, name)}": paths.GUEST / room / name for name in names}
