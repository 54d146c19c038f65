# SPDX-License-Identifier: BSD-2-Clause
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import INSTRUCTIONS
from worldwise.libraries import portable
from worldwise.libraries.boards import boards, load_core
from worldwise.libraries.cores import PLAIN_TARGETS, TEE_CORE
from worldwise.libraries.curve_table import IN_FRAME, MEASURABLE, curve_number
from worldwise.libraries.portable import CURVES, NO_CURVE, Portable, add, load_adapter, load_folder, portables
from worldwise.plan.catalogue import BOARD_OPERATIONS, SPECS
from worldwise.targets.board import frame_objects
from worldwise.targets.linux import PLAIN
from worldwise.targets.portable_images import build_plan

MANIFEST = """\
name = "some-lib"
title = "Some library"
about = "one line"
licence = "BSD-2-Clause"
[source]
crate = "some-lib-sys"
version = "1.0.0"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
[build]
sources = ["some.c"]
[build.core.cortex-m0]
without = ["some.c"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
none = ["sha256"]
[needs]
cores = ["cortex-m4"]
"""
HEAD = "/* SPDX-License-Identifier: BSD-2-Clause */\n/* implementation.toml\n"


def adapter(directory: Path, manifest: str = MANIFEST, name: str = "some-lib") -> Path:
    path = directory / f"{name}.c"
    path.write_text(f'{HEAD}{manifest}*/\n#include "ops.h"\n')
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of the user's own."""
    text = MANIFEST.replace(MANIFEST[MANIFEST.index("[source]") : MANIFEST.index("[build]")], "")
    (tmp_path / "implementation.toml").write_text(text)
    (tmp_path / "adapter.c").touch()
    return tmp_path


@pytest.fixture
def added() -> Iterator[None]:
    known = set(portable.portables())
    yield
    for name in set(portable.portables()) - known:
        portable.remove(name)


def test_an_adapter(tmp_path: Path) -> None:
    library = load_adapter(adapter(tmp_path))
    assert (library.name, library.curves, library.folder) == ("some-lib", ("secp256r1",), None)
    assert library.has("sign", "secp256r1")
    assert library.has("sha256")
    assert not library.has("sign", "ed25519")
    assert not library.has("sign")
    assert not library.has("aes128")
    assert library.runs_on("cortex-m4")
    assert not library.runs_on("cortex-m3")
    anywhere = load_adapter(adapter(tmp_path, MANIFEST.replace('cores = ["cortex-m4"]', "frame_sha256 = true")))
    assert anywhere.runs_on("cortex-m3")


def test_a_library_asks_a_core_for_what_it_has(tmp_path: Path) -> None:
    """If this fails, a library must name each core that has what it needs."""
    needs = 'cores = ["cortex-a9"]\nfeatures = ["mainline", "dsp"]'
    library = load_adapter(adapter(tmp_path, MANIFEST.replace('cores = ["cortex-m4"]', needs)))
    cores = ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33", "cortex-a9", "cortex-a72")
    assert [core for core in cores if library.runs_on(core)] == ["cortex-m4", "cortex-m33", "cortex-a9"]
    wrong = MANIFEST.replace('cores = ["cortex-m4"]', 'features = ["thumb2"]')
    with pytest.raises(WorldwiseError, match=r":19: needs\.features: 'thumb2' is not known. Allowed: mainline, dsp, "):
        load_adapter(adapter(tmp_path, wrong))


