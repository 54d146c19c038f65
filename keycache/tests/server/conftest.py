# SPDX-License-Identifier: BSD-2-Clause
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from keycached import ALICE, BOB, LIST, NAMES, REMOTE, TOOL, Client, Lasting, Remote, Server


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


def with_keys(folder: Path, ca: Path) -> Server:
    (folder / "acl").write_text(LIST)
    one = Server(folder, ca).start("--allow-get")
    set_keys(one)
    return one


@pytest.fixture
def server(tmp_path: Path, ca: Path, elsewhere: Server | None) -> Iterator[Server]:
    """Alice and Bob have keys; so has Carol, and nobody may use hers but she."""
    if elsewhere:
        yield elsewhere
        return
    one = with_keys(tmp_path, ca)
    yield one
    if one.process:
        assert one.end()[0] == 0


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, ca: Path, elsewhere: Server | None) -> Iterator[Lasting]:
    """Gives the server with these options, the same one to all tests of a file: for those that leave it as it was."""
    started: dict[tuple[str, ...], Server] = {}

    def server_with(*options: str) -> Server:
        if elsewhere:
            return elsewhere.restart(*options) if options else elsewhere
        if options not in started:
            started[options] = with_keys(tmp_path_factory.mktemp("lasting"), ca)
            if options:
                started[options].restart(*options)
        return started[options]

    yield server_with
    for one in started.values():
        code, text = one.end()
        assert code == 0, text


@pytest.fixture
def alice(server: Server) -> Iterator[Client]:
    with server.connect("alice") as client:
        yield client


@pytest.fixture
def admin(server: Server) -> Iterator[Client]:
    with server.connect("admin") as client:
        yield client
