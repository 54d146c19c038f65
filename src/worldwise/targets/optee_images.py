# SPDX-License-Identifier: BSD-2-Clause
"""The images of the machine with OP-TEE: firmware, OP-TEE, the measured programs, the user space."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore, Recipe, recipe_file
from worldwise.libraries.implementation import IMPLEMENTATIONS, LEAN_CHANGES, Implementation
from worldwise.libraries.stacks import clang, spmc, stack
from worldwise.libraries.stacks.config import require_known, require_words
from worldwise.libraries.user_code.kinds import TA_ARM32
from worldwise.plan.catalogue import APPS, parameters_of_program
from worldwise.plan.spec import LINUX, OPTEE
from worldwise.targets.guest import guest_trees, kernel, kernel_net, unpacked, with_more_modules


def _silent(_: str) -> None:
    pass


# These are part of the images' addresses: a change rebuilds the images.
OPTEE_PLATFORM = "vexpress-qemu_armv8a"
# The core under an app whose own library is measured.
APP_CORE = "mbedtls-nist"

# OP-TEE's make settings that choose the library.
_CRYPTO_LIBRARY = {
    "libtomcrypt": "",
    "mbedtls": "CFG_CRYPTOLIB_NAME=mbedtls CFG_CRYPTOLIB_DIR=lib/libmbedtls",
}
# Its make settings for each optimisation level. By default OP-TEE adds -Os to libtomcrypt's own flags.
_OPTIMISATION = {
    "Os": "CFG_CC_OPT_LEVEL=s",
    "O2": "CFG_CC_OPT_LEVEL=2 CFG_CRYPTO_SIZE_OPTIMIZATION=n",
}
LEAN = "lean"
COUNTER = "counter"
RPMB_ALONE = "rpmb-alone"
_RPMB = "CFG_RPMB_FS=y CFG_RPMB_TESTKEY=y CFG_RPMB_WRITE_KEY=y CFG_RPMB_FS_DEV_ID=0"
# Further make settings, by name, that an operation may need.
FEATURES = {
    "": "",
    # RPMB is tee-supplicant's emulated device, written with a publicly known key. With both storages OP-TEE keeps the
    # hash of the REE file system's directory in RPMB.
    "rpmb": _RPMB,
    # Without the REE file system RPMB is the one storage there is.
    RPMB_ALONE: f"{_RPMB} CFG_REE_FS=n",
    # The core of the -lean implementations, but with SIMD in TAs: libraries in a TA need it.
    LEAN: "CFG_TEE_CORE_DEBUG=n",
    # The pseudo-TA by which a TA reads the cycle counter. The lab's OP-TEE always has it, a user's own source only
    # for a TA that asks for it.
    COUNTER: "",
}
# Those that change the core's storage alone: no TA or client is other bytes for them.
_STORAGES = ("rpmb", RPMB_ALONE)
# What builds OP-TEE, and what every such build leaves.
_OPTEE, _OPTEE_HELPERS = "optee.sh", ("optee-kept.py",)
_APP_FLAGS = "app-flags.sh"
_OUTPUTS = ("bl32.bin", "bl32_extra1.bin", "bl32_extra2.bin", "tee.elf", "ldelf.elf", "devkit.tar", "flags.tar")
_FIRMWARE = ("bl1.bin", "bl2.bin", "bl31.bin", "bl31.elf")
# What BL2 hands over with OP-TEE where there is a secure partition manager.
SPMC_MANIFEST = "tos_fw_config.dtb"
# What our patches to OP-TEE read, of the features that need a change.
_FEATURE_CHANGES = {LEAN: LEAN_CHANGES}


def firmware(ticks_in_both_worlds: bool = False) -> Recipe:
    """TF-A: one for all variants, because the machine loads its later stages by name at start.

    Its dispatcher for OP-TEE stops Linux's timer while the secure world runs, so that no tick interrupts a TA;
    with `ticks_in_both_worlds` it is built not to.
    """
    used = stack.current()
    level = used.stack.firmware.spmc_at_el if used else 0
    settings = (
        *(("NS_TIMER_SWITCH=0",) if ticks_in_both_worlds and not level else ()),
        *_words(spmc.firmware_settings(level)),
        *(_words(used.stack.firmware.settings) if used else ()),
    )
    if level:
        # Without the dispatcher for OP-TEE nothing stops Linux's timer there.
        return Recipe(
            name=f"tf-a-spmc-el{level}",
            script="tf-a-spmc.sh",
            outputs=(*_FIRMWARE, SPMC_MANIFEST),
            sources=("arm-trusted-firmware",),
            trees={"patches": patches} if (patches := paths.PATCHES / f"tf-a-spmc-el{level}").exists() else {},
            settings={"SETTINGS": " ".join(settings), "LEVEL": str(level)},
            helpers=(f"spmc-el{level}.dts",),
        )
    return Recipe(
        name="tf-a-ticks" if ticks_in_both_worlds else "tf-a",
        script="tf-a.sh",
        outputs=_FIRMWARE,
        sources=("arm-trusted-firmware",),
        settings={"SETTINGS": " ".join(settings)} if settings else {},
    )


def _words(settings: Mapping[str, str]) -> Iterator[str]:
    return (f"{name}={value}" for name, value in settings.items())


def optee_source() -> Recipe:
    """OP-TEE OS with Debian's patches and ours, as one archive; a stack may have another OP-TEE, and more patches."""
    used = stack.current()
    ours = paths.PATCHES / "optee-os"
    if used and used.tree:
        source = Recipe(
            name="optee-source-own",
            script="optee-own.sh",
            outputs=("source.tar",),
            trees={"patches": ours, "older": paths.PATCHES / "optee-os-older", "tree": used.tree},
        )
    else:
        source = Recipe(
            name="optee-source",
            script="optee-source.sh",
            outputs=("source.tar",),
            sources=("optee-os",),
            trees={"patches": ours},
        )
    if not (used and used.patches):
        return source
    return Recipe(
        name=f"{source.name}-patched",
        script="optee-patched.sh",
        outputs=("source.tar",),
        trees={"patches": used.patches},
        needs={"source": source},
    )


