# SPDX-License-Identifier: BSD-2-Clause
"""The texts of the golden files: what worldwise decides and says, without building, booting or measuring anything.

Names of Python modules stand here alone, and in none of the files: code may move while what it does stays the same.
"""

import contextlib
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from golden_operations import operations
from golden_refusals import help_texts, refusals
from golden_reports import REPORTS
from golden_schemas import schemas
from matrices import compact
from screens import READINGS, golden_screen
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.families.keycache import build as keycache
from worldwise.families.pkcs11 import images as pkcs11
from worldwise.lab import image
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries import portable
from worldwise.libraries.crates import Crates
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.selection import swept
from worldwise.plan.suite import Suite, load_suite
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.board import BoardTarget
from worldwise.targets.inputs import boot_words
from worldwise.targets.linux import PlainTarget
from worldwise.targets.optee import OpteeMachineTarget

_SEED = re.compile(r"(?<=\+seed=)[0-9a-f]+")
SUITES = tuple(sorted(path.stem for path in paths.SUITES.glob("*.toml")))


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256(_text(lines).encode()).hexdigest()[:16]


# --- recipes ---


class _Known(Exception):
    """A recipe was asked for: that is all there is to know."""


class _Asked(ImageStore):
    """Builds nothing, and has the recipe that a board's target asks for."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.recipe: Recipe | None = None

    def once(self, name: str, recipe: Any) -> Any:
        del name
        self.recipe = recipe()
        raise _Known


class Recipes:
    """The recipes of machines, with their digests, and how the machines are started.

    Args:
        lab: part of every digest; it need not be built.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._digests: dict[str, str] = {}

    def digest(self, recipe: Recipe) -> str:
        """The recipe's digest; those of the same content are made out once."""
        key = repr(recipe)
        if key not in self._digests:
            self._digests[key] = recipe.digest(self._lab)
        return self._digests[key]

    def of(self, case: Case) -> Sequence[Recipe]:
        """The recipes of all that the case's machine is made of."""
        target = EMULATED[case.target]
        if isinstance(target, BoardTarget):
            store = _Asked(self._lab)
            with contextlib.suppress(_Known):
                target.machine(case, store)
            assert store.recipe
            return [store.recipe]
        assert isinstance(target, OpteeMachineTarget | PlainTarget)
        return target.recipes(case)

    def arguments(self, case: Case) -> str:
        """QEMU's arguments, as if the initramfs had no bytes."""
        target = EMULATED[case.target]
        if isinstance(target, BoardTarget):
            return " ".join(target.qemu_arguments())
        if isinstance(target, PlainTarget):
            return " ".join(target.architecture.arguments(case.core, boot_words(case)))
        assert isinstance(target, OpteeMachineTarget)
        return " ".join(target.arguments(boot_words(case), 0, target.host_program(case) is not None))

    def machines(self, cases: Iterable[Case]) -> dict[tuple[str, ...], list[Case]]:
        """The cases of each machine, which is told by its images with their digests, and QEMU's arguments."""
        found: dict[tuple[str, ...], list[Case]] = {}
        for case in cases:
            images = [f"{recipe.name} {self.digest(recipe)[:16]}" for recipe in self.of(case)]
            found.setdefault((*images, f"qemu {self.arguments(case)}"), []).append(case)
        return found


