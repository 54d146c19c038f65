# SPDX-License-Identifier: BSD-2-Clause
"""Two runs, or two variants of one, side by side: what every call costs in both, to the instruction, and a gate on it.

`compare.py` asks whether the same was measured twice to the byte; here something is meant to have changed, and all else
must not have. Starts nothing, writes nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from statistics import median
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.plan.case import Case, parameters_of
from worldwise.plan.catalogue import is_board, parameters
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.models import Sample
from worldwise.records.parse import Record, parse_records
from worldwise.run.reproduction import compare_case, compare_cases
from worldwise.run.rundir import CaseManifest, Run

FORMAT: Literal[1] = 1

# What must agree unless it is allowed not to.
Allowance = Literal["lab", "images", "worldwise", "samples", "cases"]
ALLOWANCES: tuple[Allowance, ...] = get_args(Allowance)
Verdict = Literal["same", "faster", "slower", "mixed"]
Judge = Literal["auto", "median", "calls"]
JUDGES: tuple[Judge, ...] = get_args(Judge)

_LIMIT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
# Names of files, packages or cases in one sentence.
_MOST_NAMED = 8


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figures(_Result):
    """What one side has: all in instructions; `n` samples after the first call and `warmup` others."""

    n: int
    warmup: int
    first: int
    median: float
    min: int
    max: int


class Call(_Result):
    """One call in A and in B: its number (0 is the first one, before the warm-up), and its counts in instructions."""

    index: int
    a: int
    b: int


class Row(_Result):
    """One measure of one case at one place, in A and in B.

    `case_b` and `place_b` are B's, which are others where variants are compared. `difference` is B's median less A's,
    in instructions; `ratio` B's median divided by A's, None if A's is 0. `same_inputs` says whether both sides did the
    same work call by call: as many calls, and the same results of every one. Only then is one call compared with
    another: `calls_differ` of them have another count, and `worst` is the one whose count has grown the most, as a
    fraction of A's; both are None otherwise. `identical` says whether the case's records are the same to the byte.

    The verdict is `slower` if some calls took more and none took less, `faster` the other way round; if there are
    both, or if the inputs are not the same, it is that of the medians, and `mixed` if these agree and the calls do not.

    `judged` is what the gate looks at, `exceeds` whether that is over its limit; both are None without a gate.
    """

    case: str
    case_b: str
    target: str
    variant: str
    operation: str
    parameters: str
    measure: str
    place: str
    place_b: str
    unit: Literal["instructions"] = "instructions"
    a: Figures
    b: Figures
    difference: float
    ratio: float | None
    same_inputs: bool
    calls_differ: int | None
    worst: Call | None
    identical: bool
    verdict: Verdict
    judged: Literal["median", "calls"] | None = None
    exceeds: bool | None = None

    @property
    def name(self) -> str:
        """The row's name, the same in every run: case, measure, place."""
        return f"{self.case} {self.measure} {self.place}"

    @property
    def finding(self) -> str:
        """The verdict as people read it."""
        return self.verdict if self.same_inputs else f"{self.verdict}, other inputs"


class Side(_Result):
    """One of the two: a run, and what of it. `own` has the digests of the user's own libraries."""

    run: str
    selection: str
    title: str
    state: str
    started: str
    worldwise: str
    git: str
    lab: str
    own: dict[str, str]

    @property
    def label(self) -> str:
        """How the side is named in a heading."""
        return self.selection or self.run


class Unpaired(_Result):
    """A case that is not compared, and why; `lost` if A has its figures and B has not."""

    case: str
    side: Literal["a", "b", "both"]
    reason: str
    lost: bool


class Disagreement(_Result):
    """Something that must agree and does not."""

    what: Allowance
    detail: str


class Gate(_Result):
    """The gate: `limit` as it was given; how many rows were judged, are over it, and how many cases were lost."""

    limit: str
    judge: Judge
    judged: int
    exceeded: int
    lost: int
    passed: bool


