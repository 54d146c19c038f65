# SPDX-License-Identifier: BSD-2-Clause
"""Images: addressed by what went in, built once, checked when used. The lab's shell is the host's here."""

import os
import re
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.families.attestation.images import programs
from worldwise.families.attestation.spec import ATTESTATION
from worldwise.lab import image
from worldwise.lab.debian.lock import File, Lock, Package, SourcePackage, load_lock
from worldwise.lab.image import Image, ImageStore, Recipe
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.network import Bind
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.targets import optee_images


class HostLab(Lab):
    """A lab without a root: scripts run on the host, with the paths they name replaced by what is bound there."""

    def command(
        self,
        argv: Sequence[str | Path],
        *,
        binds: Sequence[Bind] = (),
        chdir: str = "/",
        env: Mapping[str, str] | None = None,
        network: bool = False,
        tty: bool = False,
        **_: Any,
    ) -> list[str]:
        places = {inside: str(host) for host, inside, _ in binds}
        longest_first = "|".join(re.escape(inside) for inside in sorted(places, key=len, reverse=True))

        def outside(text: str) -> str:
            return re.sub(rf"({longest_first})(?![\w.-])", lambda match: places[match[1]], text)

        assert not network and not tty
        script = Path(outside(str(argv[-1])))
        variables = [f"{name}={outside(value)}" for name, value in (env or {}).items()]
        shell = ["bash", "-e", "-c", outside(script.read_text(encoding="utf-8"))]
        return ["env", "-i", f"--chdir={outside(chdir)}", f"PATH={os.environ['PATH']}", *variables, *shell]

    def package_file(self, name: str, architecture: str) -> Path:
        return self._file(self.package(name, architecture))

    def source_files(self, name: str) -> dict[str, Path]:
        return {file.file: self._file(file) for file in self.source(name).files}

    def fetch_some(self, sources: Iterable[str], packages: Iterable[tuple[str, str]], purpose: str) -> None:
        with (self.cache / "fetched").open("a", encoding="utf-8") as file:
            file.write(f"{purpose}: {', '.join([*sources, *(name for name, _ in packages)])}\n")

    def _file(self, file: File) -> Path:
        path = self.cache / file.file
        path.write_text(f"content of {file.file}\n", encoding="utf-8")
        return path


