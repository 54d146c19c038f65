# SPDX-License-Identifier: BSD-2-Clause
"""Models of cores on a real machine: every cycle once, the same each time, and no count another than without them."""

import gzip
import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from machines import IMPLEMENTATION, OPTIMISATION, Tool, note
from worldwise.cli.common.progress import Notes
from worldwise.cli.traces.plugin_runs import Session
from worldwise.cli.traces.quick_predictions import Predicted, quick
from worldwise.explain.flat import FlatExplainer
from worldwise.explain.layers import UNKNOWN, load_rules
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import folded
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, TRACE
from worldwise.plan.case import parse_case
from worldwise.predict import cores
from worldwise.predict.attribution import Attribution
from worldwise.predict.flat import FlatAttribution, flat_case
from worldwise.predict.rules import KERNEL
from worldwise.predict.sampling import sampling_error
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.run.folder.rundir import open_run
from worldwise.run.traces.watch import Watched, Watcher
from worldwise.targets.all_targets import EMULATED

CASE = parse_case(f"optee/{IMPLEMENTATION}-{OPTIMISATION}/hello", 3, 0)
# Its program signs and verifies nothing, which would take five times as long.
BOARD = "microbit/p256-m-Os/keygen,curve=secp256r1"
# A flash that waits, with its accelerator.
WAITING = "nucleo-f446re/p256-m-Os/keygen,curve=secp256r1"
PLAIN = "linux-armv8/mbedtls28-O2/sha256,size=64KiB"
ARMV7 = "linux-armv7/mbedtls28-O2/sha256,size=64KiB"
ARMV7_CORES = ("cortex-a9", "cortex-a7")
# The function that takes most in each.
DEAREST = {BOARD: "u288_muladd", WAITING: "u288_muladd", ARMV7: "mbedtls_internal_sha256_process"}
LONG = f"optee/{IMPLEMENTATION}-{OPTIMISATION}/ta-load"
# So many instructions of a region all run through the model.
BEGIN = 10_000_000
CORES = ("cortex-a72", "cortex-a53")


@pytest.fixture(scope="module")
def watcher(lab: Lab, images: ImageStore) -> Watcher:
    """Runs cases under the plugin."""
    return Watcher(lab, images, Emulator(lab, note, silence_limit=60), note)


@pytest.fixture(scope="module")
def tables() -> Mapping[str, str]:
    """Two cores."""
    return cores.tables(CORES)


@pytest.fixture(scope="module")
def watched(watcher: Watcher, tables: Mapping[str, str]) -> Watched:
    """The case, on both cores."""
    return watcher.watch(CASE, cores=tables)


def attribution_of(one: Watched) -> Attribution:
    """With the tool's rules."""
    explainer = Explainer(one.case, one.records, one.trace, one.space, load_rules(), one.process)
    explainer.check(closed=one.case.target == CASE.target)
    return Attribution(explainer)


def test_the_layers_have_all_cycles(watched: Watched) -> None:
    """If this fails, a layer has cycles that the model did not say, or some are nobody's."""
    attribution = attribution_of(watched)
    for core in CORES:
        for series in attribution.explainer.records.samples.values():
            for sample in series:
                record = attribution.record(sample, core)
                said = sum(
                    sum(row[2:8])
                    for region in attribution.explainer.regions(sample)
                    for one in watched.trace.with_inner(region)
                    for row in watched.trace.cycles[core].get(one, ())
                )
                assert record.cycles == attribution.sample(sample, core).total == said
                # The TA's region has five instructions: a core out of order can end them in a cycle of others.
                assert said > 0 or record.instructions < 10
                explained = attribution.explainer.explain(sample)
                assert record.instructions == explained.instructions
                assert {one.layer: one.instructions for one in record.layers} == {
                    name: share.self for name, share in explained.layers.items() if share.self
                }


def test_two_runs_have_the_same_cycles(watched: Watched, watcher: Watcher, tables: Mapping[str, str]) -> None:
    """If this fails, a prediction is another each time."""
    again = watcher.watch(CASE, cores=tables, fresh=True)
    for core in CORES:
        assert attribution_of(again).case(core) == attribution_of(watched).case(core)


def test_models_change_no_count(watched: Watched, watcher: Watcher) -> None:
    """If this fails, what is predicted is not what is counted."""
    plain = watcher.watch(CASE)
    assert (plain.directory / RECORDS).read_bytes() == (watched.directory / RECORDS).read_bytes()
    assert b'"type":"cycles"' not in gzip.decompress((plain.directory / f"{TRACE}.gz").read_bytes())
    counted, modelled = (attribution_of(one).explainer for one in (plain, watched))
    for series in counted.records.samples.values():
        for sample in series:
            assert folded(counted.explain(sample).stacks) == folded(modelled.explain(sample).stacks)


