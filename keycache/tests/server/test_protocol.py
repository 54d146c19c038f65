# SPDX-License-Identifier: BSD-2-Clause
import subprocess
from pathlib import Path
from shutil import which

import pytest
from keycached import ALICE, BOB, TOOL, Client, Lasting, Refused, Server, Verbatim, encoded

MOST = 65536


def sealed(client: Client, name: str, plain: bytes) -> tuple[bytes, bytes]:
    got = client.ask("SEAL", name, plain)
    assert isinstance(got, list) and len(got[0]) == 12 and len(got[1]) == len(plain) + 16
    return got[0], got[1]


def test_a_key_is_set_and_used(alice: Client) -> None:
    assert alice.ask("GET", "alice") == ALICE
    assert alice.ask("EXISTS", "alice") == 1
    assert alice.ask("OPEN", "alice", *sealed(alice, "alice", b"hello")) == b"hello"


@pytest.mark.parametrize("plain", [b"", b"\r\n\0", bytes(range(256)), b"x" * MOST], ids=["none", "line", "all", "most"])
def test_payloads_come_back(lasting: Lasting, plain: bytes) -> None:
    with lasting().connect("alice") as alice:
        assert alice.ask("OPEN", "alice", *sealed(alice, "alice", plain)) == plain


@pytest.mark.parametrize("aad", [b"about cars", b"\0\r\n", b"x" * 1024], ids=["text", "line", "most"])
def test_additional_data(alice: Client, server: Server, aad: bytes) -> None:
    """It is no part of a message, and who opens it must name the same; from key to key it stays."""
    got = alice.ask("SEAL", "alice", b"hello", aad)
    assert isinstance(got, list) and len(got[1]) == 5 + 16
    assert alice.ask("OPEN", "alice", *got, aad) == b"hello"
    wrong: list[list[bytes]] = [[], [b""], [aad[:-1] + b"y"], [b"x" + aad[1:-1]]]
    for words in wrong:
        assert str(alice.ask("OPEN", "alice", *got, *words)).startswith("BADTAG")
        assert str(alice.ask("REENCRYPT", "alice", "bob", *got, *words)).startswith("BADTAG")
    passed = alice.ask("REENCRYPT", "alice", "bob", *got, aad)
    assert isinstance(passed, list)
    with server.connect("bob") as bob:
        assert bob.ask("OPEN", "bob", *passed, aad) == b"hello"
        assert str(bob.ask("OPEN", "bob", *passed)).startswith("BADTAG")
    # None is as good as an empty one.
    assert alice.ask("OPEN", "alice", *sealed(alice, "alice", b"x"), b"") == b"x"
    for request in (["SEAL", "alice", "x"], ["OPEN", "alice", *got], ["REENCRYPT", "alice", "bob", *got]):
        assert alice.ask(*request, b"x" * 1025) == "ERR additional data has at most 1024 bytes"


def test_nonces_are_fresh(alice: Client) -> None:
    assert len({sealed(alice, "alice", b"same")[0] for _ in range(50)}) == 50


def test_reencrypt_gives_it_to_the_other(alice: Client, server: Server) -> None:
    got = alice.ask("REENCRYPT", "alice", "bob", *sealed(alice, "alice", b"for bob"))
    assert isinstance(got, list)
    with server.connect("bob") as bob:
        assert bob.ask("OPEN", "bob", *got) == b"for bob"
    assert str(alice.ask("OPEN", "alice", *got)).startswith("BADTAG")


def test_a_changed_message_is_refused(alice: Client) -> None:
    nonce, rest = sealed(alice, "alice", b"hello")
    for at in range(len(rest)):
        changed = rest[:at] + bytes([rest[at] ^ 1]) + rest[at + 1 :]
        assert str(alice.ask("OPEN", "alice", nonce, changed)).startswith("BADTAG")
        assert str(alice.ask("REENCRYPT", "alice", "bob", nonce, changed)).startswith("BADTAG")


def test_a_new_key_replaces_the_old(alice: Client, admin: Client) -> None:
    message = sealed(alice, "alice", b"old")
    assert admin.ask("SET", "alice", BOB) == "OK"
    assert alice.ask("GET", "alice") == BOB
    assert str(alice.ask("OPEN", "alice", *message)).startswith("BADTAG")


