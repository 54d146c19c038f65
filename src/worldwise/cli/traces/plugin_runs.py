# SPDX-License-Identifier: BSD-2-Clause
"""What the commands share that run cases under the plugin: the machines, the cases of a run, where results go."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TextIO

import click

import worldwise
from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.base.output import safe_text
from worldwise.base.tables import Section
from worldwise.cli.common.options import writing
from worldwise.cli.common.progress import Notes
from worldwise.explain.flat import FlatExplainer
from worldwise.explain.layers import Rules
from worldwise.explain.own_code import Armv7Explainer, FirmwareExplainer, OwnExplainer, ThreadExplainer
from worldwise.explain.owners import Explainer
from worldwise.lab.expected_builds import expected, unbuilt
from worldwise.lab.image import ImageStore, Recipe, tree_digest
from worldwise.lab.lab import open_lab
from worldwise.libraries import own_code
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.emulator import Emulator
from worldwise.machine.plugin import cycles_plugin, flat_plugin
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.machine.qemu import WATCHED_SILENCE
from worldwise.plan.case import Case
from worldwise.plan.catalogue import is_board, takes_portables
from worldwise.plan.spec import OWN
from worldwise.plan.suite import cases_of, named_operation
from worldwise.predict.attribution import Attribution
from worldwise.predict.flat import FlatAttribution, flat_case
from worldwise.records.check import CheckedRecords
from worldwise.records.model_predictions import PredictedCase
from worldwise.report.formats.printed_sections import markdown_text, print_sections
from worldwise.run.folder.own_entries import check_same
from worldwise.run.folder.rundir import NoRunError, Run, open_run
from worldwise.run.traces.model_cache import ModelStore
from worldwise.run.traces.watch import Watched, Watcher, is_flat
from worldwise.run.ways import case_digest
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.linux import PlainTarget
from worldwise.targets.optee import OpteeMachineTarget

# The width of tables in a file or a pipe.
_WIDTH = 140
# The most cases that are suggested to somebody who typed only an operation.
_MOST_CASES = 4
# For a run's case, so many regions of a kind are followed after the first and the warm-up ones.
FOLLOWED = 3


class Output:
    """Where results go: the terminal, or a file."""

    def __init__(self, path: Path | None) -> None:
        self._file: TextIO | None = None
        if path:
            with writing(path):
                self._file = path.open("w", encoding="utf-8")
        # A file or pipe cannot be made wider like a window, so it gets a fixed width.
        width = None if self._file is None and safe_text.console().is_terminal else _WIDTH
        self.console = safe_text.console(file=self._file, highlight=False, width=width)

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def show(self, sections: Sequence[Section], form: str) -> None:
        """Print sections as a table with an empty line, or as Markdown."""
        if form == "markdown":
            self.text(markdown_text(sections))
        else:
            print_sections(sections, self.console)
            self.console.print()

    def text(self, text: str) -> None:
        """Print a text as it is; on the terminal with a line feed at its end."""
        if self._file:
            self._file.write(text)
        else:
            safe_text.echo(text, nl=not text.endswith("\n"))


class Session:
    """The tools that one call of a command needs, made once."""

    def __init__(
        self,
        rules: Rules,
        fresh: bool,
        inline: bool = False,
        witness: int = 0,
        notes: Notes | None = None,
        may_run: bool = True,
    ) -> None:
        notes = notes or Notes()
        note = notes.note
        self.rules = rules
        self.note: Callable[[str], None] = note
        self.inline = inline
        self._fresh = fresh
        self._witness = witness
        self.lab = open_lab(notes.console)
        self.lab.ensure()
        self.lab.require_entry()
        self.images = ImageStore(self.lab, note)
        self.emulator = Emulator(self.lab, note, silence_limit=WATCHED_SILENCE)
        self.watcher = Watcher(self.lab, self.images, self.emulator, note, may_run)
        # The last own code: its regions are cases of one trace, of which most is asked once.
        self._last: tuple[Watched, OwnExplainer] | None = None

    def explainer(
        self, case: Case, run: Run | None, cores: Mapping[str, str] | None = None, whole: bool = False
    ) -> Explainer:
        """Run a case under the plugin. A run's case is followed in part, and must repeat the run's records.

        `cores` are the models that run with it, through everything if `whole`: see Watcher.watch.
        """
        self._say_what_it_takes(case)
        if run:
            self._require_machine(case, run)
        last = self._last
        watched = self.watcher.watch(
            case,
            passes=1 + case.warmup + FOLLOWED if run else 0,
            witness=self._witness,
            exact_sites=self.inline,
            fresh=self._fresh,
            expected=_own_records(run, case) if run else None,
            cores=cores,
            whole=whole,
            before=last[0] if last else None,
        )
        if last and last[0].space is watched.space:
            return last[1].of_region(case, watched.records)
        kind = FlatExplainer if is_flat(case.target) else _own_kind(case) if case.target == OWN else Explainer
        made = kind(case, watched.records, watched.trace, watched.space, self.rules, watched.process, self.inline)
        # With models of cores nobody says where Linux's tasks are switched in plain Linux.
        made.check(closed=not (cores and takes_portables(case.target)))
        if isinstance(made, OwnExplainer):
            self._last = watched, made
        return made

    def _say_what_it_takes(self, case: Case) -> None:
        """Say how long a first call builds, before it begins."""
        target = EMULATED[case.target]
        recipes = [_plugin_of(case)]
        # Firmware of boards takes seconds, and the key cache's programs are built before their recipe is there.
        if isinstance(target, OpteeMachineTarget | PlainTarget) and not case.operation.startswith("keycache"):
            recipes += target.recipes(case)
        said = expected([], unbuilt(self.images, recipes))
        if said and self.watcher.may_run:
            self.note(said)

    def _require_machine(self, case: Case, run: Run) -> None:
        """Raise WorldwiseError for a run's case that was measured on another machine than this checkout makes."""
        manifest = run.case(case.id)
        made = EMULATED[case.target].machine(case, self.images).images
        measured = manifest.images if manifest else {}
        differ = sorted(name for name in {*made, *measured} if made.get(name) != measured.get(name))
        if differ:
            by = f", which is of revision {run.manifest.git}" if run.manifest.git else ""
            raise WorldwiseError(
                f"{case.id}: run {run.id} measured another machine than this worldwise makes: "
                f"{', '.join(differ[:3])}{' and others' if len(differ) > 3 else ''} differ",
                f"explain it with the worldwise that measured it{by}",
            )

    def modelled(
        self, case: Case, run: Run | None, cores: Mapping[str, str], whole: bool = False, owners: bool = True
    ) -> "Modelled":
        """Run a case with models of cores, as `explainer` does; a flat program always whole. That of a board runs
        without its stacks if nobody asks for the owners of its cycles, which are the same.
        """
        if is_board(case.target) and not owners:
            expected = _own_records(run, case) if run else None
            records, regions = self.watcher.watch_flat(case, cores, self._fresh, expected)
            return Modelled(case, records, lambda core: flat_case(case, records, regions, core), None)
        explainer = self.explainer(case, run, cores, whole)
        flat = is_flat(case.target) or isinstance(explainer, FirmwareExplainer | Armv7Explainer)
        attribution = (FlatAttribution if flat else Attribution)(explainer)
        return Modelled(case, attribution.explainer.records, attribution.case, attribution)

    def predicted(
        self, case: Case, run: Run | None, cores: Mapping[str, str], whole: bool = False
    ) -> Mapping[str, PredictedCase]:
        """What models of cores say of a case, by core, as `modelled` makes it; what is kept of that is taken.

        Raises WorldwiseError as `modelled` does.
        """
        machine = EMULATED[case.target].machine(case, self.images)
        plugin = self.images.get(cycles_plugin() if is_board(case.target) else _plugin_of(case))
        parts = [case_digest(self.lab, machine, case), plugin.digest, _code_digest(), repr(self.rules)]
        parts += [json.dumps(dict(cores)), str(whole or is_flat(case.target))]
        # A run's case is followed in part, and its records were compared.
        parts += [file_sha256(_own_records(run, case))] if run else []
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        store = ModelStore(self.lab.cache)
        found = None if self._fresh else store.get(digest)
        if found is None:
            modelled = self.modelled(case, run, cores, whole, owners=False)
            found = {core: modelled.predicted(core) for core in cores}
            store.put(digest, found)
        return found

    def stop(self) -> None:
        """End every machine and build; from another thread, too."""
        self.emulator.stop()
        self.lab.stop()

    def prepare(self, cases: Sequence[Case]) -> None:
        """Build the plugins that cases need, which otherwise the first of them waits for."""
        for case in cases:
            self.images.get(cycles_plugin() if is_board(case.target) else _plugin_of(case))


