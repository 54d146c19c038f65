# SPDX-License-Identifier: BSD-2-Clause
"""worldwise.toml: what it may say, what is refused with file, line and key, and what `init` writes."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from test_cli import call

from command_line import Call
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import parse
from worldwise.cli.baselines import worst
from worldwise.cli.common.process import EXIT_ERROR, EXIT_EXCEEDED
from worldwise.cli.user_code import project as project_screen
from worldwise.libraries.own_code import CodeManifest, case_names, inputs_digest
from worldwise.plan.user_code.project import Measure, Project, json_schema, load_project
from worldwise.run.code.repository import project as making
from worldwise.run.code.repository.benchmarks import Benchmark
from worldwise.run.code.repository.limits import verdicts
from worldwise.run.code.repository.measurable_files import look, text_of

__all__ = ["call"]

EXAMPLE = paths.REPOSITORY / "docs" / "examples" / "repository"
GOOD = """\
format = 1
[measure.bench]
build = "make"
program = "bench"
regions = ["crc32"]
[measure.bench.limit.crc32]
instructions = 10
"""


def told(text: str) -> str:
    """What is said of a file."""
    with pytest.raises(WorldwiseError) as caught:
        parse(Project, text, "worldwise.toml")
    return " ".join(f"{caught.value.message} {caught.value.hint}".split())


def test_a_makefile_is_a_way_to_build(call: Call, tmp_path: Path) -> None:
    """If this fails, `init` of a library with a Makefile says that there is nothing, as if it had not looked."""
    for name in ("", "bench cm4", ".hidden"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "Makefile").write_text("all:\n", encoding="ascii")
    answer = call("init", str(tmp_path))
    assert answer.status == 0
    assert 'Makefile: build = "make" in a measure, and the file that it leaves' in answer.out
    assert "bench cm4/Makefile: build = \"make -C 'bench cm4'\" in a measure" in answer.out
    assert "hidden" not in answer.out
    assert "# Makefile: build" in (tmp_path / "worldwise.toml").read_text(encoding="ascii")


def test_a_flag_for_the_building_machine_has_a_way_out() -> None:
    """If this fails, whoever's Makefile has -mtune=native reads a list of sixty processors and no way out."""
    said = (
        "cc1: error: unknown value \u2018native\u2019 for \u2018-mtune\u2019\nworldwise: the build ended with status 2"
    )
    error = making.build_error(WorldwiseError("build failed", "", said))
    assert error.message == "build: the build ended with status 2"
    assert error.hint.startswith("-mtune=native is for the machine that builds")
    assert making.build_error(WorldwiseError("x", "", "worldwise: no")).hint == "the end of its output is above"


def test_what_was_measured_comes_with_its_notes() -> None:
    """If this fails, `run .` shows two calls of what was called once, and nothing of a pattern's other functions."""
    manifest = SimpleNamespace(notes=["f is called once at each power-on."])
    ready = SimpleNamespace(code=SimpleNamespace(manifest=manifest), unentered=["g"])
    one = SimpleNamespace(words="", ready=ready, measure=SimpleNamespace(regions=["f", "g"]))
    assert project_screen.notes_of(cast(Any, one)) == [*manifest.notes, "Never called, or once alone: g."]
    one.measure.regions, one.words = [], "built in the sandbox"
    assert project_screen.notes_of(cast(Any, one)) == ["built in the sandbox.", *manifest.notes]


def trace_of(passes: Sequence[Any]) -> SimpleNamespace:
    """What is read of a trace here: its passes, and which are calls of a function."""
    return SimpleNamespace(passes=passes, calls=lambda number: [one for one in passes if one.call == number])


def test_an_error_says_how_options_are_called_in_the_file(tmp_path: Path) -> None:
    """If this fails, a worldwise.toml's reader is told to type an option that `run .` does not take."""
    (tmp_path / "worldwise.toml").write_text(GOOD, encoding="ascii")
    opened = making.open_project(tmp_path)
    with pytest.raises(WorldwiseError) as caught, making.named_errors(opened, "bench"):
        raise WorldwiseError("--other-ta x and --ta y: what", "--beside a brings it")
    assert caught.value.message.endswith("worldwise.toml:2: measure.bench: --other-ta x and --ta y: what")
    assert caught.value.hint == f"--beside a brings it; {making.KEYS}"
    assert all(key in Measure.model_fields for key in re.findall("`([a-z]+_?[a-z]+)`", making.KEYS) if key != "run")


