# SPDX-License-Identifier: BSD-2-Clause
"""The cost of a hash in the TEE by parts, measured twice: by the plugin, and by the guest's counters as on a board."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldwise.base.errors import WorldwiseError
from worldwise.base.output.safe_text import Prose
from worldwise.base.tables import Section, Table
from worldwise.explain.explanation import Explained, caller
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import StackFrame
from worldwise.plan.case import Case
from worldwise.plan.catalogue import kind_of
from worldwise.plan.spec import OPTEE
from worldwise.records.models import Sample
from worldwise.records.trace_records import Pass

OPERATION = "sha256"


@dataclass(frozen=True)
class Part:
    """Instructions of one part; None where one way of measuring does not know the part."""

    name: str
    plugin: int | None
    counters: int | None


@dataclass(frozen=True)
class HashParts:
    """One message: the parts, which add up to `total` in either column, and two counts that relate the columns.

    Attributes:
        sample: the message's sample at the client.
        parts: in the order of the call, from the inside out.
        buffer: the part of the plugin's `memory` that an empty call has too: its own message buffer.
        monitor_seen: instructions at EL3, inside the API's calls, that the TA's counter counted all the same.
        total: of the whole call.
    """

    sample: Sample
    parts: Sequence[Part]
    buffer: int
    monitor_seen: int
    total: int


def has_parts(case: Case) -> bool:
    """Whether a case hashes in the TEE."""
    return case.operation == OPERATION and kind_of(case.target) == OPTEE


def read_parts(explainer: Explainer, index: int | None = None) -> HashParts:
    """Take one message of a case `sha256` on the target `optee` apart.

    Raises WorldwiseError if the case has none, or a part is not in the trace.
    """
    case = explainer.case
    if not has_parts(case):
        raise WorldwiseError(
            f"{case.id} hashes nothing in the TEE", f"name a case such as optee/.../{OPERATION},size=1MiB"
        )
    client = explainer.sample("hash", "client", index)
    counted = {
        key: next(one for one in explainer.records.samples[key] if one.index == client.index)
        for key in (("hash", "ta"), ("hash", "api"), ("touch", "client"), ("empty", "client"))
    }
    whole = _region(explainer, client)
    inside_ta, inside_api = _inside(explainer, whole)
    api = _by_part(explainer, inside_api, own=False)
    ta = _by_part(explainer, inside_ta, own=True)
    outside = _by_part(explainer, [whole], own=True)
    empty = _by_part(explainer, [_region(explainer, counted["empty", "client"])], own=True)
    # The cost of a region's marks and readings falls on the function that makes them: the TA's or the client's.
    measuring = client.raw - client.count
    measuring_ta = counted["hash", "ta"].raw - counted["hash", "ta"].count
    measuring_api = counted["hash", "api"].raw - counted["hash", "api"].count
    wrapper = sum(ta.values()) - ta["monitor"] - ta["interrupts"] - (measuring_ta - measuring_api)
    surroundings = sum(api.values()) - api["cryptography"] - api["monitor"] - api["interrupts"] - measuring_api
    ways = sum(outside.values()) - outside["memory"] - outside["interrupts"] - (measuring - measuring_ta)
    by_counters = _by_counters(client, counted)
    parts = (
        Part("algorithm: cryptography", api["cryptography"], None),
        Part("algorithm: TEE API, system calls, copying in the core", surroundings, None),
        Part("algorithm", api["cryptography"] + surroundings, by_counters["algorithm"]),
        Part("TA wrapper", wrapper, by_counters["wrapper"]),
        Part("passing memory between the worlds", outside["memory"], by_counters["memory"]),
        Part("world switch and dispatch", ways, by_counters["switch"]),
        Part("monitor, called by the TA's exceptions", api["monitor"] + ta["monitor"], None),
        Part("interrupts", outside["interrupts"] + ta["interrupts"] + api["interrupts"], None),
        Part("rest", None, by_counters["rest"]),
    )
    total = sum(part.plugin or 0 for part in parts[2:])
    if total != client.count:
        raise WorldwiseError(f"{case.id}: the parts have {total} instructions, the call {client.count}")
    seen = api["monitor"] - (sum(api.values()) - counted["hash", "api"].raw)
    return HashParts(client, parts, empty["memory"], seen, total)


def _by_counters(client: Sample, counted: Mapping[tuple[str, str], Sample]) -> dict[str, int]:
    """The parts that a board can measure with its counters alone."""
    algorithm, in_ta = counted["hash", "api"].count, counted["hash", "ta"].count
    touch, empty = counted["touch", "client"].count, counted["empty", "client"].count
    return {
        "algorithm": algorithm,
        "wrapper": in_ta - algorithm,
        "memory": touch - empty,
        "switch": empty,
        "rest": client.count - touch - in_ta,
    }


def _inside(explainer: Explainer, whole: Pass) -> tuple[list[Pass], list[Pass]]:
    """The regions of the TA inside a call's, and those of the API inside these."""
    case = explainer.case
    inside_ta = [one for one in explainer.trace.passes if one.parent == whole.id]
    of_ta = {one.id for one in inside_ta}
    inside_api = [one for one in explainer.trace.passes if one.parent in of_ta]
    if len(inside_ta) != case.spans or len(inside_api) != case.spans:
        raise WorldwiseError(
            f"{case.id}: {case.spans} calls, but {len(inside_ta)} regions of the TA and {len(inside_api)} of the API"
        )
    return inside_ta, inside_api


