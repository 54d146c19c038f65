# SPDX-License-Identifier: BSD-2-Clause
"""From a program to cases: a first start says where all of it lies, the counted ones which regions it enters."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries import own_code
from worldwise.libraries.own_code import COUNT, FIND, Code, CodeManifest, Mapped, Mark, Region
from worldwise.libraries.user_code.kinds import TA_ARM32
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.machine.symbols.mangled_names import Demangle, demangler
from worldwise.plan.case import Case
from worldwise.plan.spec import OWN
from worldwise.plan.suite_file.tables import MAX_SAMPLES
from worldwise.records.trace import Trace
from worldwise.records.trace_records import Pass
from worldwise.run.code.application import Application
from worldwise.run.code.crash import bias_of, images_in
from worldwise.run.code.function_names import (
    Function,
    as_functions,
    functions_of,
    inlined_words,
    is_asked,
    marks_of,
    matches,
    nearest_words,
)
from worldwise.run.code.heap import placed_functions
from worldwise.run.code.order import ROOM, Wanted, architecture_of, pack
from worldwise.run.code.panics import panic_notes
from worldwise.run.code.region_counts import Counted, Counter, calls_of, find, printed_end
from worldwise.run.code.ta.calls import name_of, ta_targets
from worldwise.run.code.ta.functions import TaFunctions, prove, ta_functions
from worldwise.targets.own_code import machine_of

# The whole program, and how the region is called that it is if it has no symbol of that name.
MAIN, ENTRY = "main", "entry"
# GlobalPlatform's functions of a client, and the one whose second argument is the command.
CALLS, INVOKE = "TEEC_*", "TEEC_InvokeCommand"
_MOST_REGIONS = 500
_MOST_CLOSE = 6
# Linux cuts the names of threads there.
_MOST_THREAD_NAME = 15


@dataclass(frozen=True)
class Ready:
    """Own code that was counted: what the cache keeps of it, and what it did.

    Attributes:
        code: it.
        counted: what its run left.
        unentered: the functions that were asked for by a pattern, and that were never called.
    """

    code: Code
    counted: Counted
    unentered: Sequence[str]

    @property
    def cases(self) -> list[Case]:
        """A case for each region."""
        return [
            Case(OWN, self.code.name, "", name, region.calls - 1, 0)
            for name, region in self.code.manifest.regions.items()
        ]


def prepare(
    wanted: Wanted,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
    fresh: bool = False,
) -> Ready:
    """Run the program and find its regions. Raises WorldwiseError."""
    wanted.check(images.lab)
    demangle = demangler(images.lab)
    of_ta = ta_functions(wanted.application, wanted.regions, demangle)
    store = images.lab.cache / "own"
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=".making-") as temporary:
        work = Path(temporary, "code")
        work.mkdir()
        content = pack(wanted, images, work)
        name, command = wanted.case_name, [wanted.guest_path, *wanted.arguments]
        notify(f"starting {wanted.guest_path} once, to see where it lies")
        architecture = architecture_of(content, wanted)
        _, mapped = find(
            emulator, machine_of(images, wanted.kind, work, name, FIND, architecture, wanted.loopback), command
        )
        every = functions_of(placed_functions(content, mapped), demangle, wanted.regions)
        own = _own(content, wanted)
        thread = None if _is_name(wanted, every) else _thread(wanted, every, architecture)
        marks = _marks(wanted, own, mapped)
        chosen = _regions(wanted, content, mapped, every, demangle, [mark.name for mark in marks], of_ta)
        marks += of_ta.marks
        if marks and not wanted.regions and not wanted.application:
            # Whoever marks a part of it asks for that.
            chosen = {}
        ta_file = next(iter(wanted.application.guest_files)) if wanted.application else ""
        chosen |= _named(as_functions(marks, ta_file), chosen)
        if wanted.application and not wanted.regions:
            chosen |= {
                name: Function(name, "tee", own_code.TA_CALLS + place, frozenset())
                for place, name in enumerate(own_code.TA_FUNCTIONS)
            }
        entry = _entry(content, mapped, wanted.guest_path)
        counter = Counter(emulator, images, notify)
        machine = machine_of(images, wanted.kind, work, name, COUNT, architecture, wanted.loopback)
        addresses = sorted({one.address for one in chosen.values()})
        labels = own_code.labels_of(addresses, marks)
        counted = counter.count(machine, mapped, command, entry, addresses, fresh, labels=labels)
        prove(counted.trace, addresses, marks)
        try:
            regions, unentered, notes = _entered(chosen, counted, addresses, wanted, thread)
        except _NoneEnteredError as error:
            raise error.told(wanted, counted, every, own, demangle) from None
        manifest = CodeManifest(
            format=1,
            name=name,
            kind=wanted.kind,
            architecture=architecture,
            loopback=wanted.loopback,
            command=command,
            lives=wanted.lives,
            entry=entry,
            addresses=addresses,
            regions=regions,
            mapped=mapped,
            marks=marks,
            notes=[*notes, *of_ta.notes],
        )
        code = own_code.keep(work, manifest, store, wanted.program)
    return Ready(code, counted, unentered)


def _regions(
    wanted: Wanted,
    content: Mapping[str, bytes],
    mapped: Sequence[Mapped],
    every: Sequence[Function],
    demangle: Demangle,
    marks: Sequence[str],
    of_ta: TaFunctions,
) -> dict[str, Function]:
    """The functions that were asked for, by the names of their cases; `marks` are names that are asked for besides."""
    patterns = wanted.regions or ((CALLS,) if wanted.application else (wanted.thread or MAIN,))
    own = f"{ROOM}/{wanted.program.name}"
    # A program's own main alone.
    anywhere = wanted.regions or wanted.application
    found = [one for one in every if is_asked(one, patterns) and (anywhere or one.image == own)]
    if not found and wanted.application and not wanted.regions:
        raise WorldwiseError(
            f"{wanted.program.name} has none of GlobalPlatform's functions {CALLS}, and has loaded no libteec.",
            "is it the client? use --program for a program without a TA",
        )
    if not found and not wanted.regions:
        # Stripped: from its first instruction on.
        found = [_begin(content, mapped, own)]
    missing = [
        pattern
        for pattern in wanted.regions
        if not any(is_asked(one, [pattern]) for one in (*every, *of_ta.every))
        and not any(matches(one, [pattern]) for one in marks)
    ]
    if missing:
        raise _no_function(missing[0], every, wanted, _own(content, wanted), demangle, of_ta)
    if len(found) > _MOST_REGIONS:
        raise WorldwiseError(
            f"--region {' '.join(wanted.regions)}: {len(found):,} functions have such names. Allowed: up to "
            f"{_MOST_REGIONS}.",
            "a longer pattern matches fewer",
        )
    ordered = sorted(found, key=lambda one: (one.name, one.address))
    return dict(zip(case_names((one.name, one.address) for one in ordered), ordered, strict=True))


def _is_name(wanted: Wanted, every: Sequence[Function]) -> bool:
    """Whether the thread that was asked for can only be one by its name: no function has it."""
    return bool(wanted.thread and (wanted.regions or wanted.application)) and not any(
        is_asked(one, [wanted.thread]) for one in every
    )


def _thread(wanted: Wanted, every: Sequence[Function], architecture: str) -> int | None:
    """Where the function is that the thread begins with; None if those of all threads were asked for."""
    if not wanted.thread:
        return None
    if architecture == own_code.ARMV7:
        raise WorldwiseError("--thread: the threads of a program for 32-bit Arm cannot be measured one by one.")
    found = [one for one in every if is_asked(one, [wanted.thread])]
    if len(found) == 1:
        return found[0].address
    names = ", ".join(files.quoted(one.name) for one in found[:_MOST_CLOSE])
    raise WorldwiseError(
        f"--thread '{files.quoted(wanted.thread)}': "
        + (f"{len(found)} functions have such names: {names}." if found else "there is no such function."),
        "name the function that pthread_create gets, or main for the first thread; a thread that names itself needs "
        "--region too" + (f"; {near}" if (near := nearest_words(wanted.thread, every)) and not found else ""),
    )


def _marks(wanted: Wanted, own: Mapping[str, bytes], mapped: Sequence[Mapped]) -> list[Mark]:
    """The marks in the user's own files that were asked for: all, if nothing was."""
    placed = {}
    for image, maps in images_in(own, mapped):
        (segments,) = ask(own[image], ("segments",), what=files.quoted(image))
        bias = bias_of(segments, maps)
        if bias is not None:
            placed[image] = own[image], bias
    found = marks_of(placed, wanted.application.elf if wanted.application else b"")
    return [one for one in found if not wanted.regions or matches(one.name, wanted.regions)]


