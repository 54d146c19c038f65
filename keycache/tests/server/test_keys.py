# SPDX-License-Identifier: BSD-2-Clause
"""What keys are for, keys that the TEE makes, and previous keys: what these sealed stays readable."""

import time
from collections.abc import Iterator

import pytest
from keycached import ALICE, Client, Lasting, Refused, Server, bytes_of
from test_expiry import WAIT_SECONDS

PLAIN = b"the news"
OTHER = bytes(range(32))
THIRD = bytes(range(32, 64))
LIST = "admin admin\nreencrypt alice bob\nreencrypt alice carol\nrelay broker * *\n"
NOKEY = "NOKEY no such key"
NOPERM = "NOPERM only an administrator sets keys"


@pytest.fixture
def broker(server: Server) -> Iterator[Client]:
    server.write_list(LIST)
    with server.connect("broker") as client:
        yield client


def code(reply: object) -> str:
    """Of an error, its code; of anything else, nothing."""
    return reply.split()[0] if isinstance(reply, Refused) else ""


def message_of(reply: object) -> list[bytes]:
    assert isinstance(reply, list), reply
    return reply


def about(admin: Client, name: str) -> dict[str, object]:
    """What KEYINFO says."""
    got = admin.ask("KEYINFO", name)
    assert isinstance(got, list), got
    return {bytes_of(key).decode(): value for key, value in zip(got[::2], got[1::2], strict=True)}


def answers(server: Server) -> dict[str, str]:
    """What Alice's key is refused for, by use; nothing where it is good. Bob's key is for everything."""
    with server.connect("alice") as alice, server.connect("bob") as bob, server.connect("broker") as broker:
        sealed = alice.ask("SEAL", "alice", PLAIN)
        # A message of Alice's that she sealed herself, if the TEE does not: another key's is as good to be refused.
        mine = sealed if isinstance(sealed, list) else message_of(bob.ask("SEAL", "bob", PLAIN))
        others = message_of(bob.ask("SEAL", "bob", PLAIN))
        return {
            "seal": code(sealed),
            "open": code(alice.ask("OPEN", "alice", *mine)),
            "from": code(broker.ask("REENCRYPT", "alice", "bob", *mine)),
            "to": code(broker.ask("REENCRYPT", "bob", "alice", *others)),
            "get": code(alice.ask("GET", "alice")),
        }


@pytest.mark.parametrize("policy", ["none", "lru", "smart"])
@pytest.mark.parametrize(
    ("use", "refused"),
    [
        (None, {}),
        ("seal,open,from,to,get", {}),
        ("SEAL,Open,from,to", {"get": "NOGET"}),
        ("open,from,to,get", {"seal": "NOUSE"}),
        ("seal,open,to,get", {"from": "NOUSE"}),
        ("seal,open,from,get", {"to": "NOUSE"}),
        # Down to Bob's key, which opens, there is no way.
        ("seal,from,to", {"open": "NOUSE", "get": "NOUSE", "from": "NOUSE"}),
        ("from", {"seal": "NOUSE", "open": "NOUSE", "get": "NOUSE", "from": "NOUSE", "to": "NOUSE"}),
    ],
)
def test_what_a_key_is_for(
    server: Server, broker: Client, use: str | None, refused: dict[str, str], policy: str
) -> None:
    del broker
    server.restart("--allow-get", "--policy", policy)
    with server.connect() as admin:
        assert admin.ask("SET", "alice", ALICE, *(["USE", use] if use else [])) == "OK"
        assert about(admin, "alice")["use"] == (use or "seal,open,from,to,get").lower().encode()
    got = answers(server)
    assert {name: answer for name, answer in got.items() if answer in ("NOUSE", "NOGET")} == refused
    # So it stays in secure storage, and in records that are made anew.
    assert server.end()[0] == 0
    for path in (server.folder / "shadow").iterdir():
        path.unlink()
    server.start()
    assert answers(server) == got


