# SPDX-License-Identifier: BSD-2-Clause
"""Client A never gets B's key or plaintext: a table of attempts."""

import os
from pathlib import Path

import pytest
from keycached import ALICE, BOB, Client, Lasting, Refused, Server

PLAIN = b"only for carol's eyes"
NOBODY = "nobody"
CAROL = BOB[::-1]


def processor_seconds(server: Server) -> float:
    assert server.process
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def whole(client: Client, *words: str | bytes) -> tuple[object, type]:
    got = client.ask(*words)
    return got, type(got)


@pytest.fixture(scope="module")
def message(lasting: Lasting) -> list[bytes]:
    """By Carol's key, which is the same in every server."""
    with lasting().connect("carol") as carol:
        got = carol.ask("SEAL", "carol", PLAIN)
    assert isinstance(got, list)
    return got


# {id}: somebody's who has a key, then of somebody who has none. Answers must be the same.
ATTEMPTS: list[list[str | bytes]] = [
    ["GET", "{id}"],
    ["EXISTS", "{id}"],
    ["DEL", "{id}"],
    ["SEAL", "{id}", "x"],
    ["OPEN", "{id}", "{nonce}", "{sealed}"],
    ["REENCRYPT", "{id}", "alice", "{nonce}", "{sealed}"],
    ["REENCRYPT", "{id}", "bob", "{nonce}", "{sealed}"],
    ["REENCRYPT", "{id}", "{id}", "{nonce}", "{sealed}"],
    ["REENCRYPT", "alice", "{id}", "{nonce}", "{sealed}"],
    ["EXISTS", "{id}", "{id}"],
    ["DEL", "{id}", "{id}"],
    ["SET", "{id}", ALICE],
    ["AUTH", "{id}", "x"],
    ["SCAN", "0", "MATCH", "{id}"],
]
EXPECTED = {
    "GET": None,
    "EXISTS": 0,
    "DEL": 0,
    "SEAL": "NOKEY no such key",
    "OPEN": "NOKEY no such key",
    "REENCRYPT": "NOKEY no such key",
    "SET": "NOPERM only an administrator sets keys",
    "AUTH": "WRONGPASS invalid username-password pair or user is disabled.",
    "SCAN": [b"0", []],
}


@pytest.mark.parametrize("policy", ["lru", "smart"])
@pytest.mark.parametrize("who", ["alice", "mallory", "broker"])
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: " ".join(map(str, attempt)))
def test_no_right_is_no_key(lasting: Lasting, message: list[bytes], attempt: list[str], who: str, policy: str) -> None:
    server = lasting("--allow-get", "--policy", policy)

    def words(name: str) -> list[bytes | str]:
        fill: dict[str, bytes | str] = {"{id}": name, "{nonce}": message[0], "{sealed}": message[1]}
        return [fill.get(word, word) for word in attempt]

    with server.connect(who) as client:
        got = whole(client, *words("carol"))
        assert got == whole(client, *words(NOBODY)) == whole(client, *words("!absent"))
        assert got[0] == EXPECTED[attempt[0]]
        assert CAROL not in repr(got).encode() and PLAIN not in repr(got).encode()
    with server.connect("carol") as carol:
        assert carol.ask("OPEN", "carol", *message) == PLAIN
        assert carol.ask("GET", "carol") == CAROL


@pytest.mark.parametrize("attempt", [["GET", "{id}"], *ATTEMPTS[3:8]], ids=lambda attempt: " ".join(map(str, attempt)))
def test_no_right_is_no_key_with_get_off(lasting: Lasting, message: list[bytes], attempt: list[str]) -> None:
    """The key was set while GET was on: that it is off now is said of every id alike, one's own too."""
    server = lasting("--policy", "smart")
    fill: dict[str, bytes | str] = {"{nonce}": message[0], "{sealed}": message[1]}
    with server.connect("alice") as alice:
        answers = {
            name: whole(alice, *[name if word == "{id}" else fill.get(word, word) for word in attempt])
            for name in ("carol", NOBODY, "!absent")
        }
        assert len(set(map(repr, answers.values()))) == 1
        assert CAROL not in repr(answers).encode() and PLAIN not in repr(answers).encode()
        if attempt[0] == "GET":
            assert str(alice.ask("GET", "alice")) == str(answers["carol"][0])
            assert str(answers["carol"][0]).startswith("NOGET")


