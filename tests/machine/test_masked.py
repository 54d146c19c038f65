# SPDX-License-Identifier: BSD-2-Clause
"""Stretches with interrupts masked, against a look at the processor before each single instruction."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from machines import IMPLEMENTATION, OPTIMISATION, note
from worldwise.explain.layers import load_rules
from worldwise.explain.owners import Explainer
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import TRACE
from worldwise.machine.plugin import CutPlugin
from worldwise.plan.case import parse_case
from worldwise.predict.cores import tables
from worldwise.records.trace_records import Pass
from worldwise.run.traces.watch import Watched, Watcher
from worldwise.targets.all_targets import EMULATED

# What is looked at: into the secure world and back; with requests to Linux, and other tasks; with Linux's timer, which
# interrupts the secure world too.
LOOKED_AT = ("empty-invoke", "session-open", "ta-load", "storage-create", "attestdiv,ticks=both")
# As many of the longest the plugin keeps.
KEPT = 5
CORE = "cortex-a72"

Watch = Callable[[str], Watched]


class Run(NamedTuple):
    """Instructions in a row before which an interrupt waits: those before them, how many, where first and last are."""

    at: int
    instructions: int
    pc: int
    last_pc: int


@pytest.fixture(scope="module")
def watch(lab: Lab, images: ImageStore) -> Watch:
    """Each case, under the plugin."""
    watcher = Watcher(lab, images, Emulator(lab, note, silence_limit=60), note)
    return lambda text: watcher.watch(parse_case(f"optee/{IMPLEMENTATION}-{OPTIMISATION}/{text}", 1))


@pytest.fixture(scope="module")
def watch_core(lab: Lab, images: ImageStore) -> Watch:
    """Each case, under the plugin with the model of a core."""
    watcher = Watcher(lab, images, Emulator(lab, note, silence_limit=60), note)
    case = f"optee/{IMPLEMENTATION}-{OPTIMISATION}/"
    return lambda text: watcher.watch(parse_case(case + text, 1), cores=tables([CORE]), whole=True)


def looking(images: ImageStore) -> Path:
    """The plugin that looks before each instruction; what builds `cut.so` builds it."""
    recipe = Recipe(
        name="looking",
        script="cut.sh",
        outputs=("cut.so",),
        sources=("qemu",),
        trees={"cut.c": Path(__file__).with_name("looking.c")},
    )
    return images.get(recipe).file("cut.so")


def looked_at(text: str) -> tuple[int, list[Run]]:
    """What it wrote: the pass's instructions; and the stretches, the longest first."""
    *lines, total = [[int(word) for word in line.split()] for line in text.splitlines()]
    found = [Run(*numbers) for numbers in lines]
    return total[0], sorted(found, key=lambda one: (-one.instructions, one.at))


def the_pass(watched: Watched) -> tuple[Pass, int]:
    """The pass of the sample, and how many passes its mark had before."""
    measure = next(iter(watched.case.measures))
    (sample,) = [one for one in watched.records.samples[measure, "client"] if one.phase == "sample"]
    one = watched.trace.find(sample.begin, sample.end)
    assert one
    return one, sum(other.mark == one.mark and other.begin < one.begin for other in watched.trace.passes)


@pytest.mark.parametrize("text", LOOKED_AT)
def test_a_look_before_each_instruction_finds_the_same(
    text: str, watch: Watch, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """If this fails, the longest stretch is not what the processor did: of another length, or in other functions."""
    watched = watch(text)
    one, before = the_pass(watched)
    machine = EMULATED[watched.case.target].machine(watched.case, images)
    arguments = {"mark": f"{one.mark:#x}", "before": str(before), "out": f"/run/{TRACE}"}
    plugin = CutPlugin(looking(images), arguments)
    emulator.run(machine, EMULATED[watched.case.target].program(watched.case), tmp_path, plugin=plugin)
    total, found = looked_at((tmp_path / TRACE).read_text())
    faults = total - one.instructions
    note(f"{text}: {len(found)} stretches, {faults} faults; the longest {found[:KEPT]}")
    assert one.masked == sum(each.instructions for each in found)
    mine = [Run(row.at, row.instructions, row.pc, row.last_pc) for row in one.stretches]
    if faults:
        # Faults before a stretch, which count here twice, move it. Interrupts are not masked where one is.
        found = [each._replace(at=0) for each in found]
        mine = [each._replace(at=0) for each in mine]
    assert len(mine) == KEPT
    assert mine == found[:KEPT]


def test_they_are_where_op_tee_masks(watch: Watch) -> None:
    """The longest is the way in: from the monitor's vector to where OP-TEE's thread lets interrupts in."""
    watched = watch("empty-invoke")
    explainer = Explainer(watched.case, watched.records, watched.trace, watched.space, load_rules(), watched.process)
    masked = explainer.explain(explainer.sample("invoke", "client")).masked
    assert masked and masked.longest
    longest = masked.longest
    assert (longest.begin[-1].image, longest.end[-1].image) == ("bl31", "tee")
    assert longest.shared[-1].function == "__arm_smccc_smc"
    assert longest.begin[0].function == longest.end[0].function == "run"
    assert masked.worst.calls == len(watched.records.samples["invoke", "client"])


def test_a_core_takes_for_a_stretch_what_it_took_for_its_blocks(watch: Watch, watch_core: Watch) -> None:
    """If this fails, the time of a stretch is that of other instructions, or a model changes what is counted."""
    plain, modelled = watch("session-open"), watch_core("session-open")
    assert modelled.records == plain.records
    assert modelled.trace.passes == plain.trace.passes
    (one, _), trace = the_pass(modelled), modelled.trace
    times = {(row.frame, row.block): row.times for row in trace.own[one.id]}
    took = {row[:2]: row[2:] for row in trace.cycles[CORE][one.id]}
    within = 0
    for stretch in one.stretches:
        rows = trace.stretches[CORE][one.id, stretch.at]
        assert sum(row.times * trace.blocks[row.block].instructions for row in rows) == stretch.instructions
        for row in rows:
            whole = took[row.frame, row.block]
            # What was executed in the stretch alone took there what it took in all.
            if row.times == times[row.frame, row.block]:
                assert row[3:] == whole
                within += 1
            assert all(part <= all_ for part, all_ in zip(row[3:], whole, strict=True))
    assert within > 100
