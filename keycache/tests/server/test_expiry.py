# SPDX-License-Identifier: BSD-2-Clause
"""Keys that end by themselves: at their time, however the server ended meanwhile, and for nobody a moment later."""

import contextlib
import os
import random
import resource
import signal
import threading
import time
from pathlib import Path

import pytest
from keycached import ALICE, BOB, BUILD, Client, Closed, Server, encoded
from test_protocol import scan

NO_INTEGER = "ERR value is not an integer or out of range"
SANITIZED = "KEYCACHE_SANITIZED" in os.environ
KILLS = int(os.environ.get("KEYCACHE_KILLS", "20"))
HEADER = 16
ENTRY = 8 + 88
WAIT_SECONDS = 30.0


def log_of(server: Server) -> Path:
    return server.folder / "shadow" / "deadlines.log"


def until_gone(client: Client, name: str) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while client.ask("EXISTS", name):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_answers_of_redis(admin: Client) -> None:
    """Each as Redis 7 has it."""
    assert admin.ask("TTL", "bob") == -1
    assert admin.ask("TTL", "nobody") == -2
    assert admin.ask("EXPIRE", "bob", "100") == 1
    assert admin.ask("TTL", "bob") == 100
    assert admin.ask("EXPIRE", "nobody", "100") == 0
    assert admin.ask("PERSIST", "bob") == 1
    assert admin.ask("PERSIST", "bob") == 0
    assert admin.ask("PERSIST", "nobody") == 0
    assert admin.ask("TTL", "bob") == -1
    assert admin.ask("SET", "bob", BOB, "EX", "50") == "OK"
    assert admin.ask("TTL", "bob") == 50
    assert admin.ask("SET", "bob", BOB, "keepttl") == "OK"
    assert admin.ask("TTL", "bob") == 50
    assert admin.ask("SET", "bob", BOB) == "OK"
    assert admin.ask("TTL", "bob") == -1
    assert admin.ask("SET", "new", BOB, "KEEPTTL") == "OK"
    assert admin.ask("TTL", "new") == -1
    # A time that is past ends it at once.
    for seconds in ("0", "-5"):
        assert admin.ask("SET", "bob", BOB) == "OK"
        assert admin.ask("EXPIRE", "bob", seconds) == 1
        assert admin.ask("TTL", "bob") == -2
    # What is deleted and comes again has no deadline.
    assert admin.ask("SET", "bob", BOB, "EX", "50") == "OK"
    assert admin.ask("DEL", "bob") == 1
    assert admin.ask("SET", "bob", BOB, "KEEPTTL") == "OK"
    assert admin.ask("TTL", "bob") == -1


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["SET", "bob", BOB, "EX"], "ERR syntax error"),
        (["SET", "bob", BOB, "NX"], "ERR syntax error"),
        (["SET", "bob", BOB, "EX", "10", "KEEPTTL"], "ERR syntax error"),
        (["SET", "bob", BOB, "EX", "10", "EX", "10"], "ERR syntax error"),
        (["SET", "bob", BOB, "EX", "ten"], NO_INTEGER),
        (["SET", "bob", BOB, "EX", ""], NO_INTEGER),
        (["SET", "bob", BOB, "EX", "9999999999999999999"], NO_INTEGER),
        (["SET", "bob", BOB, "EX", "0"], "ERR invalid expire time in 'set' command"),
        (["SET", "bob", BOB, "EX", "-1"], "ERR invalid expire time in 'set' command"),
        (["SET", "bob", BOB, "EX", "999999999999"], "ERR invalid expire time in 'set' command"),
        (["EXPIRE", "bob", "1.5"], NO_INTEGER),
        (["EXPIRE", "bob", "-"], NO_INTEGER),
        (["EXPIRE", "bob", "999999999999"], "ERR invalid expire time in 'expire' command"),
        (["EXPIRE", "with space", "5"], "ERR a client id has 1 to 64 printable characters, without spaces"),
        (["EXPIRE", "bob"], "ERR wrong number of arguments for 'EXPIRE' command"),
        (["TTL"], "ERR wrong number of arguments for 'TTL' command"),
    ],
    ids=repr,
)
def test_what_is_wrong_changes_nothing(admin: Client, words: list[str | bytes], answer: str) -> None:
    assert admin.ask(*words) == answer
    assert admin.ask("TTL", "bob") == -1


