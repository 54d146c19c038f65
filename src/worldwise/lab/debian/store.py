# SPDX-License-Identifier: BSD-2-Clause
"""The downloaded files, by their SHA-256: fetched once, verified, kept."""

import contextlib
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from worldwise.base.disk import require_space, space_text
from worldwise.base.errors import VanishedError, WorldwiseError
from worldwise.base.files import copy, file_sha256
from worldwise.base.output import safe_text
from worldwise.lab import cache_locks
from worldwise.lab.debian.lock import File, Wanted
from worldwise.lab.debian.mirrors import APT_HELPER, MIRROR_VARIABLE, OTHER_MIRROR, no_mirror
from worldwise.lab.debian.second_sources import BUNDLE, CRATES, PACKAGES, second_sources
from worldwise.lab.debian.snapshots import SNAPSHOTS_VARIABLE
from worldwise.lab.shared_store.store import Shared

if TYPE_CHECKING:
    from rich.console import Console

    from worldwise.lab.debian.sources import FileSource

RELOCK = (
    "or run `worldwise lab relock` (with the root's name if it is not the lab's own), which locks what the mirror "
    "has today: a lab of another lock has another digest, so you must measure every count again"
)

# No crate has more bytes; the largest that is locked has 20 MB.
MOST_CRATE = 128 * 2**20
_DOWNLOADING = threading.Lock()


@dataclass
class _Failure:
    """Why a source did not give a file: in a word, and in its own words."""

    kind: str
    source: "FileSource"
    message: str


