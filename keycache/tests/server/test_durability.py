# SPDX-License-Identifier: BSD-2-Clause
"""What is acknowledged stays; what the disk says of it is not believed."""

import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from keycached import ALICE, BOB, BUILD, Closed, Server, encoded

SANITIZED = "KEYCACHE_SANITIZED" in os.environ
KILLS = int(os.environ.get("KEYCACHE_KILLS", "20"))


def log_of(server: Server) -> Path:
    return server.folder / "shadow" / "records.log"


def all_keys(server: Server, names: list[str]) -> dict[str, object]:
    with server.connect("broker") as broker:
        broker.send(b"".join(encoded("GET", name) for name in names))
        return {name: broker.reply() for name in names}


@pytest.mark.parametrize("storage", ["ree", "rpmb"])
def test_kill_in_the_middle_of_sets(server: Server, storage: str) -> None:
    server.restart("--allow-get", "--storage", storage)
    chance = random.Random(7)
    known: dict[str, bytes] = {}
    # Sent and not acknowledged: either is right.
    open_ones: dict[str, set[bytes]] = {}
    for kill in range(KILLS):
        admin = server.connect()
        assert server.process
        timer = threading.Timer(chance.uniform(0.005, 0.15), server.process.send_signal, [signal.SIGKILL])
        timer.start()
        waiting: list[tuple[str, bytes]] = []
        try:
            while True:
                batch = [
                    (f"client-{chance.randrange(100)}", chance.randbytes(32)) for _ in range(chance.randrange(1, 9))
                ]
                waiting += batch
                admin.send(b"".join(encoded("SET", *one) for one in batch))
                for name, key in batch:
                    assert admin.reply() == "OK"
                    known[name] = key
                    waiting.pop(0)
                    open_ones.pop(name, None)
        except (Closed, OSError):
            pass
        timer.join()
        admin.socket.close()
        server.end(signal.SIGKILL)
        for name, key in waiting:
            open_ones.setdefault(name, set()).add(key)
        server.start()
        for name, found in all_keys(server, sorted(set(known) | set(open_ones))).items():
            allowed = {known.get(name)} | open_ones.get(name, set())
            assert found in allowed, f"kill {kill}: {name}"
            if isinstance(found, bytes):
                known[name] = found
        open_ones.clear()
    assert known
    assert server.info()["forged_records"] == "0"


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_an_orderly_end_keeps_all(server: Server, durability: str) -> None:
    server.restart("--allow-get", "--durability", durability)
    names = [f"client-{number}" for number in range(100)]
    with server.connect() as admin:
        for name in names:
            assert admin.ask("SET", name, name.encode().ljust(16, b".")) == "OK"
    server.restart()
    assert all_keys(server, names) == {name: name.encode().ljust(16, b".") for name in names}


def test_relaxed_is_written_within_seconds(server: Server) -> None:
    server.restart("--allow-get", "--durability", "relaxed")
    with server.connect() as admin:
        assert admin.ask("SET", "client-1", BOB) == "OK"
    time.sleep(2.5)
    server.end(signal.SIGKILL)
    server.start()
    assert all_keys(server, ["client-1"]) == {"client-1": BOB}


def test_relaxed_with_a_full_storage(server: Server) -> None:
    """Who gets OK gets it for good: new clients hear at once that there is no room, and known ones are not lost."""
    server.environment = {"KEYCACHE_NATIVE_LIMIT": "65536"}
    server.restart("--allow-get", "--durability", "relaxed")
    with server.connect() as admin:
        count = 0
        while (got := admin.ask("SET", f"client-{count}", BOB)) == "OK":
            count += 1
            assert count < 5000
        assert got == "OOM secure storage is full"
        known = {f"client-{number}": number.to_bytes(16, "big") for number in range(8)}
        for name, key in known.items():
            assert admin.ask("SET", name, key) == "OK"
        assert admin.ask("EXISTS", f"client-{count}") == 0
    server.environment = {}
    server.restart("--allow-get")
    assert all_keys(server, list(known)) == known
    assert server.info()["failed_flushes"] == "0"


def test_a_restart_needs_no_slow_reads(server: Server) -> None:
    server.restart()
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE
    info = server.info()
    assert info["record_opens"] == "1" and info["slow_reads"] == "0"


def test_an_older_shadow_is_not_believed(server: Server) -> None:
    assert server.end()[0] == 0
    old = log_of(server).read_bytes()
    server.start()
    with server.connect() as admin:
        assert admin.ask("SET", "alice", BOB) == "OK"
        assert admin.ask("DEL", "bob") == 1
    assert server.end()[0] == 0
    log_of(server).write_bytes(old)
    server.start()
    with server.connect("alice") as alice, server.connect("bob") as bob:
        assert alice.ask("GET", "alice") == BOB
        assert bob.ask("GET", "bob") is None
        assert str(bob.ask("SEAL", "bob", "x")).startswith("NOKEY")
    assert server.info()["stale_records"] == "1"
    # It was made anew, once.
    server.restart()
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == BOB
    assert server.info()["stale_records"] == "0"


def crc(kind: int, record: bytes) -> int:
    value = ~kind & 0xFFFFFFFF
    for byte in record:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return ~value & 0xFFFFFFFF


HEADER = 16
RECORD = 132
ENTRY = 8 + RECORD


def entries(data: bytes) -> list[tuple[int, bytes]]:
    found = []
    for at in range(HEADER, len(data), ENTRY):
        kind = int.from_bytes(data[at : at + 4], "little")
        record = data[at + 8 : at + ENTRY]
        assert int.from_bytes(data[at + 4 : at + 8], "little") == crc(kind, record)
        found.append((kind, record))
    return found


