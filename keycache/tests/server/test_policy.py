# SPDX-License-Identifier: BSD-2-Clause
"""What `keycache-sim` promises is what the TA reports."""

import bisect
import itertools
import os
import random

from keycached import Server, encoded

CLIENTS = 1000
KEPT = 100
# Sanitizers look at what is done and not at how often: rates are those without them.
SANITIZED = "KEYCACHE_SANITIZED" in os.environ
REQUESTS = 4000 if SANITIZED else 40000
BATCH = 200
BYTES_EACH = 116
# From `make sim`, the row of zipf-0.99 over 1,000 clients with 10 % kept.
EXPECTED = {"none": 0.0, "lru": 0.567, "smart": 0.650}


def test_hit_rates(server: Server) -> None:
    (server.folder / "acl").write_text("admin admin\nuse broker *\n")
    server.restart("--durability", "relaxed")
    names = [f"client-{number}" for number in range(CLIENTS)]
    with server.connect() as admin:
        for start in range(0, CLIENTS, BATCH):
            admin.send(b"".join(encoded("SET", name, name.encode().ljust(16)) for name in names[start : start + BATCH]))
            assert [admin.reply() for _ in range(BATCH)] == ["OK"] * BATCH
    sums = list(itertools.accumulate((rank + 1) ** -0.99 for rank in range(CLIENTS)))
    chance = random.Random(1)
    wanted = [names[bisect.bisect_left(sums, chance.random() * sums[-1])] for _ in range(REQUESTS)]
    for policy, expected in EXPECTED.items():
        server.restart("--policy", policy, "--bound", str(KEPT * BYTES_EACH))
        with server.connect("broker") as broker:
            for start in range(0, REQUESTS, BATCH):
                broker.send(b"".join(encoded("SEAL", name, "x") for name in wanted[start : start + BATCH]))
                assert all(isinstance(broker.reply(), list) for _ in range(BATCH))
        info = server.info()
        assert SANITIZED or abs(float(info["hit_rate"]) - expected) < 0.01, policy
        assert int(info["hits"]) + int(info["record_opens"]) == REQUESTS
        assert info["slow_reads"] == "0"
        if policy != "none":
            assert int(info["cached"]) == int(info["capacity"]) == KEPT
