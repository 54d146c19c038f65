# SPDX-License-Identifier: BSD-2-Clause
"""RELAY: one message for several receivers, in one request."""

from collections.abc import Iterator

import pytest
from keycached import ALICE, BOB, Client, Refused, Server

PLAIN = b"the news"
CAROL = BOB[::-1]
LIST = "admin admin\nrelay broker carol *\nrelay broker alice bob\n"
NOKEY = "NOKEY no such key"


@pytest.fixture
def broker(server: Server) -> Iterator[Client]:
    server.write_list(LIST)
    with server.connect("broker") as client:
        yield client


def sealed(server: Server, name: str, plain: bytes = PLAIN) -> list[bytes]:
    with server.connect(name) as client:
        got = client.ask("SEAL", name, plain)
    assert isinstance(got, list)
    return got


def opened(server: Server, name: str, message: object) -> object:
    assert isinstance(message, list), message
    with server.connect(name) as client:
        return client.ask("OPEN", name, *message)


def relayed(client: Client, *words: str | bytes) -> list[object]:
    got = client.ask("RELAY", *words)
    assert isinstance(got, list), got
    return got


def test_each_receiver_gets_its_own(server: Server, broker: Client) -> None:
    message = sealed(server, "carol")
    names = ["alice", "nobody", "bob", "carol", "with space", "alice"]
    copies = relayed(broker, "carol", *message, "", *names)
    assert [copies[1], copies[4]] == [NOKEY, NOKEY]
    assert opened(server, "alice", copies[0]) == PLAIN
    assert opened(server, "bob", copies[2]) == PLAIN
    assert opened(server, "carol", copies[3]) == PLAIN
    assert opened(server, "alice", copies[5]) == PLAIN
    assert str(opened(server, "alice", copies[2])).startswith("BADTAG")
    texts = {b"".join(copy) for copy in copies if isinstance(copy, list)}
    assert len(texts) == 4, "no two are the same"


def test_a_right_is_for_a_pair(server: Server, broker: Client) -> None:
    """The list lets the broker relay from Alice to Bob, and from Carol to all: nothing else, and nothing is read."""
    message = sealed(server, "alice")
    copies = relayed(broker, "alice", *message, "", "carol", "bob", "alice")
    assert [copies[0], copies[2]] == [NOKEY, NOKEY]
    assert opened(server, "bob", copies[1]) == PLAIN
    bobs = sealed(server, "bob")
    assert broker.ask("RELAY", "bob", *bobs, "", "alice", "bob") == NOKEY
    assert broker.ask("RELAY", "bob", *bobs, "") == NOKEY
    assert broker.ask("RELAY", "nobody", *bobs, "") == NOKEY
    # For oneself one may do what REENCRYPT lets one do.
    with server.connect("bob") as bob:
        assert relayed(bob, "bob", *bobs, "", "alice", "bob")[0] == NOKEY


def test_nobody_receives_it(server: Server, broker: Client) -> None:
    message = sealed(server, "alice")
    assert relayed(broker, "alice", *message, "") == []
    assert str(broker.ask("RELAY", "alice", message[0], message[1][:-1] + b"?", "")).startswith("BADTAG")
    assert str(broker.ask("RELAY", "carol", *message, "")).startswith("BADTAG")


def test_additional_data_is_each_receivers(server: Server, broker: Client) -> None:
    about = b"from carol" * 100
    with server.connect("carol") as carol:
        message = carol.ask("SEAL", "carol", PLAIN, about)
    assert isinstance(message, list)
    (copy,) = relayed(broker, "carol", *message, about, "bob")
    assert isinstance(copy, list)
    with server.connect("bob") as bob:
        assert bob.ask("OPEN", "bob", *copy, about) == PLAIN
        assert str(bob.ask("OPEN", "bob", *copy)).startswith("BADTAG")
    assert str(broker.ask("RELAY", "carol", *message, about + b"?", "bob")).startswith("BADTAG")


@pytest.mark.parametrize("size", [0, 30_000, 65_536])
def test_as_many_as_there_may_be(server: Server, broker: Client, size: int) -> None:
    plain = bytes(size)
    message = sealed(server, "carol", plain)
    copies = relayed(broker, "carol", *message, "", *["alice", "bob"] * 32)
    assert len(copies) == 64
    with server.connect("alice") as alice, server.connect("bob") as bob:
        for at, copy in enumerate(copies):
            assert isinstance(copy, list)
            who, name = ((alice, "alice"), (bob, "bob"))[at % 2]
            assert who.ask("OPEN", name, *copy) == plain
    assert "wrong number of arguments" in str(broker.ask("RELAY", "carol", *message, "", *["alice"] * 65))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["carol"], "wrong number of arguments"),
        (["carol", "n" * 12, "x" * 16, "a" * 1025, "bob"], "ERR additional data has at most 1024 bytes"),
        (["carol", "n", "x" * 16, "", "bob"], "ERR a nonce has 12 bytes"),
        (["carol", "n" * 12, "x" * 15, "", "bob"], "ERR a ciphertext has 16"),
    ],
)
def test_what_is_no_request(broker: Client, words: list[str | bytes], problem: str) -> None:
    got = broker.ask("RELAY", *words)
    assert isinstance(got, Refused)
    assert problem in got


@pytest.mark.parametrize("options", [("--policy", "none"), ("--policy", "lru"), ("--policy", "smart"), ("--naive",)])
def test_every_policy_gives_the_same(server: Server, options: tuple[str, ...]) -> None:
    """Two keys fit into the cache, and four are used."""
    server.restart("--bound", "256", *options)
    server.write_list(LIST)
    keys = {"alice": ALICE, "bob": BOB, "carol": CAROL}
    with server.connect() as admin:
        for name, key in keys.items():
            assert admin.ask("SET", name, key) == "OK"
    message = sealed(server, "carol")
    with server.connect("broker") as broker:
        for _ in range(10):
            for names in (["alice", "bob"], ["bob", "nobody", "carol", "alice"]):
                for name, copy in zip(names, relayed(broker, "carol", *message, "", *names), strict=True):
                    assert copy == NOKEY if name == "nobody" else opened(server, name, copy) == PLAIN


@pytest.mark.parametrize("policy", ["lru", "smart"])
def test_records_that_are_stale_or_gone_are_made_anew(server: Server, policy: str) -> None:
    """Keys change while the shadow does not know: its records are refused, the receivers get theirs all the same."""
    server.restart("--policy", policy, "--bound", "0")
    server.write_list(LIST)
    message = sealed(server, "carol")
    shadow = server.folder / "shadow"
    kept = {path.name: path.read_bytes() for path in shadow.iterdir()}
    with server.connect() as admin:
        assert admin.ask("SET", "bob", ALICE) == "OK"
    assert server.end()[0] == 0
    for name, content in kept.items():
        (shadow / name).write_bytes(content)
    server.start()
    with server.connect("broker") as broker:
        copies = relayed(broker, "carol", *message, "", "alice", "bob", "bob")
        assert [opened(server, name, copy) for name, copy in zip(("alice", "bob", "bob"), copies, strict=True)] == [
            PLAIN
        ] * 3
    assert int(server.info()["stale_records"]) >= 1


def test_a_trusted_application_that_starts_anew(server: Server, broker: Client) -> None:
    message = sealed(server, "carol")
    server.panic()
    assert str(broker.ask("RELAY", "carol", *message, "", "alice", "bob")).startswith("TRYAGAIN")
    assert opened(server, "bob", relayed(broker, "carol", *message, "", "alice", "bob")[1]) == PLAIN
