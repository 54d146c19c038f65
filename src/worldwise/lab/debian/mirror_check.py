# SPDX-License-Identifier: BSD-2-Clause
"""Asking mirrors and second sources whether they have the files of a lock, without downloading any."""

import errno
import http.client
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

from worldwise.lab.debian.lock import Wanted
from worldwise.lab.debian.second_sources import PACKAGES
from worldwise.lab.debian.sources import listing
from worldwise.lab.debian.web import Redirect
from worldwise.lab.host.network import without_password

# Requests at a time: a mirror serves many others.
AT_A_TIME = 6
# Files after which progress is reported.
_TOLD = 60
# Seconds for one whole answer, and before a request that got none is made again.
PATIENCE, PAUSE = 20, 2.0

State = Literal["there", "vanished", "changed", "unanswered"]


@dataclass(frozen=True)
class MirrorAnswer:
    """What a source says of a file: whether it is there, and in words what else it says."""

    state: State
    words: str = ""


@dataclass(frozen=True)
class Lost:
    """A file that no mirror was seen to have.

    Attributes:
        item: the file.
        answers: the mirrors' answers, by address.
        second: the first second source that has it; empty if none has.
    """

    item: Wanted
    answers: dict[str, MirrorAnswer]
    second: str = ""

    @property
    def vanished(self) -> bool:
        """Whether a mirror says so; else none could be asked."""
        return any(answer.state != "unanswered" for answer in self.answers.values())

    def describe(self) -> str:
        """In one line: the file, what each mirror says, and which second source has it."""
        said = ", ".join(f"{without_password(place)} ({answer.words})" for place, answer in self.answers.items())
        kept = f"; {without_password(self.second)} has it" if self.second else ""
        return f"{self.item.label}: {self.item.file.file}: not on {said}{kept}"


def lost_files(
    wanted: Sequence[Wanted], mirrors: Iterable[str], seconds: Sequence[str], told: Callable[[int], None]
) -> list[Lost]:
    """Ask for each file, no two the same, until a mirror has it, then the second sources for what none has.

    `told` is called with the number of files that are still to be found.
    """
    left = list(wanted)
    answers: dict[str, dict[str, MirrorAnswer]] = {item.file.sha256: {} for item in left}
    for mirror in mirrors:
        left = _left(left, mirror, lambda item: item.path, answers, told)
        if not left:
            return []
    found: dict[str, str] = {}
    sought = left
    for source in seconds:
        after = _left_of_second(sought, source, told)
        found |= {item.file.sha256: source for item in sought if item not in after}
        sought = after
    return [Lost(item, answers[item.file.sha256], found.get(item.file.sha256, "")) for item in left]


def _left_of_second(wanted: list[Wanted], source: str, told: Callable[[int], None]) -> list[Wanted]:
    listed = listing(source)
    if listed is None:
        return _left(wanted, source, lambda item: f"{PACKAGES}/{item.file.sha256}", {}, told)
    return [item for item in wanted if item.file.sha256 not in listed]


def _left(
    wanted: list[Wanted],
    source: str,
    place: Callable[[Wanted], str],
    answers: dict[str, dict[str, MirrorAnswer]],
    told: Callable[[int], None],
) -> list[Wanted]:
    """The files that a source lacks. A source that has none of the first few is not asked for the others."""
    addresses = [f"{source}/{quote(place(item), safe='/+~:%')}" for item in wanted]
    sizes = [item.file.size for item in wanted]
    found: list[MirrorAnswer] = []
    left = []
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found += pool.map(ask, addresses[:AT_A_TIME], sizes)
        if all(answer.state == "unanswered" for answer in found):
            found += found[:1] * (len(wanted) - len(found))
        for number, item in enumerate(wanted):
            if number == len(found):
                found += pool.map(ask, addresses[number : number + _TOLD], sizes[number:])
            if found[number].state != "there":
                left.append(item)
                answers.setdefault(item.file.sha256, {})[source] = found[number]
            told(len(wanted) - number - 1 + len(left))
    return left


def ask(address: str, size: int) -> MirrorAnswer:
    """Whether an address has a file of so many bytes: a HEAD request, by the environment's proxies and authorities.

    What gets no answer, or one that says nothing of the file, is asked once more.
    """
    if match := re.match(r"(?:file|copy):(?://)?(/.*)", address):
        return _in_folder(Path(unquote(match[1])), size)
    answer = _in_time(address, size)
    if answer.state == "unanswered":
        time.sleep(PAUSE)
        answer = _in_time(address, size)
    return answer


def _in_time(address: str, size: int) -> MirrorAnswer:
    """What an address answers; a server that sends a byte now and then is left after PATIENCE too."""
    answers: list[MirrorAnswer] = []
    thread = threading.Thread(target=lambda: answers.append(_head(address, size)), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return answers[0] if answers else MirrorAnswer("unanswered", f"no answer: not whole after {PATIENCE} s")


def _head(address: str, size: int) -> MirrorAnswer:
    request = urllib.request.Request(address, method="HEAD", headers={"User-Agent": "worldwise"})
    try:
        # Made anew each time: proxies and authorities are those of the environment.
        with urllib.request.build_opener(Redirect).open(request, timeout=PATIENCE) as answer:
            return _sized(answer.headers.get("Content-Length", ""), size)
    except urllib.error.HTTPError as error:
        error.close()
        gone = error.code in (http.client.NOT_FOUND, http.client.GONE)
        return MirrorAnswer("vanished" if gone else "unanswered", f"status {error.code}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return MirrorAnswer("unanswered", f"no answer: {reason}")


def _in_folder(path: Path, size: int) -> MirrorAnswer:
    try:
        return _sized(str(path.stat().st_size), size)
    except (FileNotFoundError, NotADirectoryError):
        return MirrorAnswer("vanished", os.strerror(errno.ENOENT))
    except OSError as error:
        return MirrorAnswer("unanswered", error.strerror or str(error))


def _sized(found: str, size: int) -> MirrorAnswer:
    # A server need not say a size.
    if found.isdecimal() and int(found) != size:
        return MirrorAnswer("changed", f"{found} bytes, {size} are locked")
    return MirrorAnswer("there")
