# SPDX-License-Identifier: BSD-2-Clause
import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, cast

import click
import pytest
from click.testing import CliRunner

from suite_texts import suite_text
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli import cli
from worldwise.families.attestation.images import programs
from worldwise.libraries import portable
from worldwise.libraries.boards import Board, boards
from worldwise.libraries.own_library import folder_copy, own_libraries
from worldwise.libraries.own_library.own_libraries import OwnLibrary
from worldwise.libraries.portable import portables
from worldwise.plan.suite import Suite, parse_suite
from worldwise.plan.user_code.own_library_cases import with_own
from worldwise.run.folder.own_entries import check_same, entry_of
from worldwise.run.folder.rundir import Run
from worldwise.targets.board import firmware_programs

MANIFEST = """\
name = "my-lib"
title = "My library"
about = "one line"
licence = "BSD-2-Clause"
[build]
sources = ["lib/*.c"]
include = ["lib"]
[build.core.cortex-m0]
without = ["lib/*.c"]
[operations]
secp256r1 = ["keygen", "sign", "verify"]
none = ["sha256"]
"""

SUITE = suite_text(
    "both",
    "nucleo-f446re / keygen sign ecdh / micro-ecc monocypher / Os O2 / curves secp112r1 secp256r1 x25519"
    " / sizes 16B 32B",
    "optee linux / attestdiv / mbedtls mbedtls-nist / O2",
    "optee / empty-invoke / mbedtls-nist / O2",
    "optee / sha256 / mbedtls / O2 / sizes 1MiB",
    samples=3,
    warmup=1,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's library."""
    path = tmp_path / "library"
    (path / "lib").mkdir(parents=True)
    (path / "implementation.toml").write_text(MANIFEST)
    (path / "adapter.c").write_text("int one;\n")
    (path / "lib" / "lib.c").write_text("int two;\n")
    return path


Bring = Callable[..., OwnLibrary]


@pytest.fixture
def bring(folder: Path, tmp_path: Path) -> Iterator[Bring]:
    """Brings the library, as it then is or with another manifest."""

    def brought(old: str = "", new: str = "") -> OwnLibrary:
        assert old in MANIFEST
        (folder / "implementation.toml").write_text(MANIFEST.replace(old, new))
        own_libraries.forget()
        (only,) = own_libraries.bring([folder], tmp_path / "cache")
        return only

    yield brought
    own_libraries.forget()


def suite() -> Suite:
    return parse_suite(SUITE, "both.toml")


def test_it_becomes_known_and_is_copied(bring: Bring, folder: Path) -> None:
    brought = bring()
    assert brought.name in portable.portables()
    copy = brought.implementation.folder
    assert copy is not None
    assert copy != folder
    assert sorted(brought.files) == ["adapter.c", "implementation.toml", "lib/lib.c"]
    (folder / "lib" / "lib.c").write_text("int three;\n")
    assert (copy / "lib" / "lib.c").read_text() == "int two;\n"
    again = bring()
    assert again.digest != brought.digest
    assert again.implementation.folder != copy


def test_a_damaged_copy_is_made_anew(bring: Bring) -> None:
    copy = bring().implementation.folder
    assert copy is not None
    (copy / "adapter.c").write_text("damaged")
    assert bring().implementation.adapter.read_text() == "int one;\n"


def test_hidden_files_are_no_part_of_it(bring: Bring, folder: Path) -> None:
    digest = bring().digest
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    (folder / "lib" / ".lib.c.swp").write_text("editor")
    assert bring().digest == digest


def test_a_copy_that_the_cache_keeps_is_there_for_as_long_as_a_trace_is_read(bring: Bring, tmp_path: Path) -> None:
    """If this fails, a site's history names no functions of a user's library, or a command goes on with an old one."""
    digest = bring().digest
    with own_libraries.kept({"my-lib": "f" * 64}, tmp_path / "cache"):
        # What was brought stays.
        assert "my-lib" in portables()
    assert "my-lib" in portables()
    own_libraries.forget()
    with pytest.raises(ZeroDivisionError), own_libraries.kept({"my-lib": digest}, tmp_path / "cache"):
        assert portables()["my-lib"].folder == tmp_path / "cache" / "own" / f"my-lib-{digest[:12]}"
        raise ZeroDivisionError
    assert "my-lib" not in portables()


@pytest.mark.parametrize("name", ["../../outside/x", "my-lib", "..", "/etc/x"])
def test_what_a_strangers_run_names_is_no_copy(name: str, bring: Bring, tmp_path: Path) -> None:
    """If this fails, a received run makes the tool read a folder of its choice."""
    bring()
    own_libraries.forget()
    outside = tmp_path / "outside" / "x-ffffffffffff"
    outside.mkdir(parents=True)
    (outside / "implementation.toml").write_text(MANIFEST)
    with own_libraries.kept({name: "f" * 64}, tmp_path / "cache"):
        assert "my-lib" not in portables()


def test_a_link_within_the_folder_is_its_file(bring: Bring, folder: Path) -> None:
    (folder / "lib" / "more.c").symlink_to("lib.c")
    assert "lib/more.c" in bring().files


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"my-lib"', '"mbedtls-nist"', "implementation.toml: the name 'mbedtls-nist' is one of worldwise's own"),
        ('"my-lib"', '"micro-ecc"', "implementation.toml: the name 'micro-ecc' is one of worldwise's own"),
        ('["lib/*.c"]\ninc', '["lib/*.s"]\ninc', r"build.sources: 'lib/\*.s' names no file in"),
        ('["lib/*.c"]\ninc', '["../x.c"]\ninc', r"build.sources: '\.\./x.c' leads out of the folder"),
        ('["lib/*.c"]\ninc', '["lib/lib.o"]\ninc', "build.sources: 'lib/lib.o' is not a C or assembly source"),
        ('include = ["lib"]', 'include = ["library"]', "build.include: there is no folder .*library"),
        ('include = ["lib"]', 'include = ["/usr/include"]', "build.include: '/usr/include' leads out of the folder"),
        ("[build.core.cortex-m0]", "[build.core.cortex-m99]", "build.core.cortex-m99: core 'cortex-m99': there is no"),
        ("[build.core.cortex-m0]\nwithout", "[build.curve.p256]\nsources", "build.curve.p256: curve 'p256' is not"),
    ],
)
def test_a_wrong_manifest_is_refused(bring: Bring, old: str, new: str, says: str) -> None:
    with pytest.raises(WorldwiseError, match=says):
        bring(old, new)