def _own_kind(case: Case) -> type[OwnExplainer]:
    manifest = own_code.find(case.implementation).manifest
    if manifest.kind == own_code.FIRMWARE:
        return FirmwareExplainer
    if any(region.thread is not None or region.thread_name for region in manifest.regions.values()):
        return ThreadExplainer
    return Armv7Explainer if manifest.architecture == own_code.ARMV7 else OwnExplainer


def _plugin_of(case: Case) -> Recipe:
    """The plugin that follows a case's stacks."""
    name = case.implementation
    flat = is_flat(case.target) or own_code.is_firmware(name) or own_code.is_armv7(name)
    return flat_plugin() if flat else plugin_recipe()


@cache
def _code_digest() -> str:
    """Of the sources that make a prediction from a trace."""
    package = Path(worldwise.__file__).parent
    folders = (package / name for name in ("explain", "predict", "records", "machine/symbols"))
    return hashlib.sha256("".join(map(tree_digest, folders)).encode()).hexdigest()


@dataclass(frozen=True)
class Modelled:
    """A case on which models ran.

    Attributes:
        case: which one.
        records: what it sent, under the plugin as without.
        predicted: what the model of a core says of it.
        attribution: whose its cycles are; None for a flat program whose stacks were not followed.
    """

    case: Case
    records: CheckedRecords
    predicted: Callable[[str], PredictedCase]
    attribution: Attribution | None


