# SPDX-License-Identifier: BSD-2-Clause
"""Measuring, with an emulator that writes synthetic records: what is kept, reused, checked again and given up."""

import dataclasses
import errno
import functools
import importlib
import json
import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from command_line import Answer, Call
from synthetic import RecordList, find, lines, make_records, make_suite
from worldwise.base import paths
from worldwise.base.errors import DoesNotFitError, HostError, WorldwiseError
from worldwise.base.progress_notes import CaseEnd
from worldwise.base.units import INSTRUCTIONS
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
from worldwise.machine.measurer import Description, MachineEnd, StartFrom
from worldwise.plan.case import Case
from worldwise.plan.suite import Suite, load_suite
from worldwise.run import measure, ways
from worldwise.run.folder import reproduction as compare
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.merge_shards import merge
from worldwise.run.folder.run_plan import RunPlan
from worldwise.run.folder.rundir import Run, list_runs, open_run
from worldwise.run.measure import Bench
from worldwise.run.options import Elsewhere, MeasureOptions, Progress, WhileLastCases
from worldwise.run.ways import case_digest
from worldwise.targets.all_targets import EMULATED, Target

cli_session = importlib.import_module("worldwise.cli.run_command.measurement")

# Three cases on one machine and one on another.
IDS = (
    "optee/mbedtls-nist-O2/attestdiv",
    "optee/mbedtls-nist-O2/empty-invoke",
    "linux/mbedtls-nist-O2/attestdiv",
    "optee/libtomcrypt-Os/keygen",
)
DIV, EMPTY, LINUX, KEYGEN = IDS
# What the progress says of each.
FOUND = {
    DIV: "0.5 s, sign 4,660,005 instructions",
    EMPTY: "0.5 s, invoke 60,005 instructions",
    LINUX: "0.5 s, sign 2,300,005 instructions",
    KEYGEN: "0.5 s, keygen 240,060,005 instructions",
}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return make_suite()


@pytest.fixture(scope="module")
def cases(suite: Suite) -> list[Case]:
    return [case for wanted in IDS for case in suite.cases if case.id == wanted]


@functools.cache
def records(case: Case) -> bytes:
    """What the machine answers for a case: the same every time."""
    return lines(make_records(case))


class FakeTarget:
    """A target whose machines differ by variant, and whose program is the case's id and numbers."""

    def machine(self, case: Case, _images: ImageStore) -> Machine:
        return Machine(
            name=case.variant,
            files={},
            digests={"bl32.bin": case.variant.encode().hex()},
            arguments=("-M", "virt"),
            images={"optee": "b" * 64},
            ready=0x4000,
            symbols={},
            preload=(),
        )

    def program(self, case: Case) -> Sequence[str]:
        return (case.target, case.operation, str(case.warmup), str(case.samples))


# Given the records as they should be, gives others, or raises.
Fault = Callable[[bytes], bytes]


class FakeEmulator:
    """Writes synthetic records. `faults` spoils those of some cases; `ran` has every case that was run, in order."""

    def __init__(self, faults: dict[str, Fault] | None = None) -> None:
        self.faults = faults or {}
        self.ran: list[str] = []
        self.starts: set[StartFrom] = set()
        self.stopped = threading.Event()

    def describe(self) -> Description:
        return Description(INSTRUCTIONS, "a fake")

    def run(
        self,
        machine: Machine,
        program: Sequence[str],
        directory: Path,
        start: StartFrom = "snapshot",
        progress: Callable[[int], None] = lambda _: None,
    ) -> MachineEnd:
        if self.stopped.is_set():
            raise WorldwiseError("stopped")
        target, operation, warmup, samples = program
        implementation, _, optimisation = machine.name.rpartition("-")
        case = Case(target, implementation, optimisation, operation, int(samples), int(warmup))
        self.ran.append(case.id)
        self.starts.add(start)
        for log in ("console.log", "secure.log", "qemu.log"):
            (directory / log).write_text(f"{log} of {case.id}\n")
        data = records(case)
        if case.id in self.faults:
            data = self.faults[case.id](data)
        (directory / RECORDS).write_bytes(data)
        progress(len(data))
        return MachineEnd(0, ("qemu-system-aarch64", *machine.arguments), 0.5)

    def diagnosis(self, _directory: Path, machine: Machine) -> str:
        return f"--- Linux console ---\nthe end of {machine.name}"

    def stop(self) -> None:
        self.stopped.set()