@contextlib.contextmanager
def _stand_ins(directory: Path) -> Iterator[None]:
    """Inside, what must be fetched or built first is a folder that says what it is: no network, no lab is needed.

    Files are digested once.
    """

    def crate(_: Crates, name: str, version: str, sha256: str) -> Path:
        return folder(f"crate {name} {version} {sha256}")

    def programs(_: object = None) -> Path:
        return folder(f"keycache {keycache.programs_recipe().digest(open_lab(name=keycache.ROOT))}")

    def broker(_: object = None) -> Path:
        return folder(f"broker {keycache.broker_recipe().digest(open_lab(name=keycache.BROKER_ROOT))}")

    def library() -> Path:
        return folder(f"package {pkcs11.locked().file} {pkcs11.locked().sha256}")

    def provider() -> Path:
        return folder(f"package {pkcs11.locked_provider().file} {pkcs11.locked_provider().sha256}")

    @functools.cache
    def folder(text: str) -> Path:
        path = directory / hashlib.sha256(text.encode()).hexdigest()[:16]
        path.mkdir()
        (path / "what").write_text(text, encoding="ascii")
        return path

    with pytest.MonkeyPatch.context() as patch, _digested_once():
        patch.setattr(Crates, "folder", crate)
        patch.setattr(keycache, "programs", functools.cache(programs))
        patch.setattr(keycache, "broker", functools.cache(broker))
        patch.setattr(pkcs11, "library", functools.cache(library))
        patch.setattr(pkcs11, "provider", functools.cache(provider))
        yield


# Files of the repository do not change while the tests are running.
_FILE = functools.cache(file_sha256)
_TREE = functools.cache(image.tree_digest)


@contextlib.contextmanager
def _digested_once() -> Iterator[None]:
    """Inside, each file and folder is digested once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "file_sha256", _FILE)
        patch.setattr(image, "tree_digest", _TREE)
        yield


def recipes(directory: Path) -> str:
    """The machines of all suites' cases, and digests of those of their sweeps; each image once, with its digest."""
    with _stand_ins(directory):
        return _text(_recipes(Recipes(open_lab())))


def _recipes(recipes: Recipes) -> Iterator[str]:
    """Of each suite its machines, a line each, with the QEMU and the programs that it has by their numbers.

    A line has the machine's images, each with the digest where it is named first, how many cases run on it, and the
    SHA-256 of their names and programs, seeds too.
    """
    digests: dict[str, str] = {}
    qemus: dict[str, int] = {}
    programs: dict[tuple[str, ...], int] = {}
    for name in SUITES:
        suite = load_suite(name)
        yield from ("", f"suite {name}: {len(suite.cases)} cases")
        for (*images, qemu), cases in recipes.machines(suite.cases).items():
            if qemu not in qemus:
                qemus[qemu] = len(qemus) + 1
                yield f"[{qemus[qemu]}] {qemu}"
            some = tuple(_programs(cases))
            if some not in programs:
                programs[some] = len(programs) + 1
                yield from (f"({programs[some]}) {program}" for program in some)
            words = []
            for one in images:
                image_name, digest = one.split()
                words.append(image_name if image_name in digests else f"{image_name}={digest}")
                # An image's name is short for its digest from here on.
                assert digests.setdefault(image_name, digest) == digest
            numbers = f"[{qemus[qemu]}] ({programs[some]})"
            yield f"  {' '.join(words)} {numbers} {len(cases)}: {_digest_of(cases)}"
        yield from _swept(suite, recipes)


def _program(case: Case) -> str:
    return " ".join(EMULATED[case.target].program(case))


def _programs(cases: Sequence[Case]) -> list[str]:
    """What runs on a machine for its cases, without the seeds."""
    return compact(_SEED.sub("...", _program(case)) for case in cases)


def _digest_of(cases: Sequence[Case]) -> str:
    return _digest(f"{case.id}: {_program(case)}" for case in cases)


def _swept(suite: Suite, recipes: Recipes) -> Iterator[str]:
    try:
        cases = swept(suite).cases
    except WorldwiseError:
        return
    groups: dict[str, list[Case]] = {}
    machines: dict[tuple[str, ...], Case] = {}
    for case in cases:
        groups.setdefault(f"{case.target}/{case.variant} {case.curve}".strip(), []).append(case)
        # All operations of a curve are in one program, and a level changes no option.
        machines.setdefault((case.target, case.implementation, case.curve, case.options), case)
    chosen = set(machines.values())
    yield "swept: how many cases, and SHA-256 of their names and of what would stand here of their machines"
    for group, members in groups.items():
        told = [
            line
            for images, some in recipes.machines(case for case in members if case in chosen).items()
            for line in (*images, *(f"{case.id}: {_program(case)}" for case in some))
        ]
        yield f"{group}, {len(members)}: {_digest([*(case.id for case in members), *told])}"


