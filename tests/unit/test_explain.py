# SPDX-License-Identifier: BSD-2-Clause
"""Owners of instructions, from small traces: every one counted once, on the right stack, in the right layer."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from traces import (
    CASE,
    CLIENT,
    CORE,
    CYCLES_MARK,
    LINUX,
    MARK,
    MONITOR,
    OTHER,
    PROCESS,
    TA,
    TraceBuilder,
    address_space,
    checked,
    place,
    samples_of,
)
from worldwise.base.errors import WorldwiseError
from worldwise.explain.differences import fact_changes, function_changes, layer_changes
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import NO_RULE, OTHER_PROCESS, UNKNOWN, Rules, load_rules
from worldwise.explain.owners import LOST, Explainer
from worldwise.explain.stacks import folded
from worldwise.machine.symbols.inlined_functions import Inlines
from worldwise.records.models import Sample
from worldwise.records.trace import read_trace
from worldwise.records.trace_records import Pass, Row

RULES = """
helpers = ["memset", "__memset*"]
[[layer]]
name = "client"
images = ["client"]
[[layer]]
name = "Linux"
images = ["linux"]
[[layer]]
name = "monitor"
images = ["bl31"]
[[layer]]
name = "core"
images = ["tee"]
functions = ["thread_*"]
[[layer]]
name = "TA"
images = ["ta"]
"""

Make = Callable[..., Explainer]


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    """A rule for every image, but none for the core's function `assembly`."""
    path = tmp_path / "rules.toml"
    path.write_text(RULES, encoding="ascii")
    return load_rules(path)


@pytest.fixture
def make(tmp_path: Path, rules: Rules) -> Make:
    """An explainer of a trace and of samples."""

    def make(trace: TraceBuilder, samples: Sequence[Sample] = ()) -> Explainer:
        trace.end()
        read = read_trace(trace.write(tmp_path / "trace.jsonl"))
        return Explainer(CASE, checked(samples), read, address_space(), rules, PROCESS)

    return make


def only(explainer: Explainer) -> Explanation:
    """The explanation of the one sample."""
    explainer.check()
    return explainer.explain(explainer.sample("invoke", "client"))


def names(explanation: Explanation) -> dict[str, int]:
    """The stacks by their functions' names alone."""
    return {";".join(frame.function for frame in stack): count for stack, count in explanation.stacks.items()}


