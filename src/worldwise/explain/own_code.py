# SPDX-License-Identifier: BSD-2-Clause
"""Explaining own code: its layers are its files, and it runs as a process that another one started."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Self

from worldwise.base.errors import WorldwiseError
from worldwise.explain.explanation import Explanation
from worldwise.explain.instruction_mix import PeakStack
from worldwise.explain.layers import UNKNOWN, Rule, Rules
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import StackFrame, Stacks
from worldwise.libraries.user_code.kinds import OTHER_TA
from worldwise.machine.symbols.own_program import LAUNCHER
from worldwise.machine.symbols.space import Level
from worldwise.plan.case import Case
from worldwise.records.check import CheckedRecords
from worldwise.records.models import Sample
from worldwise.records.trace_records import Context, Frame, Pass

# Images that the rules of the repository's own machines know, and that are the same here.
_KNOWN = ("libc", "ld.so", "libteec", "tee-supplicant")
_LAUNCHER_LAYER = "launcher"
_MOST_NAMED = 3
_NAMELESS = "(no symbols)"
_SUPPLICANT = "[task: tee-supplicant]"
# The parts of a call of a TA. Of libteec alone what is in that file; the C library is the client's.
CLIENT, LIBTEEC, KERNEL, MONITOR, CORE, TRUSTED = "client", "libteec", "Linux", "monitor", "core", "TA"
SUPPLICANT = "supplicant"
# What OP-TEE asks Linux for in a call, by a function on the stack that serves it: tee-supplicant's, and the driver's.
LOAD, STORAGE, RPMB, SOCKET, MEMORY = "load", "storage", "RPMB", "socket", "memory"
PLUGIN, PROFILE, PASSING = "plugin", "profile", "passing on"
REQUESTS = (LOAD, STORAGE, RPMB, SOCKET, MEMORY, PLUGIN, PROFILE, PASSING)
_SERVED_BY = {
    "TEECI_LoadSecureModule": LOAD,
    "try_load_secure_module": LOAD,
    "tee_supp_fs_process": STORAGE,
    "rpmb_process_request": RPMB,
    "tee_socket_process": SOCKET,
    "plugin_process": PLUGIN,
    "prof_process": PROFILE,
    "optee_rpc_cmd_alloc_suppl": MEMORY,
    "optee_rpc_cmd_free_suppl": MEMORY,
    "tee_shm_alloc_priv_buf": MEMORY,
    "tee_shm_free": MEMORY,
    "handle_rpc_supp_cmd": PASSING,
    "optee_rpc_cmd": PASSING,
    "optee_supp_thrd_req": PASSING,
}
# Of the client itself these are no request of the secure world: a shared memory of its own.
_ASKED_BY = ("optee_rpc_cmd", "optee_smc_do_call_with_arg")
FIRMWARE, INTERRUPTS, TASKS = "firmware", "interrupts", "other tasks"
PARTS = (CLIENT, LIBTEEC, KERNEL, MONITOR, CORE, TRUSTED, SUPPLICANT)
# A region that holds less of what was executed around its calls is likely not what somebody meant.
LEAST_SHARE = 0.1


def with_images(rules: Rules, images: Sequence[str]) -> Rules:
    """The rules, with a layer for each image of own code, and one for what starts it."""
    own = [name for name in images if name not in _KNOWN]
    added = [Rule(name, (name,), (), (), 0) for name in own]
    added.append(Rule(_LAUNCHER_LAYER, (LAUNCHER,), (), (), 0))
    return replace(rules, rules=(*added, *rules.rules))


def part_of(stack: tuple[StackFrame, ...]) -> str:
    """Which of PARTS the last function of a stack is, of a call of a TA; TASKS for what another thread does."""
    leaf = stack[-1]
    if any(frame.function == _SUPPLICANT for frame in stack):
        return SUPPLICANT
    if leaf.layer == TASKS:
        return TASKS
    if leaf.world == "monitor":
        return MONITOR
    if leaf.world == "secure":
        return CORE if leaf.image == "tee" else TRUSTED
    if leaf.image.startswith("linux"):
        return KERNEL
    return LIBTEEC if leaf.image == LIBTEEC else CLIENT


def request_of(stack: tuple[StackFrame, ...]) -> str:
    """Which of REQUESTS the last function of a stack serves, of a call of a TA; empty if it serves none."""
    if stack[-1].world != "normal":
        return ""
    names = [frame.function for frame in stack if frame.world == "normal"]
    in_supplicant = _SUPPLICANT in names
    if not in_supplicant and not any(name in _ASKED_BY for name in names):
        return ""
    kinds = [_SERVED_BY[name] for name in names if name in _SERVED_BY]
    return next((kind for kind in kinds if kind != PASSING), PASSING if kinds or in_supplicant else "")


class OwnExplainer(Explainer):
    """Reads one trace of own code, which runs as a child of what starts it."""

    _kept: tuple[int, Stacks] | None = None
    # What other threads execute in a call is a layer of its own, always: it is if several are in calls at a time.
    _by_threads = False

    def of_region(self, case: Case, records: CheckedRecords) -> Self:
        """The same for another case of the same trace: another region of the program, with its records."""
        other = copy(self)
        other.case, other.records = case, records
        return other

    def _resolve_contexts(self) -> None:
        # What waits for the program is the region's own task.
        self.program, self.process = self.process, LAUNCHER
        images = [
            one.table.image
            for level in self.space.contexts()
            if level.process == self.program
            for one in self.space.mappings(level)
        ]
        names = [name for name in dict.fromkeys(images) if name != "linux:vdso"]
        self.own_layers = frozenset(name for name in names if name not in _KNOWN)
        others = [one.image for one in self.space.floating(Level("secure", 0)) if one.image.startswith(OTHER_TA)]
        later = {one.image for one in self.space.floating(Level("normal", 0, self.program))} - set(names)
        self.own_layers |= later - set(_KNOWN)
        self.rules = with_images(self.rules, [*names, *others, *sorted(later)])
        super()._resolve_contexts()

    def _verify(self) -> None:
        try:
            super()._verify()
        except WorldwiseError as error:
            hint = "was a library unloaded, and another one loaded in its place? Linked with -Wl,-z,nodelete it stays"
            raise WorldwiseError(error.message, hint) from None

    def _secure(self, context: Context) -> Level:
        shared = Level("secure", context.el)
        tables = self.space.floating(shared)
        if context.el or not any(one.image.startswith(OTHER_TA) for one in tables):
            return shared
        # Several TAs lie at the same addresses, each in an address space with a number.
        level = Level("secure", 0, str(context.space))
        if not self.space.floating(level):
            self.space.add_floating(level, tables)
        return level

    def _is_other(self, _context: int) -> bool:
        return self._contexts[_context].process not in (self.program, LAUNCHER)

    def _must_close(self, _of: Pass) -> bool:
        # Of a start, which a task begins and ends while others run, and of a call that did not return, nobody can say.
        return bool(_of.call) and _of.how == "returned"

    def _frame(self, context: int, address: int) -> StackFrame:
        found = super()._frame(context, address)
        level = self._contexts[context]
        image = self.space.image(level, address)
        if found.layer == UNKNOWN and image and level.world == "normal" and not level.el:
            # A stripped file: its addresses have no names, but they are its own.
            return StackFrame(_NAMELESS, image, self.rules.layer(image, "", _NAMELESS), level.world)
        return found

    def explain(self, sample: Sample) -> Explanation:
        """The owners of one sample's instructions, and the peak of its stack."""
        regions = self.regions(sample)
        return super().explain(sample).with_peak(self.peak(regions[0]) if len(regions) == 1 else None)

    def peak(self, of: Pass) -> PeakStack | None:
        """The deepest stack of a call, from its own frame on; None if it is unknown."""
        return None if of.stack is None else self._peak(of.stack, of.stack_frame, of.stack_pc, of.stack_path)

    def ta_peak(self, of: Pass) -> PeakStack | None:
        """The deepest stack of the TA in a call, from where the TA was entered; None if it is unknown."""
        return None if of.ta_stack is None else self._peak(of.ta_stack, of.ta_frame, of.ta_pc, of.ta_path)

    def heap_way(self, of: Pass) -> list[StackFrame]:
        """The functions on the way to the one that asked the allocator when a start or a call had the most heap, the
        outermost first; none if it asked for nothing.
        """
        way: list[StackFrame] = []
        own = self.trace.frames.get(of.heap_frame)
        # Without the allocator's: of a call through the linker's table its name would be that of an entry there.
        number, address = (own.parent, own.site) if own else (0, 0)
        while number in self.trace.frames:
            frame = self.trace.frames[number]
            way.append(self._frame(frame.context, address))
            # Of a start, which another program begins, what that does is not shown.
            if number == of.frame or frame.kind == "task":
                break
            number, address = frame.parent, frame.site
        return way[::-1]

    def _peak(self, size: int, number: int, pc: int, path: Sequence[int]) -> PeakStack:
        way: list[StackFrame] = []
        address = pc
        while number in self.trace.frames and len(way) < len(path):
            frame = self.trace.frames[number]
            way.append(self._frame(frame.context, address))
            number, address = frame.parent, frame.site
        own = [after - before for before, after in pairwise([*path, size])]
        return PeakStack(size, list(zip(way[::-1], own[len(own) - len(way) :], strict=True)))

    def parts(self, of: Pass) -> Counter[str]:
        """The instructions of a call of a TA, by PARTS, and of other threads, TASKS."""
        found: Counter[str] = Counter()
        for stack, count in self._once(of).items():
            found[part_of(stack)] += count
        return found

    def requests(self, of: Pass) -> Counter[str]:
        """The instructions of Linux and of tee-supplicant in a call of a TA for what OP-TEE asked, by REQUESTS."""
        found: Counter[str] = Counter()
        for stack, count in self._once(of).items():
            if part_of(stack) != TASKS and (kind := request_of(stack)):
                found[kind] += count
        return found

    def _once(self, of: Pass) -> Stacks:
        """The stacks of a pass, which two tables in a row ask for and which take long."""
        if self._kept is None or self._kept[0] != of.id:
            self._kept = of.id, self.stacks(of)
        return self._kept[1]

    def _of_others(
        self, of: Pass, stack: tuple[StackFrame, ...], shown: tuple[StackFrame, ...]
    ) -> tuple[StackFrame, ...]:
        """A stack as `_within` shows it, in the layer of other tasks if it stands not on the call's own stack."""
        if not of.call or shown is not stack:
            return shown
        key = -of.id, id(stack)
        if key not in self._shown:
            self._shown[key] = (*stack[:-1], replace(stack[-1], layer=TASKS))
        return self._shown[key]

    @cached_property
    def _outsides(self) -> dict[int, Counter[str]]:
        return {}

    @cached_property
    def _are_told(self) -> bool:
        return self._by_threads or bool(self.trace.shared)

    def _task(self, frame: Frame) -> StackFrame:
        found = super()._task(frame)
        # Threads of one program have one name, and must not be taken for each other.
        told = self._are_told and self._is_own(frame)
        return replace(found, function=f"[task: {self.program}, {frame.target:#x}]") if told else found

    def _is_own(self, frame: Frame) -> bool:
        return any(
            context.task == frame.target and not context.el and self._contexts[number].process == self.program
            for number, context in self.trace.contexts.items()
        )

    def _within(self, of: Pass, stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
        shown = super()._within(of, stack)
        return self._of_others(of, stack, shown) if self._are_told else shown

    def missed(self, calls: Sequence[Pass]) -> tuple[float, list[tuple[str, int]]]:
        """The share that calls have of what was executed from the first one's entry to the last one's return, in each
        start; and the functions outside all regions that executed most, with their instructions.

        If the regions together have more of those starts, it is their share: then nothing was missed.
        """
        inside = span = 0
        starts: dict[int, Pass] = {}
        by_start: dict[int, list[Pass]] = {}
        for one in calls:
            start = self.trace.outermost(one)
            starts[start.id] = start
            by_start.setdefault(start.id, []).append(one)
        for some in by_start.values():
            inside += sum(one.instructions for one in some)
            span += max(one.end for one in some) - min(one.begin for one in some)
        rest: Counter[str] = Counter()
        for start in starts.values():
            rest.update(self.outside_of(start))
        whole = sum(start.instructions for start in starts.values())
        together = 1 - rest.total() / whole if whole else 1.0
        return max(inside / span, together) if span else 1.0, rest.most_common(_MOST_NAMED)

    def outside_of(self, start: Pass) -> Counter[str]:
        """What a start executed outside all regions, by function; each region asks for it."""
        if start.id not in self._outsides:
            found = self._outsides[start.id] = Counter()
            for stack, count in self.stacks(start, own=True).items():
                found[f"{stack[-1].function} ({stack[-1].image})"] += count
        return self._outsides[start.id]


class ThreadExplainer(OwnExplainer):
    """Reads one trace of a program of whose threads one is meant."""

    _by_threads = True


class Armv7Explainer(OwnExplainer):
    """Reads one trace of a program of Linux on Armv7-A. Of the kernel it has no calls: all of it is one frame."""

    step = 2

    def _where(self, context: int) -> str:
        return "Linux" if self._contexts[context].el else "user"


class FirmwareExplainer(OwnExplainer):
    """Reads one trace of firmware, which is all that its machine executes."""

    step = 2

    def _resolve_contexts(self) -> None:
        self.program = self.process
        self.rules = replace(self.rules, rules=(Rule(FIRMWARE, ("program",), (), (), 0), *self.rules.rules))
        Explainer._resolve_contexts(self)

    def _frame(self, context: int, address: int) -> StackFrame:
        found = super()._frame(context, address)
        # Whatever a handler calls is the interrupt's.
        return replace(found, layer=INTERRUPTS) if self._contexts[context].el else found

    def _process(self, _context: Context, _executed: Mapping[int, bytes]) -> str:
        # All of its tasks execute the one program.
        return self.process

    def _task(self, frame: Frame) -> StackFrame:
        return StackFrame(f"[task {frame.target}]", "program", TASKS, "normal")

    def _within(self, of: Pass, stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
        shown = super()._within(of, stack)
        return self._of_others(of, stack, shown) if stack[-1].layer == FIRMWARE else shown

    def _where(self, context: int) -> str:
        return "handler" if self._contexts[context].el else "thread"
