# SPDX-License-Identifier: BSD-2-Clause
"""The secure key cache (keycache/), built in the root `keycache`: for the measured machine, as Debian packages, for
fuzzing."""

import contextlib
import functools
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.families.keycache.spec import SPEC
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.sandbox.limits import WITHOUT_ADDRESS_LIMIT
from worldwise.lab.sandbox.network import Bind

ROOT = "keycache"
BROKER_ROOT = "broker"
ARCHITECTURE = "arm64"
TA_UUID = SPEC.apps["keycache"].uuid
Notify = Callable[[str], None]

# Folders that may have shared libraries. A library that is neither here nor in the root is an error.
_RUNTIME = (
    "libatomic1",
    "libcap2",
    "libgcc-s1",
    "libhiredis1.1.0",
    "libjemalloc2",
    "liblzf1",
    "libssl3t64",
    "libstdc++6",
    "libsystemd0",
    "libuv1t64",
    "redis-tools",
)
# Of the TA's tests, what `keycache-attempts` is made of.
_ATTEMPTS = tuple(
    f"tests/ta/{name}"
    for name in (
        "attempts.c",
        "attempts.h",
        "authority.c",
        "authority.h",
        "commands.c",
        "test.h",
        "shim/shim.h",
        "shim/tee_internal_api.h",
    )
)
# How a signed TA begins, and within how many bytes it names its UUID.
_TA_MAGIC = b"HSTO"
_TA_HEADERS_BYTES = 4096


def _silent(_: str) -> None:
    pass


def _trees(*names: str) -> dict[str, Path]:
    """Files and folders of keycache/ as a recipe's trees."""
    return {f"keycache/{name}": paths.KEYCACHE / name for name in names}


def programs_recipe() -> Recipe:
    """Server, tool and library for arm64, and Redis's clients, with the libraries that all these need."""
    return Recipe(
        name="keycache",
        script="keycache.sh",
        outputs=("built/root/sbin/keycached", "built/dev/lib/libkeycache.a"),
        packages=_RUNTIME,
        trees=_trees("Makefile", "include", "server", "client", "tests/device", *_ATTEMPTS),
        helpers=("keycache-build.sh",),
        architecture=ARCHITECTURE,
    )


def native_recipe() -> Recipe:
    """The tool for the root's own architecture."""
    return Recipe(
        name="keycache-native",
        script="keycache-native.sh",
        outputs=("bin/keycache",),
        trees=_trees("Makefile", "include", "server", "client"),
        helpers=("keycache-build.sh",),
    )


def packages_recipe(ta: Path | None = None, mosquitto: Path | None = None) -> Recipe:
    """The Debian packages; `ta` is a signed TA for the server's package, `mosquitto` has include/ for the plugin's."""
    return Recipe(
        name="keycache-packages",
        script="keycache-packages.sh",
        outputs=(),
        trees=_trees(
            *("CHANGELOG.md", "Makefile", "README.md", "SECURITY.md", "docs"),
            *("client", "debian", "include", "server"),
        )
        | ({"keycache.ta": ta} if ta else {})
        | ({"mosquitto": mosquitto / "include"} | _trees("mosquitto") if mosquitto else {}),
        settings={"ARCHITECTURE": ARCHITECTURE},
    )


def fuzz_recipe() -> Recipe:
    """The fuzz target, for the root's own architecture."""
    return Recipe(
        name="keycache-fuzz",
        script="keycache-fuzz.sh",
        outputs=("fuzz_requests",),
        trees=_trees("Makefile", "fuzz/fuzz_requests.c", "include", "server", "ta", "tests/ta/shim"),
    )


def mosquitto_recipe(architecture: str = "") -> Recipe:
    """The MQTT broker mosquitto, its clients and headers, for the root's own architecture or for ARCHITECTURE."""
    return Recipe(
        name="-".join(filter(None, ("mosquitto", architecture))),
        script="mosquitto.sh",
        outputs=("mosquitto", "mosquitto_pub", "mosquitto_sub", "include/mosquitto.h"),
        sources=("mosquitto",),
        settings={"CROSS_COMPILE": "aarch64-linux-gnu-"} if architecture else {},
    )


