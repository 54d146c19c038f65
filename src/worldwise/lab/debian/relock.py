# SPDX-License-Identifier: BSD-2-Clause
"""Making a lock: what a mirror has today of what is wished for."""

import contextlib
import datetime
import email.utils
import functools
import hashlib
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import StrictModel
from worldwise.lab.debian.lock import (
    ARCHIVE,
    LOCK_FORMAT,
    NATIVE,
    File,
    Lock,
    Package,
    Snapshot,
    SourcePackage,
    dump_lock,
    parse_lock,
    pool_path,
)
from worldwise.lab.debian.mirrors import MIRROR_VARIABLE, OTHER_MIRROR, apt_options, call_apt, mirrors, no_mirror

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# After this time the archive of snapshots has taken in a suite's Release, and the pool still has all that it names: a
# file stays there for a day at least after another has taken its place.
_TAKEN_IN = datetime.timedelta(hours=12)


class _Suites(StrictModel):
    binary: str
    source: list[str] = Field(default_factory=list)


class _LabWish(StrictModel):
    """What is installed; `name:architecture` is a library for another machine, to compile and link against."""

    packages: list[str]


class _TargetWish(StrictModel):
    packages: list[str]
    follow: list[str] = Field(default_factory=list)


class _SourceWish(StrictModel):
    """A source package; of one whose changes by Debian do not matter, or are not to be had, the original alone.

    `package` is the archive's name for it where another version of it is wanted too, under that name.
    """

    version: str
    only: Literal["orig"]
    package: str = ""


class Wish(StrictModel):
    """lab/packages.toml, or another root's file: what is wanted, before versions are known."""

    suites: _Suites
    lab: _LabWish
    target: dict[str, _TargetWish] = Field(default_factory=dict)
    sources: dict[str, str | _SourceWish] = Field(default_factory=dict)

    def foreign(self) -> list[str]:
        """The architectures of packages that are not the roots' own."""
        named = {name.partition(":")[2] for name in self.lab.packages}
        return sorted((named | set(self.target)) - {"", NATIVE})

    def narrowed(self, *, lab: bool = False, architectures: Iterable[str] = (), source: str = "") -> "Wish":
        """The same with less: without the lab's packages, with the targets of some architectures, with one suite of
        sources or none; so that fewer lists are fetched."""
        kept = {name: wanted for name, wanted in self.target.items() if name in set(architectures)}
        suites = self.suites.model_copy(update={"source": [source] if source else []})
        packages = self.lab if lab else _LabWish(packages=[])
        return self.model_copy(update={"suites": suites, "lab": packages, "target": kept})

    def without_sources(self, names: Iterable[str]) -> "Wish":
        """The same without some source packages."""
        kept = {name: wanted for name, wanted in self.sources.items() if name not in set(names)}
        return self.model_copy(update={"sources": kept})

    def source_versions(self) -> dict[str, str]:
        """The version of each source package that is wanted."""
        return {name: wish if isinstance(wish, str) else wish.version for name, wish in self.sources.items()}