def whole_call() -> TraceBuilder:
    """From the client through Linux and the monitor into the core and the TA; 61 instructions."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    invoke = trace.frame(region, "call", ids.client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    trace.run(1, invoke, ids.client, place(CLIENT, "invoke"), 20)
    entry = trace.frame(invoke, "exception", ids.linux, place(LINUX, "vectors"), place(CLIENT, "invoke"))
    trace.run(1, entry, ids.linux, place(LINUX, "vectors"), 3)
    # The vector jumps to el0_svc, which calls.
    trace.run(1, entry, ids.linux, place(LINUX, "el0_svc"), 5)
    call = trace.frame(entry, "call", ids.linux, place(LINUX, "__arm_smccc_smc"), place(LINUX, "el0_svc"))
    trace.run(1, call, ids.linux, place(LINUX, "__arm_smccc_smc"), 2)
    monitor = trace.frame(
        call, "exception", ids.monitor, place(MONITOR, "smc_handler"), place(LINUX, "__arm_smccc_smc", 8)
    )
    trace.run(1, monitor, ids.monitor, place(MONITOR, "smc_handler"), 7)
    core = trace.frame(call, "enter", ids.core, place(CORE, "thread_vector_table"), place(LINUX, "__arm_smccc_smc", 4))
    trace.run(1, core, ids.core, place(CORE, "thread_vector_table"), 4)
    trace.run(1, core, ids.core, place(CORE, "assembly"), 1)
    ta = trace.frame(core, "enter", ids.ta, place(TA, "__ta_entry"), place(CORE, "thread_vector_table"))
    trace.run(1, ta, ids.ta, place(TA, "__ta_entry"), 9)
    trace.event(1, 30, "sync", ids.linux, place(LINUX, "vectors"))
    trace.event(1, 40, "sync", ids.monitor, place(MONITOR, "smc_handler"))
    trace.event(1, 47, "eret", ids.core, place(CORE, "thread_vector_table"))
    trace.event(1, 52, "eret", ids.ta, place(TA, "__ta_entry"))
    trace.close(1, region, 1000)
    return trace


def test_one_stack_goes_through_all_worlds(make: Make) -> None:
    """If this fails, an instruction is on the wrong stack, or a function that was jumped to is not the caller."""
    explainer = make(whole_call(), samples_of([(1000, 1061)]))
    found = only(explainer)
    assert names(found) == {
        "main": 10,
        "main;invoke": 20,
        "main;invoke;vectors": 3,
        "main;invoke;el0_svc": 5,
        "main;invoke;el0_svc;__arm_smccc_smc": 2,
        "main;invoke;el0_svc;__arm_smccc_smc;smc_handler": 7,
        "main;invoke;el0_svc;__arm_smccc_smc;thread_vector_table": 4,
        "main;invoke;el0_svc;__arm_smccc_smc;assembly": 1,
        "main;invoke;el0_svc;__arm_smccc_smc;thread_vector_table;__ta_entry": 9,
    }
    assert (found.instructions, found.measuring, found.uncounted, found.unknown, found.lost) == (61, 5, 0, 0, 0)
    assert {name: share.self for name, share in found.layers.items()} == {
        "client": 30,
        "Linux": 10,
        "monitor": 7,
        "core": 4,
        "TA": 9,
        NO_RULE: 1,
    }
    assert found.layers["Linux"].inclusive == 31
    assert found.unruled == {("assembly", "tee"): 1}
    assert {frame.world for stack in found.stacks for frame in stack} == {"normal", "monitor", "secure"}


def test_the_path_has_every_change_of_level(make: Make) -> None:
    """If this fails, time lines are wrong."""
    steps = only(make(whole_call(), samples_of([(1000, 1061)]))).path.steps
    assert [(step.at, step.instructions, step.how, step.lane, step.frame.function) for step in steps] == [
        (0, 30, "region", "normal EL0", "main"),
        (30, 10, "sync", "normal EL1", "vectors"),
        (40, 7, "sync", "EL3", "smc_handler"),
        (47, 5, "eret", "secure EL1", "thread_vector_table"),
        (52, 9, "eret", "secure EL0", "__ta_entry"),
    ]


def test_a_block_is_shared_by_the_functions_it_goes_through(make: Make) -> None:
    """If this fails, a function that falls into the next one gets its instructions."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, place(CLIENT, "main", 0xF8), 6, times=3)
    trace.close(1, region, 0)
    assert names(only(make(trace, samples_of([(0, 18)])))) == {"main": 6, "invoke": 12}


def test_the_guests_counter_decides(make: Make) -> None:
    """If this fails, a count that is not the guest's is given owners."""
    for fields in ({"end": 1062}, {"end": 1060}):
        trace = whole_call()
        trace.records[-1].update(fields)
        explainer = make(trace, samples_of([(1000, fields["end"])]))
        with pytest.raises(WorldwiseError, match=r"has 61 instructions, but the counter went from 1000 to "):
            explainer.check()
        with pytest.raises(WorldwiseError, match=r"have 61 instructions, the counter (60|62)"):
            explainer.explain(explainer.sample("invoke", "client"))


def test_a_region_ends_on_the_stack_it_began_on(make: Make) -> None:
    """If this fails, a stack that went astray is not noticed."""
    trace = whole_call()
    trace.records[-1].update(closed=False, depth=7)
    with pytest.raises(WorldwiseError, match=r"ended with another stack than it began with: 7 frames"):
        make(trace).check()