def optee_names() -> Recipe:
    """The names of settings that the source of OP-TEE knows, a line each."""
    return Recipe(name="optee-names", script="optee-names.sh", outputs=("names",), needs={"source": optee_source()})


def firmware_names() -> Recipe:
    """The names of settings that the makefiles of TF-A know, a line each."""
    return Recipe(name="tf-a-names", script="tf-a-names.sh", outputs=("names",), sources=("arm-trusted-firmware",))


def require_understood(used: stack.BroughtStack, images: ImageStore) -> None:
    """Refuse settings and words that OP-TEE, TF-A and Linux would ignore. Raises WorldwiseError with names close by."""
    settings = {**spmc.optee_settings(used.stack.firmware.spmc_at_el), **used.stack.optee.settings}
    require_known(used, "optee.settings", settings, images.get(optee_names()).file("names"))
    if used.stack.firmware.settings:
        require_known(used, "tf-a.settings", used.stack.firmware.settings, images.get(firmware_names()).file("names"))
    if used.kernels or used.stack.linux.words:
        # A kernel without what the machine loads is not built.
        require_words(used, images.get(kernel()).file("Image"))


def _optee_settings(wanted: Implementation, optimisation: str, feature: str, options: str) -> dict[str, str]:
    used = stack.current()
    # The version is for OP-TEE's banner.
    version = ("TEE_IMPL_VERSION=own",) if used and used.tree else ()
    without = ("CFG_WORLDWISE_COUNTER_PTA=n",) if version and feature != COUNTER else ()
    spmc_settings = spmc.optee_settings(used.stack.firmware.spmc_at_el) if used else {}
    stacked = (*version, *without, *_words(spmc_settings), *_words(used.stack.optee.settings)) if used else ()
    return {
        "PLATFORM": OPTEE_PLATFORM,
        "CRYPTO_LIBRARY": " ".join(filter(None, (_CRYPTO_LIBRARY[wanted.library], wanted.settings, FEATURES[feature]))),
        # Of two values of a setting make takes the last: the stack's.
        "OPTIMISATION": " ".join((_OPTIMISATION[optimisation], *stacked)),
        "MBEDTLS_OPTIONS": options,
        # Another release may need other files of it for TAs.
        **({} if used and used.tree else {"TA_MBEDTLS": "few"}),
    }


def optee_objects(implementation: str, optimisation: str, feature: str = "") -> Recipe:
    """OP-TEE OS with one crypto library, and all its objects; implementations that differ only in options share them.

    The options are those of the implementation that most suites use. Of that one's objects all others of a level keep
    what their settings leave the same; with another storage those of the same library, which its programs need anyway.
    """
    wanted = IMPLEMENTATIONS[implementation]
    sharing = [
        name
        for name, other in IMPLEMENTATIONS.items()
        if (other.library, other.settings) == (wanted.library, wanted.settings)
    ]
    first = APP_CORE if APP_CORE in sharing else sharing[0]
    is_first = (first, feature) == (APP_CORE, "")
    near = first if feature in _STORAGES else APP_CORE
    kept = _objects_of_the_lab(optimisation) if is_first else {"objects": optee_objects(near, optimisation)}
    return Recipe(
        name="-".join(filter(None, ("optee-objects", first, optimisation, feature))),
        script=_OPTEE,
        helpers=_OPTEE_HELPERS,
        outputs=(*_OUTPUTS, "objects.tar"),
        needs={"source": optee_source(), **kept},
        settings=_optee_settings(wanted, optimisation, feature, IMPLEMENTATIONS[first].options) | {"KEEP": "yes"},
    )


