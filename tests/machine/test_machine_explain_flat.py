# SPDX-License-Identifier: BSD-2-Clause
"""Explaining boards and plain Linux on the emulated machines: every instruction once, and the stack by two ways."""

from pathlib import Path

import pytest

from machines import note
from worldwise.explain.explanation import Explanation
from worldwise.explain.flat import FlatExplainer
from worldwise.explain.instruction_mix import together
from worldwise.explain.layers import load_rules
from worldwise.explain.owners import Explainer
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import parse_case
from worldwise.records.trace import read_trace
from worldwise.run.traces.watch import Watched, Watcher, is_flat
from worldwise.targets.all_targets import EMULATED

SIGN = "p256-m-Os/sign,curve=secp256r1,size=32B"
# A board of each core.
BOARDS = ("microbit", "nucleo-f103rb", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")
HASH = "mbedtls28-O2/sha256,size=64KiB"
# Instructions between two looks at the stack in memory.
WITNESS = {"microbit": 100_000, "nucleo-f103rb": 100_000, "linux-armv7": 10_000, "linux-armv8": 1_000}
# Of the explained instructions, at most so many may have no name, or no layer.
MOST_UNKNOWN = 0.001


@pytest.fixture(scope="module")
def watcher(lab: Lab, images: ImageStore) -> Watcher:
    """Runs cases under the plugin."""
    return Watcher(lab, images, Emulator(lab, note, silence_limit=60), note)


def explainer_of(one: Watched) -> Explainer:
    """An explainer with the tool's rules."""
    kind = FlatExplainer if is_flat(one.case.target) else Explainer
    return kind(one.case, one.records, one.trace, one.space, load_rules(), one.process)


def explained(one: Watched, witnessed: bool = True) -> list[Explanation]:
    """Every sample, each checked: all instructions once, nearly all with a name and a layer, on no lost stack, and
    with the callers that memory has, if the plugin looked there.
    """
    explainer = explainer_of(one)
    explainer.check()
    found = [explainer.explain(sample) for series in one.records.samples.values() for sample in series]
    assert found
    if witnessed:
        seen = explainer.agreement()
        assert seen.samples > 20
        assert [where for _, where in seen.differing] == []
        assert seen.same > 0.9 * seen.samples
    for each in found:
        assert sum(share.self for share in each.layers.values()) == each.instructions
        assert each.unknown <= MOST_UNKNOWN * each.instructions
        assert not each.lost
        assert sum(each.unruled.values()) <= MOST_UNKNOWN * each.instructions
    return found


@pytest.mark.parametrize("board", BOARDS)
def test_a_board_is_explained(board: str, watcher: Watcher) -> None:
    """If this fails, a core's calls, interrupts or stack pointer are followed wrongly."""
    case = parse_case(f"{board}/{SIGN}", 1, 0)
    one = watcher.watch(case, witness=WITNESS.get(board, 20_000))
    first, second = explained(one)
    for each in (first, second):
        assert each.uncounted == 5 * sum(step.how == "irq" for step in each.path.steps) > 0
        assert each.facts["main", "program"].code_bytes > 0
    # The call with the input of the painted one: to the byte, whose lowest word was written.
    assert first.peak is not None
    assert first.peak.painted is not None
    assert first.peak.written == first.peak.painted <= first.peak.bytes
    assert first.peak.bytes - first.peak.painted < 8
    assert sum(size for _, size in first.peak.path) == first.peak.bytes


@pytest.mark.parametrize(
    "case",
    [
        "tz-m33/bearssl-O2/sha256,size=1KiB",
        "tz-m33/gateway-O2/gateway,way=irq-ns-in-s",
        # Its gate keeps a system register on the stack, and its compiler makes loops of one instruction at their end.
        "tz-m55/bearssl-O2/sha256,size=1KiB",
    ],
)
def test_both_states_of_trustzone_are_explained(case: str, watcher: Watcher) -> None:
    """If this fails, a call is lost between the states, or an interrupt whose way back the plugin cannot read."""
    # So many calls that the counter's interrupt, too, comes in the secure state.
    one = watcher.watch(parse_case(case, 25, 0))
    # The secure stack cannot be unwound into the non-secure one.
    found = explained(one, witnessed=False)
    assert any(step.how == "irq" for each in found for step in each.path.steps)
    for each in found:
        names = {str(frame.function) for stack in each.stacks for frame in stack}
        assert {"gateway", "non-secure caller", "bench"} <= each.layers.keys()
        assert each.instructions - each.uncounted - each.measuring > 0
        if "sha256" in case:
            assert each.uncounted == 5 * sum(step.how == "irq" for step in each.path.steps)
            assert each.layers["secure"].self > 0.98 * each.instructions
            # One stack goes through both programs.
            assert {"main", "ops_sha256", "__acle_se_gate_library", "br_sha2small_round"} <= names


@pytest.mark.parametrize("target", ["linux-armv7", "linux-armv8"])
def test_a_program_of_linux_is_explained(target: str, watcher: Watcher) -> None:
    """If this fails, system calls or interrupts of Linux are followed wrongly."""
    for each in explained(watcher.watch(parse_case(f"{target}/{HASH}", 1, 0), witness=WITNESS[target])):
        assert each.layers["library"].self > 0.9 * each.instructions
        own = {key: share.self for key, share in each.functions.items() if share.self}
        assert each.facts.keys() == own.keys()
        # A hash loads its message, and makes no products.
        loads, _, products, quotients, _, _ = together(each.facts.values()).values()
        assert 64 * 1024 / 8 < loads < each.instructions / 2
        assert products + quotients < each.instructions / 1000


@pytest.mark.parametrize("text", [f"mps2-an386/{SIGN}", f"linux-armv7/{HASH}"])
def test_the_plugin_changes_no_digit(text: str, watcher: Watcher, tmp_path: Path) -> None:
    """If this fails, what is explained is not what is measured: in either mode."""
    case = parse_case(text, 1, 0)
    machine, program = EMULATED[case.target].machine(case, watcher.images), EMULATED[case.target].program(case)
    plain, count = tmp_path / "plain", tmp_path / "count"
    plain.mkdir()
    count.mkdir()
    watcher.emulator.run(machine, program, plain)
    watcher.emulator.run(machine, program, count, plugin=watcher.count_plugin(case, machine))
    stack = watcher.watch(case, witness=WITNESS.get(case.target, 20_000))
    assert (count / RECORDS).read_bytes() == (plain / RECORDS).read_bytes() == (stack.directory / RECORDS).read_bytes()
    counted = [one.instructions for one in read_trace(count / "trace.jsonl").passes]
    followed = [one.instructions for one in stack.trace.passes]
    assert [one for one in counted if one in followed] == followed