def test_the_example_is_a_good_file() -> None:
    project = load_project(EXAMPLE)
    assert list(project.measure) == ["ta", "bench", "m4"]
    assert project.measure["m4"].flash == 1024
    assert project.measure["m4"].limit["crc32"].instructions == 15_000
    budget = project.measure["bench"].limit["crc32"].budget
    assert budget
    assert (budget.limit_text, budget.clock_text, budget.place) == ("80 us", "1.5 GHz", "region")


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("format = 1", "format = 2", "worldwise.toml:1: format: 2 is not known. Allowed: 1."),
        ("format = 1", "", "the key 'format' is missing. Required: format, measure."),
        ("regions", 'flash = "4KiB"\nregions', "flash is for firmware, and this is a program"),
        ("regions", "region", "worldwise.toml:5: measure.bench.region: there is no such key."),
        ("regions", "region", "did you mean 'regions'?"),
        (
            'regions = ["crc32"]',
            'benchmark = ["*"]',
            "did you mean 'benchmarks'?",
        ),
        (
            "instructions = 10",
            'instructions = 10\n[measure.other]\nprogram = "b"\nbenchmarks = ["*"]\nthread = "f"',
            "worldwise.toml:8: measure.other: benchmarks and thread exclude each other: the harness chooses",
        ),
        (
            "instructions = 10",
            'instructions = "10"',
            "worldwise.toml:7: measure.bench.limit.crc32.instructions: must be",
        ),
        ("instructions = 10", "instrutions = 10", "did you mean 'instructions'?"),
        ('"bench"', '"../bench"', "worldwise.toml:4: measure.bench.program: must be a path within the folder"),
        ('"bench"', '"/bin/true"', "'/bin/true' leads out of the folder"),
        ('program = "bench"', 'firmware = "bench"', "firmware needs the machine that it starts on"),
        ('program = "bench"', 'ta = "ta"', "measures one thing: program, or ta with client, or firmware"),
        ('program = "bench"', 'program = "b"\nmachine = "microbit"', "machine is for firmware, and this is a program"),
        ("instructions = 10", 'change = "little"', "'little' is not a limit for a gate; say how many per cent"),
        ("instructions = 10", 'time = "5ms@1GHz"', "time and core go together"),
        ("instructions = 10", 'time = "5ms"\ncore = "cortex-a72"', "worldwise.toml:7"),
        ("measure.bench", "measure.Bench", "measure: 'Bench' is no name for a measure"),
        ('build = "make"', 'build = "make', "worldwise.toml:3: not valid TOML"),
        ('build = "make"', 'build = "make"\nrun = "curl"', "there is no such key. Allowed: folder, build, program"),
        ('build = "make"', "build = 7", "must be a shell command, or a list of such, is a whole number"),
        ("instructions = 10", "instructions = 0", "worldwise.toml:7"),
    ],
)
def test_a_wrong_file_is_told(was: str, becomes: str, said: str) -> None:
    """With file, line and key; a word that was mistyped with the one that was meant."""
    assert was in GOOD
    text = GOOD.replace(was, becomes)
    assert said in told(text), told(text)


def test_the_schema_is_published(call: Call) -> None:
    answer = call("schema", "project")
    assert answer.status == 0
    assert '"measure"' in answer.out
    assert set(json_schema()["required"]) == {"format", "measure"}


def test_a_folder_without_a_file_is_told(call: Call, tmp_path: Path) -> None:
    answer = call("run", f"{tmp_path}/")
    assert answer.status == 1
    assert "has no worldwise.toml" in answer.told
    assert "worldwise init" in answer.told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--variant", "a"), "a folder with a worldwise.toml does not accept --variant"),
        (("--region", "f"), "--region"),
        (("--seed", "3"), "the file chooses what to measure: docs/use/in-your-repository.md"),
    ],
)
def test_what_the_file_says_is_not_said_twice(call: Call, words: tuple[str, ...], said: str) -> None:
    answer = call("run", f"{EXAMPLE}", *words)
    assert answer.status == 2
    assert said in answer.told


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bench").symlink_to("/etc/passwd")
    (tmp_path / "inner").mkdir()
    with pytest.raises(WorldwiseError, match="is a link out of the folder"):
        making.place_within(tmp_path, "bench")
    assert making.place_within(tmp_path, "inner") == tmp_path / "inner"