def load_wish(path: Path = paths.LAB / "packages.toml") -> Wish:
    """Read such a file. Raises WorldwiseError naming the file and key if it is missing or wrong."""
    try:
        return parsed(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        raise WorldwiseError(f"{path}: no such file", "take it from git again") from None


def parsed(text: str, path: Path) -> Wish:
    """The wish of such a file's text. Raises WorldwiseError naming the file and key if it is wrong."""
    try:
        return Wish.model_validate(tomllib.loads(text))
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
        self.mirror = mirror
        self._lists = directory / "lists"
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
        result = call_apt([program, "-c", str(self._configuration), *apt_options(), *arguments])
        failed = result.returncode != 0 or re.search(r"^[EW]: Failed to fetch", result.stderr, re.MULTILINE)
        if failed:
            raise WorldwiseError(
                f"apt could not resolve the packages from {self.mirror} ({program} {arguments[0]})",
                "check the names in the root's file in lab/, the network, or choose another mirror with "
                f"{MIRROR_VARIABLE}",
                result.stderr.strip(),
            )
        return result.stdout

    def time(self, suite: str) -> str:
        """The time at which the archive of snapshots has what the mirror has of a suite; empty if it does not say."""
        for path in self._lists.glob(f"*_dists_{suite}_*Release"):
            date = re.search(r"^Date: (.+)$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
            with contextlib.suppress(TypeError, ValueError):
                when = email.utils.parsedate_to_datetime(date[1] if date else "") + _TAKEN_IN
                return when.astimezone(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
        return ""

    def versions(self, package: str, suite: str) -> list[str]:
        """The versions of a source package in a suite, the newest first."""
        lines = self.call("apt-cache", "madison", package).splitlines()
        rows = [[word.strip() for word in line.split("|")] for line in lines]
        found = [row[1] for row in rows if len(row) == 3 and row[2].endswith(f" {suite}/main Sources")]
        return sorted(found, key=functools.cmp_to_key(_compared), reverse=True)


def _compared(a: str, b: str) -> int:
    """How two versions compare, by dpkg: negative if `a` is the older."""
    if a == b:
        return 0
    return -1 if call_apt(["dpkg", "--compare-versions", a, "lt", b]).returncode == 0 else 1


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


def _source(apt: _AptRoot, name: str, wish: str | _SourceWish, suites: Iterable[str]) -> SourcePackage:
    version, alias = (wish, "") if isinstance(wish, str) else (wish.version, wish.package)
    package = alias or name
    offered = list(_paragraphs(apt.call("apt-cache", "showsrc", "--only-source", package)))
    for fields in offered:
        if fields["Package"] == package and fields["Version"] == version:
            rows = [row.split() for row in fields["Checksums-Sha256"].splitlines() if row]
            if not isinstance(wish, str):
                rows = [row for row in rows if ".orig.tar." in row[2] and not row[2].endswith(".asc")]
            files = [File(file=file, size=int(size), sha256=sha256) for sha256, size, file in rows]
            suite = next((suite for suite in suites if version in apt.versions(package, suite)), "")
            return SourcePackage(name=name, version=version, files=files, package=alias, suite=suite)
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


def chosen_packages(plan: str) -> list[str]:
    """What apt would install, each as name:architecture=version, from the words of a simulation."""
    found = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", plan, re.MULTILINE)
    # "all" packages are asked for as native ones: that is the index they are in.
    return [
        f"{name.split(':')[0]}:{NATIVE if architecture == 'all' else architecture}={version}"
        for name, version, architecture in found
    ]


@contextlib.contextmanager
def offer(wish: Wish, mirror: str) -> Iterator[_AptRoot]:
    """What a mirror has today, for apt to choose from; apt checks it against the Debian archive keyring.

    Raises WorldwiseError.
    """
    if not KEYRING.exists():
        raise WorldwiseError(f"{KEYRING} is missing", "install the package debian-archive-keyring")
    with tempfile.TemporaryDirectory(prefix="worldwise-relock-") as name:
        apt = _AptRoot(Path(name), mirror, wish)
        apt.call("apt-get", "update")
        yield apt


def lab_packages(apt: _AptRoot, wish: Wish) -> list[Package]:
    """What is installed in the lab: the essential packages, those that are wished for, and all they depend on."""
    plan = apt.call(
        "apt-get", "install", "--simulate", "--yes", f"?essential?architecture({NATIVE})", *wish.lab.packages
    )
    chosen = chosen_packages(plan)
    lab = [_package(fields) for fields in _paragraphs(apt.call("apt-cache", "show", *chosen))]
    if len(lab) != len(chosen):
        raise WorldwiseError(f"apt chose {len(chosen)} packages but described {len(lab)}", "try again")
    return lab


def target_package(apt: _AptRoot, name: str, architecture: str, *, follow: bool) -> Package:
    """A package of a measured machine, or the one that a metapackage leads to."""
    package = _follow(apt, name, architecture) if follow else name
    text = apt.call("apt-cache", "show", "--no-all-versions", f"{package}:{architecture}")
    return _package(next(_paragraphs(text)), name if follow else "")


def newest_source(apt: _AptRoot, name: str, wish: str | _SourceWish, suite: str) -> SourcePackage:
    """The newest version of a source package in a suite, of the same files as were wished for."""
    package = name if isinstance(wish, str) else wish.package or name
    versions = apt.versions(package, suite)
    if not versions:
        raise WorldwiseError(f"source package {package} is not in {suite} any more", OTHER_MIRROR)
    newer = versions[0] if isinstance(wish, str) else wish.model_copy(update={"version": versions[0]})
    return _source(apt, name, newer, [suite])


def times(apt: _AptRoot, suites: Iterable[str]) -> list[Snapshot]:
    """The times of suites in the archive of snapshots."""
    found = {suite: apt.time(suite) for suite in suites}
    return [Snapshot(archive=ARCHIVE, suite=suite, time=time) for suite, time in found.items() if time]


def resolve(wish: Wish) -> Lock:
    """Ask the mirror what `wish` means today: closure, versions, sizes, digests, times. Needs the network.

    Signatures are checked by apt against the Debian archive keyring. Raises WorldwiseError.
    """
    mirror = next(mirrors(wish.suites.binary), None)
    if mirror is None:
        raise no_mirror()
    with offer(wish, mirror) as apt:
        lab = lab_packages(apt, wish)
        target: list[Package] = []
        for architecture, wanted in sorted(wish.target.items()):
            target += [target_package(apt, name, architecture, follow=False) for name in wanted.packages]
            target += [target_package(apt, name, architecture, follow=True) for name in wanted.follow]
        sources = [_source(apt, name, wanted, wish.suites.source) for name, wanted in sorted(wish.sources.items())]
        suites = dict.fromkeys([wish.suites.binary, *(source.suite for source in sources if source.suite)])
        snapshots = times(apt, suites)
    lock = Lock(
        format=LOCK_FORMAT, suite=wish.suites.binary, lab=lab, target=target, sources=sources, snapshots=snapshots
    )
    return ordered(lock)


def ordered(lock: Lock) -> Lock:
    """The lock as it will be read: through the text once."""
    return parse_lock(dump_lock(lock))


def with_sha1(lock: Lock, known: Mapping[str, str], path: Callable[[File], Path]) -> Lock:
    """The lock with the SHA-1 of each file, which the archive's own lists do not say any more.

    Args:
        lock: the lock.
        known: the SHA-1 of files by their SHA-256; of others it is that of the file itself.
        path: where a file is.
    """

    def sha1(file: File) -> str:
        if found := file.sha1 or known.get(file.sha256, ""):
            return found
        with path(file).open("rb") as content:
            return hashlib.file_digest(content, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()

    def packages(items: list[Package]) -> list[Package]:
        return [replace(item, sha1=sha1(item)) for item in items]

    def files(source: SourcePackage) -> list[File]:
        return [replace(file, sha1=sha1(file)) for file in source.files]

    sources = [replace(source, files=files(source)) for source in lock.sources]
    return replace(lock, lab=packages(lock.lab), target=packages(lock.target), sources=sources)
