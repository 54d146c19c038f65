# SPDX-License-Identifier: BSD-2-Clause
"""A user's own library: a folder with implementation.toml, adapter.c and sources, measured like the repository's.

The folder is copied as it is when a run begins, and the copy is what is built: what a run measured is what its digest
says, whatever happens to the folder meanwhile. docs/own.md is the user's side of this.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from worldwise.base import files, paths, toml_model
from worldwise.base.errors import WorldwiseError
from worldwise.lab import sandbox
from worldwise.lab.image import check_files
from worldwise.libraries import portable
from worldwise.libraries.boards import load_core
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import ADAPTER, MANIFEST, NO_CURVE, Portable
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.catalogue import takes_portables
from worldwise.plan.checks import unavailable_reason
from worldwise.plan.spec import PLAIN_TARGETS, TEE_CORE
from worldwise.plan.suite import Suite
from worldwise.run.rundir import OwnEntry

# The OP-TEE whose TA calls the library. What its core does for cryptography takes no part in what is measured.
OPTEE_VARIANT = "mbedtls-nist"
# The core of the machine it runs on, as a [build.core.*] of implementation.toml may name it.
OPTEE_CORE = TEE_CORE
# The attestation is on this curve: a library that has not all of these cannot make one.
TEE_CURVE = "secp256r1"
TEE_NEEDS = ("keygen", "sign", "verify")
TEE_OPERATIONS = ("keygen", "attestdiv", "attestquorum")
# What a TEE's suite asks of any library; all else is OP-TEE's own affair, whatever library there is.
_TEE_ASKED = (*TEE_OPERATIONS, "sha256")

# A folder with more than this is not a library's sources.
_MOST_FILES = 20_000
_MOST_FOLDERS = 5_000
_MOST_DEPTH = 32
_MOST_BYTES = 256 * 2**20

_SOURCES = (".c", ".s", ".S")

# What a stranger may tell the compiler: how code is made, and what is warned about. Nothing that names another program,
# a file to read or to write, or a linker's option.
_FLAGS = re.compile(
    r"-O[0-3sgz]?|-Ofast|-g[0-9]?|-ansi|-pedantic|-w|-std=[a-z0-9+]+"
    r"|-W(no-)?[a-z][a-z0-9+-]*(=[a-z0-9-]+)?"
    r"|-f(no-)?[a-z][a-z0-9-]*(=[A-Za-z0-9_+-]+)?|-m(no-)?[a-z][a-z0-9-]*(=[A-Za-z0-9_.+-]+)?"
)
_FLAGS_THAT_DO_MORE = re.compile(
    r"-f(no-)?(plugin|dump|profile|auto-profile|branch-probabilities|use-ld|lto|opt-info|save-|callgraph|sanitize|stack-usage"
    r"|test-coverage|compare-debug|diagnostics|pch|working-directory|wpa|ltrans|resolution|instrument|link-libatomic|toplevel)"
    r"[a-z0-9-]*(=.*)?|-mno-cygwin|-mxl.*|-mwin.*"
)
_DEFINITION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\([A-Za-z0-9_, ]*\))?(=[^\n\0]*)?")
_ARCHIVE = re.compile(r"lib[A-Za-z0-9_.+-]+\.a")

# How recipes/objects.py marks the one line that says what is wrong.
_SAYS = "worldwise: "


@dataclass(frozen=True)
class Own:
    """A user's library as a run has it.

    Attributes:
        implementation: with the copy as its folder.
        origin: the folder as the user named it, for messages.
        text: that of its implementation.toml.
        files: SHA-256 of each file, by its path in the folder.
    """

    implementation: Portable
    origin: Path
    text: str
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its name in cases and tables."""
        return self.implementation.name

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all its files."""
        return _digest(self.files)

    def entry(self) -> OwnEntry:
        """What a run keeps of it."""
        return OwnEntry(name=self.name, manifest=self.text, digest=self.digest, files=dict(self.files))


_brought: dict[str, Own] = {}


def bring(directories: Iterable[Path], cache: Path | None = None) -> list[Own]:
    """Copy, check and make known the libraries in some folders, until `forget`: all of them, or none if one is refused.

    Args:
        directories: the folders.
        cache: where copies are kept; the user's cache by default.

    Raises WorldwiseError naming folder, file and key for a folder that is not there, is not whole or links elsewhere,
    and for a name that is taken.
    """
    brought: dict[str, Own] = {}
    for directory in directories:
        sandbox.require_confinement(f"the library in {directory}")
        implementation = portable.load_folder(directory)
        name = implementation.name
        path = directory / MANIFEST
        taken = name in _brought or name in brought
        if name in IMPLEMENTATIONS or taken:
            whose = "another folder's" if taken else "one of worldwise's own"
            raise WorldwiseError(f"{path}: the name '{name}' is {whose}", "choose another name")
        copy, listed = _copy(directory, name, (cache or paths.cache_directory()) / "own")
        own = Own(
            replace(implementation, adapter=copy / ADAPTER, folder=copy),
            directory,
            toml_model.read_text(copy / MANIFEST, "implementation", copy),
            listed,
        )
        _check_manifest(own)
        brought[name] = own
    # All or none: a folder that is refused leaves nothing behind.
    for name, own in brought.items():
        portable.add(own.implementation)
        _brought[name] = own
    return list(brought.values())


def forget() -> None:
    """Make every library that was brought unknown again."""
    for name in list(_brought):
        portable.remove(name)
        del _brought[name]


def check_same(run: str, recorded: Sequence[OwnEntry], brought: Sequence[Own]) -> None:
    """Refuse to go on with a run unless its users' libraries are here, unchanged. Raises WorldwiseError."""
    here = {own.name: own for own in brought}
    for entry in recorded:
        own = here.pop(entry.name, None)
        if own is None:
            raise WorldwiseError(
                f"run {run} measures '{files.quoted(entry.name)}', a library of the user's own that is not here",
                "say where it is: worldwise run --resume --implementation DIR",
            )
        if own.digest != entry.digest:
            changed = [
                name for name in sorted({*own.files, *entry.files}) if own.files.get(name) != entry.files.get(name)
            ]
            raise WorldwiseError(
                f"{own.origin}: has changed since run {run} was begun ({', '.join(map(files.quoted, changed[:5]))}"
                f"{' and others' if len(changed) > 5 else ''}): two versions must not stand in one run",
                "start a new run",
            )
    for name in here:
        raise WorldwiseError(f"run {run} was begun without '{name}'", "start a new run with it")