# What could be taken for an id that it is not: by its case, by what is behind or before it, as a pattern, as two ids.
TRICKS: list[str | bytes] = [
    *(
        "Carol",
        "CAROL",
        "caro",
        "caroll",
        "*",
        "c*",
        "?arol",
        "carol*",
        "[c]arol",
        "carol,alice",
        "alice,carol",
        "../carol",
    ),
    *(b"carol\0", b"carol ", b" carol", b"carol\n", b"carol\r\n", b"\0carol", b"alice\0carol", b"carol\0alice", b""),
    *("carol".encode("utf-16le"), "c\u0430rol".encode(), b"\xff" * 8, b"x" * 65, b"carol" + b" " * 59, b"carol" * 2000),
]


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: repr(trick)[:24])
def test_ids_with_tricks(lasting: Lasting, message: list[bytes], trick: str | bytes) -> None:
    server = lasting()
    with server.connect("alice") as alice:
        for attempt in ATTEMPTS:
            if attempt[0] == "SCAN":
                continue
            fill: dict[str, bytes | str] = {"{id}": trick, "{nonce}": message[0], "{sealed}": message[1]}
            got = alice.ask(*[fill.get(str(word), word) for word in attempt])
            assert got == EXPECTED[str(attempt[0])], attempt
    with server.connect("carol") as carol:
        assert carol.ask("GET", "carol") == CAROL


def test_a_message_of_another_does_not_open_under_ones_own(server: Server, message: list[bytes]) -> None:
    """Carol's message, under each key that Alice may name: hers, and Bob's to seal with."""
    with server.connect("alice") as alice, server.connect("bob") as bob:
        attempts: list[list[str | bytes]] = [
            ["OPEN", "alice", *message],
            ["REENCRYPT", "alice", "alice", *message],
            ["REENCRYPT", "alice", "bob", *message],
        ]
        for words in attempts:
            assert str(alice.ask(*words)).startswith("BADTAG")
        assert str(bob.ask("OPEN", "bob", *message)).startswith("BADTAG")
        own = alice.ask("SEAL", "alice", "mine")
        assert isinstance(own, list)
        # Her nonce before Carol's text, and the other way round.
        for nonce, sealed in ((own[0], message[1]), (message[0], own[1])):
            assert str(alice.ask("OPEN", "alice", nonce, sealed)).startswith("BADTAG")


def test_a_right_goes_one_way(server: Server) -> None:
    """Alice may re-encrypt to Bob. He not to her, she not from him; and what she made for him she cannot open."""
    with server.connect("alice") as alice, server.connect("bob") as bob:
        hers = alice.ask("SEAL", "alice", "for bob")
        his = bob.ask("SEAL", "bob", PLAIN)
        assert isinstance(hers, list) and isinstance(his, list)
        passed = alice.ask("REENCRYPT", "alice", "bob", *hers)
        assert isinstance(passed, list)
        assert bob.ask("OPEN", "bob", *passed) == b"for bob"
        attempts: list[tuple[Client, list[str | bytes]]] = [
            (alice, ["OPEN", "bob", *passed]),
            (alice, ["REENCRYPT", "bob", "alice", *passed]),
            (alice, ["REENCRYPT", "bob", "bob", *his]),
            (bob, ["REENCRYPT", "bob", "alice", *his]),
            (bob, ["REENCRYPT", "alice", "bob", *hers]),
        ]
        for client, words in attempts:
            assert client.ask(*words) == "NOKEY no such key"
        for words in (["OPEN", "alice", *passed], ["OPEN", "alice", *his], ["REENCRYPT", "alice", "bob", *his]):
            assert str(alice.ask(*words)).startswith("BADTAG")


@pytest.mark.parametrize(
    "words",
    [
        ["AUTH", "carol", "x"],
        ["AUTH", "carol"],
        ["AUTH", "carol", ""],
        ["HELLO", "2", "AUTH", "carol", "x"],
        ["HELLO", "2", "SETNAME", "carol"],
        ["CLIENT", "SETNAME", "carol"],
        ["CLIENT", "SETINFO", "carol", "carol"],
        ["CLIENT", "KILL", "carol"],
        ["EXEC"],
        ["EVAL", "return redis.call('GET', 'carol')", "0"],
        ["ACL", "SETUSER", "alice", "on", "+@all"],
        ["CONFIG", "SET", "acl", "x"],
        ["DEBUG", "OBJECT", "carol"],
        ["DUMP", "carol"],
        ["MGET", "carol"],
        ["KEYS", "*"],
        ["RENAME", "carol", "alice"],
        ["COPY", "carol", "alice"],
    ],
    ids=" ".join,
)
def test_who_one_is_stays_as_the_certificate_says(lasting: Lasting, message: list[bytes], words: list[str]) -> None:
    server = lasting()
    with server.connect("alice") as alice:
        assert CAROL not in repr(alice.ask(*words)).encode()
        assert alice.ask("GET", "carol") is None
        assert alice.ask("OPEN", "carol", *message) == "NOKEY no such key"
        assert alice.ask("GET", "alice") == ALICE
    with server.connect("carol") as carol:
        assert carol.ask("GET", "carol") == CAROL