def _named(functions: Sequence[Function], others: Mapping[str, Function]) -> dict[str, Function]:
    """Functions by the names of their cases, none of which another one has."""
    taken = [(one.name, one.address) for one in others.values()]
    names = list(case_names([*taken, *((one.name, one.address) for one in functions)]))
    return dict(zip(names[len(taken) :], functions, strict=True))


def _own(content: Mapping[str, bytes], wanted: Wanted) -> dict[str, bytes]:
    """The program and the libraries that the user gave: what may have debug information."""
    names = {wanted.program.name, *(path.name for path in wanted.libraries)}
    return {name: data for name, data in content.items() if name.rpartition("/")[2] in names}


def case_names(functions: Iterable[tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """Functions, by name and address, by how each is called in its case's name, which is a file's too."""
    named: dict[str, tuple[str, int]] = {}
    for function, address in functions:
        plain = "".join(one if (one.isalnum() and one.isascii()) or one in "._-" else "-" for one in function)
        plain = plain.lstrip("._-")[:180] or f"{address:x}"
        number, name = 1, plain
        while name in named:
            number += 1
            name = f"{plain}.{number}"
        named[name] = function, address
    return named


def _begin(content: Mapping[str, bytes], mapped: Sequence[Mapped], image: str) -> Function:
    """The first instruction of a file."""
    for name, maps in images_in(content, mapped):
        if name == image:
            segments, program = ask(content[image], ("segments",), ("program",), what=files.quoted(image))
            bias = bias_of(segments, maps)
            if bias is not None:
                # The lowest bit marks T32, whose instructions stand at even addresses as all others do.
                return Function(ENTRY, image, (program[2] & ~1) + bias, frozenset((ENTRY,)))
    raise WorldwiseError(f"/{image} is not in its own memory as it ends", "does it become another program?")


def _entry(content: Mapping[str, bytes], mapped: Sequence[Mapped], program: str) -> int:
    """Where the process begins in user space: in its loader, if it has one."""
    image = program.lstrip("/")
    loader = ask(content[image], ("program",), what=program)[0][3]
    return _begin(content, mapped, loader.lstrip("/") if loader else image).address


def _no_function(
    pattern: str,
    every: Sequence[Function],
    wanted: Wanted,
    own: Mapping[str, bytes],
    demangle: Demangle,
    of_ta: TaFunctions,
) -> WorldwiseError:
    hint = nearest_words(pattern, (*every, *of_ta.every)) or "no name is near it"
    if not every:
        hint = "its symbols were stripped: build it without -s; without --region the whole program is measured"
    whose = f"neither {wanted.program.name} nor a library that it has loaded"
    if wanted.application:
        own = {**own, "the TA": wanted.application.elf}
        whose += f", nor the TA {wanted.application.uuid}"
    inlined = inlined_words(pattern, own, demangle)
    why = (
        f"{inlined[0].upper()}{inlined[1:]}, so it has no address: `-fno-inline` keeps it, or choose those."
        if inlined
        else "One that the compiler put into all its callers has no address: `-fno-inline` keeps it."
    )
    if wanted.application and not of_ta.every:
        why = "The TA's symbols were stripped, so no function of it has a name."
        hint = f"name the TA's folder, and worldwise builds it with them: --ta DIR; {hint}"
    return WorldwiseError(
        f"--region '{files.quoted(pattern)}': {whose} has such a function. {why}",
        hint,
    )


class _NoneEnteredError(Exception):
    """No region was entered, or none twice: the functions that were not, and whether one was once."""

    def __init__(self, unentered: Sequence[str], once: bool) -> None:
        super().__init__()
        self._unentered = unentered
        self._once = once

    def told(
        self,
        wanted: Wanted,
        counted: Counted,
        every: Sequence[Function],
        own: Mapping[str, bytes],
        demangle: Demangle,
    ) -> WorldwiseError:
        """What the user is told: what the compiler did with it, and the nearest names of what was executed."""
        names = self._unentered
        more = f" and {len(names) - _MOST_CLOSE} others" if len(names) > _MOST_CLOSE else ""
        inlined = "".join(
            f" {said[0].upper()}{said[1:]}."
            for pattern in wanted.regions
            if (said := inlined_words(pattern, own, demangle))
        )
        executed = {block.pc for block in counted.trace.blocks.values()}
        entered = [one for one in every if one.address in executed]
        near = next(filter(None, (nearest_words(pattern, entered) for pattern in wanted.regions)), "")
        thread = f" in the thread of {wanted.thread}" if wanted.thread else ""
        if _is_name(wanted, every):
            named = sorted({one.thread for one in counted.trace.passes if one.thread})
            listed = ", ".join(map(files.quoted, named[:_MOST_CLOSE]))
            there = (
                f"threads with such calls are called {listed}" if named else "no thread with such calls was given one"
            )
            thread = f" in a thread of the name {wanted.thread}, and nobody has such a function ({there})"
        return WorldwiseError(
            f"no region was entered{' twice' if self._once else ''}: {wanted.program.name} did not call "
            f"{', '.join(names[:_MOST_CLOSE])}{more}{thread}.{inlined}",
            f"of the functions that it executed, {near}" if near else _near(wanted),
            printed_end(counted.output),
        )


def _entered(
    chosen: Mapping[str, Function],
    counted: Counted,
    addresses: Sequence[int],
    wanted: Wanted,
    thread: int | None,
) -> tuple[dict[str, Region], list[str], list[str]]:
    """The regions with their calls; the functions that were not called; and what a reader must know of the others."""
    regions: dict[str, Region] = {}
    unentered: list[str] = []
    notes: list[str] = _failed(counted, wanted)
    if wanted.application:
        notes += panic_notes(counted.directory, wanted.application)
    never: list[str] = []
    once = False
    of_name = wanted.thread if thread is None else ""
    for name, region in _by_command(chosen, counted, addresses, thread, of_name):
        calls, others = calls_of(counted.trace, addresses, region)
        if wanted.thread:
            of_all = region.model_copy(update={"thread": None, "thread_name": ""})
            every, more = calls_of(counted.trace, addresses, of_all)
            if left := len(every) + more - len(calls) - others:
                notes.append(f"{name}: {left:,} calls are of other threads than that of {wanted.thread}: left out")
        if not calls:
            (never if others else unentered).append(name)
            continue
        if others:
            notes.append(
                f"{name}: {others} calls did not return (longjmp, or the program ended in them) and are not counted"
            )
        if calls[0].how == "exit" and wanted.regions:
            notes.append(f"{name} never returned: it is counted until the program ended")
        if beside := beside_of(calls):
            notes.append(
                f"{name}: in {beside:,} of {len(calls):,} calls another thread was in it too; what that one executed "
                "meanwhile is the layer other tasks"
            )
        if inner := sum(call.recursions for call in calls):
            notes.append(f"{name} calls itself: {inner:,} such calls are part of the ones around them")
        if len(calls) == 1:
            notes.append(
                f"{name} was called once in {len(counted.lives)} starts, so there is no second call to compare"
            )
            unentered.append(name)
            once = True
            continue
        if len(calls) > MAX_SAMPLES:
            raise WorldwiseError(
                f"{name} was called {len(calls):,} times. Allowed: up to {MAX_SAMPLES:,}.",
                "choose a function further out, or let the program do less",
            )
        regions[name] = region.model_copy(update={"calls": len(calls)})
    if regions:
        return regions, unentered, notes
    if never:
        raise WorldwiseError(
            f"{', '.join(never)}: was called, and no call returned before the program ended.",
            "choose a function that returns; without --region the whole program is measured",
        )
    raise _NoneEnteredError(unentered, once)


def _failed(counted: Counted, wanted: Wanted) -> list[str]:
    """What a reader must know of a program that says that it failed."""
    failed = [life.status for life in counted.lives if life.status]
    if not failed:
        return []
    said = files.quoted(counted.output[-200:].decode("utf-8", "replace"), 300)
    notes = [
        f"{wanted.program.name} ended with status {failed[0]} in {len(failed)} of {len(counted.lives)} starts; the end "
        f"of what it printed: {said or 'nothing'}"
    ]
    if (application := wanted.application) and not _is_entered(application, counted.trace):
        notes.append(
            f"the TA {application.uuid} was not entered: the client opens a session of another UUID, or OP-TEE refused "
            "to load it"
        )
    return notes


def _is_entered(application: Application, trace: Trace) -> bool:
    """Whether the TA was entered. Of one of 32 bits nobody sees the stack; all that is of 32 bits is a TA's."""
    if application.target == TA_ARM32:
        return any(block.set != "a64" for block in trace.blocks.values())
    return any(one.ta_stack is not None for one in trace.passes)


def _by_command(
    chosen: Mapping[str, Function], counted: Counted, addresses: Sequence[int], thread: int | None, thread_name: str
) -> Iterator[tuple[str, Region]]:
    """The regions; one that invokes commands of a TA is a region for each command."""
    for name, one in chosen.items():
        region = Region(
            function=one.name[:1000],
            image=f"/{one.image}",
            address=one.address,
            thread=thread,
            thread_name=thread_name[:_MOST_THREAD_NAME],
        )
        if one.address >= own_code.TA_CALLS:
            yield from _by_target(name, region, counted, addresses)
            continue
        if one.name != INVOKE:
            yield name, region
            continue
        calls, _ = calls_of(counted.trace, addresses, region)
        commands = sorted({call.given[1] & 0xFFFFFFFF for call in calls})
        for command in commands or (None,):
            yield name if command is None else f"{name}.{command}", region.model_copy(update={"command": command})


def _by_target(name: str, region: Region, counted: Counted, addresses: Sequence[int]) -> Iterator[tuple[str, Region]]:
    """The regions of what TAs ask of other TAs: each TA that is called is one, or each of its commands."""
    targets = ta_targets(counted.trace, addresses)
    invokes = name == own_code.INVOKES
    calls, _ = calls_of(counted.trace, addresses, region)
    for target, command in sorted({(targets[one.id], one.given[1] & 0xFFFFFFFF if invokes else -1) for one in calls}):
        of = region.model_copy(update={"target": target, "command": command if invokes else None})
        yield f"{name}.{name_of(target)}{f'.{command}' if invokes else ''}", of


def beside_of(calls: Sequence[Pass]) -> int:
    """How many of the calls, in the order of their begins, are at the same time as others of them: other threads'."""
    found: set[int] = set()
    longest = calls[0]
    for one in calls[1:]:
        if one.begin < longest.end:
            found |= {longest.id, one.id}
        longest = max(longest, one, key=lambda each: each.end)
    return len(found)


def _near(wanted: Wanted) -> str:
    if wanted.application and not wanted.regions:
        return "does the client need arguments? They stand behind --"
    if not wanted.regions:
        return "the program ended before its main function: look at its output"
    return (
        "do its arguments (behind --) lead there? The compiler may have put the function into its callers; "
        "a whole program is measured without --region, and its functions are listed by `worldwise explain latest`"
    )