# --- limits ---


def made_of(opened: making.Opened, counts: dict[str, list[int]], stack: int | None = 0) -> list[making.Made]:
    """Measures whose regions were counted so."""
    found = []
    for number, (name, measure) in enumerate(opened.project.measure.items()):
        regions = {
            region: SimpleNamespace(address=8 * at, command=None, thread=None, thread_name="", target="")
            for at, region in enumerate(measure.limit)
        }
        passes = [
            SimpleNamespace(id=n, begin=n, instructions=count, call=at + 1, how="returned", stack=stack, parent=1)
            for at, region in enumerate(regions)
            for n, count in enumerate(counts[f"{name}/{region}"], 1)
        ]
        manifest = SimpleNamespace(
            kind="program", regions=regions, addresses=[one.address for one in regions.values()], number=number
        )
        code = SimpleNamespace(manifest=manifest, folder=Path(), name=name)
        ready = SimpleNamespace(code=code, counted=SimpleNamespace(trace=trace_of(passes)))
        found.append(making.Made(name, measure, cast(Any, ready), ""))
    return found


def test_a_limit_is_of_the_worst_call() -> None:
    """One instruction above it is too much; the line of the file is said."""
    text = GOOD + "first = 12\n"
    opened = making.Opened(Path("here"), parse(Project, text, "worldwise.toml"), text)
    kept = verdicts(opened, made_of(opened, {"bench/crc32": [10, 9]}))
    assert [(one.what, one.kept) for one in kept] == [("worst call", True), ("first call", True)]
    over = verdicts(opened, made_of(opened, {"bench/crc32": [9, 11]}))
    assert [(one.what, one.kept, one.found, one.limit) for one in over] == [
        ("worst call", False, "11 instructions", "10"),
        ("first call", True, "9 instructions", "12"),
    ]
    assert over[0].where == "here/worldwise.toml:7"
    assert over[0].case == "own/bench/crc32"


def test_a_limit_of_the_stack() -> None:
    text = GOOD.replace('program = "bench"', 'firmware = "b"\nmachine = "mps2-an386"').replace(
        "instructions = 10", 'stack = "1KiB"'
    )
    opened = making.Opened(Path("here"), parse(Project, text, "worldwise.toml"), text)
    for stack, kept in ((1024, True), (1032, False)):
        (one,) = verdicts(opened, made_of(opened, {"bench/crc32": [10, 9]}, stack))
        assert (one.what, one.kept, one.found) == ("stack", kept, f"{stack:,} B")
    # What was not seen is not 0.
    with pytest.raises(WorldwiseError, match="the stack of own/bench/crc32 was not seen"):
        verdicts(opened, made_of(opened, {"bench/crc32": [10, 9]}, None))


@pytest.mark.parametrize(("taken", "kept"), [(4064, True), (4065, False), (0, True)])
def test_a_limit_of_the_heap_is_the_least_data_size(monkeypatch: pytest.MonkeyPatch, taken: int, kept: bool) -> None:
    """With the head of OP-TEE's free piece; no TA has less than 1,024 bytes."""
    text = GOOD.replace('program = "bench"', 'ta = "ta"\nclient = "host"\nheap = "4KiB"')
    opened = making.Opened(Path("here"), parse(Project, text, "worldwise.toml"), text)
    made = made_of(opened, {"bench/crc32": [10, 9]})
    starts = [SimpleNamespace(parent=None, ta_stack=16, ta_heap=one) for one in (0, taken)]
    within = SimpleNamespace(parent=1, ta_stack=16, ta_heap=9999)
    cast(Any, made[0].ready.counted.trace).passes = [*starts, within]
    monkeypatch.setattr(making.Made, "limits", [])
    monkeypatch.setattr(making, "ask", lambda *_, **__: ((0, 0, 16, 4096, 8192),))
    found = verdicts(opened, made)[0]
    assert (found.what, found.kept, found.where) == ("heap", kept, "here/worldwise.toml:6")
    assert found.found == f"{max(1024, -(-(taken + 32) // 16) * 16):,} B"
    monkeypatch.setattr(making, "ask", lambda *_, **__: ((0, 0, 16, 0, 0),))
    asks = "worldwise.run.code.repository.limits.is_of_32_bits"
    monkeypatch.setattr(asks, lambda _: False)
    with pytest.raises(WorldwiseError, match="where the heap of this TA is: its symbols were stripped"):
        verdicts(opened, made)
    # Of 32 bits the heap has a place, but no start has seen the stack.
    monkeypatch.setattr(making, "ask", lambda *_, **__: ((0, 0, 16, 4096, 8192),))
    monkeypatch.setattr(asks, lambda _: True)
    for one in starts:
        one.ta_stack = None
    with pytest.raises(WorldwiseError, match="where the heap of this TA is: the TA has 32 bits, and QEMU shows no"):
        verdicts(opened, made)


