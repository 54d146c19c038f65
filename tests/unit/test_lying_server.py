# SPDX-License-Identifier: BSD-2-Clause
"""A mirror or a second source (WORLDWISE_SOURCES) that lies: without end, without haste, about who it is, with bombs.

A server decides what it sends. What the tool keeps is what the lock names, to the bit; what it writes meanwhile is at
most that long, and what it waits is as long as that takes on the slowest line.
"""

import contextlib
import gzip
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_lab import package, quiet

from local_web import Handler, LocalServer
from machines import wait_for
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.debian import mirror_check
from worldwise.lab.debian import mirrors as mirrors_module
from worldwise.lab.debian.lock import Wanted, wanted_package
from worldwise.lab.debian.mirrors import APT_HELPER, MIRROR_VARIABLE
from worldwise.lab.debian.second_sources import CRATES, PACKAGES, SOURCES_VARIABLE
from worldwise.lab.debian.store import Store

CONTENT = b"what was locked " * 100_000


class Liar(LocalServer):
    """A server whose answer is a function of the test's."""

    block_on_close = False

    def __init__(self, answer: Callable[[Handler], None]) -> None:
        class Answering(Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.close_connection = True
                with contextlib.suppress(OSError):
                    answer(self)

            do_HEAD = do_GET

        super().__init__(Answering)


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Handler], None]], Liar]]:
    """Starts servers, which end with the test."""
    started: list[Liar] = []

    def new(answer: Callable[[Handler], None]) -> Liar:
        started.append(Liar(answer))
        threading.Thread(target=started[-1].serve_forever, args=(0.05,), daemon=True).start()
        return started[-1]

    yield new
    for one in started:
        one.shutdown()
        one.server_close()


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, a mirror that has nothing, and one try."""
    if not APT_HELPER.exists():
        pytest.skip("apt is not on this machine")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv(MIRROR_VARIABLE, f"file://{tmp_path}/mirror")
    monkeypatch.setattr(mirrors_module, "apt_options", lambda: ["-o", "Acquire::Retries=0"])


def head(handler: Handler, status: int = 200, **fields: str | int) -> None:
    handler.send_response(status)
    for name, value in fields.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()


def endless(handler: Handler) -> None:
    """More and more, with no size said."""
    head(handler, Connection="close")
    while True:
        handler.wfile.write(b"x" * 65536)


def endless_chunks(handler: Handler) -> None:
    head(handler, Transfer_Encoding="chunked")
    while True:
        handler.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def too_long(handler: Handler) -> None:
    """As many bytes as it says: a thousand times what is locked."""
    head(handler, Content_Length=1000 * len(CONTENT))
    for _ in range(1000):
        handler.wfile.write(b"x" * len(CONTENT))


def wrong(handler: Handler) -> None:
    head(handler, Content_Length=len(CONTENT))
    handler.wfile.write(CONTENT[:-1] + b"!")


def bomb(handler: Handler) -> None:
    """What would be gigabytes for who unpacks it."""
    packed = gzip.compress(bytes(50_000_000))
    head(handler, Content_Encoding="gzip", Content_Type="application/gzip", Content_Length=len(packed))
    handler.wfile.write(packed)


def redirected(target: str) -> Callable[[Handler], None]:
    return lambda handler: head(handler, 302, Location=target, Content_Length=0)


def item() -> Wanted:
    return wanted_package(package("a", CONTENT))


def largest(folder: Path, meanwhile: Callable[[], object]) -> int:
    """Bytes that a folder had at most while something was done."""
    most, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            with contextlib.suppress(OSError):
                most.append(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        meanwhile()
    finally:
        done.set()
        watcher.join()
    return max(most)


@pytest.mark.parametrize("lie", [endless, endless_chunks, too_long, wrong, bomb], ids=lambda lie: lie.__name__)
def test_what_a_source_sends_is_bounded_by_the_lock(
    lie: Callable[[Handler], None],
    tmp_path: Path,
    serve: Callable[[Callable[[Handler], None]], Liar],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If this fails, a server fills the disk, or its bytes are taken for what was locked. A source after it helps."""
    source = serve(lie).address
    monkeypatch.setenv(SOURCES_VARIABLE, source)
    store = Store(tmp_path / "store", "trixie", quiet())

    def ask() -> None:
        with pytest.raises(WorldwiseError):
            store.ensure([item()])

    assert largest(tmp_path / "store", ask) <= len(CONTENT) + 512
    assert [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()] == ["lock"]
    honest = tmp_path / "honest" / PACKAGES / item().file.sha256
    honest.parent.mkdir(parents=True)
    honest.write_bytes(CONTENT)
    monkeypatch.setenv(SOURCES_VARIABLE, f"{source} {tmp_path}/honest")
    store.ensure([item()])
    assert store.path(item().file).read_bytes() == CONTENT


def test_a_mirror_is_bounded_as_a_source_is(
    tmp_path: Path, serve: Callable[[Callable[[Handler], None]], Liar], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, serve(endless_chunks).address)

    def ask() -> None:
        with pytest.raises(WorldwiseError, match=r"is not the file that was locked|could not be fetched"):
            Store(tmp_path / "store", "trixie", quiet()).ensure([item()])

    assert largest(tmp_path / "store", ask) <= len(CONTENT) + 512