ALLOWED = ("-O3", "-fomit-frame-pointer", "-fno-inline", "-funroll-loops", "-mcpu=cortex-m4", "-mthumb", "-Wno-unused")
MORE_ALLOWED = ("-std=gnu11", "-w", "-falign-functions=16", "-march=armv7e-m+fp", "-fstrict-aliasing", "-fno-builtin")
REFUSED = (
    "-wrapper",
    "-fplugin=x.so",
    "-specs=/in/own/specs",
    "-B/in/own",
    "@file",
    "-o",
    "-o/out/image.json",
    "-x",
    "-include",
    "-I/",
    "-imacros",
    "-Wl,-T,x",
    "-Wa,--listing=/out/x",
    "-Wp,-MD,/out/x",
    "-Xlinker",
    "-Xassembler",
    "-MD",
    "-MF/out/x",
    "-save-temps",
    "-dumpdir",
    "-fdump-tree-all=/out/x",
    "-fdump-passes",
    "-fprofile-generate",
    "-fprofile-use=/in/own/x",
    "-fopt-info-all=/out/x",
    "-fsave-optimization-record",
    "-fcallgraph-info",
    "-fstack-usage",
    "-ftest-coverage",
    "-fuse-ld=gold",
    "-flto",
    "-fsanitize=address",
    "-fdiagnostics-format=json-file",
    "-fpch-preprocess",
    "-fdebug-prefix-map=/a=/b",
    "-finstrument-functions",
    "-T",
    "-L/",
    "-lfoo",
    "-shared",
    "-v",
    "-###",
    "--help",
    "-O2 -wrapper",
    "-O2\n-wrapper",
    "",
)


