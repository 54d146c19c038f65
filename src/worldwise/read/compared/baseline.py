# SPDX-License-Identifier: BSD-2-Clause
"""Baselines: what a run counted, as a small text file for a repository, and a later run beside it.

A baseline has no calls, only what a table has: first, median, least and most. So medians are judged, as everywhere
where a machine has an operating system.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from worldwise import __version__
from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.literals import toml_line
from worldwise.base.toml.toml_model import StrictModel, parse, read_text
from worldwise.plan.spec import OWN
from worldwise.read.compared.comparison import (
    FORMAT,
    Allowance,
    ComparedRow,
    Comparison,
    Disagreement,
    Figures,
    Gate,
    Moved,
    Side,
    Unpaired,
)
from worldwise.read.compared.gate import CaseRead, GateOptions, is_library_image, own_inputs, side_of
from worldwise.read.compared.rows import figures_of, judge_row
from worldwise.read.compared.selection import named_list
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run

FOLDER = "baselines"
# Of a call's functions those that execute a thousandth of it, and so many; the others are one line.
_LEAST_PART, _MOST_FUNCTIONS = 1000, 30
OTHERS = "(others)"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="64 hexadecimal digits")]
_Whole = Annotated[int, Field(ge=0)]
_Line = Annotated[str, Field(max_length=1000)]

# Functions of the median call of own code, with their own instructions, by case.
Functions = Mapping[str, Mapping[str, int]]


class Instructions(StrictModel):
    """The figures of one measure at one place."""

    calls: Annotated[int, Field(ge=1)]
    first: _Whole
    median: Annotated[float, Field(ge=0)]
    least: _Whole
    most: _Whole


class Count(StrictModel):
    """One measure of one case at one place: its figures, and of own code the functions of its median call."""

    case: _Line
    measure: _Line
    place: _Line
    instructions: Instructions
    functions: Annotated[dict[_Line, _Whole], Field(default_factory=dict)]


class Baseline(StrictModel):
    """The file: format, the lab and the images that counted, and what each case was given."""

    format: Literal[1]
    worldwise: _Line
    lab: _Line
    images: dict[_Line, _Digest]
    inputs: dict[_Line, _Digest]
    count: Annotated[list[Count], Field(min_length=1)]

    @property
    def cases(self) -> list[str]:
        """The ids of its cases, each once."""
        return list(dict.fromkeys(one.case for one in self.count))


@dataclass(frozen=True)
class Named:
    """A baseline that was read: its name, the file, and its content."""

    name: str
    path: Path
    content: Baseline


def path_of(name: str, folder: Path) -> Path:
    """Where the baseline of a name is, in a folder. Raises WorldwiseError for what cannot be such a name."""
    if not _NAME.fullmatch(name):
        raise WorldwiseError(
            f"'{files.quoted(name)}' cannot be the name of a baseline.",
            f"a name of letters, digits, '.', '_' and '-', such as main: its file is {folder / FOLDER}/main.toml",
        )
    return folder / FOLDER / f"{name}.toml"


def load(name: str, folder: Path) -> Named:
    """The baseline of a name. Raises WorldwiseError if there is none, or if it cannot be read."""
    path = path_of(name, folder)
    if not path.exists():
        there = sorted(one.stem for one in path.parent.glob("*.toml"))
        raise WorldwiseError(
            f"there is no baseline '{name}': {path} does not exist."
            + (f" There {'are' if len(there) > 1 else 'is'} {', '.join(map(files.quoted, there))}." if there else ""),
            did_you_mean(name, there) or f"make it of the code as it was: --save-baseline {name}",
        )
    return Named(name, path, parse(Baseline, read_text(path, "baseline", folder), path))


def baseline_of(run: Run, functions: Functions, pattern: str = "") -> Baseline:
    """What a run counted. Raises WorldwiseError if a case of it failed or is missing, or if it counted nothing."""
    run.require_instructions("a baseline")
    images: dict[str, str] = {}
    inputs: dict[str, str] = {}
    counts: list[Count] = []
    for case_id in run.manifest.cases:
        if pattern and not fnmatchcase(case_id, pattern):
            continue
        manifest = run.case(case_id)
        if manifest is None or manifest.state != "complete":
            raise WorldwiseError(
                f"run {run.id}: {case_id} {'failed' if manifest else 'was not measured'}: no baseline would have it.",
                "measure it, or choose other cases with --case",
            )
        read = CaseRead.of(run, manifest)
        if not read.checked.samples:
            continue
        inputs[_group(manifest)] = _work(run, read)
        for name, digest in _frame(manifest).items():
            images[_image_key(images, name, digest, manifest)] = digest
        for (measure, place), series in read.checked.samples.items():
            found = figures_of(manifest, series)
            figures = Instructions(
                calls=found.warmup + found.n + 1,
                first=found.first,
                median=found.median,
                least=found.min,
                most=found.max,
            )
            counts.append(
                Count(
                    case=case_id,
                    measure=measure,
                    place=place,
                    instructions=figures,
                    functions=_cut(functions.get(case_id, {})),
                )
            )
    if not counts:
        raise WorldwiseError(f"run {run.id} has no case with counts: there is nothing to keep.")
    return Baseline(format=1, worldwise=__version__, lab=run.manifest.lab, images=images, inputs=inputs, count=counts)


def text_of(baseline: Baseline, how: str) -> str:
    """The file's text; `how` is the command that compares with it."""
    lines = [
        f"# Instructions that worldwise counted. `{how}` compares with them; commit this file.",
        toml_line("format", baseline.format),
        toml_line("worldwise", baseline.worldwise),
        toml_line("lab", baseline.lab),
        "",
        "# The machine around the measured code.",
        "[images]",
        *(_pair(name, digest) for name, digest in sorted(baseline.images.items())),
        "",
        "# What the measured code was given, or what came out of it.",
        "[inputs]",
        *(_pair(name, digest) for name, digest in sorted(baseline.inputs.items())),
    ]
    for one in baseline.count:
        figures = {name: _number(value) for name, value in one.instructions.model_dump().items()}
        lines += [
            "",
            "[[count]]",
            toml_line("case", one.case),
            toml_line("measure", one.measure),
            toml_line("place", one.place),
            toml_line("instructions", figures),
        ]
        if one.functions:
            lines += ["[count.functions]", *(_pair(name, value) for name, value in one.functions.items())]
    return "\n".join(lines) + "\n"


