# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise run --program`: a user's own code, and the one screen that says what it costs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table, whole
from worldwise.cli.baselines import Baselines
from worldwise.cli.common.process import EXIT_ERROR
from worldwise.cli.common.progress import Notes
from worldwise.cli.report import Wanted as Shown
from worldwise.cli.report import show
from worldwise.cli.run_command.measurement import RunOrder, measure
from worldwise.cli.traces.plugin_runs import Session
from worldwise.cli.user_code.kinds import ApplicationOptions, Typed
from worldwise.cli.user_code.memory import memory_section, short, ta_words
from worldwise.explain.explanation import Explanation
from worldwise.explain.layers import load_rules
from worldwise.explain.own_code import LEAST_SHARE, PARTS, PLUGIN, REQUESTS, TASKS, OwnExplainer
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import open_lab
from worldwise.libraries import own_code
from worldwise.libraries.own_code import Code, Region, case_name
from worldwise.libraries.own_library.own_libraries import Brought
from worldwise.libraries.user_code.harness import firmware_line, harness_line
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case
from worldwise.plan.suite import FORMAT, Suite
from worldwise.report.formats.printed_sections import print_prose, print_section
from worldwise.run.code.application import application
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import ENTRY, MAIN, Ready, prepare
from worldwise.run.code.region_counts import calls_of, counts_of
from worldwise.run.folder.rundir import Run
from worldwise.run.options import MeasureOptions
from worldwise.targets.own_code import M_MACHINES

# Lines of a screen.
_MOST_REGIONS, _MOST_LAYERS, _MOST_FUNCTIONS, MOST_NOTES = 12, 5, 5, 5
# The median of an even number of calls lies between two of them.
_LOWER = "of an even number of calls, the lower of the two in the middle"


@dataclass(frozen=True)
class OwnCall:
    """What was typed, of what own code takes besides its own options."""

    runs: Path
    fresh: bool
    silence: int
    cores: Sequence[str]
    latest: bool
    baselines: Baselines
    stacks: Sequence[Brought] = ()


def measure_typed(own: Typed, arguments: Sequence[str], call: OwnCall, shown: Shown) -> int:
    """Measure the own code that was typed and print what it costs. Returns the exit status.

    Raises WorldwiseError, and click.UsageError for an application that is but half there.
    """
    micro, region, given = own.micro, own.region, own.given
    if micro.firmware:
        ends = (micro.until or "", micro.instructions or 0)
        if region.benchmarks and region.regions:
            raise click.UsageError("--benchmark and --region both choose what to measure: one run takes one of them")
        named = (region.name or "", region.benchmarks)
        firmware = WantedFirmware(micro.firmware, micro.machine, region.regions, *ends, *named)
        return _measure(lambda *tools: _firmware(firmware, call.fresh, *tools), call, shown)
    program = own.linux.program or own.tee.client
    if program is None or bool(own.tee.ta) != bool(own.tee.client):
        raise click.UsageError("an OP-TEE application is its TA and its client: --ta and --client name both")
    wanted = Wanted(
        program,
        tuple(arguments),
        region.regions,
        region.repeat,
        given.packages,
        given.libraries,
        given.files,
        own.linux.input_file,
        region.name or "",
        region.thread or "",
        loopback=given.net is not None,
    )
    if region.benchmarks:
        typed = {"ta": own.tee.ta, "region": region.regions, "thread": region.thread, "name": region.name}
        taken = [f"--{name}" for name, value in typed.items() if value] + ["arguments"] * bool(arguments)
        if taken:
            raise click.UsageError(
                f"--benchmark takes the regions, names and arguments that the program's harness has, so it does not "
                f"accept {', '.join(taken)}"
            )
        from worldwise.cli.user_code.benchmarks import measure_benchmarks

        return measure_benchmarks(wanted, region.benchmarks, call, shown)
    return _measure(lambda *tools: _program(wanted, own.tee, call.fresh, *tools), call, shown)


def _program(
    wanted: Wanted,
    tee: ApplicationOptions,
    fresh: bool,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
) -> tuple[Ready, str]:
    if not tee.ta:
        return prepare(wanted, images, emulator, notify, fresh), ""
    found = application(tee.ta, wanted.program, tee.log_level, images, tee.other_tas, tee.ta_target, tee.beside)
    name = wanted.name or case_name(found.name.removeprefix("optee_example_"))
    client = replace(wanted, program=Path(found.name), application=found, name=name)
    return prepare(client, images, emulator, notify, fresh), found.words