@pytest.mark.parametrize(("taken", "kept"), [(4096, True), (4097, False)])
def test_limits_of_the_heap_of_a_program(taken: int, kept: bool) -> None:
    """Of its starts as a whole, and of a region's calls; what nobody looked at is not 0."""
    text = GOOD.replace("regions", 'heap = "4KiB"\nregions').replace("instructions = 10", 'heap = "4KiB"')
    opened = making.Opened(Path("here"), parse(Project, text, "worldwise.toml"), text)
    made = made_of(opened, {"bench/crc32": [10, 9]})
    trace = cast(Any, made[0].ready.counted.trace)
    for one in trace.passes:
        one.heap = taken
    trace.passes += [SimpleNamespace(parent=None, call=0, heap=one) for one in (0, taken)]
    found = [one for one in verdicts(opened, made) if one.what == "heap"]
    assert [(one.case, one.kept, one.where) for one in found] == [
        ("own/bench", kept, "here/worldwise.toml:5"),
        ("own/bench/crc32", kept, "here/worldwise.toml:8"),
    ]
    assert {one.found for one in found} == {f"{taken:,} B"}
    for one in trace.passes:
        one.heap = None
    with pytest.raises(WorldwiseError, match="toml:5: it is unknown where the allocator of this program is"):
        verdicts(opened, made)


def test_an_error_comes_before_a_limit() -> None:
    assert worst(0, 0) == 0
    assert worst(0, EXIT_EXCEEDED) == EXIT_EXCEEDED
    assert worst(EXIT_EXCEEDED, EXIT_ERROR) == EXIT_ERROR


# --- init ---


def test_init_writes_what_it_finds(call: Call, tmp_path: Path) -> None:
    """An OP-TEE application is there as it lies, its client by CMake too; how else it is built is named."""
    for name in ("ta", "host"):
        shutil.copytree(EXAMPLE / name, tmp_path / "app" / name)
    (tmp_path / "app" / "host" / "Makefile").rename(tmp_path / "app" / "host" / "CMakeLists.txt")
    (tmp_path / "app" / "CMakeLists.txt").write_text("project(a)\n")
    (tmp_path / "app" / "Cargo.toml").write_text("[package]\n")
    answer = call("init", tmp_path / "app")
    assert (answer.status, answer.err) == (0, "")
    assert "app: An OP-TEE application." in answer.out
    assert "Cargo.toml: build it first, with cargo build" in answer.out
    assert 'CMakeLists.txt: build = "cmake -S . -B out && cmake --build out" in a measure' in answer.out
    project = load_project(tmp_path / "app")
    assert (project.measure["app"].ta, project.measure["app"].client) == ("ta", "host")
    again = call("init", tmp_path / "app")
    assert again.status == 1
    assert "exists already" in again.told
    assert call("init", tmp_path / "app", "--force").status == 0
    assert call("init", tmp_path / "none").status == 1


def test_init_of_an_empty_folder_says_what_to_write(tmp_path: Path) -> None:
    """All that it writes is a comment but for the format; with the comments taken away it is a good file."""
    found, outside = look(tmp_path)
    text = text_of(found, outside)
    assert "Nothing was found" in text
    example = text[text.index("# [measure.bench]") :].replace("# [", "[").replace("# build", "build")
    example = example.replace("# program", "program").replace("# regions", "regions")
    assert parse(Project, f"format = 1\n{example}", "worldwise.toml").measure["bench"].commands == "make bench"


