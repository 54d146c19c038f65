# SPDX-License-Identifier: BSD-2-Clause
"""The demo of the key cache: a server in a machine, and stock Redis clients that reach it from the host."""

import importlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from machines import LOOPBACK, Tool, emulators, lines_of_demo, listening
from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.lab.sandbox.network import Bind

# The first start builds root, programs and images.
pytestmark = pytest.mark.timeout(1200)

TESTS = paths.KEYCACHE / "tests" / "server"
KEY = "0123456789abcdef"
REFUSED = "Error: Server closed the connection"
sys.path.insert(0, str(TESTS))
servers = importlib.import_module("keycached")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Demo:
    """A demo that runs: its folder with certificates, and its port on 127.0.0.1."""

    folder: Path
    port: int
    said: str

    def root(self, *argv: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the root with the host's network, the folder at /demo, the tool and the tests at hand."""
        binds: list[Bind] = [
            (self.folder, "/demo", "rw"),
            (keycache.native(), "/native", "ro"),
            (TESTS, "/keycache/tests/server", "ro"),
        ]
        return keycache.root().run(
            argv, binds=binds, env=env, network=True, stdin=stdin, timeout=600, check=False, chdir="/tmp"
        )

    def redis(self, who: str, *words: str, stdin: str = "") -> str:
        """What redis-cli says, binary texts quoted."""
        files = ("--cert", f"/demo/{who}.crt", "--key", f"/demo/{who}.key") if who else ()
        options = ("--no-raw", "--tls", "--cacert", "/demo/ca.crt", *files, "-p", str(self.port))
        got = self.root("redis-cli", *options, *words, stdin=stdin)
        return (got.stdout + got.stderr).strip()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A demo with the access list and the clients that the server's own tests want; Ctrl-C ends it."""
    work = tmp_path_factory.mktemp("demo")
    (work / "acl").write_text(servers.LIST)
    clients = [word for name in servers.NAMES for word in ("--client", name)]
    port = free_port()
    process = Tool(work).start("keycache", "demo", "--port", str(port), "--allow-get", "--acl", "acl", *clients)
    assert process.stderr
    try:
        lines = lines_of_demo(process)
        yield Demo(work / "keycache-demo", port, "".join(lines))
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert "is gone" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()
    assert not (work / "keycache-demo").exists()
    assert not [line for line in emulators().values() if f":{port}-" in line], "a QEMU outlived the demo"
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", port))


def test_redis_cli_sets_and_uses_a_key(demo: Demo) -> None:
    assert demo.folder.stat().st_mode & 0o777 == 0o700
    assert listening(demo.port) == {LOOPBACK}, "somebody other than this host can reach it"
    assert demo.redis("admin", "set", "alice", KEY) == "OK"
    assert demo.redis("admin", "set", "bob", KEY[::-1]) == "OK"
    assert demo.redis("alice", "get", "alice") == f'"{KEY}"'

    sealed = demo.redis("alice", "seal", "alice", "hello")
    nonce, text = re.findall(r'^\d\) (".*")$', sealed, re.MULTILINE)
    assert demo.redis("alice", stdin=f"open alice {nonce} {text}\n") == '"hello"'
    theirs = demo.redis("alice", stdin=f"reencrypt alice bob {nonce} {text}\n")
    nonce, text = re.findall(r'^\d\) (".*")$', theirs, re.MULTILINE)
    assert demo.redis("bob", stdin=f"open bob {nonce} {text}\n") == '"hello"'
    assert demo.redis("bob", stdin=f"open alice {nonce} {text}\n") == "(error) NOKEY no such key"


def test_what_is_printed_can_be_typed(demo: Demo) -> None:
    """Every command that a reader is told to type, in a shell, with the redis-cli of the root."""
    typed = [line.strip() for line in demo.said.splitlines() if line.startswith("  ")]
    # What stands in for a missing redis-cli has to come first.
    typed.sort(key=lambda line: not line.startswith("redis-cli()"))
    got = subprocess.run(["bash", "-ec", "\n".join(typed)], capture_output=True, timeout=300)
    assert got.returncode == 0, got.stderr
    assert got.stdout.startswith(b"OK\n") and b"NOKEY" in got.stdout and b"keycache_version" in got.stdout
    # Alice opens her own message, and bob what was re-encrypted for him.
    assert got.stdout.count(b'"hello"\n') == 2


def test_nobody_gets_what_is_not_theirs(demo: Demo) -> None:
    """Answers for another's key, and for one that is not there, are the same."""
    assert demo.redis("admin", "set", "alice", KEY) == "OK"
    for name in ("alice", "nobody"):
        assert demo.redis("mallory", "get", name) == "(nil)"
        assert demo.redis("mallory", "exists", name) == "(integer) 0"
        assert demo.redis("mallory", "seal", name, "x") == "(error) NOKEY no such key"
    assert demo.redis("mallory", "set", "mallory", KEY).startswith("(error) NOPERM")


def test_certificates_that_are_refused(demo: Demo) -> None:
    made = demo.root("/native/bin/keycache", "--days", "-1", "demo-ca", "/demo", "late")
    assert made.returncode == 0, made.stderr
    # Why, is in a TLS alert that redis-cli does not show; test_tls.py reads it.
    assert demo.redis("late", "ping") == REFUSED
    assert demo.redis("", "ping") == REFUSED
    # Of another authority, which the client itself trusts no less.
    made = demo.root("/native/bin/keycache", "demo-ca", "/demo/strange", "alice")
    assert made.returncode == 0, made.stderr
    assert demo.redis("strange/alice", "ping") == REFUSED
    assert demo.redis("alice", "ping") == "PONG"


def test_the_table_of_attempts(demo: Demo) -> None:
    """Client A never gets B's key or plaintext: the attempts that the server's own tests make, in the machine."""
    got = demo.root(
        "python3",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "/keycache/tests/server/test_rights.py",
        "/keycache/tests/server/test_tls.py",
        "-k",
        "not lru and not fails_says_why and not files_are_needed and not share_a_shadow",
        KEYCACHE_PORT=str(demo.port),
        KEYCACHE_DEMO="/demo",
        KEYCACHE_BUILD="/native/bin",
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert got.returncode == 0, got.stdout[-4000:]
    passed = re.search(r"(\d+) passed", got.stdout)
    assert passed and int(passed[1]) >= 50, got.stdout[-1000:]


def test_a_command_has_the_server_while_it_runs(tool: Tool) -> None:
    """With the other storage; a second demo in the same place says what is wrong."""
    script = 'test -e "$KEYCACHE_DEMO/alice.key" && "$@"; test $? = 1 && exit 3'
    again = [sys.executable, "-P", "-m", "worldwise", "keycache", "demo", "--port", "0"]
    got = tool.run(
        "keycache", "demo", "--storage", "rpmb", "--port", "0", "--", "sh", "-c", script, "sh", *again, timeout=1100
    )
    assert got.returncode == 3, got.stderr
    assert "keycache-demo already exists" in got.stderr
    assert not (tool.directory / "keycache-demo").exists()