class Notes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.done: dict[str, str] = {}

    def note(self, text: str) -> None:
        self.notes.append(text)

    def case_started(self, case: Case) -> None:
        """Nothing to keep."""

    def case_progress(self, case: Case, records_bytes: int) -> None:
        """Nothing to keep."""

    def case_done(self, case: Case, how: CaseEnd) -> None:
        self.done[case.id] = how.words


class Tool:
    """One call of the tool after another on one cache: each gets a bench of its own."""

    def __init__(self, root: Path, suite: Suite, cases: Sequence[Case]) -> None:
        self.cache = root / "cache"
        self.cache.mkdir()
        self.runs = root / "runs"
        self.suite = suite
        self.cases = cases
        self.notes = Notes()

    def bench(self, emulator: FakeEmulator, options: MeasureOptions | None = None, lab: str = "") -> Bench:
        place = Lab(load_lock(), self.cache)
        place.digest = lab or place.digest
        self.notes = Notes()
        # One machine at a time, so that the order is known.
        bench = Bench(place, self.notes, options or MeasureOptions(jobs=1))
        bench.emulator = cast(Emulator, emulator)
        return bench

    def measure(
        self, emulator: FakeEmulator, options: MeasureOptions | None = None, cases: Sequence[Case] | None = None
    ) -> Run:
        """A new run of all cases."""
        cases = self.cases if cases is None else cases
        bench = self.bench(emulator, options)
        with bench.new_run(self.runs, RunPlan(self.suite, cases)) as writer:
            return bench.measure(writer, cases)

    def resume(self, emulator: FakeEmulator) -> Run:
        """Go on with the newest run, as `--resume` does."""
        bench = self.bench(emulator)
        old = open_run("latest", self.runs)
        with bench.resume_run(old) as writer:
            return bench.measure(writer, old.manifest.planned(self.suite))

    def latest(self) -> Run:
        return open_run("latest", self.runs)


@pytest.fixture
def tool(tmp_path: Path, suite: Suite, cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> Tool:
    targets: dict[str, Target] = dict.fromkeys(EMULATED, FakeTarget())
    monkeypatch.setattr(ways, "EMULATED", targets)
    return Tool(tmp_path, suite, cases)


# --- faults ---


def parsed(data: bytes) -> RecordList:
    return [json.loads(line) for line in data.splitlines()]


def wrong_signature(data: bytes) -> bytes:
    changed = parsed(data)
    evidence = find(changed, type="evidence", index=3)
    last = evidence["signature"][-1]
    evidence["signature"] = evidence["signature"][:-1] + ("0" if last != "0" else "1")
    return lines(changed)


def one_more_instruction(data: bytes) -> bytes:
    """A machine that repeats itself but for one sample: its records are whole and consistent."""
    changed = parsed(data)
    sample = find(changed, type="sample", phase="sample", index=4, place="linux" if b'"linux"' in data else "client")
    sample["count"] += 1
    sample["end"] += 1
    return lines(changed)


def reports_error(data: bytes) -> bytes:
    return lines([parsed(data)[0], {"type": "error", "message": "sign 0 failed: 0xffff3024"}])


def hangs(_data: bytes) -> bytes:
    raise WorldwiseError("machine hangs: no record for 120 s; it was stopped", "a hint", "--- console ---\nlast words")


def disk_full(_data: bytes) -> bytes:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "cases/records.jsonl")


def interrupt(emulator: FakeEmulator) -> Fault:
    """Ctrl-C while the case is being measured: it reaches the main thread, which stops the machines."""

    def fault(_data: bytes) -> bytes:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        assert emulator.stopped.wait(20)
        raise WorldwiseError("stopped")

    return fault


def raise_interrupt(_data: bytes) -> bytes:
    raise KeyboardInterrupt


# --- measuring ---


def test_a_run_has_every_case_and_its_provenance(tool: Tool) -> None:
    """If this fails, a table's figures cannot be traced to what made them."""
    emulator = FakeEmulator()
    run = tool.measure(emulator)
    assert run.state == "complete"
    assert run == tool.latest()
    assert run.manifest.cases == list(IDS)
    assert run.manifest.lab == Lab(load_lock(), tool.cache).digest
    assert run.manifest.packages == load_lock().versions()
    assert run.manifest.host["processors"] == os.cpu_count()
    assert sorted(emulator.ran) == sorted(IDS)
    for case in tool.cases:
        manifest = run.case(case.id)
        assert manifest is not None
        assert (manifest.state, manifest.error, manifest.reused_from) == ("complete", "", "")
        assert manifest.images == {"optee": "b" * 64}
        assert manifest.command == ["qemu-system-aarch64", "-M", "virt"]
        assert (manifest.start, manifest.wall_seconds) == ("snapshot", 0.5)
        assert len(manifest.digest) == 64
        assert run.records_path(case.id).read_bytes() == records(case)
        assert tool.notes.done[case.id] == FOUND[case.id]