def test_relayed_but_not_read(server: Server, broker: Client) -> None:
    """Keys that are for relaying alone: the message goes from one to the other, and nobody opens it at the server."""
    with server.connect() as admin, server.connect("alice") as alice:
        for name, key in (("alice", OTHER), ("bob", THIRD)):
            assert admin.ask("SET", name, key, "USE", "seal,from,to") == "OK"
        sealed = message_of(alice.ask("SEAL", "alice", PLAIN))
        copies = message_of(broker.ask("RELAY", "alice", *sealed, "", "bob", "carol", "alice"))
        assert [code(copy) for copy in copies] == ["", "NOUSE", ""]
        assert "KEYINFO" in str(copies[1]) and "ENROL" in str(copies[1])
        assert code(alice.ask("OPEN", "alice", *sealed)) == "NOUSE"
        assert code(alice.ask("GET", "alice")) == "NOUSE"
        # The way up is open: Carol's key opens, and what it sealed may go to Bob.
        with server.connect("carol") as carol:
            mine = message_of(carol.ask("SEAL", "carol", PLAIN))
        assert isinstance(message_of(broker.ask("RELAY", "carol", *mine, "", "bob"))[0], list)


def test_a_refused_use_leaves_the_keys_where_they_are(server: Server, broker: Client, admin: Client) -> None:
    """Who asks for what a key is not for has each record opened once, and costs nobody a place in the TA's cache."""
    for name, use in (("alice", "seal"), ("bob", "seal,open,from"), ("carol", "seal")):
        assert admin.ask("SET", name, ALICE, "USE", use) == "OK"
    with server.connect("alice") as alice, server.connect("bob") as bob:
        message = message_of(bob.ask("SEAL", "bob", PLAIN))
        before = server.info()
        for _ in range(5):
            assert code(alice.ask("OPEN", "alice", *message)) == "NOUSE"
            assert code(message_of(broker.ask("RELAY", "bob", *message, "", "carol"))[0]) == "NOUSE"
            assert code(broker.ask("RELAY", "carol", *message, "", "bob")) == "NOUSE"
        after = server.info()
    assert int(after["record_opens"]) - int(before["record_opens"]) == 2
    assert after["evictions"] == before["evictions"]


def test_a_named_key(server: Server, broker: Client) -> None:
    """Its messages are relayed in its own name alone, and by the topic that they were sealed for."""
    head = b"KC2\x05alice"
    with server.connect() as admin, server.connect("alice") as alice, server.connect("bob") as bob:
        assert admin.ask("SET", "alice", ALICE, "USE", "named") == "OK"
        assert about(admin, "alice")["use"] == b"seal,open,from,to,get,named"
        for aad in (head, head + b"news", b"KC1\x05alice"):
            sealed = message_of(alice.ask("SEAL", "alice", PLAIN, aad))
            (copy,) = message_of(broker.ask("RELAY", "alice", *sealed, aad, "bob"))
            assert bob.ask("OPEN", "bob", *message_of(copy), aad) == PLAIN
            # Moved to another topic, by somebody who can make additional data of all kinds.
            assert code(broker.ask("RELAY", "alice", *sealed, head + b"other", "bob")) == "BADTAG"
        for aad in (b"", b"KC2", b"KC2\x05alic", b"KC2\x05aliceX"[:8], b"KC2\x03bob", b"KC3\x05alice", b"KC2\x06alice"):
            sealed = message_of(alice.ask("SEAL", "alice", PLAIN, aad))
            assert code(broker.ask("RELAY", "alice", *sealed, aad, "bob")) == "NOUSE", aad
            assert code(broker.ask("REENCRYPT", "alice", "bob", *sealed, aad)) == "NOUSE", aad


def test_no_right_learns_nothing_of_what_a_key_is_for(server: Server, broker: Client) -> None:
    del broker
    with server.connect() as admin, server.connect("carol") as carol:
        message = message_of(carol.ask("SEAL", "carol", PLAIN))
        for use in ("seal", "open", "from", "to", "seal,open,from,to,get"):
            assert admin.ask("SET", "carol", OTHER, "USE", use, "KEEP", "100") == "OK"
            with server.connect("mallory") as mallory, server.connect("alice") as alice:
                for name in ("carol", "nobody"):
                    assert mallory.ask("SEAL", name, PLAIN) == NOKEY
                    assert mallory.ask("OPEN", name, *message) == NOKEY
                    assert mallory.ask("GET", name) is None
                    assert mallory.ask("REENCRYPT", name, "mallory", *message) == NOKEY
                    assert mallory.ask("RELAY", name, *message, "", "mallory") == NOKEY
                    assert alice.ask("KEYINFO", name) == NOKEY
                    assert alice.ask("FORGET", name) == 0
        assert about(admin, "carol")["previous"] == 1