def _own_records(run: Run, case: Case) -> Path:
    """The path of a run's records of a case. Raises WorldwiseError if they have changed since they were made."""
    run.case_file(case.id)
    return run.records_path(case.id)


def cases_of_run(run: Run, patterns: Sequence[str]) -> list[tuple[Case, Run | None]]:
    """The complete cases of a run that match, each with the run. Raises WorldwiseError if there is none."""
    run.require_instructions("what an emulated machine did")
    done = [one.case() for one in run.complete_cases()]
    chosen = [case for case in done if not patterns or any(fnmatchcase(case.id, pattern) for pattern in patterns)]
    if not chosen:
        known = ", ".join(case.id for case in done) or "none"
        raise WorldwiseError(
            f"run {run.id} has no complete case that matches {' or '.join(patterns)}", f"it has: {known}"
        )
    return [(case, run) for case in chosen]


def with_own(run: Run, directories: Iterable[Path]) -> None:
    """Register the user's own libraries that a run measured, until the command ends.

    They are those in `directories`, and for the others the copies that the cache kept; a library without either
    stays unknown. Raises WorldwiseError for a folder that is not a library, or not as the run measured it.
    """
    context = click.get_current_context()
    context.call_on_close(own_libraries.forget)
    brought = own_libraries.bring(directories)
    names = {one.name for one in brought}
    check_same(run.id, [entry for entry in run.manifest.own if entry.name in names], brought)
    kept = {entry.name: entry.digest for entry in run.manifest.own if entry.name not in names}
    brought += context.with_resource(own_libraries.kept(kept))
    own_libraries.announce(brought, lambda text: safe_text.echo(text, err=True))


def measures_of(case: Case, wanted: str | None) -> Mapping[str, tuple[str, ...]]:
    """Measure -> places, of a case: all, or the one that is wanted. Raises WorldwiseError if the case lacks it."""
    if not wanted:
        return case.measures
    if wanted not in case.measures:
        raise WorldwiseError(f"{case.id} has no measure {wanted}", f"it has: {', '.join(case.measures)}")
    return {wanted: case.measures[wanted]}


def outermost(places: Sequence[str]) -> str:
    """The place around all others."""
    return next((place for place in ("client", "linux") if place in places), places[-1])


def is_case(what: str) -> bool:
    """Whether a word names a case; else it names a run."""
    return "/" in what and not Path(what).is_dir()


def open_named(what: str, runs: Path) -> Run:
    """The run of that name. If there is none, the error says how to name a case, and which cases have the operation."""
    try:
        return open_run(what, runs)
    except NoRunError as error:
        operation = named_operation(what)
        cases = cases_of(operation) if operation else []
        if not cases:
            raise WorldwiseError(error.message, f"{error.hint}; or a case: TARGET/VARIANT/OPERATION") from error
        meant = "" if what == operation else f"Did you mean '{operation}'? "
        more = f" and {len(cases) - _MOST_CASES} more in the suites" if len(cases) > _MOST_CASES else ""
        listed = f"Of {operation} there are {', '.join(cases[:_MOST_CASES])}{more}"
        raise WorldwiseError(
            error.message, f"say a run, or a case: TARGET/VARIANT/OPERATION. {meant}{listed}"
        ) from error
