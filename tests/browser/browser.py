# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium in a root of its own, without a network, driven from here through the WebDriver protocol."""

import contextlib
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from selenium.webdriver import ChromeOptions, Remote
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection

from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.lent_folders import lent
from worldwise.lab.sandbox.limits import WITHOUT_ADDRESS_LIMIT

# A page that a file cannot be is served from outside, through a socket of this name in the shared folder. Perfetto's
# page lets itself be served at this address.
SITE, ADDRESS = "site", "http://127.0.0.1:9001"
# The driver listens inside, where no one outside reaches it; socat puts its port on a socket in the shared folder.
_INSIDE = f"""
chromedriver --port=9515 --log-path=/pages/chromedriver.log &
socat TCP-LISTEN:{ADDRESS.rpartition(":")[2]},bind=127.0.0.1,fork UNIX-CONNECT:/pages/{SITE} &
exec socat UNIX-LISTEN:/pages/driver,fork TCP:127.0.0.1:9515,nodelay
"""
# Chromium's own addition to the protocol.
_GET_LOG = "getLog"
_CDP = "cdp"
_ARGUMENTS = (
    "--headless=new",
    # The root is the sandbox: no user namespaces in it, no network, no file of the host.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--window-size=1280,720",
)


class Browser:
    """A running Chromium, as `chromium` gives it.

    Attributes:
        driver: selenium's WebDriver.
        process: bubblewrap's, which all of it runs under.
        pages: the folder shared with it.
    """

    def __init__(self, driver: Remote, process: subprocess.Popen[bytes], pages: Path) -> None:
        self.driver = driver
        self.process = process
        self.pages = pages

    def open(self, name: str, text: str) -> None:
        """Show a file of that name (with the ending that says its type) as a user does, through its file: address."""
        (self.pages / name).write_text(text, encoding="utf-8")
        self.driver.get(f"file:///pages/{name}")

    def devtools(self, command: str, **parameters: object) -> None:
        """Give a command of Chromium's developer tools, such as `Emulation.setEmulatedMedia`."""
        self.driver.execute(_CDP, {"cmd": command, "params": parameters})

    def complaints(self) -> list[str]:
        """Errors on the page's console since the last call."""
        entries = self.driver.execute(_GET_LOG, {"type": "browser"})["value"]
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]


class _Relay(socketserver.ThreadingTCPServer):
    """A port of this machine's loopback that leads to the socket `target`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, target: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Pump)
        self.target = str(target)


class _Pump(socketserver.BaseRequestHandler):
    """Copies both ways until either side ends."""

    def handle(self) -> None:
        assert isinstance(self.server, _Relay)
        # Small messages to and fro: waiting to send them together costs 40 ms each time.
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with socket.socket(socket.AF_UNIX) as inside, contextlib.suppress(OSError):
            inside.connect(self.server.target)
            back = threading.Thread(target=_copy, args=(inside, self.request), daemon=True)
            back.start()
            _copy(self.request, inside)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def chromium(lab: Lab) -> Iterator[Browser]:
    """Chromium in `lab`, the root `browser`; when this is left, however, nothing of it is there any more."""
    # A short path: the name of a socket has little room.
    pages = Path(tempfile.mkdtemp(prefix="worldwise-", dir="/tmp"))
    command = lab.command(["sh", "-c", _INSIDE], binds=[(pages, "/pages", "rw")], limits=WITHOUT_ADDRESS_LIMIT)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, pages, ignore_errors=True)
        stack.enter_context(lent([pages]))
        with (pages / "log").open("w") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        # With bubblewrap ends its pid namespace, and so all that runs inside.
        stack.callback(process.wait)
        stack.callback(process.kill)
        relay = stack.enter_context(_Relay(pages / "driver"))
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        stack.callback(relay.shutdown)
        driver = _connect(process, relay.server_address[1], pages)
        stack.callback(driver.quit)
        yield Browser(driver, process, pages)


def _connect(process: subprocess.Popen[bytes], port: int, pages: Path) -> Remote:
    deadline = time.monotonic() + 60
    while not _listens(pages / "driver"):
        said = (pages / "log").read_text(errors="replace")
        assert process.poll() is None, f"the browser's root ended: {said}"
        assert time.monotonic() < deadline, f"chromedriver did not start: {said}"
        time.sleep(0.05)
    options = ChromeOptions()
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # This names the driver that is there, so selenium looks for none to download.
    config = ClientConfig(remote_server_addr=f"http://127.0.0.1:{port}", timeout=60)
    connection = RemoteConnection(client_config=config, ignore_proxy=True)
    connection.add_command(_CDP, "POST", "/session/$sessionId/goog/cdp/execute")  # type: ignore[no-untyped-call]
    connection.add_command(_GET_LOG, "POST", "/session/$sessionId/se/log")  # type: ignore[no-untyped-call]
    driver = Remote(command_executor=connection, options=options)
    driver.set_page_load_timeout(30)
    return driver


def _listens(driver: Path) -> bool:
    """Whether chromedriver answers: socat's socket may be there before it does."""
    with socket.socket(socket.AF_UNIX) as inside, contextlib.suppress(OSError):
        inside.settimeout(5)
        inside.connect(str(driver))
        inside.sendall(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return inside.recv(1 << 10).startswith(b"HTTP/1.1 200")
    return False
