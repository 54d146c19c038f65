# SPDX-License-Identifier: BSD-2-Clause
"""A server to test, and a client that sends any bytes: no Redis library, so that nothing is repaired on the way."""

import itertools
import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("KEYCACHE_BUILD", Path(__file__).parents[2] / "build"))
SERVER = BUILD / os.environ.get("KEYCACHE_SERVER", "keycached-native")
TOOL = BUILD / "keycache"
WAIT_SECONDS = 30.0
# A server that runs elsewhere, at this port of 127.0.0.1, with `--allow-get` and LIST: see Remote.
REMOTE = os.environ.get("KEYCACHE_PORT")

NAMES = ("alice", "bob", "carol", "broker", "mallory", "eve", "with space", "!absent")
ALICE = b"alice's own key!"
BOB = b"0123456789ABCDEFfedcba9876543210"
LIST = """# Of the tests.
admin admin
reencrypt alice bob
use broker client-*
reencrypt broker client-*
reencrypt alice ghost
deny eve
"""


class Refused(str):
    """An error reply."""


class Verbatim(bytes):
    """A text of RESP3, with its format and a colon before it."""


class Closed(Exception):
    """The server closed the connection."""


def encoded(*words: str | bytes) -> bytes:
    raw = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(raw) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in raw)


def bytes_of(one: object) -> bytes:
    assert isinstance(one, bytes)
    return one


class Client:
    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.bytes = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def _more(self) -> None:
        try:
            got = self.socket.recv(65536)
        except (ConnectionError, ssl.SSLError) as error:
            raise Closed(str(error)) from error
        if not got:
            raise Closed
        self.bytes += got

    def _line(self) -> bytes:
        while b"\r\n" not in self.bytes:
            self._more()
        line, self.bytes = self.bytes.split(b"\r\n", 1)
        return line

    def reply(self) -> object:
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Refused(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"%":
            return {bytes_of(self.reply()): self.reply() for _ in range(int(rest))}
        if kind == b"_":
            assert not rest
            return None
        assert kind in (b"$", b"="), line
        size = int(rest)
        if size < 0:
            return None
        while len(self.bytes) < size + 2:
            self._more()
        data, end, self.bytes = self.bytes[:size], self.bytes[size : size + 2], self.bytes[size + 2 :]
        assert end == b"\r\n"
        return data if kind == b"$" else Verbatim(data)

    def ask(self, *words: str | bytes) -> object:
        self.send(encoded(*words))
        return self.reply()

    def closes(self) -> bool:
        try:
            while True:
                self.bytes = b""
                self._more()
        except Closed:
            return True


@dataclass
class Server:
    folder: Path
    ca: Path
    process: subprocess.Popen[str] | None = None
    port: int = 0
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    has_shadow: bool = True
    # What was connected to it since its start.
    clients: list[Client] = field(default_factory=list)
    # What it tells systemd.
    told: socket.socket | None = None

    def command(self, *options: str) -> list[str]:
        return [
            str(SERVER),
            *("--tls-cert", f"{self.ca}/server.crt", "--tls-key", f"{self.ca}/server.key"),
            *("--tls-ca", f"{self.ca}/ca.crt", "--acl", f"{self.folder}/acl"),
            *(("--shadow", f"{self.folder}/shadow") if self.has_shadow else ()),
            *("--port", "0"),
            *options,
        ]

    def start(self, *options: str) -> "Server":
        self.options = options or self.options
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.settimeout(WAIT_SECONDS)
        # The kernel chooses a name.
        self.told.bind("")
        own = {"KEYCACHE_NATIVE_DIR": f"{self.folder}/tee", "NOTIFY_SOCKET": f"@{self.told.getsockname()[1:].decode()}"}
        environment = os.environ | own | self.environment
        self.process = subprocess.Popen(
            self.command(*self.options), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert "listening on" in line, line + (self.process.stderr.read() if self.process.stderr else "")
        self.port = int(line.split()[-1])
        return self

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit status and what it said, after this signal if it runs. Its clients leave first."""
        assert self.process and self.process.stderr
        for client in self.clients:
            client.socket.close()
        self.clients.clear()
        if self.process.poll() is None:
            self.process.send_signal(number)
        text = self.process.stderr.read()
        code = self.process.wait(WAIT_SECONDS)
        if self.process.stdout:
            self.process.stdout.close()
        self.process.stderr.close()
        if self.told:
            self.told.close()
        self.process = None
        return code, text

    def restart(self, *options: str) -> "Server":
        assert self.end()[0] == 0
        return self.start(*options)

    def context(self, name: str | None, ca: Path | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca / "ca.crt"))
        if name:
            context.load_cert_chain((ca or self.ca) / f"{name}.crt", (ca or self.ca) / f"{name}.key")
        return context

    def connect(self, name: str | None = "admin", context: ssl.SSLContext | None = None) -> Client:
        sock = socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS)
        sock.settimeout(WAIT_SECONDS)
        # Or the end of a long request waits for the server's word that the rest has come.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            client = Client((context or self.context(name)).wrap_socket(sock, server_hostname="localhost"))
        except (ConnectionError, ssl.SSLError) as error:
            sock.close()
            raise Closed(str(error)) from error
        self.clients.append(client)
        return client

    def info(self) -> dict[str, str]:
        with self.connect() as client:
            text = client.ask("INFO")
        assert isinstance(text, bytes)
        return dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)

    def wait_for(self, key: str, value: str) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while self.info()[key] != value:
            assert time.monotonic() < end, f"{key} stays {self.info()[key]}"
            time.sleep(0.1)

    def own_certificates(self, folder: Path) -> None:
        """A copy of the authority's folder, which may be changed; for the next start."""
        subprocess.run(["cp", "-r", self.ca, folder], check=True)
        self.ca = folder

    def reload(self) -> None:
        """As `systemctl reload` does: certificates, revocation lists and the access list have been read again."""
        assert self.process and self.told
        self.process.send_signal(signal.SIGHUP)
        while not self.told.recv(100).startswith(b"RELOADING=1\n"):
            pass
        assert self.told.recv(100) == b"READY=1"

    def panic(self) -> None:
        (self.folder / "tee.die").touch()

    def forget(self) -> None:
        (self.folder / "tee.forget").touch()

    def set_behind(self) -> None:
        """A key of alice that the server does not know of, with the next call of the TA."""
        (self.folder / "tee.behind").touch()

    def hang(self) -> None:
        (self.folder / "tee.hang").touch()

    def write_list(self, text: str) -> None:
        """A new access list, which the server reads."""
        (self.folder / "acl").write_text(text)
        self.reload()


class Remote(Server):
    """A server that runs elsewhere: it cannot be started otherwise, and keeps what it was given by other tests."""

    policy = ""

    def start(self, *options: str) -> Server:
        self.port = int(REMOTE or 0)
        self.policy = self.info()["policy"]
        return self.restart(*options)

    def restart(self, *options: str) -> Server:
        policies = [after for before, after in itertools.pairwise(options) if before == "--policy"]
        others = {option for option in options if option.startswith("--")} - {"--allow-get", "--policy"}
        if set(policies) - {self.policy} or "--allow-get" not in options or others:
            pytest.skip("the server was started otherwise")
        return self

    def own_certificates(self, folder: Path) -> None:
        del folder
        pytest.skip("the server has its certificates elsewhere")

    def write_list(self, text: str) -> None:
        del text
        pytest.skip("the server has its list elsewhere")


# Options -> the server with them that all tests of a file share.
Lasting = Callable[..., Server]