def test_a_result_has_an_address_of_its_own(tool: Tool, cases: list[Case]) -> None:
    """If this fails, a case is given another's result."""
    lab = Lab(load_lock(), tool.cache)
    other = Lab(load_lock(), tool.cache)
    other.digest = "f" * 64
    addresses = [case_digest(lab, FakeTarget().machine(case, ImageStore(lab)), case) for case in cases]
    more = Case(cases[0].target, "mbedtls-nist", "O2", "attestdiv", cases[0].samples + 1, cases[0].warmup)
    addresses.append(case_digest(lab, FakeTarget().machine(more, ImageStore(lab)), more))
    addresses.append(case_digest(other, FakeTarget().machine(cases[0], ImageStore(lab)), cases[0]))
    assert len(set(addresses)) == len(cases) + 2


@pytest.mark.parametrize(
    ("fault", "says"),
    [(hangs, "machine hangs: no record for 120 s"), (reports_error, "sign 0 failed: 0xffff3024")],
)
def test_a_case_that_fails_does_not_stop_the_others(fault: Fault, says: str, tool: Tool) -> None:
    """If this fails, one bad case costs all that would come after it, or is passed over in silence."""
    run = tool.measure(FakeEmulator({DIV: fault}))
    assert run.state == "failed"
    failed = run.case(DIV)
    assert failed is not None
    assert failed.state == "failed"
    assert says in failed.error
    # The consoles' ends stand in the run, for whoever reads it later.
    assert "console" in failed.error
    assert [manifest.id for manifest in run.complete_cases()] == [EMPTY, LINUX, KEYGEN]
    assert tool.notes.done[DIV] == "FAILED"


def test_what_the_host_refuses_ends_the_run(tool: Tool) -> None:
    """If this fails, every case is tried and FAILED for one reason, which no case can help."""

    def refused(_data: bytes) -> bytes:
        raise HostError("bubblewrap may not enter the lab on this system", "the way out")

    with pytest.raises(HostError, match="bubblewrap may not enter"):
        tool.measure(FakeEmulator({EMPTY: refused}))
    cut = tool.latest()
    assert cut.state == "failed"
    assert cut.case(EMPTY) is None
    assert "FAILED" not in tool.notes.done.values()
    assert tool.resume(FakeEmulator()).state == "complete"


