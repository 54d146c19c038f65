# SPDX-License-Identifier: BSD-2-Clause
"""Images: the files a machine is made of, built in the lab and addressed by the digest of their inputs.

A recipe is a shell script with named inputs. Its address is the SHA-256 of the lab's digest, the script, and the
digests of all inputs, so each image is built only once. A build lists the image's files with their digests, and each
use checks them against that list.
"""

import contextlib
import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from worldwise.base import files, paths
from worldwise.base.disk import require_space
from worldwise.base.errors import DoesNotFitError, WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.base.json_model import parse_json
from worldwise.base.progress_notes import Begun, Done
from worldwise.lab.cache_locks import mark_used
from worldwise.lab.lab import Lab
from worldwise.lab.recent_hashes import Recent, sha256_once, stat_of
from worldwise.lab.sandbox.file_copies import copy_in, take_tree
from worldwise.lab.sandbox.lent_folders import scratch
from worldwise.lab.sandbox.limits import BUILD
from worldwise.lab.sandbox.network import Bind
from worldwise.lab.sandbox.processes import log_end
from worldwise.lab.shared_store.store import Shared

RECIPES = paths.RECIPES
MANIFEST = "image.json"
_FORMAT = 1
# The most bytes of image.json, which names every file, and of one file.
MOST_MANIFEST = 16 * 2**20
_MOST_FILE = 16 * 2**30
_NOT_OURS = "if the measured library is your own, its sources have changed how the build goes"


# Exit status of a fetch script that got something else than what is pinned.
OTHER_CONTENT = 65


def recipe_file(name: str) -> Path:
    """A file of the recipes folder, in whichever of its folders it is: a build sees all of its own in one."""
    return _recipe_file(RECIPES, name)


@functools.cache
def _recipe_file(folder: Path, name: str) -> Path:
    return next(iter(sorted(folder.glob(f"*/{name}"))), folder / name)


@dataclass(frozen=True)
class Crate:
    """A crate by name and version; `sha256` is that of its .crate file."""

    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The name that cargo gives its file."""
        return f"{self.name}-{self.version}.crate"


@dataclass(frozen=True)
class Fetch:
    """A script that runs before the recipe's own, with the network, and fetches what no lock of the lab names.

    Attributes:
        script: a shell script of the recipes folder; it verifies what it fetched and leaves it in /build, or ends with
            OTHER_CONTENT.
        what: what it fetches and from where, for the message if it fails.
        hint: the way out if it fails.
        crate: the one crate that the script leaves unpacked in a folder of its name, if it is that; then the script
            does not run if the crate's file is there already, or a second source has it.
    """

    script: str
    what: str
    hint: str
    crate: Crate | None = None


@dataclass(frozen=True)
class Recipe:
    """How one image is made.

    Attributes:
        name: the image's name, as shown to people.
        script: a shell script of the recipes folder. It runs in the lab in an empty /build, sees its inputs below /in,
            and puts what it makes into /out.
        outputs: files that it must make, relative to /out.
        sources: locked source packages: their files appear in /in/<name>/.
        packages: locked packages of the architecture: each appears as /in/<name>.deb.
        trees: folders and files of the repository by name: each appears as /in/<name>.
        needs: other images by name: each appears as /in/<name>.
        settings: environment variables of the script.
        fetch: what runs before the script, with the network; the script itself never has the network.
        helpers: other files of the recipes folder that the script calls.
        architecture: Debian's name of the packages' architecture.
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
        # The name becomes part of file names, and a stranger may have chosen some of it.
        problem = files.name_problem(f"{self.name}-{'0' * 12}")
        if problem:
            raise WorldwiseError(f"an image cannot have this name: {problem}.")

    def digest(self, lab: Lab) -> str:
        """The image's address: 64 hexadecimal digits over all inputs."""
        inputs = {
            "format": _FORMAT,
            "name": self.name,
            "lab": lab.digest,
            "script": _once(recipe_file(self.script)),
            "common": _once(recipe_file("common.sh")),
            "outputs": self.outputs,
            "sources": {name: [file.sha256 for file in lab.source(name).files] for name in self.sources},
            "packages": {name: lab.package(name, self.architecture).sha256 for name in self.packages},
            "trees": {name: tree_digest(path) for name, path in self.trees.items()},
            "needs": {name: recipe.digest(lab) for name, recipe in self.needs.items()},
            "settings": dict(self.settings),
        }
        if self.helpers:
            inputs["helpers"] = [_once(recipe_file(name)) for name in self.helpers]
        if self.fetch is not None:
            inputs["fetch"] = _once(recipe_file(self.fetch.script))
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
        """Sizes in bytes from a JSON file that a build, perhaps of a stranger's code, has left.

        `keys` lead to them. Raises WorldwiseError for a bad file, DoesNotFitError if the file says that the program
        is too large.
        """
        path = self.file(name)
        try:
            found = parse_json(files.read_bytes(path, MOST_MANIFEST, self.directory))
            for key in keys:
                if isinstance(found.get("problem"), str):
                    raise DoesNotFitError(files.quoted(found["problem"], 1000))
                found = found[key]
            if not all(type(size) is int and 0 <= size < 2**63 for size in found.values()):
                raise ValueError("it has values that are not sizes")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            problem = files.quoted(getattr(error, "strerror", None) or str(error))
            raise WorldwiseError(f"{path}: is not a build's output: {problem}.", _NOT_OURS) from error
        return dict(found)


