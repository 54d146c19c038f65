# SPDX-License-Identifier: BSD-2-Clause
"""MULTI, EXEC and DISCARD: what client libraries put around a pipeline by default."""

import threading
from typing import Any

import pytest
from keycached import ALICE, BOB, Client, Closed, Lasting, Refused, Server, encoded

TOO_MUCH = (
    "ERR a transaction has at most 128 keys and 256 KiB: send several, or the requests without MULTI (redis-py: "
    "pipeline(transaction=False))"
)
ABORTED = "EXECABORT Transaction discarded because of previous errors."


def redis_of(server: Server, name: str, protocol: int) -> Any:
    redis = pytest.importorskip("redis")
    return redis.Redis(
        host="127.0.0.1",
        port=server.port,
        protocol=protocol,
        ssl=True,
        ssl_ca_certs=str(server.ca / "ca.crt"),
        ssl_certfile=str(server.ca / f"{name}.crt"),
        ssl_keyfile=str(server.ca / f"{name}.key"),
    )


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_pys_own_pipeline(server: Server, protocol: int) -> None:
    """If this fails, the first pipeline that somebody types ends in an error."""
    admin, alice = redis_of(server, "admin", protocol), redis_of(server, "alice", protocol)
    with admin.pipeline() as pipeline:
        pipeline.set("client-1", ALICE).set("client-2", BOB).exists("client-1", "client-2", "nobody")
        assert pipeline.execute() == [True, True, 2]
    with alice.pipeline() as pipeline:
        pipeline.execute_command("SEAL", "alice", "hello")
        pipeline.get("carol")
        message, nothing = pipeline.execute()
    assert nothing is None
    assert alice.execute_command("OPEN", "alice", *message) == b"hello"
    redis = pytest.importorskip("redis")
    with admin.pipeline() as pipeline, pytest.raises(redis.ResponseError, match="a key has 16 or 32 bytes"):
        pipeline.set("client-3", "short").set("client-3", ALICE)
        pipeline.execute()
    # As in Redis: what was refused takes back nothing.
    assert admin.exists("client-3") == 1
    with admin.pipeline() as pipeline, pytest.raises(redis.ResponseError, match="WATCH is not supported"):
        pipeline.watch("client-1")
    with pytest.raises(redis.ResponseError, match="unknown command 'INCRBY'"):
        admin.pipeline().incr("client-1").execute()
    assert admin.ping()


def test_nothing_is_done_before_exec(admin: Client, alice: Client) -> None:
    assert admin.ask("MULTI") == "OK"
    assert admin.ask("SET", "alice", BOB) == "QUEUED"
    assert admin.ask("exists", "alice", "nobody") == "QUEUED"
    assert admin.ask("PING") == "QUEUED"
    assert alice.ask("GET", "alice") == ALICE
    assert admin.ask("EXEC") == ["OK", 1, "PONG"]
    assert alice.ask("GET", "alice") == BOB
    assert admin.ask("PING") == "PONG"
    assert admin.ask("MULTI") == "OK"
    assert admin.ask("EXEC") == []


