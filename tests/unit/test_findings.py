# SPDX-License-Identifier: BSD-2-Clause
"""What docs/results/findings.md tries: a variant has its setting or patch, is measured beside its base, is off else."""

import re
from pathlib import Path

import pytest

from synthetic import COST, RecordList, find, write_run
from worldwise.base import paths
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.implementation import IMPLEMENTATIONS, Implementation
from worldwise.plan.case import Case
from worldwise.plan.suite import load_suite
from worldwise.read.run_counts import read_run
from worldwise.report.report import sections
from worldwise.targets import optee_images

PATCHES = sorted((paths.PATCHES / "optee-os").glob("001*.patch"))
TRIES = {name: one for name, one in IMPLEMENTATIONS.items() if one.tries}
FINDINGS = paths.REPOSITORY / "docs" / "results" / "findings.md"
# Beside the table in that page, one page for each kind of finding.


def switches(text: str) -> set[str]:
    """The make variables that a patch answers to, and the definitions that its head says to hand to mbed TLS."""
    variables = re.findall(r"^\+ifeq \(\$\((WORLDWISE_\w+)\),y\)$", text, re.MULTILINE)
    return {*variables, *re.findall(r"WORLDWISE_MBEDTLS=-D(\w+)", text)}


def asked(one: Implementation) -> set[str]:
    """What an implementation asks of our patches, beyond its base."""
    options = set(one.options.split()) - set(IMPLEMENTATIONS[one.tries].options.split())
    return {word.removesuffix("=y") for word in one.changes.split()} | {word.removeprefix("-D") for word in options}


def test_there_is_a_patch_for_each_change_and_a_variant_for_each_patch() -> None:
    """If this fails, a variant is its base under another name, or a patch is never tried."""
    answered = {name for path in PATCHES for name in switches(path.read_text(encoding="utf-8"))}
    wanted = {name for one in TRIES.values() for name in asked(one)}
    assert wanted == answered
    assert len(answered) == len(PATCHES)


@pytest.mark.parametrize("name", TRIES)
def test_a_variant_differs_from_what_it_is_named_after(name: str) -> None:
    """If this fails, a difference is shown that no setting makes."""
    one = TRIES[name]
    base = IMPLEMENTATIONS[one.tries]
    assert name.startswith(f"{one.tries}-")
    assert not base.tries
    assert (one.library, one.adapter) == (base.library, base.adapter)
    assert asked(one) or one.settings != base.settings
    assert all(re.fullmatch(r"CFG_[A-Z_]+=n", word) for word in one.settings.split())
    assert all(re.fullmatch(r"WORLDWISE_[A-Z]+=y", word) for word in one.changes.split())


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_a_patch_leaves_the_line_numbers_of_what_it_does_not_change(path: Path) -> None:
    """If this fails, assertions carry other numbers, and a build without the change is no longer the same bytes."""
    lines = path.read_text(encoding="utf-8").splitlines()
    file, old, seen = "", 0, 0
    shifted = False
    for number, line in enumerate(lines):
        if line.startswith(("--- a/", "+++ b/")):
            file, shifted = line[6:], False
        elif match := re.match(r"@@ -(\d+)", line):
            old = int(match[1])
            assert not shifted, f"{path.name}:{number}: {file}: the lines before are counted wrongly from here"
        elif line.startswith("+#line"):
            assert line == f"+#line {old}", f"{path.name}:{number + 1}"
            seen += 1
            shifted = False
        elif line.startswith("+") and file.endswith(".c") and "libmbedtls" not in file:
            shifted = True
        elif line.startswith(("-", " ")) and file:
            old += 1
    assert seen or not any(line.startswith("+++ b/core/") and line.endswith(".c") for line in lines)


