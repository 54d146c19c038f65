# SPDX-License-Identifier: BSD-2-Clause
"""From a program to cases: a first start says where all of it lies, the counted ones which regions it enters."""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.choices import close_names
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.libraries import own_code
from worldwise.libraries.own_code import COUNT, FIND, Code, CodeManifest, Mapped, Region
from worldwise.machine.elfasking import ask
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case
from worldwise.plan.spec import OWN
from worldwise.plan.tables import MAX_SAMPLES
from worldwise.run.code.counting import Counted, Counter, calls_of, find
from worldwise.run.code.order import ROOM, Wanted, matches, pack
from worldwise.targets.own_code import machine_of

# The whole program, and how the region is called that it is if it has no symbol of that name.
MAIN, ENTRY = "main", "entry"
# GlobalPlatform's functions of a client, and the one whose second argument is the command.
CALLS, INVOKE = "TEEC_*", "TEEC_InvokeCommand"
# What a compiler adds to the name of a function that it has made fit for its callers.
_CLONE = re.compile(r"(\.(constprop|isra|lto_priv)\.\d+)+$")
_MOST_REGIONS = 500
_MOST_CLOSE = 6
_PAGE = 4096


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


@dataclass(frozen=True)
class _Function:
    """A function of the program or of a library: its names, and where it begins in memory."""

    name: str
    image: str
    address: int


def prepare(
    wanted: Wanted,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
    fresh: bool = False,
) -> Ready:
    """Run the program and find its regions. Raises WorldwiseError."""
    wanted.check(images.lab)
    store = images.lab.cache / "own"
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=".making-") as temporary:
        work = Path(temporary, "code")
        work.mkdir()
        content = pack(wanted, images, work)
        name, command = wanted.case_name, [wanted.guest_path, *wanted.arguments]
        notify(f"starting {wanted.guest_path} once, to see where it lies")
        _, mapped = find(emulator, machine_of(images, wanted.kind, work, name, FIND), command)
        chosen = _regions(wanted, content, mapped)
        entry = _entry(content, mapped, wanted.guest_path)
        counter = Counter(emulator, images, notify)
        machine = machine_of(images, wanted.kind, work, name, COUNT)
        addresses = sorted({one.address for one in chosen.values()})
        counted = counter.count(machine, mapped, command, entry, addresses, fresh)
        regions, unentered, notes = _entered(chosen, counted, addresses, wanted)
        manifest = CodeManifest(
            format=1,
            name=name,
            kind=wanted.kind,
            command=command,
            lives=wanted.lives,
            entry=entry,
            addresses=addresses,
            regions=regions,
            mapped=mapped,
            notes=notes,
        )
        code = own_code.keep(work, manifest, store, wanted.program)
    return Ready(code, counted, unentered)


def _regions(wanted: Wanted, content: Mapping[str, bytes], mapped: Sequence[Mapped]) -> dict[str, _Function]:
    """The functions that were asked for, by the names of their cases."""
    patterns = wanted.regions or ((CALLS,) if wanted.application else (MAIN,))
    every = list(_functions(content, mapped))
    own = f"{ROOM}/{wanted.program.name}"
    found: dict[int, _Function] = {}
    for one in every:
        # A program's own main alone.
        if matches(one.name, patterns) and (wanted.regions or wanted.application or one.image == own):
            known = found.get(one.address)
            # Of a function with several names the one that was typed, else the shortest.
            if known is None or (one.name not in patterns, len(one.name)) < (
                known.name not in patterns,
                len(known.name),
            ):
                found[one.address] = one
    if not found and wanted.application and not wanted.regions:
        raise WorldwiseError(
            f"{wanted.program.name} has none of GlobalPlatform's functions {CALLS}, and has loaded no libteec.",
            "is it the client? a program without a TA is measured by --program",
        )
    if not found and not wanted.regions:
        # Stripped: from its first instruction on.
        found = {one.address: one for one in [_begin(content, mapped, own)]}
    missing = [pattern for pattern in wanted.regions if not any(matches(one.name, [pattern]) for one in every)]
    if missing:
        raise _no_function(missing[0], {one.name for one in every}, wanted)
    if len(found) > _MOST_REGIONS:
        raise WorldwiseError(
            f"--region {' '.join(wanted.regions)}: {len(found):,} functions have such names. Allowed: up to "
            f"{_MOST_REGIONS}.",
            "a longer pattern has fewer",
        )
    ordered = sorted(found.values(), key=lambda one: (one.name, one.address))
    return dict(zip(case_names((one.name, one.address) for one in ordered), ordered, strict=True))


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


def _functions(content: Mapping[str, bytes], mapped: Sequence[Mapped]) -> Iterator[_Function]:
    """Every function of every file that is mapped, where it is in memory."""
    for image, maps in _images(content, mapped):
        segments, functions = ask(content[image], ("segments",), ("named_functions",), what=files.quoted(image))
        bias = _bias(segments, maps)
        if bias is None:
            continue
        for name, start, _ in functions:
            address = start + bias
            # Data that says it is a function is in no executable memory.
            if any(one.begin <= address < one.end for one in maps):
                yield _Function(name, image, address)
                if (plain := _CLONE.sub("", name)) != name:
                    yield _Function(plain, image, address)