def test_a_slow_source_is_left(
    tmp_path: Path, serve: Callable[[Callable[[Handler], None]], Liar], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server that sends a byte now and then is waited for as long as it likes: apt sees no end."""
    left = threading.Event()

    def slow(handler: Handler) -> None:
        head(handler, Content_Length=len(CONTENT))
        try:
            for byte in CONTENT:
                handler.wfile.write(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            left.set()

    monkeypatch.setattr(mirrors_module, "LEAST_PATIENCE", 0.5)
    monkeypatch.setattr(mirrors_module, "SLOWEST", 10**9)
    monkeypatch.setenv(MIRROR_VARIABLE, serve(slow).address)
    with pytest.raises(WorldwiseError, match=r"cannot be reached: timed out: not whole after [01] s"):
        Store(tmp_path / "store", "trixie", quiet()).ensure([item()])
    assert left.wait(20), "apt still fetches"


def test_a_redirect_leads_to_no_file_of_this_machine(
    tmp_path: Path, serve: Callable[[Callable[[Handler], None]], Liar], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a server has the tool read what it names: `file:`, `copy:`. To another server it may lead."""
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    for scheme in ("file:", "copy:", "file://", "ftp://127.0.0.1:9"):
        monkeypatch.setenv(SOURCES_VARIABLE, serve(redirected(f"{scheme}{secret}")).address)
        with pytest.raises(WorldwiseError):
            Store(tmp_path / "store", "trixie", quiet()).ensure([item()])
    itself = serve(lambda handler: redirected(handler.path)(handler))
    monkeypatch.setenv(SOURCES_VARIABLE, itself.address)
    with pytest.raises(WorldwiseError):
        Store(tmp_path / "store", "trixie", quiet()).ensure([item()])

    def right(handler: Handler) -> None:
        head(handler, Content_Length=len(CONTENT))
        handler.wfile.write(CONTENT)

    monkeypatch.setenv(SOURCES_VARIABLE, serve(redirected(serve(right).address + "/x")).address)
    store = Store(tmp_path / "store", "trixie", quiet())
    store.ensure([item()])
    assert store.path(item().file).read_bytes() == CONTENT


def test_a_crate_of_a_source_is_bounded(
    tmp_path: Path, serve: Callable[[Callable[[Handler], None]], Liar], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock says nothing of a crate's size, so the bound is that of all crates."""
    monkeypatch.setattr("worldwise.lab.debian.store.MOST_CRATE", 100_000)
    monkeypatch.setenv(SOURCES_VARIABLE, serve(endless_chunks).address)
    store = Store(tmp_path / "store", "trixie", quiet())
    digest = hashlib.sha256(b"crate").hexdigest()
    assert largest(tmp_path / "store", lambda: store.crate(digest)) <= 100_000 + 512
    assert store.crate(digest) is None
    honest = tmp_path / "honest" / CRATES / digest
    honest.parent.mkdir(parents=True)
    honest.write_bytes(b"crate")
    monkeypatch.setenv(SOURCES_VARIABLE, f"{os.environ[SOURCES_VARIABLE]} {tmp_path}/honest")
    assert store.crate(digest) == store.crate_path(digest)


def test_ctrl_c_ends_a_download(tmp_path: Path, serve: Callable[[Callable[[Handler], None]], Liar]) -> None:
    """If this fails, the tool waits for apt, which no key reaches, or leaves it behind."""
    asked, left = threading.Event(), threading.Event()

    def slow(handler: Handler) -> None:
        head(handler, Content_Length=len(CONTENT))
        asked.set()
        try:
            while True:
                handler.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            left.set()

    program = (
        "import hashlib; from pathlib import Path; from worldwise.lab.debian.lock import *\n"
        "from worldwise.lab.debian.store import Store\n"
        f"it = File(file='a_1_all.deb', size={len(CONTENT)}, sha256='{item().file.sha256}')\n"
        f"Store(Path({str(tmp_path / 'store')!r}), 'trixie').ensure([Wanted('a', 'pool/a', it)])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src"), MIRROR_VARIABLE: serve(slow).address},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) not in (0, None)
        assert left.wait(20), "apt still fetches"
        wait_for(lambda: not list((tmp_path / "store").glob("partial-*")), "the end of what was begun")
    finally:
        process.kill()
        process.wait()


# --- asking, without fetching ---


def continued(handler: Handler) -> None:
    """A header that never ends."""
    while True:
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.01)


def dripping(handler: Handler) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" * 100:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.05)


@pytest.mark.parametrize("lie", [continued, dripping])
def test_a_server_that_never_ends_its_answer_is_left(
    lie: Callable[[Handler], None],
    serve: Callable[[Callable[[Handler], None]], Liar],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If this fails, `lab mirrors` waits as long as a server likes."""
    monkeypatch.setattr(mirror_check, "PATIENCE", 0.3)
    monkeypatch.setattr(mirror_check, "PAUSE", 0.0)
    found = mirror_check.ask(serve(lie).address + "/x", 5)
    assert (found.state, found.words) == ("unanswered", "no answer: not whole after 0.3 s")


@pytest.mark.parametrize("scheme", ["file:///etc/passwd", "ftp://127.0.0.1:9/x", "data:,hello"])
def test_who_is_asked_leads_to_the_web_alone(
    scheme: str, serve: Callable[[Callable[[Handler], None]], Liar], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_check, "PAUSE", 0.0)
    found = mirror_check.ask(serve(redirected(scheme)).address + "/x", 5)
    assert found.state == "unanswered"
    assert "redirect" in found.words or "status 302" in found.words
