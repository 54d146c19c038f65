# SPDX-License-Identifier: BSD-2-Clause
"""The echo servers: each is measured by a client in its machine, and by one on the host."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from machines import LOOPBACK, Measured, RunCase, listening
from worldwise.families.echo.host_times import HOST_FILE, STREAM_MESSAGES, read_host_times
from worldwise.lab.image import ImageStore
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import HostProgram
from worldwise.plan.case import Case, parse_case
from worldwise.records.check import check_records
from worldwise.records.models import Outcome
from worldwise.records.parse import read_records
from worldwise.targets.all_targets import EMULATED

SERVERS = ("linux", "call", "socket")


def echo_case(operation: str, server: str, size: str, samples: int = 3) -> Case:
    target = "linux" if server == "linux" else "optee"
    return parse_case(f"{target}/mbedtls-nist-O2/{operation},size={size},server={server}", samples, 1)


def test_a_server_with_a_ta_costs_more_than_one_without(measured: Measured) -> None:
    """Every answer was compared with its message; the processor was never idle, or the records would be refused."""
    medians = {}
    for server in SERVERS:
        case = echo_case("echo", server, "64B")
        samples = measured(case.id).samples
        place = case.measures["stream"][0]
        medians[server] = sorted(sample.count for sample in samples["round-trip", place])[2]
        stream = sorted(sample.count for sample in samples["stream", place])[2]
        assert stream < STREAM_MESSAGES * 1.2 * medians[server]
    assert 20_000 < medians["linux"] < 45_000
    # An invoke costs some 25,000 at least, and the TA's own socket two of its calls to tee-supplicant.
    assert medians["linux"] + 25_000 < medians["call"] < 110_000
    assert medians["call"] + 50_000 < medians["socket"] < 250_000


@pytest.mark.parametrize("server", SERVERS)
def test_the_largest_message_takes_no_pause(server: str, measured: Measured) -> None:
    """If this fails, a part of a message waits for an acknowledgement that Linux puts off by 40 ms."""
    case = echo_case("echo", server, "64KiB")
    for series in measured(case.id).samples.values():
        assert all(sample.count < 40_000_000 for sample in series)


def test_echo_is_the_same_twice(records_of: RunCase, images: ImageStore) -> None:
    case = echo_case("echo", "socket", "1KiB")
    machine = EMULATED[case.target].machine(case, images)
    assert records_of(case, on=machine) == records_of(case, on=machine)


class _Watched:
    """A client on the host, and on which addresses of the host its port is listened on meanwhile."""

    def __init__(self, client: HostProgram) -> None:
        self.client = client
        self.addresses: set[str] = set()
        self._over = threading.Event()

    @contextlib.contextmanager
    def running(self, directory: Path, live: Path) -> Iterator[str]:
        with self.client.running(directory, live) as forward:
            found = re.search(r"127\.0\.0\.1:(\d+)", forward)
            assert found
            watcher = threading.Thread(target=self._watch, args=(int(found[1]),))
            watcher.start()
            try:
                yield forward
            finally:
                self._over.set()
                watcher.join()

    def _watch(self, port: int) -> None:
        while not self._over.wait(0.02):
            self.addresses |= listening(port)


@pytest.mark.parametrize("server", SERVERS)
def test_the_host_measures_over_its_loopback(
    server: str, emulator: Emulator, images: ImageStore, tmp_path: Path
) -> None:
    """If this fails, the user network does not join host and machine, or something listens to others than the host."""
    case = echo_case("echo-host", server, "1KiB")
    machine = EMULATED[case.target].machine(case, images)
    assert machine.beside
    watched = _Watched(machine.beside)
    began = time.monotonic()
    outcome = emulator.run(replace(machine, beside=watched), EMULATED[case.target].program(case), tmp_path)
    assert outcome.status == 0, emulator.diagnosis(tmp_path, machine)
    assert watched.addresses == {LOOPBACK}
    assert any(word.startswith("user,id=host,restrict=on,") for word in outcome.command)
    times = read_host_times(tmp_path / HOST_FILE)
    assert all(len(series) == 3 for series in times.samples.values())
    assert max(max(series) for series in times.samples.values()) < (time.monotonic() - began) * 10**9
    records = read_records(tmp_path / "records.jsonl")
    check_records(records, case)
    messages = case.calls * (1 + STREAM_MESSAGES)
    assert [record.detail for record in records if isinstance(record, Outcome)] == [
        "",
        f"{messages} messages of 1024 bytes",
    ]