def test_a_case_that_does_not_fit_does_not_stop_the_others(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a program that is too large for its board ends a whole run."""

    class Small(FakeTarget):
        def machine(self, case: Case, images: ImageStore) -> Machine:
            if case.id == DIV:
                raise DoesNotFitError(f"{case.id}: RAM is too small by 12 bytes")
            return super().machine(case, images)

    monkeypatch.setattr(ways, "EMULATED", dict.fromkeys(EMULATED, Small()))
    run = tool.measure(FakeEmulator())
    assert run.state == "failed"
    failed = run.case(DIV)
    assert failed is not None
    assert (failed.state, failed.images) == ("failed", {})
    assert "RAM is too small by 12 bytes" in failed.error
    assert [manifest.id for manifest in run.complete_cases()] == [EMPTY, LINUX, KEYGEN]


def test_a_wrong_signature_is_never_a_result(tool: Tool) -> None:
    """If this fails, the time of a wrong answer stands in a table, now or whenever it is reused."""
    run = tool.measure(FakeEmulator({DIV: wrong_signature}))
    assert run.state == "failed"
    failed = run.case(DIV)
    assert failed is not None
    assert "sign 3: the signature is wrong: it does not verify" in failed.error
    bench = tool.bench(FakeEmulator())
    assert bench.results.get(failed.digest) is None
    assert len(list(bench.results.directory.iterdir())) == len(IDS) - 1

    again = FakeEmulator()
    assert tool.measure(again).state == "complete"
    assert DIV in again.ran


def test_records_cut_off_are_never_a_result(tool: Tool) -> None:
    """If this fails, a case that ended early counts as measured."""
    run = tool.measure(FakeEmulator({LINUX: lambda data: data[: len(data) // 2]}))
    failed = run.case(LINUX)
    assert failed is not None
    assert "the last line is cut off" in failed.error
    assert len(list((tool.cache / "results").iterdir())) == len(IDS) - 1


def test_order_and_number_of_machines_change_nothing(tool: Tool, cases: list[Case]) -> None:
    """If this fails, a digit depends on which case came before."""
    forward = tool.measure(FakeEmulator(), MeasureOptions(reuse=False, jobs=1))
    emulator = FakeEmulator()
    backward = tool.measure(emulator, MeasureOptions(reuse=False, jobs=3), cases[::-1])
    assert sorted(emulator.ran) == sorted(IDS)
    assert backward.manifest.cases == list(reversed(IDS))
    for case_id in IDS:
        assert forward.records_path(case_id).read_bytes() == backward.records_path(case_id).read_bytes()
    assert compare.first_difference(forward, backward) is None


def test_a_cold_start_is_measured_and_told(tool: Tool) -> None:
    """If this fails, `--cold` compares the snapshot with itself, or stores what it measured as if from there."""
    emulator = FakeEmulator()
    run = tool.measure(emulator, MeasureOptions(reuse=False, start="boot", jobs=1))
    assert emulator.starts == {"boot"}
    assert {manifest.start for manifest in run.complete_cases()} == {"boot"}
    assert not (tool.cache / "results").exists()


# --- reuse, and its check ---


def age(tool: Tool, run: Run, case_id: str, seconds: int) -> Path:
    """Have a case's result last checked at a time, in seconds since the epoch. Gives the file that says so."""
    manifest = run.case(case_id)
    assert manifest is not None
    path = tool.cache / "results" / manifest.digest[:16] / "result.json"
    os.utime(path, (seconds, seconds))
    return path


def test_what_was_measured_is_reused_and_one_case_checked(tool: Tool) -> None:
    """If this fails, the second run takes as long as the first, or nothing ever checks what is reused."""
    first = tool.measure(FakeEmulator())
    ages = {case_id: age(tool, first, case_id, 1_000_000 + number) for number, case_id in enumerate(IDS)}
    age(tool, first, LINUX, 999_999)

    emulator = FakeEmulator()
    second = tool.measure(emulator)
    assert second.state == "complete"
    assert emulator.ran == [LINUX]
    assert tool.notes.done == dict.fromkeys(IDS, "reused")
    assert tool.notes.notes == [f"4 cases reused; {LINUX} measured again as a check: identical"]
    for case_id in IDS:
        manifest = second.case(case_id)
        assert manifest is not None
        assert manifest.reused_from == first.id
        assert manifest.command == ["qemu-system-aarch64", "-M", "virt"]
        for name in (RECORDS, "console.log", "secure.log", "qemu.log"):
            kept = second.case_directory(case_id) / name
            assert kept.read_bytes() == (first.case_directory(case_id) / name).read_bytes()

    # Now the turn is another's.
    assert ages[LINUX].stat().st_mtime > 1_000_010
    third = FakeEmulator()
    tool.measure(third)
    assert third.ran == [DIV]


def test_a_slow_result_is_not_measured_again_on_the_way(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run that reuses everything still takes the time of the slowest case."""
    tool.measure(FakeEmulator())
    monkeypatch.setattr(measure, "AUDIT_SECONDS", 0.1)
    emulator = FakeEmulator()
    assert tool.measure(emulator).state == "complete"
    assert emulator.ran == []


def test_a_result_that_does_not_repeat_stops_the_run(tool: Tool) -> None:
    """If this fails, a machine that is not deterministic goes unnoticed as long as results are reused."""
    first = tool.measure(FakeEmulator())
    for number, case_id in enumerate((LINUX, DIV, EMPTY, KEYGEN)):
        checked = age(tool, first, case_id, 1_000_000 + number)
        if case_id == LINUX:
            suspect = checked
    with pytest.raises(WorldwiseError) as caught:
        tool.measure(FakeEmulator({LINUX: one_more_instruction}))
    message = caught.value.message
    assert message.startswith("a stored result differs when it is measured again: " + LINUX)
    assert "The first sample that differs is sign 4 at linux (line " in message
    assert "b - a: +1 instructions" in message
    assert "--fresh" in caught.value.hint
    assert tool.latest().state == "failed"
    # It was not checked: its turn comes again.
    assert suspect.stat().st_mtime == 1_000_000
    with pytest.raises(WorldwiseError):
        tool.measure(FakeEmulator({LINUX: one_more_instruction}))


def test_fresh_measures_everything_and_keeps_it(tool: Tool) -> None:
    """If this fails, `--fresh` takes old results, or the next run does not take the new ones."""
    tool.measure(FakeEmulator())
    emulator = FakeEmulator()
    fresh = tool.measure(emulator, MeasureOptions(reuse=False, jobs=1))
    assert sorted(emulator.ran) == sorted(IDS)
    after = tool.measure(FakeEmulator())
    assert {manifest.reused_from for manifest in after.complete_cases()} == {fresh.id}


def test_a_damaged_result_is_measured_anew(tool: Tool) -> None:
    """If this fails, a corrupt cache entry gets into a run."""
    first = tool.measure(FakeEmulator())
    manifest = first.case(DIV)
    assert manifest is not None
    with (tool.cache / "results" / manifest.digest[:16] / RECORDS).open("ab") as file:
        file.write(b"{}\n")
    emulator = FakeEmulator()
    second = tool.measure(emulator)
    assert DIV in emulator.ran
    assert second.records_path(DIV).read_bytes() == first.records_path(DIV).read_bytes()


# --- cut short ---


@pytest.mark.parametrize("how", ["signal", "thread"])
def test_ctrl_c_keeps_what_is_complete(how: str, tool: Tool) -> None:
    """If this fails, Ctrl-C loses cases, leaves machines behind, or resuming measures too much or too little."""
    emulator = FakeEmulator()
    # The cheapest case of its variant, so its last.
    emulator.faults[EMPTY] = interrupt(emulator) if how == "signal" else raise_interrupt
    # The other case must not get done before the main thread hears of it.
    emulator.faults[KEYGEN] = wait_for_stop(emulator)
    with pytest.raises(KeyboardInterrupt):
        tool.measure(emulator, MeasureOptions(jobs=2))
    assert emulator.stopped.is_set()
    cut = tool.latest()
    assert cut.state == "interrupted"
    done = [manifest.id for manifest in cut.complete_cases()]
    assert done == [DIV, LINUX]
    assert cut.case(EMPTY) is None
    assert cut.case(KEYGEN) is None

    again = FakeEmulator()
    whole = tool.resume(again)
    assert whole.id == cut.id
    assert whole.state == "complete"
    assert sorted(again.ran) == sorted([EMPTY, KEYGEN])
    assert [manifest.id for manifest in whole.complete_cases()] == list(IDS)
    with pytest.raises(WorldwiseError, match="nothing to resume"):
        tool.resume(FakeEmulator())


def wait_for_stop(emulator: FakeEmulator) -> Fault:
    def fault(_data: bytes) -> bytes:
        assert emulator.stopped.wait(20)
        raise WorldwiseError("stopped")

    return fault


def test_failed_cases_are_resumed(tool: Tool) -> None:
    """If this fails, a failed run can only be made anew from its beginning."""
    failed = tool.measure(FakeEmulator({EMPTY: hangs}))
    emulator = FakeEmulator()
    whole = tool.resume(emulator)
    assert (whole.id, whole.state) == (failed.id, "complete")
    assert emulator.ran == [EMPTY]


def test_another_lab_must_not_go_on(tool: Tool) -> None:
    """If this fails, counts of two compilers stand in one table."""
    tool.measure(FakeEmulator({EMPTY: hangs}))
    bench = tool.bench(FakeEmulator(), lab="f" * 64)
    with pytest.raises(WorldwiseError, match=r"was begun with lab [0-9a-f]{12}, this is f{12}") as caught:
        bench.resume_run(tool.latest())
    assert caught.value.hint == "start a new run"
    # And nothing of the old run was touched.
    assert tool.latest().state == "failed"


def test_a_full_disk_is_told(tool: Tool) -> None:
    """If this fails, a full disk is a traceback, or ends without a word of what is kept."""
    run = tool.measure(FakeEmulator({LINUX: disk_full}))
    assert run.state == "failed"
    failed = run.case(LINUX)
    assert failed is not None
    assert failed.error.startswith("the disk is full: cases/records.jsonl could not be written; ")
    assert f"of 4 cases are kept in {run.path}" in failed.error


def test_a_full_cache_does_not_spoil_the_run(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a case that was measured and is on disk is lost since it could not be kept for the next run."""
    bench = tool.bench(FakeEmulator())

    def put(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "cache/results/.new-x/result/records.jsonl")

    monkeypatch.setattr(bench.results, "put", put)
    with bench.new_run(tool.runs, RunPlan(tool.suite, tool.cases)) as writer:
        run = bench.measure(writer, tool.cases)
    assert run.state == "complete"
    assert any("No space left on device" in note for note in tool.notes.notes)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (WorldwiseError("the build of optee failed"), "the build of optee failed"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "cache/images/x"), "the disk is full: cache/images/x"),
    ],
    ids=["a failed build", "a full disk"],
)
def test_images_that_cannot_be_built_stop_the_run(
    error: Exception, says: str, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a compiler's error is a traceback, or leaves a run that seems to be going on."""

    def machine(_self: FakeTarget, _case: Case, _images: ImageStore) -> Machine:
        raise error

    monkeypatch.setattr(FakeTarget, "machine", machine)
    with pytest.raises(WorldwiseError, match=says):
        tool.measure(FakeEmulator())
    assert tool.latest().state == "failed"


class SlowTarget(FakeTarget):
    """A target whose second build waits for `go`, and says in `begun` that it has begun."""

    def __init__(self, error: WorldwiseError | None = None) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()
        self.error = error

    def machine(self, case: Case, images: ImageStore) -> Machine:
        if case.id == KEYGEN:
            self.begun.set()
            assert self.go.wait(20), "the build waits for nothing"
            if self.error:
                raise self.error
        return super().machine(case, images)


def test_cases_are_measured_while_others_are_built(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, machines wait for builds of other cases, or builds for machines."""
    target = SlowTarget()
    monkeypatch.setattr(ways, "EMULATED", dict.fromkeys(EMULATED, target))
    emulator = FakeEmulator()

    def both_go_on(data: bytes) -> bytes:
        # The next build has begun though a case is being measured, and goes on when that case is nearly done.
        assert target.begun.wait(20), "no build has begun"
        target.go.set()
        return data

    emulator.faults[DIV] = both_go_on
    run = tool.measure(emulator, MeasureOptions(jobs=1))
    assert run.state == "complete"
    assert emulator.ran[0] == DIV
    assert sorted(emulator.ran) == sorted(IDS)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_dearest_case_goes_first(reverse: bool, tool: Tool, cases: list[Case]) -> None:
    """If this fails, a processor waits at the end of a suite whose longest case was begun last."""
    emulator = FakeEmulator()
    # Those of one variant, which are built together.
    some = [case for case in cases if case.id != KEYGEN]
    tool.measure(emulator, MeasureOptions(jobs=1, reverse=reverse), some[::-1] if reverse else some)
    order = [DIV, LINUX, EMPTY]
    assert emulator.ran == (order[::-1] if reverse else order)


def test_a_failed_build_is_told_at_its_case(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, what was built before is not measured, because the build of something else fails."""
    target = SlowTarget(WorldwiseError("the build of optee failed"))
    target.go.set()
    monkeypatch.setattr(ways, "EMULATED", dict.fromkeys(EMULATED, target))
    emulator = FakeEmulator()
    with pytest.raises(WorldwiseError, match="the build of optee failed"):
        tool.measure(emulator, MeasureOptions(jobs=1))
    assert emulator.ran == [DIV, LINUX, EMPTY]
    assert tool.latest().state == "failed"
    assert [manifest.id for manifest in tool.latest().complete_cases()] == [DIV, EMPTY, LINUX]


def test_progress_says_what_was_found(tool: Tool) -> None:
    """If this fails, nobody sees before the end of a long run what comes out of it."""
    tool.measure(FakeEmulator())
    assert tool.notes.done == FOUND


def test_other_images_must_not_go_on(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, one run has counts of the same variant from two builds."""
    tool.measure(FakeEmulator({EMPTY: hangs}))
    whole = FakeTarget.machine

    def machine(self: FakeTarget, case: Case, images: ImageStore) -> Machine:
        return dataclasses.replace(whole(self, case, images), images={"optee": "c" * 64})

    monkeypatch.setattr(FakeTarget, "machine", machine)
    with pytest.raises(WorldwiseError, match="with other images of"):
        tool.resume(FakeEmulator())


def test_what_is_done_is_read_once(tool: Tool, cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a run of many variants reads every case of the run again for each of them."""
    assert len({case.variant for case in cases}) == 2
    reads: list[str] = []
    read = Run.case

    def counted(self: Run, case_id: str) -> CaseManifest | None:
        reads.append(case_id)
        return read(self, case_id)

    bench = tool.bench(FakeEmulator())
    with bench.new_run(tool.runs, RunPlan(tool.suite, cases)) as writer:
        monkeypatch.setattr(Run, "case", counted)
        assert bench.measure(writer, cases).state == "complete"
    assert sorted(reads) == sorted(IDS)


# --- through the command line ---


@pytest.fixture
def call(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Call:
    """Calls `worldwise run --runs ...` with the fake emulator."""

    def run(emulator: FakeEmulator, *arguments: str) -> Answer:
        def make_bench(
            lab: Lab,
            progress: Progress,
            options: MeasureOptions,
            elsewhere: Elsewhere | None,
            beside: WhileLastCases | None,
        ) -> Bench:
            bench = Bench(lab, progress, options, elsewhere, beside)
            bench.emulator = cast(Emulator, emulator)
            return bench

        for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
            monkeypatch.delenv(variable, raising=False)
        place = Lab(load_lock(), tool.cache)
        monkeypatch.setattr(place, "ensure", lambda: False)
        monkeypatch.setattr(place, "require_entry", lambda: None)
        monkeypatch.setattr(cli_session, "open_lab", lambda _console: place)
        monkeypatch.setattr(cli_session, "Bench", make_bench)
        return call("run", *arguments, "--runs", tmp_path / "runs")

    return run


QUICK = [case.id for case in load_suite("quick").cases]


def test_run_prints_the_table_alone(call: Call, tool: Tool) -> None:
    """If this fails, the result cannot be piped, or the exit status does not say that all is well."""
    status, out, err = call(FakeEmulator(), "quick", "--jobs", "1")
    assert status == 0
    assert out.startswith("One variant, a few samples, both worlds (run ")
    assert "What a client of the TEE waits for" in out
    assert f"All of it: worldwise report latest --runs {tool.runs}" in " ".join(out.split())
    assert out.count("\n") <= 40
    assert "[00:00]" in err
    assert "[00:00]" not in out
    for number, _ in enumerate(QUICK, 1):
        assert f"  {number}/3 " in err
    assert tool.latest().state == "complete"


def test_a_run_with_full_prints_the_whole_report(call: Call) -> None:
    """If this fails, what `run` printed before it had an answer cannot be had from it any more."""
    status, out, _ = call(FakeEmulator(), "quick", "--jobs", "1", "--full")
    assert status == 0
    assert "sign: attestdiv, 48-byte input" in out
    assert "All of it" not in out


def test_a_failed_case_is_exit_status_1(call: Call) -> None:
    """If this fails, a script takes a run with a hole for a good one."""
    status, out, err = call(FakeEmulator({EMPTY: hangs}), "quick", "--jobs", "1")
    assert status == 1
    assert f"{EMPTY}: FAILED" in err
    assert "machine hangs" in out


def test_verify_measures_twice(call: Call, tool: Tool) -> None:
    """If this fails, `--verify` compares a run with its own copy."""
    call(FakeEmulator(), "quick")
    emulator = FakeEmulator()
    status, out, err = call(emulator, "quick", "--verify")
    assert status == 0
    assert sorted(emulator.ran) == sorted(QUICK * 2)
    assert "verified: 3 cases measured twice, every record the same" in err
    assert out.count("(run ") == 1
    assert len(list(tool.runs.iterdir())) == 3


def test_verify_names_the_first_sample_that_differs(call: Call) -> None:
    """If this fails, a machine that does not repeat itself passes, or nobody knows where to look."""
    emulator = FakeEmulator()

    def second_time(data: bytes) -> bytes:
        return one_more_instruction(data) if emulator.ran.count(DIV) == 2 else data

    emulator.faults[DIV] = second_time
    status, _, err = call(emulator, "quick", "--verify")
    assert status == 1
    assert "are not the same: " + DIV in err
    assert "The first sample that differs is sign 4 at client (line " in err
    assert "b - a: +1 instructions" in err
    assert "verified" not in err


def test_verify_does_not_take_a_failed_case_for_the_same(call: Call) -> None:
    """If this fails, a case that failed twice counts as verified."""
    status, _, err = call(FakeEmulator({EMPTY: hangs}), "quick", "--verify")
    assert status == 1
    assert "verified: 2 cases measured twice, every record the same; 1 failed twice and are not verified" in err


def test_reverse_measures_backwards(call: Call, tool: Tool) -> None:
    """If this fails, `--reverse` shows nothing about the order."""
    status, _, _ = call(FakeEmulator(), "quick", "--reverse", "--fresh", "--jobs", "1")
    assert status == 0
    assert tool.latest().manifest.cases == QUICK[::-1]


def test_shards_of_a_call_become_its_run(call: Call, tool: Tool) -> None:
    """If this fails, a suite measured on many machines is not the suite measured on one."""
    typed = ("quick", "--fresh", "--samples", "3", "--target", "o*", "--target", "linux")
    assert call(FakeEmulator(), *typed)[0] == 0
    alone = tool.latest()
    parts = []
    for number in (2, 1):
        shared = ("--cache", str(tool.cache.parent / "shared"))
        assert call(FakeEmulator(), *typed, "--shard", f"{number}/2", "--jobs", "1", *shared)[0] == 0
        assert paths.SHARED_VARIABLE not in os.environ
        parts.append(next(one.run for one in list_runs(tool.runs) if one.id.endswith(f"-shard-{number}-of-2")))
    shards = [part for part in parts if part]
    assert sorted(case for part in shards for case in part.manifest.cases) == sorted(QUICK)
    entry = shards[0].manifest.shard
    assert entry is not None
    assert entry.command == ["quick", "--target", "o*", "--target", "linux", "--samples", "3"]
    assert list(entry.whole) == QUICK
    assert len(list((tool.cache.parent / "shared" / "results").iterdir())) == len(QUICK)
    merged, _ = merge(shards, tool.runs)
    a, b = ({str(path.relative_to(run.path)): path for path in run.path.rglob("*.*")} for run in (alone, merged))
    assert a.keys() == b.keys()
    assert {name for name in a if a[name].read_bytes() != b[name].read_bytes()} - {"finished.json"} == {"run.json"}

    # The seconds of the merged run balance the next split; a case from the cache has none.
    assert call(FakeEmulator(), *typed, "--shard", "1/3", "--costs", str(merged.path))[0] == 0
    costed = next(one.run for one in list_runs(tool.runs) if one.id.endswith("-of-3"))
    assert costed
    assert costed.manifest.shard
    assert costed.manifest.shard.costs.startswith(f"run {merged.id}, costs.toml ")
    assert set(costed.manifest.shard.whole.values()) == {500}
    before = set(tool.runs.iterdir())
    assert call(FakeEmulator(), *(word for word in typed if word != "--fresh"))[0] == 0
    (reused,) = set(tool.runs.iterdir()) - before
    status, _, err = call(FakeEmulator(), *typed, "--shard", "1/3", "--costs", str(reused))
    assert status == 1
    assert "does not say how long a case took" in err


def test_ctrl_c_and_resume(call: Call, tool: Tool) -> None:
    """If this fails, the way on after Ctrl-C is not told, or does not work."""
    emulator = FakeEmulator()
    emulator.faults[LINUX] = interrupt(emulator)
    status, out, err = call(emulator, "quick", "--jobs", "1", "--samples", "5")
    assert status == 130
    assert out == ""
    assert "resume with `worldwise run --resume`" in err
    cut = tool.latest()
    assert cut.state == "interrupted"
    done = [manifest.id for manifest in cut.complete_cases()]

    again = FakeEmulator()
    status, out, _ = call(again, "--resume")
    assert status == 0
    assert sorted(again.ran) == sorted(set(QUICK) - set(done))
    assert tool.latest().id == cut.id
    assert f"(run {cut.id}, complete)" in out
    assert {manifest.samples for manifest in tool.latest().complete_cases()} == {5}


def test_resume_by_id_before_other_options(call: Call, tool: Tool) -> None:
    """If this fails, `--resume RUN` goes on with another run than the one named."""
    call(FakeEmulator({EMPTY: hangs}), "quick")
    first = tool.latest().id
    call(FakeEmulator({EMPTY: hangs}), "quick", "--fresh")
    status, out, _ = call(FakeEmulator(), "--resume", first, "--jobs", "1")
    assert status == 0
    assert f"(run {first}, complete)" in out
    assert tool.latest().state == "failed"
