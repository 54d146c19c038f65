# SPDX-License-Identifier: BSD-2-Clause
"""Debian packages by digest: what the lock names, where a mirror has it, the store it is kept in here."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from worldwise.base import outgoing, paths
from worldwise.base.errors import WorldwiseError

LOCK_FORMAT = 1
# The architecture of every root.
NATIVE = "amd64"
APT_HELPER = Path("/usr/lib/apt/apt-helper")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR_VARIABLE = "WORLDWISE_DEBIAN_MIRROR"
OTHER_MIRROR = f"set {MIRROR_VARIABLE} to a mirror or an archive of old packages that still has it"
RELOCK = (
    "or run `./worldwise lab relock` (with the root's name if it is not the lab's own), which locks what the mirror "
    "has today: a lab of another lock has another digest, so every count must be measured anew"
)
# apt fetches the files of one call over one connection, pipelined; a few calls at a time fill the line.
_BATCH = 16
_WORKERS = 4


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class File(_Strict):
    """A file of the archive: its name, size in bytes and SHA-256 (64 hexadecimal digits)."""

    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+~_%:-]*$")
    size: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Package(File):
    """A binary package. `source` is the source package, whose name makes the pool path; `follows` is the
    metapackage that led here, empty for most."""

    name: str
    version: str
    architecture: str
    source: str
    follows: str = ""

    @property
    def foreign(self) -> bool:
        """Whether it is for other machines than those that roots run on."""
        return self.architecture not in (NATIVE, "all")

    @property
    def qualified(self) -> str:
        """Its name as apt takes it: with the architecture if that is a foreign one."""
        return f"{self.name}:{self.architecture}" if self.foreign else self.name


class Source(_Strict):
    """A source package and its files. `package` is the archive's name for it where another version has the name."""

    name: str
    version: str
    files: list[File]
    package: str = ""


class Lock(_Strict):
    """Everything a root is made of, exactly; for the main one, the lab, the measured machines too."""

    format: int
    suite: str
    lab: list[Package]
    target: list[Package]
    sources: list[Source]

    def digest(self, recipe: int) -> str:
        """SHA-256 (hexadecimal) over the lock's content, whatever the file's layout, and the recipe."""
        content = {"recipe": recipe, "lock": self.model_dump()}
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def versions(self) -> dict[str, str]:
        """Version of each thing locked: `name` (lab), `name:arch` (target, and foreign ones of the lab), `src:name`."""
        found = {package.qualified: package.version for package in self.lab}
        found |= {f"{package.name}:{package.architecture}": package.version for package in self.target}
        found |= {f"src:{source.name}": source.version for source in self.sources}
        return found


@dataclass(frozen=True)
class Wanted:
    """One file to have: what it belongs to, for messages, and where the archive's pool keeps it."""

    label: str
    path: str
    file: File


def pool_path(source: str, file: str) -> str:
    """Path of `file` below a mirror's root. `source` is the source package's name; the component is main."""
    prefix = source[:4] if source.startswith("lib") else source[0]
    return f"pool/main/{prefix}/{source}/{file}"


def wanted_package(package: Package) -> Wanted:
    """What to fetch for a binary package."""
    label = f"{package.name} {package.version} ({package.architecture})"
    return Wanted(label, pool_path(package.source, package.file), package)


def wanted_source(source: Source) -> list[Wanted]:
    """What to fetch for a source package, one entry per file."""
    label = f"{source.name} {source.version} (source)"
    package = source.package or source.name
    return [Wanted(label, pool_path(package, file.file), file) for file in source.files]


def load_lock(path: Path = paths.LAB / "lock.json") -> Lock:
    """Read a lock. Raises WorldwiseError naming the file and the key if it is missing or wrong."""
    way_out = "take the file from git again, or make it with `./worldwise lab relock` and the root's name"
    try:
        lock = Lock.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise WorldwiseError(f"{path}: there is no lock", way_out) from None
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise WorldwiseError(f"{path}: not a valid lock", way_out, "\n".join(lines)) from None
    if lock.format != LOCK_FORMAT:
        raise WorldwiseError(f"{path}: format {lock.format}, this worldwise reads format {LOCK_FORMAT}", way_out)
    return lock


