# SPDX-License-Identifier: BSD-2-Clause
"""The texts of the golden files: what worldwise decides and says, without building, booting or measuring anything.

Names of Python modules stand here alone, and in none of the files: code may move while what it does stays the same.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from golden_refusals import help_texts, parameters_there, refusals
from golden_reports import REPORTS
from matrices import compact
from screens import READINGS, golden_screen
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.families.echo import host_times as echo_host
from worldwise.families.keycache import build as keycache
from worldwise.families.pkcs11 import images as pkcs11
from worldwise.lab import image
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries import portable
from worldwise.libraries.boards import Board, Core
from worldwise.libraries.crates import Crates
from worldwise.plan.case import Case
from worldwise.plan.catalogue import (
    implementations_of,
    operations_of,
    optimisations_of,
    parameters,
    takes_portables,
    target_names,
)
from worldwise.plan.selection import swept
from worldwise.plan.suite import Suite, Unavailable, load_suite, parse_suite
from worldwise.plan.user_code import project
from worldwise.read import models, published
from worldwise.read.compared.baseline import Baseline
from worldwise.read.compared.comparison import Comparison
from worldwise.records import parse as record
from worldwise.records import trace
from worldwise.run.folder import manifests
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.board import BoardTarget
from worldwise.targets.inputs import boot_words
from worldwise.targets.linux import PlainTarget
from worldwise.targets.optee import OpteeMachineTarget
from worldwise.validation import figures

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
            return " ".join(target._arguments())
        if isinstance(target, PlainTarget):
            return " ".join(target.architecture.arguments(case.core, boot_words(case)))
        assert isinstance(target, OpteeMachineTarget)
        return " ".join(target.arguments(boot_words(case), 0, target._beside(case) is not None))

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
    """Of each suite its machines, those in a row that run the same programs together.

    A machine's line has its images, each with the digest where it is named first, the number of its QEMU's arguments,
    how many cases run on it, and the SHA-256 of their names and programs, seeds too.
    """
    known: dict[str, str] = {}
    arguments: dict[str, int] = {}
    for name in SUITES:
        suite = load_suite(name)
        yield from ("", f"suite {name}: {len(suite.cases)} cases")
        machines = recipes.machines(suite.cases)
        for (*_, qemu), _ in machines.items():
            if qemu not in arguments:
                arguments[qemu] = len(arguments) + 1
                yield f"[{arguments[qemu]}] {qemu}"
        for programs, some in itertools.groupby(machines.items(), lambda machine: _programs(machine[1])):
            for (*images, qemu), cases in some:
                words = []
                for image_name, digest in (one.split() for one in images):
                    words.append(image_name if image_name in known else f"{image_name}={digest}")
                    # An image's name is short for its digest from here on.
                    assert known.setdefault(image_name, digest) == digest
                yield f"{' '.join(words)} [{arguments[qemu]}] {len(cases)}: {_digest_of(cases)}"
            yield from (f"  {program}" for program in programs)
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
    for (samples, warmup), cases in itertools.groupby(suite.cases, lambda case: (case.samples, case.warmup)):
        yield from ("", f"samples {samples}, warm-up {warmup}:")
        yield from (f"  {matrix}" for matrix in compact(case.id for case in cases))
    if suite.unavailable:
        yield from ("", "unavailable:")
    yield from (f"  {matrix}" for matrix in compact(_missing(one) for one in suite.unavailable))


def _missing(one: Unavailable) -> str:
    """A case that a suite lacks, and why, with the library and the curve said once."""
    assert "<" not in one.reason
    reason = one.reason.replace(one.implementation, "<library>")
    reason = reason.replace(one.curve, "<curve>") if one.curve else reason
    return f"{one.target}/{one.implementation} {' '.join(filter(None, (one.curve, one.operation)))}: {reason}"


# Values that operations need where the examples of errors do not fit.
_VALUES: Mapping[str, Mapping[str, str]] = {
    "sign": {"size": "32B"},
    "verify": {"size": "32B"},
    "hardclock": {"size": "32B"},
    "storage": {"size": "4KiB"},
    "file": {"size": "4KiB"},
    "power-cut": {"size": "4KiB"},
    "echo": {"size": "64B"},
    "echo-host": {"size": "64B"},
    "keycache": {"size": "16B", "action": "get-hit"},
    "keycache-load": {"size": "16B", "action": "ping"},
    "keycache-zipf": {"clients": "1000"},
    "keycache-mqtt": {"size": "16B"},
    "pkcs11": {"action": "login"},
    "pkcs11-openssl": {"action": "sign"},
    "dsa-keygen": {"scheme": "ml-dsa-65"},
    "dsa-sign": {"scheme": "ml-dsa-65", "size": "32B"},
    "dsa-verify": {"scheme": "ml-dsa-65", "size": "32B"},
}


def operations() -> str:
    """What each target can be asked for: measures, places, parameters, and what the libraries have of it."""
    return _text(_operations())


def _operations() -> Iterator[str]:
    first: dict[str, str] = {}
    for target in target_names():
        yield f"target {target}"
        for operation in operations_of(target):
            text = "\n".join(_operation(target, operation))
            same = first.setdefault(f"{operation}\n{text}", target)
            yield f"  {operation}\n{text}" if same == target else f"  {operation}: as on {same}"


def _operation(target: str, operation: str) -> Iterator[str]:
    measures = operations_of(target)[operation]
    for measure, places in measures.items():
        yield f"    {measure} at {', '.join(places)}"
    given: dict[str, list[str]] = {}
    for parameter in parameters_there(target, operation):
        allowed = ", ".join(parameter.values) or parameter.pattern or "a size"
        allowed = f"1 to {parameter.most}" if parameter.most else allowed
        what = f"default {parameter.default}" if parameter.default else "needed" if parameter.missing else ""
        machine = "of the machine" if parameter.of_machine else ""
        words = "; ".join(filter(None, (allowed, what, machine)))
        yield f"    {parameter.key} ({parameter.suite_key}): {words}"
        chosen = _VALUES.get(operation, {}).get(parameter.key, "")
        example = re.search(rf"{parameter.key}=(\S+)", parameter.missing)
        if chosen or example:
            given[parameter.key] = [chosen or (example[1] if example else "")]
    if takes_portables(target) and "size" in given:
        given["size"] = ["32B"]
    if "curve" in given:
        given["curve"] = list(portable.CURVES)
    if "server" in given:
        given["server"] = ["linux" if target == "linux" else "call"]
    yield from _had(target, operation, given)


def _had(target: str, operation: str, given: Mapping[str, list[str]]) -> Iterator[str]:
    """Which libraries have an operation, at which levels and on which curves, and why others have not."""
    block: dict[str, list[Any]] = {
        "targets": [target],
        "operations": [operation],
        "implementations": list(implementations_of(target, [operation])),
        "optimisations": list(optimisations_of(target)),
    }
    for parameter in parameters().values():
        if parameter.key in given:
            values = given[parameter.key]
            block[parameter.suite_key] = values if parameter.most is None else [int(value) for value in values]
    keys = [f"{key} = {json.dumps(value)}" for key, value in block.items()]
    top = 'format = 1\nname = "golden"\ntitle = "golden"\nsamples = 1\nwarmup = 0\n[[cases]]\n'
    try:
        suite = parse_suite(top + "\n".join(keys), "golden.toml")
    except WorldwiseError as error:
        # On this board nothing has it.
        yield f"    not: {error.message.partition(' gives no case: ')[2]}"
        return
    found: dict[str, dict[str, None]] = {}
    for case in suite.cases:
        found.setdefault(f"{case.implementation} {case.curve}".strip(), {})[case.optimisation] = None
    groups: dict[tuple[str, ...], list[str]] = {}
    for library, levels in found.items():
        groups.setdefault(tuple(levels), []).append(library)
    for chosen, libraries in groups.items():
        yield f"    {', '.join(chosen)}: {', '.join(libraries)}"
    yield from _lacking(suite)


def _lacking(suite: Suite) -> Iterator[str]:
    """What is unavailable and why: a line for the libraries that lack the same, with all curves that they lack."""
    curves: dict[tuple[str, str], dict[str, None]] = {}
    for one in suite.unavailable:
        own = f"{one.implementation} "
        library = one.implementation if one.reason.startswith(own) else ""
        rest = one.reason.removeprefix(own)
        curve = one.curve if one.curve and rest.endswith(one.curve) else ""
        curves.setdefault((library, rest.removesuffix(curve)), {})[curve] = None
    libraries: dict[str, list[str]] = {}
    for (library, rest), lacked in curves.items():
        libraries.setdefault(rest + ", ".join(lacked), []).append(library)
    for rest, names in libraries.items():
        yield f"    not: {' '.join(filter(None, (', '.join(names), rest)))}"


# --- schemas ---


_SCHEMAS: Mapping[str, Any] = {
    "a line of the host's times": echo_host.HostStart | echo_host.HostSample | echo_host.HostEnd,
    "run.json": manifests.RunManifest,
    "case.json": manifests.CaseManifest,
    "finished.json": manifests.Finished,
    "a report": models.Reading,
    "a comparison": Comparison,
    "a baseline": Baseline,
    "a published figure": published.Figure,
    "implementation.toml": portable.Manifest,
    "a board": Board,
    "a core": Core,
}
# How pydantic tells classes of one name apart.
_QUALIFIED = re.compile(r"\b[a-z_]+(?:__[a-z_]+)*__(?=_*[A-Z])")
# Columns of a line of a schema.
_WIDTH = 120


def schemas() -> str:
    """The JSON schemas of all that is written or read, with what `worldwise schema` prints."""
    found = {name: TypeAdapter(model).json_schema() for name, model in _SCHEMAS.items()}
    found |= {"worldwise schema records": record.json_schema(), "worldwise schema trace": trace.json_schema()}
    found |= {"worldwise schema hardware": figures.json_schema(), "worldwise schema project": project.json_schema()}
    return _QUALIFIED.sub("", _packed(_untitled(found))) + "\n"


def _untitled(schema: Any, name: str = "") -> Any:
    """A schema without the titles that pydantic makes of the names themselves."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name, name.replace("_", " ").title()}
    return {
        key: _untitled(value, key)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str) and _QUALIFIED.sub("", value) in made)
    }


def _packed(value: Any, depth: int = 0) -> str:
    """JSON with sorted keys: what fits in a line is one line."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(line) + depth <= _WIDTH:
        return line
    inner = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {_packed(value[key], depth + 1)}" for key in sorted(value)]
    else:
        parts = [inner + _packed(one, depth + 1) for one in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return ",\n".join([f"{begin}\n{parts[0]}", *parts[1:]]) + f"\n{' ' * depth}{end}"


# --- screens ---


def _screen_part(name: str, _: Path) -> str:
    """What `worldwise run` ends with: test_screens.py recomputes its figures."""
    return golden_screen(name)


# --- all ---

# Text files below tests/golden, each with what makes it in an empty folder.
PARTS: dict[str, Callable[[Path], str]] = {
    "schemas.json": lambda _: schemas(),
    "help.txt": lambda _: help_texts(),
    "refusals.txt": refusals,
    "operations.txt": lambda _: operations(),
    "recipes.txt": recipes,
    **{f"suites/{name}.txt": functools.partial(_suite_part, name) for name in SUITES},
    **{f"reports/{name}.txt": make for name, make in REPORTS.items()},
    **{f"screens/{name}.txt": functools.partial(_screen_part, name) for name in READINGS},
}