# Of the lab, that what is fetched or built first needs.
ROOTS = ("render", keycache.ROOT, keycache.BROKER_ROOT)


def fetched_recipes(lab: Lab) -> str:
    """The recipes of all suites into which a crate goes, or the key cache's programs, with these as they really are."""
    folder = functools.cache(Crates().folder)
    with pytest.MonkeyPatch.context() as patch, _digested_once():
        # Each time it would look at all files of the root.
        patch.setattr(Crates, "folder", lambda _, *wanted: folder(*wanted))
        return _text(_fetched(Recipes(lab)))


def _fetched(recipes: Recipes) -> list[str]:
    found: dict[str, None] = {}
    for name in SUITES:
        for case in load_suite(name).cases:
            library = portable.portables().get(case.implementation)
            source = library.manifest.source if library else None
            if (source and source.crate) or case.operation.startswith("keycache"):
                for recipe in recipes.of(case):
                    if "source" in recipe.trees or "keycache-built" in recipe.trees:
                        found[f"{recipe.name} {recipes.digest(recipe)[:16]}"] = None
    return sorted(found)


# --- suites ---


def _suite_part(name: str, _: Path) -> str:
    return _text(_expansion(load_suite(name)))


def _expansion(suite: Suite) -> Iterator[str]:
    yield f"suite {suite.name}: {suite.title}"
    if suite.budget:
        budget = suite.budget
        yield (
            f"budget: {budget.limit_text} at {budget.clock_text}, {budget.instructions} instructions, "
            f"{', '.join(budget.measures)} at {budget.place}"
        )
    yield f"published: {suite.published or '-'}"
    yield f"recommended: {suite.recommended or '-'}"
    yield f"{len(suite.cases)} cases, SHA-256 of them in their order: {_digest(case.id for case in suite.cases)}"
    for (samples, warmup), cases in itertools.groupby(suite.cases, lambda case: (case.samples, case.warmup)):
        yield from ("", f"samples {samples}, warm-up {warmup}:")
        yield from (f"  {matrix}" for matrix in compact(case.id for case in cases))
    if suite.unavailable:
        listed = [f"{one.target}/{one.implementation} {one.curve} {one.operation}" for one in suite.unavailable]
        yield from ("", f"unavailable, SHA-256 of these in their order {_digest(listed)}:")
        reasons: dict[str, list[str]] = {}
        for name, one in zip(listed, suite.unavailable, strict=True):
            reasons.setdefault(_reason(one), []).append(name)
        for reason, names in reasons.items():
            yield from (f"  {matrix}" for matrix in compact(names))
            yield f"    {reason}"


def _reason(one: Unavailable) -> str:
    """Why a suite lacks a case, with the library and the curve by their kinds."""
    assert "<" not in one.reason
    reason = one.reason.replace(one.implementation, "<library>")
    return reason.replace(one.curve, "<curve>") if one.curve else reason


# --- screens ---


def _screen_part(name: str, _: Path) -> str:
    """What `worldwise run` ends with: test_screens.py recomputes its figures."""
    return golden_screen(name)


# --- all ---

# Text files below tests/golden, each with what makes it in an empty folder.
PARTS: dict[str, Callable[[Path], str]] = {
    "schemas.txt": lambda _: schemas(),
    "help.txt": lambda _: help_texts(),
    "refusals.txt": refusals,
    "operations.txt": lambda _: operations(),
    "recipes.txt": recipes,
    **{f"suites/{name}.txt": functools.partial(_suite_part, name) for name in SUITES},
    **{f"reports/{name}.txt": make for name, make in REPORTS.items()},
    **{f"screens/{name}.txt": functools.partial(_screen_part, name) for name in READINGS},
}
