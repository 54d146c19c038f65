# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise cite`: the paragraph and the entries name everything that was measured."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from board_reading import board_reading
from synthetic import make_suite, write_run
from worldwise import cli
from worldwise.libraries.portable import portables
from worldwise.report.citing import cited
from worldwise.run.rundir import OwnEntry, Run

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


def test_libraries_of_boards_have_their_own_sources() -> None:
    """If this fails, a crate is cited without its digest, or two settings of a library as one."""
    text = cited(board_reading(), {}, "bibtex")
    crate = portables()["micro-ecc"].manifest.source
    assert crate
    assert f"Version {crate.version}. Crate {crate.crate}, SHA-256 {crate.sha256}. Licence: BSD-2-Clause." in text
    assert "Debian source package wolfssl. Licence: GPL-3.0-or-later." in text
    assert "title = {{wolfSSL (small)}}" in text


def test_a_library_of_ones_own_is_cited_by_its_digest() -> None:
    """If this fails, nobody can tell which version of a library of one's own was measured."""
    reading = board_reading()
    name = reading.rows[0].implementation
    manifest = portables()[name].manifest.model_copy(update={"title": "Mine & only", "licence": "MIT"})
    text = cited(reading, {name: (manifest, "d" * 64)}, "bibtex")
    assert r"title = {{Mine \& only}}" in text
    assert f"SHA-256 of its files {'d' * 64}. Licence: MIT." in text


def test_a_spoilt_text_of_a_library_is_named(run: Run, tmp_path: Path) -> None:
    """If this fails, a stranger's run ends the command in a traceback."""
    entry = OwnEntry(name="mine", manifest="name = 1", digest="d" * 64, files={})
    own = write_run(tmp_path, make_suite().cases[:1], own=[entry])
    result = CliRunner().invoke(cli.cli, ["cite", str(own.path)], standalone_mode=False)
    assert "implementation.toml" in str(result.exception)
    assert said(run, "--output", str(tmp_path / "out.txt")) == ""
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == said(run)