def test_discard_and_a_lost_connection_do_nothing(server: Server, admin: Client, alice: Client) -> None:
    assert admin.ask("MULTI") == "OK"
    assert admin.ask("SET", "alice", BOB) == "QUEUED"
    assert admin.ask("DISCARD") == "OK"
    assert admin.ask("EXEC") == "ERR EXEC without MULTI"
    with server.connect() as other:
        assert [other.ask("MULTI"), other.ask("SET", "alice", BOB)] == ["OK", "QUEUED"]
    with server.connect() as other:
        assert [other.ask("MULTI"), other.ask("SET", "alice", BOB), other.ask("QUIT")] == ["OK", "QUEUED", "OK"]
        assert other.closes()
    assert alice.ask("GET", "alice") == ALICE


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["FLUSHALL"], "ERR unknown command 'FLUSHALL'"),
        (["SET", "alice"], "ERR wrong number of arguments for 'SET' command"),
        (["EXISTS", *["alice"] * 129], TOO_MUCH),
    ],
    ids=["unknown", "words", "keys"],
)
def test_a_request_that_cannot_be_queued_aborts_all(
    admin: Client, alice: Client, words: list[str], answer: str
) -> None:
    """If this fails, half of a transaction is done because the other half was mistyped."""
    assert admin.ask("MULTI") == "OK"
    assert admin.ask("SET", "alice", BOB) == "QUEUED"
    assert admin.ask(*words) == Refused(answer)
    assert admin.ask("SET", "alice", BOB) == "QUEUED"
    assert admin.ask("EXEC") == Refused(ABORTED)
    assert alice.ask("GET", "alice") == ALICE
    assert admin.ask("EXEC") == "ERR EXEC without MULTI"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["MULTI"], "ERR MULTI calls can not be nested"),
        (["WATCH", "alice"], "ERR WATCH inside MULTI is not allowed"),
    ],
    ids=["MULTI", "WATCH"],
)
def test_what_has_no_place_in_a_transaction(alice: Client, words: list[str], answer: str) -> None:
    assert alice.ask("MULTI") == "OK"
    assert alice.ask("GET", "alice") == "QUEUED"
    assert alice.ask(*words) == Refused(answer)
    assert alice.ask("EXEC") == [ALICE]


def test_without_a_transaction(lasting: Lasting) -> None:
    with lasting().connect("alice") as alice:
        assert alice.ask("EXEC") == "ERR EXEC without MULTI"
        assert alice.ask("DISCARD") == "ERR DISCARD without MULTI"
        assert str(alice.ask("WATCH", "alice")).startswith("ERR WATCH is not supported: ")
        assert alice.ask("MULTI", "x") == "ERR wrong number of arguments for 'MULTI' command"
        assert alice.ask("GET", "alice") == ALICE


def test_a_refused_request_leaves_the_others_done(admin: Client, alice: Client) -> None:
    for words in (["MULTI"], ["SET", "alice", BOB], ["SET", "bob", b"short"], ["DEL", "carol"]):
        admin.ask(*words)
    assert admin.ask("EXEC") == ["OK", "ERR a key has 16 or 32 bytes", 1]
    assert alice.ask("GET", "alice") == BOB


def test_rights_are_those_of_exec(server: Server) -> None:
    """Behind MULTI somebody else's key is as absent as anywhere."""
    with server.connect("mallory") as mallory:
        for words in (["MULTI"], ["GET", "alice"], ["EXISTS", "alice"], ["SEAL", "alice", "x"], ["SET", "alice", BOB]):
            assert mallory.ask(*words) in ("OK", "QUEUED")
        got = mallory.ask("EXEC")
        assert isinstance(got, list)
        assert got[:3] == [None, 0, "NOKEY no such key"] and str(got[3]).startswith("NOPERM")
    with server.connect("alice") as alice:
        for words in (["MULTI"], ["HELLO", "3"], ["GET", "nobody"]):
            alice.ask(*words)
        got = alice.ask("EXEC")
        assert isinstance(got, list) and got[1] is None


def test_its_size_is_bounded(admin: Client) -> None:
    """If this fails, one client has the server keep what it likes, or keeps everybody waiting."""
    assert admin.ask("MULTI") == "OK"
    assert admin.ask("EXISTS", *["alice"] * 100) == "QUEUED"
    for _ in range(28):
        assert admin.ask("PING") == "QUEUED"
    assert admin.ask("PING") == Refused(TOO_MUCH)
    assert admin.ask("EXEC") == Refused(ABORTED)
    assert admin.ask("MULTI") == "OK"
    for _ in range(3):
        assert admin.ask("PING", b"x" * 80_000) == "QUEUED"
    assert admin.ask("PING", b"x" * 80_000) == Refused(TOO_MUCH)
    assert admin.ask("DISCARD") == "OK"
    assert admin.ask("MULTI") == "OK"
    # Arguments of no bytes take memory, too.
    sent = [admin.ask("SET", "alice", ALICE, *[""] * 1000) for _ in range(20)]
    assert Refused(TOO_MUCH) in sent
    assert admin.ask("EXEC") == Refused(ABORTED)
    assert admin.ask("PING") == "PONG"


