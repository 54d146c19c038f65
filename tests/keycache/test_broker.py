# SPDX-License-Identifier: BSD-2-Clause
"""The plugin for the MQTT broker: its own tests, in the broker's root, all of it but the broker under sanitizers."""

import os

import pytest

from machines import fresh_cache
from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.lab.sandbox.limits import WITHOUT_ADDRESS_LIMIT

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

_SANITIZED = (
    "CFLAGS=-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "HARDENING=",
    "LINK_HARDENING=",
)


def test_its_own_tests_pass() -> None:
    """What `make` makes stays in the cache, for the next run to begin with."""
    root, broker = keycache.broker_root(), keycache.mosquitto()
    folder = fresh_cache(root.cache / "again") / "keycache-broker"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    log.unlink(missing_ok=True)
    root.run(
        [
            *("make", "--directory=/keycache", f"--jobs={os.cpu_count()}", "O=/build", "MOSQUITTO=/mosquitto"),
            *("KEYCACHE_SANITIZED=1", *_SANITIZED, "check-broker"),
        ],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (broker, "/mosquitto", "ro"), (folder, "/build", "rw")],
        # Nothing may be written beside the sources.
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"},
        log=log,
        timeout=1500,
        # Sanitizers map far more than they use.
        limits=WITHOUT_ADDRESS_LIMIT,
        debugging=True,
    )
    text = log.read_text(encoding="utf-8")
    assert " passed" in text
    assert " skipped" not in text, "the root has all that they need"
