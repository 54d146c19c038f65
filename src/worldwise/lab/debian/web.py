# SPDX-License-Identifier: BSD-2-Clause
"""Fetching from servers that many people share: few connections, and every pause that a server asks for, within bounds.

Mirrors are for many connections, and apt fetches from them. The archive of snapshots and registries of artefacts count
requests, and answer 429 or 503 to who asks too fast, with the seconds to wait.
"""

import email.utils
import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# Connections at a time to one such server.
AT_A_TIME = 2
# How often a file is asked for if the server wants a pause, or breaks off.
_TRIES = 5
# Seconds of a pause that a server asks for without saying how long, doubled each time; of the longest that is waited
# for; and of all pauses together that one server gets.
PAUSE, _LONGEST, ALL = 5.0, 120.0, 300.0
# Seconds without any answer; bytes a second of the slowest line that is waited for; seconds that are waited anyway.
_SILENCE, SLOWEST, LEAST = 30.0, 20_000, 60.0
_PIECE = 1 << 16
# Statuses that ask for a pause.
_BUSY = (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE)


class Redirect(urllib.request.HTTPRedirectHandler):
    """Follows to the web alone, with the same method, and takes no password along to another host."""

    def redirect_request(self, req: urllib.request.Request, *words: Any) -> urllib.request.Request | None:
        followed = super().redirect_request(req, *words)
        if followed and followed.type not in ("http", "https"):
            raise urllib.error.URLError(f"redirected to {followed.type}:")
        if followed:
            followed.method = req.get_method()
            if urlsplit(followed.full_url).netloc != urlsplit(req.full_url).netloc:
                followed.remove_header("Authorization")
        return followed


class _Failed(Exception):
    """A request that brought no file: why, what it may say on a second try, and the answer's headers."""

    def __init__(self, why: str, status: int = 0, headers: Mapping[str, str] | None = None, again: bool = False):
        super().__init__(why)
        self.status, self.again = status, again
        self._headers = {key.lower(): value for key, value in (headers or {}).items()}

    def header(self, name: str) -> str:
        """What the answer says under a name; empty if it does not."""
        return self._headers.get(name.lower(), "")


@dataclass
class Server:
    """One server, for as long as files are fetched from it. Safe for threads, which share its pauses.

    Attributes:
        name: what people call it.
        told: called with a line of text when it wants a pause.
        challenge: what it said of passwords when it last answered 401.
    """

    name: str
    told: Callable[[str], None] = lambda _: None
    challenge: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _until: float = 0.0
    _waited: float = 0.0
    # Why it is not asked any more.
    _left: str = ""
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End all pauses and requests, from another thread."""
        self._stopped.set()

    def fetch(self, address: str, path: Path, most: int, headers: Mapping[str, str] | None = None) -> str:
        """Fetch a file of at most `most` bytes to a path. Returns why that failed; empty if it is there.

        The reason begins with the status if the server answered with one, such as `404`.
        """
        why = ""
        for attempt in range(_TRIES):
            if not self._wait():
                return self._left or why or "ended"
            try:
                self._once(address, path, most, headers or {})
                return ""
            except _Failed as failed:
                path.unlink(missing_ok=True)
                why = str(failed)
                if failed.status == http.client.UNAUTHORIZED:
                    self.challenge = failed.header("WWW-Authenticate")
                if failed.status in _BUSY:
                    if too_long := self._pause(failed.header("Retry-After"), attempt):
                        self._left = f"{why}: {too_long}"
                        return self._left
                elif not failed.again or attempt:
                    return why
        return why

    def _wait(self) -> bool:
        """Wait for the end of the pause that the server asked for; whether to go on."""
        while not self._stopped.is_set() and not self._left:
            with self._lock:
                left = self._until - time.monotonic()
            if left <= 0:
                return True
            self._stopped.wait(left)
        return False

    def _pause(self, said: str, attempt: int) -> str:
        """Note the pause that the server asks for; why it is not waited for, or nothing."""
        seconds = _seconds(said)
        wanted = PAUSE * 2**attempt if seconds is None else max(1.0, seconds)
        if wanted > _LONGEST:
            return f"it asks to wait {wanted:.0f} s, which is too long"
        with self._lock:
            now = time.monotonic()
            more = now + wanted - max(now, self._until)
            if more <= 0:
                return ""
            if self._waited + more > ALL:
                return f"it asked for more than {ALL:.0f} s of pauses in all"
            self._waited += more
            self._until = now + wanted
        self.told(f"{self.name} asks to wait {wanted:.0f} s")
        return ""

    def _once(self, address: str, path: Path, most: int, headers: Mapping[str, str]) -> None:
        """One request. Raises _Failed; a server that sends a byte now and then is left in time."""
        patience = LEAST + most / SLOWEST
        ended: list[_Failed | None] = []
        left = threading.Event()

        def ask() -> None:
            try:
                _receive(address, path, most, headers, left)
                ended.append(None)
            except _Failed as failed:
                ended.append(failed)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        end = time.monotonic() + patience
        while thread.is_alive() and time.monotonic() < end and not self._stopped.is_set():
            thread.join(0.2)
        left.set()
        if not ended:
            raise _Failed(f"timed out: not whole after {patience:.0f} s")
        if ended[0]:
            raise ended[0]


def _receive(address: str, path: Path, most: int, headers: Mapping[str, str], left: threading.Event) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "worldwise", **headers})
    try:
        # Made anew each time: proxies and authorities are those of the environment.
        with urllib.request.build_opener(Redirect).open(request, timeout=_SILENCE) as answer, path.open("wb") as file:
            length, done = answer.headers.get("Content-Length", ""), 0
            if length.isdecimal() and int(length) > most:
                raise _Failed(f"it has {int(length):,} bytes, not {most:,}")
            while (piece := answer.read1(_PIECE)) and not left.is_set():
                done += len(piece)
                if done > most:
                    raise _Failed(f"it has more than {most:,} bytes")
                file.write(piece)
            if length.isdecimal() and done < int(length):
                raise _Failed(f"connection broke off after {done:,} bytes", again=True)
    except urllib.error.HTTPError as error:
        error.close()
        raise _Failed(f"{error.code}  {error.reason}", error.code, dict(error.headers.items())) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise _Failed(f"no answer (connection): {reason}", again=True) from None


def _seconds(said: str) -> float | None:
    """The seconds of a Retry-After, which is a number or a date; None if it is neither."""
    if said.strip().isdecimal():
        return float(said)
    try:
        return email.utils.parsedate_to_datetime(said).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