class Comparison(_Result):
    """All that is known of two sides; every format is made from this. `disagreements` are those that were allowed.

    `outcomes` are pairs of cases that have no counts, by case, with whether their records are the same.
    """

    format: Literal[1]
    a: Side
    b: Side
    rows: tuple[Row, ...]
    outcomes: dict[str, bool]
    unpaired: tuple[Unpaired, ...]
    disagreements: tuple[Disagreement, ...]
    notes: tuple[str, ...]
    gate: Gate | None

    @property
    def exceeding(self) -> list[Row]:
        """The rows over the gate's limit, the worst first."""
        return sorted((row for row in self.rows if row.exceeds), key=lambda row: -(row.ratio or 0))


@dataclass(frozen=True)
class Options:
    """How to compare.

    Attributes:
        allow: what need not agree.
        pattern: only cases whose ids match this shell pattern; empty for all.
        limit: by how much B may be above A, as a fraction of A; None for no gate.
        limit_text: the same as it was given.
        judge: what of a row the gate looks at.
    """

    allow: Collection[Allowance] = ()
    pattern: str = ""
    limit: Fraction | None = None
    limit_text: str = ""
    judge: Judge = "auto"


def parse_limit(text: str) -> Fraction:
    """A limit such as `0.1%` as a fraction. Raises WorldwiseError."""
    match = _LIMIT.fullmatch(text.strip())
    if not match:
        raise WorldwiseError(f"'{text}' is no limit for a gate.", "say how many per cent more are let pass: 0% or 0.1%")
    return Fraction(match[1]) / 100


def compare_runs(run_a: Run, run_b: Run, options: Options | None = None) -> Comparison:
    """Two runs, case by case.

    Raises WorldwiseError if what must agree does not, naming it, and if a gate has nothing to judge.
    """
    options = options or Options()
    if options.limit is not None and run_a.path == run_b.path:
        raise WorldwiseError(
            f"run {run_a.id} is compared with itself: a gate on that cannot fail.", "name the baseline's run first"
        )
    a, b = (_collect(run, options.pattern, None) for run in (run_a, run_b))
    return _Comparing((run_a, run_b), a, b, options, ("", "")).result()


def compare_variants(run: Run, text_a: str, text_b: str, options: Options | None = None) -> Comparison:
    """Two selections of one run, such as `mbedtls-O2` and `mbedtls-nist-O2`; see `parse_selection`.

    Raises WorldwiseError for a selection that names nothing of the run or leaves no pair, and as `compare_runs` does.
    """
    options = options or Options()
    cases = [_parts(run, case_id) for case_id in run.manifest.cases]
    a, b = (parse_selection(text, [case for case in cases if case]) for text in (text_a, text_b))
    if a == b:
        raise WorldwiseError(f"'{text_a}' and '{text_b}' name the same cases.", "name two variants")
    named = a.keys() | b.keys()
    for text, selection in ((text_a, a), (text_b, b)):
        for name in ("target", "implementation", "optimisation"):
            if name in named and name not in selection:
                raise WorldwiseError(f"'{text}' does not say its {name}, which the other does.", "say it for both")
    sides = [_collect(run, options.pattern, _Selected(selection, named)) for selection in (a, b)]
    for text, side in zip((text_a, text_b), sides, strict=True):
        if not side:
            raise WorldwiseError(f"run {run.id} has no case of '{text}'.")
    return _Comparing((run, run), sides[0], sides[1], options, (text_a, text_b)).result()