def test_only_administrators(alice: Client, server: Server) -> None:
    for words in (
        ["SET", "alice", ALICE, "KEEP", "10"],
        ["GENERATE", "alice"],
        ["ENROL", "x"],
        ["ENROL", bytes(304)],
        ["TRUST", "x"],
        ["IDENTITY"],
        ["BACKUP", "0"],
    ):
        assert alice.ask(*words) == NOPERM
    assert int(server.info()["denied"]) >= 7


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["SET", "x", ALICE, "KEEP"], "ERR syntax error"),
        (["SET", "x", ALICE, "KEEP", "0"], "ERR KEEP takes 1 to 315360000 seconds"),
        (["SET", "x", ALICE, "KEEP", "-1"], "ERR KEEP takes 1 to 315360000 seconds"),
        (["SET", "x", ALICE, "KEEP", "315360001"], "ERR KEEP takes 1 to 315360000 seconds"),
        (["SET", "x", ALICE, "USE", ""], "ERR a use is some of seal,open,from,to,get,named"),
        (["SET", "x", ALICE, "USE", "seal,,open"], "ERR a use is some of"),
        (["SET", "x", ALICE, "USE", "seal open"], "ERR a use is some of"),
        (["SET", "x", ALICE, "USE", "seal,"], "ERR a use is some of"),
        (["SET", "x", ALICE, "USE", "seal,get"], "ERR no use is get without open"),
        (["SET", "x", ALICE, "USE"], "ERR syntax error"),
        (["SET", "x", ALICE, "NX"], "ERR syntax error"),
        (["SET", "x", b"short", "KEEP", "10"], "ERR a key has 16 or 32 bytes"),
        (["GENERATE", "x", "24"], "ERR a key has 16 or 32 bytes"),
        (["GENERATE", "a b"], "ERR a client id has"),
        (["GENERATE", "x", "32", "KEEPTTL", "KEEP"], "ERR syntax error"),
        (["ENROL", "x"], "ERR that is no statement of an enrolment"),
        (["ENROL", bytes(304)], "ERR the statement names no client"),
        (["TRUST", "x"], "ERR that is no statement of an authority"),
        (["BACKUP", "x"], "ERR invalid cursor"),
        (["BACKUP", "0"], "UNTRUSTED "),
        (["KEYINFO", "nobody"], NOKEY),
    ],
)
def test_what_is_wrong(lasting: Lasting, words: list[str | bytes], problem: str) -> None:
    with lasting().connect() as admin:
        got = admin.ask(*words)
        assert isinstance(got, Refused)
        assert got.startswith(problem)
        assert admin.ask("EXISTS", "x") == 0


def test_a_key_that_nobody_sees(server: Server, admin: Client, alice: Client) -> None:
    sealed = message_of(alice.ask("SEAL", "alice", PLAIN))
    for words in ([], ["16"], ["32", "KEEP", "100"], ["USE", "seal,open"], ["EX", "100"]):
        assert admin.ask("GENERATE", "alice", *words) == "OK"
        mine = message_of(alice.ask("SEAL", "alice", PLAIN))
        assert alice.ask("OPEN", "alice", *mine) == PLAIN
        assert code(alice.ask("OPEN", "alice", *sealed)) == "BADTAG"
        assert code(alice.ask("GET", "alice")) == "NOGET"
        assert about(admin, "alice")["bytes"] == (16 if words == ["16"] else 32)
    assert admin.ask("TTL", "alice") == 100
    assert server.info()["keys"] == "3"


