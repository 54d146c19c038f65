# SPDX-License-Identifier: BSD-2-Clause
"""`lab mirrors`: files that vanish from the mirrors are named before somebody's first run ends at one."""

import datetime
import hashlib
import ipaddress
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from command_line import Answer, Call
from local_web import Handler, LocalServer, no_proxy, serving
from worldwise.lab.debian import mirror_check
from worldwise.lab.debian.lock import Package, Wanted, wanted_package
from worldwise.lab.debian.mirrors import MIRROR_VARIABLE
from worldwise.lab.debian.second_sources import PACKAGES, SOURCES_VARIABLE

THERE = "/pool/main/t/there/there_1.0_amd64.deb"


class Server(LocalServer):
    """A mirror that answers HEAD alone: by path a status and a Content-Length; what it does not know is not there."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, int | None]] = {THERE: (200, 5)}
        self.everything = False

        class Answering(Handler):
            def do_HEAD(handler) -> None:
                self.asked.append(handler.path)
                status, size = self.known.get(handler.path, (200, None) if self.everything else (404, None))
                handler.send_response(status)
                if status == 302:
                    handler.send_header("Location", THERE)
                if size is not None:
                    handler.send_header("Content-Length", str(size))
                handler.end_headers()

        super().__init__(Answering)


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of this machine, and no pause."""
    no_proxy(monkeypatch)
    monkeypatch.delenv(SOURCES_VARIABLE, raising=False)
    monkeypatch.setattr(mirror_check, "PAUSE", 0.0)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as made:
        yield made


def wanted(name: str) -> Wanted:
    sha256 = hashlib.sha256(name.encode()).hexdigest()
    values: dict[str, Any] = {"version": "1.0", "architecture": "amd64", "source": name, "size": 5, "sha256": sha256}
    return wanted_package(Package(name=name, file=f"{name}_1.0_amd64.deb", **values))


def test_the_answers(server: Server, tmp_path: Path) -> None:
    server.known |= {"/other": (200, 6), "/broken": (500, None), "/moved": (302, None), "/shy": (200, None)}

    def state(path: str) -> tuple[str, str]:
        answer = mirror_check.ask(f"{server.address}{path}", 5)
        return answer.state, answer.words

    assert state(THERE) == ("there", "")
    assert state("/shy") == ("there", "")
    assert state("/moved") == ("there", "")
    assert state("/gone") == ("vanished", "status 404")
    assert state("/other") == ("changed", "6 bytes, 5 are locked")
    server.asked.clear()
    assert state("/broken") == ("unanswered", "status 500")
    assert server.asked == ["/broken"] * 2
    assert mirror_check.ask("http://127.0.0.1:1/x", 5).state == "unanswered"
    (tmp_path / "a b").write_bytes(b"12345")
    assert mirror_check.ask(f"file://{tmp_path}/a%20b", 5).state == "there"
    assert mirror_check.ask(f"file://{tmp_path}/a%20b", 6).state == "changed"
    assert mirror_check.ask(f"copy:{tmp_path}/c", 6).state == "vanished"


def test_a_file_is_lost_if_no_mirror_has_it(server: Server, tmp_path: Path) -> None:
    gone, there = wanted("gone"), wanted("there")
    kept = tmp_path / PACKAGES / gone.file.sha256
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"12345")
    empty = f"file://{tmp_path}/empty"
    assert mirror_check.lost_files([there], [empty, server.address], [], lambda _: None) == []
    told: list[int] = []
    (lost,) = mirror_check.lost_files([gone, there], [empty, server.address], ["file:///none"], told.append)
    assert (lost.item, lost.vanished, lost.second) == (gone, True, "")
    assert told[-1] == 1
    (lost,) = mirror_check.lost_files([gone], [server.address], [f"file://{tmp_path}"], lambda _: None)
    assert lost.describe() == (
        f"gone 1.0 (amd64): gone_1.0_amd64.deb: not on {server.address} (status 404); file://{tmp_path} has it"
    )
    # A mirror that is down is not waited for again and again.
    server.asked.clear()
    server.known = {f"/{wanted(str(number)).path}": (500, None) for number in range(30)}
    lost30 = mirror_check.lost_files(
        [wanted(str(number)) for number in range(30)], [server.address], [], lambda _: None
    )
    assert (len(lost30), any(one.vanished for one in lost30)) == (30, False)
    assert len(server.asked) == 2 * mirror_check.AT_A_TIME
    # That a mirror cannot be asked says nothing of a file.
    (lost,) = mirror_check.lost_files([gone], ["http://127.0.0.1:1"], [], lambda _: None)
    assert not lost.vanished


def test_it_goes_by_the_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.known = {f"http://mirror.invalid{THERE}": (200, 5)}
    monkeypatch.setenv("http_proxy", server.address)
    assert mirror_check.ask(f"http://mirror.invalid{THERE}", 5).state == "there"
    assert server.asked == [f"http://mirror.invalid{THERE}"]


def test_it_trusts_the_authorities_of_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a company's proxy, mirrors show the company's certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mirror")])
    # By its number: a bare root has no file of hosts, so no name of it.
    loopback = ipaddress.ip_address("127.0.0.1")
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now.replace(year=9000))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(loopback)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    # Its threads may tell of a handshake that the client ended.
    monkeypatch.setattr(server, "handle_error", lambda *_: None)
    address = f"https://{loopback}:{server.server_port}{THERE}"
    refused = mirror_check.ask(address, 5)
    assert refused.state == "unanswered"
    assert "certificate verify failed" in refused.words
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert mirror_check.ask(address, 5).state == "there"


def test_the_command(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """A scheduled job stands on its exit status."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))

    def check(mirror: str) -> Answer:
        monkeypatch.setenv(MIRROR_VARIABLE, mirror)
        return call("lab", "mirrors", "--root", "viewers")

    server.everything = True
    status, out, _ = check(server.address)
    assert (status, out.endswith(" files: a mirror has each\n")) == (0, True)
    asked = len(server.asked)
    assert out.startswith(f"the root viewers: {asked} files")
    chosen = server.asked[0]
    server.known[chosen] = (404, None)
    status, out, err = check(server.address)
    assert status == 3
    first, second = out.splitlines()
    assert first == f"the root viewers: {asked} files: 1 on none"
    assert f"not on {server.address} (status 404)" in second
    assert chosen.rsplit("/", 1)[1].replace("%2B", "+") in second
    assert "lab import" in err
    assert "lab relock" in err
    status, out, err = check("http://127.0.0.1:1")
    assert status == 1
    assert out.startswith(f"the root viewers: {asked} files: {asked} without an answer\n")
    assert len(out.splitlines()) == 2
    assert f"no mirror answered for {asked} files" in err
