# SPDX-License-Identifier: BSD-2-Clause
"""Figures for Prometheus: true, in its format, and not to be had from elsewhere nor to be abused."""

import hashlib
import re
import socket
import subprocess
import time
from pathlib import Path

import prometheus
import pytest
from keycached import ALICE, BOB, NAMES, Lasting, Server, encoded

WAIT_SECONDS = 30.0
KEYCACHE_ID_BYTES = 64
KEYCACHE_KEY_BYTES = 32
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"


@pytest.fixture
def port(server: Server) -> int:
    server.restart("--allow-get", "--metrics", "0")
    return port_of(server)


@pytest.fixture(scope="module")
def lasting_port(lasting: Lasting) -> int:
    return port_of(lasting("--allow-get", "--metrics", "0"))


def port_of(server: Server) -> int:
    assert server.process and server.process.stdout
    return int(re.fullmatch(r"keycached: metrics at 127\.0\.0\.1 port (\d+)\n", server.process.stdout.readline())[1])  # type: ignore[index]


def exchange(port: int, request: bytes, more: bytes = b"") -> tuple[str, dict[str, str], str]:
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as one:
        one.sendall(request)
        got = b""
        while block := one.recv(65536):
            if not got and more:
                one.sendall(more)
            got += block
    head, _, body = got.decode().partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    assert int(fields["content-length"]) == len(body)
    return status, fields, body


def scrape(port: int) -> dict[str, prometheus.Family]:
    status, fields, body = exchange(port, GET)
    assert status == "HTTP/1.1 200 OK"
    assert fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return prometheus.parse(body)


def test_the_parser_is_strict() -> None:
    good = "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n"
    assert prometheus.parse(good)["a_total"].value() == 1
    for wrong in (
        good[:-1],
        good.replace("a_total", "a"),
        good.replace("a_total 1", "b_total 1"),
        good.replace(" 1", " one"),
        good + "a_total 2\n",
        good + good,
        good.replace("a_total 1", 'a_total{x="\\q"} 1'),
        good.replace("a_total 1", 'a_total{x="1",x="2"} 1'),
        good.replace("# HELP a_total A.\n", ""),
        "a_total 1\n",
    ):
        with pytest.raises((AssertionError, KeyError)):
            prometheus.parse(wrong)


def test_what_info_has(server: Server, port: int) -> None:
    """One source for both: each number of INFO is a metric, and each metric without labels but a few is in INFO."""
    with server.connect("alice") as alice:
        message = alice.ask("SEAL", "alice", "x")
        assert isinstance(message, list)
        for _ in range(5):
            assert alice.ask("OPEN", "alice", *message) == b"x"
        assert alice.ask("SEAL", "carol", "x") == "NOKEY no such key"
    info = server.info()
    metrics = scrape(port)
    for name, metric in (
        ("hits", "tee_hits_total"),
        ("record_opens", "tee_record_opens_total"),
        ("denied", "denied_total"),
        ("keys", "keys"),
        ("keys_wearing", "keys_wearing"),
        ("keys_worn", "keys_worn"),
        ("keys_enrolled", "keys_enrolled"),
        ("keys_previous", "keys_previous"),
        ("expired_keys", "keys_expired_total"),
        ("shadow_records", "shadow_records"),
        ("total_connections_received", "connections_received_total"),
        ("capacity", "tee_cache_capacity_keys"),
        ("bound_bytes", "tee_cache_bound_bytes"),
        ("audit_lines", "audit_lines_total"),
    ):
        assert metrics[f"keycache_{metric}"].value() == int(info[name]), name
    assert int(info["denied"]) == 1 and int(info["hits"]) >= 5
    numbers = [name for name, value in info.items() if value.isdigit()]
    words_of_info = {"process_id", "allow_get"}
    plain = [one for one in metrics.values() if one.kind != "histogram" and next(iter(one.samples))[1] == ()]
    own = {"keycache_start_time_seconds", "keycache_tee_up"}
    assert len(numbers) - len(words_of_info & set(numbers)) == len(plain) - len(own & set(metrics))


def test_build_and_start(server: Server, port: int) -> None:
    metrics = scrape(port)
    with server.connect("alice") as alice:
        told = alice.ask("INFO")
    assert isinstance(told, bytes)
    info = dict(line.split(":", 1) for line in told.decode().splitlines() if ":" in line)
    assert metrics["keycache_build_info"].value(version=info["keycache_version"], tee=info["tee"]) == 1
    assert abs(metrics["keycache_start_time_seconds"].value() - time.time()) < 60
    assert metrics["keycache_tee_up"].value() == 1