def make_lock(letter: str = "a") -> Lock:
    """A lock of one source and one package; `letter` fills the digests."""
    package = Package(
        name="libteec2",
        version="4.5-1",
        architecture="arm64",
        source="optee-client",
        file="libteec2_4.5-1_arm64.deb",
        size=1,
        sha256=letter * 64,
    )
    source = SourcePackage(
        name="optee-os", version="4.5-1", files=[File(file="optee-os.dsc", size=1, sha256=letter * 64)]
    )
    return Lock(format=1, suite="trixie", lab=[package], target=[package], sources=[source])


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of the recipes; enough disk, whatever the host has."""
    path = tmp_path / "recipes"
    path.mkdir()
    (path / "common.sh").write_text("set -u\n")
    monkeypatch.setattr(image, "RECIPES", path)
    monkeypatch.setattr(image, "require_space", lambda *_: None)
    return path


@pytest.fixture
def lab(tmp_path: Path) -> HostLab:
    path = tmp_path / "cache"
    path.mkdir()
    return HostLab(make_lock(), path)


@pytest.fixture
def recipe(scripts: Path, tmp_path: Path) -> Recipe:
    """A recipe with an input of every kind. Each build of either script adds its name to cache/builds."""
    (scripts / "first.sh").write_text("echo first >>/out/../../../builds\necho one >/out/part\n")
    (scripts / "second.sh").write_text(
        ". /in/recipes/common.sh\n"
        "echo second >>/out/../../../builds\n"
        "cat /in/first/part /in/optee-os/optee-os.dsc /in/libteec2.deb /in/patches/fix.patch >/out/whole\n"
        "mkdir /out/more\n"
        'echo "$PLATFORM" >/out/more/platform\n'
        "ls -A >/out/found-in-build\n"
    )
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "fix.patch").write_text("--- a\n+++ b\n")
    return Recipe(
        name="second",
        script="second.sh",
        outputs=("whole", "more/platform"),
        sources=("optee-os",),
        packages=("libteec2",),
        trees={"patches": patches},
        needs={"first": Recipe("first", "first.sh", ("part",))},
        settings={"PLATFORM": "virt"},
    )


def builds(lab: Lab) -> list[str]:
    """Names of all images built so far, in order."""
    path = lab.cache / "builds"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def left_behind(lab: Lab) -> list[str]:
    """What is in the store besides locks and logs."""
    return sorted(path.name for path in (lab.cache / "images").iterdir() if path.suffix not in (".lock", ".log"))


# --- addresses ---

Change = Callable[[Recipe, Path], Recipe]


def edit(file: str) -> Change:
    def change(recipe: Recipe, root: Path) -> Recipe:
        path = root / file
        path.write_text(path.read_text(encoding="utf-8") + "#\n", encoding="utf-8")
        return recipe

    return change


def add_patch(recipe: Recipe, root: Path) -> Recipe:
    (root / "patches" / "other.patch").touch()
    return recipe


def rename_patch(recipe: Recipe, root: Path) -> Recipe:
    (root / "patches" / "fix.patch").rename(root / "patches" / "fix2.patch")
    return recipe


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(edit("recipes/second.sh"), id="script"),
        pytest.param(edit("recipes/common.sh"), id="common part"),
        pytest.param(edit("recipes/first.sh"), id="script of a need"),
        pytest.param(edit("patches/fix.patch"), id="content of a patch"),
        pytest.param(rename_patch, id="name of a patch"),
        pytest.param(add_patch, id="one more patch, empty"),
        pytest.param(lambda recipe, _: replace(recipe, name="third"), id="name"),
        pytest.param(lambda recipe, _: replace(recipe, outputs=("whole",)), id="outputs"),
        pytest.param(lambda recipe, _: replace(recipe, settings={"PLATFORM": "imx"}), id="value of a setting"),
        pytest.param(lambda recipe, _: replace(recipe, settings={"BOARD": "virt"}), id="name of a setting"),
        pytest.param(lambda recipe, _: replace(recipe, sources=()), id="sources"),
        pytest.param(lambda recipe, _: replace(recipe, packages=()), id="packages"),
        pytest.param(lambda recipe, _: replace(recipe, trees={}), id="trees"),
        pytest.param(lambda recipe, _: replace(recipe, needs={}), id="needs"),
        pytest.param(
            lambda recipe, _: replace(recipe, needs={"first": replace(recipe.needs["first"], settings={"A": "1"})}),
            id="setting of a need",
        ),
    ],
)
def test_every_input_is_part_of_the_address(change: Change, recipe: Recipe, lab: HostLab, tmp_path: Path) -> None:
    """If this fails, an image made from other inputs would be taken for this one."""
    before = recipe.digest(lab)
    assert change(recipe, tmp_path).digest(lab) != before


def test_the_lab_and_its_locked_files_are_part_of_the_address(recipe: Recipe, lab: HostLab) -> None:
    """If this fails, what one compiler made is taken for what another would make."""
    assert recipe.digest(HostLab(make_lock("b"), lab.cache)) != recipe.digest(lab)


def test_nothing_else_is_part_of_the_address(
    recipe: Recipe, lab: HostLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, another checkout, or the same one checked out anew, builds everything again."""
    before = recipe.digest(lab)
    elsewhere = tmp_path / "another checkout"
    for name in ("recipes", "patches"):
        shutil.copytree(tmp_path / name, elsewhere / name)
    for path in elsewhere.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(path.stat().st_mode ^ stat.S_IROTH)
    (elsewhere / "patches" / "__pycache__").mkdir()
    (elsewhere / "patches" / "__pycache__" / "x.pyc").touch()
    monkeypatch.setattr(image, "RECIPES", elsewhere / "recipes")
    other_cache = tmp_path / "other cache"
    other_cache.mkdir()
    moved = replace(recipe, trees={"patches": elsewhere / "patches"}, settings=dict(recipe.settings))
    assert moved.digest(HostLab(make_lock(), other_cache)) == before


def _attestation(name: str, optimisation: str) -> Recipe:
    return programs(name, optimisation, lambda _: None)


def _attestation_initramfs(name: str, optimisation: str) -> Recipe:
    return optee_images.initramfs(ATTESTATION, _attestation(name, optimisation))


