# SPDX-License-Identifier: BSD-2-Clause
"""Making a root: its packages become a file system, by mmdebstrap."""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from worldwise.base import files
from worldwise.base.disk import directory_size, require_space
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.lab.contents import Contents
from worldwise.lab.debian.lock import NATIVE, Lock, Package
from worldwise.lab.debian.plain_packages import PackageFile, PlainPackages
from worldwise.lab.debian.store import Store
from worldwise.lab.debian.unpacked_packages import UnpackingThread, asked, goes_beside, with_empty_files
from worldwise.lab.roots import ROOTS
from worldwise.lab.sandbox import without_sync
from worldwise.lab.sandbox.bubblewrap import SOURCE_DATE_EPOCH
from worldwise.lab.sandbox.refusals import missing_tool
from worldwise.lab.sandbox.system_calls import libseccomp

if TYPE_CHECKING:
    from rich.console import Console

# Folders of files that no compiler needs; without them a root has a third fewer files and is made in a third less time.
_EMPTY = ("/usr/share/doc", "/usr/share/info", "/usr/share/man", "/usr/share/locale", "/usr/share/bash-completion")
# Run when the essential packages are unpacked and before dpkg sees any. As mmdebstrap's own options, the patterns would
# start a filter in Python for each of these packages, which takes longer than to unpack it.
_LEAVE_OUT = "\n".join(
    f"""rm -rf "$1{folder}"/*; echo 'path-exclude={folder}/*' >>"$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap" """
    for folder in _EMPTY
)

# Unpacked, the packages take about four times their size, in the root and, for an ordinary user, in a scratch root
# before that.
UNPACKED_FACTOR = 5
# The marker of a root, written last: a root without it was never finished.
MARKER = "lab.json"
# Programs of the host that are needed to make a root, and the packages that have them.
PROGRAMS = {
    "mmdebstrap": "mmdebstrap",
    "bwrap": "bubblewrap",
    "tar": "tar",
    "dpkg-deb": "dpkg",
    "unshare": "util-linux",
}


