# SPDX-License-Identifier: BSD-2-Clause
"""What was in a request is not in the server's memory any more when its connection is closed."""

import os
from pathlib import Path

import pytest
from keycached import ALICE, BOB, BUILD, Refused, Remote, Server, encoded

TRIES = 20
# The second half of every secret: one search finds them all, also those whose beginning an allocator has overwritten.
END = os.urandom(16)
SANITIZED = "KEYCACHE_SANITIZED" in os.environ


def memory_of(server: Server) -> bytes:
    assert server.process
    found = []
    with (
        Path(f"/proc/{server.process.pid}/maps").open() as maps,
        Path(f"/proc/{server.process.pid}/mem").open("rb", buffering=0) as memory,
    ):
        for line in maps:
            place, rights = line.split()[:2]
            begin, end = (int(number, 16) for number in place.split("-"))
            # Sanitizers map terabytes for themselves, of which nothing is a copy.
            if not rights.startswith("rw") or end - begin > 1 << 30:
                continue
            memory.seek(begin)
            try:
                while begin < end and (piece := memory.read(min(end - begin, 1 << 20))):
                    found.append(piece)
                    begin += len(piece)
            except OSError:
                continue
    return b"".join(found)


@pytest.fixture
def readable(server: Server) -> Server:
    """The server, started so that another process may read its memory."""
    if isinstance(server, Remote):
        pytest.skip("the memory is elsewhere")
    server.environment = {} if SANITIZED else {"LD_PRELOAD": str(BUILD / "dumpable.so")}
    return server.restart("--allow-get")


@pytest.mark.parametrize("before", [0, 700, 3000, 40000])
def test_refused_keys_are_not_kept(readable: Server, before: int) -> None:
    """Alone, and behind so much else that buffers grow and move."""
    keys = [os.urandom(16) + END for _ in range(TRIES)]
    with readable.connect("bob") as bob:
        assert bob.ask("GET", "bob") == BOB
        for key in keys:
            with readable.connect("mallory") as mallory:
                mallory.send(encoded("PING", bytes(before)) + encoded("SET", "carol", key) + encoded("PING"))
                assert mallory.reply() == bytes(before)
                assert isinstance(mallory.reply(), Refused)
                assert mallory.reply() == "PONG"
        readable.wait_for("connected_clients", "2")
        held = memory_of(readable)
        # What it does see: a line of the access list.
        assert b"alice\0bob\0" in held
        assert END not in held


def test_what_is_answered_is_not_kept(readable: Server) -> None:
    """Nor is it while the connection stays open: keys of requests, plaintexts of requests and replies."""
    texts = [os.urandom(16) + END + os.urandom(8) for _ in range(TRIES)]
    with readable.connect("alice") as alice, readable.connect("mallory") as mallory:
        for text in texts:
            message = alice.ask("SEAL", "alice", text)
            assert isinstance(message, list)
            assert alice.ask("OPEN", "alice", *message) == text
            assert isinstance(mallory.ask("SET", "carol", text[:32]), Refused)
        assert alice.ask("GET", "alice") == ALICE
        held = memory_of(readable)
        assert END not in held