def test_init_tells_programs_from_firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the ELF file says; a library and an object are neither."""
    answers = {
        "tool": (["ET_DYN", "EM_AARCH64", 64, "/lib/ld", [], []], []),
        "app.elf": (["ET_EXEC", "EM_ARM", 0x0800_0001, "", [], []], [(0, 9, 0, 0x0800_0000, 5)]),
        "here": (["ET_DYN", "EM_X86_64", 64, "", [], []], []),
    }
    for name in (*answers, "lib.so.1", "x.o"):
        (tmp_path / name).write_bytes(b"\x7fELF")
    (tmp_path / "link").symlink_to(tmp_path / "tool")
    monkeypatch.setattr(
        "worldwise.run.code.repository.measurable_files.ask", lambda _content, *_questions, what: answers[what]
    )
    found, _ = look(tmp_path)
    assert {one.name: list(one.lines)[:2] for one in found} == {
        "app": ['firmware = "app.elf"', 'machine = "olimex-stm32-h405"'],
        "tool": ['program = "tool"', '# regions = ["crypto_sign"] # functions; without, the whole program'],
    }
    project = parse(Project, text_of(found, []), "worldwise.toml")
    assert set(project.measure) == {"app", "tool"}


def test_init_knows_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a crate whose benchmarks are built they are a measure; of others it says how they are built."""
    built = "target/aarch64-unknown-linux-gnu/release/deps/sum-0123456789abcdef"
    (tmp_path / built).parent.mkdir(parents=True)
    (tmp_path / built).write_bytes(b"\x7fELF _ZN9criterion7bencher7Bencher4iter")
    # What `cargo test` left beside it is not what anybody measures.
    debug = tmp_path / built.replace("release", "debug")
    debug.parent.mkdir(parents=True)
    debug.write_bytes((tmp_path / built).read_bytes())
    (tmp_path / "benches").mkdir()
    for name in ("Cargo.toml", "benches/sum.rs", "benches/hash.rs"):
        (tmp_path / name).write_text("")
    answer: tuple[list[object], list[object]] = (["ET_DYN", "EM_AARCH64", 64, "/lib/ld", [], []], [])
    monkeypatch.setattr("worldwise.run.code.repository.measurable_files.ask", lambda *_, **__: answer)
    found, outside = look(tmp_path)
    assert [(one.name, one.lines) for one in found] == [("sum", [f'program = "{built}"', 'benchmarks = ["*"]'])]
    assert found[0].why == "Benchmarks of criterion: each becomes a case, by one iteration."
    said = " ".join(outside)
    assert "benches: hash: `cargo bench --no-run --target aarch64-unknown-linux-gnu` builds them" in said
    text = text_of(found, outside)
    assert parse(Project, text, "worldwise.toml").measure["sum"].benchmarks == ["*"]
    limited = text.replace("# [measure.sum.limit", "[measure.sum.limit").replace("# instructions", "instructions")
    assert list(parse(Project, limited, "worldwise.toml").measure["sum"].limit) == ["NAME OF A BENCHMARK"]


# --- benchmarks ---

BENCHES = """\
format = 1
[measure.sum]
program = "sum"
benchmarks = ["crc *"]
[measure.sum.limit."crc 1 KiB"]
instructions = 10
"""


def opened_with(text: str) -> making.Opened:
    return making.Opened(Path("here"), parse(Project, text, "worldwise.toml"), text)


def counted(*names: str, first_only: bool = False) -> SimpleNamespace:
    """What counting a harness's benchmarks gives, each with a region of two calls; the second does more."""
    found = []
    for name in names:
        manifest = SimpleNamespace(
            kind="program",
            regions={"iter": SimpleNamespace(address=0, command=None, thread=None, thread_name="", target="")},
            addresses=[0],
        )
        passes = [SimpleNamespace(id=n, begin=n, instructions=10 * n, call=1, how="returned", stack=0) for n in (1, 2)]
        code = SimpleNamespace(manifest=manifest, folder=Path(), name=case_names([f"sum {name}"])[0])
        ready = SimpleNamespace(code=code, counted=SimpleNamespace(trace=trace_of(passes)))
        found.append(Benchmark(name, cast(Any, ready)))
    harness = SimpleNamespace(name="criterion", more="the closure", first_only=first_only)
    return SimpleNamespace(harness=harness, found=found, refused={})