def broker_recipe() -> Recipe:
    """The broker with its plugin for arm64, and the key cache's server with the TA's code in its own process."""
    return Recipe(
        name="broker",
        script="broker.sh",
        outputs=("built/root/bin/mosquitto", "built/dev/plugin/libkeycache.a"),
        packages=("libcjson1",),
        trees=_trees("Makefile", "client", "include", "mosquitto", "server", "ta", "tests/ta/shim"),
        needs={"mosquitto": mosquitto_recipe(ARCHITECTURE)},
        architecture=ARCHITECTURE,
    )


@functools.cache
def broker_root() -> Lab:
    """The root of the broker and its plugin, built if it is missing. Raises WorldwiseError as `Lab.ensure` does."""
    lab = open_lab(name=BROKER_ROOT)
    lab.ensure()
    return lab


def mosquitto(notify: Notify = _silent) -> Path:
    """A folder with mosquitto, mosquitto_pub, mosquitto_sub and include/, which run in the broker's root.

    Raises WorldwiseError if the root or the programs cannot be built.
    """
    return ImageStore(broker_root(), notify).get(mosquitto_recipe()).directory


def broker(notify: Notify = _silent) -> Path:
    """A folder with the broker for a measured machine, cross-compiled for arm64.

    `root/` is laid over what `programs` gives: bin/mosquitto, bin/keycached-native, and in lib/ the plugin and a
    library that the broker needs. `dev/` has the plugin's objects and headers.

    Raises WorldwiseError if the root or the programs cannot be built.
    """
    return ImageStore(broker_root(), notify).get(broker_recipe()).file("built")


@functools.cache
def root() -> Lab:
    """The root, built if it is missing. Raises WorldwiseError as `Lab.ensure` does."""
    lab = open_lab(name=ROOT)
    lab.ensure()
    return lab


@functools.cache
def _store(notify: Notify) -> ImageStore:
    return ImageStore(root(), notify)


def programs(notify: Notify = _silent) -> Path:
    """A folder with the key cache's files for a measured machine, cross-compiled for arm64.

    `root/` is laid over an initramfs: sbin/keycached, bin/{keycache,keycache-attempts,redis-cli,redis-benchmark}, and
    in lib/ their shared libraries that the initramfs lacks. `dev/` has include/ and lib/ (libkeycache.a and the
    libraries it is linked with) for programs of other recipes. The same sources give the same bytes; the folder has
    nothing else.

    Raises WorldwiseError if the root or the programs cannot be built.
    """
    return _store(notify).get(programs_recipe()).file("built")


def native(notify: Notify = _silent) -> Path:
    """A folder with the tool bin/keycache, which runs in the root. Raises WorldwiseError as `programs` does."""
    return _store(notify).get(native_recipe()).directory


def packages(output: Path, ta: Path | None = None, notify: Notify = _silent, *, plugin: bool = False) -> list[Path]:
    """Build the Debian packages for arm64 and copy them to the folder `output`, which is made if it is not there.

    The same sources and the same TA give the same bytes. Returns the files.

    Args:
        output: files of the same names in it are replaced.
        ta: a TA signed by a dev kit, for the server's package; without it the package has no TA.
        notify: called with a line of text when a build begins or ends.
        plugin: whether the plugin for mosquitto is among them; its headers are taken from the broker's root.

    Raises WorldwiseError if `ta` is not the key cache's, `output` cannot be written, or the build fails.
    """
    if ta is not None:
        require_ta(ta)
    _make(output)
    built = _store(notify).get(packages_recipe(ta, mosquitto(notify) if plugin else None)).file("packages")
    copies = []
    for file in sorted(built.iterdir()):
        try:
            copies.append(Path(shutil.copyfile(file, output / file.name)))
        except OSError as error:
            raise WorldwiseError(f"{output / file.name}: {error.strerror}", "name another folder") from None
    return copies


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorldwiseError(f"{folder}: {error.strerror}", "name a folder that exists or can be made") from None