def test_one_id_among_others(alice: Client) -> None:
    """Each of several ids is judged by itself."""
    assert alice.ask("EXISTS", "alice", "carol", "bob", NOBODY) == 2
    assert alice.ask("DEL", "alice", "carol") == 0
    assert alice.ask("EXISTS", "alice") == 1


def test_an_administrator_opens_nothing(message: list[bytes], admin: Client) -> None:
    for words in (
        ["GET", "carol"],
        ["OPEN", "carol", *message],
        ["SEAL", "carol", "x"],
        ["REENCRYPT", "carol", "alice", *message],
        ["REENCRYPT", "carol", "carol", *message],
        ["REENCRYPT", "admin", "carol", *message],
    ):
        assert admin.ask(*words) == (None if words[0] == "GET" else "NOKEY no such key")
    # A key of its own name is its own.
    assert admin.ask("SET", "admin", ALICE) == "OK"
    assert str(admin.ask("OPEN", "admin", *message)).startswith("BADTAG")
    assert admin.ask("REENCRYPT", "carol", "admin", *message) == "NOKEY no such key"
    assert admin.ask("DEL", "admin") == 1


def test_the_tee_is_asked_the_same(server: Server) -> None:
    """What could be seen by a clock: the calls of the TA, by its own counts."""

    def calls(name: str) -> dict[str, int]:
        keys = ("hits", "record_opens", "slow_reads", "index_reads", "misses_without_record", "shadow_records")
        before = server.info()
        with server.connect("mallory") as mallory:
            for words in (["GET", name], ["SEAL", name, "x"], ["EXISTS", name], ["DEL", name]):
                mallory.ask(*words)
        after = server.info()
        return {key: int(after[key]) - int(before[key]) for key in keys}

    assert calls("carol") == calls(NOBODY) == calls("alice")


def test_reencrypting_is_not_opening(alice: Client, server: Server) -> None:
    """Alice may re-encrypt to Bob: that lets her neither read what is for him nor know his key."""
    with server.connect("bob") as bob:
        message = bob.ask("SEAL", "bob", "bob's")
        assert isinstance(message, list)
    assert alice.ask("EXISTS", "bob") == 1
    assert alice.ask("GET", "bob") is None
    for words in (["OPEN", "bob", *message], ["SEAL", "bob", "x"], ["REENCRYPT", "bob", "alice", *message]):
        assert alice.ask(*words) == "NOKEY no such key"


def test_who_relays_reads_nothing(server: Server, message: list[bytes]) -> None:
    """`relay` lets a broker pass Carol's messages on to Bob; it opens, seals and knows nothing, nor the way back."""
    server.write_list("admin admin\nrelay broker carol bob\nrelay mallory c* b*\n")
    for name in ("broker", "mallory"):
        with server.connect(name) as relay, server.connect("bob") as bob:
            passed = relay.ask("REENCRYPT", "carol", "bob", *message)
            assert isinstance(passed, list)
            assert bob.ask("OPEN", "bob", *passed) == PLAIN
            assert relay.ask("GET", "carol") is None
            for words in (
                ["OPEN", "carol", *message],
                ["OPEN", "bob", *passed],
                ["SEAL", "carol", "x"],
                ["SEAL", "bob", "x"],
                ["REENCRYPT", "bob", "carol", *passed],
                ["REENCRYPT", "carol", "carol", *message],
                ["REENCRYPT", "carol", "alice", *message],
                ["REENCRYPT", "carol", name, *message],
                ["REENCRYPT", "alice", "bob", *message],
            ):
                assert relay.ask(*words) == "NOKEY no such key", words
            assert relay.ask("EXISTS", "carol", "bob") == 0
            assert relay.ask("DEL", "carol", "bob") == 0
            # A message that is not Carol's is told from one that is, as for who uses her key.
            assert str(relay.ask("REENCRYPT", "carol", "bob", bytes(12), bytes(32))).startswith("BADTAG")


def test_a_right_to_a_key_that_is_not_there(alice: Client) -> None:
    message = alice.ask("SEAL", "alice", "x")
    assert isinstance(message, list)
    assert alice.ask("REENCRYPT", "alice", "ghost", *message) == "NOKEY no such key"
    assert alice.ask("REENCRYPT", "alice", "carol", *message) == "NOKEY no such key"


