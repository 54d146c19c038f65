# SPDX-License-Identifier: BSD-2-Clause
"""Merging shards: the runs of all shards of one run become that run.

What is made depends on the shards alone, not on when, where, or in what order they are merged.
"""

import functools
import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import INSTRUCTIONS
from worldwise.records.model_predictions import Predicted
from worldwise.run.folder import predictions
from worldwise.run.folder import reproduction as compare
from worldwise.run.folder.manifests import CaseManifest, MergedEntry, ShardEntry
from worldwise.run.folder.rundir import Run
from worldwise.run.folder.writer import RunWriter

# What shards of one run may differ in; the shard's own entry is compared apart.
_OWN = ("started", "host", "cases", "shard", "merged")
# An error names at most so many cases, or shards.
_FEW = 5
# And so many commands that make what is missing.
_MOST_WAYS = 20


@dataclass(frozen=True)
class _Part:
    """A run that is a shard, and which of its cases are done."""

    run: Run
    entry: ShardEntry
    done: Mapping[str, CaseManifest]

    @property
    def words(self) -> str:
        return f"shard {self.entry.number} of {self.entry.count} (run {self.run.id})"

    @property
    def failed(self) -> int:
        return sum(one.state == "failed" for one in self.done.values())

    @property
    def problem(self) -> str:
        """Why it is not whole; empty if it is."""
        total, state = len(self.run.manifest.cases), self.run.state
        if state in ("complete", "failed") and len(self.done) == total:
            return ""
        how = {"running": "is still being written", "interrupted": "was interrupted", "killed": "was killed"}
        return f"{self.words} {how.get(state, state)}: {len(self.done)} of its {total} cases are there"


def merge(runs: Sequence[Run], runs_dir: Path) -> tuple[Run, list[str]]:
    """The run that all shards make together, new in `runs_dir`; and what was noteworthy, in sentences.

    Raises WorldwiseError: a run is no shard, the shards are not of one run, one is lost or not whole, or two runs of
    one shard differ.
    """
    parts = _parts(runs)
    _require_one_run(parts)
    chosen, notes = _chosen(parts)
    _require_all_cases(chosen)
    _require_same_images(chosen)
    predicted = _predicted(chosen)
    return _write(chosen, predicted, runs_dir), notes


def _parts(runs: Sequence[Run]) -> list[_Part]:
    """The shards by number, the oldest run of one first. A run that is named twice counts once."""
    found: dict[Path, _Part] = {}
    for run in runs:
        if run.manifest.shard is None:
            what = "was merged already" if run.manifest.merged else "is not a shard: it was made without --shard"
            raise WorldwiseError(f"run {run.id} {what}.", "name the runs of `worldwise run SUITE --shard I/N` alone")
        cases = {case_id: run.case(case_id) for case_id in run.manifest.cases}
        done = {case_id: manifest for case_id, manifest in cases.items() if manifest}
        found[run.path] = _Part(run, run.manifest.shard, done)
    return sorted(found.values(), key=lambda part: (part.entry.number, part.run.manifest.started, part.run.id))


# --- what must agree ---


def _require_one_run(parts: Sequence[_Part]) -> None:
    """Raises WorldwiseError naming what differs, unless all are shards of one run."""
    first = parts[0]
    for other in parts[1:]:
        differ = [
            f"{name}: {_shown(a)} / {_shown(b)}" for name, (a, b) in _pairs(_inputs(first), _inputs(other)) if a != b
        ]
        if differ:
            raise WorldwiseError(
                f"{first.words} and {other.words} are not shards of one run: they differ in {'; '.join(differ)}.",
                "merge the shards of one command: same suite, options and costs, same worldwise, same lab",
            )


def _inputs(part: _Part) -> dict[str, object]:
    """What all shards of one run have in common, by the name that an error gives it."""
    manifest, entry = part.run.manifest, part.entry
    start = sorted({one.start for one in part.done.values()})
    common = {name: value for name, value in manifest.model_dump().items() if name not in _OWN}
    return {
        **common,
        "suite.toml": part.run.suite_text(),
        "number of shards": entry.count,
        "cases": list(entry.whole),
        "costs": [entry.costs, list(entry.whole.values())],
        "--predict": entry.predict,
        # Of a shard in which nothing is done this is not known.
        **({"start of the machines": start} if start else {}),
    }


def _pairs(a: Mapping[str, object], b: Mapping[str, object]) -> Iterable[tuple[str, tuple[object, object]]]:
    return ((name, (a[name], b[name])) for name in a if name in b)


