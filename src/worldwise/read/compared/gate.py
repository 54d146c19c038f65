# SPDX-License-Identifier: BSD-2-Clause
"""Two runs, or two variants of one, side by side: the exact cost of every call in both, and a gate on the change.

`run.reproduction` checks that two runs of the same thing are equal to the byte. Here one thing is meant to differ, and
everything else must agree. Starts nothing, writes nothing.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction

from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import parse_limit as parse_limit
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.own_code import CodeManifest, inputs_digest
from worldwise.plan.case import Case
from worldwise.plan.inputs import draws_by_seed, seed_problem
from worldwise.plan.spec import OWN
from worldwise.read.compared.comparison import (
    FORMAT,
    Allowance,
    ComparedRow,
    Comparison,
    Disagreement,
    Gate,
    Judge,
    Setting,
    Side,
    Unpaired,
)
from worldwise.read.compared.nothing_common import nothing_common
from worldwise.read.compared.rows import judge_row, match_series, row_of
from worldwise.read.compared.selection import CaseParts, Selected, named_list, parse_selection
from worldwise.read.compared.stacks import changed_settings
from worldwise.read.row_details.draws_and_interrupts import own_path
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.parse import Record, parse_records
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.own_entries import stack_of, stack_words
from worldwise.run.folder.reproduction import compare_case, compare_cases
from worldwise.run.folder.rundir import Run


@dataclass(frozen=True)
class GateOptions:
    """How to compare.

    Attributes:
        allow: properties that may differ.
        pattern: only cases whose ids match this shell pattern; empty for all.
        limit: how much B may be above A, as a fraction of A; None for no gate.
        limit_text: the limit as it was typed.
        judge: the figures of a row that the gate looks at.
    """

    allow: Collection[Allowance] = ()
    pattern: str = ""
    limit: Fraction | None = None
    limit_text: str = ""
    judge: Judge = "auto"


def compare_runs(run_a: Run, run_b: Run, options: GateOptions | None = None) -> Comparison:
    """Two runs, case by case.

    Raises WorldwiseError if a property differs that must agree, naming it, and if a gate has nothing to judge.
    """
    for run in (run_a, run_b):
        run.require_instructions("a comparison")
    options = options or GateOptions()
    if options.limit is not None and run_a.path == run_b.path:
        raise WorldwiseError(
            f"run {run_a.id} is compared with itself: such a comparison cannot fail.", "name the baseline's run first"
        )
    a, b = (_collect(run, options.pattern, None) for run in (run_a, run_b))
    return _Comparing((run_a, run_b), a, b, options, ("", "")).result()


def compare_variants(run: Run, text_a: str, text_b: str, options: GateOptions | None = None) -> Comparison:
    """Two selections of one run, such as `mbedtls-O2` and `mbedtls-nist-O2`; see `parse_selection`.

    Raises WorldwiseError for a selection that names nothing of the run or leaves no pair, and as `compare_runs` does.
    """
    run.require_instructions("a comparison")
    options = options or GateOptions()
    cases = [_parts(run, case_id) for case_id in run.manifest.cases]
    a, b = (parse_selection(text, [case for case in cases if case]) for text in (text_a, text_b))
    if a == b:
        raise WorldwiseError(f"'{text_a}' and '{text_b}' name the same cases.", "name two variants")
    named = a.keys() | b.keys()
    for text, selection in ((text_a, a), (text_b, b)):
        for name in ("target", "implementation", "optimisation"):
            if name in named and name not in selection:
                raise WorldwiseError(
                    f"'{text}' does not name its {name}, but the other selection does.", "say it for both"
                )
    sides = [_collect(run, options.pattern, Selected(selection, named)) for selection in (a, b)]
    for text, side in zip((text_a, text_b), sides, strict=True):
        if not side:
            raise WorldwiseError(f"run {run.id} has no case of '{text}'.")
    return _Comparing((run, run), sides[0], sides[1], options, (text_a, text_b)).result()


# A run's cases, or the selected ones: pairing key -> id, and the manifest if the case has ended.
_Cases = dict[tuple[object, ...], tuple[str, CaseManifest | None]]


def _parts(run: Run, case_id: str) -> CaseParts:
    try:
        return CaseParts.of(case_id)
    except ValueError:
        raise WorldwiseError(f"run {run.id}: '{case_id}' is not the id of a case.") from None


def _collect(run: Run, pattern: str, selected: Selected | None) -> _Cases:
    found: _Cases = {}
    for case_id in run.manifest.cases:
        if pattern and not fnmatchcase(case_id, pattern):
            continue
        key = selected.key(_parts(run, case_id)) if selected else (case_id,)
        if key is not None:
            found[key] = (case_id, run.case(case_id))
    if pattern and not found and not selected:
        raise WorldwiseError(f"run {run.id} has no case that is '{pattern}'.", "it is a shell pattern: 'optee/*/sign*'")
    return found


# Own code's images of a run: its files, and the order that starts it, which is among the inputs.
OWN_IMAGES = ("own", "order")


def own_inputs(run: Run, manifest: CaseManifest) -> str:
    """The digest of what the own code of a case was given. Raises WorldwiseError if the run does not say."""
    for entry in run.manifest.own:
        if entry.name == manifest.implementation:
            try:
                return inputs_digest(CodeManifest.model_validate_json(entry.manifest), entry.files)
            except ValueError:
                break
    raise WorldwiseError(f"run {run.id} does not say what {files.quoted(manifest.implementation)} was given")


def is_library_image(name: str, case: Case) -> bool:
    """Whether an image contains the measured library; an image without it is the same for every library."""
    if case.target == OWN and name in OWN_IMAGES:
        return True
    # OP-TEE's own image contains the measured library only if that library is one of OP-TEE's.
    if name.startswith("optee-") and case.implementation not in IMPLEMENTATIONS:
        return False
    return re.search(rf"(^|-){re.escape(case.variant)}($|-)", name) is not None


@dataclass
class CaseRead:
    """A complete case's records, checked."""

    manifest: CaseManifest
    records: list[Record]
    checked: CheckedRecords

    @classmethod
    def of(cls, run: Run, manifest: CaseManifest) -> "CaseRead":
        # Of a machine as it is shipped: what belongs to the call, not what interrupted it.
        name, case = own_path(run, manifest)
        path = run.case_directory(manifest.id) / name
        records = parse_records(run.case_file(manifest.id, name), str(path))
        return cls(manifest, records, check_records(records, case, str(path), unit=run.manifest.unit))

    def results(self) -> list[Record]:
        return [record for record in self.records if record.type in ("evidence", "outcome")]


