# SPDX-License-Identifier: BSD-2-Clause
"""Web servers of tests: on this machine alone, at a free port, without a log."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from typing import TypeVar

import pytest


class Handler(http.server.BaseHTTPRequestHandler):
    """A request, of which nothing is printed."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class LocalServer(http.server.ThreadingHTTPServer):
    """A server of this machine, by its handler; `asked` are the paths that it was asked for."""

    daemon_threads = True

    def __init__(self, handler: type[Handler]) -> None:
        """Takes a free port."""
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_port}"


_Server = TypeVar("_Server", bound=LocalServer)


@contextlib.contextmanager
def serving(server: _Server) -> Iterator[_Server]:
    """The server while it answers."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has this machine's proxy go unused."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