def _firmware(
    wanted: WantedFirmware, fresh: bool, images: ImageStore, emulator: Emulator, notify: Callable[[str], None]
) -> tuple[Ready, str]:
    words = f"on QEMU's {wanted.machine}: {M_MACHINES[wanted.machine]}" if wanted.machine in M_MACHINES else ""
    return prepare_firmware(wanted, images, emulator, notify, fresh), words


def _measure(
    made: Callable[[ImageStore, Emulator, Callable[[str], None]], tuple[Ready, str]], call: OwnCall, shown: Shown
) -> int:
    images, emulator = tools(call)
    ready, words = made(images, emulator, emulator.notify)
    run = "latest" if call.latest else f"latest --runs {call.runs}"

    def screen(made_run: Run, how: Shown) -> int:
        return call.baselines.judge(made_run, _screen(made_run, how, ready, run, words), how.form != "table")

    return measure_codes([ready], f"Your own code: {ready.code.name}", "--program", call, shown, screen)


def tools(call: OwnCall) -> tuple[ImageStore, Emulator]:
    """What counts own code, in the lab. Raises WorldwiseError if the lab cannot be made."""
    notes = Notes()
    lab = open_lab(notes.console)
    lab.ensure()
    lab.require_entry()
    return ImageStore(lab, notes.note), Emulator(lab, notes.note, silence_limit=call.silence)


def measure_codes(
    ready: Sequence[Ready],
    title: str,
    option: str,
    call: OwnCall,
    shown: Shown,
    screen: Callable[[Run, Shown], int],
) -> int:
    """Put own code that was counted into a run and print that by `screen`. Returns the exit status.

    No suite of the catalogue has own code: the run keeps a `title`, and the `option` of `run` that measures it.
    """
    codes = [one.code for one in ready]
    for code in codes:
        own_code.add(code)
        click.get_current_context().call_on_close(lambda name=code.name: own_code.remove(name))
    cases = [case for one in ready for case in one.cases]
    cores: Mapping[str, str] = {}
    if call.cores:
        from worldwise.cli.traces.further_predictions import asked

        cores = asked(call.cores, cases)
    text = f"# No suite: own code, measured by `worldwise run {option}`.\nformat = {FORMAT}\n"
    suite = Suite("own", title, tuple(cases), None, "", text)
    order = RunOrder(suite, cases, (), None, None, [*codes, *call.stacks], call.runs, None, verify=False, cores=cores)
    return measure(order, MeasureOptions(reuse=False, jobs=1, silence_limit=call.silence), shown, screen)


