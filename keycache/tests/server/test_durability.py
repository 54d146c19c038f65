# SPDX-License-Identifier: BSD-2-Clause
"""What is acknowledged stays; what the disk says of it is not believed."""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from keycached import ALICE, BOB, BUILD, WAIT_SECONDS, Client, Closed, Refused, Server, encoded
from test_authority import Desk
from test_keys import about, code, message_of

SANITIZED = "KEYCACHE_SANITIZED" in os.environ
KILLS = int(os.environ.get("KEYCACHE_KILLS", "20"))
# Each of these reads hundreds of messages afterwards.
VERSION_KILLS = int(os.environ.get("KEYCACHE_KILLS", "4"))


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


# Which of POOL's keys a client has: its current one and its previous one.
Has = tuple[int | None, int | None]
# What is asked for: a client, SET, KEEP (a SET with it), ENROL (with KEEP), FORGET or DEL, and which key.
Change = tuple[str, str, int]
POOL = 40
SENDERS = [f"client-{number}" for number in range(8)]
# An authority's client.
ENROLLED = "client-enrolled"
RECEIVER = "client-receiver"
# What an enrolled key sealed goes to enrolled ones alone.
ENROLLED_RECEIVER = "client-enrolled-receiver"
PLAIN = b"what the power may not take"


def steps(has: Has, change: Change) -> list[Has]:
    """What a client has after each write of a change: the last is what the reply promises."""
    key, before = has
    _, word, number = change
    if word in ("KEEP", "ENROL") and key is not None:
        return [(key, key), (number, key)]
    if word in ("SET", "KEEP", "ENROL"):
        return [(number, before)]
    return [(key, None)] if word == "FORGET" else [(key, None), (None, None)]


def all_steps(has: Has, changes: Sequence[Change]) -> list[Has]:
    found = [has]
    for change in changes:
        found += steps(found[-1], change)
    return found


@dataclass
class Versions:
    """Clients whose keys are replaced and kept by one connection, while another relays what those keys sealed.

    Attributes:
        keys: POOL keys.
        messages: what each of them sealed. It says not for whom: whoever has the key can open it.
        statements: enrolments of ENROLLED that are to come, each with its key's number.
        has: what each client has by the replies.
        asked: of each client, the changes that were sent.
        answered: how many of them are in `has`.
        relayed: how many messages of current keys and of previous ones were relayed.
        wrong: what a relay showed that must not be.
    """

    keys: list[bytes]
    messages: list[list[bytes]]
    statements: list[tuple[int, bytes]]
    has: dict[str, Has] = field(default_factory=lambda: dict.fromkeys((*SENDERS, ENROLLED), (None, None)))
    asked: dict[str, list[Change]] = field(default_factory=lambda: {name: [] for name in (*SENDERS, ENROLLED)})
    answered: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*SENDERS, ENROLLED), 0))
    relayed: list[int] = field(default_factory=lambda: [0, 0])
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open_ones(self, name: str, answered: int | None = None) -> list[Change]:
        return self.asked[name][self.answered[name] if answered is None else answered :]

    def change(self, admin: Client, chance: random.Random) -> None:
        """A few changes in one piece, and their replies."""
        batch: list[Change] = []
        for _ in range(chance.randrange(1, 6)):
            batch.append(self.next_change(chance))
            with self.lock:
                self.asked[batch[-1][0]].append(batch[-1])
        statements = iter(self.statements)
        sent = b"".join(self.request(one, statements) for one in batch)
        self.statements = list(statements)
        admin.send(sent)
        for one in batch:
            name, word, _ = one
            key, before = self.has[name]
            expected = {"FORGET": int(before is not None), "DEL": int(key is not None)}.get(word, "OK")
            assert admin.reply() == expected, one
            with self.lock:
                self.has[name] = steps(self.has[name], one)[-1]
                self.answered[name] += 1

    def next_change(self, chance: random.Random) -> Change:
        if chance.random() < 0.03:
            word = chance.choices(("ENROL", "FORGET", "DEL"), (6, 1, 1))[0]
            taken = sum(word == "ENROL" for _, word, _ in self.open_ones(ENROLLED))
            if word != "ENROL":
                return ENROLLED, word, 0
            if taken < len(self.statements):
                return ENROLLED, word, self.statements[taken][0]
        name = chance.choice(SENDERS)
        soon = all_steps(self.has[name], self.open_ones(name))[-1]
        number = chance.choice([each for each in range(POOL) if each not in soon])
        return name, chance.choices(("KEEP", "SET", "FORGET", "DEL"), (6, 2, 2, 1))[0], number

    def request(self, change: Change, statements: Iterator[tuple[int, bytes]]) -> bytes:
        name, word, number = change
        if word in ("FORGET", "DEL"):
            return encoded(word, name)
        if word == "ENROL":
            return encoded("ENROL", next(statements)[1], "KEEP", "1000")
        return encoded("SET", name, self.keys[number], *(["KEEP", "1000"] if word == "KEEP" else []))

    def relay(self, server: Server, chance: random.Random) -> None:
        """Messages of all keys, until the server is gone: each is relayed or not, as it must be."""
        try:
            with server.connect("broker") as broker:
                while True:
                    name = chance.choice(list(self.has))
                    with self.lock:
                        has, answered = self.has[name], self.answered[name]
                    number = chance.choice([*(each for each in has if each is not None), chance.randrange(POOL)])
                    to = ENROLLED_RECEIVER if name == ENROLLED else RECEIVER
                    one = chance.random() < 0.5
                    reply = broker.ask(
                        *(("REENCRYPT", name, to) if one else ("RELAY", name)),
                        *self.messages[number],
                        *(() if one else ("", to)),
                    )
                    with self.lock:
                        meanwhile = all_steps(has, self.open_ones(name, answered))
                    went = not isinstance(reply, Refused)
                    must, can = (f(number in each for each in meanwhile) for f in (all, any))
                    if (must and not went) or (went and not can) or code(reply) not in ("", "BADTAG", "NOKEY"):
                        self.wrong.append(f"{name}: a message of key {number} got {reply!r}: {meanwhile}")
                        continue
                    if went:
                        copy = message_of(reply) if one else message_of(message_of(reply)[0])
                        if broker.ask("OPEN", to, *copy) != PLAIN:
                            self.wrong.append(f"{name}: the copy of a message of key {number} does not open")
                        self.relayed[has[0] != number] += 1
        except (Closed, OSError):
            pass

    def read(self, server: Server, kill: int) -> None:
        """What the server has must be what is confirmed, or a part of what was open. From here on it is confirmed."""
        with server.connect() as admin, server.connect("broker") as broker:
            for name in self.has:
                got = broker.ask("GET", name)
                broker.send(b"".join(encoded("OPEN", name, *message) for message in self.messages))
                replies = [broker.reply() for _ in self.messages]
                opened = {number for number, reply in enumerate(replies) if reply == PLAIN}
                assert {code(reply) for reply in replies if reply != PLAIN} <= {"BADTAG", "NOKEY"}
                previous = isinstance(got, bytes) and about(admin, name)["previous"] == 1
                allowed = all_steps(self.has[name], self.open_ones(name))
                right = [
                    (key, before)
                    for key, before in allowed
                    if got == (None if key is None else self.keys[key])
                    and opened == {key, before} - {None}
                    and previous == (before is not None)
                ]
                assert right, f"kill {kill}: {name} has {got!r} and opens {opened}, and not one of {allowed}"
                self.has[name] = right[0]
                self.asked[name].clear()
                self.answered[name] = 0