def _shown(value: object) -> str:
    """A value in a few words: what is long by its digest."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return files.quoted(text) if len(text) <= 80 else f"sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]}"


# --- what must be there ---


def _chosen(parts: Sequence[_Part]) -> tuple[list[_Part], list[str]]:
    """One whole run of each shard, and sentences on shards that came twice. Raises WorldwiseError."""
    entry = parts[0].entry
    chosen: list[_Part] = []
    notes: list[str] = []
    problems: list[tuple[str, Callable[[], str]]] = []
    for number in range(1, entry.count + 1):
        alike = [part for part in parts if part.entry.number == number]
        whole = [part for part in alike if not part.problem]
        if whole:
            # With fewer failed cases first; of equals the oldest.
            whole.sort(key=lambda part: part.failed)
            chosen.append(whole[0])
            notes += [_double(whole[0], other) for other in whole[1:]]
            notes += [f"left out: {part.problem}" for part in alike if part.problem]
        elif alike:
            running = alike[-1].run.state == "running"
            again = (lambda: "wait for it to end") if running else functools.partial(_resume, alike[-1].run)
            problems.append((alike[-1].problem, again))
        else:
            problems.append((f"shard {number} of {entry.count} is missing", functools.partial(_again, entry, number)))
    if problems:
        there = {case_id for part in chosen for case_id in part.done}
        lost = [case_id for case_id in entry.whole if case_id not in there]
        more = f"; and {len(problems) - _FEW} more shards" if len(problems) > _FEW else ""
        left = [f"and {len(problems) - _MOST_WAYS} more commands"] if len(problems) > _MOST_WAYS else []
        named = ", ".join(lost[:_FEW]) + (f" and {len(lost) - _FEW} more" if len(lost) > _FEW else "")
        raise WorldwiseError(
            f"the run is not whole: {'; '.join(problem for problem, _ in problems[:_FEW])}{more}. "
            f"{len(lost)} of {len(entry.whole)} cases cannot be merged: {named}.",
            "\n  ".join([*(again() for _, again in problems[:_MOST_WAYS]), *left]),
        )
    return chosen, notes


def _again(entry: ShardEntry, number: int) -> str:
    return shlex.join(["worldwise", "run", *entry.command, "--shard", f"{number}/{entry.count}"])


def _resume(run: Run) -> str:
    return shlex.join(["worldwise", "run", "--resume", run.id, "--runs", str(run.path.parent)])


def _double(one: _Part, other: _Part) -> str:
    """Compare two whole runs of one shard; a sentence. Raises WorldwiseError if their records differ."""
    both = [
        case_id
        for case_id, manifest in one.done.items()
        if manifest.state == other.done[case_id].state == "complete" and one.run.manifest.unit == INSTRUCTIONS
    ]
    for case_id in both:
        difference = compare.compare_case(one.run, other.run, case_id)
        if difference:
            raise WorldwiseError(
                f"{one.words} and run {other.run.id} of the same shard are not the same: {difference.describe()}",
                "this is a serious defect: keep both runs and report it",
            )
    said = f"; {len(both)} cases of both compared: every record the same" if both else ""
    return f"shard {one.entry.number} is there twice: run {one.run.id} was taken, not {other.run.id}{said}"


def _require_all_cases(chosen: Sequence[_Part]) -> None:
    """Raises WorldwiseError unless each case of the whole run is in one shard, and nothing else is."""
    held: dict[str, _Part] = {}
    for part in chosen:
        for case_id in part.run.manifest.cases:
            if case_id in held:
                raise WorldwiseError(f"{held[case_id].words} and {part.words} both have the case {case_id}.")
            if case_id not in part.entry.whole:
                raise WorldwiseError(f"{part.words} has the case {case_id}, and the whole run lacks it.")
            held[case_id] = part
    for case_id in chosen[0].entry.whole:
        if case_id not in held:
            raise WorldwiseError(f"the case {case_id} is in none of the {len(chosen)} shards.")


def _require_same_images(chosen: Sequence[_Part]) -> None:
    """Raises WorldwiseError if an image of one variant has one address in one shard and another in another."""
    seen: dict[tuple[str, str, str], tuple[str, str, _Part]] = {}
    for part in chosen:
        for manifest in part.done.values():
            for name, digest in manifest.images.items():
                key = manifest.target, manifest.case().variant, name
                other, case_id, where = seen.setdefault(key, (digest, manifest.id, part))
                if other != digest:
                    raise WorldwiseError(
                        f"{where.words} and {part.words} have other images {name}: {case_id} was measured with "
                        f"{other[:12]}, {manifest.id} with {digest[:12]}: one run must not mix their counts.",
                        "measure all shards with the same sources",
                    )


# --- writing ---


def _predicted(chosen: Sequence[_Part]) -> list[Predicted]:
    """The predictions of all shards, one for each core. Raises WorldwiseError if they are of different models."""
    order = {case_id: place for place, case_id in enumerate(chosen[0].entry.whole)}
    found: dict[str, tuple[_Part, Predicted]] = {}
    for part in chosen:
        for one in predictions.load(part.run):
            where, before = found.get(one.core, (part, one))
            if (before.table, before.plugin) != (one.table, one.plugin):
                raise WorldwiseError(f"{where.words} and {part.words} predict {one.core} with different models.")
            cases = [*before.cases, *one.cases] if before is not one else one.cases
            cases = sorted(cases, key=lambda each: order[each.case])
            found[one.core] = where, one.model_copy(update={"cases": cases})
    return [one for _, one in found.values()]


def _write(chosen: Sequence[_Part], predicted: Iterable[Predicted], runs_dir: Path) -> Run:
    manifests = [part.run.manifest for part in chosen]
    first, hosts = manifests[0], [one.host for one in manifests]
    whole = first.model_copy(
        update={
            "started": min(one.started for one in manifests),
            # What all hosts have in common: each one's own stands in its entry.
            "host": {key: value for key, value in hosts[0].items() if all(host.get(key) == value for host in hosts)},
            "cases": list(chosen[0].entry.whole),
            "shard": None,
            "merged": [
                MergedEntry(
                    run=part.run.id,
                    number=part.entry.number,
                    started=part.run.manifest.started,
                    host=part.run.manifest.host,
                    cases=len(part.done),
                )
                for part in chosen
            ],
        }
    )
    by_case = {case_id: part for part in chosen for case_id in part.done}
    with RunWriter.begin(runs_dir, whole, chosen[0].run.suite_text(), datetime.now(UTC)) as writer:
        try:
            for case_id in whole.cases:
                writer.take_case(by_case[case_id].run, by_case[case_id].done[case_id])
            for one in predicted:
                predictions.store(writer.run, one)
            ended = max(part.run.finished.finished for part in chosen if part.run.finished)
            return writer.finish("failed" if any(part.failed for part in chosen) else "complete", ended)
        except BaseException:
            # Half a run would look like one that was killed and can be resumed.
            files.remove(runs_dir, writer.run.path.name)
            raise