# By case: a limit of its own, and how the output says it.
Allowed = Mapping[str, tuple[Fraction, str]]


def compare_baseline(
    named: Named, run: Run, functions: Functions, options: GateOptions, allowed: Allowed | None = None
) -> Comparison:
    """A run beside a baseline, which is A; `allowed` are limits of single cases, each said in a note.

    Raises WorldwiseError if what must agree differs, naming it.
    """
    run.require_instructions("a comparison")
    return _Beside(named, run, functions, options, allowed or {}).result()


class _Beside:
    def __init__(self, named: Named, run: Run, functions: Functions, options: GateOptions, allowed: Allowed) -> None:
        self.named, self.run, self.functions, self.options = named, run, functions, options
        self.allowed = allowed
        self.old = named.content
        self.disagreements: list[Disagreement] = []
        self.notes: list[str] = []
        self.unpaired: list[Unpaired] = []
        self.other_inputs: set[str] = set()

    def result(self) -> Comparison:
        pattern = self.options.pattern
        wanted = [one for one in self.old.cases if not pattern or fnmatchcase(one, pattern)]
        there = [one for one in self.run.manifest.cases if not pattern or fnmatchcase(one, pattern)]
        manifests = {case_id: self.run.case(case_id) for case_id in there}
        done = {name: one for name, one in manifests.items() if one is not None and one.state == "complete"}
        for case_id in wanted:
            if case_id not in done:
                why = "failed" if manifests.get(case_id) else "was not measured"
                self.unpaired.append(Unpaired(case=case_id, side="a", reason=f"in B {why}", lost=True))
        self._look_at_lab()
        read = {case_id: CaseRead.of(self.run, one) for case_id, one in done.items()}
        self._look_at_images([one for name, one in done.items() if name in wanted])
        self._look_at_inputs({name: one for name, one in read.items() if name in wanted})
        self._refuse()
        rows = [row for name, one in read.items() for row in self._rows(name, one, name in wanted)]
        if self.options.limit is not None:
            rows = [judge_row(row, self._limit(row.case, self.options.limit), "median") for row in rows]
        gate = self._judge(rows)
        side = Side(
            run=f"baseline {self.named.name}",
            selection="",
            title=f"baseline {self.named.name}",
            state="complete",
            started="",
            worldwise=self.old.worldwise,
            git="",
            lab=self.old.lab,
            own={},
            baseline=str(self.named.path),
        )
        return Comparison(
            format=FORMAT,
            a=side,
            b=side_of(self.run, ""),
            rows=tuple(rows),
            outcomes={},
            unpaired=tuple(self.unpaired),
            disagreements=tuple(self.disagreements),
            notes=tuple(self.notes),
            gate=gate,
            moved=tuple(self._moved(rows)),
        )

    def _disagree(self, what: Allowance, detail: str) -> None:
        self.disagreements.append(Disagreement(what=what, detail=detail))

    def _look_at_lab(self) -> None:
        if self.old.lab != self.run.manifest.lab:
            self._disagree("lab", f"lab {self.old.lab[:12] or 'none'} / {self.run.manifest.lab[:12] or 'none'}")

    def _look_at_images(self, manifests: Sequence[CaseManifest]) -> None:
        # The lab is part of every image's address.
        if self.disagreements:
            return
        differ: dict[str, None] = {}
        for manifest in manifests:
            for name, digest in _frame(manifest).items():
                known = self.old.images.get(f"{name} of {_group(manifest)}", self.old.images.get(name, "none"))
                if known != digest:
                    differ[f"image {name}: {known[:12]} / {digest[:12]}"] = None
        if differ:
            self._disagree("images", named_list(list(differ)))

    def _look_at_inputs(self, read: Mapping[str, CaseRead]) -> None:
        for case_id, one in read.items():
            group = _group(one.manifest)
            if self.old.inputs.get(group) != _work(self.run, one):
                self.other_inputs.add(case_id)
        own = sorted({_group(read[name].manifest) for name in self.other_inputs if name.startswith(f"{OWN}/")})
        if own:
            self._disagree("inputs", f"arguments, files, standard input or machine of {named_list(own)}")

    def _refuse(self) -> None:
        refused = [each for each in self.disagreements if each.what not in self.options.allow]
        if not refused:
            return
        allow = " ".join(f"--allow {kind}" for kind in dict.fromkeys(each.what for each in refused))
        raise WorldwiseError(
            f"baseline '{self.named.name}' ({self.named.path}) and run {self.run.id} differ where they must agree: "
            f"{'; '.join(each.detail for each in refused)}.",
            f"make the baseline again, with --save-baseline {self.named.name} of the old code; or compare anyway: "
            f"worldwise compare {self.run.id} --baseline {self.named.name} {allow}",
        )

    def _rows(self, case_id: str, read: CaseRead, known: bool) -> list[ComparedRow]:
        old = {(one.measure, one.place): one.instructions for one in self.old.count if one.case == case_id}
        if not known:
            if read.checked.samples:
                reason = "is not in the baseline"
                self.unpaired.append(Unpaired(case=case_id, side="b", reason=reason, lost=False))
            return []
        for measure, place in old.keys() - read.checked.samples.keys():
            reason = f"{measure} at {place} is not in B"
            self.unpaired.append(Unpaired(case=case_id, side="a", reason=reason, lost=True))
        for measure, place in read.checked.samples.keys() - old.keys():
            reason = f"{measure} at {place} is not in the baseline"
            self.unpaired.append(Unpaired(case=case_id, side="b", reason=reason, lost=False))
        return [
            self._row(read.manifest, key, old[key], figures_of(read.manifest, series))
            for key, series in read.checked.samples.items()
            if key in old
        ]

    def _row(self, manifest: CaseManifest, key: tuple[str, str], old: Instructions, b: Figures) -> ComparedRow:
        case = manifest.case()
        warm = old.calls - 1 - manifest.warmup
        a = Figures(
            n=max(warm, 0), warmup=manifest.warmup, first=old.first, median=old.median, min=old.least, max=old.most
        )
        difference = b.median - a.median
        return ComparedRow(
            case=manifest.id,
            case_b=manifest.id,
            target=manifest.target,
            variant=case.variant,
            operation=manifest.operation,
            parameters=case.parameter_text,
            measure=key[0],
            place=key[1],
            place_b=key[1],
            a=a,
            b=b,
            difference=difference,
            ratio=b.median / a.median if a.median else None,
            same_inputs=manifest.id not in self.other_inputs,
            calls_differ=None,
            worst=None,
            identical=False,
            verdict="slower" if difference > 0 else "faster" if difference < 0 else "same",
        )

    def _limit(self, case_id: str, limit: Fraction) -> Fraction:
        return max(limit, self.allowed.get(case_id, (limit, ""))[0])

    def _judge(self, rows: Sequence[ComparedRow]) -> Gate | None:
        limit = self.options.limit
        if not rows:
            raise WorldwiseError(
                f"there is nothing to compare: no case of baseline '{self.named.name}' is complete in run "
                f"{self.run.id}.",
                f"it has {named_list(self.old.cases)}",
            )
        if limit is None:
            return None
        self.notes += [f"{case} may take {words} more." for case, (_, words) in self.allowed.items()]
        exceeded = sum(row.exceeds is True for row in rows)
        lost = 0 if "cases" in self.options.allow else sum(each.lost for each in self.unpaired)
        return Gate(
            limit=self.options.limit_text,
            judge="median",
            judged=len(rows),
            exceeded=exceeded,
            lost=lost,
            passed=not exceeded and not lost,
        )

    def _moved(self, rows: Sequence[ComparedRow]) -> list[Moved]:
        found = []
        old = {one.case: one.functions for one in self.old.count if one.functions}
        for case_id in dict.fromkeys(row.case for row in rows if row.difference):
            before, after = old.get(case_id, {}), self.functions.get(case_id, {})
            if before and after:
                found += [Moved(case=case_id, function=name, a=a, b=b) for name, a, b in moved_functions(before, after)]
        return found