def test_a_long_call_is_sampled(watcher: Watcher, tables: Mapping[str, str]) -> None:
    """If this fails, sampled cycles are another each time, are lost, or are not those of a whole run.

    On one core: tests/unit/test_sampling.py samples on the other one too.
    """
    case, core = parse_case(LONG, 1, 0), CORES[0]
    tables = {core: tables[core]}
    one = watcher.watch(case, cores=tables)
    assert one.trace.skipped
    # What the models said is the same, so what is made of it is: hundreds of thousands of rows.
    assert watcher.watch(case, cores=tables, fresh=True).trace == one.trace
    sampled, whole = attribution_of(one), attribution_of(watcher.watch(case, cores=tables, whole=True))
    for series in sampled.explainer.records.samples.values():
        for sample in series:
            record, right = sampled.record(sample, core), whole.record(sample, core)
            # The stacks of one sample: there are a hundred thousand rows.
            if sample == series[-1]:
                assert record.cycles == sampled.sample(sample, core).total
            # What is counted is exact.
            assert (record.instructions, record.events) == (right.instructions, right.events)
            assert [(each.layer, each.outside_instructions) for each in record.layers] == [
                (each.layer, each.outside_instructions) for each in right.layers
            ]
            error = sampling_error(record.sampled, record.cycles)
            assert not right.sampled
            assert abs(record.cycles - right.cycles) <= (2 * error.margin if error else 0)
            assert bool(error) == (record.instructions > BEGIN)


def test_the_command_predicts(tool: Tool) -> None:
    """If this fails, a user does not get the table."""
    done = tool.run("predict", CASE.id, "--core", ",".join(CORES), "--warmup", "0", "--full")
    assert done.returncode == 0, done.stderr
    for said in ("Predicted cycles", "Predicted, not measured", "hello increment", "first call", "warm", *CORES):
        assert said in done.stdout


