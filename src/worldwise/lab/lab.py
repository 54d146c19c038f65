# SPDX-License-Identifier: BSD-2-Clause
"""The lab: one pinned Debian root in the cache, made by mmdebstrap, entered through bubblewrap.

Everything that builds or emulates runs inside it. The lab's digest stands for the whole lock, so two
machines with the same digest have the same compilers, emulator and target packages.

Beside it are smaller roots of the same kind, each with a lock and a digest of its own, for what no count depends on.
They are made when something asks for them.
"""

import contextlib
import functools
import json
import math
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from worldwise.base import files, outgoing, paths
from worldwise.base.errors import HostError, WorldwiseError
from worldwise.lab import sandbox
from worldwise.lab.contents import BUDGET, Contents, package_sums
from worldwise.lab.debian import (
    NATIVE,
    Lock,
    Package,
    Source,
    Store,
    load_lock,
    require_space,
    wanted_package,
    wanted_source,
)
from worldwise.lab.sandbox import Limits, Watch

# Part of the lab's digest: raise it when the same packages would make another root (excluded paths, variant).
RECIPE = 1
# The one date everything built in the lab carries (2025-01-01 00:00:00 UTC).
SOURCE_DATE_EPOCH = 1735689600
# Of no use to a compiler; left out they save a third of the files and of the time.
_EXCLUDED = (
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/bash-completion/*",
)
# Unpacked, the packages take about four times their size; they pass through a scratch root of the same size.
_UNPACKED_FACTOR = 5

Bind = tuple[Path | str, str, Literal["ro", "rw"]]

# The descriptor from which bubblewrap reads the filter of system calls.
_FILTER = 9
# Of every root: they set limits, and the user, before a program begins.
_BEFORE = ("CAP_DAC_READ_SEARCH", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_PRLIMIT, _SETPRIV = "/usr/bin/prlimit", "/usr/bin/setpriv"
# To find bubblewrap by, and by which the tests know their own machines.
_KEPT_VARIABLES = ("PATH", "WORLDWISE_TEST_WORKER")
# Of /proc, what one can change the kernel's settings by, or learn of other users' secrets from.
_COVERED_FOLDERS = ("sys", "irq", "bus", "fs")
_COVERED_FILES = ("sysrq-trigger", "kcore", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "kmsg")
# Bytes of what a program printed that are kept for the caller.
_MOST_PRINTED = 256 * sandbox.MIB
# And of the end of a log that is looked at.
_LOG_END = 256 * sandbox.KIB


@dataclass(frozen=True)
class Root:
    """A root that lab/ describes.

    Attributes:
        name: by which the command line and `open_lab` know it.
        purpose: what it is for, in a few words.
        wish: the file that says what it is to have.
        lock: the file that says what it has.
        programs: programs that must be there once it is made.
    """

    name: str
    purpose: str
    wish: Path
    lock: Path
    programs: tuple[str, ...]


MAIN = "main"
ROOTS = {
    root.name: root
    for root in (
        Root(
            MAIN,
            "the lab: compilers, QEMU, and what stands on the measured machines",
            paths.LAB / "packages.toml",
            paths.LAB / "lock.json",
            ("aarch64-linux-gnu-gcc", "qemu-system-aarch64"),
        ),
        Root(
            "render",
            "builds and runs the flame graph renderer",
            paths.LAB / "render.toml",
            paths.LAB / "render.lock.json",
            ("cargo", "gcc"),
        ),
        Root(
            "browser",
            "the browser of the tests",
            paths.LAB / "browser.toml",
            paths.LAB / "browser.lock.json",
            ("chromedriver", "chromium", "socat"),
        ),
        Root(
            "keycache",
            "builds, tests and fuzzes the secure key cache",
            paths.LAB / "keycache.toml",
            paths.LAB / "keycache.lock.json",
            ("aarch64-linux-gnu-gcc", "clang", "dpkg-buildpackage"),
        ),
    )
}


@dataclass
class Lab:
    """The lab, or another root, that `lock` describes. Making one is cheap; `ensure` builds it if it is not there.

    Attributes:
        lock: what the lab is made of.
        name: which of ROOTS it is.
        digest: 64 hexadecimal digits; part of the address of everything built in the lab.
        cache: the cache directory.
        store: the downloaded files.
    """

    lock: Lock
    cache: Path = field(default_factory=paths.cache_directory)
    console: Console = field(default_factory=lambda: outgoing.console(stderr=True))
    name: str = MAIN

    def __post_init__(self) -> None:
        self.title = "the lab" if self.name == MAIN else f"the root {self.name}"
        self.digest = self.lock.digest(RECIPE)
        self.labs = self.cache / "labs"
        self.directory = self.labs / self.digest[:12]
        self.root = self.directory / "root"
        self.contents = Contents(self.root, self.directory, self.title)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopping = False
        self.store = Store(self.cache / "downloads", self.lock.suite, self.console)

    # --- state ---

    @property
    def manifest(self) -> Path:
        """The marker written last: a lab without it was never finished."""
        return self.directory / "lab.json"

    def problem(self, budget: float | None = None) -> str:
        """Empty if the lab is built and whole, else what is wrong, in a few words.

        Looks at the marker, at every program and large file, and hashes what decides a count: about 0.1 s. With a
        `budget`, in seconds, it also hashes the files whose turn it is; see `Contents`.
        """
        try:
            manifest = json.loads(self.manifest.read_text(encoding="utf-8"))
            if manifest["digest"] != self.digest:
                return f"{self.manifest} names another digest"
            witness: dict[str, int] = manifest["witness"]
            for name, size in witness.items():
                try:
                    if _witness_size(f"{self.root}/{name}") != size:
                        return f"{self.root / name} has another size than when the lab was made"
                except OSError:
                    return f"{self.root / name} is missing"
            listed = manifest.get("files", "")
            if listed or self.contents.listed:
                return self.contents.problem(witness, listed, budget)
        except FileNotFoundError:
            return "not built"
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"{self.manifest} cannot be read ({error})"
        return ""

    def require(self) -> None:
        """Raise WorldwiseError if the lab is not there or damaged; never builds."""
        problem = self.problem()
        if problem:
            command = "lab build" if self.name == MAIN else f"lab build {self.name}"
            raise WorldwiseError(
                f"{self.title} ({self.digest[:12]}): {problem}", f"`./worldwise {command}` makes it (anew)"
            )

    # --- files of the lock ---

    def package(self, name: str, architecture: str) -> Package:
        """The locked package of that name, or the one a followed metapackage of that name led to.

        Raises WorldwiseError if the lock has none.
        """
        for package in (*self.lock.target, *self.lock.lab):
            if name in (package.name, package.follows or package.name) and package.architecture in (
                architecture,
                "all",
            ):
                return package
        raise WorldwiseError(
            f"{name} ({architecture}) is not in lab/{ROOTS[self.name].lock.name}",
            f"add it to lab/{ROOTS[self.name].wish.name} and run `./worldwise lab relock`",
        )

    def package_file(self, name: str, architecture: str) -> Path:
        """The .deb of a locked package, downloaded if need be, its SHA-256 verified."""
        package = self.package(name, architecture)
        self.store.ensure([wanted_package(package)])
        return self.store.path(package)

    def source(self, name: str) -> Source:
        """The locked source package. Raises WorldwiseError if the lock has none of that name."""
        for source in self.lock.sources:
            if source.name == name:
                return source
        raise WorldwiseError(
            f"source package {name} is not in lab/{ROOTS[self.name].lock.name}",
            f"add it to lab/{ROOTS[self.name].wish.name} and run `./worldwise lab relock`",
        )

    def source_files(self, name: str) -> dict[str, Path]:
        """Files of a locked source package by their archive names, downloaded if need be, verified."""
        source = self.source(name)
        self.store.ensure(wanted_source(source))
        return {file.file: self.store.path(file) for file in source.files}

    def fetch(self) -> None:
        """Have every file of the lock in the store (lab, target, sources), verified.

        Building the lab takes the lab's own alone; the others come when they are first used, or by this.
        """
        wanted = [wanted_package(package) for package in (*self.lock.lab, *self.lock.target)]
        for source in self.lock.sources:
            wanted += wanted_source(source)
        self.store.ensure(wanted)

    # --- building ---

    def ensure(self) -> bool:
        """Build the lab unless it is there and whole; returns whether it did. Safe for runs side by side.

        Raises WorldwiseError: a package that vanished, no network, no space, a tool the host lacks, a root
        that cannot be made.
        """
        if not self._found_wrong():
            return False
        paths.require_writable(self.cache)
        _require_host()
        self.labs.mkdir(parents=True, exist_ok=True)
        with self._locked():
            problem = self._found_wrong()
            if not problem:
                return False
            if problem != "not built":
                self.console.print(f"worldwise: {self.title} is damaged and made anew: {problem}", style="yellow")
                self.console.print(
                    f"  what was made with it is used again: to have that made anew too, delete the folders images, "
                    f"snapshots, results and traces in {self.cache}"
                )
            self.store.ensure([wanted_package(package) for package in self.lock.lab])
            self._build()
        return True

    def list_contents(self) -> str:
        """Hash every file of a lab that was made before its list was, as it is now, and say so; takes some seconds.

        Returns what is wrong with it by the MD5 sums of its packages: then it is not listed.
        """
        witness = json.loads(self.manifest.read_text(encoding="utf-8"))["witness"]
        _, problem = self.contents.record(witness, package_sums(self.root))
        if not problem:
            self.console.print(
                f"worldwise: {self.title} was made when its files had no digests. They have them now, as the files are "
                "today: those whose MD5 its packages name are as in the package, of the others only the size was known"
            )
        return problem

    def _found_wrong(self) -> str:
        """As `problem`, with what a start has time for."""
        problem = self.problem(BUDGET)
        # A lab that nobody may write to stays without a list.
        if not problem and not self.contents.listed and os.access(self.directory, os.W_OK):
            return self.list_contents()
        return problem

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.labs / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            self.console.print("worldwise: another worldwise is at work on the lab; waiting for it")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _build(self) -> None:
        began = time.monotonic()
        needed = _UNPACKED_FACTOR * sum(package.size for package in self.lock.lab)
        scratch = self._scratch()
        same = self.labs.stat().st_dev == scratch.stat().st_dev
        require_space(self.labs, 2 * needed if same else needed, self.title)
        if not same:
            require_space(scratch, needed, f"building {self.title}")
        _remove(self.directory)
        # Left by a build that was killed; the lock says nobody is at it now.
        for old in (*self.labs.glob(".building-*"), *self.labs.glob(".worldwise-stage-*")):
            _remove(old)
        building = Path(tempfile.mkdtemp(dir=self.labs, prefix=".building-"))
        stage = Path(tempfile.mkdtemp(dir=scratch, prefix=".worldwise-stage-"))
        try:
            for path in (building, stage):
                path.chmod(0o755)
            self._repository(stage / "packages")
            (stage / "scratch").mkdir(mode=0o755)
            self._make_root(stage, building)
            _finish(building / "root")
            witness = _witness(building / "root")
            manifest = {
                "format": 1,
                "digest": self.digest,
                "recipe": RECIPE,
                "suite": self.lock.suite,
                "packages": len(self.lock.lab),
                "bytes": directory_size(building / "root"),
                "seconds": round(time.monotonic() - began, 1),
                "witness": witness,
                "files": Contents(building / "root", building, self.title).record(witness)[0],
            }
            (building / "lab.json").write_text(json.dumps(manifest, indent=0) + "\n", encoding="utf-8")
            building.rename(self.directory)
        finally:
            _remove(stage)
            _remove(building)
        seconds = time.monotonic() - began
        self.console.print(f"worldwise: {self.title} ({self.digest[:12]}) built in {seconds:.0f} s", highlight=False)

    def _scratch(self) -> Path:
        """Where mmdebstrap may work: an ordinary user's takes other user ids, which must be let through."""
        if os.geteuid() == 0:
            return self.labs
        if all(path.stat().st_mode & stat.S_IXOTH for path in (self.labs, *self.labs.parents)):
            return self.labs
        return Path(os.environ.get("TMPDIR") or "/var/tmp")

    def _repository(self, directory: Path) -> None:
        """A flat package repository of the lab's packages and nothing else."""
        directory.mkdir(mode=0o755)

        def entry(package: Package) -> str:
            file = self.store.path(package)
            place = directory / f"{package.sha256}.deb"
            try:
                place.hardlink_to(file)
            except OSError:
                shutil.copyfile(file, place)
                place.chmod(0o644)
            control = subprocess.run(["dpkg-deb", "--field", str(file)], capture_output=True, text=True, check=False)
            if control.returncode != 0:
                raise WorldwiseError(f"{package.file} is not a package dpkg-deb can read", details=control.stderr)
            place_lines = f"Filename: ./{place.name}\nSize: {package.size}\nSHA256: {package.sha256}\n"
            return control.stdout.rstrip("\n") + "\n" + place_lines

        with ThreadPoolExecutor() as pool:
            entries = list(pool.map(entry, self.lock.lab))
        index = directory / "Packages"
        index.write_text("\n".join(entries), encoding="utf-8")
        index.chmod(0o644)

    def _make_root(self, stage: Path, building: Path) -> None:
        mode = "root" if os.geteuid() == 0 else "unshare"
        foreign = {package.architecture for package in self.lock.lab if package.foreign}
        command = [
            "mmdebstrap",
            f"--mode={mode}",
            "--variant=essential",
            "--format=tar",
            "--architectures=" + ",".join([NATIVE, *sorted(foreign)]),
            "--verbose",
            "--include=" + ",".join(package.qualified for package in self.lock.lab),
            "--aptopt=APT::Install-Recommends false",
            "--dpkgopt=force-unsafe-io",
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED),
            "",  # the suite: all there is in the repository
            "-",
            f"deb [trusted=yes] copy:{stage / 'packages'} ./",
        ]
        environment = {
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
            "HOME": os.environ.get("HOME", "/"),
            "LC_ALL": "C.UTF-8",
            "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
            "TMPDIR": str(stage / "scratch"),
        }
        root = building / "root"
        root.mkdir(mode=0o755)
        log_path = self.labs / f"{self.digest[:12]}.log"
        if not self.console.is_terminal:
            self.console.print(f"worldwise: building {self.title} from {len(self.lock.lab)} packages")
        with log_path.open("w", encoding="utf-8") as log:
            maker = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            unpack = ["tar", "--extract", "--no-same-owner", "--exclude=./dev/*", f"--directory={root}"]
            unpacker = subprocess.Popen(unpack, stdin=maker.stdout, stdout=log, stderr=log)
            assert maker.stdout is not None
            assert maker.stderr is not None
            maker.stdout.close()
            try:
                self._follow(maker.stderr, log)
                codes = maker.wait(), unpacker.wait()
            except BaseException:
                _stop(maker)
                _stop(unpacker)
                raise
        if codes != (0, 0):
            raise _build_error(log_path, codes, self.title)
        for program in ROOTS[self.name].programs:
            if not (root / "usr/bin" / program).exists():
                raise WorldwiseError(f"{self.title} was made, but has no {program}", f"see {log_path}")

    def _follow(self, messages: IO[bytes], log: IO[str]) -> None:
        """Copy mmdebstrap's messages to the log, and count packages unpacked and set up as progress."""
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

    # --- entering ---

    def command(
        self,
        argv: Sequence[str | Path],
        *,
        binds: Sequence[Bind] = (),
        chdir: str = "/",
        env: Mapping[str, str] | None = None,
        network: bool = False,
        tty: bool = False,
        limits: Limits = sandbox.BUILD,
        debugging: bool = False,
        parts: Sequence[str] | None = None,
    ) -> list[str]:
        """The command line that runs `argv` inside the lab, by bubblewrap.

        Inside, the lab is read-only, /tmp is empty and private, and nothing of the host is seen but `binds`:
        (host path, path inside, "ro" or "rw"). The environment is fixed, with `env` on top. Processes end
        with the thread that started them, and see no network unless `network`. `tty` keeps the terminal
        (for a shell). Who they are, and which system calls they may make, `sandbox` says; folders bound "rw" must be
        lent to them (`sandbox.lent`).

        Args:
            argv: the program and its arguments.
            binds: what is seen besides the lab.
            chdir: the directory to start in.
            env: variables on top of the fixed ones.
            network: whether the host's network is there.
            tty: whether the terminal stays.
            limits: what the sandbox may use.
            debugging: whether a process may look into others of its sandbox.
            parts: files and folders of the lab that are there, instead of all of it; then there is no /proc either.

        Raises WorldwiseError if a bound path is not there or may not be read inside, and if bubblewrap is missing.
        """
        program = shutil.which("bwrap")
        if program is None:
            raise missing_tool("bwrap", "bubblewrap")
        who = sandbox.confinement()
        command = ["bwrap", "--die-with-parent", "--unshare-ipc", "--unshare-pid", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--hostname", "lab", "--seccomp", str(_FILTER)]
        if who.kind == "user namespace":
            command += ["--unshare-user"]
        else:
            # The kernel refuses a user namespace inside a chroot, where root often is. Root is another user inside, and
            # until then keeps the capabilities to enter that one's folder and to become that one.
            command += ["--cap-drop", "ALL"]
            for capability in _BEFORE if who.kind == "another user" else ():
                command += ["--cap-add", capability]
        if not network:
            command += ["--unshare-net"]
        if not tty:
            command += ["--new-session"]
        # The lab's directories stand on an empty root, so that a bind can make its own place beside them.
        for entry in sorted(self.root.iterdir()):
            inside = f"/{entry.name}"
            if entry.is_symlink():
                command += ["--symlink", str(entry.readlink()), inside]
            elif parts is None and entry.is_dir() and entry.name not in ("dev", "proc", "sys", "tmp", "run"):
                command += ["--ro-bind", str(entry), inside]
        made: set[str] = set()
        for part in () if parts is None else (*parts, _PRLIMIT, _SETPRIV):
            command += [*_parents(part, made), "--ro-bind", str(self.root / part[1:]), part]
        command += ["--dev", "/dev", "--remount-ro", "/dev"]
        if parts is None:
            command += ["--proc", "/proc", *_covered()]
        if _has_size(program):
            command += ["--size", str(limits.temporary)]
        command += ["--tmpfs", "/tmp", "--chmod", "1777", "/tmp", "--dir", "/run"]
        environment = {
            "PATH": "/usr/sbin:/usr/bin",
            "HOME": "/tmp",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        }
        if network:
            binds = [*_network_binds(environment), *binds]
        for host, inside, access in binds:
            path = Path(host)
            if not path.exists():
                raise WorldwiseError(f"{host} is to be seen as {inside} in the lab, but does not exist")
            if access == "ro" and who.kind == "another user":
                self._let_read(path)
            command += _parents(inside, made)
            command += ["--bind" if access == "rw" else "--ro-bind", str(path.resolve()), inside]
        command += ["--remount-ro", "/", "--chdir", chdir, "--clearenv"]
        for name, value in sorted((environment | dict(env or {})).items()):
            command += ["--setenv", name, value]
        command += ["--", _PRLIMIT, *limits.options()]
        if who.kind == "another user":
            command += [_SETPRIV, f"--reuid={who.uid}", f"--regid={who.uid}", "--clear-groups"]
            command += ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"]
        # bubblewrap's own environment can be read inside. It takes the filter from a descriptor, which a shell opens.
        kept = [f"{name}={os.environ[name]}" for name in _KEPT_VARIABLES if name in os.environ]
        opened = ["env", "-i", *kept, "sh", "-c", f'exec {_FILTER}<"$0" "$@"', sandbox.filter_file(debugging)]
        return [*opened, *command, *map(str, argv)]

    def _let_read(self, path: Path) -> None:
        """See to it that another user may read a file or folder of the cache. Raises WorldwiseError for another's."""
        mode = path.stat().st_mode
        wanted = 0o055 if stat.S_ISDIR(mode) else 0o044
        if mode & wanted == wanted:
            return
        if not path.resolve().is_relative_to(self.cache):
            raise WorldwiseError(
                f"{path}: only its owner may read it, and what runs in the lab is nobody on this host",
                f"let others read it: chmod -R go+rX {path}",
            )
        path.chmod(stat.S_IMODE(mode) | wanted)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        binds: Sequence[Bind] = (),
        chdir: str = "/",
        env: Mapping[str, str] | None = None,
        network: bool = False,
        log: Path | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        check: bool = True,
        limits: Limits = sandbox.BUILD,
        debugging: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` inside the lab (see `command`) and wait for it, at most `timeout` seconds.

        Both outputs go to the end of `log` if given, else into the result. Folders bound "rw" are lent to it. With
        `check`, a status other than 0 raises WorldwiseError with the last lines of the output; so does a timeout, a
        limit that is not kept, and bubblewrap being refused by the host, always.
        """
        command = self.command(
            argv, binds=binds, chdir=chdir, env=env, network=network, limits=limits, debugging=debugging
        )
        name = Path(argv[0]).name
        writable = [Path(host) for host, _, access in binds if access == "rw"]
        with contextlib.ExitStack() as stack:
            # Files and not pipes, so that the limit of a file's size holds for what is printed too.
            outputs: list[IO[bytes]] = []
            if log is not None:
                log.parent.mkdir(parents=True, exist_ok=True)
                outputs.append(stack.enter_context(log.open("ab")))
            else:
                outputs += [stack.enter_context(tempfile.TemporaryFile()) for _ in ("out", "err")]
            given: IO[bytes] | int = subprocess.DEVNULL
            if stdin is not None:
                given = stack.enter_context(tempfile.TemporaryFile())
                given.write(stdin.encode())
                given.seek(0)
            stack.enter_context(sandbox.lent(writable))
            if self._stopping:
                raise WorldwiseError("stopped")
            process = subprocess.Popen(command, stdin=given, stdout=outputs[0], stderr=outputs[-1])
            self._running.add(process)
            if self._stopping:
                process.kill()  # `stop` may have come before it could see this one
            try:
                self._wait(process, Watch(limits, writable), f"{name} in the lab", timeout, log)
            finally:
                # With bubblewrap goes its pid namespace, so all that was started inside.
                if process.poll() is None:
                    process.kill()
                    process.wait()
                self._running.discard(process)
            stdout, stderr = ("", "") if log is not None else (_text(file, name) for file in outputs)
            result = subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
        if self._stopping:
            raise WorldwiseError("stopped")
        if result.returncode != 0:
            text = end_of(log) if log else result.stdout + result.stderr
            tail = "\n".join(text.splitlines()[-30:])
            if refusal := refusal_in(text):
                raise refusal
            if check:
                broken = sandbox.broken_limit(result.returncode, tail, limits)
                hint = f"the whole output is in {log}" if log else ""
                raise WorldwiseError(
                    f"{name} in the lab failed with status {result.returncode}{f': {broken}' if broken else ''}",
                    hint,
                    tail,
                )
        return result

    def _wait(
        self, process: subprocess.Popen[bytes], watch: Watch, what: str, timeout: float | None, log: Path | None
    ) -> None:
        """Until it has ended. Raises WorldwiseError after `timeout` seconds, and if it does not keep its limits."""
        until = time.monotonic() + (math.inf if timeout is None else timeout)
        while not sandbox.ended(process, min(watch.every, until - time.monotonic())):
            see = f"see {log}" if log else ""
            if time.monotonic() >= until:
                raise WorldwiseError(f"{what} did not end within {timeout:.0f} s", see)
            problem = watch.problem(process.pid)
            if problem:
                raise WorldwiseError(f"{what} was stopped: {problem}", see)

    def require_entry(self) -> None:
        """Raise HostError, with the way out, if no work can be done here: the cache is read-only, or bubblewrap is not
        there or may not enter the lab. Takes some 10 ms.
        """
        paths.require_writable(self.cache)
        self.run(["true"])

    def stop(self) -> None:
        """End what `run` has started, from another thread; those calls then raise, and so does every later one."""
        self._stopping = True
        for process in list(self._running):
            process.kill()


def open_lab(console: Console | None = None, name: str = MAIN) -> Lab:
    """The lab, or another of ROOTS, as its lock says, in the user's cache; not built yet (see `Lab.ensure`).

    Raises KeyError for a name that no root has, WorldwiseError if the lock cannot be read.
    """
    return Lab(load_lock(ROOTS[name].lock), console=console or outgoing.console(stderr=True), name=name)


def refusal_in(text: str) -> HostError | None:
    """The error for a host that did not let bubblewrap do its work, if the output of what it ran says so."""
    said = re.findall(r"^(?:bwrap|prlimit|setpriv): .*$", text, re.MULTILINE)
    # That a program is not there is no refusal.
    return refused(said[-1]) if said and not re.search("execvp|failed to execute", said[-1]) else None


def refused(message: str) -> HostError:
    """The error for a host that does not let bubblewrap do its work; `message` is bubblewrap's own."""
    switch = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if os.geteuid() != 0 and switch.exists() and switch.read_text(encoding="ascii").strip() == "1":
        profile = paths.LAB / "apparmor-bwrap"
        hint = (
            "this system lets only programs with an AppArmor profile make user namespaces; give bubblewrap "
            f"one: `sudo install -m 644 {profile} /etc/apparmor.d/bwrap && "
            "sudo apparmor_parser -r /etc/apparmor.d/bwrap`, "
            "or run worldwise as root"
        )
    elif os.geteuid() != 0:
        hint = (
            "worldwise needs unprivileged user namespaces: see `sysctl kernel.unprivileged_userns_clone "
            "user.max_user_namespaces`; in a container, allow them or run as root with CAP_SYS_ADMIN"
        )
    else:
        hint = "in a container, root needs CAP_SYS_ADMIN and an unmasked /proc (`--privileged`)"
    return HostError("bubblewrap may not enter the lab on this system", hint, message)


def labs_in(cache: Path) -> list[Path]:
    """Directories of all labs in a cache, whatever their lock."""
    labs = cache / "labs"
    return sorted(path for path in labs.glob("*") if path.is_dir()) if labs.is_dir() else []


def remove_labs(keep: Sequence[Lab], everything: bool) -> list[Path]:
    """Remove labs and roots but those of `keep` (of one cache, at least one), or with `everything` all of them and
    the downloads. Returns what was removed."""
    lab = keep[0]
    kept = {place.directory for place in keep}
    lab.labs.mkdir(parents=True, exist_ok=True)
    with lab._locked():
        gone = [path for path in labs_in(lab.cache) if everything or path not in kept]
        logs = [path for path in lab.labs.glob("*.log") if everything or path.with_suffix("") not in kept]
        for path in gone:
            _remove(path)
        for path in logs:
            path.unlink()
        if everything and lab.store.directory.exists():
            gone.append(lab.store.directory)
            _remove(lab.store.directory)
    return gone


def directory_size(directory: Path) -> int:
    """Bytes the files below a directory take on disk; a file with several names counts once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    for parent, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                entry = os.lstat(os.path.join(parent, name))  # noqa: PTH118 -- tens of thousands of them
                if (entry.st_dev, entry.st_ino) not in seen:
                    seen.add((entry.st_dev, entry.st_ino))
                    total += entry.st_blocks * 512
    return total


# --- helpers ---


def _parents(inside: str, made: set[str]) -> list[str]:
    """Options that make the folders above a place which is not of the lab, for everybody to enter."""
    options: list[str] = []
    for parent in reversed(PurePosixPath(inside).parents[:-1]):
        if str(parent) not in made:
            made.add(str(parent))
            options += ["--dir", str(parent)]
    return options


def _covered() -> list[str]:
    """Options that leave the kernel's settings readable at most: file modes alone do not keep root's id from them."""
    options: list[str] = []
    for name in _COVERED_FOLDERS:
        if Path("/proc", name).is_dir():
            options += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    for name in _COVERED_FILES:
        if Path("/proc", name).exists():
            options += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    return options


@functools.cache
def _has_size(program: str) -> bool:
    """Whether this bubblewrap can limit a file system in memory (0.8 can)."""
    answer = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return "--size " in answer.stdout


def _text(file: IO[bytes], name: str) -> str:
    """What a program printed. Raises WorldwiseError if that is more than anyone reads."""
    size = file.seek(0, os.SEEK_END)
    if size > _MOST_PRINTED:
        raise WorldwiseError(f"{name} in the lab printed {files.size_words(size)}")
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def end_of(log: Path) -> str:
    """The end of a log, however long it is."""
    return sandbox.end_of(log, _LOG_END).decode("utf-8", "replace")


def missing_tool(program: str, package: str) -> HostError:
    """The error for a program that the host lacks, and the package that has it."""
    return HostError(
        f"{program} is not on this machine",
        f"start worldwise through `./worldwise`, which installs it, or install the package {package}",
    )


def _require_host() -> None:
    if platform.machine() != "x86_64":
        raise WorldwiseError(
            f"the lab's packages are for amd64, this machine is {platform.machine()}",
            "use an amd64 machine, or a virtual one",
        )
    for program, package in (
        ("mmdebstrap", "mmdebstrap"),
        ("bwrap", "bubblewrap"),
        ("tar", "tar"),
        ("dpkg-deb", "dpkg"),
    ):
        if shutil.which(program) is None:
            raise missing_tool(program, package)
    if os.geteuid() != 0 and shutil.which("newuidmap") is None:
        raise missing_tool("newuidmap", "uidmap")


def _witness_size(path: str) -> int:
    # A thousand of them, at every start.
    entry = os.lstat(path)  # noqa: PTH
    return 0 if stat.S_ISLNK(entry.st_mode) else entry.st_size


def _witness(root: Path) -> dict[str, int]:
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


def _finish(root: Path) -> None:
    """Take out what mmdebstrap copied from this host, and what depends on the day."""
    for name in ("var/log", "var/cache/apt", "var/lib/apt/lists", "var/tmp"):
        for path in (root / name).glob("*"):
            _remove(path)
    contents = {
        "resolv.conf": "",
        "hostname": "lab\n",
        "hosts": "127.0.0.1 localhost lab\n::1 localhost lab\n",
    }
    for name, text in contents.items():
        path = root / "etc" / name
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")


def _remove(path: Path) -> None:
    """Remove a file or a tree if it is there, read-only directories too."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    if not path.exists():
        return
    for parent, directories, _ in os.walk(path):
        for name in directories:
            directory = Path(parent, name)
            if not directory.is_symlink() and directory.stat().st_mode & 0o700 != 0o700:
                with contextlib.suppress(PermissionError):
                    directory.chmod(0o700)
    try:
        shutil.rmtree(path)
    except OSError as error:
        outgoing.echo(f"worldwise: {path} could not be removed: {error}", err=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # mmdebstrap tidies up (mounts, scratch root) on SIGINT, so it gets the time to.
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _build_error(log: Path, codes: tuple[int, int], title: str) -> WorldwiseError:
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


def _network_binds(environment: dict[str, str]) -> list[Bind]:
    """Hand in the host's resolver, certificate authorities and proxy; changes `environment`."""
    binds: list[Bind] = []
    resolver = Path("/etc/resolv.conf")
    if resolver.exists():
        binds.append((resolver, "/etc/resolv.conf", "ro"))
    bundle = Path(os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt")
    if bundle.is_file():
        inside = "/run/host/ca-certificates.crt"
        binds.append((bundle, inside, "ro"))
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE"):
            environment[name] = inside
    for name in ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            if variable in os.environ:
                environment[variable] = os.environ[variable]
    return binds + _cargo_binds(environment)


def _cargo_binds(environment: dict[str, str]) -> list[Bind]:
    """Hand in how the host's cargo reaches a registry, and nothing of how it builds; changes `environment`.

    What its configuration file has on that goes into CARGO_CONFIG, as the text of such a file. Files with credentials
    stay outside; cargo's variables for them (CARGO_REGISTRIES_...) are handed in.
    """
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    config: dict[str, Any] = {}
    for path in (home / "config", home / "config.toml"):
        try:
            config = tomllib.loads(path.read_text(encoding="utf-8"))
            break
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise WorldwiseError(f"{path} cannot be read: {error}", "correct it: cargo reads it too") from None
    kept = {name: value for name, value in config.items() if name in ("source", "registries", "http", "net")}
    environment["CARGO_CONFIG"] = "".join(f"{line}\n" for line in _toml_lines(kept))
    for name, value in os.environ.items():
        if re.match(r"CARGO_(HTTP|NET|REGISTRY|REGISTRIES)_", name):
            environment[name] = value
    chosen = environment.get("CARGO_HTTP_CAINFO") or kept.get("http", {}).get("cainfo")
    if isinstance(chosen, str) and Path(chosen).is_file():
        environment["CARGO_HTTP_CAINFO"] = "/run/host/cargo-ca-certificates.crt"
        return [(Path(chosen), environment["CARGO_HTTP_CAINFO"], "ro")]
    if "SSL_CERT_FILE" in environment:
        environment["CARGO_HTTP_CAINFO"] = environment["SSL_CERT_FILE"]
    return []


def _toml_lines(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """A table of strings, numbers, booleans, arrays of these and tables, as TOML of one key per line."""
    for name, value in table.items():
        key = prefix + json.dumps(name, ensure_ascii=False)
        if isinstance(value, Mapping):
            yield from _toml_lines(value, f"{key}.")
        else:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


__all__ = [
    "MAIN",
    "RECIPE",
    "ROOTS",
    "SOURCE_DATE_EPOCH",
    "Bind",
    "Lab",
    "Root",
    "directory_size",
    "labs_in",
    "missing_tool",
    "open_lab",
    "refusal_in",
    "refused",
    "remove_labs",
]