def test_who_may_ask_and_who_may_set(alice: Client, admin: Client) -> None:
    assert admin.ask("EXPIRE", "alice", "100") == admin.ask("EXPIRE", "carol", "100") == 1
    assert admin.ask("EXPIRE", "bob", "100") == 1
    assert alice.ask("TTL", "alice") == 100
    # She may re-encrypt to Bob. To Carol she has no right: as if there were no such key.
    assert alice.ask("TTL", "bob") == 100
    assert alice.ask("TTL", "carol") == alice.ask("TTL", "nobody") == -2
    for words in (["EXPIRE", "alice", "1"], ["EXPIRE", "nobody", "1"], ["PERSIST", "alice"], ["PERSIST", "nobody"]):
        assert alice.ask(*words) == "NOPERM only an administrator sets keys"
    assert alice.ask("TTL", "alice") == 100


def test_a_key_ends_at_its_time(server: Server, admin: Client, alice: Client) -> None:
    message = alice.ask("SEAL", "alice", "x")
    assert isinstance(message, list)
    begin = time.time()
    # A busy machine comes to the next line within three seconds; within one, not always.
    assert admin.ask("EXPIRE", "alice", "3") == 1
    assert alice.ask("OPEN", "alice", *message) == b"x"
    until_gone(alice, "alice")
    # By the clock that the server goes by, too: in whole milliseconds, so the key can end up to two early.
    assert time.time() - begin >= 3 - 0.002
    assert alice.ask("GET", "alice") is None
    assert alice.ask("OPEN", "alice", *message) == "NOKEY no such key"
    assert admin.ask("TTL", "alice") == -2
    server.wait_for("keys", "2")
    server.wait_for("expired_keys", "1")
    assert server.info()["expiring_keys"] == "0"


def test_many_at_once(server: Server, admin: Client) -> None:
    names = [f"client-{number}" for number in range(100)]
    for name in names:
        assert admin.ask("SET", name, ALICE, "EX", "1") == "OK"
    server.wait_for("expired_keys", "100")
    assert admin.ask("EXISTS", *names) == 0
    assert server.info()["keys"] == "3"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_a_restart_keeps_deadlines(server: Server, end: int) -> None:
    with server.connect() as admin:
        for name, seconds in (("alice", "1"), ("bob", "1000")):
            assert admin.ask("EXPIRE", name, seconds) == 1
        assert admin.ask("SET", "client-1", BOB, "EX", "500") == "OK"
        assert admin.ask("SET", "client-2", BOB, "EX", "1") == "OK"
        assert admin.ask("SET", "client-2", BOB) == "OK"
    server.end(end)
    time.sleep(1)
    server.start()
    with server.connect() as admin, server.connect("alice") as alice:
        assert alice.ask("SEAL", "alice", "x") == "NOKEY no such key"
        assert 990 <= int(str(admin.ask("TTL", "bob"))) <= 1000
        assert 490 <= int(str(admin.ask("TTL", "client-1"))) <= 500
        assert admin.ask("TTL", "client-2") == -1


def test_without_a_shadow_a_restart_forgets_them(server: Server) -> None:
    assert server.end()[0] == 0
    server.has_shadow = False
    server.start()
    with server.connect() as admin:
        assert admin.ask("EXPIRE", "alice", "1000") == 1
        assert admin.ask("TTL", "alice") == 1000
    server.restart()
    with server.connect() as admin:
        assert admin.ask("TTL", "alice") == -1


def test_a_key_that_cannot_be_deleted_is_not_used(server: Server, admin: Client, alice: Client) -> None:
    """Secure storage takes no writes: the TA goes on having the key, and nobody has anything of that."""
    message = alice.ask("SEAL", "alice", "x")
    assert isinstance(message, list)
    assert admin.ask("EXPIRE", "alice", "1") == 1
    (server.folder / "tee.nodelete").touch()
    until_gone(alice, "alice")
    time.sleep(1.5)
    assert server.info()["keys"] == "3"
    assert alice.ask("GET", "alice") is None
    assert alice.ask("OPEN", "alice", *message) == "NOKEY no such key"
    assert alice.ask("REENCRYPT", "alice", "bob", *message) == "NOKEY no such key"
    assert alice.ask("RELAY", "alice", *message, "", "bob") == "NOKEY no such key"
    assert admin.ask("DEL", "alice") != 1
    assert admin.ask("EXPIRE", "alice", "100") == 0
    assert admin.ask("PERSIST", "alice") == 0
    assert scan(admin) == {"bob", "carol"}
    assert server.info()["expired_keys"] == "0"
    (server.folder / "tee.nodelete").unlink()
    server.wait_for("keys", "2")
    assert server.info()["expired_keys"] == "1"