def test_what_a_patch_changes_is_part_of_an_image_and_not_of_the_objects_it_shares(tmp_path: Path) -> None:
    """If this fails, a variant is taken for its base, or all of OP-TEE is compiled for a change to one file."""
    lab = Lab(load_lock(), tmp_path)
    for name, one in TRIES.items():
        assert optee_images.optee(name, "O2").digest(lab) != optee_images.optee(one.tries, "O2").digest(lab)
        shared = optee_images.optee_objects(name, "O2").digest(lab) == optee_images.optee_objects(
            one.tries, "O2"
        ).digest(lab)
        assert shared == (one.settings == IMPLEMENTATIONS[one.tries].settings)
        assert set(one.changes.split()) <= set(optee_images.optee(name, "O2").settings.get("OPTIMISATION", "").split())


def test_the_suite_measures_each_beside_its_base() -> None:
    """If this fails, the table of `worldwise run findings` misses a change."""
    cases = load_suite("findings").cases
    ids = {case.id for case in cases}
    for name, one in TRIES.items():
        mine = [case for case in cases if case.implementation == name]
        assert mine, name
        assert {case.id.replace(f"/{name}-", f"/{one.tries}-") for case in mine} <= ids


def test_the_report_shows_each_beside_its_base(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a change is compared with another level or library, or with itself."""
    for tried in ("mbedtls-nist-nodebug", "libtomcrypt-lean"):
        monkeypatch.setitem(COST, ("ta", tried), 0)
    cases = [
        Case("optee", name, level, "empty-invoke", 1, 0)
        for name, level in [
            ("mbedtls-nist", "Os"),
            ("mbedtls-nist", "O2"),
            ("mbedtls-nist-nodebug", "O2"),
            ("libtomcrypt-lean", "O2"),
        ]
    ]

    def change(case: Case, records: RecordList) -> None:
        less = {"mbedtls-nist-nodebug-O2": 700, "mbedtls-nist-O2": 500}.get(case.variant, 0)
        sample = find(records, type="sample", index=1)
        sample["end"] -= less
        sample["count"] -= less

    found = [
        part for part in sections(read_run(write_run(runs_dir, cases, change))) if part.title.startswith("What ch")
    ]
    (section,) = found
    assert section.table
    ((_, place, name, before, after, difference, _),) = section.table.rows
    assert (place, name, difference) == ("client", "mbedtls-nist-nodebug-O2", "-200")
    assert int(before.replace(",", "")) - int(after.replace(",", "")) == 200


def test_no_other_suite_has_them() -> None:
    """If this fails, the first run of the default suite compiles OP-TEE a dozen times more."""
    for path in paths.SUITES.glob("*.toml"):
        if path.stem != "findings":
            assert not {case.implementation for case in load_suite(path.stem).cases} & TRIES.keys(), path.name


def test_the_pages_say_what_each_is() -> None:
    table = FINDINGS.read_text(encoding="utf-8")
    for name in TRIES:
        assert name in table
    for path in PATCHES:
        assert path.name in table


@pytest.mark.lab
def test_the_patches_apply(lab_if_there: Lab) -> None:
    """If this fails, one of our patches does not fit OP-TEE's source, Debian's patches or the others."""
    built = ImageStore(lab_if_there).get(optee_images.optee_source())
    assert built.files.keys() == {"source.tar"}


def test_what_needs_no_compiling_is_taken_as_it_was_built() -> None:
    """If this fails, a first run compiles the core that it shows first a second time."""
    objects = optee_images.optee_objects("mbedtls-nist", "O2")
    assert objects == optee_images.optee_objects("mbedtls", "O2")
    assert optee_images.optee("mbedtls-nist", "O2").script == "optee-built.sh"
    assert objects.settings["MBEDTLS_OPTIONS"] == IMPLEMENTATIONS["mbedtls-nist"].options
    other = optee_images.optee("mbedtls", "O2")
    assert (other.script, other.settings["MBEDTLS_OPTIONS"]) == ("optee.sh", "")
    assert optee_images.optee("mbedtls-nist-memset", "O2").script == "optee.sh"