def test_variants_have_addresses_of_their_own(scripts: Path, tmp_path: Path) -> None:
    """If this fails, two variants of the table would be one and the same measurement."""
    for script in (
        *("tf-a.sh", "linux.sh", "optee-source.sh", "optee.sh", "optee-built.sh", "optee-kept.py"),
        *("core-library.sh", "initramfs.sh", "programs-app.sh", "app-attestation.sh", "guest.sh", "unpacked.sh"),
        *("programs-common.sh", "app-flags.sh", "unchecked-key.py", "initramfs-base.sh"),
    ):
        (scripts / script).touch()
    lab = Lab(load_lock(), tmp_path)
    variants = [(a, b) for a in IMPLEMENTATIONS for b in ("Os", "O2")]
    for make in (optee_images.optee, optee_images.core_library, _attestation, _attestation_initramfs):
        assert len({make(*variant).digest(lab) for variant in variants}) == len(variants)
        assert len({make(*variant).name for variant in variants}) == len(variants)


@pytest.mark.parametrize("feature", ["rpmb", optee_images.RPMB_ALONE])
def test_another_storage_has_the_same_programs(feature: str) -> None:
    """If this fails, programs are built for each storage, the same to the byte, or a core keeps fewer objects."""
    for core in ("mbedtls-nist", "mbedtls-ce"):
        plain = optee_images.app_programs("storage", core, "O2")
        assert optee_images.app_programs("storage", core, "O2", feature) == plain
        objects = optee_images.optee_objects(core, "O2", feature)
        assert objects.needs["objects"] == optee_images.optee_objects(core, "O2")
    assert optee_images.app_programs("storage", "mbedtls-nist", "O2", optee_images.LEAN).needs != plain.needs


def test_no_program_reads_a_setting_of_the_storage() -> None:
    """If this fails, a program is built for one storage and measured with another."""
    setting = re.compile(r"\bCFG_(RPMB|REE_FS|SECSTOR)")
    files = [
        path
        for room in ("guest/apps", "keycache/ta", "keycache/include")
        for path in (paths.REPOSITORY / room).rglob("*")
    ]
    assert len(files) > 100
    assert not [path for path in files if path.is_file() and setting.search(path.read_text(encoding="utf-8"))]


# --- the store ---


def test_images_that_do_not_need_each_other_are_built_at_the_same_time(
    recipe: Recipe, scripts: Path, lab: HostLab
) -> None:
    """If this fails, a processor waits while the firmware is built, and a first figure comes later."""
    # Each waits for the other's begin.
    for name, other in (("one", "two"), ("two", "one")):
        (scripts / f"{name}.sh").write_text(
            f'touch "{lab.cache}/{name}"\n'
            f'for _ in $(seq 200); do [[ -e "{lab.cache}/{other}" ]] && break; sleep 0.05; done\n'
            f'[[ -e "{lab.cache}/{other}" ]]; touch /out/made\n'
        )
    needs = {
        name: replace(recipe, name=name, script=f"{name}.sh", outputs=("made",), needs={}) for name in ("one", "two")
    }
    made = ImageStore(lab).get_all(list(needs.values()))
    assert [image.name for image in made] == ["one", "two"]


def test_an_interrupt_ends_what_is_built_at_the_same_time(recipe: Recipe, scripts: Path, lab: HostLab) -> None:
    """If this fails, Ctrl-C or a service manager's stop waits for minutes until each of them is built."""
    names = ("one", "two")
    for name in names:
        (scripts / f"{name}.sh").write_text(f'touch "{lab.cache}/{name}"\nexec sleep 20\n')
    recipes = [replace(recipe, name=name, script=f"{name}.sh", outputs=("made",), needs={}) for name in names]
    main = threading.main_thread()

    def interrupt() -> None:
        while not all((lab.cache / name).exists() for name in names):
            time.sleep(0.01)
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    began = time.monotonic()
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        ImageStore(lab).get_all(recipes)
    assert time.monotonic() - began < 20


def test_what_is_built_together_is_fetched_together(recipe: Recipe, lab: HostLab) -> None:
    """If this fails, a first run prints a line for every file that it downloads."""
    wanted = replace(recipe, needs={"first": replace(recipe.needs["first"], sources=("optee-os",))})
    ImageStore(lab).get(wanted)
    assert (lab.cache / "fetched").read_text().splitlines() == [
        "second: optee-os, optee-os, libteec2",
        "first: optee-os",
    ]