def test_delete_and_scan(admin: Client, alice: Client) -> None:
    names = {f"client-{number}" for number in range(300)}
    for name in names:
        assert admin.ask("SET", name, ALICE) == "OK"
    assert scan(admin, "MATCH", "client-*", "COUNT", "10") == names
    assert scan(admin) == names | {"alice", "bob", "carol"}
    assert admin.ask("DEL", "client-1", "client-2", "nobody") == 2
    assert admin.ask("EXISTS", "client-1", "client-3", "alice", "alice") == 3
    assert admin.ask("DEL", "alice") == 1
    assert alice.ask("GET", "alice") is None
    assert str(alice.ask("SEAL", "alice", "x")).startswith("NOKEY")


def scan(client: Client, *more: str) -> set[str]:
    cursor, found = b"0", []
    while True:
        got = client.ask("SCAN", cursor, *more)
        assert isinstance(got, list)
        cursor = got[0]
        found += got[1]
        if cursor == b"0":
            assert len(found) == len(set(found))
            return {name.decode() for name in found}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["ping"], "PONG"),
        (["PING", "x"], b"x"),
        (["AUTH", "alice", "x"], "OK"),
        (["AUTH", "bob", "x"], Refused("WRONGPASS invalid username-password pair or user is disabled.")),
        (["CLIENT", "SETINFO", "LIB-NAME", "x"], "OK"),
        (["COMMAND", "DOCS"], []),
        (["HELLO", "1"], Refused("NOPROTO unsupported protocol version")),
        (["HELLO", "4"], Refused("NOPROTO unsupported protocol version")),
        (["HELLO", "x"], Refused("ERR Protocol version is not an integer or out of range")),
        (["HELLO", "3", "AUTH", "bob", "x"], Refused("WRONGPASS invalid username-password pair or user is disabled.")),
        (["HELLO", "3", "AUTH", "alice"], Refused("ERR Syntax error in HELLO option 'AUTH'")),
        (["HELLO", "3", "SETNAME"], Refused("ERR Syntax error in HELLO option 'SETNAME'")),
        (["HELLO", "3", "FLY", "x"], Refused("ERR Syntax error in HELLO option 'FLY'")),
        (["FLUSHALL"], Refused("ERR unknown command 'FLUSHALL'")),
        (["evil\r\n+OK"], Refused("ERR unknown command 'evil..+OK'")),
        (["GET"], Refused("ERR wrong number of arguments for 'GET' command")),
        (["SCAN", "x"], Refused("ERR invalid cursor")),
        (["SEAL", "alice", b"x" * (MOST + 1)], Refused("ERR a plaintext has at most 65536 bytes")),
        (["OPEN", "alice", "short", b"x" * 16], Refused("ERR a nonce has 12 bytes")),
        (["OPEN", "alice", b"x" * 12, b"x" * 15], None),
        (["REENCRYPT", "alice", "bob", b"x" * 12, b"x" * (MOST + 17)], None),
    ],
)
def test_answers(lasting: Lasting, words: list[str | bytes], answer: object) -> None:
    with lasting().connect("alice") as alice:
        got = alice.ask(*words)
    if answer is None:
        assert got == "ERR a ciphertext has 16 to 65552 bytes, the tag is its last 16"
    else:
        assert got == answer and type(got) is type(answer)


@pytest.mark.parametrize("key", [b"", b"x" * 15, b"x" * 17, b"x" * 31, b"x" * 33])
def test_keys_of_other_sizes_are_refused(lasting: Lasting, key: bytes) -> None:
    with lasting().connect() as admin:
        assert admin.ask("SET", "alice", key) == "ERR a key has 16 or 32 bytes"


@pytest.mark.parametrize("name", ["", "with space", "x" * 65, "tab\t", "\0", "ümlaut", "!absent"])
def test_ids_that_cannot_be_are_refused(lasting: Lasting, name: str) -> None:
    with lasting().connect() as admin:
        assert str(admin.ask("SET", name, ALICE)).startswith("ERR a client id has")
        assert admin.ask("EXISTS", name) == 0


def test_get_is_off_unless_it_is_on(server: Server) -> None:
    server.restart("--policy", "lru")
    with server.connect("alice") as alice, server.connect("mallory") as mallory:
        answer = alice.ask("GET", "alice")
        assert str(answer).startswith("NOGET") and "--allow-get" in str(answer)
        assert alice.ask("GET", "nobody") == mallory.ask("GET", "alice") == answer