@dataclass
class Store:
    """Downloaded files, in `directory`/sha256/<digest>. Never fetched twice; safe for runs side by side."""

    directory: Path
    suite: str
    console: "Console" = field(default_factory=lambda: safe_text.console(stderr=True))

    def path(self, file: File) -> Path:
        """Where the file is, or would be."""
        return self.directory / "sha256" / file.sha256

    def crate_path(self, sha256: str) -> Path:
        """Where the .crate file of a SHA-256 is, or would be."""
        return self.directory / "crates" / sha256

    def crate(self, sha256: str) -> Path | None:
        """The .crate file of a SHA-256: kept, shared, or from a second source; None if it is in none of them."""
        path = self.crate_path(sha256)
        if path.exists() and file_sha256(path) == sha256:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._shared().take_file(CRATES, sha256, path, MOST_CRATE):
            return path
        with tempfile.TemporaryDirectory(dir=self.directory, prefix="partial-") as name:
            partial = Path(name, sha256)
            from worldwise.lab.debian.sources import bring_one, kinds

            for source in second_sources() if "second" in kinds() else ():
                bring_one(source, CRATES, sha256, partial, MOST_CRATE, self._tell)
                if partial.exists() and file_sha256(partial) == sha256:
                    partial.chmod(0o644)
                    return partial.replace(path)
                partial.unlink(missing_ok=True)
        return None

    def keep_crate(self, found: Path, within: Path, sha256: str) -> None:
        """Keep a .crate file that cargo left in a folder; another than that of the SHA-256 is left where it is."""
        path = self.crate_path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.directory, prefix="partial-") as name:
            partial = Path(name, sha256)
            if copy(found, partial, MOST_CRATE, within) == sha256:
                partial.replace(path)
                self._shared().give_file(CRATES, sha256, path)

    def _shared(self) -> Shared:
        return Shared(self._tell)

    def _tell(self, text: str) -> None:
        self.console.print(f"worldwise: {text}", soft_wrap=True, highlight=False, markup=False)

    def has(self, file: File) -> bool:
        """Whether it is there, judged by its size alone (cheap)."""
        try:
            return self.path(file).stat().st_size == file.size
        except FileNotFoundError:
            return False

    def verified(self, file: File) -> bool:
        """Whether it is there with the right content."""
        return self.has(file) and file_sha256(self.path(file)) == file.sha256

    def ensure(self, wanted: Sequence[Wanted], purpose: str = "packages") -> None:
        """Have all of `wanted`, verified by size and SHA-256; what is missing or damaged is downloaded.

        `purpose` says what they are for, in a few words. Several processes may ask for the same file: one downloads it,
        the others wait. Raises VanishedError naming package and version if no source has a file any more,
        WorldwiseError if a mirror gives another one than was locked, or cannot be reached.
        """
        if not self._missing(wanted):
            return
        (self.directory / "sha256").mkdir(parents=True, exist_ok=True)
        with self._locked():
            shared = self._shared()
            missing = [
                item
                for item in self._missing(wanted)
                if not shared.take_file(PACKAGES, item.file.sha256, self.path(item.file), item.file.size)
            ]
            if missing:
                self._download(missing, purpose)
            for item in missing:
                shared.give_file(PACKAGES, item.file.sha256, self.path(item.file))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Be the only one who downloads: the line is as fast for one, and no file comes twice."""

        def tell() -> None:
            self.console.print("worldwise: another worldwise is downloading; waiting for it")

        # Threads of this process wait for each other in silence.
        with _DOWNLOADING, cache_locks.waiting(self.directory / "lock", tell):
            yield

    def _missing(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        # What is wanted twice comes once.
        wanted = list({item.file.sha256: item for item in wanted}.values())
        with ThreadPoolExecutor() as pool:
            states = list(pool.map(lambda item: self.verified(item.file), wanted))
        missing = [item for item, good in zip(wanted, states, strict=True) if not good]
        for item in missing:
            if self.path(item.file).exists():
                self.console.print(
                    f"worldwise: {item.label} is damaged in the store; it is fetched again", style="yellow"
                )
                self.path(item.file).unlink()
        return missing

    def _download(self, wanted: list[Wanted], purpose: str) -> None:
        if not APT_HELPER.exists():
            raise WorldwiseError(
                "apt is not on this machine, and the lab's packages are fetched with it",
                "install apt (Debian or Ubuntu), or fill the cache on another machine",
            )
        total = sum(item.file.size for item in wanted)
        require_space(self.directory, total, purpose)
        failures: dict[Wanted, list[_Failure]] = {item: [] for item in wanted}
        remaining = wanted
        # On a terminal a bar says so.
        if not self.console.is_terminal:
            files = f"{len(wanted)} {'file' if len(wanted) == 1 else 'files'}"
            text = f"worldwise: downloading {purpose}: {files}, {space_text(total)}"
            self.console.print(text, soft_wrap=True, highlight=False)
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        with tempfile.TemporaryDirectory(dir=self.directory, prefix="partial-") as name, progress:
            partial = Path(name)
            task = progress.add_task(f"downloading {purpose}", total=total)

            def advance() -> None:
                done = sum(item.file.size for item in wanted if self.has(item.file))
                running = sum(_size_now(path) for path in partial.iterdir())
                progress.update(task, completed=min(total, done + running))

            from worldwise.lab.debian.sources import sources

            for source in sources(self.suite, self._tell):
                found = self._from_source(source, remaining, partial, advance)
                for item, failure in found.items():
                    failures[item].append(failure)
                remaining = list(found)
                if not remaining:
                    return
        raise _download_error({item: failures[item] for item in remaining})

    def _from_source(
        self, source: "FileSource", wanted: list[Wanted], partial: Path, advance: Callable[[], None]
    ) -> dict[Wanted, _Failure]:
        batches = [wanted[start : start + source.batch] for start in range(0, len(wanted), source.batch)]
        failures: dict[Wanted, _Failure] = {}
        with ThreadPoolExecutor(source.workers) as pool:
            futures = [pool.submit(self._batch, source, batch, partial) for batch in batches]
            try:
                for future in futures:
                    while not future.done():
                        advance()
                        wait([future], timeout=0.2)
                    failures |= future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                while wait(futures, timeout=0.1).not_done:
                    source.stop()
                raise
        return failures

    def _batch(self, source: "FileSource", wanted: list[Wanted], partial: Path) -> dict[Wanted, _Failure]:
        failures = {item: _Failure(_kind(why), source, why) for item, why in source.fetch(wanted, partial).items()}
        for item in wanted:
            path = partial / item.file.sha256
            if item in failures:
                continue
            got = file_sha256(path)
            if got != item.file.sha256:
                text = (
                    f"{item.file.file}: locked SHA-256 {item.file.sha256} ({item.file.size} bytes), "
                    f"got {got} ({path.stat().st_size} bytes)"
                )
                failures[item] = _Failure("changed", source, text)
                path.unlink()
                continue
            path.chmod(0o644)
            path.replace(self.path(item.file))
        return failures


def _size_now(path: Path) -> int:
    """Bytes of a file that another thread may just be moving away."""
    try:
        return path.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _kind(message: str) -> str:
    if re.search(r"^(404|410)\b|File not found|Failed to stat", message):
        return "vanished"
    if re.search(r"resolv|connect|unreachable|timed out|Connection|failure in name", message, re.IGNORECASE):
        return "network"
    return "other"


def _telling(failures: Sequence[_Failure]) -> _Failure | None:
    """What to tell of a file: the last mirror's words, for the others have a file or have it not."""
    told = [one for one in failures if one.source.kind == "mirrors"] or list(failures)
    return told[-1] if told else None