def _objects_of_the_lab(optimisation: str) -> dict[str, Recipe]:
    """What a stack's OP-TEE keeps of the lab's, if its source is the same: make looks at times, not at contents."""
    used = stack.current()
    if used is None or used.tree or used.patches:
        return {}
    with stack.used(None):
        return {"objects": optee_objects(APP_CORE, optimisation)}


def _own_settings(implementation: str, optimisation: str, feature: str = "") -> dict[str, str]:
    """The settings of one OP-TEE, of which its shared objects have all but the changes."""
    wanted = IMPLEMENTATIONS[implementation]
    settings = _optee_settings(wanted, optimisation, feature, wanted.options)
    # The shared objects are built without the changes: make then recompiles only what the changes touch.
    changes = (settings["OPTIMISATION"], wanted.changes, _FEATURE_CHANGES.get(feature, ""))
    return settings | {"OPTIMISATION": " ".join(filter(None, changes))}


def optee(implementation: str, optimisation: str, feature: str = "", notify: Callable[[str], None] = _silent) -> Recipe:
    """OP-TEE OS built one way: core, ldelf and TA dev kit. `feature` is one of FEATURES.

    What clang compiles is built here, since that is in another root; `notify` is called then.
    """
    settings = _own_settings(implementation, optimisation, feature)
    name = "-".join(filter(None, ("optee", implementation, optimisation, feature)))
    used = stack.current()
    if used and used.by_clang:
        made = clang.built(f"{name}-clang", optee_source(), settings, _OUTPUTS, notify)
        return Recipe(name, "optee-built.sh", _OUTPUTS, trees={"objects": made})
    objects = optee_objects(implementation, optimisation, feature)
    if settings | {"KEEP": "yes"} == objects.settings:
        # Nothing is left to compile. The image is one of its own all the same, since the objects are large.
        return Recipe(name, "optee-built.sh", _OUTPUTS, needs={"objects": objects})
    return Recipe(
        name,
        _OPTEE,
        _OUTPUTS,
        needs={"source": optee_source(), "objects": objects},
        settings=settings,
        helpers=_OPTEE_HELPERS,
    )


def whole_dev_kit(implementation: str, optimisation: str) -> Recipe:
    """An OP-TEE's TA dev kit with all of Mbed TLS, which a user's TA may be linked with; ours need four files of it."""
    settings = _own_settings(implementation, optimisation)
    if "TA_MBEDTLS" not in settings:
        return optee(implementation, optimisation)
    name, outputs = f"optee-devkit-{implementation}-{optimisation}", ("devkit.tar",)
    settings |= {"TA_MBEDTLS": "whole"}
    used = stack.current()
    if used and used.by_clang:
        made = clang.built(f"{name}-clang", optee_source(), settings, outputs)
        return Recipe(name, "optee-built.sh", outputs, trees={"objects": made})
    return Recipe(
        name=name,
        script=_OPTEE,
        outputs=outputs,
        needs={"source": optee_source(), "objects": optee_objects(implementation, optimisation)},
        settings=settings,
        helpers=_OPTEE_HELPERS,
    )


def dev_kit_of_32_bits(implementation: str, optimisation: str) -> Recipe:
    """An OP-TEE's dev kit for TAs of 32 bits, an image of its own. Raises WorldwiseError for a stack by clang."""
    used = stack.current()
    if used and used.by_clang:
        raise WorldwiseError(
            f"{used.origin}: optee.compiler: the lab's clang has no libraries for 32-bit Arm, which a TA of 32 bits is "
            "linked with.",
            "--ta-target ta_arm64, or compiler = 'gcc'",
        )
    return Recipe(
        name=f"optee-devkit32-{implementation}-{optimisation}",
        script=_OPTEE,
        outputs=("devkit.tar",),
        needs={"source": optee_source()},
        settings=_own_settings(implementation, optimisation) | {"TA_MBEDTLS": "whole", "TA_TARGET": TA_ARM32},
        helpers=_OPTEE_HELPERS,
    )