def test_a_receiver_whose_time_is_up(server: Server, admin: Client, alice: Client) -> None:
    (server.folder / "tee.nodelete").touch()
    message = alice.ask("SEAL", "alice", "x")
    assert isinstance(message, list)
    assert admin.ask("EXPIRE", "bob", "1") == 1
    until_gone(admin, "bob")
    assert alice.ask("REENCRYPT", "alice", "bob", *message) == "NOKEY no such key"
    assert alice.ask("RELAY", "alice", *message, "", "bob") == ["NOKEY no such key"]
    server.write_list("admin admin\nrelay broker alice bob\n")
    with server.connect("broker") as broker:
        assert broker.ask("REENCRYPT", "alice", "bob", *message) == "NOKEY no such key"
        assert broker.ask("RELAY", "alice", *message, "", "bob") == ["NOKEY no such key"]
    (server.folder / "tee.nodelete").unlink()


def test_a_new_key_in_the_place_of_one_whose_time_is_up(server: Server, admin: Client, alice: Client) -> None:
    (server.folder / "tee.nodelete").touch()
    assert admin.ask("EXPIRE", "alice", "1") == 1
    until_gone(admin, "alice")
    assert admin.ask("SET", "alice", BOB, "KEEPTTL") == "OK"
    (server.folder / "tee.nodelete").unlink()
    time.sleep(2.5)
    assert alice.ask("GET", "alice") == BOB
    assert admin.ask("TTL", "alice") == -1


def test_a_set_that_fails_leaves_the_deadline(server: Server) -> None:
    """Full storage: the old key, or none, with the deadline of before, or none."""
    server.environment = {"KEYCACHE_NATIVE_LIMIT": "65536"}
    server.restart()
    with server.connect() as admin:
        count = 0
        while (got := admin.ask("SET", f"client-{count}", BOB, "EX", "1000")) == "OK":
            count += 1
            assert count < 5000
        assert got == "OOM secure storage is full"
        assert server.info()["expiring_keys"] == str(count)
        assert admin.ask("TTL", f"client-{count}") == -2
    server.environment = {}
    server.restart("--allow-get")
    with server.connect() as admin:
        assert server.info()["expiring_keys"] == str(count)
        assert admin.ask("SET", f"client-{count}", BOB) == "OK"
        assert admin.ask("TTL", f"client-{count}") == -1


def test_the_ta_ends_within_a_set(server: Server, admin: Client) -> None:
    """Which key there is then is not known: the earlier deadline of both holds."""
    assert admin.ask("EXPIRE", "bob", "100") == 1
    for seconds, left in (("1000", 100), ("10", 10)):
        server.panic()
        assert admin.ask("SET", "bob", BOB, "EX", seconds) == "TRYAGAIN the trusted application starts anew"
        assert admin.ask("TTL", "bob") == left


def test_the_deadline_is_on_the_disk_before_the_key_is(server: Server, admin: Client) -> None:
    """Killed within the TA's call: whichever key there is then, it ends."""
    server.hang()
    admin.send(encoded("SET", "bob", ALICE, "EX", "100"))
    end = time.monotonic() + WAIT_SECONDS
    while (server.folder / "tee.hang").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    server.end(signal.SIGKILL)
    server.start()
    with server.connect() as again:
        assert again.ask("EXISTS", "bob") == 1
        assert 50 < int(str(again.ask("TTL", "bob"))) <= 100