class ImageStore:
    """The images of one lab in the user's cache.

    Args:
        lab: builds the images; its digest is part of every address.
        notify: called with a line of text when a build begins (Begun) or ends (Done), and of other events.
    """

    def __init__(self, lab: Lab, notify: Callable[[str], None] = lambda _: None) -> None:
        self.lab = lab
        self.directory = lab.cache / "images"
        self.notify = notify
        self._shared = Shared(notify)
        self._checked: dict[str, Image] = {}
        self._named: dict[str, Image] = {}

    def once(self, name: str, recipe: Callable[[], Recipe]) -> Image:
        """The image of a recipe whose inputs take long to digest: only the first call with this name calls `recipe`.

        Raises WorldwiseError as `get` does.
        """
        if name not in self._named:
            self._named[name] = self.get(recipe())
        return self._named[name]

    def get(self, recipe: Recipe) -> Image:
        """The image of a recipe, built if it is not there, built anew if it is damaged.

        Safe for threads and for parallel runs: one builds, the others wait for it. Raises WorldwiseError with the
        end of the build's log.
        """
        return self._get(recipe, recipe.digest(self.lab))

    def _get(self, recipe: Recipe, digest: str) -> Image:
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
                    if problem or not self._taken(recipe, digest):
                        self._build(recipe, digest)
                        path = self._path(recipe, digest)
                        self._shared.give("images", path.name, path)
                    image, problem = self._load(recipe, digest)
        if image is None:
            raise WorldwiseError(
                f"image {recipe.name} is damaged right after the build: {problem}",
                "check the disk that holds the cache",
            )
        mark_used(image.directory)
        self._checked[digest] = image
        return image

    def get_all(self, recipes: Sequence[Recipe]) -> list[Image]:
        """The images of several recipes; those that are not built yet are built at the same time. Raises as `get`."""
        digests = [recipe.digest(self.lab) for recipe in recipes]
        if sum(not self._path(*one).exists() for one in zip(recipes, digests, strict=True)) < 2:
            return list(map(self._get, recipes, digests))
        self._fetch_sources(recipes)
        with ThreadPoolExecutor(len(recipes), "image") as pool:
            try:
                return list(pool.map(self._get, recipes, digests))
            except KeyboardInterrupt:
                # Who leaves the pool waits for all builds, and they may take minutes.
                self.lab.stop()
                raise

    def _path(self, recipe: Recipe, digest: str) -> Path:
        return self.directory / f"{recipe.name}-{digest[:12]}"

    def _taken(self, recipe: Recipe, digest: str) -> bool:
        """Whether the image came from what machines share."""

        def problem(copy: Path) -> str:
            image, wrong = self._read(recipe, digest, copy)
            return wrong or ("" if image else "it has no manifest")

        final = self._path(recipe, digest)
        taken = self._shared.take("images", final.name, final, problem)
        if taken:
            self.notify(f"took {recipe.name} from {self._shared.place}")
        return taken

    def _load(self, recipe: Recipe, digest: str) -> tuple[Image | None, str]:
        """The image if it is there and intact; else None and, if it is there, what is wrong with it."""
        return self._read(recipe, digest, self._path(recipe, digest))

    def _read(self, recipe: Recipe, digest: str, directory: Path) -> tuple[Image | None, str]:
        try:
            manifest = parse_json(files.read_bytes(directory / MANIFEST, MOST_MANIFEST, directory))
            listed: dict[str, str] = manifest["files"]
            if manifest["digest"] != digest:
                return None, f"{directory / MANIFEST} names another digest"
        except FileNotFoundError:
            return None, ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            return None, f"{directory / MANIFEST} cannot be read ({error})"
        problem = check_files(directory, listed, self.lab.recent)
        return (None, problem) if problem else (Image(recipe.name, digest, directory, listed), "")

    def _build(self, recipe: Recipe, digest: str) -> None:
        self._fetch_sources([recipe])
        # Before this image's folder is made: an image that it needs may have to be built first.
        needed = zip(recipe.needs, self.get_all(list(recipe.needs.values())), strict=True)
        needs: list[Bind] = [(need.directory, f"/in/{name}", "ro") for name, need in needed]
        final = self._path(recipe, digest)
        # One log for each address: two versions of a recipe may be built at the same time.
        log = self.directory / f"{final.name}.log"
        log.unlink(missing_ok=True)
        self.notify(Begun(f"building {recipe.name}", "build", recipe.name))
        require_space(self.directory, 500_000_000, f"building {recipe.name}")
        what = f"the build of {recipe.name}"
        with scratch(self.lab.cache, wait=False) as work:
            inputs = [*needs, *self._inputs(recipe, work / "in")]
            out, build = work / "out", work / "build"
            out.mkdir()
            build.mkdir()
            writable: list[Bind] = [(build, "/build", "rw")]
            if recipe.fetch is not None:
                crate = recipe.fetch.crate
                kept = crate and self.lab.store.crate(crate.sha256)
                if crate and kept:
                    _unpack(crate, kept, build)
                else:
                    self._fetch(recipe, recipe.fetch, build, [*inputs, *writable], log)
            self.lab.run(
                ["bash", "-e", f"/in/recipes/{recipe.script}"],
                binds=[*inputs, *writable, (out, "/out", "rw")],
                chdir="/build",
                env=recipe.settings,
                log=log,
                timeout=1800,
            )
            made = work / "made"
            taken = take_tree(out, made, BUILD.disk, what)
            absent = [name for name in recipe.outputs if name not in taken]
            if absent:
                raise WorldwiseError(f"{what} did not make {', '.join(absent)}", f"see {log}")
            manifest = {
                "format": _FORMAT,
                "name": recipe.name,
                "digest": digest,
                "files": {name: file_sha256(made / name) for name in taken if name != MANIFEST},
            }
            (made / MANIFEST).unlink(missing_ok=True)
            (made / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
            if final.exists():
                files.remove(self.directory, final.name)
            made.rename(final)
        self.notify(Done(f"built {recipe.name}", "build", recipe.name))

    def _fetch_sources(self, recipes: Sequence[Recipe]) -> None:
        """Download what the builds of these images and of those that they need lack; one line announces it all."""
        unbuilt = list({each.name: each for recipe in recipes for each in self.unbuilt(recipe)}.values())
        packages = [(name, each.architecture) for each in unbuilt for name in each.packages]
        self.lab.fetch_some([name for each in unbuilt for name in each.sources], packages, recipes[-1].name)

    def unbuilt(self, recipe: Recipe) -> Iterator[Recipe]:
        """A recipe, and those that it needs, if they have no image yet."""
        if not self._path(recipe, recipe.digest(self.lab)).exists():
            yield recipe
            for need in recipe.needs.values():
                yield from self.unbuilt(need)

    def _inputs(self, recipe: Recipe, folder: Path) -> list[Bind]:
        """The inputs that a recipe declares, and nothing else: from the cache in place, from the repository as copies.

        A copy cannot change while the build reads it, and the build's user may read it.
        """
        inputs: list[Bind] = []
        for name in recipe.sources:
            inputs += [(path, f"/in/{name}/{file}", "ro") for file, path in self.lab.source_files(name).items()]
        for name in recipe.packages:
            inputs.append((self.lab.package_file(name, recipe.architecture), f"/in/{name}.deb", "ro"))
        scripts = (recipe.script, "common.sh", *recipe.helpers, *((recipe.fetch.script,) if recipe.fetch else ()))
        trees = {f"recipes/{name}": recipe_file(name) for name in scripts} | dict(recipe.trees)
        for number, (name, path) in enumerate(trees.items()):
            if not path.resolve().is_relative_to(self.lab.cache):
                copy = folder / str(number)
                copy_in(path, copy, lambda name: name == "__pycache__")
                path = copy
            inputs.append((path, f"/in/{name}", "ro"))
        return inputs

    def crate_file(self, recipe: Recipe) -> Path:
        """The .crate file that a recipe unpacks, fetched if need be. Raises WorldwiseError."""
        fetch = recipe.fetch
        assert fetch is not None
        assert fetch.crate is not None
        kept = self.lab.store.crate(fetch.crate.sha256)
        if kept is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            with scratch(self.lab.cache) as work:
                build = work / "build"
                build.mkdir()
                inputs = [*self._inputs(recipe, work / "in"), (build, "/build", "rw")]
                self._fetch(recipe, fetch, build, inputs, self.directory / f"{recipe.name}.log")
            kept = self.lab.store.crate(fetch.crate.sha256)
        if kept is None:
            raise WorldwiseError(f"{fetch.what} could not be kept", fetch.hint)
        return kept

    def _fetch(self, recipe: Recipe, fetch: Fetch, build: Path, binds: Sequence[Bind], log: Path) -> None:
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
            tail = "\n".join(log_end(log).splitlines()[-15:])
            problem = "could not be fetched"
            if result.returncode == OTHER_CONTENT:
                came = [file_sha256(path) for path in build.glob("cargo/registry/cache/*/*.crate")]
                problem = "differs from what is pinned" + "".join(f": the received SHA-256 is {it}" for it in came)
            raise WorldwiseError(f"{fetch.what} {problem}", fetch.hint, tail)
        if fetch.crate is not None:
            for path in build.glob(f"cargo/registry/cache/*/{fetch.crate.file}"):
                # Without it, the next root that needs the crate fetches it again.
                with contextlib.suppress(OSError):
                    self.lab.store.keep_crate(path, build, fetch.crate.sha256)


def _unpack(crate: Crate, file: Path, build: Path) -> None:
    """Leave in a build's folder what a fetch script leaves there; the crate is the one that the repository pins."""
    folder = build / crate.name
    folder.mkdir()
    command = ["tar", "-xf", str(file), "-C", str(folder), "--strip-components=1", "--no-same-owner"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WorldwiseError(f"{crate.file} could not be unpacked", f"delete {file}", done.stderr)


def check_files(directory: Path, listed: Mapping[str, str], recent: Recent | None = None) -> str:
    """Empty if every file (name -> SHA-256) is there and unchanged, else what is wrong, in a few words.

    A link is always wrong. What `recent` has is not hashed again.
    """
    if not isinstance(listed, Mapping):
        return f"{directory}: its manifest names no files"
    for name, expected in listed.items():
        problem = files.path_problem(name)
        if problem:
            return problem
        try:
            if recent and recent.has(directory / name, expected):
                continue
            before = stat_of(directory / name) if recent else []
            if sha256_once(directory / name, functools.partial(_sha256_within, directory, name)) != expected:
                return f"{directory / name} has changed since it was made"
            if recent:
                recent.add(directory / name, expected, before)
        except OSError as error:
            return f"{directory / name}: {error.strerror}"
    return ""


def _sha256_within(directory: Path, name: str) -> str:
    return files.sha256(directory / name, _MOST_FILE, directory)[1]


def tree_digest(directory: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder, without times and modes.

    For a single file it is the SHA-256 of its content.
    """
    if directory.is_file():
        return _once(directory)
    total = hashlib.sha256()
    # Compared by folders, as paths are: "a/b" is before "a.b".
    for parts in sorted(path.split("/") for path in _files_below(str(directory))):
        path = "/".join(parts)
        total.update(f"{path}\0{_once(f'{directory}/{path}')}\n".encode())
    return total.hexdigest()


def _files_below(directory: str, before: str = "") -> Iterator[str]:
    """The files below a folder, without what Python compiled; a link to a folder is not followed."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path, f"{before}{entry.name}/")
            elif entry.is_file():
                yield before + entry.name


def _once(path: Path | str) -> str:
    return sha256_once(path, lambda: file_sha256(Path(path)))