def _screen(run: Run, shown: Shown, ready: Ready, name: str, words: str) -> int:
    """One screen: the regions by what they cost, where the dearest went, and how to go on."""
    if shown.form != "table" or shown.full or shown.output:
        return show(run, shown)
    console = safe_text.console()
    code, lives = ready.code, ready.counted.lives
    totals = {name: counts_of(code, ready.counted.trace, region) for name, region in code.manifest.regions.items()}
    # Of firmware one power-on is looked at: each is the same.
    seen = lives[:1] if code.manifest.kind == own_code.FIRMWARE else lives
    every = sum(life.end - life.begin for life in seen)
    shares = {name: _executed(ready, region) / every for name, region in code.manifest.regions.items()}
    ranked = sorted(totals, key=lambda region: (-shares[region], region))
    first, *rest = (life.end - life.begin for life in lives)
    print_prose(console, _began(ready, first, rest), "bold")
    if words:
        print_prose(console, f"{words[0].upper()}{words[1:]}.")
    rows = [
        [_shown(code, region), *cells_of(totals[region]), f"{100 * shares[region]:.1f}"]
        for region in ranked[:_MOST_REGIONS]
    ]
    left = len(ranked) - _MOST_REGIONS
    notes = [f"({left} more regions in the report)"] if left > 0 else []
    notes.append("share: of all instructions of all starts. A region inside another counts in both.")
    console.print()
    print_section(
        Section(
            "Regions, the dearest first",
            Table(["region", *COUNTS, "share\n%"], rows, 1),
            notes,
        ),
        console,
    )
    dearest = next(case for case in ready.cases if case.operation == ranked[0])
    explainer, explanation = _explained(run, dearest)
    parts = _parts(explainer, ready, ranked[:_MOST_REGIONS]) if code.manifest.kind == own_code.TA else []
    memory = memory_section(explainer, ready, [(name, _shown(code, name)) for name in ranked[:_MOST_LAYERS]])
    for section in (*parts, *_where(explanation, _shown(code, ranked[0]), totals[ranked[0]]), memory):
        console.print()
        print_section(section, console)
    console.print()
    for line in (
        *ta_words(explainer, ready),
        *_missed(explainer, ready, ranked),
        *code.manifest.notes[:MOST_NOTES],
        *unentered(ready),
    ):
        print_prose(console, line)
    console.print()
    # Of a whole program with a harness nearly all is the harness's own.
    whole = code.manifest.kind == own_code.PROGRAM and set(code.manifest.regions) <= {MAIN, ENTRY}
    line = harness_line(code.origin, code.manifest.command[1:]) if whole else ""
    # Of the manifest's command of firmware the second word is the machine.
    if code.manifest.kind == own_code.FIRMWARE and set(code.manifest.regions) <= {MAIN}:
        line = firmware_line(code.origin, code.manifest.command[1])
    if line:
        console.print(line, soft_wrap=True, markup=False)
    for line in (
        f"worldwise explain {name} --case '{dearest.id}'",
        f"worldwise explain {name} --case '{dearest.id}' --format flame --output {dearest.operation}.svg",
        _third(code, name, dearest),
    ):
        # On one line, to be copied.
        console.print(line, soft_wrap=True, markup=False)
    return EXIT_ERROR if run.state == "failed" else 0


def _shown(code: Code, region: str) -> str:
    """How a region is called in a table: by its function's name, which a case's name cannot have in C++ and Rust."""
    regions = code.manifest.regions
    name = regions[region].function
    if regions[region].command is not None or regions[region].target or name == region:
        return region
    same = sum(other.function == name for other in regions.values()) > 1
    return f"{short(name)} ({region})" if same else short(name)


def _executed(ready: Ready, region: Region) -> int:
    """The instructions of all calls of a region; what those of several threads have in common counts once."""
    trace = ready.counted.trace
    calls, _ = calls_of(trace, ready.code.manifest.addresses, region)
    if not trace.shared:
        return sum(one.instructions for one in calls)
    inside = {number for one in calls for number in trace.with_inner(one)}
    rows = (row for number in inside for row in trace.own.get(number, ()))
    return sum(row.times * trace.blocks[row.block].instructions for row in rows)


def _third(code: Code, name: str, dearest: Case) -> str:
    """How to go on from own code, besides by taking it apart."""
    if code.manifest.kind == own_code.FIRMWARE:
        # The words of a machine begin with its core: `Cortex-M4, 4 MiB ...`.
        core = M_MACHINES[code.manifest.command[1]].replace(",", " ").split()[0].lower()
    else:
        core = "cortex-a7" if code.manifest.architecture == own_code.ARMV7 else "cortex-a72"
    return f"worldwise predict {name} --case '{dearest.id}' --core {core}"


def _began(ready: Ready, first: int, later: Sequence[int]) -> str:
    """What was run, in a sentence."""
    origin = ready.code.origin.name
    if ready.code.manifest.kind == own_code.FIRMWARE:
        return f"{origin}: {first:,} instructions from its reset to its end; a second power-on was the same."
    return (
        f"{origin}: started {len(ready.counted.lives)} times on one machine; the first start took {first:,} "
        f"instructions, a later one {whole(_median(later))} (from fork to exit, with its loader and the kernel)."
    )


def _median(values: Sequence[int]) -> float:
    from statistics import median

    return float(median(values))


# The columns of `cells_of`.
COUNTS = ("calls", "first\ninstr", "median\ninstr", "worst\ninstr")


def cells_of(counts: Sequence[int]) -> list[str]:
    """How many calls of a region there were, the first, the median of the later ones, and the worst."""
    return [f"{len(counts):,}", f"{counts[0]:,}", whole(_median(counts[1:])), f"{max(counts):,}"]


def _explained(run: Run, case: Case) -> tuple[OwnExplainer, Explanation]:
    explainer = Session(load_rules(), fresh=False).explainer(case, run)
    if not isinstance(explainer, OwnExplainer):
        raise WorldwiseError(f"{case.id} is no own code")
    return explainer, explainer.explain(explainer.sample(*next((m, p[-1]) for m, p in case.measures.items())))