@pytest.mark.parametrize("flag", [*ALLOWED, *MORE_ALLOWED])
def test_flags_that_make_other_code_are_taken(bring: Bring, flag: str) -> None:
    assert bring("[build]\n", f'[build]\nflags = ["{flag}"]\n').implementation.manifest.build.flags == (flag,)


@pytest.mark.parametrize("place", ["[build]\n", "[build.core.cortex-m0]\n"])
@pytest.mark.parametrize("flag", REFUSED)
def test_a_flag_that_does_more_is_refused(bring: Bring, flag: str, place: str) -> None:
    """If this fails, a library's text runs another program, or has the compiler read or write another file."""
    with pytest.raises(WorldwiseError, match="flags"):
        bring(place, f"{place}flags = [{json.dumps(flag)}]\n")


@pytest.mark.parametrize("definition", ["-wrapper", "A B", "A\n-x", "1A", "A(", ""])
def test_a_definition_that_is_none_is_refused(bring: Bring, definition: str) -> None:
    with pytest.raises(WorldwiseError, match="defines"):
        bring("[build]\n", f"[build]\ndefines = [{json.dumps(definition)}]\n")


def test_what_is_about_to_run_is_said(bring: Bring, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, and of a folder of another user; not of one's own."""
    brought = bring()
    said: list[str] = []
    for user in (0, 4711, folder.stat().st_uid or 4711):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        own_libraries.announce([brought], said.append)
    monkeypatch.undo()
    assert all(str(folder) in line and "no network" in line for line in said)
    assert f"which belongs to user {folder.stat().st_uid}" in said[1]


def test_a_core_that_is_not_known_is_refused(bring: Bring) -> None:
    with pytest.raises(WorldwiseError, match=r"needs\.cores: core 'm4'"):
        bring('none = ["sha256"]\n', '[needs]\ncores = ["m4"]\n')


def test_the_machine_of_optee_is_a_core(bring: Bring) -> None:
    bring("[build.core.cortex-m0]", "[build.core.cortex-a72]")


def test_missing_files_are_named(bring: Bring, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match="there is no such folder"):
        own_libraries.bring([tmp_path / "gone"], tmp_path / "cache")
    (folder / "adapter.c").unlink()
    with pytest.raises(WorldwiseError, match=r"has no adapter\.c"):
        bring()
    (folder / "implementation.toml").unlink()
    with pytest.raises(WorldwiseError, match=r"has no implementation\.toml$") as caught:
        own_libraries.bring([folder], tmp_path / "cache")
    assert "docs/use/own.md describes both files" in caught.value.hint


@pytest.mark.parametrize(
    ("made", "kind", "way_out"),
    [
        (("user_ta_header_defines.h", "Makefile"), "a trusted application", "puts them into a TA of its own"),
        (("ta/user_ta_header_defines.h", "host/main.c"), "a trusted application", "Measure the library in it"),
        (("Cargo.toml", "src/lib.rs"), "a Cargo project", "Only C and assembly are compiled"),
        (("CMakeLists.txt", "Makefile"), "a CMake project", "CMake is not run"),
        (("meson.build",), "a Meson project", "Meson is not run"),
        (("GNUmakefile", "x.c"), "a project with a Makefile", "Make is not run"),
        (("firmware.axf",), "one of compiled programs (firmware.axf is a compiled program (ELF))", "compiles the"),
        (("8aaaf200.ta",), "one of compiled programs (8aaaf200.ta is a signed TA)", "compiles the sources itself"),
        (("x.c",), "", "adapter.c calls them"),
    ],
)
def test_a_folder_that_is_no_library_is_recognised(
    made: tuple[str, ...], kind: str, way_out: str, tmp_path: Path
) -> None:
    """If this fails, who names a TA, a program or a project of another build system hears of a missing file alone."""
    folder = tmp_path / "thing"
    for name in made:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        begin = {".axf": b"\x7fELF", ".ta": b"HSTO"}.get(Path(name).suffix, b"x")
        (folder / name).write_bytes(begin + b"\0" * 60)
    # What cannot be read, or never ends, hinders nobody.
    os.mkfifo(folder / "a-fifo")
    (folder / "a-loop").symlink_to("a-loop")
    with pytest.raises(WorldwiseError) as caught:
        own_libraries.bring([folder], tmp_path / "cache")
    looks = f"; the folder looks like {kind}" if kind else ""
    assert caught.value.message == f"{folder}: has no implementation.toml{looks}"
    assert "docs/use/own.md describes both files" in caught.value.hint and way_out in caught.value.hint


def test_what_a_run_measured_is_found_in_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, `predict RUN` and `explain RUN` ask for a folder that the cache has a copy of."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    (brought,) = own_libraries.bring([folder])
    entry = entry_of(brought)
    own_libraries.forget()
    run = cast("Run", SimpleNamespace(id="a-run", manifest=SimpleNamespace(own=[entry])))
    tools = importlib.import_module("worldwise.cli.traces.plugin_runs")
    for directories in ([], [folder]):
        with click.Context(click.Command("predict")) as context, context.scope():
            tools.with_own(run, directories)
            assert entry.name in portables()
        assert entry.name not in portables()
    with (folder / "adapter.c").open("a") as file:
        file.write("/* changed */\n")
    with click.Context(click.Command("predict")), pytest.raises(WorldwiseError, match="has changed since run a-run"):
        tools.with_own(run, [folder])
    assert entry.name not in portables()


def test_a_case_of_a_folder_is_predicted(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `predict CASE --implementation DIR` does not know the library, though it was named."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    # A core that cannot run it: what is refused then is the core, and nothing is built.
    arguments = ["nucleo-f446re/my-lib-O2/sign,curve=secp256r1,size=32B", "--core", "cortex-a72"]
    result = CliRunner().invoke(cli, ["predict", *arguments, "--implementation", str(folder)])
    assert "which a Cortex-A72 cannot run" in str(result.exception)
    assert "my-lib" not in portables()
    result = CliRunner().invoke(cli, ["predict", *arguments])
    assert "my-lib-O2" in str(result.exception) and "cannot run" not in str(result.exception)


def test_a_file_in_place_of_a_folder_is_recognised(tmp_path: Path) -> None:
    """If this fails, who names an ELF file or a TA is told that there is no such folder."""
    for begin, kind in ((b"\x7fELF", "is a compiled program"), (b"HSTO", "is a signed TA"), (b"abcd", "is no folder")):
        (tmp_path / "file").write_bytes(begin + b"\0" * 60)
        with pytest.raises(WorldwiseError, match=kind):
            own_libraries.bring([tmp_path / "file"], tmp_path / "cache")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: (folder / "lib" / "x.c").symlink_to("/etc/hostname"), "x.c: links to /etc/hostname, and that"),
        (lambda folder: (folder / "lib" / "x.c").symlink_to("../../x.c"), r"x.c: links to \.\./\.\./x.c"),
        (lambda folder: (folder / "lib" / "x.c").symlink_to("gone.c"), "x.c: is not a file"),
        (lambda folder: (folder / "more").symlink_to("lib"), "more: is a link to a folder"),
        (lambda folder: os.mkfifo(folder / "pipe"), "pipe: is not a file"),
    ],
)
def test_what_is_no_file_of_the_folder_is_refused(
    bring: Bring, folder: Path, make: Callable[[Path], None], says: str
) -> None:
    make(folder)
    with pytest.raises(WorldwiseError, match=says):
        bring()


