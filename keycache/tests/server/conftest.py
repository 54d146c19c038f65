# SPDX-License-Identifier: BSD-2-Clause
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from keycached import ALICE, BOB, LIST, NAMES, REMOTE, TOOL, Client, Remote, Server


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if REMOTE:
        return Path(os.environ["KEYCACHE_DEMO"])
    folder = tmp_path_factory.mktemp("ca")
    subprocess.run([TOOL, "demo-ca", folder, *NAMES], check=True)
    return folder


def set_keys(server: Server) -> None:
    with server.connect() as admin:
        assert admin.ask("SET", "alice", ALICE) == "OK"
        assert admin.ask("SET", "bob", BOB) == "OK"
        assert admin.ask("SET", "carol", BOB[::-1]) == "OK"


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, ca: Path) -> Server | None:
    if not REMOTE:
        return None
    one = Remote(tmp_path_factory.mktemp("elsewhere"), ca).start("--allow-get")
    set_keys(one)
    return one


@pytest.fixture
def server(tmp_path: Path, ca: Path, elsewhere: Server | None) -> Iterator[Server]:
    """Alice and Bob have keys; so has Carol, and nobody may use hers but she."""
    if elsewhere:
        yield elsewhere
        return
    (tmp_path / "acl").write_text(LIST)
    one = Server(tmp_path, ca).start("--allow-get")
    set_keys(one)
    yield one
    if one.process:
        assert one.end()[0] == 0


@pytest.fixture
def alice(server: Server) -> Iterator[Client]:
    with server.connect("alice") as client:
        yield client


@pytest.fixture
def admin(server: Server) -> Iterator[Client]:
    with server.connect("admin") as client:
        yield client