def require_ta(ta: Path) -> None:
    """Raises WorldwiseError if a file is not a key cache's TA that can be read."""
    way_out = f"name the file {TA_UUID}.ta that `make -C keycache ta` made with your platform's dev kit"
    try:
        with ta.open("rb") as file:
            head = file.read(_TA_HEADERS_BYTES)
    except OSError as error:
        raise WorldwiseError(f"{ta}: {error.strerror}", way_out) from None
    if not head.startswith(_TA_MAGIC):
        raise WorldwiseError(f"{ta} is not a signed TA", way_out)
    if uuid.UUID(TA_UUID).bytes not in head:
        raise WorldwiseError(f"{ta} is another TA than the key cache's, or is encrypted", way_out)


# --- fuzzing ---

# The longest input in bytes, and the seconds after which an input counts as hanging.
_LONGEST_INPUT = 2048
_HANGING = 10
_FINDINGS = ("crash-", "leak-", "oom-", "timeout-")
# libFuzzer has a line such as "#4096 pulse  cov: 942 ft: 3119 corp: 270/26Kb lim: 595 ..." at each power of two and
# whenever there is something new.
_PULSE = re.compile(r"^#(\d+)\t.*?\bcov: (\d+) ft: (\d+)", re.MULTILINE)
_EXECUTED = re.compile(r"^stat::number_of_executed_units:\s*(\d+)$", re.MULTILINE)
_MINIMISE_SECONDS = 3600


@dataclass(frozen=True)
class Fuzzed:
    """The result of a fuzzing campaign.

    Attributes:
        executions: executions of the target, by all jobs together.
        coverage: edges of the compiled code that the best job reached.
        features: libFuzzer's finer count (how often an edge, and with which values), of the same job.
        inputs: the number of files in the corpus.
        size: the bytes of these files.
        seconds: wall time.
        findings: inputs that failed by a sanitizer, a check of the target, or a limit of time or memory.
        logs: libFuzzer's output, for each job.
    """

    executions: int
    coverage: int
    features: int
    inputs: int
    size: int
    seconds: float
    findings: tuple[Path, ...]
    logs: tuple[Path, ...]