@pytest.mark.parametrize(("counted", "fits"), [(17, True), (12, True), (10, True), (9, False), (18, False)])
def test_the_cycle_counter_may_leave_out_the_monitor(make: Make, counted: int, fits: bool) -> None:
    """If this fails, regions in the TA are refused, or anything is let through."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.ta, CYCLES_MARK)
    trace.run(1, region, ids.ta, CYCLES_MARK + 8, 10)
    monitor = trace.frame(region, "exception", ids.monitor, place(MONITOR, "smc_handler"), CYCLES_MARK + 12)
    trace.run(1, monitor, ids.monitor, place(MONITOR, "smc_handler"), 7)
    trace.close(1, region, 100, mark=hex(CYCLES_MARK), end=100 + counted)
    explainer = make(trace, samples_of([(100, 100 + counted)]))
    if fits:
        found = only(explainer)
        assert (found.instructions, found.uncounted, found.measuring) == (17, 17 - counted, 5)
    else:
        with pytest.raises(WorldwiseError, match="has 17 instructions"):
            explainer.check()


def test_other_counters_leave_nothing_out(make: Make) -> None:
    """If this fails, the tolerance for the cycle counter hides a miscount elsewhere."""
    trace = whole_call()
    trace.records[-1].update(end=1060)
    with pytest.raises(WorldwiseError, match="has 61 instructions"):
        make(trace).check()


def test_an_inner_region_begins_at_its_own_function(make: Make) -> None:
    """If this fails, the TA's own figure stands on its client's stack, or misses what interrupts it."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    invoke = trace.frame(region, "call", ids.client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    trace.run(2, invoke, ids.client, place(CLIENT, "invoke"), 4)
    memset = trace.frame(invoke, "call", ids.client, place(CLIENT, "memset"), place(CLIENT, "invoke"))
    trace.run(2, memset, ids.client, place(CLIENT, "memset"), 8)
    switched = trace.context(LINUX, 0x77)
    task = trace.frame(region, "task", switched, 0x77)
    trace.run(2, task, switched, place(LINUX, "cpu_switch_to"), 3)
    trace.close(2, invoke, 1010, parent=1, at=10)
    trace.close(1, region, 1000)
    explainer = make(trace, [*samples_of([(1000, 1025)]), *samples_of([(1010, 1025)], place="ta")])
    assert names(explainer.explain(explainer.sample("invoke", "ta"))) == {
        "invoke": 4,
        "invoke;memset": 8,
        "[task: kernel thread];cpu_switch_to": 3,
    }
    assert names(only(explainer))["main;invoke;memset"] == 8


def test_what_was_lost_is_unknown(make: Make) -> None:
    """If this fails, instructions on a stack that could not be followed get a neighbour's layer."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    lost = trace.frame(region, "lost", ids.client, place(CLIENT, "invoke"), MARK)
    trace.run(1, lost, ids.client, place(CLIENT, "invoke"), 4)
    below = trace.frame(lost, "call", ids.client, place(CLIENT, "memset"), place(CLIENT, "invoke"))
    trace.run(1, below, ids.client, place(CLIENT, "memset"), 2)
    trace.close(1, region, 0, lost=6)
    found = only(make(trace, samples_of([(0, 16)])))
    assert names(found) == {"main": 10, f"main;{LOST};invoke": 4, f"main;{LOST};invoke;memset": 2}
    assert (found.unknown, found.lost) == (6, 6)
    assert found.layers["client"].self == 10


def test_an_address_without_a_name_is_unknown(make: Make) -> None:
    """If this fails, code that no image names is taken for a neighbour's."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    for target in (0x1400, 0x9000):
        frame = trace.frame(region, "call", ids.client, target, MARK)
        trace.run(1, frame, ids.client, target, 2)
    trace.close(1, region, 0)
    found = only(make(trace, samples_of([(0, 14)])))
    assert names(found) == {"main": 10, "main;[0x1400]": 2, "main;[0x9000]": 2}
    assert {str(stack[-1]) for stack in found.stacks} == {"main (client)", "[0x1400] (client)", "[0x9000] (no image)"}
    assert found.layers[UNKNOWN].self == found.unknown == 4
    assert found.lost == 0