@pytest.mark.parametrize(
    "options", [("--policy", "none"), ("--policy", "lru"), ("--policy", "smart", "--bound", "256")]
)
def test_a_previous_key_opens_what_it_sealed(server: Server, options: tuple[str, ...]) -> None:
    server.restart("--allow-get", *options)
    server.write_list(LIST)
    with (
        server.connect() as admin,
        server.connect("alice") as alice,
        server.connect("bob") as bob,
        server.connect("broker") as broker,
    ):
        old = message_of(alice.ask("SEAL", "alice", PLAIN, "x"))
        assert admin.ask("SET", "alice", OTHER, "KEEP", "1000") == "OK"
        info = about(admin, "alice")
        assert info["previous"] == 1
        assert info["forget-in"] in range(990, 1001)
        new = message_of(alice.ask("SEAL", "alice", PLAIN, "x"))

        def works() -> list[bool]:
            """With the old message, and the new one."""
            good = []
            for message in (old, new):
                copies = broker.ask("RELAY", "alice", *message, "x", "bob", "carol", "nobody")
                opened = alice.ask("OPEN", "alice", *message, "x")
                to_bob = alice.ask("REENCRYPT", "alice", "bob", *message, "x")
                if not isinstance(copies, list):
                    assert [code(one) for one in (copies, opened, to_bob)] == ["BADTAG"] * 3
                    good.append(False)
                    continue
                assert opened == PLAIN
                assert bob.ask("OPEN", "bob", *message_of(to_bob), "x") == PLAIN
                assert bob.ask("OPEN", "bob", *message_of(copies[0]), "x") == PLAIN
                assert copies[2] == NOKEY
                good.append(True)
            return good

        for _ in range(4):
            assert works() == [True, True]
        # It gives nothing, seals nothing, receives nothing: what is sealed now is sealed by the new one.
        assert alice.ask("GET", "alice") == OTHER
        # A message of neither key.
        bad = [old[0], bytes(len(old[1]))]
        assert code(broker.ask("RELAY", "alice", *bad, "x", "bob")) == "BADTAG"
        assert code(alice.ask("OPEN", "alice", *bad, "x")) == "BADTAG"
        assert admin.ask("FORGET", "alice") == 1
        assert admin.ask("FORGET", "alice") == 0
        assert works() == [False, True]
        assert about(admin, "alice")["previous"] == 0
        assert about(admin, "alice")["forget-in"] == -1
        # The one before the previous one is gone.
        assert admin.ask("SET", "alice", THIRD, "KEEP", "1000") == "OK"
        assert works() == [False, True]
        assert admin.ask("SET", "alice", ALICE, "KEEP", "1000") == "OK"
        assert [code(alice.ask("OPEN", "alice", *message, "x")) for message in (old, new)] == ["", "BADTAG"]
        # It goes with its client.
        assert admin.ask("SET", "alice", OTHER, "KEEP", "1000") == "OK"
        assert admin.ask("DEL", "alice") == 1
        assert admin.ask("SET", "alice", THIRD) == "OK"
        assert works() == [False, False]


def test_a_previous_key_for_many_receivers(server: Server, broker: Client, alice: Client, admin: Client) -> None:
    """Of a long message, which takes several calls of the TA."""
    plain = bytes(30_000)
    old = message_of(alice.ask("SEAL", "alice", plain))
    assert admin.ask("SET", "alice", OTHER, "KEEP", "1000") == "OK"
    copies = message_of(broker.ask("RELAY", "alice", *old, "", *["bob", "carol"] * 32))
    with server.connect("bob") as bob, server.connect("carol") as carol:
        for who, name, copy in zip([bob, carol] * 32, ["bob", "carol"] * 32, copies, strict=True):
            assert who.ask("OPEN", name, *message_of(copy)) == plain


def test_a_key_that_is_set_once_more_is_not_its_own_previous_one(server: Server, alice: Client, admin: Client) -> None:
    """Who did not hear an answer asks again: that must not cost the key before."""
    old = message_of(alice.ask("SEAL", "alice", PLAIN))
    for _ in range(3):
        assert admin.ask("SET", "alice", OTHER, "KEEP", "1000", "USE", "seal,open") == "OK"
        assert alice.ask("OPEN", "alice", *old) == PLAIN
    assert server.info()["keys_previous"] == "1"