def test_a_build_differs_by_what_a_core_has_and_lacks(tmp_path: Path) -> None:
    """If this fails, a library's settings for small cores are missing on one, or on the other profile's cores."""
    parts = '[build.has.mainline]\nsources = ["wide.S"]\nwithout = ["some.c"]\n[build.lacks.dsp]\ndefines = ["SMALL"]\n'
    build = load_adapter(adapter(tmp_path, MANIFEST.replace("[operations]", f"{parts}[operations]"))).manifest.build
    found = {
        core: build_plan(build, "secp256r1", core) for core in ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-a72")
    }
    assert {core: (plan["sources"], plan["defines"]) for core, plan in found.items()} == {
        "cortex-m0": ([], ["SMALL"]),
        "cortex-m3": (["wide.S"], ["SMALL"]),
        "cortex-m4": (["wide.S"], []),
        "cortex-a72": (["some.c"], []),
    }


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[build]", "[build]\nsource = 1", ":12: build.source: there is no such key"),
        ("[build]", "[buidl]", ":11: buidl: there is no such key"),
        ('title = "Some library"\n', "", ":3: the key 'title' is missing. Required: name, title, "),
        ('"some-lib"', '"Some"', r":3: name: 'Some' does not fit"),
        ("secp256r1 =", "p256 =", ":15: operations: curve 'p256' is not known. Allowed: secp112r1"),
        ('"ecdh"]', '"sha256"]', "'sha256' does not go with 'secp256r1'. Allowed: keygen"),
        ('"ecdh"]', '"hash"]', ":16: operations.secp256r1"),
        ('"sign", "verify"', '"sign"', "'sign' needs 'verify'"),
        ('"keygen", ', "", "'keygen' is missing"),
        ("secp256r1 =", "secp112r1 =", "curve 'secp112r1' is for Linux: .needs. must say linux = true"),
        ('["sha256"]', '["sign"]', "'sign' does not go with 'none'"),
        ('version = "1.0.0"\n', "", ":7: source: a crate is pinned by 'version' and 'sha256'"),
        ("0000", "00x0", ":10: source.sha256"),
        ("crate =", "debian =", "source: a Debian package is pinned in lab/lock.json"),
        ('crate = "some-lib-sys"\n', "", "source: must have one of 'crate', 'debian' and 'packages'"),
        ("[build]", "[build", ":11: not valid TOML"),
        ('"some-lib"', '"other-lib"', "its name is 'other-lib', not that of the file"),
    ],
)
def test_wrong_adapters_are_refused_with_their_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in MANIFEST
    path = adapter(tmp_path, MANIFEST.replace(old, new, 1))
    with pytest.raises(WorldwiseError, match=says) as caught:
        load_adapter(path)
    assert caught.value.message.startswith(str(path))


@pytest.mark.parametrize(
    ("old", "new", "allowed", "hint"),
    [
        ("[build]", "[buidl]", "name, title, ", "did you mean 'build'?"),
        ("[build]", "[build]\nsourcs = []", "sources, include", "did you mean 'sources'?"),
        ("[build]", "[build]\nnonsense = []", "sources, include", ""),
        ("crate =", "craet =", "crate, version", "did you mean 'crate'?"),
    ],
)
def test_a_misspelt_key_gets_the_one_that_was_meant(
    old: str, new: str, allowed: str, hint: str, tmp_path: Path
) -> None:
    """If this fails, a typing error in a file is told without the way out."""
    assert old in MANIFEST
    with pytest.raises(WorldwiseError, match=f"there is no such key. Allowed: {allowed}") as caught:
        load_adapter(adapter(tmp_path, MANIFEST.replace(old, new, 1)))
    assert caught.value.hint == hint


def test_an_adapter_without_its_comment_or_source(tmp_path: Path) -> None:
    path = tmp_path / "some-lib.c"
    path.write_text('#include "ops.h"\n')
    with pytest.raises(WorldwiseError, match=r"has no comment that begins with '/\* implementation.toml'"):
        load_adapter(path)
    source = MANIFEST[MANIFEST.index("[source]") : MANIFEST.index("[build]")]
    with pytest.raises(WorldwiseError, match=r"has no \[source\]"):
        load_adapter(adapter(tmp_path, MANIFEST.replace(source, "")))
    operations = MANIFEST[MANIFEST.index("secp256r1 =") : MANIFEST.index("[needs]")]
    with pytest.raises(WorldwiseError, match="names none: nothing would be measured"):
        load_adapter(adapter(tmp_path, MANIFEST.replace(operations, "")))


@pytest.mark.usefixtures("added")
def test_a_folder_of_the_users_own(own: Path) -> None:
    library = load_folder(own)
    assert (library.name, library.folder, library.adapter) == ("some-lib", own.resolve(), own / "adapter.c")
    before = list(portables())
    add(library)
    assert list(portables()) == [*before, "some-lib"]