def test_other_tasks_have_a_root_of_their_own(make: Make) -> None:
    """If this fails, another process's instructions are taken for the client's."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    kernel, user = trace.context(LINUX, 0x77), trace.context(OTHER, 0x77)
    task = trace.frame(region, "task", kernel, 0x77)
    unwound = trace.frame(task, "unwound", kernel, 0, place(LINUX, "el0_svc"))
    trace.run(1, unwound, kernel, place(LINUX, "cpu_switch_to"), 4)
    enter = trace.frame(task, "enter", user, place(OTHER, "process_one_request"))
    trace.run(1, enter, user, place(OTHER, "process_one_request"), 6)
    call = trace.frame(enter, "call", user, place(OTHER, "read_request"), place(OTHER, "process_one_request"))
    trace.run(1, call, user, place(OTHER, "read_request"), 2)
    trace.close(1, region, 0)
    found = only(make(trace, samples_of([(0, 22)])))
    root = "[task: tee-supplicant]"
    assert names(found) == {
        "main": 10,
        f"{root};el0_svc;cpu_switch_to": 4,
        f"{root};process_one_request": 6,
        f"{root};process_one_request;read_request": 2,
    }
    assert {name: share.self for name, share in found.layers.items()} == {"client": 10, "Linux": 4, OTHER_PROCESS: 8}


def test_helpers_and_recursion(make: Make) -> None:
    """If this fails, memset's share is its own only, or recursion makes a function more than all."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    frame, caller = region, "main"
    for callee in ("invoke", "main", "invoke", "memset", "__memset_zva64"):
        frame = trace.frame(frame, "call", ids.client, place(CLIENT, callee), place(CLIENT, caller))
        trace.run(1, frame, ids.client, place(CLIENT, callee), 5)
        caller = callee
    trace.close(1, region, 0)
    found = only(make(trace, samples_of([(0, 35)])))
    functions = {name: (share.self, share.inclusive, share.folded) for (name, _), share in found.functions.items()}
    assert functions == {
        "main": (15, 35, 15),
        "invoke": (10, 25, 20),
        "memset": (5, 10, 0),
        "__memset_zva64": (5, 5, 0),
    }
    assert sum(share.folded for share in found.functions.values()) == 35
    assert found.layers["client"].folded == 35