def prepared(opened: making.Opened) -> list[making.Made]:
    return making.prepare_project(opened, cast(Any, None), cast(Any, None), lambda _: None)


def test_each_benchmark_of_a_measure_is_a_case_with_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is named by the harness's name, and its line in the file is said."""
    opened = opened_with(BENCHES)
    monkeypatch.setattr(making, "count_benchmarks", lambda *_: counted("crc 1 KiB", "crc 2 KiB"))
    monkeypatch.setattr(making, "place_within", lambda *_: Path("/"))
    made = prepared(opened)
    assert [(one.shown, one.ready.code.name) for one in made] == [
        ("sum/crc 1 KiB", "sum-crc-1-kib"),
        ("sum/crc 2 KiB", "sum-crc-2-kib"),
    ]
    (over,) = verdicts(opened, made)
    assert (over.case, over.found, over.kept, over.where) == (
        "own/sum-crc-1-kib/iter",
        "20 instructions",
        False,
        "here/worldwise.toml:6",
    )
    # Of a harness that does more with each call, the first is the one that is meant.
    monkeypatch.setattr(making, "count_benchmarks", lambda *_: counted("crc 1 KiB", first_only=True))
    (kept,) = verdicts(opened, prepared(opened))
    assert (kept.found, kept.kept) == ("10 instructions", True)


def test_a_benchmark_that_is_missing_or_refused_is_an_error_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a limit is kept by what nobody measured."""
    opened = opened_with(BENCHES)
    monkeypatch.setattr(making, "place_within", lambda *_: Path("/"))
    monkeypatch.setattr(making, "count_benchmarks", lambda *_: counted("crc 1 kib"))
    with pytest.raises(WorldwiseError) as caught:
        prepared(opened)
    assert caught.value.message == (
        "here/worldwise.toml:5: measure.sum.limit.crc 1 KiB: no such benchmark was measured. There are crc 1 kib."
    )
    assert "did you mean 'crc 1 kib'?" in caught.value.hint
    half = counted("crc 1 KiB")
    half.refused["crc 3"] = WorldwiseError("it sleeps")
    monkeypatch.setattr(making, "count_benchmarks", lambda *_: half)
    with pytest.raises(WorldwiseError, match=r"^here/worldwise.toml:2: measure.sum: crc 3: it sleeps"):
        prepared(opened)
    # A benchmark and a measure, or two benchmarks of two measures, with one name.
    twice = opened_with(f'{BENCHES}[measure.sum-crc]\nprogram = "sum"\nbenchmarks = ["1*"]\n')
    monkeypatch.setattr(making, "count_benchmarks", lambda *_: counted("crc 1 KiB"))
    with pytest.raises(WorldwiseError, match=r":7: measure.sum-crc: .* are both called own/sum-crc-1-kib in cases"):
        prepared(twice)


# --- what a program was given ---


def inputs_of(kind: str, command: list[str], lives: int = 2, given: str = "") -> str:
    manifest = CodeManifest(
        format=1,
        name="a",
        kind=cast(Any, kind),
        command=command,
        lives=lives,
        entry=0,
        addresses=[],
        regions={},
        mapped=[],
    )
    return inputs_digest(manifest, {"files.cpio": "0", "inputs": given})


def test_arguments_files_and_machine_are_inputs_and_the_code_is_not() -> None:
    """If this fails, a baseline of other work is compared with, or none is after each change."""
    base = inputs_of("program", ["/work/a", "1"], given="x")
    assert base == inputs_of("program", ["/work/a", "1"], given="x")
    others = [
        inputs_of("program", ["/work/a", "2"], given="x"),
        inputs_of("program", ["/work/a", "1"], lives=3, given="x"),
        inputs_of("program", ["/work/a", "1"], given="y"),
    ]
    assert len({base, *others}) == 4
    firmware = inputs_of("firmware", ["/firmware.elf", "mps2-an386", "0x100", "0"])
    # Where the function is that ends it moves with every change.
    assert firmware == inputs_of("firmware", ["/firmware.elf", "mps2-an386", "0x104", "0"])
    assert firmware != inputs_of("firmware", ["/firmware.elf", "mps2-an386", "0x0", "0"])
    assert firmware != inputs_of("firmware", ["/firmware.elf", "microbit", "0x100", "0"])