def with_own(suite: Suite, brought: Sequence[Own]) -> Suite:
    """The suite, and all that it asks of other libraries asked of these too.

    What one has not is unavailable, as for the others. Raises WorldwiseError if a library has nothing of it.
    """
    cases = list(suite.cases)
    unavailable = list(suite.unavailable)
    for own in brought:
        added, lacking = _cases(suite, own)
        if not added:
            reasons = "; ".join(dict.fromkeys(one.reason for one in lacking)) or "it asks nothing of a library"
            raise WorldwiseError(
                f"{own.origin}: suite {suite.name} has nothing that '{own.name}' can be measured by: {reasons}",
                "choose another suite, such as mcu or attestation",
            )
        cases += added
        unavailable += lacking
    return replace(suite, cases=tuple(cases), unavailable=tuple(unavailable))


def _cases(suite: Suite, own: Own) -> tuple[list[Case], list[Unavailable]]:
    cases: dict[str, Case] = {}
    lacking: dict[Unavailable, None] = {}
    for case in suite.cases:
        if not takes_portables(case.target) and case.operation not in _TEE_ASKED:
            continue
        reason = _reason(own.implementation, case.target, case.curve, case.operation)
        if reason:
            lacking[Unavailable(case.target, own.name, case.curve, case.operation, reason)] = None
            continue
        wanted = replace(case, implementation=own.name)
        cases.setdefault(wanted.id, wanted)
    # What none of the suite's libraries has is not among its cases.
    for one in suite.unavailable:
        reason = _reason(own.implementation, one.target, one.curve, one.operation)
        if reason:
            lacking[Unavailable(one.target, own.name, one.curve, one.operation, reason)] = None
    return list(cases.values()), list(lacking)