def core_library(implementation: str, optimisation: str) -> Recipe:
    """A core's crypto library for Linux, compiled as in the core, and the adapter that calls it.

    With a stack's own source or clang it is the lab's: another release has other files, and the target `linux` is
    refused then.
    """
    used = stack.current()
    if used and (used.tree or used.by_clang):
        with stack.used(None):
            return core_library(implementation, optimisation)
    adapter = IMPLEMENTATIONS[implementation].adapter
    return Recipe(
        name=f"core-library-{implementation}-{optimisation}",
        script="core-library.sh",
        outputs=("library.a", "adapter.o", "core.o"),
        trees={
            **guest_trees("attest.h", "entropy.h", f"{adapter}.c", "optee-shim", room="optee-libraries"),
            **guest_trees("calibrate.h", "region.h", room="bench"),
        },
        needs={"source": optee_source(), "optee": optee(implementation, optimisation)},
        settings={"ADAPTER": adapter},
    )


def with_core_library(programs: Recipe, implementation: str, optimisation: str) -> Recipe:
    """An app's programs, of which the one for Linux is linked with the core's crypto library."""
    return replace(
        programs,
        outputs=(*programs.outputs, "linux-bench"),
        trees={
            **programs.trees,
            **guest_trees("attest.h", "entropy.c", "entropy.h", room="optee-libraries"),
            **guest_trees("inputs"),
        },
        needs={**programs.needs, "core-library": core_library(implementation, optimisation)},
    )


def programs_common() -> Recipe:
    """The programs and objects that are the same bytes in every app's programs."""
    return Recipe(
        name="programs-common",
        script="programs-common.sh",
        helpers=(_APP_FLAGS,),
        outputs=("init", "faults", "symbols"),
        packages=("optee-client-dev",),
        trees=guest_trees("bench", "linux") | guest_trees("common", room="apps"),
    )


@functools.cache
def _app_trees(app: str) -> dict[str, Path]:
    return guest_trees("bench", "linux") | guest_trees("common", app, room="apps")


def app_programs(app: str, implementation: str, optimisation: str, feature: str = "") -> Recipe:
    """The programs of an app: its TA and client, built by the dev kit of a core, and its Linux program if it has one.

    `implementation` is OP-TEE's, or the library that the app's Linux program is linked with. A family whose TA can be
    linked with a library adds that in its images.py.
    """
    core = implementation if implementation in IMPLEMENTATIONS else APP_CORE
    if feature in _STORAGES:
        feature = ""
    wanted = APPS[app]
    special = f"app-{app}.sh"
    helpers = tuple(name for name in (special,) if recipe_file(name).exists())
    settings = {
        "APP": app,
        "IMPLEMENTATION": implementation,
        "OPTIMISATION": optimisation,
        "PARAMETERS": " ".join(parameters_of_program((OPTEE, LINUX), app)),
    }
    return Recipe(
        name="-".join(filter(None, (f"programs-{app}", implementation, optimisation, feature))),
        script="programs-app.sh",
        helpers=("unpacked.sh", "guest.sh", _APP_FLAGS, "unchecked-key.py", *helpers),
        outputs=("init", "faults", "symbols", "optee-client", f"{wanted.uuid}.ta", f"{wanted.uuid}.elf"),
        packages=("libteec2", "optee-client-dev", *wanted.packages),
        trees=_app_trees(app),
        needs={
            "optee": optee(core, optimisation, feature),
            "common": programs_common(),
            **unpacked(*wanted.sources),
        },
        settings=settings,
    )


def _initramfs_base() -> Recipe:
    """The files of Debian's packages in every machine's user space."""
    return Recipe(
        name="initramfs-base",
        script="initramfs-base.sh",
        outputs=("libc.so.6", "libteec.so.2", "tee-supplicant", "sha256sum"),
        # coreutils is for sha256sum, and the libraries after it are those it is linked with.
        packages=("libc6", "libteec2", "tee-supplicant", "coreutils", "libssl3t64", "libzstd1", "zlib1g"),
    )


def initramfs(app: str, programs: Recipe) -> Recipe:
    """The whole user space of a machine with an app's programs, from them and Debian's packages."""
    made = Recipe(
        name=programs.name.replace("programs-", "initramfs-", 1),
        script="initramfs.sh",
        outputs=("initramfs.cpio",),
        needs={"linux": kernel(), "programs": programs, "base": _initramfs_base()},
        settings={"TA": f"{APPS[app].uuid}.ta"},
    )
    return with_more_modules(made)


def net_initramfs(base: Recipe) -> Recipe:
    """The user space of `base` with the modules for a network card added."""
    made = Recipe(
        name=base.name.replace("initramfs-", "initramfs-net-", 1),
        script="initramfs-net.sh",
        outputs=base.outputs,
        needs={"initramfs": base, "linux-net": kernel_net()},
    )
    return with_more_modules(made, network=True)
