# SPDX-License-Identifier: BSD-2-Clause
"""Showing whether operations depend on their inputs: a verdict for each input, and where calls part."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from worldwise.base.tables import Section, Table, count
from worldwise.records.secrets_report import EITHER, PUBLIC

if TYPE_CHECKING:
    # It reads symbols, in the sandbox.
    from worldwise.explain.dependence import Dependence, Site

FORMAT = 1
_KINDS = {"flow": "branch", "address": "address", "made": "access or none"}
_NOTES = {
    PUBLIC: "An attacker knows this input anyway: calls that differ are not a leak in themselves.",
    EITHER: "Whether this input is a secret is up to the program that calls.",
}


def sections(found: "Sequence[Dependence]", top: int) -> list[Section]:
    """The verdicts of all inputs, then for each that the calls depend on where they part."""
    parts = [_verdicts(found)]
    for one in found:
        if one.unrepeatable:
            note = (
                "The call with the reference's inputs again departs from it here: something besides the inputs varies."
            )
            title = f"{one.word}: parts with the same inputs"
            parts.append(_site_section(title, one.unrepeatable, len(one.names), top, [note]))
        elif one.sites:
            title = f"{one.word}: where calls part from the one with '{one.names[0]}'"
            parts.append(_site_section(title, one.sites, len(one.names) - 1, top, _notes(one)))
    return parts


def to_json(found: "Sequence[Dependence]") -> dict[str, Any]:
    """All of it."""
    return {"format": FORMAT, "inputs": [_json(one) for one in found]}


def _verdicts(found: "Sequence[Dependence]") -> Section:
    rows = [
        [one.word, one.publicity, one.verdict, f"{one.differing} of {len(one.names) - 1}", count(one.instructions)]
        for one in found
    ]
    case = found[0].case
    calls = len(found[0].names)
    return Section(
        f"{case.id}: does it depend on its inputs?",
        Table(["varied", "it is", "verdict", "calls differ", "instr"], rows, 3),
        [
            f"{calls} calls with different inputs and the first of them again, all else the same to the bit. "
            "Instructions are those of the first.",
            f"What its authors say of constant time: {found[0].claim}.",
            "This is evidence, not a proof: other inputs may show more, and the command does not look at "
            "instructions whose time depends on their operands.",
        ],
    )


def _notes(one: "Dependence") -> list[str]:
    notes = [_NOTES[one.publicity]] if one.publicity in _NOTES else []
    if any(not site.alone for site in one.sites):
        notes.append("*: only after the flow had diverged, so perhaps just a consequence of that.")
    if not one.joined:
        notes.append("A call did not rejoin the first one; nothing after that point was compared.")
    return notes


def _site_section(title: str, sites: "Sequence[Site]", calls: int, top: int, notes: list[str]) -> Section:
    rows = [
        [
            _KINDS[site.kind] + ("" if site.alone or site.kind == "flow" else " *"),
            site.frames[-1].function,
            site.frames[-1].line,
            " < ".join(f"{frame.function} {frame.line}".strip() for frame in reversed(site.frames[:-1])) or "-",
            site.data or "-",
            f"{len(site.partings)} of {calls}",
            _range(*site.times),
            f"{count(site.difference)} instr" if site.kind == "flow" else f"{count(site.bytes)} B",
            count(site.before),
        ]
        for site in sites[:top]
    ]
    if len(sites) > top:
        notes = [*notes, f"{len(sites) - top} more places: --top shows them."]
    headers = ["parts", "function", "line", "inlined in", "data", "calls", "times", "by", "first at instr"]
    return Section(title, Table(headers, rows, 5), notes)


def _range(least: int, most: int) -> str:
    return count(least) if least == most else f"{count(least)}-{count(most)}"


def _json(one: "Dependence") -> dict[str, Any]:
    return {
        "case": one.case.id,
        "varied": one.word,
        "input": one.publicity,
        "verdict": one.verdict,
        "depends": bool(one.ways) if not one.unrepeatable else None,
        "ways": list(one.ways),
        "claim": one.claim,
        "calls": list(one.names),
        "differing": one.differing,
        "instructions": one.instructions,
        "compared_whole": one.joined,
        "sites": [_site_json(site) for site in one.sites],
        "unrepeatable": [_site_json(site) for site in one.unrepeatable],
    }


def _site_json(site: "Site") -> dict[str, Any]:
    return {
        "kind": site.kind,
        "pc": site.pc,
        "frames": [{"function": frame.function, "line": frame.line} for frame in site.frames],
        "callers": list(site.callers),
        "data": site.data,
        "after_flow": not site.alone,
        "first_at": site.before,
        "bytes": None if site.kind == "flow" else site.bytes,
        "calls": [
            {
                "call": number,
                "times": parting.times,
                "reference": parting.reference,
                "other": parting.other,
                "reference_instructions": parting.reference_instructions,
                "other_instructions": parting.other_instructions,
            }
            for number, parting in sorted(site.partings.items())
        ],
    }