def dump_lock(lock: Lock) -> str:
    """The lock as text: sorted, one line per package or source file, so that a change reads well."""

    def line(item: BaseModel) -> str:
        return json.dumps(item.model_dump(exclude_defaults=True), sort_keys=True)

    def array(lines: Iterable[str], indent: str = "") -> str:
        text = ",\n".join(indent + line for line in lines)
        return f"[\n{text}\n]" if text else "[]"

    def packages(items: list[Package]) -> str:
        return array((line(item) for item in sorted(items, key=lambda item: (item.architecture, item.name))), "  ")

    def source(item: Source) -> str:
        files = ",\n".join("    " + line(file) for file in sorted(item.files, key=lambda file: file.file))
        head = f'"name": {json.dumps(item.name)}, "version": {json.dumps(item.version)}'
        head += f', "package": {json.dumps(item.package)}' if item.package else ""
        return f'  {{{head}, "files": [\n{files}\n  ]}}'

    sources = array(source(item) for item in sorted(lock.sources, key=lambda item: item.name))
    return (
        f'{{\n"format": {lock.format},\n"suite": {json.dumps(lock.suite)},\n'
        f'"lab": {packages(lock.lab)},\n"target": {packages(lock.target)},\n"sources": {sources}\n}}\n'
    )


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# --- mirrors ---


def _apt_environment() -> dict[str, str]:
    # Messages are read below, so they must be the untranslated ones.
    return os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}


def _apt_options() -> list[str]:
    options = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]
    # apt has its own idea of where certificate authorities are; a host that says otherwise means apt too.
    authorities = os.environ.get("SSL_CERT_FILE", "")
    if authorities and Path(authorities).is_file():
        options += ["-o", f"Acquire::https::CaInfo={authorities}"]
    return options