class _Comparing:
    """One comparison in progress."""

    def __init__(
        self, runs: tuple[Run, Run], a: _Cases, b: _Cases, options: GateOptions, selections: tuple[str, str]
    ) -> None:
        self.runs = runs
        self.selections = selections
        self.sides = tuple(case_id for case_id, _ in a.values()), tuple(case_id for case_id, _ in b.values())
        self.options = options
        self.variants = any(selections)
        self.rows: list[ComparedRow] = []
        self.outcomes: dict[str, bool] = {}
        self.unpaired: list[Unpaired] = []
        self.disagreements: list[Disagreement] = []
        self.notes: list[str] = []
        self.settings: list[Setting] = []
        self.pairs: list[tuple[CaseManifest, CaseManifest]] = []
        for key in dict.fromkeys([*a, *b]):
            self._pair(a.get(key), b.get(key))

    def result(self) -> Comparison:
        run_a, run_b = self.runs
        if not self.variants:
            self._disagree_lab()
            self._disagree_stack()
            self._disagree_inputs()
        self._disagree_samples()
        same = {a.id: self._identical(a, b) for a, b in self.pairs}
        self._look_at_images(same)
        if not self.variants:
            self._look_at_sources(same)
        self._refuse()
        for a, b in self.pairs:
            self._compare(a, b, same[a.id])
        gate = self._judge()
        return Comparison(
            format=FORMAT,
            a=side_of(run_a, self.selections[0]),
            b=side_of(run_b, self.selections[1]),
            rows=tuple(self.rows),
            outcomes=self.outcomes,
            unpaired=tuple(self.unpaired),
            disagreements=tuple(self.disagreements),
            notes=tuple(self.notes),
            gate=gate,
            settings=tuple(self.settings),
        )

    # --- which cases ---

    def _pair(self, a: tuple[str, CaseManifest | None] | None, b: tuple[str, CaseManifest | None] | None) -> None:
        states = tuple(_state(entry) for entry in (a, b))
        if a and b and states == ("", ""):
            assert a[1] and b[1]
            self.pairs.append((a[1], b[1]))
            return
        case_id = (a or b or ("", None))[0]
        lost = states[0] == ""
        if states[0] and states[1]:
            self.unpaired.append(Unpaired(case=case_id, side="both", reason=_reasons(*states), lost=False))
        elif states[0]:
            self.unpaired.append(Unpaired(case=case_id, side="b", reason=f"in A {states[0]}", lost=False))
        else:
            self.unpaired.append(Unpaired(case=case_id, side="a", reason=f"in B {states[1]}", lost=lost))

    def _identical(self, a: CaseManifest, b: CaseManifest) -> bool:
        if a.id == b.id:
            return compare_case(*self.runs, a.id) is None
        return compare_cases(self.runs[0], a.id, self.runs[1], b.id) is None

    # --- what must agree ---

    def _disagree(self, what: Allowance, detail: str) -> None:
        self.disagreements.append(Disagreement(what=what, detail=detail))

    def _disagree_lab(self) -> None:
        a, b = (run.manifest for run in self.runs)
        if a.lab == b.lab:
            return
        names = [
            f"{name} {a.packages.get(name, 'none')} / {b.packages.get(name, 'none')}"
            for name in sorted(a.packages.keys() | b.packages.keys())
            if a.packages.get(name) != b.packages.get(name)
        ]
        packages = f"; of its packages {named_list(names)}" if names else ""
        self._disagree("lab", f"lab {a.lab[:12] or 'none'} / {b.lab[:12] or 'none'}{packages}")

    def _disagree_stack(self) -> None:
        entries = [stack_of(run) for run in self.runs]
        a, b = (entry.digest if entry else "" for entry in entries)
        if a != b:
            words = [", ".join(stack_words(run)) or "the lab's" for run in self.runs]
            self._disagree("stack", f"stack: {words[0]} / {words[1]}")

    def _disagree_inputs(self) -> None:
        """Another draw is other work. A run from before inputs were given has drawn what it would."""
        for one, other in self.pairs:
            if one.target == OWN and own_inputs(self.runs[0], one) != own_inputs(self.runs[1], other):
                self._disagree("inputs", f"arguments, files or standard input of {one.implementation}")
                break
        a, b = (run.manifest.seed for run in self.runs)
        drawing = [pair[0].case() for pair in self.pairs]
        if a != b and any(draws_by_seed(case) if None in (a, b) else not seed_problem(case) for case in drawing):
            words = ["drawn anew in each build" if seed is None else f"seed {seed}" for seed in (a, b)]
            self._disagree("inputs", f"keys, messages, nonces and blinding: {words[0]} / {words[1]}")
        shipped = [name for name, run in zip("AB", self.runs, strict=True) if run.manifest.as_shipped]
        if shipped:
            self.notes.append(
                f"Of {' and '.join(shipped)}, as shipped, the own path is compared, without what interrupted it."
            )

    def _disagree_samples(self) -> None:
        others = [
            f"{a.id} ({a.samples} after {a.warmup} / {b.samples} after {b.warmup})"
            for a, b in self.pairs
            if (a.samples, a.warmup) != (b.samples, b.warmup)
        ]
        if others and self.variants:
            # A suite may ask more of one variant, such as the one that it recommends.
            self.notes.append(f"Not as many samples after warm-up calls on both sides: {named_list(others)}.")
        elif others and all(a.target == OWN for a, _ in self.pairs):
            # How often own code calls a function is what it does, not how it was measured.
            self.notes.append(f"Not as many calls on both sides: {named_list(others)}.")
        elif others:
            self._disagree("samples", f"samples after warm-up calls of {named_list(others)}")

    def _look_at_images(self, same: Mapping[str, bool]) -> None:
        """Images without the measured library must be the same in both."""
        differ: dict[str, int] = {}
        unchanged = 0
        for a, b in self.pairs:
            frames = [
                {name: digest for name, digest in each.images.items() if not is_library_image(name, each.case())}
                for each in (a, b)
            ]
            for name in sorted(frames[0].keys() | frames[1].keys()):
                pair = [frame.get(name, "none") for frame in frames]
                if pair[0] != pair[1]:
                    text = f"image {name}: {pair[0][:12]} / {pair[1][:12]}"
                    differ[text] = differ.get(text, 0) + 1
            unchanged += bool(a.images) and a.images == b.images
            unexplained = a.images == b.images and not self.variants and not self._worldwise_differs()
            unexplained = unexplained and (a.seed, a.inputs, a.as_shipped) == (b.seed, b.inputs, b.as_shipped)
            if unexplained and a.case().measures and not same[a.id]:
                self.notes.append(
                    f"{a.id}: the images are the same, but the records differ. That is a defect: keep both runs and "
                    "report it."
                )
        if any(each.what == "stack" for each in self.disagreements):
            self.settings, notes = changed_settings(self.pairs, paths.cache_directory() / "images")
            self.notes += notes
        elif any(each.what == "lab" for each in self.disagreements):
            self.notes.append(
                "The lab is part of every image's address, so it is unknown which images differ for another reason."
            )
        elif self.variants:
            self.notes += [f"Not the same on both sides: {text}." for text in differ]
        elif differ:
            self._disagree("images", named_list([f"{text} ({count} cases)" for text, count in differ.items()]))
        if not self.variants and self.pairs and unchanged == len(self.pairs):
            self.notes.append("Every image is the same in both runs: nothing that was built differs.")

    def _worldwise_differs(self) -> bool:
        a, b = (run.manifest for run in self.runs)
        return (a.worldwise, a.git.rstrip("+")) != (b.worldwise, b.git.rstrip("+"))

    def _look_at_sources(self, same: Mapping[str, bool]) -> None:
        a, b = (run.manifest for run in self.runs)
        if not all(same.values()):
            if self._worldwise_differs():
                self._disagree(
                    "worldwise",
                    f"worldwise {a.worldwise} at {a.git or 'no revision'} / {b.worldwise} at {b.git or 'no revision'}, "
                    "and so may the bench around the library",
                )
            elif "+" in a.git + b.git:
                self.notes.append(
                    f"worldwise was {a.git} and {b.git}: files differed from that revision (+), so that beside the "
                    "library the bench may have changed."
                )
        own_a, own_b = ({own.name: own for own in run.manifest.own} for run in self.runs)
        for name in sorted(own_a.keys() & own_b.keys()):
            files_a, files_b = own_a[name].files, own_b[name].files
            changed = [
                path for path in sorted(files_a.keys() | files_b.keys()) if files_a.get(path) != files_b.get(path)
            ]
            if changed:
                self.notes.append(f"{name}: {len(changed)} of its files differ: {named_list(changed)}.")
            else:
                self.notes.append(f"{name}: all {len(files_a)} files are the same.")

    def _refuse(self) -> None:
        refused = [each for each in self.disagreements if each.what not in self.options.allow]
        if not refused:
            return
        kinds = list(dict.fromkeys(each.what for each in refused))
        allow = " ".join(f"--allow {kind}" for kind in kinds)
        a, b = self.runs
        between = f"runs {a.id} and {b.id} differ" if not self.variants else f"the cases of run {a.id} differ"
        raise WorldwiseError(
            f"{between} where they must agree: {'; '.join(each.detail for each in refused)}.",
            f"measure both the same way, or compare all the same with {allow}",
        )

    # --- counts ---

    def _compare(self, a: CaseManifest, b: CaseManifest, identical: bool) -> None:
        run_a, run_b = self.runs
        read_a = CaseRead.of(run_a, a)
        # The same bytes need no second check.
        read_b = read_a if identical and a.id == b.id else CaseRead.of(run_b, b)
        if not read_a.checked.samples and not read_b.checked.samples:
            self.outcomes[a.id] = read_a.results() == read_b.results()
            return
        same_inputs = (a.samples, a.warmup) == (b.samples, b.warmup) and read_a.results() == read_b.results()
        found = match_series(read_a.checked.samples, read_b.checked.samples)
        for (measure, place_a), (_, place_b) in found:
            self.rows.append(
                row_of(
                    a,
                    b,
                    (measure, place_a, place_b),
                    read_a.checked.samples[measure, place_a],
                    read_b.checked.samples[measure, place_b],
                    same_inputs,
                    identical,
                )
            )
        for side, read, case_id, at in (("a", read_a, a.id, 0), ("b", read_b, b.id, 1)):
            for key in read.checked.samples:
                if key not in [pair[at] for pair in found]:
                    other = "B" if side == "a" else "A"
                    self.unpaired.append(
                        Unpaired(
                            case=case_id,
                            side="a" if side == "a" else "b",
                            reason=f"{key[0]} at {key[1]} is not in {other}",
                            lost=side == "a",
                        )
                    )

    # --- the gate ---

    def _judge(self) -> Gate | None:
        limit = self.options.limit
        if limit is None:
            if not self.rows and not self.outcomes:
                raise self._nothing("there is nothing to compare: no case is complete on both sides.")
            return None
        self.rows = [judge_row(row, limit, self.options.judge) for row in self.rows]
        judged = [row for row in self.rows if row.exceeds is not None]
        if not judged:
            raise self._nothing("the gate has nothing to judge: no case with counts is complete on both sides.")
        exceeded = sum(row.exceeds is True for row in judged)
        lost = 0 if "cases" in self.options.allow else sum(each.lost for each in self.unpaired)
        return Gate(
            limit=self.options.limit_text,
            judge=self.options.judge,
            judged=len(judged),
            exceeded=exceeded,
            lost=lost,
            passed=not exceeded and not lost,
        )

    def _nothing(self, what: str) -> WorldwiseError:
        return nothing_common(what, self.runs, self.sides, self.unpaired)


def side_of(run: Run, selection: str) -> Side:
    """What a comparison says of a run."""
    manifest = run.manifest
    return Side(
        run=run.id,
        selection=selection,
        title=manifest.title,
        state=run.state,
        started=manifest.started,
        worldwise=manifest.worldwise,
        git=manifest.git,
        lab=manifest.lab,
        drift=tuple(manifest.drift),
        own={own.name: own.digest for own in manifest.own},
    )


def _state(entry: tuple[str, CaseManifest | None] | None) -> str:
    """Why a case is not compared; empty if it is."""
    if entry is None:
        return "is not among the cases"
    manifest = entry[1]
    if manifest is None:
        return "was not measured"
    return f"failed: {manifest.error.splitlines()[0] if manifest.error else ''}" if manifest.state == "failed" else ""


def _reasons(a: str, b: str) -> str:
    return f"in both {a}" if a == b else f"in A {a}; in B {b}"