def _images(content: Mapping[str, bytes], mapped: Sequence[Mapped]) -> Iterator[tuple[str, list[Mapped]]]:
    for path in dict.fromkeys(one.path for one in mapped):
        if path.lstrip("/") in content:
            yield path.lstrip("/"), [one for one in mapped if one.path == path]


def _bias(segments: Iterable[Sequence[int]], maps: Sequence[Mapped]) -> int | None:
    """How far above its link address a file is."""
    for offset, size, address, *_ in segments:
        for one in maps:
            if offset - offset % _PAGE <= one.offset < offset + size:
                return one.begin - (address + one.offset - offset)
    return None


def _begin(content: Mapping[str, bytes], mapped: Sequence[Mapped], image: str) -> _Function:
    """The first instruction of a file."""
    for name, maps in _images(content, mapped):
        if name == image:
            segments, program = ask(content[image], ("segments",), ("program",), what=files.quoted(image))
            bias = _bias(segments, maps)
            if bias is not None:
                return _Function(ENTRY, image, program[2] + bias)
    raise WorldwiseError(f"/{image} is not in its own memory as it ends", "does it become another program?")


def _entry(content: Mapping[str, bytes], mapped: Sequence[Mapped], program: str) -> int:
    """Where the process begins in user space: in its loader, if it has one."""
    image = program.lstrip("/")
    loader = ask(content[image], ("program",), what=program)[0][3]
    return _begin(content, mapped, loader.lstrip("/") if loader else image).address


def _no_function(pattern: str, names: set[str], wanted: Wanted) -> WorldwiseError:
    close = close_names(pattern.strip("*?"), names, _MOST_CLOSE)
    inside = [name for name in sorted(names) if pattern.strip("*?").lower() in name.lower()][:_MOST_CLOSE]
    near = list(dict.fromkeys([*close, *inside]))[:_MOST_CLOSE]
    hint = f"the nearest names: {', '.join(map(files.quoted, near))}" if near else "no name is near it"
    if not names:
        hint = "its symbols were stripped: build it without -s; without --region the whole program is measured"
    return WorldwiseError(
        f"--region '{files.quoted(pattern)}': neither {wanted.program.name} nor a library that it has loaded "
        "has such a function. One that the compiler put into all its callers has no address: `-fno-inline` keeps it.",
        hint,
    )


def _entered(
    chosen: Mapping[str, _Function], counted: Counted, addresses: Sequence[int], wanted: Wanted
) -> tuple[dict[str, Region], list[str], list[str]]:
    """The regions with their calls; the functions that were not called; and what a reader must know of the others."""
    regions: dict[str, Region] = {}
    unentered: list[str] = []
    notes: list[str] = []
    never: list[str] = []
    for name, region in _by_command(chosen, counted, addresses):
        calls, others = calls_of(counted.trace, addresses, region)
        if not calls:
            (never if others else unentered).append(name)
            continue
        if others:
            notes.append(
                f"{name}: {others} calls did not return (longjmp, or the program ended in them) and are not counted"
            )
        if calls[0].how == "exit" and wanted.regions:
            notes.append(f"{name} never returned: it is counted until the program ended")
        if inner := sum(call.recursions for call in calls):
            notes.append(f"{name} calls itself: {inner:,} such calls are part of the ones around them")
        if len(calls) == 1:
            notes.append(
                f"{name} was called once in {len(counted.lives)} starts, so there is no second call to compare"
            )
            unentered.append(name)
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
    near = _near(wanted)
    said = files.quoted(counted.output[-300:].decode("utf-8", "replace"), 400)
    raise WorldwiseError(
        f"no region was entered{' twice' if notes else ''}: {wanted.program.name} did not call "
        f"{', '.join(unentered[:_MOST_CLOSE])}"
        f"{f' and {len(unentered) - _MOST_CLOSE} others' if len(unentered) > _MOST_CLOSE else ''}.",
        near,
        f"the end of what it printed: {said}" if said else "it printed nothing",
    )


def _by_command(
    chosen: Mapping[str, _Function], counted: Counted, addresses: Sequence[int]
) -> Iterator[tuple[str, Region]]:
    """The regions; one that invokes commands of a TA is a region for each command."""
    for name, one in chosen.items():
        region = Region(function=one.name[:1000], image=f"/{one.image}", address=one.address)
        if one.name != INVOKE:
            yield name, region
            continue
        calls, _ = calls_of(counted.trace, addresses, region)
        commands = sorted({call.given[1] & 0xFFFFFFFF for call in calls})
        for command in commands or (None,):
            yield name if command is None else f"{name}.{command}", region.model_copy(update={"command": command})


def _near(wanted: Wanted) -> str:
    if wanted.application and not wanted.regions:
        return "does the client need arguments? They stand behind --"
    if not wanted.regions:
        return "the program ended before its main function: look at what it printed"
    return (
        "do its arguments (behind --) lead there? The compiler may have put the function into its callers; "
        "a whole program is measured without --region, and its functions are listed by `worldwise explain latest`"
    )
