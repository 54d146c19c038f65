# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that every kind of test may use."""

import contextlib
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from synthetic import make_suite, write_run
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.common.process import collect_seldom
from worldwise.lab.debian.plain_packages import FOLDER
from worldwise.plan.case import Case
from worldwise.run.folder.rundir import Run

pytest_plugins = ["browsers", "command_line", "kept_answers", "machines", "readings", "spread"]

# A shell that starts the tests in the background has Ctrl-C ignored, and so would they and all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
# And nohup has a hangup ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# As the tool itself does.
collect_seldom()
# They make a dozen roots.
with contextlib.suppress(OSError):
    (paths.cache_directory() / "downloads" / FOLDER).mkdir(parents=True, exist_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the command line would: an error's hint, and the end of the log it names."""
    report = yield
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, WorldwiseError) and (told := "\n".join(filter(None, (error.hint, error.details)))):
        report.sections.append((f"What the error of {item.name} says besides", told))
    return report


@pytest.fixture(autouse=True)
def signals_stay_as_they_are() -> Iterator[None]:
    """The command line takes signals, and after Ctrl-C ignores them: in a test that calls it, not for those to come."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """An empty directory for runs."""
    path = tmp_path / "runs"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def all_cases() -> tuple[Case, ...]:
    """Every case there can be, with few samples."""
    return make_suite().cases


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory, all_cases: tuple[Case, ...]) -> Run:
    """A complete synthetic run of every case. Shared: not to be changed."""
    return write_run(tmp_path_factory.mktemp("runs"), all_cases)
