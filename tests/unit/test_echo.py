# SPDX-License-Identifier: BSD-2-Clause
"""The echo servers without a machine: cases, the host's client, its file, the tables."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from board_reading import board_reading, board_row
from readings import cells
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import size_text
from worldwise.families.echo import client as echo_host
from worldwise.families.echo.client import EchoClient
from worldwise.families.echo.host_times import HOST_FILE, STREAM_MESSAGES, read_host_times
from worldwise.families.echo.readings import Host, HostTime
from worldwise.families.echo.tables import echo_sections
from worldwise.plan.case import Case, parse_case
from worldwise.read.models import Reading, Row
from worldwise.run.results import ResultStore

READY = '{"type":"outcome","what":"server for the host","result":"ready","detail":""}\n'
SERVERS = {"linux": 30_000, "call": 75_000, "socket": 180_000}


def host_case(server: str = "call", size: str = "64B", samples: int = 3) -> Case:
    target = "linux" if server == "linux" else "optee"
    return parse_case(f"{target}/mbedtls-nist-O2/echo-host,size={size},server={server}", samples, 1)


# --- cases ---


@pytest.mark.parametrize("operation", ["echo", "echo-host"])
def test_which_server_is_on_which_target(operation: str) -> None:
    for target, server in (("linux", "call"), ("linux", "socket"), ("optee", "linux")):
        with pytest.raises(WorldwiseError, match="target 'linux' has server=linux"):
            parse_case(f"{target}/mbedtls-nist-O2/{operation},size=1B,server={server}")
    for size in ("0B", "65537B"):
        with pytest.raises(WorldwiseError, match="Allowed: 1B to 64KiB"):
            parse_case(f"optee/mbedtls-nist-O2/{operation},size={size},server=call")
    with pytest.raises(WorldwiseError, match="needs a server"):
        parse_case(f"optee/mbedtls-nist-O2/{operation},size=1B")


def test_guest_and_host_agree() -> None:
    """If this fails, the machine's programs and the host's client speak of other streams, ports or sizes."""
    folder = paths.GUEST / "apps" / "echo"
    header = (folder / "net.h").read_text(encoding="utf-8")
    assert f"#define NET_STREAM_MESSAGES {STREAM_MESSAGES}\n" in header
    assert f"#define NET_PORT {echo_host.PORT}\n" in header
    assert f'"{echo_host.HOST}"' in (folder / "ta" / "echo_ta.c").read_text(encoding="utf-8")
    net = (folder / "net.c").read_text(encoding="utf-8")
    assert f'"{echo_host.CARD}"' in net
    assert 'outcome("ready", "")' in net


# --- the client on the host ---


def echo(connection: socket.socket, change: Callable[[bytes], bytes] = lambda data: data) -> None:
    """A machine's server."""
    with connection:
        while data := connection.recv(4096):
            connection.sendall(change(data))