def _where(explanation: Explanation, region: str, counts: Sequence[int]) -> list[Section]:
    """Where the median call of a region went: five layers, five functions; `counts` are those of its calls."""
    total = explanation.instructions
    notes = [] if total == _median(counts[1:]) else [f"{_LOWER}."]
    layers = sorted(explanation.layers.items(), key=lambda item: (-item[1].self, item[0]))
    functions = sorted(explanation.functions.items(), key=lambda item: (-item[1].self, item[0]))

    def cells(name: str, count: int) -> list[str]:
        return [name, f"{count:,}", f"{100 * count / total:.1f}"]

    return [
        Section(
            f"Where the median call of {region} went: {total:,} instructions",
            Table(["layer", "instr", "%"], [cells(name, share.self) for name, share in layers[:_MOST_LAYERS]], 1),
            notes,
        ),
        Section(
            "Its functions",
            Table(
                ["function (file)", "instr", "%"],
                [cells(f"{short(name)} ({image})", share.self) for (name, image), share in functions[:_MOST_FUNCTIONS]],
                1,
            ),
        ),
    ]


def _parts(explainer: OwnExplainer, ready: Ready, regions: Sequence[str]) -> list[Section]:
    """Of the median call of each region, the part of each side of the border, and what OP-TEE asked Linux for."""
    manifest = ready.code.manifest
    split: dict[str, Mapping[str, int]] = {}
    asked, between = {}, []
    for region in regions:
        calls, _ = calls_of(explainer.trace, manifest.addresses, manifest.regions[region])
        warm = sorted(calls[1:], key=lambda one: one.instructions)
        middle = warm[(len(warm) - 1) // 2]
        if middle.instructions != _median([one.instructions for one in warm]):
            between.append(region)
        split[region] = explainer.parts(middle)
        if requests := explainer.requests(middle):
            asked[region] = requests
    parts = [*PARTS, *([TASKS] if any(TASKS in found for found in split.values()) else [])]
    rows = [[region, *(f"{found.get(part, 0):,}" for part in parts)] for region, found in split.items()]
    notes = [
        "client: with the C library; core: OP-TEE's, with what it does for the TA; TA: with ldelf, which loads it; "
        "supplicant: the process, and Linux on its behalf."
    ]
    if between:
        notes.append(f"{', '.join(between)}: {_LOWER}.")
    sections = [
        Section("Where the median call of each went, in instructions", Table(["region", *parts], rows, 1), notes)
    ]
    if asked:
        kinds = [kind for kind in REQUESTS if any(one[kind] for one in asked.values())]
        lines = [[region, *(f"{one[kind]:,}" for kind in kinds)] for region, one in asked.items()]
        of_requests = [
            "of Linux and tee-supplicant, above; passing on: of requests to tee-supplicant, and of its answers."
        ]
        if PLUGIN in kinds:
            of_requests.append(
                "plugin: tee-supplicant has no plugin on this machine and refuses the TA's request to a plugin."
            )
        title = "What OP-TEE asked Linux for in it, in instructions"
        sections.append(Section(title, Table(["region", *kinds], lines, 1), of_requests))
    return sections


def _missed(explainer: OwnExplainer, ready: Ready, regions: Sequence[str]) -> list[str]:
    """A line for each region that holds little of what was executed around its calls."""
    found = []
    manifest = ready.code.manifest
    for region in regions:
        calls, _ = calls_of(explainer.trace, manifest.addresses, manifest.regions[region])
        share, rest = explainer.missed(calls)
        if share < LEAST_SHARE:
            where = ", ".join(short(name) for name, _ in rest)
            found.append(
                f"{_shown(ready.code, region)} holds {100 * share:.1f} % of the instructions from its first entry to "
                f"its last return; the rest was in {where}."
            )
    return found[:MOST_NOTES]


def unentered(ready: Ready) -> list[str]:
    """A line for what was asked for by a pattern and not called."""
    names = ready.unentered
    if not names:
        return []
    more = f" and {len(names) - MOST_NOTES} others" if len(names) > MOST_NOTES else ""
    return [f"Never called, or once alone: {', '.join(names[:MOST_NOTES])}{more}."]