def test_a_folder_that_is_too_much_is_refused(bring: Bring, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_copy, "MOST_FILES", 2)
    with pytest.raises(WorldwiseError, match="has more than 2 files"):
        bring()
    assert folder.exists()


def test_two_folders_of_one_name_are_refused(bring: Bring, folder: Path, tmp_path: Path) -> None:
    bring()
    with pytest.raises(WorldwiseError, match="the name 'my-lib' is another folder's"):
        own_libraries.bring([folder], tmp_path / "cache")


def test_a_suite_asks_it_what_it_asks_of_others(bring: Bring) -> None:
    brought = bring()
    asked = suite()
    mine = [case for case in with_own(asked, [brought]).cases if case.implementation == "my-lib"]
    assert [case.id for case in mine] == [
        "nucleo-f446re/my-lib-Os/keygen,curve=secp256r1",
        "nucleo-f446re/my-lib-Os/sign,curve=secp256r1,size=16B",
        "nucleo-f446re/my-lib-Os/sign,curve=secp256r1,size=32B",
        "nucleo-f446re/my-lib-O2/keygen,curve=secp256r1",
        "nucleo-f446re/my-lib-O2/sign,curve=secp256r1,size=16B",
        "nucleo-f446re/my-lib-O2/sign,curve=secp256r1,size=32B",
        "optee/my-lib-O2/attestdiv",
        "linux/my-lib-O2/attestdiv",
    ]
    assert {(case.samples, case.warmup) for case in mine} == {(3, 1)}


