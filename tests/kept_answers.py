# SPDX-License-Identifier: BSD-2-Clause
"""Answers of slow tests are kept: a test that passed is not run again until a file changes that it could have seen.

A test could see every file of the repository, but for pages, other tests, and Python modules that its own module does
not import, at any depth and in any function. What starts the command line could see all of worldwise. Another host, or
another environment, is asked anew. So is a test that somebody names: answers are kept where all tests are run.
"""

import ast
import functools
import hashlib
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path, PurePath

import pytest

from worldwise.base import paths
from worldwise.base.files import file_sha256

# Only tests that take long are worth it.
_ROOMS = ("tests/machine", "tests/keycache", "tests/browser")
_DEAR = tuple(f"tests/unit/test_{name}.py" for name in ("intervals", "pqc", "sampling"))
# Where `import` looks.
_ROOTS = ("src", "tests", "tests/unit", *_ROOMS, "keycache/tests/server", "keycache/tests/broker", "keycache/mosquitto")
# What no slow test reads, but for those that read the pages' figures.
_UNSEEN = ("CHANGELOG.md", "docs/*.md", "docs/figures/*", "docs/pictures/*", "tests/unit/*", "tests/golden/*")
_READ_PAGES = ("tests/doc_*.py",)
_PAGES = re.compile(r"\"docs\b")
# These are there for every test.
_ALWAYS = ("tests/conftest.py", "tests/machines.py", "tests/browsers.py", "tests/spread.py", "tests/kept_answers.py")
# How a test names the command line, or what starts it.
_COMMAND_LINE = re.compile(r"\btool\b|\blone_tool\b|\bTool\b|worldwise\"")
_FAMILIES = "src/worldwise/families"
_PROPERTY = "kept answer"
# Seconds: what nobody asked for so long is removed.
_OLD = 30 * 24 * 3600


