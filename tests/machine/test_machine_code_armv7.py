# SPDX-License-Identifier: BSD-2-Clause
"""Own programs for 32-bit Arm on the machine: as those for AArch64, followed by another plugin."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import own_codes
from machines import note
from own_explained import check_regions, check_sums, counts
from worldwise.base.errors import WorldwiseError
from worldwise.explain.layers import load_rules
from worldwise.explain.own_code import Armv7Explainer
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.machine.emulator import Emulator
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import RECORDS
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.predict import cores
from worldwise.predict.flat import FlatAttribution
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.run.code.order import Wanted, pack
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.program_wrapper import execute
from worldwise.run.code.region_counts import Counter, calls_of, counted_of, write_records
from worldwise.targets.own_code import machine_of

COMPILER = "arm-linux-gnueabihf-gcc"
FUNCTIONS = ("work", "climb", "jump", "last", "never")
# The numbers of GDB, and the bit of an address that marks T32.
SP, LINK, PC = 13, 14, 15
T32 = 1
LIVES = 3
# What Linux puts on the stack for a handler: all registers, those of floating point too.
LEAST_FRAME_OF_A_SIGNAL = 400


def ready_of(images: ImageStore, program: Path, *wanted: Sequence[str], lives: int = 2) -> Ready:
    """A program, counted: its arguments, and the patterns of its regions."""
    arguments, regions = (*wanted, (), ())[:2]
    asked = Wanted(program, tuple(arguments), tuple(regions), lives)
    return prepare(asked, images, Emulator(images.lab, note), note)


@pytest.fixture(scope="module", params=["dynamic", "static", "A32"])
def made(
    request: pytest.FixtureRequest, lab: Lab, images: ImageStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ready]:
    """A program, counted by some of its functions."""
    flags = {"dynamic": ("-mthumb",), "static": ("-mthumb", "-static"), "A32": ("-marm",)}[request.param]
    folder = tmp_path_factory.mktemp("own")
    program = own_codes.compiled(lab, folder, "several", own_codes.PROGRAM, *flags, compiler=COMPILER)
    ready = ready_of(images, program, ("end",), FUNCTIONS, lives=LIVES)
    assert ready.code.manifest.architecture == own_code.ARMV7
    own_code.add(ready.code)
    yield ready
    own_code.remove(ready.code.name)


def explained(
    ready: Ready, region: str, images: ImageStore, emulator: Emulator, folder: Path
) -> tuple[Armv7Explainer, str]:
    """The explainer of a region's case, and its place."""
    manifest = ready.code.manifest
    case = next(one for one in ready.cases if one.operation == region)
    write_records(case, ready.code, ready.counted, folder / RECORDS)
    machine = machine_of(images, "program", ready.code.folder, ready.code.name, own_code.COUNT, own_code.ARMV7)
    space = Counter(emulator, images).space(machine, manifest.mapped)
    records = check_records(read_records(folder / RECORDS), case)
    return Armv7Explainer(case, records, ready.counted.trace, space, load_rules(), OWN_PROCESS), case.id


def test_each_call_of_a_function_is_a_region(made: Ready) -> None:
    """As on AArch64: a recursion is one; what a longjmp leaves is none; exit() ends the last one."""
    check_regions(made, LIVES)


def test_the_sums_are_the_counter(made: Ready) -> None:
    """Around each start the program that starts it reads the counter; the regions stand inside."""
    check_sums(made)


@pytest.mark.parametrize(("function", "given"), [("work", None), ("climb", 9)])
def test_single_steps_of_a_debugger_are_the_witness(
    made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path, function: str, given: int | None
) -> None:
    """GDB stops at the function and steps until it has returned: as many steps as the region has instructions, and the
    stack pointer gets as deep as the region says.
    """
    manifest = made.code.manifest
    machine = machine_of(images, "program", made.code.folder, made.code.name, own_code.COUNT, own_code.ARMV7)
    seen: list[tuple[int, int]] = []

    def steer(debugger: GdbStub) -> None:
        debugger.run_to(manifest.regions[function].address)
        # Another program may have code there.
        while given and debugger.register(0) != given:
            debugger.step()
            debugger.run_to(manifest.regions[function].address)
        back, stack = debugger.register(LINK) & ~T32, debugger.register(SP)
        number, lowest = 0, stack
        while (debugger.register(PC), debugger.register(SP)) != (back, stack):
            debugger.step()
            number, lowest = number + 1, min(lowest, debugger.register(SP))
        seen.append((number, stack - lowest))

    # As the debugger steps, the machine is another: what is compared is the function alone.
    (tmp_path / RECORDS).touch()
    emulator.steered(machine, ("/bin/fetch",), tmp_path, None, steer)
    calls, _ = calls_of(made.counted.trace, manifest.addresses, manifest.regions[function])
    assert seen == [(calls[0].instructions, calls[0].stack)]


