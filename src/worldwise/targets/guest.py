# SPDX-License-Identifier: BSD-2-Clause
"""Parts of guests that several targets share: Debian's kernel, sources as archives, folders of guest/."""

from pathlib import Path

from worldwise.base import paths
from worldwise.lab.image import Recipe
from worldwise.libraries.stacks import in_use

KERNEL_PACKAGE = "linux-image-cloud-arm64"
# What the machine loads of a kernel, each after those that it needs.
TEE_MODULES = ("drivers/tee/tee", "drivers/tee/optee/optee")
# Before them under an SPMC: what finds it, and OP-TEE's partition in it.
FFA_MODULES = ("drivers/firmware/arm_ffa/ffa-module",)
NET_MODULES = ("net/core/failover", "drivers/net/net_failover", "drivers/net/virtio_net")


def kernel() -> Recipe:
    """Debian's arm64 cloud kernel and its TEE modules; a stack may have another kernel."""
    used = in_use.current()
    if used and used.kernels:
        spmc = used.stack.firmware.spmc_at_el
        return _own_kernel("linux-own", used.kernels, TEE_MODULES, FFA_MODULES if spmc else ())
    return Recipe(
        name="linux",
        script="linux.sh",
        outputs=("Image", "tee.ko", "optee.ko"),
        packages=(KERNEL_PACKAGE,),
    )


def kernel_net() -> Recipe:
    """The kernel's modules for an emulated network card."""
    used = in_use.current()
    if used and used.kernels:
        return _own_kernel("linux-net-own", used.kernels, NET_MODULES)
    return Recipe(
        name="linux-net",
        script="linux-net.sh",
        outputs=("failover.ko", "net_failover.ko", "virtio_net.ko"),
        packages=(KERNEL_PACKAGE,),
    )


def _own_kernel(
    name: str, packages: tuple[Path, ...], modules: tuple[str, ...], before: tuple[str, ...] = ()
) -> Recipe:
    """A kernel's image and modules; what these need, and what is loaded `before` them, is for `with_more_modules`."""
    files = tuple(f"{Path(module).name}.ko" for module in modules)
    return Recipe(
        name=name,
        script="linux-own.sh",
        outputs=("Image", "modules", "more.tar", *files),
        trees={package.name: package for package in packages},
        settings={"MODULES": " ".join((*before, *modules)), "OUTPUTS": " ".join(files)},
    )


def with_more_modules(initramfs: Recipe, network: bool = False) -> Recipe:
    """An initramfs with what the kernel of a stack's own needs besides; the same bytes if it needs nothing."""
    used = in_use.current()
    if not (used and used.kernels):
        return initramfs
    return Recipe(
        name=initramfs.name.replace("initramfs-", "initramfs-own-", 1),
        script="initramfs-modules.sh",
        outputs=initramfs.outputs,
        needs={"initramfs": initramfs, "linux": kernel(), **({"linux-net": kernel_net()} if network else {})},
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
    return guest_trees("ops.h", "ops_curve.h", "ops_given.h", room="adapters")


def guest_trees(*names: str, room: str = "") -> dict[str, Path]:
    """Folders of guest/, or files of one (`room`), as a recipe's trees: other files do not change the address."""
    return {f"guest/{Path(room, name)}": paths.GUEST / room / name for name in names}