def repeated(lengths: Sequence[int]) -> TraceBuilder:
    """A pass of each length, from 1000, 2000 and so on."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    for number, length in enumerate(lengths, 1):
        trace.run(number, region, ids.client, MARK + 8, length)
        trace.close(number, region, 1000 * number)
    return trace


def test_the_median_sample_is_explained(make: Make) -> None:
    """If this fails, a first or odd call stands for all."""
    lengths = [50, 12, 18, 10, 14]
    samples = samples_of([(1000 * n, 1000 * n + length) for n, length in enumerate(lengths, 1)])
    samples[0] = samples[0].model_copy(update={"phase": "first"})
    explainer = make(repeated(lengths), samples)
    # Of 10, 12, 14 and 18 the lower middle one.
    assert explainer.sample("invoke", "client").index == 1
    assert explainer.sample("invoke", "client", 0).count == 45
    assert explainer.sample("invoke", "client", 4).count == 9
    with pytest.raises(WorldwiseError, match=r"has no sample 5 of invoke at client") as caught:
        explainer.sample("invoke", "client", 5)
    assert "0, 1, 2, 3, 4" in caught.value.hint
    with pytest.raises(WorldwiseError, match=r"measures no open at client") as caught:
        explainer.sample("open", "client")
    assert "invoke at client" in caught.value.hint


def test_only_samples_in_the_trace_are_chosen(make: Make) -> None:
    """If this fails, a run of which a part is followed cannot be explained."""
    samples = samples_of([(1000, 1010), (2000, 2014), (3000, 3019)])
    explainer = make(repeated([10, 14]), samples)
    assert explainer.sample("invoke", "client").index == 0
    with pytest.raises(WorldwiseError, match=r"has no sample 2 .* in its trace"):
        explainer.sample("invoke", "client", 2)
    with pytest.raises(WorldwiseError, match=r"no region from 3000 to 3019"):
        explainer.explain(samples[2])
    with pytest.raises(WorldwiseError, match=r"the trace has no region of invoke at client"):
        make(repeated([7]), samples).sample("invoke", "client")


def test_names_must_fit_the_machine(make: Make) -> None:
    """If this fails, addresses get names of another build."""
    trace = repeated([10])
    block = next(record for record in trace.records if record["type"] == "block")
    block["code"] = "00" * 40
    with pytest.raises(
        WorldwiseError, match=r"at 0x1018 \(normal EL0\) the machine executed other instructions .*client"
    ):
        make(trace)


def test_why_names_every_owner(make: Make, rules: Rules) -> None:
    """If this fails, --why says another rule than the tables use."""
    explainer = make(whole_call())
    assert explainer.owners("__ta_entry") == [("ta", "ta/__ta_entry.c", rules.rules[-1])]
    assert explainer.owners("assembly") == [("tee", "tee/assembly.c", None)]
    assert explainer.owners("none") == []


def in_core(function: str, offset: int = 8) -> int:
    """A return address."""
    return place(CORE, function, offset)


INNER, ASM, OUTER = in_core("thread_vector_table"), in_core("assembly"), in_core("thread_std_smc_entry")
OUTERMOST = in_core("thread_vector_table", 0x40)

# Callers as the plugin has them, as memory has them, the verdict.
WITNESSES: dict[str, tuple[list[int], list[int], str]] = {
    "equal": ([INNER, OUTER], [INNER, OUTER], "same"),
    "memory goes on": ([INNER], [INNER, OUTER], "same"),
    "no caller": ([], [OUTER], "same"),
    "no record yet": ([INNER, OUTER], [OUTER], "entering"),
    "assembly makes no record": ([INNER, ASM, OUTER, OUTERMOST], [INNER, ASM, OUTERMOST], "frameless"),
    "assembly changed the stack": ([INNER, ASM, OUTER, OUTERMOST], [INNER, ASM], "frameless"),
    "a caller is missing": ([INNER, ASM, OUTER], [INNER, OUTER], "differing"),
    "another caller": ([INNER, OUTER], [INNER, OUTERMOST], "differing"),
    "memory ends": ([INNER, OUTER, OUTERMOST], [INNER], "differing"),
}


@pytest.mark.parametrize("what", WITNESSES)
def test_the_witness_is_judged(make: Make, what: str) -> None:
    """If this fails, a wrong stack agrees with memory, or a right one does not."""
    shadow, memory, verdict = WITNESSES[what]
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.core)
    trace.witness(ids.core, in_core("thread_std_smc_entry", 0x20), shadow, memory)
    trace.close(1, region, 0)
    found = make(trace).agreement()
    counts = {"same": found.same, "entering": found.entering, "frameless": found.frameless}
    assert counts | {"differing": len(found.differing)} == {**dict.fromkeys(counts, 0), "differing": 0} | {verdict: 1}
    assert found.agreeing == (verdict != "differing")
    assert [where for _, where in found.differing] == ["thread_std_smc_entry (tee)"] * (verdict == "differing")


def with_kinds(calls: int) -> TraceBuilder:
    """A region of main, and in it one of `invoke`, which runs so often; the plugin has looked at what they do."""
    trace = TraceBuilder()
    client = trace.context(CLIENT)
    outer = trace.region(client)
    trace.run(1, outer, client, MARK, 3, 2)
    inner = trace.frame(outer, "call", client, place(CLIENT, "invoke"), MARK + 8)
    trace.run(2, inner, client, place(CLIENT, "invoke"), 2, calls)
    for record in trace.records:
        if record["type"] == "block":
            record["kinds"] = "lsm" if record["id"] == 1 else "d."
    trace.add("taken", **{"pass": 2, "rows": [[2, calls - 1]]})
    trace.close(2, inner, 1002, 1)
    trace.add("taken", **{"pass": 1, "rows": [[1, 1]]})
    trace.close(1, outer, 1000)
    return trace


def test_facts_are_of_all_that_is_inside_a_region(make: Make) -> None:
    """If this fails, a function's loads or branches are another's, or those of inner regions are left out."""
    one = only(make(with_kinds(5), samples_of([(1000, 1016)])))
    assert {name: list(facts.values.values()) for (name, _), facts in one.facts.items()} == {
        "main": [2, 2, 2, 0, 1, 12],
        "invoke": [0, 0, 0, 5, 4, 8],
    }
    more = only(make(with_kinds(7), samples_of([(1000, 1020)])))
    assert {change.name: (change.before, change.after) for change in fact_changes(one, more)} == {
        "loads": (2, 2),
        "stores": (2, 2),
        "multiplications": (2, 2),
        "divisions": (5, 7),
        "taken_branches": (5, 7),
        "code_bytes": (20, 20),
    }
    changed = {change.name: list(change.facts.values()) for change in function_changes(one, more)}
    assert changed == {"invoke (client)": [0, 0, 0, 2, 2, 0]}
    # Where nobody has looked there is nothing to compare.
    assert fact_changes(one, only(make(repeated([40]), samples_of([(1000, 1040)])))) == []


def test_differences_are_by_layer_and_by_function(make: Make, rules: Rules) -> None:
    """If this fails, what changed is not what is shown to have changed."""
    before = only(make(whole_call(), samples_of([(1000, 1061)])))
    after = only(make(repeated([40]), samples_of([(1000, 1040)])))
    layers = layer_changes(before, after, rules.order)
    assert [(one.name, one.before, one.after) for one in layers] == [
        ("client", 30, 40),
        ("Linux", 10, 0),
        ("monitor", 7, 0),
        ("core", 4, 0),
        ("TA", 9, 0),
        (NO_RULE, 1, 0),
    ]
    changed = function_changes(before, after)
    assert [(one.name, one.difference) for one in changed[:3]] == [
        ("main (client)", 30),
        ("invoke (client)", -20),
        ("__ta_entry (ta)", -9),
    ]
    assert sum(one.difference for one in changed) == after.instructions - before.instructions
    assert function_changes(before, before) == []


def test_folded_stacks_are_the_same_each_time(make: Make) -> None:
    """If this fails, two runs cannot be compared by their bytes."""
    first, second = (only(make(whole_call(), samples_of([(1000, 1061)]))) for _ in range(2))
    assert folded(first.stacks) == folded(second.stacks)
    assert folded(first.stacks).startswith("main (client) 10\nmain (client);invoke (client) 20\n")


# --- traces of many passes ---


FIELDS = {field.name for field in dataclasses.fields(Pass)}


class Work:
    """Counts what is read of a trace's passes and rows."""

    def __init__(self) -> None:
        self.reads = 0

    def watch(self, explainer: Explainer) -> None:
        """Count from now on."""
        work, trace = self, explainer.trace

        class Watched(Pass):
            def __getattribute__(self, name: str) -> Any:
                if name in FIELDS:
                    work.reads += 1
                return super().__getattribute__(name)

        class Rows(list[Row]):
            def __iter__(self) -> Iterator[Row]:
                work.reads += 1
                return super().__iter__()

        passes = [Watched(**{name: getattr(one, name) for name in FIELDS}) for one in trace.passes]
        own = {number: Rows(rows) for number, rows in trace.own.items()}
        explainer.trace = dataclasses.replace(trace, passes=passes, own=own)
        self.reads = 0