def test_an_image_is_built_once(recipe: Recipe, lab: HostLab) -> None:
    """If this fails, the second run builds again, or a recipe does not see its inputs."""
    said: list[str] = []
    store = ImageStore(lab, said.append)
    made = store.get(recipe)
    assert said == ["building first", "built first", "building second", "built second"]
    assert made.file("whole").read_text() == (
        "one\ncontent of optee-os.dsc\ncontent of libteec2_4.5-1_arm64.deb\n--- a\n+++ b\n"
    )
    assert made.file("more/platform").read_text() == "virt\n"
    assert made.file("found-in-build").read_text() == ""
    assert sorted(made.files) == ["found-in-build", "more/platform", "whole"]
    assert made.digest == recipe.digest(lab)
    assert builds(lab) == ["first", "second"]

    again = ImageStore(lab, said.append)
    assert again.get(recipe) == made
    assert store.get(recipe) is made
    assert builds(lab) == ["first", "second"]
    assert len(said) == 4
    assert len(left_behind(lab)) == 2


def test_a_changed_recipe_is_built_beside_the_old_one(recipe: Recipe, lab: HostLab) -> None:
    """If this fails, going back to an earlier state builds again, or one variant takes another's files."""
    old = ImageStore(lab).get(recipe)
    new = ImageStore(lab).get(replace(recipe, settings={"PLATFORM": "imx"}))
    assert new.directory != old.directory
    assert new.file("more/platform").read_text() == "imx\n"
    assert old.file("more/platform").read_text() == "virt\n"
    # The need is the same for both.
    assert builds(lab) == ["first", "second", "second"]


def damage_file(made: Image) -> Path:
    path = made.file("more/platform")
    path.write_text("virT\n")
    return path


def lose_file(made: Image) -> Path:
    path = made.file("whole")
    path.unlink()
    return path


def tear_manifest(made: Image) -> Path:
    path = made.file(image.MANIFEST)
    path.write_bytes(path.read_bytes()[:40])
    return path


def swap_manifest(made: Image) -> Path:
    path = made.file(image.MANIFEST)
    path.write_text(path.read_text().replace(made.digest, "0" * 64))
    return path


@pytest.mark.parametrize("damage", [damage_file, lose_file, tear_manifest, swap_manifest])
def test_a_damaged_image_is_built_anew(damage: Callable[[Image], Path], recipe: Recipe, lab: HostLab) -> None:
    """If this fails, a corrupt cache entry is measured, or stops the tool for good."""
    made = ImageStore(lab).get(recipe)
    spoilt = damage(made)
    said: list[str] = []
    again = ImageStore(lab, said.append).get(recipe)
    assert again == made
    assert image.check_files(again.directory, again.files) == ""
    assert said[0].startswith("second: ")
    assert str(spoilt) in said[0]
    assert said[0].endswith("building it anew")
    assert builds(lab) == ["first", "second", "second"]


def test_what_a_build_did_not_make_is_named(recipe: Recipe, lab: HostLab) -> None:
    """If this fails, a build that silently made nothing becomes an image."""
    greedy = replace(recipe, outputs=("whole", "tee.elf", "bl32.bin"))
    with pytest.raises(WorldwiseError) as caught:
        ImageStore(lab).get(greedy)
    assert caught.value.message == "the build of second did not make tee.elf, bl32.bin"
    assert re.search(r"/second-[0-9a-f]{12}\.log", caught.value.hint)
    assert [name.partition("-")[0] for name in left_behind(lab)] == ["first"]


def test_a_failed_build_says_why_and_leaves_nothing(recipe: Recipe, lab: HostLab, scripts: Path) -> None:
    """If this fails, the compiler's words are lost, or a half-made image is used the next time."""
    script = scripts / "second.sh"
    good = script.read_text()
    script.write_text(good + "for n in $(seq 100); do echo line $n; done\necho 'core.c:7: error: no' >&2\nexit 3\n")
    with pytest.raises(WorldwiseError) as caught:
        ImageStore(lab).get(recipe)
    assert "status 3" in caught.value.message
    lines = caught.value.details.splitlines()
    assert lines[-2:] == ["line 100", "core.c:7: error: no"]
    assert len(lines) == 30
    (log,) = (lab.cache / "images").glob("second-*.log")
    assert str(log) in caught.value.hint
    assert "line 1\n" in log.read_text()
    assert [name.partition("-")[0] for name in left_behind(lab)] == ["first"]

    script.write_text(good)
    assert ImageStore(lab).get(recipe).file("whole").exists()
    # A log is of the last build of one recipe as it is, alone: another's words never explain a failure.
    (other,) = {*(lab.cache / "images").glob("second-*.log")} - {log}
    assert "line 1\n" not in other.read_text()
    script.write_text(script.read_text() + "exit 4\n")
    for _ in range(2):
        with pytest.raises(WorldwiseError) as caught:
            ImageStore(lab).get(recipe)
    (last,) = {*(lab.cache / "images").glob("second-*.log")} - {log, other}
    assert last.read_text() == other.read_text()