def _reason(implementation: Portable, target: str, curve: str, operation: str) -> str:
    """Why a case cannot be, without a full stop; empty if it can."""
    if takes_portables(target):
        return unavailable_reason(target, implementation.name, curve, operation)
    if operation not in TEE_OPERATIONS:
        return f"{operation} on {target} is measured of OP-TEE's own libraries alone"
    for needed in TEE_NEEDS:
        if not implementation.has(needed, TEE_CURVE):
            return f"{implementation.name} has no {needed} on {TEE_CURVE}"
    if not implementation.runs_on(OPTEE_CORE):
        return f"{implementation.name} is not for {OPTEE_CORE}"
    return ""


# --- the folder ---


def _copy(directory: Path, name: str, store: Path) -> tuple[Path, dict[str, str]]:
    """The folder's copy in the cache, and its files' digests. Hidden files and folders are left out."""
    store.mkdir(parents=True, exist_ok=True)
    top = directory.resolve()
    with tempfile.TemporaryDirectory(dir=store, prefix=".copying-") as work:
        copy = Path(work, "copy")
        copy.mkdir()
        listed: dict[str, str] = {}
        left = _MOST_BYTES
        for relative, source in _files(directory):
            shown = directory / relative
            try:
                size = source.stat().st_size
                if size > left or len(listed) >= _MOST_FILES:
                    raise _too_much(directory)
                (copy / relative).parent.mkdir(parents=True, exist_ok=True)
                # A file can grow while it is copied: what is copied is bounded, whatever its size was.
                listed[str(relative)] = files.copy(source, copy / relative, left, top)
                left -= (copy / relative).stat().st_size
            except OSError as error:
                if error.errno == errno.EFBIG:
                    raise _too_much(directory) from None
                raise WorldwiseError(f"{shown}: cannot be read: {error.strerror}") from error
        final = store / f"{name}-{_digest(listed)[:12]}"
        if final.exists() and check_files(final, listed):
            files.remove(store, final.name)
        if not final.exists():
            # Another run may make the same copy at this moment.
            with contextlib.suppress(OSError):
                copy.rename(final)
    problem = check_files(final, listed)
    if problem:
        raise WorldwiseError(f"{directory}: its copy is damaged: {problem}", "check the disk that holds the cache")
    return final, listed


def _too_much(directory: Path) -> WorldwiseError:
    return WorldwiseError(
        f"{directory}: has more than {_MOST_FILES:,} files or {_MOST_BYTES // 2**20} MiB",
        "leave what is not source out of it, or give a folder within it",
    )


def _files(directory: Path) -> Iterator[tuple[Path, Path]]:
    """Every file below a folder: its place there, and where its content is, in the order of the names.

    The two are not the same for a link within the folder, which stands for its file.
    """
    top = directory.resolve()
    seen = 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        seen += 1
        if seen > _MOST_FOLDERS or len(Path(folder).relative_to(top).parts) > _MOST_DEPTH:
            raise WorldwiseError(
                f"{directory}: has more than {_MOST_FOLDERS:,} folders, or more than {_MOST_DEPTH} in one another",
                "leave what is not source out of it, or give a folder within it",
            )
        for name in folders:
            if Path(folder, name).is_symlink():
                raise WorldwiseError(
                    f"{directory / Path(folder, name).relative_to(top)}: is a link to a folder",
                    "put the files themselves there",
                )
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith("."):
                continue
            relative = path.relative_to(top)
            shown = directory / relative
            problem = files.name_problem(name)
            if problem:
                raise WorldwiseError(f"{directory}: {problem}", "rename it")
            # Not Path.resolve(), which raises what is no OSError for a link to itself.
            source = Path(os.path.realpath(path)) if path.is_symlink() else path
            if not source.is_relative_to(top):
                raise WorldwiseError(
                    f"{shown}: links to {files.quoted(str(path.readlink()))}, which is not in the folder",
                    "put the file itself there: a run keeps the digest of all that it measured",
                )
            if not source.is_file():
                raise WorldwiseError(f"{shown}: is not a file", "leave it out of the folder")
            yield relative, source


def _digest(listed: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(listed.items())).encode()).hexdigest()