def test_wrong_folders_of_the_users_own(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorldwiseError, match="there is no such folder"):
        load_folder(own / "absent")
    monkeypatch.setattr(portable, "built_in", lambda: {"some-lib": load_adapter(adapter(own))})
    with pytest.raises(WorldwiseError, match="the name 'some-lib' is one of worldwise's own"):
        load_folder(own)
    monkeypatch.undo()
    (own / "adapter.c").unlink()
    with pytest.raises(WorldwiseError, match=r"has no adapter\.c") as caught:
        load_folder(own)
    assert "ops.h" in caught.value.hint
    (own / "implementation.toml").unlink()
    with pytest.raises(WorldwiseError, match=r"has no implementation\.toml"):
        load_folder(own)


def test_libraries_of_the_repository() -> None:
    known = portables()
    assert {"micro-ecc", "wolfssl-small"} <= known.keys()
    for name, library in known.items():
        assert library.manifest.licence, name
        for core in (*library.manifest.needs.cores, *library.manifest.build.core):
            assert core in (TEE_CORE, *PLAIN_TARGETS.values()) or load_core(core)
        assert set(library.manifest.build.curve) <= {*CURVES, "none"}, name
        assert library.adapter.read_text().startswith("/* SPDX-License-Identifier: BSD-2-Clause */\n"), name
    assert [name for name, library in known.items() if "secp112r1" in library.curves] == ["openssl"]


def test_numbers_of_curves_in_definitions_are_those_of_the_interface() -> None:
    """If this fails, a curve was put before others, and a library is compiled without the one that it is asked for."""
    found = {
        (curve, int(number))
        for path in paths.PORTABLE.glob("*.c")
        for curve, number in re.findall(r"(secp[0-9a-z]+)=\(OPS_CURVE==([0-9]+)\)", path.read_text())
    }
    assert len(found) >= 5
    assert all(CURVES.index(curve) == number for curve, number in found)


def test_operations_are_those_of_suites_and_of_the_interface() -> None:
    own = {each.name for spec in SPECS.values() for each in spec.operations if each.own}
    there = BOARD_OPERATIONS.keys() - own
    assert {*portable.OF_CURVE, *portable.CURVELESS, *portable.BETWEEN_STATES} == there
    header = (paths.PORTABLE / "ops_curve.h").read_text()
    for curve, facts in MEASURABLE.items():
        of_curve = paths.GUEST / "curves" / f"{curve}.h"
        assert (f"OPS_CURVE_{curve.upper()} " in header) == (curve in IN_FRAME) == (not of_curve.exists())
        defined = of_curve.read_text() if facts.own_number else header
        assert re.search(rf"^#define OPS_CURVE_{curve.upper()} {curve_number(curve)}$", defined, re.MULTILINE)
    numbers = [0, *map(curve_number, MEASURABLE)]
    assert len(set(numbers)) == len(numbers)


def test_a_curve_with_a_header_of_its_own_is_in_its_own_programs_alone() -> None:
    """If this fails, a curve of one library makes every image anew, or is compiled as if it were no curve."""

    def inputs(curve: str) -> tuple[set[str], dict[str, Any]]:
        recipe = PLAIN["linux-armv8"].programs(portables()["openssl"], "O2", curve, "", None)
        return set(recipe.trees), json.loads(recipe.settings["PLAN"])

    trees, plan = inputs("secp112r1")
    others, other_plan = inputs("secp256r1")
    header = "guest/curves/secp112r1.h"
    assert trees - others == {header} and not others - trees
    assert plan["number"] == 112 and f"/build/{header}" in plan["architecture_flags"]
    assert other_plan["number"] == 4 and "-include" not in other_plan["architecture_flags"]
    used = boards()["nucleo-f446re"]
    frame = frame_objects("nucleo-f446re", used, load_core(used.core), INSTRUCTIONS, serial=False)
    assert [one["number"] for one in json.loads(frame.settings["PLAN"])["curves"]] == [*range(1, 9), 0]


OPTIONS = """\
[options.nist]
default = "on"
values = { on = [], off = ["NIST_OFF"] }
[options.fixed-point]
default = "1"
values = { 0 = ["FIXED_POINT=0", "SMALL"], 1 = [] }
"""


@pytest.fixture
def optional(tmp_path: Path) -> Portable:
    """A library with build options."""
    return load_adapter(adapter(tmp_path, MANIFEST + OPTIONS))