def _described(item: Wanted, failures: Sequence[_Failure]) -> str:
    said = [one.message if one.source.kind == "mirrors" else f"{one.source.name}: {one.message}" for one in failures]
    return f"{item.label}: {'; '.join(said)}"


def _download_error(failures: dict[Wanted, list[_Failure]]) -> WorldwiseError:
    told = {item: one for item, each in failures.items() if (one := _telling(each))}
    if not told:
        return no_mirror()
    lines = [_described(item, each) for item, each in list(failures.items())[:20]]
    if len(failures) > 20:
        lines.append(f"... and {len(failures) - 20} more")
    tried = {one.source.kind for each in failures.values() for one in each}
    from worldwise.lab.debian.sources import kinds

    if "snapshots" in kinds() and "snapshots" not in tried:
        lines.append(f"no archive of snapshots is known here: apt 3 knows Debian's, {SNAPSHOTS_VARIABLE} names one")
    details = "\n".join(lines)
    # One vanished package says more than the failures around it, a dead network more than an odd answer.
    for kind in ("changed", "vanished", "network", "other"):
        item = next((item for item, one in told.items() if one.kind == kind), None)
        if item is None:
            continue
        failure = told[item]
        place = f"the mirror {failure.source.name}" if failure.source.kind == "mirrors" else failure.source.name
        if kind == "changed":
            return WorldwiseError(
                f"{item.label} from {failure.source.name} is not the file that was locked: {failure.message}",
                "a proxy or the mirror gives something else: try again, or another mirror with "
                f"{MIRROR_VARIABLE}; the tool kept nothing of it",
                details,
            )
        if kind == "vanished":
            gone = [item for item, one in told.items() if one.kind == kind]
            message = f"{item.label} has vanished from {place}"
            return VanishedError(gone, message, f"{BUNDLE}; {OTHER_MIRROR}; {RELOCK}", details)
        if kind == "network":
            return WorldwiseError(
                f"{place} cannot be reached: {failure.message}",
                "check the network and the proxy settings (http_proxy, https_proxy), or choose another "
                f"mirror with {MIRROR_VARIABLE}; {BUNDLE}; the cache keeps finished downloads",
                details,
            )
        return WorldwiseError(
            f"{item.label} could not be fetched from {failure.source.name}: {failure.message}",
            f"try again, or choose another mirror with {MIRROR_VARIABLE}; the cache keeps finished downloads",
            details,
        )
    raise AssertionError("a failure of an unknown kind")