def test_rows_of_a_run_are_predicted_once_and_kept(tool: Tool) -> None:
    """If this fails, a first screen waits each time, or says other cycles than the command that it names."""
    assert tool.run("run", "quick", "--operation", "empty-invoke").returncode == 0
    run = open_run("latest", tool.directory / "runs")
    id_ = f"optee/{IMPLEMENTATION}-{OPTIMISATION}/empty-invoke"

    def asked(notes: Listening, fresh: bool) -> Predicted:
        session = Session(load_rules(), fresh=fresh, notes=notes)
        (one,) = quick(session, run, [(id_, "invoke", "client")], "cortex-a72", Fraction(10**9))
        return one

    first, again = Listening(), Listening()
    one = asked(first, True)
    assert [text for text in first.said if text.startswith("watched ")]
    kept = asked(again, False)
    assert not again.said
    assert replace(kept, seconds=0) == replace(one, seconds=0)
    assert one.low < one.cycles < one.high
    assert one.warm.samples == 3
    done = tool.run(*one.command.split()[1:], "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {one["state"]: one for one in json.loads(done.stdout)["predicted"]}
    for each in (one.warm, one.first):
        said = found[each.state]
        assert (said["predicted_cycles"], said["low"], said["high"]) == (each.cycles, each.whole.low, each.whole.high)


class Listening(Notes):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_a_board_is_predicted_by_its_counter(watcher: Watcher) -> None:
    """If this fails, a board's sample has the cycles of something else, or its records change under the plugin."""
    case = parse_case(BOARD, 1, 0)
    core = "cortex-m0"
    records, regions = watcher.watch_flat(case, cores.tables([core]), fresh=True)
    found = flat_case(case, records, regions, core)
    ((_, series),) = records.samples.items()
    assert len(found.samples) == len(series) == 2
    for sample, one in zip(series, found.samples, strict=True):
        assert (one.measure, one.index) == (sample.measure, sample.index)
        assert one.instructions - sample.raw in range(0, sample.raw // 10_000, 5)
        assert one.cycles > 0
    again = watcher.watch_flat(case, cores.tables([core]), fresh=True)
    assert flat_case(case, *again, core) == found
    program = EMULATED[case.target].program(case)
    machine = EMULATED[case.target].machine(case, watcher.images)
    with tempfile.TemporaryDirectory() as directory:
        watcher.emulator.run(machine, program, Path(directory))
        plain = check_records(read_records(Path(directory, RECORDS)), case, "plain")
    assert plain == records


@pytest.mark.parametrize(("name", "core"), [(BOARD, "cortex-m0"), (WAITING, "cortex-m4"), (ARMV7, "cortex-a9")])
def test_the_functions_of_a_flat_program_have_its_cycles(watcher: Watcher, name: str, core: str) -> None:
    """If this fails, what stands at the functions of a board's program, or of one on Armv7-A, is not what it takes."""
    case = parse_case(name, 1, 0)
    tables = cores.with_memory(case, cores.tables([core]))
    records, regions = watcher.watch_flat(case, tables)
    whole = flat_case(case, records, regions, core)
    watched = watcher.watch(case, cores=tables)
    kind = (watched.records, watched.trace, watched.space, load_rules(), watched.process)
    attribution = FlatAttribution(FlatExplainer(case, *kind))
    assert watched.records == records
    for one, other in zip(attribution.case(core).samples, whole.samples, strict=True):
        assert (one.measure, one.index, one.instructions) == (other.measure, other.index, other.instructions)
        assert one.events == other.events
        if name == ARMV7:
            # There the other plugin's models begin at a reading of Linux's own, and know more branches.
            kernel = [layer.instructions for layer in one.layers if layer.layer.startswith("Linux: ")]
            assert sum(kernel) == next(layer.instructions for layer in other.layers if layer.layer == KERNEL)
            continue
        causes = [[sum(layer.cycles[cause] for layer in each.layers) for cause in range(6)] for each in (one, other)]
        assert causes[0] == causes[1]
        assert sum(layer.outside for layer in one.layers) == sum(layer.outside for layer in other.layers)
    for series in attribution.explainer.records.samples.values():
        for sample in series:
            found = attribution.sample(sample, core)
            assert found.total == attribution.record(sample, core).cycles
            assert sum(spent.total for spent in found.functions.values()) == found.total
            assert max(found.functions.items(), key=lambda item: item[1].total)[0].function == DEAREST[name]


def test_plain_linux_is_predicted(watcher: Watcher, tables: Mapping[str, str]) -> None:
    """If this fails, a program of plain Linux has no cycles, or some are nobody's."""
    case = parse_case(PLAIN, 2, 0)
    attribution = attribution_of(watcher.watch(case, cores=tables))
    for series in attribution.explainer.records.samples.values():
        for sample in series:
            record = attribution.record(sample, CORES[0])
            layers = {one.layer: one.instructions for one in record.layers}
            assert record.instructions == sum(layers.values())
            # The kernel of this machine has no names, and has little to do.
            assert layers.get(UNKNOWN, 0) < record.instructions / 10


def test_linux_on_armv7_is_predicted_by_its_readings(watcher: Watcher) -> None:
    """If this fails, a sample on Armv7-A has the cycles of something else, or the plugin lost an instruction."""
    case = parse_case(ARMV7, 2, 0)
    tables = cores.tables(ARMV7_CORES)
    records, regions = watcher.watch_flat(case, tables, fresh=True)
    ((_, series),) = records.samples.items()
    # The counter began some time before the first reading. From that on each sample begins behind all stretches before
    # its own: page faults, interrupts and both instruction sets are counted to the instruction.
    lengths = [one.instructions for one in regions]
    began, place = set(), -1
    for sample in series:
        # Samples of the same length are told apart by their order.
        place = lengths.index(sample.raw, place + 1)
        began.add(sample.begin - sum(lengths[:place]))
    assert len(began) == 1
    for core in ARMV7_CORES:
        found = flat_case(case, records, regions, core)
        for sample, one in zip(series, found.samples, strict=True):
            assert (one.measure, one.index, one.instructions) == (sample.measure, sample.index, sample.raw)
            own, kernel = one.layers
            assert kernel.instructions > 1_000  # the readings themselves
            assert own.instructions > 0.9 * sample.raw
            assert 0.2 < own.instructions / sum(own.cycles) <= 2
            # Of a program only its thread's address comes from a coprocessor, and its locks are exclusive.
            assert own.outside_instructions < own.instructions / 1_000
    program = EMULATED[case.target].program(case)
    machine = EMULATED[case.target].machine(case, watcher.images)
    with tempfile.TemporaryDirectory() as directory:
        watcher.emulator.run(machine, program, Path(directory))
        plain = check_records(read_records(Path(directory, RECORDS)), case, "plain")
    assert plain == records
