# SPDX-License-Identifier: BSD-2-Clause
"""Images: everything a machine is made of, built in the lab and addressed by the digest of what went in.

A recipe is a shell script with named inputs. Its address is the SHA-256 of the lab's digest, the script, and the
digests of all inputs, so an image is built once and the second time nothing is. An image's own files are listed with
their digests when it is made, and checked against that list when it is used.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from filelock import FileLock

from worldwise.base import files, paths
from worldwise.base.errors import DoesNotFitError, WorldwiseError
from worldwise.lab import debian, sandbox
from worldwise.lab.lab import Bind, Lab, end_of
from worldwise.libraries import apps
from worldwise.libraries.apps import APPS
from worldwise.libraries.implementation import IMPLEMENTATIONS, Implementation

RECIPES = paths.RECIPES
MANIFEST = "image.json"
_FORMAT = 1
# Of image.json, which names every file, and of one file.
MOST_MANIFEST = 16 * 2**20
_MOST_FILE = 16 * 2**30
_NOT_OURS = "if the measured library is your own, its sources have changed how the build goes"


# How a fetch script says that it got something else than what is pinned.
OTHER_CONTENT = 65


@dataclass(frozen=True)
class Fetch:
    """What a recipe needs that no lock of the lab names: a script that has the network and runs first.

    Attributes:
        script: like the recipe's own; it leaves what it fetched, verified, in /build, or ends with OTHER_CONTENT.
        what: what it fetches and whence, for the message when it cannot.
        hint: the way out then.
    """

    script: str
    what: str
    hint: str


@dataclass(frozen=True)
class Recipe:
    """How one image is made.

    Attributes:
        name: what it is, as shown to people and used as the name of its input elsewhere.
        script: a shell script of the recipes folder. It runs in the lab in an empty /build, sees its inputs below /in,
            and puts what it makes into /out.
        outputs: files that must then be there, relative to /out.
        sources: locked source packages: their files appear in /in/<name>/.
        packages: locked packages of the architecture: each appears as /in/<name>.deb.
        trees: folders and files of the repository, seen as /in/<name>.
        needs: other images, seen as /in/<their name without its variant>.
        settings: environment variables of the script.
        fetch: what runs before the script, with the network; the script itself never has one.
        helpers: other files of the recipes folder that the script calls.
        architecture: Debian's name of that of the packages.
    """

    name: str
    script: str
    outputs: tuple[str, ...]
    sources: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    trees: Mapping[str, Path] = field(default_factory=dict)
    needs: Mapping[str, "Recipe"] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    fetch: Fetch | None = None
    helpers: tuple[str, ...] = ()
    architecture: str = "arm64"

    def __post_init__(self) -> None:
        # Folder and log have the name in theirs, and some of it may be a stranger's.
        problem = files.name_problem(f"{self.name}-{'0' * 12}")
        if problem:
            raise WorldwiseError(f"an image cannot have this name: {problem}.")

    def digest(self, lab: Lab) -> str:
        """The image's address: 64 hexadecimal digits over all that goes in."""
        inputs = {
            "format": _FORMAT,
            "name": self.name,
            "lab": lab.digest,
            "script": debian.file_sha256(RECIPES / self.script),
            "common": debian.file_sha256(RECIPES / "common.sh"),
            "outputs": self.outputs,
            "sources": {name: [file.sha256 for file in lab.source(name).files] for name in self.sources},
            "packages": {name: lab.package(name, self.architecture).sha256 for name in self.packages},
            "trees": {name: tree_digest(path) for name, path in self.trees.items()},
            "needs": {name: recipe.digest(lab) for name, recipe in self.needs.items()},
            "settings": dict(self.settings),
        }
        if self.helpers:
            inputs["helpers"] = [debian.file_sha256(RECIPES / name) for name in self.helpers]
        if self.fetch is not None:
            inputs["fetch"] = debian.file_sha256(RECIPES / self.fetch.script)
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Image:
    """A built image: its address, where it is, and its files with their SHA-256."""

    name: str
    digest: str
    directory: Path
    files: Mapping[str, str]

    def file(self, name: str) -> Path:
        """The path of one of its files."""
        return self.directory / name

    def sizes(self, name: str, *keys: str) -> dict[str, int]:
        """Sizes in bytes from a file of JSON that a build, perhaps of foreign code, has left.

        `keys` lead to them. Raises WorldwiseError, DoesNotFitError with what is too small if it says that instead.
        """
        path = self.file(name)
        try:
            found = files.parse_json(files.read_bytes(path, MOST_MANIFEST, self.directory))
            for key in keys:
                if isinstance(found.get("problem"), str):
                    raise DoesNotFitError(files.quoted(found["problem"], 1000))
                found = found[key]
            if not all(type(size) is int and 0 <= size < 2**63 for size in found.values()):
                raise ValueError("it has something else than sizes")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            problem = files.quoted(getattr(error, "strerror", None) or str(error))
            raise WorldwiseError(f"{path}: is not what a build leaves: {problem}.", _NOT_OURS) from error
        return dict(found)


