# SPDX-License-Identifier: BSD-2-Clause
"""The log of what happened: who, what, with which keys, and why not."""

import json
import os
import resource
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from keycached import ALICE, BOB, SERVER, Client, Closed, Server, encoded

WAIT_SECONDS = 30.0
BURST = 20
SECRET = b"a text that nobody may read"

Line = dict[str, object]


@pytest.fixture
def log(server: Server) -> Path:
    path = server.folder / "audit.log"
    server.restart("--allow-get", "--audit", str(path))
    return path


def lines(log: Path, **wanted: object) -> list[Line]:
    """Those that have the given words; each line is JSON, and the file has whole lines alone."""
    text = log.read_text("ascii")
    assert text.endswith("\n")
    found = [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(one, dict) for one in found)
    return [one for one in found if all(one.get(key) == value for key, value in wanted.items())]


def only(log: Path, **wanted: object) -> Line:
    """The one line of these words, but for its time and address."""
    (one,) = lines(log, **wanted)
    datetime.strptime(str(one.pop("time")), "%Y-%m-%dT%H:%M:%S.%fZ")
    one.pop("address", None)
    return one


def refusal(event: str, outcome: str, why: str, client: str = "alice", **ids: object) -> Line:
    return {"kind": "refusal", "event": event, "client": client, **ids, "outcome": outcome, "why": why}


def change(event: str, name: str) -> Line:
    return {"kind": "change", "event": event, "client": "admin", "from": name, "outcome": "OK"}