def side_by_side(make: Make, number: int) -> tuple[Explainer, list[Sample]]:
    """So many samples of two passes each, the passes of all inside one."""
    trace = TraceBuilder()
    client = trace.context(CLIENT)
    region = trace.region(client)
    inner = trace.frame(region, "call", client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    trace.run(1, region, client, MARK + 8, 10)
    spans = []
    for sample in range(number):
        for one in (0, 1):
            trace.run(2 + 2 * sample + one, inner, client, place(CLIENT, "invoke"), 4)
            trace.close(2 + 2 * sample + one, inner, 1000 + 100 * sample + 10 * one, parent=1)
        spans.append((1000 + 100 * sample, 1014 + 100 * sample))
    trace.close(1, region, 990)
    samples = [one.model_copy(update={"spans": 2, "busy": 8, "count": 3}) for one in samples_of(spans)]
    return make(trace, samples), samples


def one_in_another(make: Make, number: int) -> tuple[Explainer, list[Sample]]:
    """So many passes, each inside the one before, under a counter that may leave out the monitor."""
    trace = TraceBuilder()
    ids = trace.contexts()
    frame = trace.region(ids.ta, CYCLES_MARK)
    monitor = trace.frame(frame, "exception", ids.monitor, place(MONITOR, "smc_handler"), CYCLES_MARK + 12)
    trace.run(1, frame, ids.ta, CYCLES_MARK + 8, 2)
    for one in range(1, number + 1):
        trace.run(one, monitor, ids.monitor, place(MONITOR, "smc_handler"), 7)
    spans = []
    for one in range(number, 0, -1):
        end = trace.close(one, frame, 1000 + one, parent=one - 1, mark=hex(CYCLES_MARK))
        spans.append((1000 + one, end))
    return make(trace, samples_of(spans)), samples_of(spans)


@pytest.mark.parametrize("shape", [side_by_side, one_in_another])
def test_work_grows_with_the_passes_not_with_their_square(
    make: Make, shape: Callable[[Make, int], tuple[Explainer, list[Sample]]]
) -> None:
    """If this fails, a trace of a million passes takes hours to explain."""
    reads = {}
    for number in (40, 80, 160):
        explainer, samples = shape(make, number)
        work = Work()
        work.watch(explainer)
        assert explainer.check() == len(explainer.trace.passes)
        chosen = explainer.sample("invoke", "client")
        assert chosen in samples
        explainer.explain(samples[0])
        reads[number] = work.reads
    assert reads[160] - reads[80] == 2 * (reads[80] - reads[40]), reads


def test_the_passes_of_a_sample_are_those_at_its_depth(make: Make) -> None:
    """If this fails, a sample of several passes has those of another, or what is inside them twice."""
    explainer, samples = side_by_side(make, 3)
    for number, sample in enumerate(samples):
        assert [one.id for one in explainer.regions(sample)] == [2 + 2 * number, 3 + 2 * number]
        assert names(explainer.explain(sample)) == {"invoke": 8}
    more = samples[0].model_copy(update={"spans": 3})
    assert explainer.regions(more) == []
    assert explainer.regions(samples[0].model_copy(update={"begin": 1001})) == []
    assert [one.id for one in explainer.regions(samples[0].model_copy(update={"end": 1013, "spans": 1}))] == [2]
    nested, (inner, *_) = one_in_another(make, 5)
    assert [nested.trace.outermost(one).id for one in nested.regions(inner)] == [1]


def test_inlined_functions_are_asked_for_once(rules: Rules, tmp_path: Path) -> None:
    """If this fails, a tool is started for each instruction of a trace, or a stack lacks an inlined function."""
    asked: list[list[int]] = []

    def said(elf: bytes, addresses: str) -> str:
        del elf
        asked.append([int(line, 16) for line in addresses.split()])
        inner = place(CLIENT, "main", 0x20)
        return "".join(
            f"{address:#x}\n" + ("small\na.c:1\n" if inner <= address < inner + 0x20 else "") + "main\na.c:9\n"
            for address in asked[-1]
        )

    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10)
    invoke = trace.frame(region, "call", ids.client, place(CLIENT, "invoke"), place(CLIENT, "main"))
    trace.run(1, invoke, ids.client, place(CLIENT, "invoke"), 1)
    trace.close(1, region, 1000)
    trace.end()
    read = read_trace(trace.write(tmp_path / "trace.jsonl"))
    space = address_space()
    client = space.mappings(CLIENT)[0].table
    client.inlines = Inlines("client", b"", said)
    explainer = Explainer(CASE, checked(samples_of([(1000, 1011)])), read, space, rules, PROCESS, inline=True)
    # From 0x1018 to 0x1040: two instructions before the one at 0x1020.
    assert names(only(explainer)) == {"main": 2, "main;small [inlined]": 8, "main;invoke": 1}
    assert len(asked) == 1
    assert set(range(MARK + 8, MARK + 48, 4)) <= set(asked[0])