def test_a_disk_that_takes_no_deadline(server: Server, admin: Client) -> None:
    """The clients hear so, and nothing is changed: neither the key nor its deadline."""
    # A journal longer than any file of the TA: only it is too long then.
    for seconds in range(1000, 1700):
        assert admin.ask("EXPIRE", "alice", str(seconds)) == 1
    assert admin.ask("EXPIRE", "alice", "100") == 1
    assert server.process
    size = log_of(server).stat().st_size
    limit_file_size(server.process.pid, size + 10)
    with server.connect("alice") as alice:
        assert str(admin.ask("SET", "alice", BOB, "EX", "50")).startswith("ERR the disk does not take the deadline")
        assert str(admin.ask("EXPIRE", "alice", "50")).startswith("ERR the disk does not take the deadline")
        assert str(admin.ask("EXPIRE", "bob", "50")).startswith("ERR the disk does not take the deadline")
        assert str(admin.ask("PERSIST", "alice")).startswith("ERR the disk does not take the deadline")
        assert alice.ask("GET", "alice") == ALICE
        assert admin.ask("TTL", "alice") == 100
        assert admin.ask("TTL", "bob") == -1
        assert str(admin.ask("SET", "alice", BOB)).startswith("ERR the key is set, but the disk does not take its new")
        assert alice.ask("GET", "alice") == BOB
        assert admin.ask("TTL", "alice") == 100
    limit_file_size(server.process.pid, None)
    with server.connect("alice") as alice:
        assert admin.ask("PERSIST", "alice") == 1
    server.restart()
    with server.connect() as admin:
        assert admin.ask("TTL", "alice") == admin.ask("TTL", "bob") == -1


