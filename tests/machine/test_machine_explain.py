# SPDX-License-Identifier: BSD-2-Clause
"""The emulator's plugin on real machines: each instruction once, with an owner, and the counts are those without it."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from machines import IMPLEMENTATION, OPTIMISATION, RunCase, Tool, fresh_cache, note
from worldwise.base.errors import WorldwiseError
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import UNKNOWN, load_rules
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import folded
from worldwise.families.sha256 import explained as hash_parts
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, TRACE, Machine
from worldwise.machine.plugin import Plugin
from worldwise.plan.case import Case, parse_case
from worldwise.records.trace import read_trace
from worldwise.run.traces.watch import Watched, Watcher
from worldwise.targets.all_targets import EMULATED

VARIANT = f"{IMPLEMENTATION}-{OPTIMISATION}"

# What is watched: each case twice, with one sample. A new operation is one line here.
WATCHED = (
    "optee/empty-invoke",
    "optee/session-open",
    "optee/ta-load",
    "optee/attestdiv",
    "optee/storage-create",
    "optee/sha256,size=256KiB",
    "optee/sha256,size=64KiB,chunk=16KiB",
    "linux/attestdiv",
    "linux/sha256,size=64KiB,fault=fresh",
    "optee/attestdiv,load=busy",
    "linux/attestdiv,load=busy",
)
LOADED = "optee/attestdiv,load=busy"
# Those that are watched a second time, for the same bytes.
REPEATED = ("optee/empty-invoke", "optee/storage-create", "optee/attestdiv,load=busy")
# Instructions between two looks at the stack in memory.
WITNESS = 5000
# Of all moments at which the stacks are compared, as many must agree.
LEAST_AGREEMENT = 0.999
# Of a region's instructions, at most so many may have no name, or be of one function that no rule takes.
MOST_UNKNOWN = 0.001


def case(text: str, samples: int = 1) -> Case:
    """A case of the quickest variant."""
    target, _, rest = text.partition("/")
    return parse_case(f"{target}/{VARIANT}/{rest}", samples)


Watch = Callable[[str], Explainer]
Samples = Callable[[str], list[Explanation]]


@pytest.fixture(scope="session")
def watcher(lab: Lab, images: ImageStore) -> Watcher:
    """Runs cases under the plugin."""
    return Watcher(lab, images, Emulator(lab, note, silence_limit=60), note)


@pytest.fixture(scope="session")
def watched(watcher: Watcher) -> Callable[[str], Watched]:
    """Each case of this file, watched once."""
    known: dict[str, Watched] = {}

    def watched(text: str) -> Watched:
        if text not in known:
            known[text] = watcher.watch(case(text), witness=WITNESS)
        return known[text]

    return watched


def explainer_of(one: Watched) -> Explainer:
    """An explainer with the tool's rules."""
    return Explainer(one.case, one.records, one.trace, one.space, load_rules(), one.process)


@pytest.fixture(scope="session")
def explained(watched: Callable[[str], Watched]) -> Watch:
    """The explainer of each case, made once."""
    known: dict[str, Explainer] = {}

    def explained(text: str) -> Explainer:
        if text not in known:
            known[text] = explainer_of(watched(text))
        return known[text]

    return explained


@pytest.fixture(scope="session")
def samples(explained: Watch) -> Samples:
    """The explanations of each case's samples, made once."""
    return functools.cache(lambda text: all_samples(explained(text)))


def all_samples(explainer: Explainer) -> list[Explanation]:
    """Every sample's explanation."""
    return [explainer.explain(one) for series in explainer.records.samples.values() for one in series]


def all_folded(explanations: list[Explanation]) -> dict[str, str]:
    """The folded stacks of every sample."""
    return {one.title: folded(one.stacks) for one in explanations}


def check_facts(explanation: Explanation) -> None:
    """The plugin looked at every function that executed something, and at each of its instructions once."""
    own = {key: share.self for key, share in explanation.functions.items() if share.self}
    assert explanation.facts.keys() == own.keys(), explanation.title
    for key, facts in explanation.facts.items():
        assert facts.loads + facts.stores + facts.multiplications + facts.divisions <= own[key], key
        assert facts.taken <= own[key], key
        assert 4 <= facts.code_bytes <= 4 * own[key], key
    together = [sum(facts.values[name] for facts in explanation.facts.values()) for name in ("loads", "taken_branches")]
    assert min(together) > 0