def test_a_key_set_while_get_was_off_stays(server: Server) -> None:
    server.restart("--policy", "lru")
    with server.connect() as admin:
        assert admin.ask("SET", "alice", BOB) == "OK"
    server.restart("--allow-get")
    with server.connect("alice") as alice, server.connect("bob") as bob:
        assert str(alice.ask("GET", "alice")).startswith("NOGET")
        assert bob.ask("GET", "bob") == BOB


def test_pipelining(alice: Client) -> None:
    alice.send(b"".join(encoded("PING", str(number)) for number in range(5000)))
    assert [alice.reply() for _ in range(5000)] == [str(number).encode() for number in range(5000)]


def test_byte_by_byte(alice: Client) -> None:
    for one in encoded("SEAL", "alice", "slow") + encoded("PING"):
        alice.send(bytes([one]))
    assert isinstance(alice.reply(), list)
    assert alice.reply() == "PONG"


def test_quit(alice: Client) -> None:
    alice.send(encoded("QUIT") + encoded("PING"))
    assert alice.reply() == "OK"
    assert alice.closes()


@pytest.mark.parametrize(
    "options",
    [("--policy", "none"), ("--policy", "lru"), ("--policy", "smart"), ("--storage", "rpmb"), ("--naive",)],
    ids=" ".join,
)
def test_every_policy_and_storage(server: Server, options: tuple[str, ...]) -> None:
    server.restart("--allow-get", "--bound", "1024", *options)
    keys = {f"client-{number}": number.to_bytes(16, "big") for number in range(60)}
    with server.connect() as admin, server.connect("broker") as broker:
        for name, key in keys.items():
            assert admin.ask("SET", name, key) == "OK"
        for _ in range(3):
            for name, key in keys.items():
                assert broker.ask("GET", name) == key
                assert broker.ask("GET", "client-0") == keys["client-0"]
        message = broker.ask("SEAL", "client-7", "x")
        assert isinstance(message, list)
        message = broker.ask("REENCRYPT", "client-7", "client-8", *message)
        assert isinstance(message, list)
        assert broker.ask("OPEN", "client-8", *message) == b"x"
    info = server.info()
    assert int(info["cached"]) <= int(info["capacity"])
    if "lru" in options or "smart" in options:
        assert int(info["hits"]) > 100 and float(info["hit_rate"]) > 0.3
        assert int(info["evictions"]) > 0
        assert info["stale_records"] == info["forged_records"] == "0"


