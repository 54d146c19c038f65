# SPDX-License-Identifier: BSD-2-Clause
"""Which line of a repository is marked for a region of own code: where its function begins, by debug information; and
which line of a function that moved takes most."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.options import writing
from worldwise.cli.traces.annotated_source import path_within
from worldwise.explain.annotated_source import annotate, begins
from worldwise.libraries import own_code
from worldwise.plan.spec import OWN
from worldwise.plan.suite_list import PROJECT_FILE
from worldwise.read.compared.comparison import Comparison, Moved
from worldwise.report.formats.sarif import LIMIT, Finding, Mark, lost, of_comparison, to_sarif
from worldwise.run.code.repository.limits import LimitVerdict
from worldwise.run.code.repository.project import open_project
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run

if TYPE_CHECKING:
    from worldwise.explain.owners import Explainer
    from worldwise.records.models import Sample

# Of how many cases that are over a limit, and of how many functions of each, the dearest line is looked for.
_MOST_CASES, _MOST_FUNCTIONS = 5, 2


class Marks:
    """The lines of a repository, for the cases of a run.

    Args:
        run: the run that has the cases.
        folder: the folder that has the worldwise.toml, or that the command was called in. The repository's root is this
            folder, or the nearest one above it with a .git.
    """

    def __init__(self, run: Run, folder: Path) -> None:
        self._run = run
        self.folder = folder.resolve()
        self.root = next((one for one in (self.folder, *self.folder.parents) if (one / ".git").exists()), self.folder)
        self._known: dict[str, Mark | None] = {}

    def of_case(self, case_id: str) -> Mark | None:
        """Where the function of a case's region begins, else the measure's line in worldwise.toml; None for neither."""
        if case_id not in self._known:
            self._known[case_id] = self.function_mark(case_id) or self._measure(case_id)
        return self._known[case_id]

    def of_file(self, path: Path, line: int) -> Mark:
        """A line of a file in the folder."""
        return Mark(path.relative_to(self.root).as_posix(), line)

    def of_source(self, name: str, line: int) -> Mark | None:
        """A line of a source file as debug information names it; None if the repository has no such file."""
        for base in dict.fromkeys((self.folder, self.root)):
            if line and (path := path_within(name, base)):
                return Mark(str(PurePosixPath(base.relative_to(self.root), path)), line)
        return None

    def with_lines(self, comparison: Comparison) -> Comparison:
        """The comparison with the dearest line of each function that moved what is over the limit, if known."""
        cases = list(dict.fromkeys(row.case_b for row in comparison.exceeding))[:_MOST_CASES]
        found: dict[tuple[str, str], str] = {}
        for case_id in cases:
            moved = [one for one in comparison.moved if one.case == case_id and one.b][:_MOST_FUNCTIONS]
            manifest = self.own_manifest(case_id) if moved else None
            if manifest is None:
                continue
            try:
                self.bring_code(manifest)
                lines = self._dearest(*self.explained_runs(manifest), moved)
            except WorldwiseError as error:
                safe_text.echo(f"{case_id}: its lines are not known: {error.message}", err=True)
                continue
            found |= {(case_id, name): f"{mark.path}:{mark.line}" for name, mark in lines.items()}
        rows = [one.model_copy(update={"line": found.get((one.case, one.function), "")}) for one in comparison.moved]
        return comparison.model_copy(update={"moved": tuple(rows)})

    def _dearest(self, explainer: "Explainer", sample: "Sample", moved: Sequence[Moved]) -> dict[str, Mark]:
        found: dict[str, Mark] = {}
        for one in moved:
            name, _, image = one.function.removesuffix(")").rpartition(" (")
            try:
                parts = annotate(explainer, sample, name)
            except WorldwiseError:
                # What is no function, such as the others of a baseline, has no line.
                continue
            lines = [line for part in parts if (part.name, part.image) == (name, image) for line in part.lines.items()]
            marks = (self.of_source(*at) for at, _ in sorted(lines, key=lambda line: -line[1].instructions))
            if mark := next((mark for mark in marks if mark), None):
                found[one.function] = mark
        return found

    def own_manifest(self, case_id: str) -> CaseManifest | None:
        """What the run says of a case of a user's own code; None of another case."""
        manifest = self._run.case(case_id) if case_id in self._run.manifest.cases else None
        return None if manifest is None or manifest.target != OWN else manifest

    def bring_code(self, manifest: CaseManifest) -> None:
        """Have the code of a case known to this process. Raises WorldwiseError."""
        from worldwise.cli.traces.plugin_runs import with_own

        if not own_code.is_known(manifest.implementation):
            with_own(self._run, ())

    def explained_runs(self, manifest: CaseManifest) -> "tuple[Explainer, Sample]":
        """The explainer of a case of own code, and its median call. Raises WorldwiseError."""
        # These take long to load, and a run within its limits needs none of them.
        from worldwise.cli.traces.plugin_runs import Session, outermost
        from worldwise.explain.layers import load_rules

        case = manifest.case()
        ((measure, places),) = case.measures.items()
        explainer = Session(load_rules(), fresh=False).explainer(case, self._run)
        return explainer, explainer.sample(measure, outermost(places))

    def function_mark(self, case_id: str) -> Mark | None:
        """Where the function of a case stands; None if nobody knows."""
        manifest = self.own_manifest(case_id)
        if manifest is None:
            return None
        try:
            self.bring_code(manifest)
            region = own_code.find(manifest.implementation).manifest.regions[manifest.operation]
            if region.command is not None or region.address >= own_code.MARKED:
                return None
            return self.of_source(*begins(*self.explained_runs(manifest), region.function))
        except WorldwiseError as error:
            safe_text.echo(f"{case_id}: its line is not known: {error.message}", err=True)
            return None

    def _measure(self, case_id: str) -> Mark | None:
        target, measure, _ = case_id.split("/")
        if target != OWN:
            return None
        try:
            opened = open_project(self.folder)
        except WorldwiseError:
            # `compare` needs no such file.
            return None
        if measure not in opened.project.measure:
            # A benchmark's name begins with its measure's.
            of = (name for name, one in opened.project.measure.items() if one.benchmarks)
            measure = max((name for name in of if measure.startswith(f"{name}-")), key=len, default="")
        if not measure:
            return None
        return self.of_file(opened.path, int(opened.where("measure", measure).rpartition(":")[2]))