def test_a_full_disk_is_told_before_the_build(recipe: Recipe, lab: HostLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a build runs for minutes into a disk that cannot take it."""

    def full(directory: Path, _needed: int, purpose: str) -> None:
        raise WorldwiseError(f"not enough disk space in {directory}: {purpose}")

    monkeypatch.setattr(image, "require_space", full)
    with pytest.raises(WorldwiseError, match=r"not enough disk space in .*images: building "):
        ImageStore(lab).get(recipe)
    assert builds(lab) == []
    assert left_behind(lab) == []


@pytest.mark.parametrize("shared", [True, False], ids=["one store", "two stores, as of two runs"])
def test_two_at_once_build_once(shared: bool, recipe: Recipe, lab: HostLab, scripts: Path) -> None:
    """If this fails, two threads, or two runs on one cache, build the same image into each other."""
    script = scripts / "second.sh"
    script.write_text("sleep 0.2\n" + script.read_text())
    store = ImageStore(lab)
    stores = (store, store) if shared else (store, ImageStore(lab))
    start = threading.Barrier(2)

    def get(one: ImageStore) -> Image:
        start.wait()
        return one.get(recipe)

    with ThreadPoolExecutor(2) as pool:
        images = list(pool.map(get, stores))
    assert images[0] == images[1]
    assert builds(lab) == ["first", "second"]


def test_a_build_in_flight_can_be_stopped(recipe: Recipe, lab: HostLab, scripts: Path) -> None:
    """If this fails, Ctrl-C waits for a build of minutes, or leaves half of one."""
    script = scripts / "second.sh"
    script.write_text("echo started >>/out/../../../builds\nexec sleep 60\n")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(ImageStore(lab).get, recipe)
        deadline = time.monotonic() + 20
        while "started" not in builds(lab) and time.monotonic() < deadline:
            time.sleep(0.01)
        lab.stop()
        with pytest.raises(WorldwiseError, match="stopped"):
            future.result(timeout=20)
    assert [name.partition("-")[0] for name in left_behind(lab)] == ["first"]


def test_every_recipe_has_a_name_of_its_own() -> None:
    """If this fails, a build may see another file than its recipe names: it has all of them in one folder."""
    names = [path.name for path in paths.RECIPES.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert names
    assert len(names) == len(set(names))
    assert all(image.recipe_file(name).name == name and image.recipe_file(name).is_file() for name in names)


def test_an_image_of_one_machine_is_anothers(
    recipe: Recipe, lab: HostLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, every machine of a cluster builds every image; or one takes a damaged image from another."""
    monkeypatch.setenv(paths.SHARED_VARIABLE, str(tmp_path / "shared"))
    made = ImageStore(lab).get(recipe)
    assert builds(lab) == ["first", "second"]
    (tmp_path / "other").mkdir()
    other = HostLab(make_lock(), tmp_path / "other")
    said: list[str] = []
    taken = ImageStore(other, said.append).get(recipe)
    assert said == [f"took second from {tmp_path / 'shared'}"]
    assert builds(other) == []
    assert taken.files == made.files
    assert taken.directory.is_relative_to(other.cache)

    path = tmp_path / "shared" / "images" / made.directory.name / "whole"
    path.write_text("changed")
    (tmp_path / "third").mkdir()
    third = HostLab(make_lock(), tmp_path / "third")
    notes: list[str] = []
    assert ImageStore(third, notes.append).get(recipe).files == made.files
    assert builds(third) == ["second"]
    assert any("is damaged; worldwise makes it again" in note for note in notes)
    assert path.read_text() != "changed"