class ImageStore:
    """The images of one lab in the user's cache.

    Args:
        lab: builds and is part of every address.
        notify: called with a line of text when a build begins ("building") or ends ("built").
    """

    def __init__(self, lab: Lab, notify: Callable[[str], None] = lambda _: None) -> None:
        self.lab = lab
        self.directory = lab.cache / "images"
        self.notify = notify
        self._checked: dict[str, Image] = {}
        self._named: dict[str, Image] = {}

    def once(self, name: str, recipe: Callable[[], Recipe]) -> Image:
        """The image of a recipe whose inputs take long to digest: made out for the first who asks by this name.

        Raises WorldwiseError as `get` does.
        """
        if name not in self._named:
            self._named[name] = self.get(recipe())
        return self._named[name]

    def get(self, recipe: Recipe) -> Image:
        """The image of a recipe, built if it is not there, built anew if it is damaged.

        Safe for threads and for runs side by side: one builds, the others wait for it. Raises WorldwiseError with the
        end of the build's log.
        """
        digest = recipe.digest(self.lab)
        if digest in self._checked:
            return self._checked[digest]
        image, problem = self._load(recipe, digest)
        if image is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            # Every caller opens the lock file anew, so it keeps threads apart as it does processes.
            with FileLock(self.directory / f".{digest[:12]}.lock"):
                image, problem = self._load(recipe, digest)
                if image is None:
                    if problem:
                        self.notify(f"{recipe.name}: {problem}; building it anew")
                    self._build(recipe, digest)
                    image, problem = self._load(recipe, digest)
        if image is None:
            raise WorldwiseError(
                f"image {recipe.name} is damaged right after its build: {problem}",
                "check the disk that holds the cache",
            )
        self._checked[digest] = image
        return image

    def _path(self, recipe: Recipe, digest: str) -> Path:
        return self.directory / f"{recipe.name}-{digest[:12]}"

    def _load(self, recipe: Recipe, digest: str) -> tuple[Image | None, str]:
        """The image if it is there and whole; else None and, if it is there, what is wrong with it."""
        directory = self._path(recipe, digest)
        try:
            manifest = files.parse_json(files.read_bytes(directory / MANIFEST, MOST_MANIFEST, directory))
            listed: dict[str, str] = manifest["files"]
            if manifest["digest"] != digest:
                return None, f"{directory / MANIFEST} names another digest"
        except FileNotFoundError:
            return None, ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            return None, f"{directory / MANIFEST} cannot be read ({error})"
        problem = check_files(directory, listed)
        return (None, problem) if problem else (Image(recipe.name, digest, directory, listed), "")

    def _build(self, recipe: Recipe, digest: str) -> None:
        # Before a folder of its own is made: an image that this one needs may have to be built first.
        needs: list[Bind] = [(self.get(need).directory, f"/in/{name}", "ro") for name, need in recipe.needs.items()]
        final = self._path(recipe, digest)
        # One for each address: two versions of a recipe may be built at the same time.
        log = self.directory / f"{final.name}.log"
        log.unlink(missing_ok=True)
        self.notify(f"building {recipe.name}")
        debian.require_space(self.directory, 500_000_000, f"building {recipe.name}")
        what = f"the build of {recipe.name}"
        with sandbox.scratch(self.lab.cache) as work:
            inputs = [*needs, *self._inputs(recipe, work / "in")]
            out, build = work / "out", work / "build"
            out.mkdir()
            build.mkdir()
            writable: list[Bind] = [(build, "/build", "rw")]
            if recipe.fetch is not None:
                self._fetch(recipe, recipe.fetch, [*inputs, *writable], log)
            self.lab.run(
                ["bash", "-e", f"/in/recipes/{recipe.script}"],
                binds=[*inputs, *writable, (out, "/out", "rw")],
                chdir="/build",
                env=recipe.settings,
                log=log,
                timeout=1800,
            )
            made = work / "made"
            taken = sandbox.take_tree(out, made, sandbox.BUILD.disk, what)
            absent = [name for name in recipe.outputs if name not in taken]
            if absent:
                raise WorldwiseError(f"{what} did not make {', '.join(absent)}", f"see {log}")
            manifest = {
                "format": _FORMAT,
                "name": recipe.name,
                "digest": digest,
                "files": {name: debian.file_sha256(made / name) for name in taken if name != MANIFEST},
            }
            (made / MANIFEST).unlink(missing_ok=True)
            (made / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
            if final.exists():
                sandbox.remove_tree(final)
            made.rename(final)
        self.notify(f"built {recipe.name}")

    def _inputs(self, recipe: Recipe, folder: Path) -> list[Bind]:
        """What a recipe declares, and nothing else: of the cache as it is there, of the repository as a copy.

        A copy cannot change while the build reads it, and may be read by whoever the build is.
        """
        inputs: list[Bind] = []
        for name in recipe.sources:
            inputs += [(path, f"/in/{name}/{file}", "ro") for file, path in self.lab.source_files(name).items()]
        for name in recipe.packages:
            inputs.append((self.lab.package_file(name, recipe.architecture), f"/in/{name}.deb", "ro"))
        scripts = (recipe.script, "common.sh", *recipe.helpers, *((recipe.fetch.script,) if recipe.fetch else ()))
        trees = {f"recipes/{name}": RECIPES / name for name in scripts} | dict(recipe.trees)
        for number, (name, path) in enumerate(trees.items()):
            if not path.resolve().is_relative_to(self.lab.cache):
                copy = folder / str(number)
                sandbox.copy_in(path, copy, lambda name: name == "__pycache__")
                path = copy
            inputs.append((path, f"/in/{name}", "ro"))
        return inputs

    def _fetch(self, recipe: Recipe, fetch: Fetch, binds: list[Bind], log: Path) -> None:
        result = self.lab.run(
            ["bash", "-e", f"/in/recipes/{fetch.script}"],
            binds=binds,
            chdir="/build",
            env=recipe.settings,
            network=True,
            log=log,
            timeout=600,
            check=False,
        )
        if result.returncode != 0:
            tail = "\n".join(end_of(log).splitlines()[-15:])
            problem = "is not what was pinned" if result.returncode == OTHER_CONTENT else "could not be fetched"
            raise WorldwiseError(f"{fetch.what} {problem}", fetch.hint, tail)


def check_files(directory: Path, listed: Mapping[str, str]) -> str:
    """Empty if every file (name -> SHA-256) is there and unchanged, else what is wrong, in a few words.

    A link is wrong, wherever it leads.
    """
    if not isinstance(listed, Mapping):
        return f"{directory}: its manifest names no files"
    for name, expected in listed.items():
        problem = files.path_problem(name)
        if problem:
            return problem
        try:
            if files.sha256(directory / name, _MOST_FILE, directory)[1] != expected:
                return f"{directory / name} has changed since it was made"
        except OSError as error:
            return f"{directory / name}: {error.strerror}"
    return ""


def tree_digest(directory: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder; times and modes leave no trace.

    A single file in a folder's place has that of its content.
    """
    if directory.is_file():
        return debian.file_sha256(directory)
    total = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(f"{path.relative_to(directory)}\0{debian.file_sha256(path)}\n".encode())
    return total.hexdigest()


# --- what the machines are made of ---

# Raised or changed here, these are part of the images' addresses.
OPTEE_PLATFORM = "vexpress-qemu_armv8a"
ATTEST_TA = apps.ATTEST_TA
# The core under an app whose own library is what is measured.
APP_CORE = "mbedtls-nist"
KERNEL_PACKAGE = "linux-image-cloud-arm64"

# What choosing the library takes in OP-TEE's build.
_CRYPTO_LIBRARY = {
    "libtomcrypt": "",
    "mbedtls": "CFG_CRYPTOLIB_NAME=mbedtls CFG_CRYPTOLIB_DIR=lib/libmbedtls",
}
# And each optimisation level. OP-TEE adds -Os to libtomcrypt's own flags unless it is told not to.
_OPTIMISATION = {
    "Os": "CFG_CC_OPT_LEVEL=s",
    "O2": "CFG_CC_OPT_LEVEL=2 CFG_CRYPTO_SIZE_OPTIMIZATION=n",
}


def firmware(ticks_in_both_worlds: bool = False) -> Recipe:
    """TF-A: one for all variants, since its later stages are loaded by name when the machine starts.

    Its dispatcher for OP-TEE stops Linux's timer while the secure world runs, so that no tick interrupts a TA;
    with `ticks_in_both_worlds` it is built not to.
    """
    return Recipe(
        name="tf-a-ticks" if ticks_in_both_worlds else "tf-a",
        script="tf-a.sh",
        outputs=("bl1.bin", "bl2.bin", "bl31.bin", "bl31.elf"),
        sources=("arm-trusted-firmware",),
        settings={"SETTINGS": "NS_TIMER_SWITCH=0"} if ticks_in_both_worlds else {},
    )


def kernel() -> Recipe:
    """Debian's arm64 cloud kernel and its TEE modules."""
    return Recipe(
        name="linux",
        script="linux.sh",
        outputs=("Image", "tee.ko", "optee.ko"),
        packages=(KERNEL_PACKAGE,),
    )


def plugin() -> Recipe:
    """The emulator's plugin, which counts regions and follows stacks."""
    return Recipe(
        name="plugin",
        script="plugin.sh",
        outputs=("worldwise.so",),
        sources=("qemu",),
        trees={"plugin": paths.PLUGIN / "worldwise"},
    )


def cut_plugin() -> Recipe:
    """The emulator's plugin that ends it in the midst of a write."""
    return Recipe(
        name="cut",
        script="cut.sh",
        outputs=("cut.so",),
        sources=("qemu",),
        trees={"cut.c": paths.PLUGIN / "cut.c"},
    )


def unpacked(package: str) -> Recipe:
    """A locked source package, with Debian's changes if they are locked too, as an archive that is not compressed."""
    return Recipe(
        name=f"unpacked-{package}",
        script="unpack.sh",
        helpers=("packages.sh",),
        outputs=("source.tar",),
        sources=(package,),
        settings={"PACKAGES": package},
    )


def optee_source() -> Recipe:
    """OP-TEE OS with Debian's patches and ours, as one archive."""
    return Recipe(
        name="optee-source",
        script="optee-source.sh",
        outputs=("source.tar",),
        sources=("optee-os",),
        trees={"patches": paths.PATCHES / "optee-os"},
    )


def _optee_settings(wanted: Implementation, optimisation: str, feature: str) -> dict[str, str]:
    return {
        "PLATFORM": OPTEE_PLATFORM,
        "CRYPTO_LIBRARY": " ".join(filter(None, (_CRYPTO_LIBRARY[wanted.library], wanted.settings, FEATURES[feature]))),
        "OPTIMISATION": _OPTIMISATION[optimisation],
    }


# What an operation may need of OP-TEE beside the variant: make settings by name.
FEATURES = {
    "": "",
    # The emulated device of tee-supplicant, written with a key that everybody knows. With both storages OP-TEE keeps
    # the hash of the REE file system's directory in RPMB.
    "rpmb": "CFG_RPMB_FS=y CFG_RPMB_TESTKEY=y CFG_RPMB_WRITE_KEY=y CFG_RPMB_FS_DEV_ID=0",
}


def optee_objects(implementation: str, optimisation: str, feature: str = "") -> Recipe:
    """All objects of OP-TEE OS with one crypto library: what implementations that differ in options alone share."""
    wanted = IMPLEMENTATIONS[implementation]
    # The first of those that share them gives the name.
    name = next(
        name
        for name, other in IMPLEMENTATIONS.items()
        if (other.library, other.settings) == (wanted.library, wanted.settings)
    )
    return Recipe(
        name="-".join(filter(None, ("optee-objects", name, optimisation, feature))),
        script="optee.sh",
        outputs=("objects.tar.gz",),
        needs={"source": optee_source()},
        settings=_optee_settings(wanted, optimisation, feature),
    )


def optee(implementation: str, optimisation: str, feature: str = "") -> Recipe:
    """OP-TEE OS built one way: core, ldelf and TA dev kit. `feature` is one of FEATURES."""
    wanted = IMPLEMENTATIONS[implementation]
    settings = _optee_settings(wanted, optimisation, feature)
    # Not for the objects that are shared: make sees what the changes touch and recompiles it.
    settings["OPTIMISATION"] = f"{settings['OPTIMISATION']} {wanted.changes}".strip()
    return Recipe(
        name="-".join(filter(None, ("optee", implementation, optimisation, feature))),
        script="optee.sh",
        outputs=("bl32.bin", "bl32_extra1.bin", "bl32_extra2.bin", "tee.elf", "ldelf.elf", "devkit.tar", "flags.tar"),
        needs={"source": optee_source(), "objects": optee_objects(implementation, optimisation, feature)},
        settings=settings | {"MBEDTLS_OPTIONS": wanted.options},
    )


# The adapters for OP-TEE's own libraries, and what is between them and the scenarios.
_ADAPTERS = sorted(path for path in (paths.GUEST / "ops").iterdir() if path.is_file())


def guest_trees(*names: str, room: str = "") -> dict[str, Path]:
    """Rooms of guest/, or files of one, as a recipe's trees: what is not named does not make an image another one."""
    return {f"guest/{Path(room, name)}": paths.GUEST / room / name for name in names}


def programs(implementation: str, optimisation: str) -> Recipe:
    """The measured programs: the TA and its client, the same library as a Linux program, and the first process."""
    return Recipe(
        name=f"programs-{implementation}-{optimisation}",
        script="programs.sh",
        outputs=("init", "faults", "symbols", "optee-client", "linux-bench", f"{ATTEST_TA}.ta", f"{ATTEST_TA}.elf"),
        packages=("libteec2", "optee-client-dev"),
        trees=guest_trees("bench", "linux", "optee") | guest_trees(*(path.name for path in _ADAPTERS), room="ops"),
        needs={"source": optee_source(), "optee": optee(implementation, optimisation)},
        settings={"ADAPTER": IMPLEMENTATIONS[implementation].adapter},
    )


def initramfs(implementation: str, optimisation: str) -> Recipe:
    """The measured machine's whole user space, from Debian's packages and our programs."""
    return Recipe(
        name=f"initramfs-{implementation}-{optimisation}",
        script="initramfs.sh",
        outputs=("initramfs.cpio",),
        # sha256sum is of coreutils; the libraries behind it are what it is linked with.
        packages=("libc6", "libteec2", "tee-supplicant", "coreutils", "libssl3t64", "libzstd1", "zlib1g"),
        needs={"linux": kernel(), "programs": programs(implementation, optimisation)},
        settings={"TA": f"{ATTEST_TA}.ta"},
    )


@functools.cache
def _app_trees(app: str) -> dict[str, Path]:
    # Of other rooms what the bench includes: no library's adapter makes an app another one.
    included = guest_trees("attest.h", room="ops") | guest_trees("semihost_call.h", room="mcu")
    return guest_trees("bench", "linux") | included | guest_trees("common", app, room="apps")


def app_programs(
    app: str, implementation: str, optimisation: str, feature: str = "", base: Recipe | None = None
) -> Recipe:
    """The programs of an app: its TA and client, built by the dev kit of a core, and its Linux program if it has one.

    An app without a TA of its own has that of `base`.

    `implementation` is OP-TEE's or, of an app whose Linux program is linked with a library, that library's. For an app
    whose TA can be linked with one see `worldwise.libraries.own.crypto_programs`.
    """
    core = implementation if implementation in IMPLEMENTATIONS else APP_CORE
    wanted = APPS[app]
    special = f"app-{app}.sh"
    helpers = tuple(name for name in (special,) if (RECIPES / name).exists())
    return Recipe(
        name="-".join(filter(None, (f"programs-{app}", implementation, optimisation, feature))),
        script="programs-app.sh",
        helpers=("packages.sh", "bench-parameters.sh", *helpers),
        outputs=("init", "faults", "symbols", "optee-client", f"{wanted.uuid}.ta", f"{wanted.uuid}.elf"),
        packages=("libteec2", "optee-client-dev", *wanted.packages),
        sources=wanted.sources,
        trees=_app_trees(app) | (guest_trees("attest_ta.h", room="ops") if base else {}),
        needs={"optee": optee(core, optimisation, feature)} | ({"base": base} if base else {}),
        settings={"APP": app, "IMPLEMENTATION": implementation, "OPTIMISATION": optimisation}
        | ({"PACKAGES": " ".join(wanted.sources)} if wanted.sources else {}),
    )


def app_initramfs(app: str, built: Recipe) -> Recipe:
    """The user space of the machine that has an app's programs; `built` makes these."""
    return replace(
        initramfs("mbedtls-nist", "O2"),
        name=built.name.replace("programs-", "initramfs-", 1),
        needs={"linux": kernel(), "programs": built},
        settings={"TA": f"{APPS[app].uuid}.ta"},
    )


def kernel_net() -> Recipe:
    """The kernel's modules for an emulated network card."""
    return Recipe(
        name="linux-net",
        script="linux-net.sh",
        outputs=("failover.ko", "net_failover.ko", "virtio_net.ko"),
        packages=(KERNEL_PACKAGE,),
    )


def net_initramfs(base: Recipe) -> Recipe:
    """The user space of another machine, and the modules for a network card."""
    return Recipe(
        name=base.name.replace("initramfs-", "initramfs-net-", 1),
        script="initramfs-net.sh",
        outputs=base.outputs,
        needs={"initramfs": base, "linux-net": kernel_net()},
    )


def debug_symbols() -> Recipe:
    """What names the functions of packaged libraries: BUILD-ID.debug for each that has it."""
    return Recipe(
        name="debug-symbols",
        script="debug-symbols.sh",
        outputs=("build-ids",),
        packages=("libc6", "libc6-dbg"),
    )