def test_nobody_comes_in_between(server: Server) -> None:
    """128 requests, more than a connection's turn has otherwise: another client sees them done, or not."""
    rounds = 20
    seen: list[object] = []
    over = threading.Event()

    def look() -> None:
        with server.connect("alice") as alice:
            while not over.is_set():
                seen.append(alice.ask("GET", "alice"))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        with server.connect() as admin:
            pairs = (encoded("SET", "alice", BOB) + encoded("SET", "alice", ALICE)) * 64
            for _ in range(rounds):
                admin.send(encoded("MULTI") + pairs + encoded("EXEC"))
                assert [admin.reply() for _ in range(129)] == ["OK", *["QUEUED"] * 128]
                assert admin.reply() == ["OK"] * 128
    finally:
        over.set()
        looking.join()
    assert seen and set(map(bytes, seen)) == {ALICE}  # type: ignore[arg-type]


def test_requests_about_several_keys_end_within_it(admin: Client) -> None:
    """Elsewhere they take several turns of a connection."""
    names = [f"client-{number}" for number in range(40)]
    for name in names:
        assert admin.ask("SET", name, ALICE) == "OK"
    for words in (["MULTI"], ["EXISTS", *names], ["DEL", *names], ["EXISTS", *names]):
        admin.ask(*words)
    assert admin.ask("EXEC") == [40, 40, 0]


def test_a_ta_that_panics_ends_no_transaction(server: Server) -> None:
    """What was done stays, the rest is refused with a word, and the next one works."""
    with server.connect() as admin:
        for words in (["MULTI"], ["SET", "client-1", ALICE], ["EXISTS", "client-1"]):
            admin.ask(*words)
        server.panic()
        got = admin.ask("EXEC")
        assert isinstance(got, list) and len(got) == 2
        assert any(str(one).startswith("TRYAGAIN") for one in got)
        assert admin.ask("PING") == "PONG"
        for words in (["MULTI"], ["EXISTS", "alice"]):
            admin.ask(*words)
        assert admin.ask("EXEC") == [1]


def test_the_log_has_each_request(server: Server) -> None:
    """If this fails, who hides behind MULTI does so unseen."""
    log = server.folder / "audit"
    server.restart("--audit", str(log), "--allow-get")
    with server.connect() as admin, server.connect("mallory") as mallory:
        for words in (["MULTI"], ["SET", "alice", BOB], ["DEL", "bob"]):
            admin.ask(*words)
        assert '"SET"' not in log.read_text()
        admin.ask("EXEC")
        for words in (["MULTI"], ["SEAL", "alice", "x"]):
            mallory.ask(*words)
        mallory.ask("EXEC")
    lines = log.read_text()
    for part in ('"SET"', '"DEL"', '"NOKEY"'):
        assert part in lines, lines


def test_many_open_transactions_are_given_back(server: Server) -> None:
    """Connections that close, or are closed, behind MULTI: the sanitizers look for what is left."""
    clients = []
    for _ in range(20):
        client = server.connect("alice")
        clients.append(client)
        assert client.ask("MULTI") == "OK"
        assert client.ask("SEAL", "alice", b"x" * 10_000) == "QUEUED"
    for client in clients[:10]:
        client.socket.close()
    clients[10].send(b"nonsense\r\n")
    with pytest.raises(Closed):
        while True:
            clients[10].reply()
    assert server.end()[0] == 0