def test_how_long_requests_take(server: Server, port: int) -> None:
    """One in the histogram for each request, unknown ones too, and one for each call of the TA."""
    with server.connect("alice") as alice, server.connect("admin") as admin:
        for _ in range(7):
            assert isinstance(alice.ask("SEAL", "alice", "x"), list)
        alice.send(encoded("PING") * 2000)
        assert [alice.reply() for _ in range(2000)] == ["PONG"] * 2000
        assert str(alice.ask("WHAT")).startswith("ERR unknown command")
        assert admin.ask("DEL", *[f"client-{number}" for number in range(100)]) == 0
    metrics = scrape(port)
    requests = metrics["keycache_command_duration_seconds"]
    count = "keycache_command_duration_seconds_count"
    for name, number in (("SEAL", 7), ("PING", 2000), ("unknown", 1), ("DEL", 1), ("GET", 0)):
        assert requests.samples[count, (("command", name),)] == number
    assert sum(value for (name, _), value in requests.samples.items() if name == count) == (
        metrics["keycache_commands_total"].value()
    )
    calls = metrics["keycache_tee_call_duration_seconds"]
    count = "keycache_tee_call_duration_seconds_count"
    assert calls.samples[count, (("command", "seal"),)] == 7
    assert calls.samples[count, (("command", "delete"),)] == 100
    assert sum(value for (name, _), value in calls.samples.items() if name == count) == (
        metrics["keycache_tee_calls_total"].value()
    )
    info = server.info()
    got = dict(part.split("=") for part in info["latency_ping_us"].split(","))
    assert got["count"] == "2000" and int(got["p50"]) <= int(got["p99"]) <= int(got["p99.9"])
    assert info["latency_tee_seal_us"].startswith("count=7,") and "latency_get_us" not in info


def test_more_requests_in_a_turn_than_are_known_by_their_time(server: Server, port: int) -> None:
    """While the TA keeps everyone waiting, 40 connections send what is answered in one turn then. Each counts."""
    clients = [server.connect("alice") for _ in range(40)]
    with server.connect("bob") as bob:
        (server.folder / "tee.slow").touch()
        bob.send(encoded("EXISTS", "bob"))
        while (server.folder / "tee.slow").exists():
            time.sleep(0.01)
        for one in clients:
            one.send(encoded("PING") * 64)
        assert bob.reply() == 1
    for one in clients:
        assert [one.reply() for _ in range(64)] == ["PONG"] * 64
        one.socket.close()
    samples = scrape(port)["keycache_command_duration_seconds"].samples
    assert samples["keycache_command_duration_seconds_count", (("command", "PING"),)] == 40 * 64


def test_a_slow_call_is_seen(server: Server) -> None:
    """Half a second that the TA takes is in the right step of both histograms."""
    server.restart("--allow-get", "--metrics", "0", "--tee-timeout", "20")
    port = port_of(server)
    (server.folder / "tee.slow").touch()
    with server.connect("alice") as alice:
        assert alice.ask("EXISTS", "alice") == 1
    metrics = scrape(port)
    for name, command in (("command", "EXISTS"), ("tee_call", "exists")):
        samples = metrics[f"keycache_{name}_duration_seconds"].samples
        own = [(dict(labels), value) for (_, labels), value in samples.items()]
        steps = {one["le"]: value for one, value in own if one["command"] == command and "le" in one}
        assert steps["0.500000"] == 0 and steps["+Inf"] == 1
        assert samples[f"keycache_{name}_duration_seconds_sum", (("command", command),)] >= 0.5
    info = server.info()
    for name in ("latency_exists_us", "latency_tee_exists_us"):
        assert int(dict(part.split("=") for part in info[name].split(","))["p50"]) > 500_000


def test_keys_that_wear(server: Server, port: int) -> None:
    """Three quarters of what a key may seal, written into secure storage: INFO warns, and the figures say so."""
    assert "warning" not in server.info()
    assert server.end()[0] == 0
    for name, counted in (("alice", 2850), ("bob", 2849)):
        (bucket,) = (one for one in server.folder.glob("tee/**/*") if one.is_file() and slot_of(name, one))
        data = bytearray(bucket.read_bytes()[:-32])
        at = slot_of(name, bucket) + KEYCACHE_ID_BYTES + KEYCACHE_KEY_BYTES
        data[at : at + 4] = counted.to_bytes(4, "little")
        bucket.write_bytes(data + hashlib.sha256(data).digest())
    server.start()
    port = port_of(server)
    info = server.info()
    assert (info["keys_wearing"], info["keys_worn"], info["keys"]) == ("1", "0", "3")
    assert info["warning"].startswith("1 keys have sealed three quarters of what they may, 0 of them are worn out")
    assert scrape(port)["keycache_keys_wearing"].value() == 1
    with server.connect() as admin:
        assert admin.ask("SET", "alice", BOB) == "OK"
    assert "warning" not in server.info()


