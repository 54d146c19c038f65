# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise cite`: the paragraph and the entries name everything that was measured."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from board_reading import board_reading
from screens import READINGS
from synthetic import make_suite, write_run
from worldwise import __version__, cli
from worldwise.base import paths
from worldwise.families.pqc.libraries import libraries as pqc_libraries
from worldwise.libraries.portable import portables
from worldwise.report.citation.citation import cited
from worldwise.report.citation.references import reference
from worldwise.run.folder.manifests import OwnEntry
from worldwise.run.folder.rundir import Run

PACKAGES = {
    "qemu-system-arm": "1:10.0.13+ds-0+deb13u1",
    "gcc-aarch64-linux-gnu": "4:14.2.0-1",
    "src:optee-os": "4.10.0-2",
    "src:arm-trusted-firmware": "2.12.1+dfsg-1",
    "linux-image-6.12.107+deb13-cloud-arm64:arm64": "6.12.107-1",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of both of OP-TEE's own libraries, with a lab that has versions."""
    return write_run(tmp_path_factory.mktemp("runs"), make_suite().cases, packages=PACKAGES)


def said(run: Run, *arguments: str) -> str:
    result = CliRunner().invoke(cli.cli, ["cite", str(run.path), *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.output


def test_the_paragraph_says_unit_samples_lab_and_versions(run: Run) -> None:
    """If this fails, a method section lacks what a reader needs to judge or repeat the figures."""
    text = " ".join(said(run).split())
    for part in (
        "worldwise 0.1.0 [worldwise] (revision 0123456789abcdef)",
        run.id,
        "QEMU 10.0.13+ds-0+deb13u1 [worldwise-qemu]",
        "OP-TEE OS 4.10.0-2 [worldwise-optee-os]",
        "Trusted Firmware-A 2.12.1+dfsg-1",
        "Linux (arm64) 6.12.107-1",
        "GCC for AArch64 14.2.0-1",
        f"SHA-256 {'a' * 64}",
        "n = 4 samples after 1 first call and 2 warm-up calls",
        "sign at ta: SHA-256 of the input and the signature, inside the TA",
        "LibTomCrypt, as OP-TEE OS carries it 4.10.0-2 [worldwise-optee-libtomcrypt]",
    ):
        assert part in text, part


def test_every_reference_has_its_entry_and_every_entry_a_licence(run: Run) -> None:
    """If this fails, LaTeX prints a question mark, or a library goes without its licence."""
    entries = said(run, "--format", "bibtex")
    keys = re.findall(r"^@misc\{(.*),$", entries, re.MULTILINE)
    assert len(keys) == len(set(keys)) == 8
    assert re.findall(r"\\cite\{(.*?)\}", said(run, "--format", "latex")) == keys
    assert entries.count("Licence: ") == len(keys)
    assert "Version 4.10.0-2. Debian source package optee-os. Licence: Unlicense." in entries


def test_an_entry_names_authors_year_and_address(run: Run) -> None:
    """If this fails, a bibliography has entries that nobody can look up."""
    entries = said(run, "--format", "bibtex")
    qemu = entries.partition("@misc{worldwise-qemu,")[2].partition("\n}\n")[0]
    assert "  author = {Bellard, Fabrice and {The QEMU developers}},\n" in qemu
    assert "  year = {2025},\n  howpublished = {\\url{https://www.qemu.org/}},\n" in qemu
    libraries = entries.partition("@misc{worldwise-optee-libtomcrypt,")[2]
    assert "author = {{The LibTomCrypt developers}}" in libraries and "year = {2026}" in libraries
    # Of worldwise there is no page.
    assert entries.count("howpublished") == entries.count("@misc{") - 1


def _cited() -> dict[str, str]:
    """Everything of the repository that a run of today's lock can cite: name in a bibliography -> its version."""
    lock = json.loads((paths.LAB / "lock.json").read_text(encoding="utf-8"))
    packages = {one["name"]: one["version"] for one in [*lock["lab"], *lock["target"], *lock["sources"]]}
    kernel = next(version for name, version in packages.items() if name.startswith("linux-image-"))
    optee, gcc = packages["optee-os"], packages["gcc-aarch64-linux-gnu"]
    found = {
        "worldwise": __version__,
        "qemu": packages["qemu-system-arm"],
        "optee-os": optee,
        "optee-libtomcrypt": optee,
        "optee-mbedtls": optee,
        "tf-a": packages["arm-trusted-firmware"],
        "linux-arm64": kernel,
        "linux-armhf": kernel,
        "gcc-aarch64": gcc,
        "gcc-armhf": packages["gcc-arm-linux-gnueabihf"],
        "gcc-arm-none-eabi": packages["gcc-arm-none-eabi"],
    }
    sources = [
        *((library.manifest.name, library.manifest.source) for library in portables().values()),
        *((library.manifest.name, library.manifest.source) for library in pqc_libraries().values()),
    ]
    for name, source in sources:
        assert source
        found[name] = source.version or packages[source.debian or source.packages[0]]
    return found


@pytest.mark.parametrize(("name", "version"), _cited().items())
def test_everything_that_can_be_cited_has_authors_year_and_address(name: str, version: str) -> None:
    """If this fails, a library or a new version of the lock is not in references.toml."""
    known = reference(name, version)
    assert known, f"{name} is not in references.toml"
    assert known.authors
    assert known.year, f"{name}: no year for {version}"
    assert known.url or name in ("worldwise", "gateway")


def test_a_version_that_is_not_known_has_no_year() -> None:
    """If this fails, an entry says a year that is another release's."""
    known = reference("qemu", "1:10.1.0-1")
    assert known and known.year is None and known.url
    assert (found := reference("mbedtls28", "2.28.3-1")) and found.year == 2021
    assert reference("mine", "1") is None


def test_libraries_of_boards_have_their_own_sources() -> None:
    """If this fails, a crate is cited without its digest, or two settings of a library as one."""
    text = cited(board_reading(), {}, "bibtex")
    crate = portables()["micro-ecc"].manifest.source
    assert crate
    digest = rf"\worldwisedigest{{{crate.sha256}}}"
    assert f"Version {crate.version}. Crate {crate.crate}, SHA-256 {digest}. Licence: BSD-2-Clause." in text
    assert "Debian source package wolfssl. Licence: GPL-3.0-or-later." in text
    assert "title = {{wolfSSL (small)}}" in text


def test_a_library_of_ones_own_is_cited_by_its_digest() -> None:
    """If this fails, nobody can tell which version of a library of one's own was measured."""
    reading = board_reading()
    name = reading.rows[0].implementation
    manifest = portables()[name].manifest.model_copy(update={"title": "Mine & only", "licence": "MIT"})
    text = cited(reading, {name: (manifest, "d" * 64)}, "bibtex")
    assert r"title = {{Mine \& only}}" in text
    assert rf"SHA-256 of its files \worldwisedigest{{{'d' * 64}}}. Licence: MIT." in text
    assert "Licence: MIT. Its implementation.toml names no authors and no year." in text
    about = {"authors": "A. Nobody and B & Sons", "year": 2024, "url": "https://example.org/mine"}
    whole = cited(reading, {name: (manifest.model_copy(update=about), "d" * 64)}, "bibtex")
    assert r"  author = {A. Nobody and B \& Sons}," in whole and "  year = {2024}," in whole
    assert r"\url{https://example.org/mine}" in whole and "names no" not in whole


def test_libraries_of_the_suites_are_not_the_users() -> None:
    """If this fails, a paper calls wolfSSL a library of the user's own, or cites OpenSSL twice."""
    text = cited(READINGS["pqc"](), {}, "bibtex")
    for name in ("wolfssl-pqc", "wolfssl-pqc-asm", "wolfssl-pqc-small"):
        entry = text.partition(f"@misc{{worldwise-{name},")[2].partition("\n}\n")[0]
        source = pqc_libraries()[name].manifest.source
        assert f"Version {source.version}. Crate {source.crate}, SHA-256" in entry, name
        assert "author = {" in entry and "year = {" in entry
    tee = cited(READINGS["tee"](), {}, "bibtex")
    assert "user's own" not in tee and tee.count("title = {{OpenSSL}}") == 1


def test_a_spoilt_text_of_a_library_is_named(run: Run, tmp_path: Path) -> None:
    """If this fails, a stranger's run ends the command in a traceback."""
    entry = OwnEntry(name="mine", manifest="name = 1", digest="d" * 64, files={})
    own = write_run(tmp_path, make_suite().cases[:1], own=[entry])
    result = CliRunner().invoke(cli.cli, ["cite", str(own.path)], standalone_mode=False)
    assert "implementation.toml" in str(result.exception)
    assert said(run, "--output", str(tmp_path / "out.txt")) == ""
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == said(run, "--full")