def _check_manifest(own: Own) -> None:
    """Refuse what its text names and the folder has not. Raises WorldwiseError."""
    path = own.origin / MANIFEST
    build = own.implementation.manifest.build
    for archive in build.archives:
        if not _ARCHIVE.fullmatch(archive):
            raise WorldwiseError(
                f"{path}: build.archives: {archive!a} is no static library's name", "they are named lib*.a"
            )
    for option, each in own.implementation.manifest.options.items():
        for value, defines in each.values.items():
            _check_definitions(path, f"options.{option}.values.{value}", defines)
    in_folder = own.implementation.manifest.source is None
    _check_part(own, build, "build", in_folder)
    for curve, part in build.curve.items():
        where = f"build.curve.{curve}"
        if curve not in (*portable.CURVES, NO_CURVE):
            raise WorldwiseError(f"{path}: {files.quoted(where)}: curve '{files.quoted(curve)}' is not known")
        _check_part(own, part, where, in_folder)
    named = [(f"build.core.{core}", core) for core in build.core]
    named += [("needs.cores", core) for core in own.implementation.manifest.needs.cores]
    for where, core in named:
        if core not in (OPTEE_CORE, *PLAIN_TARGETS.values()):
            try:
                load_core(core)
            except WorldwiseError as error:
                raise WorldwiseError(
                    f"{path}: {files.quoted(where)}: {error.message}",
                    f"{error.hint}, {', '.join(PLAIN_TARGETS.values())}",
                ) from error
    for core, core_part in build.core.items():
        _check_part(own, core_part, f"build.core.{core}", in_folder)


def _check_part(own: Own, part: portable.Part, where: str, in_folder: bool) -> None:
    path = own.origin / MANIFEST
    folder = own.implementation.folder
    assert folder is not None
    _check_definitions(path, f"{where}.defines", part.defines)
    for flag in part.flags:
        if not _FLAGS.fullmatch(flag) or _FLAGS_THAT_DO_MORE.fullmatch(flag):
            raise WorldwiseError(
                f"{path}: {where}.flags: {flag!a} is not among the flags that a library may have",
                "-O..., -f..., -m..., -W..., -std=...: how code is made, with no file and no other program; "
                "headers go into 'include', macros into 'defines'",
            )
    for key, names in (("sources", part.sources), ("include", part.include)):
        for name in names:
            if key == "sources" and not name.endswith(_SOURCES):
                raise WorldwiseError(
                    f"{path}: {where}.sources: '{name}' is no C or assembly source",
                    f"sources end in {', '.join(_SOURCES)}; what is compiled already is not looked at, so not measured",
                )
            if not in_folder:
                continue
            if key == "sources" and not any(found.is_file() for found in folder.glob(name)):
                raise WorldwiseError(
                    f"{path}: {where}.sources: '{name}' names no file in {own.origin}",
                    "names are relative to the folder; * and ** stand for several",
                )
            if key == "include" and not (folder / name).is_dir():
                raise WorldwiseError(f"{path}: {where}.include: there is no folder {own.origin / name}")


def _check_definitions(path: Path, where: str, definitions: Sequence[str]) -> None:
    for definition in definitions:
        if not _DEFINITION.fullmatch(definition):
            raise WorldwiseError(f"{path}: {where}: {definition!a} is no definition", "NAME or NAME=VALUE, without -D")


def announce(brought: Iterable[Own], notify: Callable[[str], None]) -> None:
    """Say which code is about to run, and how it is confined: of folders of others, and of all where one is root."""
    for own in brought:
        with contextlib.suppress(OSError):
            owner = own.origin.stat().st_uid
            if os.geteuid() not in (0, owner):
                whose = f", which belongs to user {owner},"
            elif os.geteuid() == 0:
                whose = ""
            else:
                continue
            notify(f"the code in {own.origin}{whose} is built and run {sandbox.confinement().describe()}")


@contextlib.contextmanager
def told(name: str) -> Iterator[None]:
    """Around a build: a failure of a user's library is told in terms of the user's files, not of a log."""
    try:
        yield
    except WorldwiseError as error:
        own = _brought.get(name)
        lines = error.details.splitlines()
        says = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
        if own is None or not says:
            raise
        place = f"{own.origin}/"
        details = "\n".join(line for line in lines if not line.startswith((_SAYS, "== ")))
        raise WorldwiseError(
            f"{name}: {says[-1].replace('/in/own/', place)}",
            f"the files are in {own.origin}; docs/own.md says what a library may do. {error.hint}".strip(),
            details.replace("/in/own/", place),
        ) from error