def test_what_it_has_not_is_unavailable(bring: Bring) -> None:
    brought = bring()
    lacking = {
        (one.target, one.operation, one.curve): one.reason
        for one in with_own(suite(), [brought]).unavailable
        if one.implementation == "my-lib"
    }
    assert lacking == {
        ("nucleo-f446re", "keygen", "secp112r1"): "only openssl has secp112r1, in Linux",
        ("nucleo-f446re", "sign", "secp112r1"): "only openssl has secp112r1, in Linux",
        ("nucleo-f446re", "ecdh", "secp112r1"): "only openssl has secp112r1, in Linux",
        ("nucleo-f446re", "ecdh", "secp256r1"): "my-lib has no ecdh on secp256r1",
        ("nucleo-f446re", "keygen", "x25519"): "my-lib has no x25519",
        ("nucleo-f446re", "ecdh", "x25519"): "my-lib has no x25519",
        ("optee", "sha256", ""): "sha256 on optee is measured only for OP-TEE's own libraries",
    }


def test_without_p256_it_has_no_attestation(bring: Bring) -> None:
    brought = bring("secp256r1", "ed25519")
    reasons = {one.reason for one in with_own(suite_with_ed25519(), [brought]).unavailable if one.target == "optee"}
    assert "my-lib has no keygen on secp256r1" in reasons


def suite_with_ed25519() -> Suite:
    return parse_suite(SUITE.replace('"x25519"', '"x25519", "ed25519"'), "both.toml")


def test_a_suite_that_has_nothing_for_it_is_refused(bring: Bring) -> None:
    only_tee = SUITE[: SUITE.index("[[cases]]")] + SUITE[SUITE.index('[[cases]]\ntargets = ["optee", "linux"]') :]
    brought = bring("secp256r1", "ed25519")
    with pytest.raises(WorldwiseError, match="has nothing that 'my-lib' can be measured by: my-lib has no keygen on"):
        with_own(parse_suite(only_tee, "tee.toml"), [brought])


def test_a_resumed_run_needs_the_same_folder(bring: Bring, folder: Path) -> None:
    brought = bring()
    entry = entry_of(brought)
    assert entry.manifest == MANIFEST
    check_same("a-run", [entry], [brought])
    with pytest.raises(WorldwiseError, match="run a-run measures 'my-lib', a library of the user's own that is not"):
        check_same("a-run", [entry], [])
    with pytest.raises(WorldwiseError, match="run a-run was begun without 'my-lib'"):
        check_same("a-run", [], [brought])
    (folder / "lib" / "new.c").write_text("int four;\n")
    (folder / "adapter.c").write_text("int five;\n")
    with pytest.raises(WorldwiseError, match=r"has changed since run a-run was begun \(adapter.c, lib/new.c\)"):
        check_same("a-run", [entry], [bring()])