def _is_mirror(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https", "file", "copy")


def parse_index_targets(text: str, codename: str) -> list[str]:
    """Addresses of Debian's main archive among `apt-get indextargets` lines
    `address|release|component|origin|label`, without security and updates, first come first.

    `codename` is the host's own if the host is Debian, else empty: apt knows an origin only after an
    update, so without one the host's own suite is taken by its name.
    """
    found: list[str] = []
    for line in text.splitlines():
        address, release, component, origin, label = (line.split("|") + [""] * 5)[:5]
        known = origin == "Debian" and label == "Debian"
        guessed = not origin and codename != "" and release == codename
        outside = release.endswith(("-security", "-updates", "-backports"))
        if component == "main" and (known or guessed) and not outside and _is_mirror(address):
            found.append(address)
    return list(dict.fromkeys(found))


def _host_codename() -> str:
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if values.get("ID", "").strip('"') != "debian":
        return ""
    return values.get("VERSION_CODENAME", "").strip('"')


def _host_mirrors() -> list[str]:
    columns = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(LABEL)"
    result = subprocess.run(
        ["apt-get", "indextargets", "--format", columns, "Created-By: Packages"],
        env=_apt_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return parse_index_targets(result.stdout, _host_codename())


def _mmdebstrap_mirror(suite: str) -> list[str]:
    """What mmdebstrap would take by itself: it writes its sources, then runs the hook, which ends it."""
    mode = "root" if os.geteuid() == 0 else "unshare"
    command = ["mmdebstrap", f"--mode={mode}", "--variant=custom", "--format=tar"]
    command += ['--setup-hook=cat "$1"/etc/apt/sources.list >&2; exit 1', suite, "-"]
    result = subprocess.run(
        command, env=_apt_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    found = re.findall(rf"^deb (?:\[[^\]]*\] )?(\S+) {re.escape(suite)} ", result.stderr, re.MULTILINE)
    return [address for address in found if _is_mirror(address)]


def mirrors(suite: str) -> Iterator[str]:
    """Mirrors to try in order: WORLDWISE_DEBIAN_MIRROR if set, else the host's, then mmdebstrap's."""
    chosen = os.environ.get(MIRROR_VARIABLE, "").split()
    seen: set[str] = set()
    sources: list[Callable[[], list[str]]] = [_host_mirrors, lambda: _mmdebstrap_mirror(suite)]
    if chosen:
        sources = [lambda: chosen]
    for source in sources:
        for address in source():
            address = address.rstrip("/")
            if address not in seen:
                seen.add(address)
                yield address


# --- the store ---


@dataclass
class _Failure:
    kind: str
    mirror: str
    message: str


@dataclass
class Store:
    """Downloaded files, in `directory`/sha256/<digest>. Never fetched twice; safe for runs side by side."""

    directory: Path
    suite: str
    console: Console = field(default_factory=lambda: outgoing.console(stderr=True))

    def path(self, file: File) -> Path:
        """Where the file is, or would be."""
        return self.directory / "sha256" / file.sha256

    def has(self, file: File) -> bool:
        """Whether it is there, judged by its size alone (cheap)."""
        try:
            return self.path(file).stat().st_size == file.size
        except FileNotFoundError:
            return False

    def verified(self, file: File) -> bool:
        """Whether it is there with the right content."""
        return self.has(file) and file_sha256(self.path(file)) == file.sha256

    def ensure(self, wanted: Sequence[Wanted]) -> None:
        """Have all of `wanted`, verified by size and SHA-256; what is missing or damaged is downloaded.

        Raises WorldwiseError naming package and version if a mirror no longer has a file, gives another
        one than was locked, or cannot be reached.
        """
        if not self._missing(wanted):
            return
        (self.directory / "sha256").mkdir(parents=True, exist_ok=True)
        with FileLock(self.directory / "lock"):
            missing = self._missing(wanted)
            if missing:
                self._download(missing)

    def _missing(self, wanted: Sequence[Wanted]) -> list[Wanted]:
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

    def _download(self, wanted: list[Wanted]) -> None:
        if not APT_HELPER.exists():
            raise WorldwiseError(
                "apt is not on this machine, and the lab's packages are fetched with it",
                "install apt (Debian or Ubuntu), or fill the cache on another machine",
            )
        total = sum(item.file.size for item in wanted)
        require_space(self.directory, total, "the lab's packages")
        failures: dict[Wanted, _Failure] = {}
        remaining = wanted
        if not self.console.is_terminal:
            self.console.print(f"worldwise: downloading {len(wanted)} files, {total / 1e6:.0f} MB")
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
            task = progress.add_task("downloading packages", total=total)

            def advance() -> None:
                done = sum(item.file.size for item in wanted if self.has(item.file))
                running = sum(_size_now(path) for path in partial.iterdir())
                progress.update(task, completed=min(total, done + running))

            for mirror in mirrors(self.suite):
                failures = self._from_mirror(mirror, remaining, partial, advance)
                remaining = list(failures)
                if not remaining:
                    return
        raise _download_error(failures, remaining)

    def _from_mirror(
        self, mirror: str, wanted: list[Wanted], partial: Path, advance: Callable[[], None]
    ) -> dict[Wanted, _Failure]:
        batches = [wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)]
        failures: dict[Wanted, _Failure] = {}
        with ThreadPoolExecutor(_WORKERS) as pool:
            futures = [pool.submit(self._batch, mirror, batch, partial) for batch in batches]
            try:
                for future in futures:
                    while not future.done():
                        advance()
                        wait([future], timeout=0.2)
                    failures |= future.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return failures

    def _batch(self, mirror: str, wanted: list[Wanted], partial: Path) -> dict[Wanted, _Failure]:
        # file: would leave a link to the mirror, which may vanish; copy: leaves a copy.
        base = re.sub(r"^file:(//)?", "copy:", mirror)
        command = [str(APT_HELPER), *_apt_options(), "download-file"]
        for item in wanted:
            # The digest is checked below, so that the error can name both.
            command += [f"{base}/{quote(item.path, safe='/+~:%')}", str(partial / item.file.sha256), ""]
        result = subprocess.run(
            command,
            env=_apt_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        reasons = _apt_failures(result.stderr)
        failures: dict[Wanted, _Failure] = {}
        for item in wanted:
            path = partial / item.file.sha256
            if not path.exists():
                message = reasons.get(item.file.file) or result.stderr.strip().splitlines()[-1:] or "no answer"
                text = message if isinstance(message, str) else "".join(message)
                failures[item] = _Failure(_kind(text), mirror, text)
                continue
            got = file_sha256(path)
            if got != item.file.sha256:
                text = (
                    f"{item.file.file}: locked SHA-256 {item.file.sha256} ({item.file.size} bytes), "
                    f"got {got} ({path.stat().st_size} bytes)"
                )
                failures[item] = _Failure("changed", mirror, text)
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


def _apt_failures(stderr: str) -> dict[str, str]:
    """Reason of each file apt could not fetch, by file name, from `E: Failed to fetch address  reason`."""
    found = re.findall(r"^E: Failed to fetch (\S+) +(.*)$", stderr, re.MULTILINE)
    return {unquote(address.rsplit("/", 1)[-1]): reason for address, reason in found}


def _kind(message: str) -> str:
    if re.search(r"^(404|410)\b|File not found|Failed to stat", message):
        return "vanished"
    if re.search(r"resolv|connect|unreachable|timed out|Connection|failure in name", message, re.IGNORECASE):
        return "network"
    return "other"


def _download_error(failures: dict[Wanted, _Failure], remaining: list[Wanted]) -> WorldwiseError:
    if not failures:
        return WorldwiseError(
            "no Debian mirror is known on this machine",
            f"set {MIRROR_VARIABLE} to the address of one (what stands before `dists/` and `pool/`)",
        )
    details = "\n".join(f"{item.label}: {failures[item].message}" for item in remaining[:20])
    if len(remaining) > 20:
        details += f"\n... and {len(remaining) - 20} more"
    # One vanished package says more than the failures around it, a dead network more than an odd answer.
    for kind in ("changed", "vanished", "network", "other"):
        item = next((item for item in remaining if failures[item].kind == kind), None)
        if item is None:
            continue
        failure = failures[item]
        if kind == "changed":
            return WorldwiseError(
                f"{item.label} from {failure.mirror} is not the file that was locked: {failure.message}",
                "a proxy or the mirror gives something else: try again, or another mirror with "
                f"{MIRROR_VARIABLE}; nothing of it was kept",
                details,
            )
        if kind == "vanished":
            return WorldwiseError(
                f"{item.label} has vanished from the mirror {failure.mirror}",
                f"{OTHER_MIRROR}, {RELOCK}",
                details,
            )
        if kind == "network":
            return WorldwiseError(
                f"the mirror {failure.mirror} cannot be reached: {failure.message}",
                "check the network and the proxy settings (http_proxy, https_proxy), or choose another "
                f"mirror with {MIRROR_VARIABLE}; what was downloaded so far is kept",
                details,
            )
        return WorldwiseError(
            f"{item.label} could not be fetched from {failure.mirror}: {failure.message}",
            f"try again, or choose another mirror with {MIRROR_VARIABLE}; what was downloaded so far is kept",
            details,
        )
    raise AssertionError("a failure of an unknown kind")


def require_space(directory: Path, needed: int, purpose: str) -> None:
    """Raise WorldwiseError unless `needed` bytes (and a tenth more) are free where `directory` is."""
    free = shutil.disk_usage(directory).free
    if free < needed * 1.1:
        raise WorldwiseError(
            f"not enough disk space in {directory}: {purpose} needs {needed * 1.1 / 1e6:.0f} MB, "
            f"{free / 1e6:.0f} MB are free",
            "free some space, or set WORLDWISE_CACHE to a directory on a larger disk",
        )


# --- making a lock ---


class _Suites(_Strict):
    binary: str
    source: list[str] = []


class _LabWish(_Strict):
    """What is installed; `name:architecture` is a library for another machine, to compile and link against."""

    packages: list[str]


class _TargetWish(_Strict):
    packages: list[str]
    follow: list[str] = []


class _SourceWish(_Strict):
    """A source package; of one whose changes by Debian do not matter, or are not to be had, the original alone.

    `package` is the archive's name for it where another version of it is wanted too, under that name.
    """

    version: str
    only: Literal["orig"]
    package: str = ""


class Wish(_Strict):
    """lab/packages.toml, or another root's file: what is wanted, before versions are known."""

    suites: _Suites
    lab: _LabWish
    target: dict[str, _TargetWish] = {}
    sources: dict[str, str | _SourceWish] = {}

    def foreign(self) -> list[str]:
        """The architectures of packages that are not the roots' own."""
        named = {name.partition(":")[2] for name in self.lab.packages}
        return sorted((named | set(self.target)) - {"", NATIVE})

    def source_versions(self) -> dict[str, str]:
        """The version of each source package that is wanted."""
        return {name: wish if isinstance(wish, str) else wish.version for name, wish in self.sources.items()}


def load_wish(path: Path = paths.LAB / "packages.toml") -> Wish:
    """Read such a file. Raises WorldwiseError naming the file and key if it is missing or wrong."""
    try:
        return Wish.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise WorldwiseError(f"{path}: no such file", "take it from git again") from None
    except tomllib.TOMLDecodeError as error:
        raise WorldwiseError(f"{path}: {error}", "correct the file") from None
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise WorldwiseError(f"{path}: not valid", "correct these keys", "\n".join(lines)) from None


def _paragraphs(text: str) -> Iterator[dict[str, str]]:
    """Deb822 paragraphs; continuation lines are kept, joined by line ends."""
    for block in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        key = ""
        for line in block.splitlines():
            if line[:1] in (" ", "\t"):
                fields[key] += "\n" + line.strip()
            elif ":" in line:
                key, value = line.split(":", 1)
                fields[key] = value.strip()
        if fields:
            yield fields


class _AptRoot:
    """An apt of our own in a scratch directory: nothing installed, only the wanted suites."""

    def __init__(self, directory: Path, mirror: str, wish: Wish) -> None:
        self._mirror = mirror
        for name in ("lists/partial", "cache/archives/partial"):
            (directory / name).mkdir(parents=True)
        (directory / "status").touch()
        origin = f"[signed-by={KEYRING}] {mirror}"
        lines = [f"deb {origin} {wish.suites.binary} main"]
        lines += [f"deb-src {origin} {suite} main" for suite in wish.suites.source]
        (directory / "sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
        architectures = " ".join(f'"{name}";' for name in [NATIVE, *wish.foreign()])
        configuration = f"""
            Dir::State "{directory}"; Dir::State::lists "{directory}/lists";
            Dir::State::status "{directory}/status";
            Dir::Cache "{directory}/cache";
            Dir::Etc::sourcelist "{directory}/sources.list"; Dir::Etc::sourceparts "-";
            Dir::Etc::preferences "-"; Dir::Etc::preferencesparts "-";
            APT::Architecture "{NATIVE}"; #clear APT::Architectures;
            APT::Architectures {{ {architectures} }};
            #clear APT::Update;
            Acquire::Languages "none"; APT::Install-Recommends "false";
        """
        self._configuration = directory / "apt.conf"
        self._configuration.write_text(configuration.replace("; ", ";\n"), encoding="utf-8")

    def call(self, program: str, *arguments: str) -> str:
        """Standard output of an apt program. Raises WorldwiseError with its messages if it fails."""
        result = subprocess.run(
            [program, "-c", str(self._configuration), *_apt_options(), *arguments],
            env=_apt_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        failed = result.returncode != 0 or re.search(r"^[EW]: Failed to fetch", result.stderr, re.MULTILINE)
        if failed:
            raise WorldwiseError(
                f"apt could not resolve the packages from {self._mirror} ({program} {arguments[0]})",
                "check the names in the root's file in lab/, the network, or choose another mirror with "
                f"{MIRROR_VARIABLE}",
                result.stderr.strip(),
            )
        return result.stdout


def _package(fields: dict[str, str], follows: str = "") -> Package:
    source = fields.get("Source", fields["Package"]).split(" ")[0]
    filename = fields["Filename"]
    file = filename.rsplit("/", 1)[-1]
    if filename != pool_path(source, file):
        raise WorldwiseError(
            f"the mirror keeps {fields['Package']} at {filename}, not at {pool_path(source, file)}",
            "only packages of Debian's main archive can be locked",
        )
    return Package(
        name=fields["Package"],
        version=fields["Version"],
        architecture=fields["Architecture"],
        source=source,
        file=file,
        size=int(fields["Size"]),
        sha256=fields["SHA256"],
        follows=follows,
    )


def _source(apt: _AptRoot, name: str, wish: str | _SourceWish) -> Source:
    version, alias = (wish, "") if isinstance(wish, str) else (wish.version, wish.package)
    package = alias or name
    offered = list(_paragraphs(apt.call("apt-cache", "showsrc", "--only-source", package)))
    for fields in offered:
        if fields["Package"] == package and fields["Version"] == version:
            rows = [row.split() for row in fields["Checksums-Sha256"].splitlines() if row]
            if not isinstance(wish, str):
                rows = [row for row in rows if ".orig.tar." in row[2] and not row[2].endswith(".asc")]
            files = [File(file=file, size=int(size), sha256=sha256) for sha256, size, file in rows]
            return Source(name=name, version=version, files=files, package=alias)
    there = ", ".join(sorted({fields["Version"] for fields in offered})) or "none"
    raise WorldwiseError(
        f"source package {package} {version} is not on the mirror; it has: {there}",
        f"change the version under [sources] in lab/packages.toml, or {OTHER_MIRROR}",
    )


def _follow(apt: _AptRoot, name: str, architecture: str) -> str:
    fields = next(_paragraphs(apt.call("apt-cache", "show", "--no-all-versions", f"{name}:{architecture}")))
    # "linux-image-6.12.1-cloud-arm64 (= 6.12.1-1)" and nothing else
    leads = [re.split(r"[ (:]", item.strip())[0] for item in fields.get("Depends", "").split(",") if item.strip()]
    if len(leads) != 1:
        raise WorldwiseError(
            f"{name} leads to {len(leads)} packages ({', '.join(leads)}), not to one",
            "name the package itself under [target] in lab/packages.toml",
        )
    return leads[0]


def _chosen(plan: str) -> list[str]:
    """What apt would install, each as name:architecture=version, from the words of a simulation."""
    found = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", plan, re.MULTILINE)
    # "all" packages are asked for as native ones: that is the index they are in.
    return [
        f"{name.split(':')[0]}:{NATIVE if architecture == 'all' else architecture}={version}"
        for name, version, architecture in found
    ]


def resolve(wish: Wish) -> Lock:
    """Ask the mirror what `wish` means today: closure, versions, sizes, digests. Needs the network.

    Signatures are checked by apt against the Debian archive keyring. Raises WorldwiseError.
    """
    if not KEYRING.exists():
        raise WorldwiseError(f"{KEYRING} is missing", "install the package debian-archive-keyring")
    mirror = next(mirrors(wish.suites.binary), None)
    if mirror is None:
        raise _download_error({}, [])
    with tempfile.TemporaryDirectory(prefix="worldwise-relock-") as name:
        apt = _AptRoot(Path(name), mirror, wish)
        apt.call("apt-get", "update")
        plan = apt.call(
            "apt-get", "install", "--simulate", "--yes", f"?essential?architecture({NATIVE})", *wish.lab.packages
        )
        chosen = _chosen(plan)
        lab = [_package(fields) for fields in _paragraphs(apt.call("apt-cache", "show", *chosen))]
        if len(lab) != len(chosen):
            raise WorldwiseError(f"apt chose {len(chosen)} packages but described {len(lab)}", "try again")
        target: list[Package] = []
        for architecture, wanted in sorted(wish.target.items()):
            for follows, package in [("", item) for item in wanted.packages] + [
                (item, _follow(apt, item, architecture)) for item in wanted.follow
            ]:
                text = apt.call("apt-cache", "show", "--no-all-versions", f"{package}:{architecture}")
                target.append(_package(next(_paragraphs(text)), follows))
        sources = [_source(apt, name, wanted) for name, wanted in sorted(wish.sources.items())]
    lock = Lock(format=LOCK_FORMAT, suite=wish.suites.binary, lab=lab, target=target, sources=sources)
    # Through the text once, so that what is returned is ordered as what will be read.
    return Lock.model_validate_json(dump_lock(lock))


def differences(old: Lock | None, new: Lock) -> list[tuple[str, str, str]]:
    """(name, old version, new version) of what changed; an empty version where it came or went.

    A file that changed under the same version is told by its digests.
    """
    before = old.versions() if old else {}
    after = new.versions()
    found = [
        (name, before.get(name, ""), after.get(name, ""))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    digests = {item.file: item.sha256 for item in (*old.lab, *old.target)} if old else {}
    for package in (*new.lab, *new.target):
        was = digests.get(package.file, package.sha256)
        if was != package.sha256:
            found.append((package.name, f"sha256 {was[:12]}", f"sha256 {package.sha256[:12]}"))
    return found