def _region(explainer: Explainer, sample: Sample) -> Pass:
    found = explainer.trace.find(sample.begin, sample.end)
    if not found:
        raise WorldwiseError(f"{explainer.case.id}: the trace has no region of {sample.measure} {sample.index}")
    return found


def _by_part(explainer: Explainer, passes: Sequence[Pass], own: bool) -> Counter[str]:
    """Instructions of some passes by part."""
    found: Counter[str] = Counter()
    for one in passes:
        for stack, count in explainer.stacks(one, own).items():
            found[_part(explainer, stack)] += count
    return found


def _part(explainer: Explainer, stack: tuple[StackFrame, ...]) -> str:
    part = explainer.rules.part([frame.function for frame in stack])
    if part:
        return part
    if stack[-1].world == "monitor":
        return "monitor"
    owner = caller(stack, explainer.rules.is_helper)
    return "cryptography" if owner.layer.endswith("cryptography") else "switch"


def parts_section(parts: HashParts) -> Section:
    """A hash in the TEE part by part, by the plugin and by the guest's counters."""
    rows = []
    for one in parts.parts:
        both = one.plugin is not None and one.counters is not None
        rows.append(
            [
                one.name,
                "" if one.plugin is None else f"{one.plugin:,}",
                "" if one.counters is None else f"{one.counters:,}",
                f"{(one.plugin or 0) - (one.counters or 0):+,}" if both else "",
            ]
        )
    count = parts.sample.count
    rows.append(["total", f"{parts.total:,}", f"{count:,}", f"{parts.total - count:+,}"])
    return Section(
        f"SHA-256, message {parts.sample.index}: parts of the client's call, instructions",
        Table(["part", "by the plugin", "by the counters", "difference"], rows, 1),
        [
            Prose(
                "The first two lines are parts of the third. By the counters, memory is a call that does nothing with "
                "the same buffers less one without, and the switch is the latter. The plugin puts the call's own "
                f"message buffer ({parts.buffer:,}) into memory; counters have it in the switch, since an empty call "
                "has it too. The TA's counter (PMCCNTR_EL0) stands still at EL3 once TF-A has set PMCR_EL0.DP: of the "
                f"monitor's part it saw {parts.monitor_seen:,}, which are in its algorithm. The others, and "
                "interrupts, are what counters leave as rest."
            )
        ],
    )


def _sections(explainer: Explainer, index: int | None) -> list[Section]:
    return [parts_section(read_parts(explainer, index))]


EXPLAINED = Explained(measure="hash", takes=has_parts, sections=_sections)