def test_its_images_have_its_files(bring: Bring) -> None:
    brought = bring()
    board = portable_board()
    recipe = firmware_programs(brought.implementation, "O2", "nucleo-f446re", board, None)
    assert recipe.trees["own"] == brought.implementation.folder
    assert programs(brought.implementation.name, "O2", lambda _: None).trees["own"] == brought.implementation.folder
    ours = portable.portables()["micro-ecc"]
    assert "own" not in firmware_programs(ours, "O2", "nucleo-f446re", board, paths.GUEST).trees


def portable_board() -> Board:
    return boards()["nucleo-f446re"]


def test_a_failed_build_names_the_users_file(bring: Bring, folder: Path) -> None:
    bring()
    log = "== something\nin /in/own/adapter.c\nworldwise: /in/own/adapter.c:3: expected ';'"
    with pytest.raises(WorldwiseError) as caught, own_libraries.told("my-lib"):
        raise WorldwiseError("bash in the lab failed with status 1", "the whole output is in some.log", log)
    assert caught.value.message == f"my-lib: {folder}/adapter.c:3: expected ';'"
    assert caught.value.details == f"in {folder}/adapter.c"
    assert "some.log" in caught.value.hint
    with pytest.raises(WorldwiseError, match="bash in the lab"), own_libraries.told("micro-ecc"):
        raise WorldwiseError("bash in the lab failed with status 1", "", log)


def test_a_library_that_was_not_brought_is_said_to_be_missing(bring: Bring) -> None:
    brought = bring()
    assert portable.find("my-lib") == brought.implementation
    own_libraries.forget()
    with pytest.raises(WorldwiseError, match="'my-lib' is not here") as caught:
        portable.find("my-lib")
    assert "--implementation DIR" in caught.value.hint


def test_a_folder_that_is_refused_leaves_nothing_of_those_before_it(folder: Path, tmp_path: Path) -> None:
    """If this fails, what a suite accepts depends on a call that failed before."""
    own_libraries.forget()
    (folder / "implementation.toml").write_text(MANIFEST)
    before = {*portables()}
    with pytest.raises(WorldwiseError):
        own_libraries.bring([folder, tmp_path / "gone"], tmp_path / "cache")
    assert {*portables()} == before
    # So is the same folder twice; alone it may be brought again.
    with pytest.raises(WorldwiseError, match="is another folder's"):
        own_libraries.bring([folder, folder], tmp_path / "cache")
    assert {*portables()} == before
    (only,) = own_libraries.bring([folder], tmp_path / "cache")
    assert {*portables()} == before | {only.name}
    own_libraries.forget()
    assert {*portables()} == before


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_command_forgets_what_it_brought(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, what a suite accepts depends on the command before."""
    own_libraries.forget()
    (folder / "implementation.toml").write_text(MANIFEST)
    before = {*portables()}
    seen: list[set[str]] = []
    bring = own_libraries.bring

    def stop(directories: Iterable[Path]) -> NoReturn:
        bring(directories, tmp_path / "cache")
        seen.append({*portables()} - before)
        raise WorldwiseError("enough")

    monkeypatch.setattr(own_libraries, "bring", stop)
    monkeypatch.setattr(importlib.import_module("worldwise.cli.traces.plugin_runs"), "open_run", lambda *_: None)
    words = {"run": ["run"], "explain": ["explain", "latest"]}[command]
    CliRunner().invoke(cli, [*words, "--implementation", str(folder)])
    assert [len(one) for one in seen] == [1]
    assert {*portables()} == before