def parse_selection(text: str, cases: Sequence["Parts"]) -> dict[str, str]:
    """What a selection names of some cases: `target`, `implementation`, `optimisation`, and parameters by their keys.

    Its words are divided by commas or slashes: a target, a variant (or an implementation, or an optimisation alone),
    and parameters such as `core=cortex-a53`. A parameter's default is the empty value. Raises WorldwiseError.
    """
    targets = {case.target for case in cases}
    implementations = {case.implementation for case in cases}
    optimisations = {case.optimisation for case in cases}
    defaults = {parameter.key: parameter.default for parameter in parameters().values()}
    found: dict[str, str] = {}
    for word in filter(None, re.split("[,/]", text)):
        key, equals, value = word.partition("=")
        implementation, _, optimisation = word.rpartition("-")
        if equals:
            if key not in defaults:
                raise WorldwiseError(f"'{text}': no case has a parameter '{key}'.", did_you_mean(key, list(defaults)))
            new = {key: "" if value in ("default", defaults[key]) else value}
        elif word in targets:
            new = {"target": word}
        elif word in implementations:
            new = {"implementation": word}
        elif word in optimisations:
            new = {"optimisation": word}
        elif implementation in implementations and optimisation in optimisations:
            new = {"implementation": implementation, "optimisation": optimisation}
        else:
            variants = sorted({f"{case.implementation}-{case.optimisation}" for case in cases})
            known = [*sorted(targets), *variants]
            raise WorldwiseError(
                f"'{word}' is no target, variant, implementation or optimisation of this run.",
                did_you_mean(word, known) or f"it has {_named(known)}",
            )
        if found.keys() & new.keys():
            raise WorldwiseError(f"'{text}' says its {next(iter(found.keys() & new.keys()))} twice.")
        found |= new
    if not found:
        raise WorldwiseError("a selection is empty.", "name a variant of the run, such as mbedtls-nist-O2")
    return found


@dataclass(frozen=True)
class Parts:
    """A case's id, taken apart."""

    target: str
    implementation: str
    optimisation: str
    operation: str
    parameters: Mapping[str, str]

    @classmethod
    def of(cls, case_id: str) -> "Parts":
        """Of an id such as `optee/mbedtls-O2/sha256,size=1MiB`."""
        target, variant, rest = case_id.split("/")
        implementation, _, optimisation = variant.rpartition("-")
        operation, _, parameters = rest.partition(",")
        return cls(target, implementation, optimisation, operation, parameters_of(parameters))


@dataclass(frozen=True)
class _Selected:
    wanted: Mapping[str, str]
    named: Collection[str]

    def key(self, parts: Parts) -> tuple[object, ...] | None:
        """What is left of a case without what either side names; None if the case is not of this side."""
        given = {
            "target": parts.target,
            "implementation": parts.implementation,
            "optimisation": parts.optimisation,
            **parts.parameters,
        }
        # A parameter that only the other side names has its default here.
        if any(given.get(name, "") != self.wanted.get(name, "") for name in self.named):
            return None
        left = tuple((name, value) for name, value in given.items() if name not in self.named)
        return (parts.operation, *left)


# A run's cases, or those selected of it, by what pairs them: the id, and the manifest of those that ended.
_Cases = dict[tuple[object, ...], tuple[str, CaseManifest | None]]


def _parts(run: Run, case_id: str) -> Parts:
    try:
        return Parts.of(case_id)
    except ValueError:
        raise WorldwiseError(f"run {run.id}: '{case_id}' is not the id of a case.") from None


def _collect(run: Run, pattern: str, selected: _Selected | None) -> _Cases:
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


def is_library_image(name: str, case: Case) -> bool:
    """Whether an image has the measured library in it; what has not is the same for every library."""
    # OP-TEE's own image is part of what is measured only of the libraries that are part of it.
    if name.startswith("optee-") and case.implementation not in IMPLEMENTATIONS:
        return False
    return re.search(rf"(^|-){re.escape(case.variant)}($|-)", name) is not None


@dataclass
class _Read:
    """A complete case's records, checked."""

    manifest: CaseManifest
    records: list[Record]
    checked: CheckedRecords

    @classmethod
    def of(cls, run: Run, manifest: CaseManifest) -> "_Read":
        path = run.records_path(manifest.id)
        records = parse_records(run.case_file(manifest.id), str(path))
        return cls(manifest, records, check_records(records, manifest.case(), str(path)))

    def results(self) -> list[Record]:
        return [record for record in self.records if record.type in ("evidence", "outcome")]