def of_task(explanation: Explanation, name: str) -> int:
    """Instructions of another task, wherever in the region it ran."""
    return sum(
        count
        for stack, count in explanation.stacks.items()
        if any(frame.function == f"[task: {name}]" for frame in stack)
    )


@pytest.mark.parametrize("text", WATCHED)
def test_every_instruction_has_an_owner(text: str, explained: Watch, samples: Samples) -> None:
    """If this fails, the layers' sum is not the guest's own count, or some of it is nobody's."""
    explainer = explained(text)
    assert explainer.check() == len(explainer.trace.passes) > 0
    assert sum(one.lost for one in explainer.trace.passes) == 0
    for one in samples(text):
        limit = one.instructions * MOST_UNKNOWN
        assert sum(one.stacks.values()) == sum(share.self for share in one.layers.values()) == one.instructions
        assert one.unknown < limit, f"{one.title}: {one.unknown} unknown"
        assert one.layers.get(UNKNOWN) is None or one.layers[UNKNOWN].self == one.unknown
        assert {name: count for name, count in one.unruled.items() if count > limit} == {}, one.title
        assert one.path.dropped == 0
        check_facts(one)
        # A sample of several passes has no one path.
        assert not one.path.steps or sum(step.instructions for step in one.path.steps) == one.instructions


@pytest.mark.parametrize("text", WATCHED)
def test_the_stack_in_memory_agrees(text: str, explained: Watch) -> None:
    """If this fails, functions are called by others than the tool says."""
    found = explained(text).agreement()
    differing = Counter(where for _, where in found.differing)
    note(
        f"{text}: {found.agreeing} of {found.samples} moments agree ({found.same} in all callers, {found.entering} "
        f"entering, {found.frameless} beside assembly); differing: {dict(differing)}"
    )
    assert found.samples > 10
    # One moment in a few is not yet a tenth of a per cent.
    assert len(found.differing) <= max(1, found.samples * (1 - LEAST_AGREEMENT)), differing


@pytest.mark.parametrize("text", ["optee/sha256,size=256KiB", "optee/sha256,size=64KiB,chunk=16KiB"])
def test_a_hash_has_the_same_parts_by_the_counters(text: str, explained: Watch) -> None:
    """If this fails, the plugin and the guest's counters do not agree, and nothing says why."""
    parts = hash_parts.read_parts(explained(text))
    by_name = {one.name: one for one in parts.parts}
    assert parts.total == parts.sample.count
    assert sum(one.counters or 0 for one in parts.parts) == parts.sample.count
    algorithm, wrapper = by_name["algorithm"], by_name["TA wrapper"]
    assert algorithm.plugin is not None
    # The counter goes on at EL3 until TF-A stops it: to the digit what is more by it.
    assert algorithm.counters == algorithm.plugin + parts.monitor_seen
    assert wrapper.counters == wrapper.plugin


@pytest.mark.parametrize("text", REPEATED)
def test_two_runs_are_the_same(text: str, watcher: Watcher, samples: Samples) -> None:
    """If this fails, folded stacks cannot be compared by their bytes."""
    again = explainer_of(watcher.watch(case(text), witness=WITNESS, fresh=True))
    assert all_folded(all_samples(again)) == all_folded(samples(text))


@pytest.mark.parametrize("text", ["optee/empty-invoke", "optee/attestdiv", "linux/attestdiv", "optee/storage-create"])
def test_the_plugin_changes_no_digit(
    text: str,
    watched: Callable[[str], Watched],
    watcher: Watcher,
    machine: Machine,
    records_of: RunCase,
    tmp_path: Path,
) -> None:
    """If this fails, what is explained is not what is measured: in either mode."""
    wanted = case(text)
    plain = records_of(wanted)
    stack = watched(text)
    assert (stack.directory / RECORDS).read_bytes() == plain
    directory = tmp_path / "count"
    directory.mkdir()
    counting = watcher.count_plugin(wanted, machine)
    watcher.emulator.run(machine, EMULATED[wanted.target].program(wanted), directory, plugin=counting)
    assert (directory / RECORDS).read_bytes() == plain
    counted = read_trace(directory / TRACE)
    assert counted.start.mode == "count"
    assert all(one.instructions == one.end - one.begin for one in counted.passes)
    assert [(one.mark, one.begin, one.instructions) for one in counted.passes] == [
        (one.mark, one.begin, one.instructions) for one in stack.trace.passes
    ]


