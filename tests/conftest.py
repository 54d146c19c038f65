# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that every kind of test may use."""

import signal
from pathlib import Path

import pytest

from synthetic import make_suite, write_run
from worldwise.rundir import Run
from worldwise.suite import Case

pytest_plugins = ["machines", "spread"]

# A shell that starts the tests in the background has Ctrl-C ignored, and so would they and all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


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