def test_start_connections_and_stop(server: Server, log: Path) -> None:
    before = datetime.now(UTC)
    with server.connect("alice") as alice:
        assert alice.ask("PING") == "PONG"
        port = alice.socket.getsockname()[1]
    assert server.end()[0] == 0
    start, connect, stop = lines(log)
    assert start["kind"] == stop["kind"] == "server"
    assert (start["event"], start["outcome"]) == ("start", "OK")
    assert (stop["event"], stop["outcome"]) == ("stop", "OK")
    when = datetime.strptime(str(connect.pop("time")), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    assert abs((when - before).total_seconds()) < 60
    assert connect == {
        "kind": "connection",
        "event": "connect",
        "client": "alice",
        "address": f"127.0.0.1:{port}",
        "outcome": "OK",
    }
    server.start()


def test_connections_that_are_refused(server: Server, log: Path, tmp_path: Path) -> None:
    for name, client, why in (
        ("eve", "eve", "the access list denies it"),
        ("with space", None, "the certificate's common name cannot be an id"),
        (None, None, "peer did not return a certificate"),
    ):
        with pytest.raises(Closed), server.connect(name) as one:
            one.ask("PING")
            one.ask("PING")
        got = only(log, event="connect", why=why)
        assert got.get("client") == client and got["outcome"] in ("NOAUTH", "TLS")
    subprocess.run([SERVER.parent / "keycache", "demo-ca", tmp_path / "other", "alice"], check=True)
    with pytest.raises(Closed), server.connect(context=server.context("alice", tmp_path / "other")) as one:
        one.ask("PING")
    assert [one["why"] for one in lines(log, event="connect", outcome="TLS")] == [
        "peer did not return a certificate",
        "unable to get local issuer certificate",
    ]


def test_changes(server: Server, log: Path, admin: Client) -> None:
    assert admin.ask("SET", "client-1", BOB) == "OK"
    assert only(log, event="SET") == change("SET", "client-1")
    assert admin.ask("EXPIRE", "client-1", "100") == 1
    assert only(log, event="EXPIRE") == change("EXPIRE", "client-1")
    assert admin.ask("PERSIST", "client-1") == 1
    assert only(log, event="PERSIST") == change("PERSIST", "client-1")
    assert admin.ask("DEL", "client-1", "nobody", "carol") == 2
    assert [one["from"] for one in lines(log, event="DEL", outcome="OK")] == ["client-1", "carol"]
    assert only(log, event="DEL", outcome="NOKEY") == refusal(
        "DEL", "NOKEY", "no such key", client="admin", **{"from": "nobody"}
    )
    assert admin.ask("SET", "client-2", BOB, "EX", "1") == "OK"
    server.wait_for("expired_keys", "1")
    assert only(log, event="expired") == {"kind": "change", "event": "expired", "from": "client-2", "outcome": "OK"}
    # Before the client hears of it.
    for number in range(50):
        assert admin.ask("SET", f"client-{number}", BOB) == "OK"
        assert lines(log, event="SET")[-1]["from"] == f"client-{number}"


def test_changes_of_uses_and_of_trust(server: Server, log: Path, admin: Client) -> None:
    assert admin.ask("GENERATE", "client-1", "32", "USE", "seal,from") == "OK"
    assert only(log, event="GENERATE") == change("GENERATE", "client-1")
    assert admin.ask("SET", "client-2", BOB) == "OK"
    assert admin.ask("SET", "client-2", BOB[::-1], "KEEP", "1000") == "OK"
    assert admin.ask("FORGET", "client-2") == 1
    assert admin.ask("FORGET", "client-2") == 0
    assert [one["outcome"] for one in lines(log, event="FORGET", **{"from": "client-2"})] == ["OK", "NOKEY"]
    assert lines(log, event="FORGET")[-1]["why"] == "no previous key"
    assert admin.ask("SET", "client-2", BOB, "KEEP", "1") == "OK"
    end = time.monotonic() + WAIT_SECONDS
    while not lines(log, event="forgotten"):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert only(log, event="forgotten") == {
        "kind": "change",
        "event": "forgotten",
        "from": "client-2",
        "outcome": "OK",
    }
    for name in ("ENROL", "TRUST"):
        assert str(admin.ask(name, SECRET)).startswith("ERR that is no statement")
        assert lines(log, event=name)[-1]["kind"] == "refusal"
    # What a key is not for.
    with server.connect("broker") as broker:
        assert isinstance(broker.ask("SEAL", "client-1", SECRET), list)
        assert str(broker.ask("OPEN", "client-1", bytes(12), bytes(32))).startswith("NOUSE")
    got = only(log, event="OPEN")
    assert (got["kind"], got["outcome"], got["client"], got["from"]) == ("refusal", "NOUSE", "broker", "client-1")


def test_why_it_was_refused(server: Server, log: Path, alice: Client) -> None:
    """The client hears that there is no such key; who reads the log hears more."""
    message = alice.ask("SEAL", "alice", SECRET)
    assert isinstance(message, list)
    no_right = "no right to use the key"
    for words, wanted in (
        (["SEAL", "carol", SECRET], refusal("SEAL", "NOKEY", no_right, **{"from": "carol"})),
        (["SEAL", "nobody", SECRET], refusal("SEAL", "NOKEY", no_right, **{"from": "nobody"})),
        (["GET", "bob"], refusal("GET", "NOKEY", no_right, **{"from": "bob"})),
        (["OPEN", "bob", *message], refusal("OPEN", "NOKEY", no_right, **{"from": "bob"})),
        (
            ["OPEN", "alice", bytes(12), bytes(20)],
            refusal("OPEN", "BADTAG", "the ciphertext does not open under this key", **{"from": "alice"}),
        ),
        (["OPEN", "alice", b"", bytes(20)], refusal("OPEN", "ERR", "a nonce has 12 bytes", **{"from": "alice"})),
        (
            ["REENCRYPT", "alice", "carol", *message],
            refusal(
                "REENCRYPT", "NOKEY", "no right to re-encrypt to the second key", **{"from": "alice", "to": "carol"}
            ),
        ),
        (
            ["REENCRYPT", "alice", "ghost", *message],
            refusal("REENCRYPT", "NOKEY", "no such key", **{"from": "alice", "to": "ghost"}),
        ),
        (["SET", "alice", ALICE], refusal("SET", "NOPERM", "only an administrator sets keys", **{"from": "alice"})),
        (["EXISTS", "carol"], refusal("EXISTS", "NOKEY", "no right to know of the key", **{"from": "carol"})),
        (["TTL", "carol"], refusal("TTL", "NOKEY", "no right to know of the key", **{"from": "carol"})),
        (["DEL", "alice"], refusal("DEL", "NOKEY", "not an administrator", **{"from": "alice"})),
        (["SCAN", "0"], refusal("SCAN", "NOKEY", "not an administrator")),
        (["SEAL", "with space", "x"], refusal("SEAL", "NOKEY", "not an id")),
        (
            ["SEAL", "alice"],
            refusal("SEAL", "ERR", "wrong number of arguments for 'SEAL' command", **{"from": "alice"}),
        ),
        (["AUTH", "bob", SECRET], refusal("AUTH", "WRONGPASS", "invalid username-password pair or user is disabled.")),
        ([SECRET, "x"], refusal("unknown command", "ERR", "unknown command")),
        (["HELLO", "3", SECRET], refusal("HELLO", "ERR", "an option that is none")),
    ):
        with server.connect("alice") as client:
            before = len(lines(log))
            client.ask(*words)
        added = [one for one in lines(log)[before:] if one["kind"] != "connection"]
        for one in added:
            del one["time"], one["address"]
        assert added == [wanted], words
        if len(lines(log, kind="refusal")) % 15 == 0:
            # The next ones would be left out.
            server.restart()
    # What is no refusal is not in the log.
    before = len(lines(log))
    with server.connect("alice") as client:
        assert client.ask("EXISTS", "ghost", "alice") == 1
        assert client.ask("TTL", "ghost") == -2
    assert [one["kind"] for one in lines(log)[before:]] == ["connection"]


def test_each_receiver(server: Server, log: Path) -> None:
    server.restart("--audit", str(log), "--audit-uses")
    with server.connect("alice") as alice:
        message = alice.ask("SEAL", "alice", SECRET)
        assert isinstance(message, list)
        got = alice.ask("RELAY", "alice", *message, "", "bob", "carol", "alice", "ghost")
        assert isinstance(got, list) and [isinstance(one, list) for one in got] == [True, False, True, False]
        assert isinstance(alice.ask("RELAY", "alice", *message, "", "bob"), list)
        assert alice.ask("RELAY", "alice", *message, "") == []
        assert str(alice.ask("RELAY", "carol", *message, "", "bob")).startswith("NOKEY")
    found = lines(log, event="RELAY")
    for one in found:
        del one["time"], one["address"]
    used = {"kind": "use", "event": "RELAY", "client": "alice", "from": "alice"}
    no_key = "no such key"
    assert found == [
        refusal("RELAY", "NOKEY", "no right to relay to the second key", **{"from": "alice", "to": "carol"}),
        refusal("RELAY", "NOKEY", no_key, **{"from": "alice", "to": "ghost"}),
        {**used, "to": ["bob", "alice"], "outcome": "OK"},
        {**used, "to": "bob", "outcome": "OK"},
        {**used, "outcome": "OK"},
        refusal("RELAY", "NOKEY", "no right to relay from the key", **{"from": "carol"}),
    ]


def test_uses_only_if_asked_for(server: Server, log: Path) -> None:
    def use() -> list[object]:
        with server.connect("alice") as alice:
            message = alice.ask("SEAL", "alice", SECRET)
            assert isinstance(message, list)
            assert alice.ask("OPEN", "alice", *message) == SECRET
            assert isinstance(alice.ask("REENCRYPT", "alice", "bob", *message), list)
            assert alice.ask("GET", "alice") == ALICE
            assert alice.ask("EXISTS", "alice") == 1
        return [one["event"] for one in lines(log, kind="use")]

    assert use() == []
    server.restart("--allow-get", "--audit", str(log), "--audit-uses")
    assert use() == ["SEAL", "OPEN", "REENCRYPT", "GET"]
    assert only(log, event="REENCRYPT") == {
        "kind": "use",
        "event": "REENCRYPT",
        "client": "alice",
        "from": "alice",
        "to": "bob",
        "outcome": "OK",
    }


def test_no_secrets(server: Server, log: Path) -> None:
    """Everything once with texts and keys that are known: none of them is in the log, nor what they are with `\\u`."""
    server.restart("--allow-get", "--audit", str(log), "--audit-uses")
    key = b'\x01"\\\n secret key!!'[:16]
    with server.connect("admin") as admin, server.connect("alice") as alice:
        assert admin.ask("SET", "alice", key) == "OK"
        message = alice.ask("SEAL", "alice", SECRET, SECRET)
        assert isinstance(message, list)
        for words in (
            ["OPEN", "alice", *message, SECRET],
            ["OPEN", "alice", *message],
            ["REENCRYPT", "alice", "bob", *message, SECRET],
            ["RELAY", "alice", *message, SECRET, "bob", SECRET],
            ["GET", "alice"],
            ["SET", "bob", SECRET],
            ["SEAL", SECRET, "alice"],
            [SECRET],
            [key, SECRET],
            ["SET", "alice", key, SECRET],
            ["SET", "alice", key, "EX", SECRET],
            ["EXPIRE", "alice", SECRET],
            ["SCAN", SECRET],
            ["HELLO", SECRET],
            ["HELLO", "2", SECRET, SECRET],
            ["CLIENT", SECRET],
            ["AUTH", SECRET, SECRET],
            ["PING", SECRET],
        ):
            alice.ask(*words)
            admin.ask(*words)
        alice.send(SECRET + b"\r\n")
        assert alice.closes()
    assert server.end()[0] == 0
    raw = log.read_bytes()
    assert len(raw.splitlines()) > 25
    for secret in (SECRET, key, *message, BOB, b"secret", b"nobody may"):
        assert secret not in raw
    assert b"\\u" not in raw
    server.start()


def test_a_flood_is_counted(server: Server, log: Path, admin: Client) -> None:
    """Of each client and kind so many, and then how many were left out; others are not concerned."""
    with server.connect("mallory") as mallory:
        mallory.send(encoded("SEAL", "carol", "x") * 500)
        assert [str(mallory.reply()) for _ in range(500)] == ["NOKEY no such key"] * 500
    with server.connect("alice") as alice:
        assert alice.ask("SEAL", "carol", "x") == "NOKEY no such key"
    for number in range(3 * BURST):
        assert admin.ask("SET", f"client-{number}", BOB) == "OK"
    assert len(lines(log, client="mallory", kind="refusal")) == BURST
    assert len(lines(log, client="alice", kind="refusal")) == 1
    assert len(lines(log, event="SET")) == 3 * BURST
    end = time.monotonic() + WAIT_SECONDS
    while not lines(log, event="left out"):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert only(log, event="left out") == {
        "kind": "refusal",
        "event": "left out",
        "client": "mallory",
        "count": 500 - BURST,
    }
    # The next one is heard again.
    with server.connect("mallory") as mallory:
        assert mallory.ask("SEAL", "carol", "x") == "NOKEY no such key"
    assert len(lines(log, client="mallory", event="SEAL")) == BURST + 1
    assert server.info()["audit_left_out"] == str(500 - BURST)


def test_what_was_left_out_is_said_at_the_end(server: Server, log: Path) -> None:
    with server.connect("mallory") as mallory:
        for _ in range(BURST + 5):
            mallory.ask("SEAL", "carol", "x")
    assert server.end()[0] == 0
    assert only(log, event="left out")["count"] == 5
    server.start()


def test_ids_are_escaped(log: Path, admin: Client) -> None:
    name = "a\"b\\c/d'<e>{}[]:,"
    assert admin.ask("SET", name, BOB) == "OK"
    assert only(log, event="SET") == change("SET", name)


def test_rotated(server: Server, log: Path, admin: Client) -> None:
    assert admin.ask("SET", "client-1", BOB) == "OK"
    old = log.rename(log.with_suffix(".1"))
    assert admin.ask("SET", "client-2", BOB) == "OK"
    server.reload()
    assert admin.ask("SET", "client-3", BOB) == "OK"
    assert [one["from"] for one in lines(old, event="SET")] == ["client-1", "client-2"]
    assert [one["event"] for one in lines(log)] == ["reload access list", "reload certificates", "SET"]
    assert log.stat().st_mode & 0o777 == 0o600
    # A file that cannot be opened: the old one goes on.
    log.rename(log.with_suffix(".2"))
    log.mkdir()
    server.reload()
    assert admin.ask("SET", "client-4", BOB) == "OK"
    assert lines(log.with_suffix(".2"), event="SET")[-1]["from"] == "client-4"
    log.rmdir()
    server.reload()


def test_reload_says_what_is_wrong(server: Server, log: Path) -> None:
    with server.connect("alice") as alice:
        assert alice.ask("PING") == "PONG"
        server.write_list("admin\n")
        wrong = only(log, event="reload access list")
        assert wrong["outcome"] == "ERR" and "acl:1" in str(wrong["why"])
        server.write_list("admin admin\ndeny alice\n")
        assert alice.closes()
    assert only(log, event="close") == {
        "kind": "connection",
        "event": "close",
        "client": "alice",
        "outcome": "NOAUTH",
        "why": "the access list denies it",
    }


def test_malformed(server: Server, log: Path) -> None:
    with server.connect("alice") as alice:
        alice.send(SECRET + b"\r\n")
        assert alice.closes()
    assert only(log, event="close")["why"] == "a request that is malformed or too large"


def test_repair(server: Server, log: Path) -> None:
    server.restart("--audit", str(log), "--repair")
    assert only(log, event="repair")["why"] == "0 parts of secure storage begin empty"


def test_standard_error(server: Server) -> None:
    server.restart("--audit", "-")
    with server.connect() as admin:
        assert admin.ask("SET", "client-1", BOB) == "OK"
    text = server.end()[1]
    events = [json.loads(line)["event"] for line in text.splitlines() if line.startswith("{")]
    assert events == ["start", "connect", "SET", "stop"]
    server.start("--allow-get")


def test_a_full_disk(server: Server, log: Path, admin: Client) -> None:
    """The server goes on, says it once, and counts what is lost; no line is half there."""
    # TLS 1.3 lets a client go on before the server has said that it came.
    assert admin.ask("PING") == "PONG"
    # Longer than any other file of the server: only it is too long then.
    log.write_text('{"event":"x"}\n' * 20000)
    assert server.process
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    size = log.stat().st_size
    # Room for a part of a line.
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 30, most))
    for number in range(5):
        assert admin.ask("SET", f"client-{number}", BOB) == "OK"
    assert log.stat().st_size == size
    assert server.info()["audit_failures"] == "6"
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
    assert admin.ask("SET", "client-9", BOB) == "OK"
    assert only(log, event="lost") == {"kind": "server", "event": "lost", "count": 6}
    assert lines(log, event="SET")[-1]["from"] == "client-9"
    text = server.end()[1]
    assert text.count("The server goes on without these lines") == 1
    assert "is written again; 6 lines are lost" in text
    server.start()


def test_a_disk_without_room_from_the_start(server: Server) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("there is no /dev/full")
    server.restart("--allow-get", "--audit", "/dev/full")
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE
    text = server.end()[1]
    assert text.count("--audit /dev/full: No space left on device. The server goes on without these lines") == 1
    server.start("--allow-get")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--audit-uses",), "--audit-uses needs --audit FILE"),
        (("--audit", "/nowhere/audit.log"), "--audit /nowhere/audit.log: No such file or directory"),
    ],
)
def test_what_cannot_be(server: Server, options: tuple[str, ...], problem: str) -> None:
    assert server.end(signal.SIGTERM)[0] == 0
    got = subprocess.run(
        server.command(*options),
        env=os.environ | {"KEYCACHE_NATIVE_DIR": f"{server.folder}/tee"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert got.returncode != 0 and problem in got.stderr
    server.start()