@pytest.mark.parametrize("text", [LOADED])
def test_another_process_has_a_stack_of_its_own(text: str, samples: Samples) -> None:
    """If this fails, a busy process's instructions are the client's."""
    signs = [one for one in samples(text) if (one.measure, one.place) == ("sign", "client")]
    assert signs
    assert max(of_task(one, "optee-client") for one in signs) > 1_000_000
    for one in signs:
        own = sum(count for stack, count in one.stacks.items() if not stack[0].function.startswith("[task: "))
        # What is left is the call alone: the TA, and the way there and back.
        assert own < 6_000_000


@pytest.mark.parametrize("text", ["linux/sha256,size=64KiB,fault=fresh"])
def test_page_faults_are_on_the_stack(text: str, samples: Samples) -> None:
    """If this fails, a fault's work is nobody's, or the instruction that met it counts twice, which the sum shows."""
    for one in samples(text):
        functions = {name for name, image_name in one.functions if image_name == "linux"}
        assert {"el0_da", "do_mem_abort", "handle_mm_fault"} <= functions
        assert sum(step.how == "sync" and step.lane == "normal EL1" for step in one.path.steps) >= 16


def test_a_signature_is_preempted_in_the_secure_world(watcher: Watcher, machine: Machine) -> None:
    """If this fails, a TA that was interrupted goes on with another stack, or its instructions are counted elsewhere.

    With the usual firmware no timer interrupt reaches the secure world: the case asks for another.
    """
    del machine
    watched = watcher.watch(case(f"{LOADED},ticks=both"), witness=WITNESS)
    explainer = explainer_of(watched)
    assert explainer.check() == len(watched.trace.passes)
    assert sum(one.lost for one in watched.trace.passes) == 0
    found = explainer.agreement()
    assert len(found.differing) <= found.samples * (1 - LEAST_AGREEMENT)
    signs = [one for one in all_samples(explainer) if one.measure == "sign"]
    assert {one.place for one in signs} == {"ta", "client"}
    for one in signs:
        assert one.unknown == 0
        # The other process had the processor while the TA's region was open.
        assert of_task(one, "optee-client") > 1_000_000
        lanes = [(step.how, step.lane) for step in one.path.steps]
        interrupted = lanes.index(("fiq", "secure EL1"))
        away = lanes.index(("eret", "normal EL0"), interrupted)
        assert ("eret", "secure EL1") in lanes[away:] or ("eret", "secure EL0") in lanes[away:]
    # The TA's own work is the same as with no one else there, on the same stacks.
    ta = [one for one in signs if one.place == "ta"]
    assert len({one.functions["mbedtls_ecdsa_sign", "tee"].self for one in ta if one.phase == "sample"}) == 1
    assert any(frame.function == "engine_sign" for one in ta for stack in one.stacks for frame in stack[:1])


def test_regions_that_begin_in_a_preempted_thread_are_closed(watcher: Watcher, machine: Machine) -> None:
    """If this fails, a thread that no one saw start is not known again when it goes on."""
    del machine
    watched = watcher.watch(case("optee/attestdiv,ticks=both"), witness=WITNESS)
    explainer_of(watched).check()
    outermost_in_ta = [
        one
        for one in watched.trace.passes
        if not one.parent and watched.trace.contexts[watched.trace.frames[one.frame].context].secure
    ]
    assert any(event.what == "fiq" for one in outermost_in_ta for event in watched.trace.events.get(one.id, ())), (
        "no such region was interrupted"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mode": "both"}, r"mode=both is not understood"),
        ({"mode": "stack", "witness": "often"}, r"witness=often is not understood"),
        ({"colour": "red"}, r"colour=red is not understood"),
        ({"m": "stack"}, r"m=stack is not understood"),
    ],
)
def test_a_wrong_argument_is_told(
    arguments: dict[str, str], said: str, watcher: Watcher, machine: Machine, tmp_path: Path
) -> None:
    """If this fails, the plugin does something else than it was told to."""
    wanted = case("optee/empty-invoke")
    plugin = dataclasses.replace(watcher.count_plugin(wanted, machine), arguments=arguments)
    with pytest.raises(WorldwiseError, match=r"QEMU did not start") as caught:
        watcher.emulator.run(machine, EMULATED["optee"].program(wanted), tmp_path, plugin=plugin)
    assert said in caught.value.details