def written(data: bytes, records: list[tuple[int, bytes]]) -> bytes:
    return data[:HEADER] + b"".join(
        kind.to_bytes(4, "little") + crc(kind, record).to_bytes(4, "little") + record for kind, record in records
    )


@pytest.mark.parametrize("policy", ["none", "lru", "smart"])
def test_forged_records_are_not_believed(server: Server, policy: str) -> None:
    """Every byte changed in turn, with a checksum that fits; and Bob's secrets under Alice's name."""
    server.restart("--allow-get", "--policy", policy)
    assert server.end()[0] == 0
    good = log_of(server).read_bytes()
    records = entries(good)
    names = {record[8 : 8 + record[1]]: (kind, record) for kind, record in records}
    kind, alice = names[b"alice"]
    bob = names[b"bob"][1]
    forged = [
        alice[:at] + bytes([alice[at] ^ 0x40]) + alice[at + 1 :] for at in (0, 1, 2, 3, 4, 7, 13, 71, 72, 90, 131)
    ]
    forged += [alice[:72] + bob[72:], alice[:8] + bob[8:], bob[:8] + alice[8:72] + bob[72:], bytes(RECORD)]
    for one in forged:
        log_of(server).write_bytes(written(good, [(kind, one), *((k, r) for k, r in records if r != alice)]))
        server.start()
        with server.connect("alice") as client, server.connect("bob") as other:
            assert client.ask("GET", "alice") == ALICE, one.hex()
            assert other.ask("GET", "bob") == BOB
        assert server.end()[0] == 0
    server.start()


def test_a_storage_that_is_gone_is_told_of(server: Server) -> None:
    """To the TA that is a first start; the server has records that say otherwise."""
    assert "secure storage has no keys" not in server.end()[1]
    shutil.rmtree(server.folder / "tee")
    server.start()
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") is None
    assert "secure storage has no keys, but --shadow has records of 3" in server.end()[1]
    server.start()


def test_everything_at_once(server: Server) -> None:
    """REENCRYPT: the server thinks that the TA has the first key, which was set anew; the second's record is forged."""
    assert server.end()[0] == 0
    records = entries(log_of(server).read_bytes())
    forged = [
        (kind, record[:90] + bytes([record[90] ^ 1]) + record[91:] if record[8:11] == b"bob" else record)
        for kind, record in records
    ]
    log_of(server).write_bytes(written(log_of(server).read_bytes(), forged))
    server.start()
    with server.connect("alice") as alice:
        for _ in range(3):
            assert alice.ask("GET", "alice") == ALICE
        server.set_behind()
        # Its tag is not the new key's, which is found all the same.
        assert str(alice.ask("REENCRYPT", "alice", "bob", bytes(12), bytes(32))).startswith("BADTAG")
    info = server.info()
    assert [info[key] for key in ("misses_without_record", "stale_records", "forged_records")] == ["1", "1", "3"]


if not SANITIZED:

    def test_a_log_that_is_compacted_but_for_its_name(server: Server) -> None:
        """The disk takes the new log and fails on its name: what comes then is in the log that has the name."""
        server.environment = {"LD_PRELOAD": str(BUILD / "dumpable.so")}
        server.restart("--durability", "relaxed", "--allow-get")
        names = [f"client-{number}" for number in range(50)]
        with server.connect() as admin:
            for name in names:
                assert admin.ask("SET", name, ALICE) == "OK"
            (server.folder / "tee.nofsync").touch()
            for _ in range(100):
                admin.send(b"".join(encoded("SET", name, ALICE) for name in names))
                assert [admin.reply() for _ in names] == ["OK"] * len(names)
            assert not (server.folder / "tee.nofsync").exists()
            for name in names:
                assert admin.ask("SET", name, name.encode().ljust(16)) == "OK"
        info = server.info()
        assert info["shadow_compactions"] != "0" and info["shadow_failures"] == "1"
        server.restart("--allow-get")
        assert all_keys(server, names) == {name: name.encode().ljust(16) for name in names}
        info = server.info()
        assert info["stale_records"] == "0" and info["slow_reads"] == "0"


def test_damaged_logs(server: Server) -> None:
    assert server.end()[0] == 0
    good = log_of(server).read_bytes()
    damaged = [b"", b"x", good[:10], good[:HEADER], good[:-1], good[:-ENTRY], good + b"torn", bytes(len(good))]
    damaged += [good[: HEADER + 20] + b"?" + good[HEADER + 21 :], os.urandom(len(good))]
    for one in damaged:
        log_of(server).write_bytes(one)
        server.start()
        with server.connect("alice") as alice, server.connect("bob") as bob:
            assert alice.ask("GET", "alice") == ALICE
            assert bob.ask("GET", "bob") == BOB
        assert server.end()[0] == 0
        assert len(log_of(server).read_bytes()) % ENTRY == HEADER
    server.start()


def test_the_log_is_compacted(server: Server) -> None:
    server.restart("--durability", "relaxed", "--allow-get")
    with server.connect() as admin:
        for start in range(0, 9000, 500):
            admin.send(
                b"".join(encoded("SET", f"client-{n % 50}", n.to_bytes(16, "big")) for n in range(start, start + 500))
            )
            assert [admin.reply() for _ in range(500)] == ["OK"] * 500
    info = server.info()
    assert int(info["shadow_compactions"]) >= 1 and int(info["shadow_log_entries"]) < 5000
    server.restart()
    keys = all_keys(server, [f"client-{number}" for number in range(50)])
    assert keys == {f"client-{n % 50}": n.to_bytes(16, "big") for n in range(8950, 9000)}