def test_an_administrator_uses_no_keys(admin: Client) -> None:
    assert admin.ask("EXISTS", "alice") == 1
    assert admin.ask("GET", "alice") is None
    assert admin.ask("SEAL", "alice", "x") == "NOKEY no such key"


def test_a_broker_uses_what_the_list_says(server: Server, admin: Client) -> None:
    assert admin.ask("SET", "client-1", ALICE) == "OK"
    with server.connect("broker") as broker:
        message = broker.ask("SEAL", "client-1", "x")
        assert isinstance(message, list)
        assert broker.ask("OPEN", "client-1", *message) == b"x"
        assert broker.ask("SEAL", "alice", "x") == "NOKEY no such key"
        assert broker.ask("DEL", "client-1") == 0


def test_a_client_is_told_nothing_of_others(alice: Client) -> None:
    text = alice.ask("INFO")
    assert isinstance(text, bytes) and b"version" in text
    for word in (b"keys:", b"hits", b"clients", b"denied"):
        assert word not in text
    assert alice.ask("SCAN", "0") == [b"0", []]


def test_identities_do_not_mix(server: Server) -> None:
    """Two connections in turns, one of them pipelining: each gets its own."""
    with server.connect("alice") as alice, server.connect("bob") as bob:
        for _ in range(50):
            alice.send(b"".join([b"*2\r\n$3\r\nGET\r\n$5\r\nalice\r\n*2\r\n$3\r\nGET\r\n$3\r\nbob\r\n"] * 10))
            assert bob.ask("GET", "bob") == BOB
            assert bob.ask("GET", "alice") is None
            assert [alice.reply() for _ in range(20)] == [ALICE, None] * 10


def test_the_list_is_read_anew(server: Server, alice: Client) -> None:
    message = alice.ask("SEAL", "alice", "x")
    assert isinstance(message, list)
    assert isinstance(alice.ask("REENCRYPT", "alice", "bob", *message), list)
    server.write_list("admin admin\n")
    got = alice.ask("REENCRYPT", "alice", "bob", *message)
    assert isinstance(got, Refused)
    # A list that is wrong changes nothing.
    server.write_list("admin\n")
    with server.connect("admin") as admin:
        assert admin.ask("EXISTS", "alice") == 1
    server.write_list("deny alice\n")
    assert alice.closes()


def test_a_hash_sign_inside_of_an_id_begins_no_comment(server: Server) -> None:
    """`admin ops#1` once made `ops` an administrator."""
    server.write_list("admin admin # of the tests\nadmin alice#1\n# deny alice\n#deny alice\nuse bob client-#*\n")
    with server.connect("admin") as admin, server.connect("alice") as alice, server.connect("bob") as bob:
        assert admin.ask("SET", "client-#1", ALICE) == "OK"
        assert admin.ask("SET", "client-1", ALICE) == "OK"
        assert str(alice.ask("SET", "alice", ALICE)).startswith("NOPERM")
        assert bob.ask("EXISTS", "client-#1", "client-1") == 1


def test_letters_of_the_list_that_are_an_ids(server: Server) -> None:
    server.write_list("admin admin\nuse alice star\\*\nuse alice \\#sign\nuse alice back\\\\slash\n")
    with server.connect("admin") as admin, server.connect("alice") as alice:
        for name in ("star*", "star1", "#sign", "back\\slash"):
            assert admin.ask("SET", name, ALICE) == "OK"
        assert [alice.ask("EXISTS", name) for name in ("star*", "star1", "#sign", "back\\slash")] == [1, 0, 1, 1]
        server.write_list("admin admin\nadmin a\\lice\n")
        assert str(alice.ask("SET", "alice", ALICE)).startswith("NOPERM")
        assert alice.ask("EXISTS", "star*") == 1


def test_a_long_list_is_as_fast_as_a_short_one(server: Server) -> None:
    """By the server's processor time: each look-up once went through all lines, four times for each id."""

    def spent(lines: int) -> float:
        text = "".join(f"use alice key-{number}\n" for number in range(lines))
        server.write_list(f"admin admin\n{text}")
        with server.connect("alice") as alice:
            before = processor_seconds(server)
            for _ in range(20):
                assert alice.ask("EXISTS", *[f"key-{number}" for number in range(1000)]) == 0
            return processor_seconds(server) - before

    # Under sanitizers each line takes many times as long.
    many = 10_000 if "KEYCACHE_SANITIZED" in os.environ else 100_000
    assert spent(many) < 5 * spent(10) + 1