def test_the_deepest_stack_has_its_way(made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """`climb` calls itself, and each of its frames takes as much."""
    explainer, _ = explained(made, "climb", images, emulator, tmp_path)
    peak = explainer.explain(explainer.sample("call", "region")).peak
    assert peak
    assert peak.bytes == sum(size for _, size in peak.path) > 0
    assert {frame.function.partition(".")[0] for frame, _ in peak.path} == {"climb"}
    assert len({size for _, size in peak.path}) <= 2


def test_explain_takes_it_apart(made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """`work` has itself alone, and every pass adds up; of the whole start the kernel and the loader have a part."""
    explainer, _ = explained(made, "work", images, emulator, tmp_path)
    assert explainer.check() == len(made.counted.trace.passes)
    explanation = explainer.explain(explainer.sample("call", "region"))
    assert {(name.partition(".")[0], image): share.self for (name, image), share in explanation.functions.items()} == {
        ("work", "several"): counts(made, "work")[1]
    }
    assert set(explanation.layers) == {"several"}
    outer = next(one for one in made.counted.trace.passes if not one.parent)
    whole = explainer.stacks(outer)
    assert sum(whole.values()) == outer.instructions
    images_of = {stack[-1].image for stack in whole}
    assert {"linux", "several"} < images_of


def test_it_has_cycles_on_a_core(made: Ready, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """Each call of a region, by function and cause, on each core of its architecture; no count is another one."""
    tables = cores.tables(["cortex-a7", "cortex-a9"])
    machine = machine_of(images, "program", made.code.folder, made.code.name, own_code.COUNT, own_code.ARMV7)
    counted = counted_of(made.code, Counter(emulator, images, note), machine, cores=tables)
    ready = replace(made, counted=counted)
    assert counts(ready, "work") == counts(made, "work")
    assert counts(ready, "last") == counts(made, "last")
    for region in ("work", "last"):
        explainer, _ = explained(ready, region, images, emulator, tmp_path)
        cores.check(explainer.case, tables)
        with pytest.raises(WorldwiseError, match="its code is A32 and T32 of Armv7-A"):
            cores.check(explainer.case, cores.tables(["cortex-a72"]))
        attribution = FlatAttribution(explainer)
        for core in tables:
            for one in attribution.case(core).samples:
                assert region == "last" or {layer.layer for layer in one.layers} == {"program: several"}
                assert one.instructions in counts(made, region)
                # The kernel ends the program, by system calls and faults.
                assert bool(one.events.exceptions) == (region == "last")
                # A first end finds nothing in the caches.
                most = 3 if region == "work" else 20
                assert 0.4 * one.instructions < one.cycles < most * one.instructions
        found = attribution.sample(explainer.sample("call", "region"), "cortex-a7")
        assert {frame.function.partition(".")[0] for frame in found.functions} >= {region}


def test_the_whole_program_goes_from_main_to_its_exit(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Stripped too: without symbols from its first instruction on."""
    dynamic = own_codes.compiled(lab, tmp_path / "a", "whole", own_codes.PROGRAM, compiler=COMPILER)
    whole = ready_of(images, dynamic)
    assert list(whole.code.manifest.regions) == ["main"]
    stripped = own_codes.compiled(lab, tmp_path / "b", "whole", own_codes.PROGRAM, "-static", "-s", compiler=COMPILER)
    bare = ready_of(images, stripped)
    assert list(bare.code.manifest.regions) == ["entry"]
    assert counts(bare, "entry")[0] > 1000


def test_what_a_forked_process_executes_is_in_the_region(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """Its own calls of `work` are none, as it is another process; the region around it has all of it."""
    program = own_codes.compiled(lab, tmp_path / "made", "forks", own_codes.FORKS, compiler=COMPILER)
    ready = ready_of(images, program, (), ("work", "parent"))
    assert {name: len(counts(ready, name)) for name in ready.code.manifest.regions} == {"work": 2, "parent": 2}
    assert counts(ready, "parent")[1] > 50 * counts(ready, "work")[1]
    explainer, _ = explained(ready, "parent", images, emulator, tmp_path)
    assert explainer.check() == len(ready.counted.trace.passes)
    explanation = explainer.explain(explainer.sample("call", "region"))
    assert explanation.instructions == counts(ready, "parent")[1]


def test_a_signal_in_a_region_is_in_it(lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """Its handler too, and the stack is whole afterwards."""
    # The loader, which looks for functions as they are called, has a deep stack itself.
    now = "-Wl,-z,now"
    program = own_codes.compiled(lab, tmp_path / "made", "signals", own_codes.SIGNALS, now, compiler=COMPILER)
    ready = ready_of(images, program, (), ("work", "handle"))
    assert {name: len(counts(ready, name)) for name in ready.code.manifest.regions} == {"work": 2, "handle": 2}
    assert counts(ready, "work")[1] > counts(ready, "handle")[1] > 20 * 3
    explainer, _ = explained(ready, "work", images, emulator, tmp_path)
    assert explainer.check() == len(ready.counted.trace.passes)
    # The handler's frames are far below, and are not its own; of a handler nobody says how deep it gets.
    manifest = ready.code.manifest
    deep = [one.stack for one in calls_of(ready.counted.trace, manifest.addresses, manifest.regions["work"])[0]]
    assert all(one is not None and one < LEAST_FRAME_OF_A_SIGNAL for one in deep), deep
    handled, _ = calls_of(ready.counted.trace, manifest.addresses, manifest.regions["handle"])
    assert {one.stack for one in handled} == {None}


def test_exec_counts_it(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """And gives its output and status; the count is the same twice."""
    program = own_codes.compiled(lab, tmp_path, "several", own_codes.PROGRAM, compiler=COMPILER)
    wanted = Wanted(program, ("end",), lives=2)
    one, other = (execute(wanted, images, Emulator(lab, note)) for _ in range(2))
    assert (one.status, one.output) == (0, b"61654 end\n")
    assert one.instructions == other.instructions
    assert one.instructions is not None


@pytest.mark.parametrize(
    ("source", "regions", "said"),
    [
        (own_codes.CRASHES, (), "was ended by the signal SIGSEGV"),
        (own_codes.PROGRAM, ("wrk",), "the nearest names: work"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    lab: Lab, images: ImageStore, tmp_path: Path, source: str, regions: tuple[str, ...], said: str
) -> None:
    program = own_codes.compiled(lab, tmp_path, "strange", source, "-pthread", compiler=COMPILER)
    with pytest.raises(WorldwiseError) as caught:
        ready_of(images, program, (), regions)
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_two_threads_are_in_a_region_at_the_same_time(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """Each call has its own thread's instructions, as many as the other's; what that one executes is told apart."""
    # The linker's table has all places from the start: the first call of each would find them out, in its own code too.
    flags = ("-pthread", "-Wl,-z,now")
    program = own_codes.compiled(lab, tmp_path / "made", "both", own_codes.THREADS, *flags, compiler=COMPILER)
    ready = ready_of(images, program, (), ("both",))
    trace, manifest = ready.counted.trace, ready.code.manifest
    assert trace.shared and any("another thread was in it too" in one for one in manifest.notes)
    calls, others = calls_of(trace, manifest.addresses, manifest.regions["both"])
    assert (len(calls), others) == (4, 0)
    assert calls[1].begin < calls[0].end and {one.stack for one in calls} == {None}
    own_code.add(ready.code)
    try:
        explainer, _ = explained(ready, "both", images, emulator, tmp_path)
        explainer.check()
        found = [explainer.explain(explainer.sample("call", "region", number)) for number in range(4)]
    finally:
        own_code.remove(ready.code.name)
    for one, call in zip(found, calls, strict=True):
        assert sum(layer.self for layer in one.layers.values()) == call.instructions
        assert one.layers["other tasks"].self > 0
    own = {one.layers["both"].self for one in found}
    assert len(own) == 1 and 50 * 3 < own.pop() < 50 * 30


def test_what_the_lab_does_not_have_is_said(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Packages, another loader; and of an OP-TEE application the client must be for AArch64."""
    program = own_codes.compiled(lab, tmp_path / "a", "plain", "int main(void) { return 0; }\n", compiler=COMPILER)
    with pytest.raises(WorldwiseError, match="no package besides"):
        pack(Wanted(program, packages=("libssl3t64",)), images, tmp_path)
    flag = "-Wl,--dynamic-linker=/lib/ld-linux.so.3"
    soft = own_codes.compiled(lab, tmp_path / "b", "soft", "int main(void) { return 0; }\n", flag, compiler=COMPILER)
    with pytest.raises(WorldwiseError, match=r"the lab has glibc's ld-linux-armhf\.so\.3"):
        pack(Wanted(soft), images, tmp_path)