def test_stock_redis_cli(server: Server) -> None:
    if not which("redis-cli"):
        pytest.skip("no redis-cli")

    def cli(name: str, *words: str) -> str:
        command = ["redis-cli", "-p", str(server.port), "--tls", "--cacert", str(server.ca / "ca.crt")]
        command += ["--cert", str(server.ca / f"{name}.crt"), "--key", str(server.ca / f"{name}.key"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()

    assert cli("admin", "SET", "alice", "0123456789abcdef") == "OK"
    assert cli("alice", "GET", "alice") == "0123456789abcdef"
    assert cli("alice", "GET", "bob") == ""
    assert cli("bob", "SET", "bob", "0123456789abcdef").startswith("NOPERM")
    assert "hit_rate:" in cli("admin", "INFO")
    assert cli("admin", "--scan", "--pattern", "b*") == "bob"


def test_hello(server: Server) -> None:
    """RESP2 until a client asks for RESP3, and after it asked for RESP2 again; what fails changes nothing."""
    with server.connect("alice") as alice:
        two = alice.ask("HELLO")
        assert isinstance(two, list)
        fields = dict(zip(two[::2], two[1::2], strict=True))
        assert fields[b"server"] == b"keycache" and fields[b"proto"] == 2 and fields[b"role"] == b"master"
        assert alice.ask("HELLO", "3", "AUTH", "bob", "x") == alice.ask("AUTH", "bob", "x")
        alice.send(encoded("GET", "nobody"))
        assert alice._line() == b"$-1"
        three = alice.ask("HELLO", "3", "AUTH", "alice", "x", "SETNAME", "me")
        assert three == fields | {b"proto": 3}
        assert alice.ask("HELLO") == three
        alice.send(encoded("GET", "nobody"))
        assert alice._line() == b"_"
        assert alice.ask("GET", "alice") == ALICE
        info = alice.ask("INFO")
        assert isinstance(info, Verbatim) and info.startswith(b"txt:# Server\r\n")
        assert alice.ask("COMMAND", "DOCS") == {}
        assert alice.ask("COMMAND") == []
        assert alice.ask("HELLO", "2") == two
        assert type(alice.ask("INFO")) is bytes
    with server.connect("alice") as alice:
        alice.send(encoded("GET", "nobody"))
        assert alice._line() == b"$-1"


@pytest.mark.parametrize("protocol", [2, 3])
def test_stock_redis_py(server: Server, protocol: int) -> None:
    redis = pytest.importorskip("redis")
    client = redis.Redis(
        host="127.0.0.1",
        port=server.port,
        protocol=protocol,
        ssl=True,
        ssl_ca_certs=str(server.ca / "ca.crt"),
        ssl_certfile=str(server.ca / "admin.crt"),
        ssl_keyfile=str(server.ca / "admin.key"),
    )
    assert client.ping()
    assert client.set("client-1", b"\x00" * 16)
    assert client.exists("client-1") == 1
    assert set(client.scan_iter()) == {b"alice", b"bob", b"carol", b"client-1"}
    assert client.info()["keys"] == 4
    assert client.get("nobody") is None
    assert client.delete("client-1") == 1
    with pytest.raises(redis.ResponseError, match="unknown command"):
        client.flushall()


def test_stock_redis_benchmark(server: Server) -> None:
    if not which("redis-benchmark"):
        pytest.skip("no redis-benchmark")
    command = ["redis-benchmark", "-p", str(server.port), "--tls", "--cacert", str(server.ca / "ca.crt"), "--csv"]
    command += ["--cert", str(server.ca / "alice.crt"), "--key", str(server.ca / "alice.key"), "-n", "2000", "-c", "8"]
    out = subprocess.run([*command, "-P", "4", "SEAL", "alice", "x"], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and "SEAL" in out.stdout, out.stdout + out.stderr


def test_the_tool(server: Server, tmp_path: Path) -> None:
    def tool(*words: str, given: bytes = b"") -> tuple[int, bytes, str]:
        command = [str(TOOL), "--port", str(server.port), "--demo", str(server.ca), *words]
        got = subprocess.run(command, input=given, capture_output=True, timeout=30)
        return got.returncode, got.stdout, got.stderr.decode()

    assert tool("set", "alice", given=b"0123456789abcdef") == (0, b"", "")
    assert tool("--hex", "--as", "alice", "get", "alice") == (0, b"0123456789abcdef".hex().encode() + b"\n", "")
    assert tool("set", "alice", "--random")[0] == 0
    code, message, _ = tool("--as", "alice", "seal", "alice", given=b"secret")
    assert code == 0 and len(message) == 6 + 28
    code, about, _ = tool("--as", "alice", "--aad", "cars", "seal", "alice", given=b"secret")
    code, about, _ = tool("--as", "alice", "--aad", "cars", "reencrypt", "alice", "bob", given=about)
    assert tool("--as", "bob", "--aad", "cars", "open", "bob", given=about) == (0, b"secret", "")
    assert tool("--as", "bob", "open", "bob", given=about)[0] == 1
    code, message, _ = tool("--as", "alice", "reencrypt", "alice", "bob", given=message)
    assert tool("--as", "bob", "open", "bob", given=message) == (0, b"secret", "")
    assert tool("--as", "bob", "open", "bob", given=message[::-1])[0] == 1
    assert tool("--as", "alice", "open", "bob", given=message)[0] == 1
    assert tool("--as", "alice", "set", "alice", given=b"x" * 16)[0] == 4
    assert tool("set", "alice", given=b"x")[0] == 4
    assert tool("exists", "bob")[:2] == (0, b"yes\n")
    assert tool("exists", "nobody")[:2] == (1, b"no\n")
    assert set(tool("scan")[1].split()) == {b"alice", b"bob", b"carol"}
    assert tool("del", "carol")[0] == 0
    assert tool("del", "carol")[0] == 1
    assert tool("ping")[0] == 0
    assert b"hit_rate" in tool("info")[1]
    assert tool("fly")[0] == 2
    assert tool("--as", "nobody", "ping")[0] == 3
    assert tool("--port", "1", "ping")[0] == 3
    assert tool("--name", "other.example", "ping")[0] == 3
    subprocess.run([TOOL, "demo-ca", tmp_path / "strange"], check=True)
    assert tool("--demo", str(tmp_path / "strange"), "ping")[0] == 3
