# SPDX-License-Identifier: BSD-2-Clause
import contextlib
import os
import signal
import socket
import time
from pathlib import Path

import pytest
from keycached import ALICE, BOB, BUILD, WAIT_SECONDS, Client, Closed, Lasting, Refused, Server, encoded

# How many clients send a record that does not open, in one test. 10,000 take a minute or two.
BAD_RECORDS = int(os.environ.get("KEYCACHE_BAD_RECORDS", "100"))
# Sanitizers keep memory that is given back.
SANITIZED = "KEYCACHE_SANITIZED" in os.environ
# The memory of so many is looked at without sanitizers.
IDLE_CLIENTS = 200 if SANITIZED else 1000


def resident(server: Server) -> int:
    assert server.process
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return 0 if SANITIZED else int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_a_thousand_idle_connections(server: Server) -> None:
    server.restart("--allow-get", "--max-clients", "1100")
    context = server.context("alice")
    clients = [server.connect(context=context) for _ in range(IDLE_CLIENTS)]
    with server.connect("bob") as bob:
        assert bob.ask("GET", "bob") == BOB
    server.wait_for("connected_clients", str(IDLE_CLIENTS + 1))
    for client in clients[:: IDLE_CLIENTS // 10]:
        assert client.ask("GET", "alice") == ALICE
    assert server.process
    assert resident(server) < 200 << 20
    for client in clients:
        client.socket.close()
    server.wait_for("connected_clients", "1")


def test_a_bad_record_closes_its_own_connection_alone(server: Server) -> None:
    """OpenSSL's queue of errors is one for all connections: what one leaves there must not be read as another's."""
    context = server.context("alice")
    with server.connect("bob") as bob:
        for number in range(BAD_RECORDS):
            with server.connect(context=context) as alice:
                assert alice.ask("PING") == "PONG"
                os.write(alice.socket.fileno(), b"\x17\x03\x03\x00\x30" + os.urandom(48))
                assert alice.closes()
            assert bob.ask("PING", str(number)) == str(number).encode()


def until_in(server: Server, name: str) -> None:
    """The place of a client that left is free as soon as the server has noticed; a busy machine has it notice late."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        with contextlib.suppress(Closed), server.connect(name) as client:
            if client.ask("PING") == "PONG":
                return
        assert time.monotonic() < end
        time.sleep(0.05)


def test_one_too_many(server: Server) -> None:
    server.restart("--max-clients", "3")
    clients = [server.connect("alice") for _ in range(3)]
    with server.connect("alice") as fourth:
        assert str(fourth.reply()).startswith("ERR max number of clients reached")
        assert fourth.closes()
    clients.pop().socket.close()
    until_in(server, "alice")


def silent(server: Server, count: int, source: str = "127.0.0.1") -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", server.port), source_address=(source, 0)) for _ in range(count)]


def test_a_flood_of_silent_connections(server: Server) -> None:
    """From the administrator's own address, and then from many: who shakes hands gets in all the same."""
    flood = silent(server, 1100)
    with server.connect("admin") as admin, server.connect("alice") as alice:
        assert admin.ask("PING") == alice.ask("PING") == "PONG"
    # Who has shaken hands is not pushed out.
    with server.connect("bob") as bob:
        for number in range(2, 12):
            flood += silent(server, 60, f"127.0.0.{number}")
        assert bob.ask("GET", "bob") == BOB
        with server.connect("admin") as admin:
            assert admin.ask("PING") == "PONG"
    for one in flood:
        one.close()


def test_an_administrator_gets_in_when_it_is_full(server: Server) -> None:
    server.restart("--max-clients", "20")
    clients = [server.connect("alice") for _ in range(20)]
    with server.connect("bob") as bob:
        assert str(bob.reply()).startswith("ERR max number of clients reached")
    with server.connect("admin") as admin:
        assert admin.ask("EXISTS", "alice") == 1
    for client in clients:
        assert client.ask("PING") == "PONG"


def test_a_limit_for_each_address(server: Server) -> None:
    server.restart("--max-per-address", "5")
    clients = [server.connect("alice") for _ in range(5)]
    with server.connect("bob") as bob:
        assert str(bob.reply()).startswith("ERR max number of clients reached")
    with server.connect("admin") as admin:
        assert admin.ask("PING") == "PONG"
    clients.pop().socket.close()
    until_in(server, "bob")


# Sanitizers have an allocator of their own.
if not SANITIZED:

    def test_no_memory_for_a_connection(server: Server) -> None:
        """It waits; those behind it are not forgotten."""
        server.environment = {"LD_PRELOAD": str(BUILD / "dumpable.so")}
        server.restart()
        with server.connect("alice") as alice:
            (server.folder / "tee.nomemory").touch()
            with server.connect("bob") as bob:
                assert bob.ask("PING") == "PONG"
            assert not (server.folder / "tee.nomemory").exists()
            assert alice.ask("PING") == "PONG"


def test_a_client_that_pipelines_leaves_room(server: Server) -> None:
    """How many calls of the TA come before another's request, which came at the same time."""
    words = encoded("EXISTS", *[f"key-{number}" for number in range(1000)])
    assert server.process
    with server.connect("alice") as alice, server.connect("admin") as admin:
        for _ in range(5):
            before = calls(admin)
            server.process.send_signal(signal.SIGSTOP)
            alice.send(words * 4)
            admin.send(encoded("INFO"))
            server.process.send_signal(signal.SIGCONT)
            assert calls_of(admin.reply()) - before < 100
            assert [alice.reply() for _ in range(4)] == [0] * 4
            assert calls(admin) - before >= 4000


def test_orders_of_a_pipeline(server: Server) -> None:
    """A request that takes several turns keeps its place, and ends in order."""
    with server.connect("admin") as admin:
        for _ in range(3):
            for number in range(100):
                assert admin.ask("SET", f"client-{number}", ALICE) == "OK"
            names = [f"client-{number}" for number in range(150)]
            admin.send(encoded("EXISTS", *names) + encoded("DEL", *names) + encoded("EXISTS", *names) + encoded("PING"))
            assert [admin.reply() for _ in range(4)] == [100, 100, 0, "PONG"]
        admin.send(encoded("EXISTS", *names) * 20 + encoded("QUIT"))
        assert [admin.reply() for _ in range(21)] == [0] * 20 + ["OK"]
        assert admin.closes()


def calls(admin: Client) -> int:
    return calls_of(admin.ask("INFO"))


def calls_of(info: object) -> int:
    assert isinstance(info, bytes)
    (line,) = [line for line in info.decode().splitlines() if line.startswith("tee_calls:")]
    return int(line.partition(":")[2])


def test_idle_and_half_open(server: Server) -> None:
    """Seconds enough that a busy machine lets the busy client ask twice within them."""
    server.restart("--idle-timeout", "4")
    with (
        server.connect("alice") as idle,
        server.connect("alice") as half,
        server.connect("alice") as busy,
        Client(socket.create_connection(("127.0.0.1", server.port))) as silent,
    ):
        end = time.monotonic() + WAIT_SECONDS
        pieces = (bytes([one]) for one in encoded("PING", "x" * 1000))
        while int(server.info()["timed_out_connections"]) < 3:
            assert time.monotonic() < end
            assert busy.ask("PING") == "PONG"
            # A request that never ends is no sign of life, although a piece of it comes again and again.
            with contextlib.suppress(OSError):
                half.send(next(pieces))
            time.sleep(0.2)
        assert idle.closes() and half.closes() and silent.closes()
        assert busy.ask("PING") == "PONG"


def test_a_slow_reader_waits_alone(server: Server) -> None:
    assert server.process
    with server.connect("alice") as slow, server.connect("bob") as bob:
        slow.socket.settimeout(0.5)
        request = encoded("SEAL", "alice", b"x" * 60000)
        sent = 0
        try:
            while sent < 2000:
                slow.send(request)
                sent += 1
        except TimeoutError:
            pass
        assert sent < 2000, "it takes everything"
        for _ in range(10):
            assert bob.ask("GET", "bob") == BOB
        assert resident(server) < 100 << 20


def test_a_reader_that_wakes_up_gets_all(server: Server) -> None:
    with server.connect("alice") as slow:
        slow.send(b"".join(encoded("PING", str(number).encode() * 1000) for number in range(1500)))
        time.sleep(1)
        for number in range(1500):
            assert slow.reply() == str(number).encode() * 1000


@pytest.mark.parametrize(
    "data",
    [
        b"PING\r\n",
        b"+PING\r\n",
        b"$4\r\nPING\r\n",
        b"*1\r\n+PING\r\n",
        b"*1\r\n:1\r\n",
        b"*1\r\n$-1\r\n",
        b"*-1\r\n",
        b"*1\r\n*1\r\n$4\r\nPING\r\n",
        b"*1\r\n" * 50,
        b"%1\r\n$4\r\nPING\r\n$4\r\nPING\r\n",
        b"*1\r\n%1\r\n$1\r\nx\r\n$1\r\nx\r\n",
        b"*1000000000\r\n",
        b"*2000\r\n",
        b"*99999999999999999999999\r\n",
        b"*x\r\n",
        b"*1\r\n$x\r\n",
        b"*1\r\n$-5\r\nPING\r\n",
        b"*1\r\n$999999999\r\n" + bytes(200000),
        b"*1\r\n$200000\r\n" + bytes(200000) + b"\r\n",
        b"*3\r\n" + (b"$60000\r\n" + bytes(60000) + b"\r\n") * 3,
        b"*1\r\n" + b"9" * 200000,
        b"*1\r\n$4\r\nPINGxx",
        b"*2\r\n$4\r\nPING\n\r$1\r\nx\r\n",
        # Announced, and not sent.
        b"*1\r\n$131073\r\n",
        b"*3\r\n$3\r\nSET\r\n$100000\r\n" + bytes(100000) + b"\r\n$31070\r\n",
        b"*" + b"1" * 200000,
        bytes(100),
        b"\xff" * 100,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_malformed_and_oversized(lasting: Lasting, data: bytes) -> None:
    server = lasting()
    before = int(server.info()["malformed_requests"])
    with server.connect("alice") as client:
        client.send(encoded("PING"))
        assert client.reply() == "PONG"
        client.send(data)
        got = client.reply()
        assert isinstance(got, Refused) and got.startswith("ERR Protocol error"), got
        assert client.closes()
    assert int(server.info()["malformed_requests"]) == before + 1


def test_cut_off_everywhere(server: Server) -> None:
    whole = encoded("SEAL", "alice", "x")
    for size in range(len(whole)):
        with server.connect("alice") as client:
            client.send(whole[:size])
    server.wait_for("connected_clients", "1")


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told(server: Server, tmp_path: Path, abstract: bool) -> None:
    name = f"@keycache-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.settimeout(30)
        told.bind("\0" + name[1:] if abstract else name)
        server.environment = {"NOTIFY_SOCKET": name}
        server.restart()
        assert told.recv(100) == b"READY=1"
        assert server.process
        before = time.monotonic_ns() // 1000
        server.process.send_signal(signal.SIGHUP)
        reloading, _, when = told.recv(100).partition(b"\nMONOTONIC_USEC=")
        assert reloading == b"RELOADING=1" and before <= int(when) <= time.monotonic_ns() // 1000
        assert told.recv(100) == b"READY=1"
        assert server.end()[0] == 0
        assert told.recv(100) == b"STOPPING=1"
    server.environment = {}
    server.start()


def test_sigterm_lets_replies_out(server: Server) -> None:
    sealed = b"*2\r\n$12\r\n" + bytes(12) + b"\r\n$1016\r\n" + bytes(1016) + b"\r\n"
    with server.connect("alice") as client, server.connect("admin"):
        client.send(b"".join(encoded("SEAL", "alice", b"x" * 1000) for _ in range(100)))
        got = client.socket.recv(1)
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        while more := client.socket.recv(65536):
            got += more
        # Whole replies, to what was read before it ended.
        assert len(got) % len(sealed) == 0
        # Nor does it wait for clients that do not leave.
        assert server.process.wait(WAIT_SECONDS) == 0
    assert "ends" in server.end()[1]


def test_the_ta_panics(server: Server) -> None:
    with server.connect("alice") as alice, server.connect("admin") as admin:
        for _ in range(3):
            assert alice.ask("GET", "alice") == ALICE
            server.panic()
            assert alice.ask("GET", "alice") == "TRYAGAIN the trusted application starts anew"
            assert alice.ask("GET", "alice") == ALICE
            server.panic()
            assert str(admin.ask("SET", "alice", ALICE)).startswith("TRYAGAIN")
            assert admin.ask("SET", "alice", ALICE) == "OK"
    assert server.info()["tee_restarts"] == "6"


def test_the_ta_has_lost_its_configuration(server: Server) -> None:
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE
        server.forget()
        assert alice.ask("GET", "alice") == "TRYAGAIN the trusted application starts anew"
        assert alice.ask("GET", "alice") == ALICE


def test_the_ta_does_not_answer(server: Server) -> None:
    """As when tee-supplicant is killed within a request: the call never comes back."""
    server.restart("--allow-get", "--tee-timeout", "1")
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE
        server.hang()
        with pytest.raises(Closed):
            alice.ask("SEAL", "alice", "x")
    code, text = server.end()
    assert code == 75 and "has not answered for 1 seconds" in text
    server.start()
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE


def test_storage_is_full(server: Server) -> None:
    server.environment = {"KEYCACHE_NATIVE_LIMIT": "65536"}
    server.restart()
    with server.connect("admin") as admin, server.connect("alice") as alice:
        count = 0
        while (got := admin.ask("SET", f"client-{count}", BOB)) == "OK":
            count += 1
            assert count < 5000
        assert got == "OOM secure storage is full"
        assert alice.ask("GET", "alice") == ALICE
        assert admin.ask("EXISTS", f"client-{count - 1}", f"client-{count}") == 1
        assert admin.ask("DEL", *[f"client-{number}" for number in range(count)]) == count
        assert admin.ask("SET", "client-0", BOB) == "OK"


def test_messages_that_do_not_open_do_not_spoil_the_cache(server: Server) -> None:
    server.restart("--policy", "smart", "--bound", "1024")
    names = [f"client-{number}" for number in range(60)]
    with server.connect() as admin, server.connect("broker") as broker:
        for name in names:
            assert admin.ask("SET", name, ALICE) == "OK"
        for _ in range(5):
            for name in names:
                assert str(broker.ask("OPEN", name, bytes(12), bytes(32))).startswith("BADTAG")
        before = int(server.info()["hits"])
        for _ in range(20):
            for name in names[:4]:
                assert isinstance(broker.ask("SEAL", name, "x"), list)
        assert int(server.info()["hits"]) - before >= 60
    info = server.info()
    assert int(info["cached"]) <= int(info["capacity"])


def test_nothing_to_repair(server: Server) -> None:
    server.restart("--repair")
    assert "--repair: 0 parts of secure storage begin empty" in server.end()[1]
    server.start()