@pytest.mark.parametrize("shadow", ["kept", "lost", "old"])
def test_a_previous_key_outlives_a_restart(server: Server, alice: Client, admin: Client, shadow: str) -> None:
    folder = server.folder / "shadow"
    old = message_of(alice.ask("SEAL", "alice", PLAIN))
    assert admin.ask("SET", "alice", OTHER, "KEEP", "1000") == "OK"
    assert server.restart("--allow-get")
    kept = {path: path.read_bytes() for path in folder.iterdir() if path.name.startswith("records")}
    with server.connect() as again, server.connect("alice") as client:
        assert client.ask("OPEN", "alice", *old) == PLAIN
        # Another previous key: the records of before are stale then.
        assert again.ask("SET", "alice", OTHER, "KEEP", "1000") == "OK"
        assert again.ask("SET", "alice", ALICE, "KEEP", "1000") == "OK"
        newer = message_of(client.ask("SEAL", "alice", PLAIN))
        assert again.ask("SET", "alice", THIRD, "KEEP", "1000") == "OK"
    assert server.end()[0] == 0
    for path in folder.iterdir():
        if shadow != "kept" and path.name.startswith("records"):
            path.unlink()
    if shadow == "old":
        for path, content in kept.items():
            path.write_bytes(content)
    server.start()
    with server.connect("alice") as client:
        assert client.ask("OPEN", "alice", *newer) == PLAIN
        assert client.ask("OPEN", "alice", *newer) == PLAIN
    info = server.info()
    assert int(info["slow_reads"]) <= (0 if shadow == "kept" else 2)


def test_a_forged_message_is_one_whatever_the_previous_key_is_for(
    server: Server, broker: Client, admin: Client
) -> None:
    """That this one is not for it says nothing of the message."""
    assert admin.ask("SET", "alice", OTHER, "USE", "seal") == "OK"
    assert admin.ask("SET", "alice", ALICE, "KEEP", "1000") == "OK"
    with server.connect("alice") as alice:
        forged = message_of(alice.ask("SEAL", "alice", PLAIN))
        forged[1] = forged[1][:-1] + bytes([forged[1][-1] ^ 1])
        assert code(alice.ask("OPEN", "alice", *forged)) == "BADTAG"
        assert code(broker.ask("REENCRYPT", "alice", "bob", *forged)) == "BADTAG"
        assert code(broker.ask("RELAY", "alice", *forged, "", "bob")) == "BADTAG"


def test_a_previous_key_is_forgotten_at_its_time(server: Server, alice: Client, admin: Client) -> None:
    old = message_of(alice.ask("SEAL", "alice", PLAIN))
    assert admin.ask("SET", "alice", OTHER, "KEEP", "1000") == "OK"
    assert alice.ask("OPEN", "alice", *old) == PLAIN
    # The same key once more, for the rest of its time.
    assert admin.ask("SET", "alice", ALICE) == "OK"
    assert admin.ask("SET", "alice", OTHER, "KEEP", "1") == "OK"
    end = time.monotonic() + WAIT_SECONDS
    while about(admin, "alice")["previous"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert code(alice.ask("OPEN", "alice", *old)) == "BADTAG"
    assert about(admin, "alice")["forget-in"] == -1
    with server.connect("alice") as client:
        assert client.ask("OPEN", "alice", *message_of(client.ask("SEAL", "alice", PLAIN))) == PLAIN


def test_naive_has_none_of_it(server: Server) -> None:
    server.restart("--naive")
    with server.connect() as admin:
        for words in (
            ["SET", "alice", ALICE, "KEEP", "10"],
            ["SET", "alice", ALICE, "USE", "seal"],
            ["GENERATE", "alice"],
            ["FORGET", "alice"],
            ["IDENTITY"],
            ["BACKUP", "0"],
        ):
            assert str(admin.ask(*words)).startswith("ERR not with --naive")
        assert admin.ask("SET", "alice", ALICE) == "OK"
        with server.connect("alice") as alice:
            assert code(alice.ask("OPEN", "alice", bytes(12), bytes(16))) == "BADTAG"