class Modules:
    """The Python modules of a repository, and what they import.

    Args:
        repository: its root.
        names: its files, from there on.
    """

    def __init__(self, repository: Path, names: Iterable[str]) -> None:
        self._repository = repository
        self.names = {name for name in names if name.endswith(".py")}
        self._direct = functools.cache(self._imported_by)

    def seen_by(self, names: Iterable[str]) -> set[str]:
        """These modules and all that they import, at any depth."""
        seen: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self._direct(name)
        return seen

    def _imported_by(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        for node in ast.walk(ast.parse((self._repository / name).read_bytes())):
            if isinstance(node, ast.Import):
                found |= self._files(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= self._files([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "declared":
                # base/family_stages.py loads the families' files by the name of a stage.
                (stage,) = (one.value for one in node.args[:1] if isinstance(one, ast.Constant))
                assert isinstance(stage, str), name
                found |= {one for one in self.names if fnmatch(one, f"{_FAMILIES}/*/{stage}.py")}
        return frozenset(found)

    def _files(self, dotted: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for name in dotted:
            parts = name.split(".")
            for root in _ROOTS:
                for count in range(1, len(parts) + 1):
                    path = "/".join((root, *parts[:count]))
                    found |= {f"{path}.py", f"{path}/__init__.py"} & self.names
        return found


def digests(repository: Path, names: Iterable[str]) -> dict[str, str]:
    """Test file -> SHA-256 of all that its tests could see, of a repository's files."""
    there = sorted(name for name in names if (repository / name).is_file())
    modules = Modules(repository, there)
    content = functools.cache(lambda name: file_sha256(repository / name))
    others = [name for name in there if name not in modules.names and not _fits(name, _UNSEEN)]
    # The sandbox runs these by their paths: nobody imports them.
    others += [name for name in modules.names if not name.startswith(("src/worldwise/", "tests/"))]
    others += [name for name in modules.names if name.startswith("src/worldwise/recipes/")]
    basis = _sha256([*_host(), *(f"{name} {content(name)}" for name in sorted(others))])
    everything = {name for name in modules.names if name.startswith("src/worldwise/")}
    always = modules.seen_by(modules.names.intersection(_ALWAYS))
    found = {}
    for name in there:
        if name not in _DEAR and (str(PurePath(name).parent) not in _ROOMS or not PurePath(name).match("test_*.py")):
            continue
        seen = modules.seen_by([name]) | always
        text = (repository / name).read_text(encoding="utf-8")
        if _COMMAND_LINE.search(text):
            seen |= everything
        if _PAGES.search(text) or any(_fits(one, _READ_PAGES) for one in seen):
            seen |= {one for one in there if one.startswith("docs/")}
        found[name] = _sha256([basis, *(f"{one} {content(one)}" for one in sorted(seen))])
    return found


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _host() -> list[str]:
    processors = re.findall(r"^(?:model name|flags|Features)\s*:.*", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return [platform.platform(), sys.version, *sorted(set(processors))]


def _files_of(repository: Path) -> list[str]:
    """The repository's files, those that git does not know yet too; none where there is no git."""
    words = ["git", "-C", str(repository), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [name for name in listed.stdout.decode().split("\0") if name]


class Kept:
    """The answers that are kept, as empty files in a folder.

    Args:
        folder: where they are.
        known: test file -> the digest of what its tests could see.
    """

    def __init__(self, folder: Path, known: Mapping[str, str]) -> None:
        self._folder = folder
        self.known = known
        self.passed: dict[str, set[str]] = {}
        self.failed: set[str] = set()
        self.used: set[str] = set()
        self.problem = ""

    def _file(self, nodeid: str) -> Path | None:
        digest = self.known.get(nodeid.partition("::")[0])
        return self._folder / _sha256([nodeid, digest])[:32] if digest else None

    def has(self, nodeid: str) -> bool:
        """Whether the test passed with the same files."""
        path = self._file(nodeid)
        return path is not None and path.exists()

    def hear(self, report: pytest.TestReport) -> None:
        """What a test said, at one of its three stages."""
        if (_PROPERTY, True) in report.user_properties:
            self.used.add(report.nodeid)
        if report.outcome != "passed":
            self.failed.add(report.nodeid)
        self.passed.setdefault(report.nodeid, set()).add(report.when or "")

    def write(self) -> None:
        """Keeps the answers of those that passed at all three stages, and removes what is old."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for nodeid, stages in self.passed.items():
            if len(stages) == 3 and nodeid not in self.failed and (path := self._file(nodeid)):
                path.touch()
        for path in self._folder.iterdir():
            if time.time() - path.stat().st_mtime > _OLD:
                path.unlink(missing_ok=True)


_KEPT = pytest.StashKey[Kept]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of this module."""
    parser.addoption("--anew", action="store_true", help="run all tests, whatever answers are kept")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where all is run, look at the files once, before the tests begin."""
    option, given = config.option, getattr(config, "workerinput", {}).get(_PROPERTY)
    anew = option.anew or option.campaigns or option.record_durations
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not option.collectonly
    if given is not None:
        config.stash[_KEPT] = Kept(_folder(), {} if anew else json.loads(given))
    elif whole and not hasattr(config, "workerinput"):
        config.stash[_KEPT] = Kept(_folder(), digests(paths.REPOSITORY, _files_of(paths.REPOSITORY)))


def _folder() -> Path:
    return paths.cache_directory() / "again" / "answers"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Workers take the digests from the process that started them."""
    config: pytest.Config = node.config  # type: ignore[attr-defined]
    if _KEPT in config.stash:
        node.workerinput[_PROPERTY] = json.dumps(config.stash[_KEPT].known)  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A kept answer stands for the test: it passes at its three stages, and nothing is run."""
    kept = item.config.stash.get(_KEPT, None)
    if kept is None or item.config.option.anew or not kept.has(item.nodeid):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for stage in ("setup", "call", "teardown"):
        report = pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "passed",
            None,
            stage,
            user_properties=[(_PROPERTY, True)],
        )
        item.ihook.pytest_runtest_logreport(report=report)
    # What the tests before it had set up, and those after it do not need, ends as it would have.
    item.session._setupstate.teardown_exact(nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class _Listener:
    """In the process that hears of all tests."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._kept.hear(report)

    def pytest_sessionfinish(self) -> None:
        """Files that changed meanwhile may have been seen before or after."""
        # A full disk must not hide what the tests said.
        try:
            if digests(paths.REPOSITORY, _files_of(paths.REPOSITORY)) == self._kept.known:
                self._kept.write()
        except OSError as error:
            self._kept.problem = str(error)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Listens in one process alone."""
    if _KEPT in session.config.stash and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Listener(session.config.stash[_KEPT]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many were not run."""
    kept = config.stash.get(_KEPT, None)
    if kept and kept.problem:
        terminalreporter.write_line(f"no answer of these tests is kept: {kept.problem}")
    if kept and kept.used:
        terminalreporter.write_line(
            f"kept: {len(kept.used):,} of those that passed were not run: they had passed on this host, and no file "
            "has changed that they could have seen; ./test --anew runs them too"
        )