def limit_file_size(pid: int, size: int | None) -> None:
    """As a full disk: writes beyond that fail."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most if size is None else size, most))


def test_a_relaxed_server_is_not_relaxed_about_deadlines(server: Server) -> None:
    """What is lost must not have taken the deadline of the key that is back then."""
    server.restart("--allow-get", "--durability", "relaxed")
    with server.connect() as admin:
        assert admin.ask("EXPIRE", "alice", "1000") == 1
        assert admin.ask("SET", "bob", ALICE) == "OK"
        assert server.info()["waiting_writes"] == "1"
        assert admin.ask("SET", "alice", BOB) == "OK"
        assert admin.ask("SET", "carol", BOB, "EX", "1000") == "OK"
        assert admin.ask("SET", "carol", BOB, "KEEP", "1000") == "OK"
        assert int(server.info()["waiting_writes"]) <= 1
    server.end(signal.SIGKILL)
    server.start("--allow-get")
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == BOB
        assert alice.ask("TTL", "alice") == -1


def test_damaged_deadlines(server: Server) -> None:
    """What is whole counts; what is lost is said."""
    with server.connect() as admin:
        for name in ("alice", "bob", "carol"):
            assert admin.ask("EXPIRE", name, "1000") == 1
    server.end(signal.SIGKILL)
    good = log_of(server).read_bytes()
    assert len(good) == HEADER + 3 * ENTRY
    bob = good[:HEADER] + good[HEADER : HEADER + ENTRY] + bytes(ENTRY) + good[HEADER + 2 * ENTRY :]
    for damaged, left in (
        (good[:-1], {"alice", "bob"}),
        (good + b"torn", {"alice", "bob", "carol"}),
        (bob, {"alice", "carol"}),
        (b"", set()),
        (os.urandom(len(good)), set()),
    ):
        log_of(server).write_bytes(damaged)
        server.start()
        with server.connect() as admin:
            has = {name for name in ("alice", "bob", "carol") if admin.ask("TTL", name) != -1}
        assert has == left
        assert ("deadlines of keys in --shadow are damaged" in server.end()[1]) == bool(damaged)
    server.start()


def test_killed_while_keys_are_set(server: Server) -> None:
    """At any moment: what is there has the deadline that it was set with, or that of the key before; none has none."""
    chance = random.Random(11)
    for _ in range(KILLS):
        with server.connect() as admin:
            assert server.process
            timer = threading.Timer(chance.uniform(0.005, 0.1), server.process.send_signal, [signal.SIGKILL])
            timer.start()
            names = [f"client-{chance.randrange(50)}" for _ in range(2000)]
            with contextlib.suppress(Closed, OSError):
                for name in names:
                    assert admin.ask("SET", name, chance.randbytes(32), "EX", str(chance.randrange(500, 1000))) == "OK"
            timer.join()
        server.end(signal.SIGKILL)
        server.start()
        with server.connect() as admin:
            left = [int(str(admin.ask("TTL", name))) for name in scan(admin) if name.startswith("client-")]
        assert left and all(400 < seconds <= 1000 for seconds in left)


if not SANITIZED:

    def test_a_clock_that_jumps(server: Server) -> None:
        """Set back, it prolongs nothing, over a restart neither; set forward, it ends what ends until then."""
        server.environment = {"LD_PRELOAD": str(BUILD / "dumpable.so")}
        clock = server.folder / "tee.clock"
        server.restart("--allow-get")
        with server.connect() as admin:
            for name, seconds in (("alice", "2"), ("bob", "1000"), ("carol", "100000")):
                assert admin.ask("EXPIRE", name, seconds) == 1
            clock.write_text("-1000000")
            assert admin.ask("TTL", "bob") in (999, 1000)
            until_gone(admin, "alice")
            assert admin.ask("TTL", "bob") in (997, 998)
        # A device without a clock: it goes on where the server ended.
        clock.write_text("-1700000000")
        server.restart()
        with server.connect() as admin:
            assert 985 <= int(str(admin.ask("TTL", "bob"))) <= 998
            assert admin.ask("SET", "client-1", BOB, "EX", "500") == "OK"
            assert admin.ask("TTL", "client-1") == 500
            clock.write_text("2000")
            until_gone(admin, "bob")
            assert admin.ask("EXISTS", "client-1") == 0
            assert 97900 <= int(str(admin.ask("TTL", "carol"))) <= 98000
            clock.unlink()
            assert 97900 <= int(str(admin.ask("TTL", "carol"))) <= 98000
        server.environment = {}
        server.restart()


def test_the_journal_is_written_anew(server: Server, admin: Client) -> None:
    for number in range(2100):
        assert admin.ask("EXPIRE", "alice", str(1000 + number)) == 1
        assert admin.ask("PERSIST", "alice") == 1
    assert admin.ask("EXPIRE", "alice", "5000") == 1
    assert log_of(server).stat().st_size < 1000 * ENTRY
    server.restart()
    with server.connect() as again:
        assert 4990 <= int(str(again.ask("TTL", "alice"))) <= 5000


if not SANITIZED:

    def test_a_new_journal_whose_name_the_disk_does_not_take(server: Server) -> None:
        """Should power be lost, the old one is back: until the disk knows the name, no deadline is promised."""
        server.environment = {"LD_PRELOAD": str(BUILD / "dumpable.so")}
        server.restart("--allow-get")
        fails = server.folder / "tee.nofsync"
        with server.connect() as admin:
            fails.touch()
            seconds = 1000
            while fails.exists():
                assert admin.ask("EXPIRE", "alice", str(seconds)) == 1
                seconds += 1
                assert seconds < 6000
            fails.touch()
            assert str(admin.ask("EXPIRE", "bob", "1000")).startswith("ERR the disk does not take the deadline")
            assert not fails.exists()
            assert admin.ask("TTL", "bob") == -1
            assert admin.ask("EXPIRE", "bob", "1000") == 1
        server.restart("--allow-get")
        with server.connect() as again:
            assert again.ask("TTL", "bob") != -1

    def test_a_deadline_that_was_refused_does_not_come_back(server: Server) -> None:
        """The disk has taken it and said that it did not; then it takes nothing, and the server is killed."""
        server.environment = {"LD_PRELOAD": str(BUILD / "dumpable.so")}
        server.restart("--allow-get")
        for full in (False, True):
            with server.connect() as admin:
                (server.folder / "tee.nosync").touch()
                assert str(admin.ask("EXPIRE", "alice", "1000")).startswith("ERR the disk does not take the deadline")
                assert not (server.folder / "tee.nosync").exists()
                assert server.process
                if full:
                    limit_file_size(server.process.pid, 10)
                    assert str(admin.ask("EXPIRE", "bob", "1000")).startswith("ERR the disk does not take the")
                    limit_file_size(server.process.pid, None)
                    assert admin.ask("EXPIRE", "carol", "1000") == 1
            server.end(signal.SIGKILL)
            server.start()
            with server.connect() as again:
                assert (again.ask("TTL", "alice"), again.ask("TTL", "bob")) == (-1, -1)
                assert (int(str(again.ask("TTL", "carol"))) > 900) == full
        server.environment = {}
        server.restart()