class _Comparing:
    """One comparison, as it goes."""

    def __init__(
        self, runs: tuple[Run, Run], a: _Cases, b: _Cases, options: Options, selections: tuple[str, str]
    ) -> None:
        self.runs = runs
        self.selections = selections
        self.options = options
        self.variants = any(selections)
        self.rows: list[Row] = []
        self.outcomes: dict[str, bool] = {}
        self.unpaired: list[Unpaired] = []
        self.disagreements: list[Disagreement] = []
        self.notes: list[str] = []
        self.pairs: list[tuple[CaseManifest, CaseManifest]] = []
        for key in dict.fromkeys([*a, *b]):
            self._pair(a.get(key), b.get(key))

    def result(self) -> Comparison:
        run_a, run_b = self.runs
        if not self.variants:
            self._disagree_lab()
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
            a=_side(run_a, self.selections[0]),
            b=_side(run_b, self.selections[1]),
            rows=tuple(self.rows),
            outcomes=self.outcomes,
            unpaired=tuple(self.unpaired),
            disagreements=tuple(self.disagreements),
            notes=tuple(self.notes),
            gate=gate,
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
        packages = f"; of its packages {_named(names)}" if names else ""
        self._disagree("lab", f"lab {a.lab[:12] or 'none'} / {b.lab[:12] or 'none'}{packages}")

    def _disagree_samples(self) -> None:
        others = [
            f"{a.id} ({a.samples} after {a.warmup} / {b.samples} after {b.warmup})"
            for a, b in self.pairs
            if (a.samples, a.warmup) != (b.samples, b.warmup)
        ]
        if others and self.variants:
            # A suite may ask more of one variant, such as the one that it recommends.
            self.notes.append(f"Not as many samples after warm-up calls on both sides: {_named(others)}.")
        elif others:
            self._disagree("samples", f"samples after warm-up calls of {_named(others)}")

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
            if unexplained and a.case().measures and not same[a.id]:
                self.notes.append(
                    f"{a.id}: the images are the same and the records are not. That is a defect: keep both runs and "
                    "report it."
                )
        if any(each.what == "lab" for each in self.disagreements):
            self.notes.append("The lab is part of every image's address: which images would differ besides is unknown.")
        elif self.variants:
            self.notes += [f"Not the same on both sides: {text}." for text in differ]
        elif differ:
            self._disagree("images", _named([f"{text} ({count} cases)" for text, count in differ.items()]))
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
                    "and with it the bench around the library",
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
                self.notes.append(f"{name}: {len(changed)} of its files differ: {_named(changed)}.")
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
            f"{between} in what must agree: {'; '.join(each.detail for each in refused)}.",
            f"measure both the same way, or compare all the same with {allow}",
        )

    # --- counts ---

    def _compare(self, a: CaseManifest, b: CaseManifest, identical: bool) -> None:
        run_a, run_b = self.runs
        read_a = _Read.of(run_a, a)
        # The same bytes need no second check.
        read_b = read_a if identical and a.id == b.id else _Read.of(run_b, b)
        if not read_a.checked.samples and not read_b.checked.samples:
            self.outcomes[a.id] = read_a.results() == read_b.results()
            return
        same_inputs = (a.samples, a.warmup) == (b.samples, b.warmup) and read_a.results() == read_b.results()
        found = _match(read_a.checked.samples, read_b.checked.samples)
        for (measure, place_a), (_, place_b) in found:
            self.rows.append(
                _row(
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
                raise WorldwiseError(
                    "there is nothing to compare: no case is complete on both sides.", self._why_unpaired()
                )
            return None
        self.rows = [_judged(row, limit, self.options.judge) for row in self.rows]
        judged = [row for row in self.rows if row.exceeds is not None]
        if not judged:
            raise WorldwiseError(
                "the gate has nothing to judge: no case with counts is complete on both sides.", self._why_unpaired()
            )
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

    def _why_unpaired(self) -> str:
        return _named([f"{each.case} {each.reason}" for each in self.unpaired]) or "neither has a case"


def _match(
    a: Mapping[tuple[str, str], object], b: Mapping[tuple[str, str], object]
) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Which series of A goes with which of B: by their names, or as the only place of a measure on both sides."""
    found = [(key, key) for key in a if key in b]
    for key in a:
        if key not in b:
            places_a = [other for other in a if other[0] == key[0]]
            places_b = [other for other in b if other[0] == key[0]]
            if len(places_a) == len(places_b) == 1:
                found.append((key, places_b[0]))
    return found


def _row(
    a: CaseManifest,
    b: CaseManifest,
    where: tuple[str, str, str],
    series_a: Sequence[Sample],
    series_b: Sequence[Sample],
    same_inputs: bool,
    identical: bool,
) -> Row:
    figures_a, figures_b = _figures(a, series_a), _figures(b, series_b)
    difference = figures_b.median - figures_a.median
    pairs = zip(series_a, series_b, strict=True) if same_inputs else ()
    calls = [Call(index=one.index, a=one.count, b=two.count) for one, two in pairs]
    case = a.case()
    measure, place_a, place_b = where
    return Row(
        case=a.id,
        case_b=b.id,
        target=a.target,
        variant=case.variant,
        operation=a.operation,
        parameters=case.parameter_text,
        measure=measure,
        place=place_a,
        place_b=place_b,
        a=figures_a,
        b=figures_b,
        difference=difference,
        ratio=figures_b.median / figures_a.median if figures_a.median else None,
        same_inputs=same_inputs,
        calls_differ=sum(call.a != call.b for call in calls) if same_inputs else None,
        worst=max(calls, key=_growth) if same_inputs else None,
        identical=identical,
        verdict=_verdict(difference, [call.b - call.a for call in calls]),
    )


def _figures(manifest: CaseManifest, series: Sequence[Sample]) -> Figures:
    counts = [sample.count for sample in series if sample.phase == "sample"]
    return Figures(
        n=len(counts),
        warmup=manifest.warmup,
        first=series[0].count,
        median=float(median(counts)),
        min=min(counts),
        max=max(counts),
    )


def _verdict(difference: float, apart: Iterable[int]) -> Verdict:
    more, less = (any(sign * each > 0 for each in apart) for sign in (1, -1))
    if more and not less:
        return "slower"
    if less and not more:
        return "faster"
    if difference:
        return "slower" if difference > 0 else "faster"
    return "mixed" if more else "same"


def _judged(row: Row, limit: Fraction, judge: Judge) -> Row:
    """The row with what the gate says of it.

    Every call is looked at where nothing but the library decides its count; where a timer may interrupt, one call more
    or less has it, and the median stands for all.
    """
    calls = row.same_inputs and (judge == "calls" or (judge == "auto" and is_board(row.target)))
    return row.model_copy(update={"judged": "calls" if calls else "median", "exceeds": _exceeds(row, limit, calls)})


def _exceeds(row: Row, limit: Fraction, calls: bool) -> bool:
    median_over = Fraction(row.difference) > limit * Fraction(row.a.median)
    call = row.worst
    # No call has grown by more than the worst one.
    return median_over or (calls and call is not None and call.b - call.a > limit * call.a)


def _growth(call: Call) -> Fraction:
    """By what fraction of A's count B's is greater; a call that took nothing in A is taken for one instruction."""
    return Fraction(call.b - call.a, call.a or 1)


def _side(run: Run, selection: str) -> Side:
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
        own={own.name: own.digest for own in manifest.own},
    )


def _state(entry: tuple[str, CaseManifest | None] | None) -> str:
    """What keeps a case from being compared; empty if nothing does."""
    if entry is None:
        return "is not among the cases"
    manifest = entry[1]
    if manifest is None:
        return "was not measured"
    return f"failed: {manifest.error.splitlines()[0] if manifest.error else ''}" if manifest.state == "failed" else ""


def _reasons(a: str, b: str) -> str:
    return f"in both {a}" if a == b else f"in A {a}; in B {b}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
