# SPDX-License-Identifier: BSD-2-Clause
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "server"))
sys.path.insert(2, str(Path(__file__).parents[2] / "mosquitto"))

from keycached import TOOL
from stack import NAMES, Stack


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ca")
    subprocess.run([TOOL, "demo-ca", folder, *NAMES], check=True)
    return folder


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, ca: Path) -> Iterator[Stack]:
    """One for all tests: each leaves the key cache's server and the broker running, and has its own topics."""
    one = Stack(tmp_path_factory.mktemp("stack"), ca)
    yield one
    one.end()
