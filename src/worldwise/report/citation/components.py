# SPDX-License-Identifier: BSD-2-Clause
"""What a run measured and with what, as a method section must say it: components with version, source and licence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from worldwise.libraries.implementation import IMPLEMENTATIONS, LICENCES
from worldwise.libraries.portable import Manifest, portables
from worldwise.plan.catalogue import is_board
from worldwise.read.models import Reading, Row, RunSummary
from worldwise.report.tables import declared_tables

UNIT = (
    "Unit (instr): instructions executed, counted exactly under emulation; the cost of measuring is measured and "
    "subtracted; interrupts inside a region count"
)
_CORE_LIBRARIES = {"libtomcrypt": "LibTomCrypt", "mbedtls": "Mbed TLS"}


@dataclass(frozen=True)
class Component:
    """A piece of software that a figure depends on.

    Attributes:
        key: its name in a bibliography: letters, digits and dashes.
        title: its name for people.
        version: as it is locked.
        source: where it comes from, in words.
        licence: an SPDX expression, or words; `?` where it is unknown.
        own: whether it is a library of the user's own.
        authors, year, url: of a library of the user's own, as its implementation.toml has them; else empty.
    """

    key: str
    title: str
    version: str
    source: str
    licence: str
    own: bool = False
    authors: str = ""
    year: str = ""
    url: str = ""

    @property
    def text(self) -> str:
        """Title and version, without the number by which Debian starts a count of versions anew."""
        return f"{self.title} {self.version.rpartition(':')[2]}".rstrip()


def tools(reading: Reading) -> list[Component]:
    """What counted, compiled and carried the measured code: worldwise, QEMU, compilers, and the systems below."""
    return list(_tools(reading))


def _tools(reading: Reading) -> Iterator[Component]:
    run = reading.run
    revision = f", revision {run.git}" if run.git else ""
    yield Component("worldwise", "worldwise", run.worldwise, f"the tool that measured{revision}", "BSD-2-Clause")
    yield from _locked(run, "qemu", "QEMU", "qemu-system-arm", "GPL-2.0-or-later")
    targets = {row.target for row in reading.rows} | {attempt.case.split("/")[0] for attempt in reading.attempts}
    gcc = "GPL-3.0-or-later WITH GCC-exception-3.1"
    if targets & {"optee", "linux"}:
        yield from _locked(run, "optee-os", "OP-TEE OS", "src:optee-os", "BSD-2-Clause")
        yield from _locked(run, "tf-a", "Trusted Firmware-A", "src:arm-trusted-firmware", "BSD-3-Clause")
    if targets & {"optee", "linux", "linux-armv8"}:
        yield from _kernel(run, "arm64")
        yield from _locked(run, "gcc-aarch64", "GCC for AArch64", "gcc-aarch64-linux-gnu", gcc)
    if "linux-armv7" in targets:
        yield from _kernel(run, "armhf")
        yield from _locked(run, "gcc-armhf", "GCC for Armv7-A", "gcc-arm-linux-gnueabihf", gcc)
    if any(map(is_board, targets)):
        yield from _locked(run, "gcc-arm-none-eabi", "GCC for Cortex-M", "gcc-arm-none-eabi", gcc)


def _locked(run: RunSummary, key: str, title: str, package: str, licence: str) -> Iterator[Component]:
    version = run.packages.get(package)
    if version:
        kind, _, name = package.rpartition(":")
        yield Component(key, title, version, f"Debian {'source ' if kind else ''}package {name}", licence)


def _kernel(run: RunSummary, architecture: str) -> Iterator[Component]:
    for package, version in run.packages.items():
        name, _, of = package.partition(":")
        if name.startswith("linux-image-") and of == architecture:
            yield Component(
                f"linux-{architecture}", f"Linux ({architecture})", version, f"Debian package {name}", "GPL-2.0-only"
            )


def libraries(reading: Reading, own: Mapping[str, tuple[Manifest, str]] | None = None) -> list[Component]:
    """The measured libraries, each once, by title.

    `own` are the user's own libraries of the run: name -> content of implementation.toml, SHA-256 of all files.
    """
    found: dict[str, Component] = {}
    for row in reading.rows:
        one = _library(row, reading.run, own or {})
        found.setdefault(one.key, one)
    return sorted(found.values(), key=lambda one: (one.title.lower(), one.key))


def _library(row: Row, run: RunSummary, own: Mapping[str, tuple[Manifest, str]]) -> Component:
    name = row.implementation
    if name in own:
        manifest, digest = own[name]
        source = f"a library of the user's own, SHA-256 of its files {digest}"
        about = (manifest.authors, str(manifest.year or ""), manifest.url)
        return Component(name, manifest.title, "", source, manifest.licence, True, *about)
    if name in IMPLEMENTATIONS:
        library = IMPLEMENTATIONS[name].library
        return Component(
            f"optee-{library}",
            f"{_CORE_LIBRARIES[library]}, as OP-TEE OS carries it",
            run.packages.get("src:optee-os", ""),
            "Debian source package optee-os",
            LICENCES[library],
        )
    # With the core's instructions for AES it is the same library.
    known = portables().get(name) or portables().get(name.removesuffix("-ce"))
    if known is None:
        for family in declared_tables().values():
            if one := family.cited(name):
                return one
        return Component(name, name, "", "a library of the user's own that is not here", "?", own=True)
    manifest = known.manifest
    version, source = _origin(manifest, row, run)
    return Component(manifest.name, manifest.title, version, source, manifest.licence)


def _origin(manifest: Manifest, row: Row, run: RunSummary) -> tuple[str, str]:
    """Version and source of a library of the repository."""
    source = manifest.source
    if source and source.crate:
        return source.version or "", f"crate {source.crate}, SHA-256 {source.sha256}"
    if source and source.debian:
        return run.packages.get(f"src:{source.debian}", ""), f"Debian source package {source.debian}"
    architecture = "armhf" if row.target == "linux-armv7" else "arm64"
    packages = source.packages if source else ()
    versions = [run.packages.get(f"{package}:{architecture}", "") for package in packages]
    return versions[0] if versions else "", f"Debian packages {', '.join(packages)}"


def samples_said(rows: Iterable[Row]) -> str:
    """How many samples, after which calls: `n = 100 samples after 1 first call and 10 warm-up calls`."""
    sizes = sorted({(row.counts.n, row.counts.warmup) for row in rows})
    if not sizes:
        return ""
    if len(sizes) == 1:
        n, warmup = sizes[0]
        return f"n = {n:,} samples after 1 first call and {warmup:,} warm-up calls"
    least, most = sizes[0][0], sizes[-1][0]
    few, many = min(warmup for _, warmup in sizes), max(warmup for _, warmup in sizes)
    samples = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    calls = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    return f"n = {samples} samples after 1 first call and {calls} warm-up calls"


def included(rows: Iterable[Row]) -> list[str]:
    """What the counts include, a sentence part for each place and measure: `sign at ta: the call of ...`."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        found.setdefault(f"at {row.place}: {row.counts.includes}", {})[row.measure] = None
    return [f"{', '.join(measures)} {text}" for text, measures in found.items()]


def versions_said(reading: Reading) -> str:
    """The lab's digest and the versions of the tools, in one line."""
    lab = f"Lab {reading.run.lab}" if reading.run.lab else "No lab"
    differs = f"; {reading.run.differs}" if reading.run.differs else ""
    return f"{lab}{differs}; {', '.join(one.text for one in tools(reading))}"
