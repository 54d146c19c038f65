# SPDX-License-Identifier: BSD-2-Clause
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from keycached import ALICE, BOB, LIST, SERVER, TOOL, Client, Closed, Server


def refused(server: Server, context: ssl.SSLContext) -> str:
    before = int(server.info()["rejected_connections"])
    try:
        # With TLS 1.3 the client learns of it by its first read.
        with server.connect(context=context) as client:
            text = client.ask("PING")
            raise AssertionError(f"answered {text!r}")
    except (Closed, BrokenPipeError, ConnectionError) as error:
        assert int(server.info()["rejected_connections"]) == before + 1
        return str(error)


def test_no_certificate(server: Server) -> None:
    assert "CERTIFICATE_REQUIRED" in refused(server, server.context(None)).upper().replace(" ", "_")


def test_of_another_authority(server: Server, tmp_path: Path) -> None:
    subprocess.run([TOOL, "demo-ca", tmp_path / "strange"], check=True)
    assert "unknown ca" in refused(server, server.context("alice", tmp_path / "strange"))


def test_expired(server: Server, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", server.ca, copy], check=True)
    subprocess.run([TOOL, "--days", "-1", "demo-ca", copy, "alice"], check=True)
    assert "expired" in refused(server, server.context("alice", copy))


def test_a_server_certificate_is_no_client_certificate(server: Server) -> None:
    assert refused(server, server.context("server"))


def test_older_tls(server: Server) -> None:
    context = server.context("alice")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert "version" in refused(server, context)


def revocation_list(ca: Path, folder: Path, *names: str) -> Path:
    """A list of the authority in `ca`, with the certificates of `names` on it."""
    lines = []
    for name in names:
        command = ["openssl", "x509", "-in", str(ca / f"{name}.crt"), "-noout", "-serial"]
        serial = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().split("=")[1]
        lines.append(f"R\t360101000000Z\t260101000000Z\t{serial}\tunknown\t/CN={name}\n")
    (folder / "index").write_text("".join(lines))
    (folder / "config").write_text(f"[ca]\ndefault_ca = demo\n[demo]\ndatabase = {folder}/index\ndefault_md = sha256\n")
    made = folder / "revoked.new"
    command = ["openssl", "ca", "-gencrl", "-config", str(folder / "config"), "-crldays", "3650"]
    command += ["-cert", str(ca / "ca.crt"), "-keyfile", str(ca / "ca.key"), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made.rename(folder / "revoked.pem")


def test_a_revoked_certificate(server: Server, tmp_path: Path) -> None:
    """The name is as good as before, and another certificate of that name is not revoked."""
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", server.ca, copy], check=True)
    subprocess.run([TOOL, "demo-ca", copy, "alice"], check=True)
    revoked = revocation_list(server.ca, tmp_path, "alice")
    server.restart("--allow-get", "--tls-crl", str(revoked))
    assert "revoked" in refused(server, server.context("alice"))
    with server.connect(context=server.context("alice", copy)) as alice, server.connect("bob") as bob:
        assert alice.ask("GET", "alice") == ALICE
        assert bob.ask("GET", "bob") == BOB


def test_a_certificate_that_is_revoked_meanwhile(server: Server, tmp_path: Path) -> None:
    revoked = revocation_list(server.ca, tmp_path)
    server.restart("--allow-get", "--tls-crl", str(revoked))
    with server.connect("alice") as alice, server.connect("bob") as bob:
        revocation_list(server.ca, tmp_path, "alice")
        assert alice.ask("GET", "alice") == ALICE
        server.reload()
        assert alice.closes()
        assert bob.ask("GET", "bob") == BOB
    assert "revoked" in refused(server, server.context("alice"))
    # What cannot be read changes nothing.
    revoked.write_text("no list")
    server.reload()
    assert "revoked" in refused(server, server.context("alice"))
    assert f"{revoked}: --tls-crl cannot be used" in server.end()[1]


def test_certificates_are_read_anew(server: Server, tmp_path: Path) -> None:
    """Another authority in the place of the old one: who has a certificate of the old one is out."""
    folder = tmp_path / "tls"
    server.own_certificates(folder)
    server.restart("--allow-get")
    with server.connect("alice") as alice:
        subprocess.run([TOOL, "demo-ca", tmp_path / "new", "alice", "bob"], check=True)
        old = server.context("alice")
        for file in (tmp_path / "new").iterdir():
            if file.name != "acl":
                file.rename(folder / file.name)
        server.reload()
        assert alice.closes()
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE
    with pytest.raises(Closed, match="certificate verify failed"):
        server.connect(context=old)


def test_a_connection_grows_old(server: Server) -> None:
    server.restart("--allow-get", "--max-age", "2")
    # The server counts from the moment that it accepts.
    begin = time.monotonic()
    with server.connect("alice") as alice:
        with pytest.raises((Closed, OSError)):
            while time.monotonic() - begin < 20:
                assert alice.ask("PING") == "PONG"
                time.sleep(0.05)
        assert time.monotonic() - begin >= 2


@pytest.mark.parametrize("name", ["with space", "!absent", "eve"])
def test_names_that_may_not(server: Server, name: str) -> None:
    with server.connect(name) as client:
        assert str(client.reply()).startswith("NOAUTH")
        assert client.closes()


@pytest.mark.parametrize("data", [b"*1\r\n$4\r\nPING\r\n", b"GET / HTTP/1.1\r\n\r\n", bytes(1000)])
def test_without_tls(server: Server, data: bytes) -> None:
    with Client(socket.create_connection(("127.0.0.1", server.port))) as client:
        client.send(data)
        assert client.closes()
    assert server.info()["tee"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--tls-cert", "/none.crt"], "/none.crt: --tls-cert cannot be used"),
        (["--tls-key", "/none.key"], "/none.key: --tls-key cannot be used"),
        (["--tls-key", "{ca}/alice.key"], "alice.key: --tls-key"),
        (["--tls-ca", "/none.ca"], "/none.ca: --tls-ca cannot be used"),
        (["--tls-crl", "/none.crl"], "/none.crl: --tls-crl cannot be used"),
        (["--acl", "/none"], "/none: No such file or directory; --acl names a file of lines"),
        (["--acl", "{folder}/wrong"], "wrong:2: expected admin, use, reencrypt, relay or deny"),
        (["--shadow", "/proc/none"], "/proc/none: No such file"),
        (["--port", "70000"], "--port 70000: expected a number from 0 to 65535"),
        (["--listen", "somewhere"], "--listen somewhere: expected an address"),
        (["--listen", "192.0.2.1"], "--listen 192.0.2.1 --port 0: "),
        (["--policy", "best"], "--policy best: expected none or lru or smart"),
        (["--storage", "disk"], "--storage disk: expected ree or rpmb"),
        (["--durability", "some"], "--durability some: expected full or relaxed"),
        (["--bound", "-1"], "--bound -1: expected a number"),
        (["--max-request", "10"], "--max-request 10: expected a number"),
        (["--fly"], "see keycached --help"),
        (["extra"], "what is extra? See keycached --help"),
    ],
)
def test_a_start_that_fails_says_why(tmp_path: Path, ca: Path, options: list[str], text: str) -> None:
    (tmp_path / "acl").write_text(LIST)
    (tmp_path / "wrong").write_text("admin admin\nroot alice\n")
    options = [option.format(ca=ca, folder=tmp_path) for option in options]
    command = Server(tmp_path, ca).command(*options)
    environment = {"KEYCACHE_NATIVE_DIR": str(tmp_path / "tee")}
    got = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert got.returncode in (1, 2) and text in got.stderr, got.stderr


def test_files_are_needed() -> None:
    got = subprocess.run([SERVER], capture_output=True, text=True)
    assert got.returncode == 2 and "--tls-cert FILE is missing" in got.stderr


def test_two_servers_do_not_share_a_shadow(server: Server) -> None:
    environment = {"KEYCACHE_NATIVE_DIR": str(server.folder / "other")}
    got = subprocess.run(server.command(), env=environment, capture_output=True, text=True, timeout=30)
    assert got.returncode == 1 and "another server uses it" in got.stderr