@dataclass
class Fuzzer:
    """Runs the fuzz target in the root.

    Args:
        folder: for logs, findings and, unless one is named, the corpus; made if it is not there. One campaign at a time
            works in it.
        corpus: a folder of inputs to begin with and to add to, beside those of the repository, which stay as they are.
        notify: called with a line of text when a build begins or ends.
    """

    folder: Path
    corpus: Path | None = None
    notify: Notify = _silent
    # A process group of its own: ending a campaign ends all its processes.
    _lab: Lab = field(default_factory=lambda: open_lab(name=ROOT))

    def __post_init__(self) -> None:
        self.corpus = self.corpus or self.folder / "corpus"
        self._findings = self.folder / "findings"

    def run(self, runs: int, jobs: int = 1, progress: Callable[[int], None] = lambda _: None) -> Fuzzed:
        """Execute the target `runs` times, shared by `jobs` processes; a job that finds something ends early.

        `progress` is called about once a second with the executions so far.

        Raises WorldwiseError if the target cannot be built or does not run, or another campaign is at work.
        """
        with self._alone():
            return self._run(runs, jobs, progress)

    def _run(self, runs: int, jobs: int, progress: Callable[[int], None]) -> Fuzzed:
        binds = self._prepare()
        shares = [runs // jobs + (job < runs % jobs) for job in range(jobs)]
        logs = tuple(self.folder / f"job-{job}.log" for job in range(jobs))
        for log in logs:
            log.unlink(missing_ok=True)
        before = self._found()
        began = time.monotonic()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                waiting = {
                    pool.submit(self._job, share, binds, log) for share, log in zip(shares, logs, strict=True) if share
                }
                while waiting:
                    done, waiting = wait(waiting, timeout=1)
                    for one in done:
                        one.result()
                    progress(sum(_pulse(log)[0] for log in logs))
            except BaseException:
                self._lab.stop()
                raise
        pulses = [_pulse(log) for log in logs]
        inputs = [path.stat().st_size for path in self._corpus().iterdir() if path.is_file()]
        _, coverage, features = max(pulses, key=lambda pulse: pulse[1:])
        return Fuzzed(
            executions=sum(pulse[0] for pulse in pulses),
            coverage=coverage,
            features=features,
            inputs=len(inputs),
            size=sum(inputs),
            seconds=time.monotonic() - began,
            findings=tuple(sorted(self._found() - before)),
            logs=logs,
        )

    def minimise(self, output: Path) -> int:
        """Copy to the folder `output` the few inputs that reach every edge the corpus and the repository's reach.

        Returns how many there are then. Raises WorldwiseError.
        """
        with self._alone():
            return self._minimise(output)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other campaigns away from the logs: the figures are read from their ends."""
        _make(self.folder)
        lock = FileLock(self.folder / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise WorldwiseError(
                f"another campaign is at work in {self.folder}",
                "wait until it has ended; WORLDWISE_CACHE names another cache to work in beside it",
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _minimise(self, output: Path) -> int:
        binds = self._prepare()
        _make(output)
        log = self.folder / "minimise.log"
        log.unlink(missing_ok=True)
        # Only edges: counting how often each is passed would keep ten times as many inputs.
        status = self._target(
            ["-merge=1", "-set_cover_merge=1", "-use_counters=0", f"-max_len={_LONGEST_INPUT}"],
            ["/output", "/corpus", "/in/corpus"],
            [*binds, (output, "/output", "rw")],
            log,
            timeout=_MINIMISE_SECONDS,
        )
        if status != 0:
            raise _ended(status, log)
        return sum(path.is_file() for path in output.iterdir())

    def _prepare(self) -> list[Bind]:
        self._lab.ensure()
        target = ImageStore(self._lab, self.notify).get(fuzz_recipe())
        for place in (self._corpus(), self._findings):
            _make(place)
        return [
            (target.directory, "/in/target", "ro"),
            (paths.KEYCACHE / "fuzz/requests.dict", "/in/requests.dict", "ro"),
            (self._inputs(), "/in/corpus", "ro"),
            (self._corpus(), "/corpus", "rw"),
            (self._findings, "/findings", "rw"),
        ]

    def _job(self, runs: int, binds: list[Bind], log: Path) -> None:
        options = [f"-runs={runs}", f"-max_len={_LONGEST_INPUT}", f"-timeout={_HANGING}", "-print_final_stats=1"]
        folders = ["/corpus", "/in/corpus"]
        before = self._found()
        status = self._target([*options, "-artifact_prefix=/findings/"], folders, binds, log)
        if status != 0 and self._found() == before:
            raise _ended(status, log)

    def _target(
        self, options: list[str], folders: list[str], binds: list[Bind], log: Path, timeout: float | None = None
    ) -> int:
        return self._lab.run(
            ["/in/target/fuzz_requests", *options, "-dict=/in/requests.dict", *folders],
            binds=binds,
            chdir="/tmp",
            # Names and line numbers in the sanitizers' reports.
            env={"ASAN_OPTIONS": "allow_addr2line=1", "UBSAN_OPTIONS": "print_stacktrace=1"},
            log=log,
            timeout=timeout,
            check=False,
            limits=WITHOUT_ADDRESS_LIMIT,
            debugging=True,
        ).returncode

    def _inputs(self) -> Path:
        """The repository's inputs, each a file."""
        folder = self.folder / "inputs"
        shutil.rmtree(folder, ignore_errors=True)
        _make(folder)
        command = [sys.executable, "-I", str(paths.KEYCACHE / "fuzz/corpus.py"), "unpack", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise WorldwiseError("the inputs of keycache/fuzz/corpus.txt are not readable", details=done.stderr.strip())
        return folder

    def _corpus(self) -> Path:
        assert self.corpus is not None
        return self.corpus

    def _found(self) -> set[Path]:
        return {path for path in self._findings.iterdir() if path.name.startswith(_FINDINGS)}


def _ended(status: int, log: Path) -> WorldwiseError:
    tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
    return WorldwiseError(f"the fuzz target ended with status {status}", f"the whole output is in {log}", tail)


def _pulse(log: Path) -> tuple[int, int, int]:
    """The last executions, edges and features in a log; zeros if it has none yet."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return 0, 0, 0
    lines = _PULSE.findall(text)
    executions, coverage, features = map(int, lines[-1]) if lines else (0, 0, 0)
    final = _EXECUTED.findall(text)
    return int(final[-1]) if final else executions, coverage, features