@contextmanager
def machine(forward: str, directory: Path, serve: Callable[[socket.socket], None] = echo) -> Iterator[None]:
    """What QEMU and the machine in it do with a forwarding."""
    found = re.fullmatch(r"(hostfwd|guestfwd)=tcp:(\S+?)(?:-tcp:127\.0\.0\.1:(\d+)|-\S+)", forward)
    assert found

    def run() -> None:
        if found[1] == "guestfwd":
            connection = socket.create_connection(("127.0.0.1", int(found[3])))
            (directory / "records.jsonl").write_text(READY, encoding="ascii")
        else:
            address, port = found[2].split(":")
            assert address == "127.0.0.1"
            with socket.create_server((address, int(port))) as listener:
                (directory / "records.jsonl").write_text(READY, encoding="ascii")
                listener.settimeout(10)
                connection = listener.accept()[0]
        serve(connection)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def tidy() -> Iterator[None]:
    """The test leaves no thread behind. Other tests of the same process may have left some: dask keeps its own."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize("server", SERVERS)
def test_the_client_measures(server: str, tmp_path: Path) -> None:
    case = host_case(server, "1KiB")
    with EchoClient(case).running(tmp_path, tmp_path) as forward, machine(forward, tmp_path):
        pass
    times = read_host_times(tmp_path / HOST_FILE)
    assert (times.start.size, times.start.samples, times.start.case) == (1024, 3, case.id)
    assert {measure: len(series) for measure, series in times.samples.items()} == {"round-trip": 3, "stream": 3}


def test_a_wrong_answer_is_told(tmp_path: Path) -> None:
    def wrong(connection: socket.socket) -> None:
        echo(connection, lambda data: data[:-1] + bytes([data[-1] ^ 1]))

    client = EchoClient(host_case())
    with (
        pytest.raises(WorldwiseError, match="round-trip 0: the answer differs from the message sent"),
        client.running(tmp_path, tmp_path) as forward,
        machine(forward, tmp_path, wrong),
    ):
        pass


def test_a_server_that_ends_is_told(tmp_path: Path) -> None:
    client = EchoClient(host_case("socket"))
    with (
        pytest.raises(WorldwiseError, match="the client on the host: "),
        client.running(tmp_path, tmp_path) as forward,
        machine(forward, tmp_path, lambda connection: connection.close()),
    ):
        pass


@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize("server", SERVERS)
def test_a_machine_that_never_serves_leaves_nothing_behind(server: str, tmp_path: Path) -> None:
    with (
        pytest.raises(WorldwiseError, match="the machine ended before all was measured"),
        EchoClient(host_case(server)).running(tmp_path, tmp_path),
    ):
        pass


def test_the_machine_s_own_error_comes_first(tmp_path: Path) -> None:
    """If this fails, a machine that panicked is told as a client that found no server."""
    with pytest.raises(ValueError, match="the machine's"), EchoClient(host_case()).running(tmp_path, tmp_path):
        raise ValueError("the machine's")


# --- its file ---


def write_times(path: Path, case: Case, drop: int | None = None) -> Path:
    with EchoClient(case).running(path.parent, path.parent) as forward, machine(forward, path.parent):
        pass
    lines = path.read_bytes().splitlines(keepends=True)
    if drop is not None:
        del lines[drop]
        path.write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize(
    ("drop", "problem"),
    [
        (0, "from 'start' to 'end'"),
        (-1, "from 'start' to 'end'"),
        (1, ":2: stream 0|round-trip 0 was due"),
        (-2, "samples"),
    ],
)
def test_a_file_with_a_gap_is_refused(tmp_path: Path, drop: int, problem: str) -> None:
    path = write_times(tmp_path / HOST_FILE, host_case("linux"), drop)
    with pytest.raises(WorldwiseError, match=problem):
        read_host_times(path)


def test_a_file_that_is_not_there_or_no_record_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match="cannot be read"):
        read_host_times(tmp_path / HOST_FILE)
    (tmp_path / HOST_FILE).write_text(json.dumps({"type": "sample"}) + "\n", encoding="ascii")
    with pytest.raises(WorldwiseError, match=f"{HOST_FILE}:1: "):
        read_host_times(tmp_path / HOST_FILE)


# --- tables ---


def echo_row(server: str, size: int, measure: str, median: float) -> Row:
    target = "linux" if server == "linux" else "optee"
    parameters = f"size={size_text(size)},server={server}"
    return board_row("nucleo-f446re", "mbedtls-nist", "sign", median=median).model_copy(
        update={
            "board": "",
            "target": target,
            "case": f"{target}/mbedtls-nist-O2/echo,{parameters}",
            "variant": "mbedtls-nist-O2",
            "operation": "echo",
            "parameters": parameters,
            "size": size,
            "measure": measure,
            "place": "linux" if server == "linux" else "client",
        }
    )


def host_time(server: str, size: int, measure: str, median: float) -> HostTime:
    messages = STREAM_MESSAGES if measure == "stream" else 1
    return HostTime(
        case="c",
        target="optee",
        variant="mbedtls-nist-O2",
        parameters=f"size={size_text(size)},server={server}",
        size=size,
        measure=measure,
        messages=messages,
        n=20,
        median=median,
        min=median / 2,
        max=median * 2,
        load=0.5,
    )


@pytest.fixture
def echoes() -> Reading:
    rows = []
    host = []
    # Out of order: tables put sizes and servers in theirs.
    for size in (1024, 1):
        for server, cost in reversed(SERVERS.items()):
            rows.append(echo_row(server, size, "round-trip", cost + size))
            rows.append(echo_row(server, size, "stream", STREAM_MESSAGES * (cost - 10_000)))
            host.append(host_time(server, size, "round-trip", cost / 100))
            host.append(host_time(server, size, "stream", 1024 * STREAM_MESSAGES))
    changed: Reading = board_reading().model_copy(update={"rows": tuple(rows)})
    return changed.with_part(Host(host=tuple(host)))


def test_what_a_run_without_echo_shows() -> None:
    assert echo_sections(board_reading()) == []


def test_the_tables(echoes: Reading) -> None:
    trips, streams, host = echo_sections(echoes)
    assert cells(trips) == [
        ["1B", "30,001", "75,001", "180,001", "2.50", "6.00"],
        ["1KiB", "31,024", "76,024", "181,024", "2.45", "5.83"],
    ]
    assert cells(streams)[1] == ["1KiB", "20,000", "65,000", "170,000", "19.53", "63.48", "166.02", "3.25", "8.50"]
    assert cells(host)[1] == ["1KiB", "300", "150", "750", "375", "1,800", "900", *["1,000.0"] * 3]
    assert "TA called costs 45,000 instructions more than Linux for a message of 1B." in trips.notes
    assert "HOST TIME" in host.title
    assert any("can connect and not listen" in note for note in trips.notes)


def test_a_pause_is_told(echoes: Reading) -> None:
    host = [
        times.model_copy(update={"min": 41_000.0}) if "1KiB,server=socket" in times.parameters else times
        for times in echoes.part(Host).host
    ]
    part = echo_sections(echoes.with_part(Host(host=tuple(host))))[2]
    assert any("at 1KiB takes more than 40 ms" in note for note in part.notes)
    assert not any("40 ms" in note for note in echo_sections(echoes)[2].notes)


def test_a_server_that_was_not_measured_has_no_column(echoes: Reading) -> None:
    rows = tuple(row for row in echoes.rows if "server=call" in row.parameters)
    part, _ = echo_sections(echoes.model_copy(update={"rows": rows, "parts": ()}))
    assert cells(part)[0] == ["1B", "75,001", "-"]
    assert not any("TEE Sockets can connect" in note for note in part.notes)


def test_full_has_the_spread(echoes: Reading) -> None:
    part = echo_sections(echoes, full=True)[0]
    assert part.table
    assert part.table.headers[6:9] == ["Linux: first", "min", "max"]
    assert cells(part)[0][6] == "30,001"


# --- the cache ---


@pytest.mark.parametrize("names", [(), (HOST_FILE,)])
def test_the_cache_keeps_the_host_s_times(names: tuple[str, ...], tmp_path: Path) -> None:
    """If this fails, a result that is used again has lost what the host measured."""
    measured, copied = tmp_path / "measured", tmp_path / "copied"
    measured.mkdir()
    copied.mkdir()
    for name in ("records.jsonl", "console.log", "secure.log", "qemu.log", *names):
        (measured / name).write_text(name, encoding="ascii")
    store = ResultStore(tmp_path)
    store.put("a" * 64, measured, "run", 1.0, ())
    result = store.get("a" * 64)
    assert result
    result.copy_to(copied)
    assert {path.name: path.read_text() for path in copied.iterdir()} == {
        path.name: path.read_text() for path in measured.iterdir()
    }