def test_build_options(optional: Portable) -> None:
    assert optional.options("") == {"nist": "on", "fixed-point": "1"}
    assert optional.options("fixed-point-0") == {"nist": "on", "fixed-point": "0"}
    assert optional.options_text(optional.options("fixed-point-0+nist-off")) == "nist-off+fixed-point-0"
    assert optional.options_text(optional.options("fixed-point-1+nist-on")) == ""
    assert optional.defines("") == ()
    assert optional.defines("nist-off+fixed-point-0") == ("NIST_OFF", "FIXED_POINT=0", "SMALL")
    assert sorted(optional.grid()) == ["", "fixed-point-0", "nist-off", "nist-off+fixed-point-0"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nist-maybe", "'nist-maybe' is no build option of some-lib. It has: nist-on|off; fixed-point-0|1"),
        ("asm-off", "'asm-off' is no build option"),
        ("nist", "'nist' is no build option"),
        ("nist-off+nist-on", "'nist-on' appears twice"),
    ],
)
def test_wrong_build_options_are_refused(text: str, says: str, optional: Portable) -> None:
    with pytest.raises(WorldwiseError) as caught:
        optional.options(text)
    assert caught.value.message.startswith(says)


def test_a_library_without_build_options(tmp_path: Path) -> None:
    plain = load_adapter(adapter(tmp_path))
    assert plain.grid() == [""]
    with pytest.raises(WorldwiseError, match="It has: none"):
        plain.options("nist-off")


def test_a_default_that_is_no_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match="the default 'maybe' is not among the values: on, off"):
        load_adapter(adapter(tmp_path, MANIFEST + OPTIONS.replace('default = "on"', 'default = "maybe"')))


def test_a_library_that_comes_compiled(tmp_path: Path) -> None:
    crate = MANIFEST[MANIFEST.index("crate") : MANIFEST.index("[build]")]
    packaged = MANIFEST.replace(crate, 'packages = ["some-dev"]\n').replace('cores = ["cortex-m4"]', "linux = true")
    library = load_adapter(adapter(tmp_path, packaged))
    assert library.packaged
    assert not load_adapter(adapter(tmp_path)).packaged
    with pytest.raises(WorldwiseError, match=r"is for Linux: \[needs\] must say linux = true"):
        load_adapter(adapter(tmp_path, packaged.replace("linux = true", "")))
    with pytest.raises(WorldwiseError, match="must have one of 'crate', 'debian' and 'packages'"):
        load_adapter(adapter(tmp_path, packaged.replace("packages", 'debian = "some"\npackages')))


def test_libraries_that_come_compiled_are_linked_in_full() -> None:
    """What is compiled here is the adapter alone, and each of the packages' archives is named."""
    packaged = {name: library.manifest for name, library in portables().items() if library.packaged}
    assert {"openssl", "libsodium", "nettle", "lib25519"} <= packaged.keys()
    for name, manifest in packaged.items():
        parts = manifest.build.parts()
        assert manifest.build.archives, name
        assert not any(part.sources for part in parts), name
        assert not manifest.options, name
        assert all(archive.startswith("lib") and archive.endswith(".a") for archive in manifest.build.archives), name


def test_both_mbed_tls_have_the_same_build_options() -> None:
    old, new = (portables()[name].manifest.options for name in ("mbedtls28", "mbedtls36"))
    assert old == new
    assert list(old) == ["nist", "window", "fixed-point", "asm"]
    for name in ("mbedtls28", "mbedtls36"):
        assert len(portables()[name].grid()) == 24
        # A definition of ours that no header asks for would make two variants of one program.
        header = (paths.PORTABLE / f"{name}_config.h").read_text()
        for definition in portables()[name].defines("nist-off+window-2+fixed-point-off+asm-off"):
            assert definition.startswith("MBEDTLS_ECP_") or f"def {definition}\n" in header


@pytest.mark.parametrize("name", ["bearssl", "mbedtls28", "mbedtls36", "nettle", "openssl", "wolfssl"])
def test_who_has_secp384r1(name: str) -> None:
    library = portables()[name]
    assert all(library.has(operation, "secp384r1") for operation in portable.OF_CURVE)
    assert library.has("sha256", NO_CURVE)