def slot_of(name: str, bucket: Path) -> int:
    """Where a client's id stands in a bucket of the shim's storage: 0 is nowhere."""
    return max(bucket.read_bytes().find(name.encode().ljust(KEYCACHE_ID_BYTES, b"\0")), 0)


def test_no_names(server: Server, port: int) -> None:
    with server.connect("admin") as admin:
        assert admin.ask("SET", "client-1", BOB) == "OK"
        for name in NAMES:
            admin.ask("EXISTS", name)
    body = exchange(port, GET)[2]
    for name in ("client-1", *NAMES):
        assert name not in body.replace("keycache", "")


def test_the_ta_is_away(server: Server, port: int) -> None:
    """The figures of the server are there, those of the TA are not."""
    server.panic()
    metrics = scrape(port)
    assert metrics["keycache_tee_up"].value() == 0
    assert "keycache_tee_hits_total" not in metrics and "keycache_commands_total" in metrics
    metrics = scrape(port)
    assert metrics["keycache_tee_up"].value() == 1
    assert metrics["keycache_tee_restarts_total"].value() == 1


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics HTTP/1.0\r\n\r\n", "200 OK"),
        (b"GET /metrics?name=x HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /metricsx HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /metric HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /other HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405 Method Not Allowed"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"get /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"GETS /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"GET metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics HTTP/2\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1 x\r\n\r\n", "400 Bad Request"),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b" /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nX: \0\r\n\r\n", "400 Bad Request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10000, "400 Bad Request"),
        (b"*1\r\n$4\r\nINFO\r\n\r\n", "400 Bad Request"),
    ],
    ids=lambda one: repr(one[:40]) if isinstance(one, bytes) else "",
)
def test_anything_else(lasting: Lasting, lasting_port: int, request_: bytes, status: str) -> None:
    got, fields, body = exchange(lasting_port, request_)
    assert got == f"HTTP/1.1 {status}"
    assert bool(body) == (status == "200 OK")
    assert fields["connection"] == "close"
    if status.startswith("405"):
        assert fields["allow"] == "GET"
    with lasting("--allow-get", "--metrics", "0").connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE


def test_in_pieces(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as one:
        for at in range(len(GET)):
            one.sendall(GET[at : at + 1])
            time.sleep(0.001)
        assert one.recv(15) == b"HTTP/1.1 200 OK"


def test_what_comes_behind_is_ignored(port: int) -> None:
    """A second request gets no second answer, and does not cost the first one its own."""
    got = exchange(port, GET + GET, b"x" * 100000)
    assert got[0] == "HTTP/1.1 200 OK"


def test_silent_ones_hold_up_nobody_for_long(server: Server, port: int) -> None:
    """More than it takes at a time, silent or cut off: the next one waits some seconds, others' requests not at all."""
    silent = [socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) for _ in range(22)]
    silent[0].sendall(GET[:20])
    with server.connect("alice") as alice:
        assert alice.ask("GET", "alice") == ALICE
    for one in silent[12:]:
        one.close()
    scrape(port)
    assert silent[0].recv(1) == b""
    for one in silent[:12]:
        one.close()
    scrape(port)


def test_who_does_not_read(server: Server, port: int) -> None:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        one.connect(("127.0.0.1", port))
        one.sendall(GET)
        time.sleep(0.2)
        scrape(port)
        assert server.end()[0] == 0
    server.start()


def test_this_machine_alone(port: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), 5)
    scrape(port)


def test_a_port_that_is_taken(server: Server) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        assert server.end()[0] == 0
        with pytest.raises(AssertionError, match=f"--metrics {number}: address already in use"):
            server.start("--metrics", str(number))
        assert server.process
        assert server.process.wait(WAIT_SECONDS) == 1
    server.end()
    server.start("--allow-get")


def test_an_option_that_is_none(server: Server) -> None:
    got = subprocess.run(server.command("--metrics", "65536"), capture_output=True, text=True, check=False)
    assert got.returncode == 2 and "--metrics 65536: expected a number from 0 to 65535" in got.stderr