def test_a_plugin_that_cannot_be_loaded_is_told(watcher: Watcher, machine: Machine, tmp_path: Path) -> None:
    """If this fails, a damaged plugin is a machine that hangs."""
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    run = tmp_path / "run"
    run.mkdir()
    with pytest.raises(WorldwiseError, match=r"QEMU did not start: .*plugin"):
        watcher.emulator.run(
            machine,
            EMULATED["optee"].program(case("optee/empty-invoke")),
            run,
            plugin=Plugin(broken, {"mode": "count"}),
        )


def test_a_damaged_trace_is_made_anew(watcher: Watcher, tmp_path: Path) -> None:
    """If this fails, a trace that was changed on the disk is explained."""
    text = "optee/empty-invoke"
    # Other tests read the user's traces at the same time.
    watcher = dataclasses.replace(watcher, lab=dataclasses.replace(watcher.lab, cache=fresh_cache(tmp_path / "cache")))
    first = watcher.watch(case(text), witness=WITNESS)
    kept = first.directory / f"{TRACE}.gz"
    before = all_folded(all_samples(explainer_of(first)))
    damaged = kept.read_bytes()[:-10]
    kept.write_bytes(damaged)
    again = watcher.watch(case(text), witness=WITNESS)
    assert again.directory == kept.parent
    assert kept.read_bytes() != damaged
    # Not the file's bytes: where the emulator cuts the code into blocks is its own affair.
    assert all_folded(all_samples(explainer_of(again))) == before


def test_the_command_explains(tool: Tool) -> None:
    """If this fails, a user does not get the table, or its sum is another one."""
    done = tool.run("explain", f"optee/{VARIANT}/empty-invoke", "--path")
    assert done.returncode == 0, done.stderr
    for said in ("OP-TEE: entry and threads", "regions checked", "secure EL1", "unknown: 0 instructions"):
        assert said in done.stdout
    stacks = tool.run("validation", "stacks", f"optee/{VARIANT}/empty-invoke")
    assert stacks.returncode == 0, stacks.stderr
    assert "regions checked" in stacks.stdout and " agree (" in stacks.stdout and ", 0 differ" in stacks.stdout
    why = tool.run("explain", f"optee/{VARIANT}/empty-invoke", "--why", "thread_std_smc_entry")
    assert "OP-TEE: entry and threads: the rule on line" in why.stdout


def test_a_run_is_explained_by_its_own_records(tool: Tool) -> None:
    """If this fails, a run's cases are explained by another run, or a run that does not fit is let through."""
    measured = tool.run("run", "quick", "--operation", "empty-invoke", "--samples", "2")
    assert measured.returncode == 0, measured.stderr
    done = tool.run("explain", "latest", "--format", "folded")
    assert done.returncode == 0, done.stderr
    assert "__arm_smccc_smc (linux)" in done.stdout
    (records,) = tool.directory.rglob(RECORDS)
    changed = records.read_bytes().replace(b'"index":0', b'"index": 0', 1)
    records.chmod(0o644)
    records.write_bytes(changed)
    refused = tool.run("explain", "latest", "--format", "folded")
    assert refused.returncode == 1
    assert "has changed" in refused.stderr or "the records are not those of the run" in refused.stderr


def test_the_cost_of_watching_is_printed(tool: Tool) -> None:
    """If this fails, `validation slow-down` says nothing. How much it is, is another matter on a busy host."""
    done = tool.run("validation", "slow-down", f"optee/{VARIANT}/empty-invoke")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["count", "stack"]
    assert all("times the wall time without the plugin (pairs: " in line for line in lines)