def versions(server: Server, chance: random.Random, folder: Path) -> Versions:
    """Receivers, whose keys stay, messages by all keys, and statements of an authority that the TA trusts."""
    keys = [chance.randbytes(chance.choice((16, 32))) for _ in range(POOL)]
    messages = []
    with server.connect() as admin, server.connect("broker") as broker:
        for key in keys:
            assert admin.ask("SET", RECEIVER, key) == "OK"
            messages.append(message_of(broker.ask("SEAL", RECEIVER, PLAIN)))
    desk = Desk(folder, server)
    desk.done("authority", "office", "init")
    desk.done("authority", "office", "pair", "--yes")
    statements = []
    (folder / "key").write_bytes(keys[0])
    # GET shows which key there is; an enrolled key is for that only if its statement says so.
    uses = ("--use", "seal,open,from,to,get")
    desk.done("authority", "office", "enrol", ENROLLED_RECEIVER, "--in", "key", *uses)
    for number in (each % POOL for each in range(2 * VERSION_KILLS)):
        (folder / "key").write_bytes(keys[number])
        desk.done("authority", "office", "enrol", ENROLLED, "--in", "key", *uses, "--statement", "statement")
        statements.append((number, (folder / "statement").read_bytes()))
        (folder / "statement").unlink()
    return Versions(keys, messages, statements)


@pytest.mark.parametrize("storage", ["ree", "rpmb"])
def test_kill_while_keys_are_kept_and_messages_relayed(server: Server, storage: str, tmp_path: Path) -> None:
    """Kept, a previous key opens what it sealed; forgotten, it never does again: whenever the server is killed."""
    server.restart("--allow-get", "--storage", storage)
    chance = random.Random(8)
    clients = versions(server, chance, tmp_path)
    for kill in range(10 * VERSION_KILLS):
        # A busy machine gets little done before a kill: on until each kind of request was there.
        if kill >= VERSION_KILLS and all(clients.relayed) and len(clients.statements) < 2 * VERSION_KILLS:
            break
        relays = threading.Thread(target=clients.relay, args=(server, random.Random(kill)))
        relays.start()
        admin = server.connect()
        assert server.process
        timer = threading.Timer(chance.uniform(0.02, 0.15), server.process.send_signal, [signal.SIGKILL])
        timer.start()
        try:
            while True:
                clients.change(admin, chance)
        except (Closed, OSError):
            pass
        timer.join()
        relays.join()
        admin.socket.close()
        server.end(signal.SIGKILL)
        if kill % 2:
            # What secure storage has by itself.
            log_of(server).unlink()
        server.start()
        assert not clients.wrong, f"kill {kill}"
        clients.read(server, kill)
    assert all(clients.relayed)
    assert len(clients.statements) < 2 * VERSION_KILLS
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
    # By the server itself: nobody asks for it.
    end = time.monotonic() + WAIT_SECONDS
    while "latency_tee_flush_us" not in server.info():
        assert time.monotonic() < end
        time.sleep(0.1)
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