def moved_functions(before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Functions whose own instructions changed, the most first; those that a baseline has no room for are one."""
    others = before.get(OTHERS, 0)
    now: dict[str, int] = {}
    for name, count in after.items():
        # What was too small to be kept may have been there.
        known = name in before or count > others
        now[name if known else OTHERS] = now.get(name if known else OTHERS, 0) + count
    names = dict.fromkeys([*before, *now])
    changed = [(name, before.get(name, 0), now.get(name, 0)) for name in names]
    return sorted((one for one in changed if one[1] != one[2]), key=lambda one: (-abs(one[2] - one[1]), one[0]))


def _cut(functions: Mapping[str, int]) -> dict[str, int]:
    """The functions that matter, the dearest first, and the others as one."""
    total = sum(functions.values())
    ranked = sorted(functions.items(), key=lambda item: (-item[1], item[0]))
    kept = {name: own for name, own in ranked[:_MOST_FUNCTIONS] if own * _LEAST_PART >= total and own}
    rest = total - sum(kept.values())
    return kept | ({OTHERS: rest} if rest else {})


def _group(manifest: CaseManifest) -> str:
    """Whose inputs are the same: of own code all regions', else the case's own."""
    return f"{OWN}/{manifest.implementation}" if manifest.target == OWN else manifest.id


def _work(run: Run, read: CaseRead) -> str:
    """A digest of the work that was done: what own code was given, or the results of a case of the catalogue."""
    if read.manifest.target == OWN:
        return own_inputs(run, read.manifest)
    results = [one.model_dump(mode="json") for one in read.results()]
    return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()


def _frame(manifest: CaseManifest) -> dict[str, str]:
    """The images without the measured code."""
    case = manifest.case()
    return {name: digest for name, digest in manifest.images.items() if not is_library_image(name, case)}


def _image_key(images: Mapping[str, str], name: str, digest: str, manifest: CaseManifest) -> str:
    return name if images.get(name, digest) == digest else f"{name} of {_group(manifest)}"


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _pair(name: str, value: str | int) -> str:
    return f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(value)}"