def of_limits(over: Sequence[LimitVerdict], marks: Marks) -> list[Finding]:
    """The limits of a worldwise.toml that are exceeded."""
    found = []
    for one in over:
        said = marks.of_file(marks.folder / PROJECT_FILE, int(one.where.rpartition(":")[2]))
        text = f"{one.case}: {one.what}: {one.found}; the limit is {one.limit}."
        # What is of a measure as a whole, such as its flash memory, is of no function.
        mark = marks.of_case(one.case) if one.case.count("/") > 1 else None
        facts = {"case": one.case, "measured": one.found, "limit": one.limit}
        found.append(Finding(LIMIT, f"{one.case} {one.what}", text, mark, said, facts))
    return found


def write_sarif(path: Path, marks: Marks, over: Sequence[LimitVerdict], comparison: Comparison | None) -> None:
    """Write what is exceeded as SARIF. Raises WorldwiseError."""
    with writing(path):
        path.write_text(sarif_text(marks, over, comparison), encoding="utf-8")


def sarif_text(marks: Marks, over: Sequence[LimitVerdict], comparison: Comparison | None) -> str:
    """What is exceeded as SARIF: limits of a worldwise.toml, and rows of a comparison with a gate."""
    found = of_limits(over, marks)
    if comparison is None:
        return to_sarif(found)
    lines: dict[str, Mark] = {}
    for one in comparison.moved:
        if one.line:
            path, _, line = one.line.rpartition(":")
            lines.setdefault(one.case, Mark(path, int(line)))
    rows = of_comparison(comparison, lambda case_id: lines.get(case_id) or marks.of_case(case_id))
    return to_sarif([*found, *rows], lost(comparison))
