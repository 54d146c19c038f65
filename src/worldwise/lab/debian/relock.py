# SPDX-License-Identifier: BSD-2-Clause
"""Making a lock: what a mirror has today of what is wished for."""

import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.debian.lock import LOCK_FORMAT, NATIVE, File, Lock, Package, Source, Strict, dump_lock, pool_path
from worldwise.lab.debian.mirrors import MIRROR_VARIABLE, OTHER_MIRROR, apt_options, call_apt, mirrors, no_mirror

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class _Suites(Strict):
    binary: str
    source: list[str] = Field(default_factory=list)


class _LabWish(Strict):
    """What is installed; `name:architecture` is a library for another machine, to compile and link against."""

    packages: list[str]


class _TargetWish(Strict):
    packages: list[str]
    follow: list[str] = Field(default_factory=list)


class _SourceWish(Strict):
    """A source package; of one whose changes by Debian do not matter, or are not to be had, the original alone.

    `package` is the archive's name for it where another version of it is wanted too, under that name.
    """

    version: str
    only: Literal["orig"]
    package: str = ""


class Wish(Strict):
    """lab/packages.toml, or another root's file: what is wanted, before versions are known."""

    suites: _Suites
    lab: _LabWish
    target: dict[str, _TargetWish] = Field(default_factory=dict)
    sources: dict[str, str | _SourceWish] = Field(default_factory=dict)

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
        result = call_apt([program, "-c", str(self._configuration), *apt_options(), *arguments])
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
        raise no_mirror()
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