@dataclass(frozen=True)
class Making:
    """A root that is to be made.

    Attributes:
        name: which of ROOTS it is.
        title: its name in messages.
        lock: the packages it is made of.
        digest: its address.
        labs: the folder of all roots.
        store: the downloaded packages, all there.
        console: for progress.
    """

    name: str
    title: str
    lock: Lock
    digest: str
    labs: Path
    store: Store
    console: "Console"

    def make(self, directory: Path) -> None:
        """Make the root in `directory`, replacing what is there. The caller holds the root's lock.

        Raises WorldwiseError: no space, or what mmdebstrap says.
        """
        began = time.monotonic()
        scratch = scratch_place(self.labs)
        self._require_space(scratch)
        discard(directory)
        short = self.digest[:12]
        # A killed build left these; this process has the lock, so nobody uses them now.
        for old in (*self.labs.glob(f".building-{short}-*"), *self.labs.glob(f".worldwise-stage-{short}-*")):
            discard(old)
        building = Path(tempfile.mkdtemp(dir=self.labs, prefix=f".building-{short}-"))
        stage = Path(tempfile.mkdtemp(dir=scratch, prefix=f".worldwise-stage-{short}-"))
        try:
            for path in (building, stage):
                path.chmod(0o755)
            self.make_repository(stage / "packages", plain := PlainPackages(self.store.directory))
            (stage / "scratch").mkdir(mode=0o755)
            self.lay_own_files(stage / "laid")
            large = [
                (package, plain.file(package, self.store.path(package)).path)
                for package in self.lock.lab
                if goes_beside(package)
            ]
            beside = UnpackingThread(large, building / "beside", _EMPTY)
            beside.start()
            try:
                self.make_root(stage, building)
                beside.move_to(building / "root")
            finally:
                beside.stop()
            self.require_programs(building / "root")
            settle_root(building / "root")
            self.describe(building, began)
            building.rename(directory)
        finally:
            discard(stage)
            discard(building)
        seconds = time.monotonic() - began
        self.console.print(f"worldwise: {self.title} ({short}) built in {seconds:.0f} s", highlight=False)

    def _require_space(self, scratch: Path) -> None:
        needed = UNPACKED_FACTOR * sum(package.size for package in self.lock.lab)
        same = self.labs.stat().st_dev == scratch.stat().st_dev
        require_space(self.labs, 2 * needed if same and os.geteuid() != 0 else needed, self.title)
        if not same:
            require_space(scratch, needed, f"building {self.title}")

    def describe(self, building: Path, began: float) -> None:
        """Write the list of a root's files, and its marker."""
        witness = witness_of(building / "root")
        manifest = {
            "format": 1,
            "digest": self.digest,
            "recipe": ROOTS[self.name].recipe,
            "suite": self.lock.suite,
            "packages": len(self.lock.lab),
            "bytes": directory_size(building / "root"),
            "seconds": round(time.monotonic() - began, 1),
            "witness": witness,
            "files": Contents(building / "root", building, self.title).record(witness)[0],
        }
        (building / MARKER).write_text(json.dumps(manifest, indent=0) + "\n", encoding="utf-8")

    def make_repository(self, directory: Path, plain: PlainPackages) -> None:
        """Write a flat package repository that has only the lab's packages, the large ones with empty files."""
        directory.mkdir(mode=0o755)

        def entry(package: Package) -> str:
            found = plain.file(package, self.store.path(package))
            place = directory / f"{package.sha256}.deb"
            if goes_beside(package):
                content = with_empty_files(found.path)
                place.write_bytes(content)
                place.chmod(0o644)
                found = PackageFile(place, len(content), hashlib.sha256(content).hexdigest())
            else:
                try:
                    place.hardlink_to(found.path)
                except OSError:
                    shutil.copyfile(found.path, place)
                    place.chmod(0o644)
            fields = asked("--field", found.path, package.file).decode()
            place_lines = f"Filename: ./{place.name}\nSize: {found.size}\nSHA256: {found.sha256}\n"
            return fields.rstrip("\n") + "\n" + place_lines

        with ThreadPoolExecutor() as pool:
            entries = list(pool.map(entry, self.lock.lab))
        index = directory / "Packages"
        index.write_text("\n".join(entries), encoding="utf-8")
        index.chmod(0o644)

    def lay_own_files(self, directory: Path) -> None:
        """Write the root's files that are of no package, from the root on: most roots have none."""
        for name, text in ROOTS[self.name].laid.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")

    def make_root(self, stage: Path, building: Path) -> None:
        """Makes the root in `building`. Raises WorldwiseError."""
        root = building / "root"
        root.mkdir(mode=0o755)
        if not self.console.is_terminal:
            self.console.print(f"worldwise: building {self.title} from {len(self.lock.lab)} packages")
        with self._log.open("w", encoding="utf-8") as log:
            codes = (self._run_as_root if os.geteuid() == 0 else self._run_as_user)(stage, root, log)
        if codes != (0, 0):
            raise build_error(self._log, codes, self.title)

    def require_programs(self, root: Path) -> None:
        """Raises WorldwiseError if a root lacks a program that it is made for."""
        for program in ROOTS[self.name].programs:
            if not (root / "usr/bin" / program).exists():
                raise WorldwiseError(f"{self.title} was made, but has no {program}", f"see {self._log}")

    @property
    def _log(self) -> Path:
        """What mmdebstrap said."""
        return self.labs / f"{self.digest[:12]}.log"

    def _run_as_root(self, stage: Path, root: Path, log: IO[str]) -> tuple[int, int]:
        """Have mmdebstrap make the root in place. Returns its status, and 0."""
        # In a namespace of its own, so that no mount outlives it: removing the root would empty the host's /dev/shm.
        # Without it without_sync.py could only say so in the log.
        libseccomp()
        before = ("unshare", "--mount", sys.executable, "-I", without_sync.__file__)
        maker = self._mmdebstrap(stage, "root", "directory", root, subprocess.DEVNULL, before)
        self._wait(maker, log)
        if maker.returncode == 0:
            _make_owner(root)
        return maker.returncode, 0

    def _run_as_user(self, stage: Path, root: Path, log: IO[str]) -> tuple[int, int]:
        """Have mmdebstrap make it under other user ids, and tar unpack it under this one. Returns their status."""
        maker = self._mmdebstrap(stage, "unshare", "tar", "-", subprocess.PIPE)
        unpack = ["tar", "--extract", "--no-same-owner", "--exclude=./dev/*", f"--directory={root}"]
        unpacker = subprocess.Popen(unpack, stdin=maker.stdout, stdout=log, stderr=log)
        assert maker.stdout is not None
        maker.stdout.close()
        self._wait(maker, log, unpacker)
        return maker.returncode, unpacker.returncode

    def _wait(self, maker: subprocess.Popen[bytes], log: IO[str], *others: subprocess.Popen[bytes]) -> None:
        """Until mmdebstrap has ended, and what reads from it. Whatever happens, none of them is left behind."""
        assert maker.stderr is not None
        try:
            self._follow(maker.stderr, log)
            for process in (maker, *others):
                process.wait()
        except BaseException:
            for process in (maker, *others):
                _stop(process)
            raise

    def _mmdebstrap(
        self, stage: Path, mode: str, form: str, to: Path | str, stdout: int, before: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        foreign = {package.architecture for package in self.lock.lab if package.foreign}
        laid = stage / "laid"
        command = [
            *before,
            "mmdebstrap",
            f"--mode={mode}",
            "--variant=essential",
            f"--format={form}",
            "--architectures=" + ",".join([NATIVE, *sorted(foreign)]),
            "--verbose",
            "--include=" + ",".join(package.qualified for package in self.lock.lab),
            "--aptopt=APT::Install-Recommends false",
            "--dpkgopt=force-unsafe-io",
            f"--extract-hook={_LEAVE_OUT}",
            *([f'--extract-hook=cp -r {shlex.quote(str(laid))}/. "$1"'] if laid.exists() else []),
            "",  # the suite: everything in the repository
            str(to),
            f"deb [trusted=yes] copy:{stage / 'packages'} ./",
        ]
        return subprocess.Popen(
            command,
            env=_mmdebstrap_environment(stage),
            # A file here that is called as an option of apt or dpkg would be taken for a file of such options.
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def _follow(self, messages: IO[bytes], log: IO[str]) -> None:
        """Copy mmdebstrap's messages to the log, and count packages unpacked and set up as progress."""
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        with progress:
            task = progress.add_task(f"building {self.title}", total=2 * len(self.lock.lab))
            for raw in messages:
                line = raw.decode(errors="replace")
                log.write(line)
                log.flush()
                if line.startswith(("Unpacking ", "Setting up ")):
                    progress.advance(task)


def _make_owner(root: Path) -> None:
    """Give every file of a root to root, as a build sees one owner whoever made it, and remove its devices."""
    for parent, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(parent, name)
            entry = path.lstat()
            if entry.st_uid or entry.st_gid:
                os.lchown(path, 0, 0)
                if not stat.S_ISLNK(entry.st_mode):
                    # The kernel takes these bits away from a file that changes its owner.
                    path.chmod(stat.S_IMODE(entry.st_mode))
    for device in (root / "dev").iterdir():
        discard(device)


def _mmdebstrap_environment(stage: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "TMPDIR": str(stage / "scratch"),
    }


def scratch_place(labs: Path) -> Path:
    """Where mmdebstrap may work: for an ordinary user it runs under other user ids, which must be able to get there."""
    if os.geteuid() == 0:
        return labs
    if all(path.stat().st_mode & stat.S_IXOTH for path in (labs, *labs.parents)):
        return labs
    return Path(os.environ.get("TMPDIR") or "/var/tmp")


def require_host() -> None:
    """Raise WorldwiseError if this machine cannot make a root, naming a missing package."""
    if platform.machine() != "x86_64":
        raise WorldwiseError(
            f"the lab's packages are for amd64, this machine is {platform.machine()}",
            "use an amd64 machine, or a virtual one",
        )
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            raise missing_tool(program, package)
    if os.geteuid() != 0 and shutil.which("newuidmap") is None:
        raise missing_tool("newuidmap", "uidmap")


def witness_of(root: Path) -> dict[str, int]:
    """Size of every program and every file of 256 KiB or more, by its path below `root`."""
    found: dict[str, int] = {}
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            entry = path.lstat()
            if stat.S_ISLNK(entry.st_mode) and parent.endswith("/usr/bin"):
                found[str(path.relative_to(root))] = 0
            elif stat.S_ISREG(entry.st_mode) and (parent.endswith("/usr/bin") or entry.st_size >= 1 << 18):
                found[str(path.relative_to(root))] = entry.st_size
    return dict(sorted(found.items()))


def settle_root(root: Path) -> None:
    """Remove what mmdebstrap copied from this host, and what depends on the date."""
    for name in ("var/log", "var/cache/apt", "var/lib/apt/lists", "var/tmp"):
        for path in (root / name).glob("*"):
            discard(path)
    contents = {
        "resolv.conf": "",
        "hostname": "lab\n",
        "hosts": "127.0.0.1 localhost lab\n::1 localhost lab\n",
    }
    for name, text in contents.items():
        path = root / "etc" / name
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")


def discard(path: Path) -> None:
    """Remove a file or a tree of the cache if it is there; a failure is printed and raises nothing."""
    try:
        files.remove(path.parent, path.name)
    except OSError as error:
        safe_text.echo(f"worldwise: {path} could not be removed: {error}", err=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # mmdebstrap cleans up (mounts, scratch root) on SIGINT, so it gets time for that.
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def build_error(log: Path, codes: tuple[int, int], title: str) -> WorldwiseError:
    """The error of a build that failed, with what its log says of the reason."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    text = "\n".join(lines)
    tail = "\n".join(lines[-25:])
    script = re.search(r"^dpkg: error processing package (\S+) .*$", text, re.MULTILINE)
    if script:
        return WorldwiseError(
            f"{title} could not be made: a script of package {script[1].split(':')[0]} failed",
            f"the whole log is {log}; if it happens again, this kernel or container forbids something",
            tail,
        )
    if "No space left on device" in text:
        return WorldwiseError(
            f"{title} could not be made: the disk is full",
            "free some space, or set WORLDWISE_CACHE (and TMPDIR, as an ordinary user) to a larger disk",
            tail,
        )
    if os.geteuid() != 0 and re.search(r"newuidmap|newgidmap|subuid|unshare|user namespace", text):
        return WorldwiseError(
            f"{title} could not be made: mmdebstrap may not use user namespaces here",
            "this user needs a line in /etc/subuid and /etc/subgid (`sudo usermod "
            "--add-subuids 100000-165535 --add-subgids 100000-165535 $USER`) "
            "and the package uidmap; or run worldwise as root",
            tail,
        )
    who = f"mmdebstrap ended with status {codes[0]}" if codes[0] else f"tar ended with status {codes[1]}"
    return WorldwiseError(f"{title} could not be made: {who}", f"the whole log is {log}", tail)
