# SPDX-License-Identifier: BSD-2-Clause
"""Explaining: who owns each instruction of a region, from a trace, the machine's symbols and the rules of layers."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from statistics import median_low

from worldwise.base.errors import WorldwiseError
from worldwise.explain.explanation import Explanation, LevelPath, LevelStep
from worldwise.explain.frame_records import Agreement, Witnesses
from worldwise.explain.instruction_mix import Facts, PartFacts, part_facts
from worldwise.explain.layers import OTHER_PROCESS, UNKNOWN, Rule, Rules
from worldwise.explain.masked_interrupts import masked_of
from worldwise.explain.stacks import StackFrame, Stacks, added_up
from worldwise.machine.symbols.space import AddressSpace, Level
from worldwise.plan.case import Case
from worldwise.plan.spec import World
from worldwise.records.check import CheckedRecords
from worldwise.records.models import Sample
from worldwise.records.trace import Trace, with_inner
from worldwise.records.trace_records import Block, Context, Frame, Pass, Witness

LOST = "[stack not followed]"

# The instruction MRS Xt, PMCCNTR_EL0, and how many bytes it stands behind the mark where a region begins.
_MRS_MASK = 0xFFFFFFE0
_MRS_PMCCNTR = 0xD53B9D00
_READING = 8


class Explainer:
    """Reads one trace.

    Attributes:
        step: bytes of the shortest instruction.
        own_layers: layers that are files of a user's own program, in user space.

    Args:
        case: the case that was traced.
        records: its records, checked.
        trace: its trace in mode stack.
        space: the machine's symbols; images whose address is known only at run time are located here.
        rules: the layers.
        process: the measured program's name on the machine.
        inline: expand functions that the compiler inlined.
    """

    step = 4
    own_layers: frozenset[str] = frozenset()

    def __init__(
        self,
        case: Case,
        records: CheckedRecords,
        trace: Trace,
        space: AddressSpace,
        rules: Rules,
        process: str,
        inline: bool = False,
    ) -> None:
        self.case = case
        self.records = records
        self.trace = trace
        self.space = space
        self.rules = rules
        self.process = process
        self.inline = inline
        self._contexts: dict[int, Level] = {}
        self._bases: dict[int, tuple[StackFrame, ...]] = {}
        self._lost: dict[int, bool] = {}
        # A stack has many addresses, and its hash takes as long as it is deep: there is one tuple for all of them.
        self._paths: dict[tuple[int, int], tuple[StackFrame, ...]] = {}
        self._stacks: dict[tuple[int, StackFrame, tuple[str, ...]], tuple[StackFrame, ...]] = {}
        self._shown: dict[tuple[int, int], tuple[StackFrame, ...]] = {}
        self._runs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._parts: dict[tuple[int, int], list[tuple[tuple[str, str], PartFacts]]] = {}
        self._frames: dict[tuple[tuple[str | int, ...], World, bool], StackFrame] = {}
        self._others: set[int] = set()
        self._resolve_contexts()

    # --- regions ---

    def check(self, closed: bool = True) -> int:
        """Check every region of the trace: blocks, plugin and counter agree, and each stack ends as it began, unless
        `closed` is false: where no one knows the kernel's functions, a switch of tasks loses the stack.

        Returns how many regions there are. Raises WorldwiseError at the first that does not add up.
        """
        for one in self.trace.passes:
            if not 0 <= one.instructions - (one.end - one.begin) <= self._unseen(one):
                raise WorldwiseError(
                    f"{self.case.id}: the region at {one.mark:#x} has {one.instructions} instructions, but the counter "
                    f"went from {one.begin} to {one.end}, which is {one.end - one.begin}",
                    "was the processor idle? Virtual time then advances without instructions",
                )
            if closed and not one.closed and self._must_close(one):
                raise WorldwiseError(
                    f"{self.case.id}: the region at {one.mark:#x} ended with another stack than it began with: "
                    f"{one.depth} frames"
                )
        return len(self.trace.passes)

    def _must_close(self, _of: Pass) -> bool:
        """Whether a pass must end on the stack on which it began."""
        return True

    def _unseen(self, of: Pass) -> int:
        """The most instructions that a region's counter can leave out: for the cycle counter, the monitor's.

        TF-A sets PMCR_EL0.DP while EL3 runs, which stops that counter in secure state.
        """
        code = self._executed[self.trace.frames[of.frame].context].get(of.mark + _READING, b"")
        if int.from_bytes(code[:4], "little") & _MRS_MASK != _MRS_PMCCNTR:
            return 0
        return self._in_monitor[of.id]

    @cached_property
    def _in_monitor(self) -> dict[int, int]:
        """The monitor's instructions in each pass, including the passes inside it."""
        own = {
            number: sum(
                row.times * self.trace.blocks[row.block].instructions
                for row in rows
                if self.trace.contexts[self.trace.frames[row.frame].context].el == 3
            )
            for number, rows in self.trace.own.items()
        }
        return with_inner(self.trace, own)

    def sample(self, measure: str, place: str, index: int | None = None) -> Sample:
        """The sample to explain: the one with this index, else the one with the (lower) median count of the statistics.

        Raises WorldwiseError if there is none.
        """
        series = self.records.samples.get((measure, place))
        if not series:
            known = ", ".join(f"{name} at {where}" for name, where in self.records.samples)
            raise WorldwiseError(f"{self.case.id} measures no {measure} at {place}", f"it has: {known}")
        seen = [one for one in series if self.regions(one)]
        if index is not None:
            chosen = [one for one in seen if one.index == index]
            if not chosen:
                raise WorldwiseError(
                    f"{self.case.id} has no sample {index} of {measure} at {place} in its trace",
                    f"it has {', '.join(str(one.index) for one in seen)}; `--samples` makes more",
                )
            return chosen[0]
        measured = [one for one in seen if one.phase == "sample"] or seen
        if not measured:
            raise WorldwiseError(f"{self.case.id}: the trace has no region of {measure} at {place}")
        middle = median_low(one.count for one in measured)
        return next(one for one in measured if one.count == middle)

    def explain(self, sample: Sample) -> Explanation:
        """The owners of one sample's instructions. Raises WorldwiseError if their sum is not the counter's."""
        regions = self.regions(sample)
        if not regions:
            raise WorldwiseError(f"{self.case.id}: the trace has no region from {sample.begin} to {sample.end}")
        together = Counter(self.stacks(regions[0]))
        for region in regions[1:]:
            together.update(self.stacks(region))
        stacks = dict(together)
        total = sum(stacks.values())
        if not 0 <= total - sample.raw <= sum(map(self._unseen, regions)):
            raise WorldwiseError(
                f"{self.case.id}: the stacks of {sample.measure} {sample.index} at {sample.place} have {total} "
                f"instructions, the counter {sample.raw}"
            )
        steps, dropped = self._steps(regions[0]) if len(regions) == 1 else ([], 0)
        return Explanation(
            case=self.case,
            measure=sample.measure,
            place=sample.place,
            index=sample.index,
            phase=sample.phase,
            instructions=total,
            measuring=sample.raw - sample.count,
            uncounted=total - sample.raw,
            stacks=stacks,
            lost=sum(region.lost for region in regions),
            helpers=frozenset(
                frame.function for frame in set(chain.from_iterable(stacks)) if self.rules.is_helper(frame.function)
            ),
            path=LevelPath(steps, dropped),
            facts=self._facts(regions),
            masked=masked_of(
                regions,
                ((one, self.regions(one)) for one in self.records.samples[sample.measure, sample.place]),
                lambda of, frame, pc: self._within(of, self._path(frame, pc)),
            ),
        )

    def regions(self, sample: Sample) -> list[Pass]:
        """The passes of a sample: one, or as many as its spans; none if they are not in the trace."""
        whole = self.trace.find(sample.begin, sample.end)
        if whole:
            return [whole]
        spans = self.trace.spans(sample.begin, sample.end) if sample.spans else []
        return spans if len(spans) == sample.spans else []

    def stacks(self, of: Pass, own: bool = False) -> Stacks:
        """All stacks of a pass, from its function upwards; stacks that do not go through it are there in full.

        With `own` the instructions of the passes inside it are left out.
        """
        executed: dict[tuple[int, int], int] = {}
        for frame, block, times in self.trace.own.get(of.id, ()) if own else self.trace.rows(of):
            for address, count in self._functions_of(frame, block):
                key = frame, address
                executed[key] = executed.get(key, 0) + count * times
        return added_up((self._within(of, self._path(*key)), count) for key, count in executed.items())

    def _within(self, of: Pass, stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
        """A stack of `_path` from the function of a pass upwards; whole, if it does not go through it."""
        key = (of.frame, id(stack))
        if key not in self._shown:
            below = self._base(of.frame)
            self._shown[key] = stack[len(below) :] if stack[: len(below)] == below else stack
        return self._shown[key]

    def _facts(self, regions: Sequence[Pass]) -> dict[tuple[str, str], Facts]:
        """What else the functions do in passes, by (function, image)."""
        # A block has the same functions on every frame of its context: one frame of them stands for all.
        times: Counter[tuple[int, int]] = Counter()
        standing: dict[tuple[int, int], int] = {}
        for row in chain.from_iterable(map(self.trace.rows, regions)):
            key = self.trace.frames[row.frame].context, row.block
            times[key] += row.times
            standing.setdefault(key, row.frame)
        untold: Counter[int] = Counter()
        for one in chain.from_iterable(map(self.trace.with_inner, regions)):
            untold.update(self.trace.taken.get(one, {}))
        found: defaultdict[tuple[str, str], Facts] = defaultdict(Facts)
        for (context, number), count in times.items():
            if not self.trace.blocks[number].kinds:
                continue
            for name, part in self._block_facts(context, standing[context, number], number):
                facts = found[name]
                facts.add(part, count)
            # The last instruction's branch; the plugin tells it for all frames together.
            facts.taken += untold.pop(number, 0)
        return dict(found)

    def _block_facts(self, context: int, frame: int, number: int) -> list[tuple[tuple[str, str], PartFacts]]:
        """The functions in a block, in the order of the code: (function, image), and what they do in it."""
        key = (context, number)
        if key not in self._parts:
            parts = self._parts[key] = []
            begin = 0
            for address, instructions in self._functions_of(frame, number):
                leaf = self._path(frame, address)[-1]
                end = begin + instructions
                parts.append(((leaf.function, leaf.image), part_facts(self.trace.blocks[number], begin, end)))
                begin = end
        return self._parts[key]

    def parts_of(self, of: Pass, frame: int, block: int) -> list[tuple[tuple[StackFrame, ...], int]]:
        """The parts of a block that ran on a frame in a pass, one for each function in it, in the order of the code:
        its stack, as `stacks` has it, and its instructions.
        """
        return [
            (self._within(of, self._path(frame, address)), count) for address, count in self._functions_of(frame, block)
        ]

    def layers_of(self, frame: int, block: int) -> list[str]:
        """The layer of each function in a block that ran on a frame, in the order of the code: as parts_of has them."""
        return [self._leaf(frame, address).layer for address, _ in self._functions_of(frame, block)]

    def owners(self, function: str) -> list[tuple[str, str, Rule | None]]:
        """Every function of that name that was executed: image, source file, and the rule that gives its layer."""
        found = {
            (symbol.image, symbol.source)
            for number, executed in self._executed.items()
            for pc in executed
            if (symbol := self.space.lookup(self._contexts[number], pc)) and symbol.function == function
        }
        return [(image, source, self.rules.rule(image, source, function)) for image, source in sorted(found)]

    def level(self, context: int) -> Level:
        """Where code of a context of the trace runs."""
        return self._contexts[context]

    def agreement(self) -> Agreement:
        """Compare the plugin's callers with the frame records in memory, at every moment the plugin sampled."""
        return Witnesses(self.space, self._contexts).agreement(self.trace.witnesses, self._named)

    def _named(self, witness: Witness) -> str:
        return str(self._frame(witness.context, witness.pc))

    # --- names ---

    def _resolve_contexts(self) -> None:
        """Find the symbols of each context of the trace, and locate the images that were placed at run time."""
        executed: defaultdict[int, dict[int, bytes]] = defaultdict(dict)
        seen: dict[tuple[int, int], None] = {}
        # Equal rows are one object, and there may be hundreds of thousands.
        for rows in {id(rows): rows for rows in self.trace.own.values()}.values():
            seen.update(dict.fromkeys([(self.trace.frames[frame].context, block) for frame, block, _ in rows]))
        for context_id, number in seen:
            block = self.trace.blocks[number]
            blocks = executed[context_id]
            if len(blocks.get(block.pc, b"")) < len(block.code) // 2:
                blocks[block.pc] = bytes.fromhex(block.code)
        for number, context in self.trace.contexts.items():
            if context.el == 3 or context.secure:
                self._contexts[number] = Level("monitor", 3) if context.el == 3 else self._secure(context)
            else:
                process = "" if context.el else self._process(context, executed[number])
                self._contexts[number] = Level("normal", min(context.el, 1), process)
            if not context.secure and context.task and self._is_other(number):
                self._others.add(number)
            if self.space.floating(self._contexts[number]):
                words = executed[number].items()
                found = {pc + at: code[at : at + 4] for pc, code in words for at in range(0, len(code), 4)}
                self.space.locate(self._contexts[number], found)
        self._executed = executed
        self._verify()
        if self.inline:
            self.space.read_inlined(self._addresses())

    def _addresses(self) -> Iterator[tuple[Level, int]]:
        """All addresses that may be on a stack; a TA may be of 32 bits."""
        halves = {block.pc for block in self.trace.blocks.values() if block.set == "t32"}
        for number, blocks in self._executed.items():
            for pc, code in blocks.items():
                for address in range(pc, pc + len(code), 2 if pc in halves else self.step):
                    yield self._contexts[number], address
        for frame in self.trace.frames.values():
            yield self._contexts[frame.context], frame.target
            if frame.parent in self.trace.frames:
                yield self._contexts[self.trace.frames[frame.parent].context], frame.site

    def _secure(self, context: Context) -> Level:
        return Level("secure", context.el)

    def _is_other(self, _context: int) -> bool:
        """Whether a task that is not the region's own is another process."""
        return True

    def _process(self, context: Context, executed: Mapping[int, bytes]) -> str:
        """The process whose code a task executed."""
        if not context.task:
            return self.process
        best = ("", 0)
        for known in self.space.contexts():
            if known.world == "normal" and known.el == 0:
                same = sum(self.space.verify(known, pc, code) is True for pc, code in executed.items())
                if same > best[1]:
                    best = (known.process, same)
        return best[0]

    def _verify(self) -> None:
        """Check that the files with the symbols have the bytes that were executed. Raises WorldwiseError."""
        for number, blocks in self._executed.items():
            for pc, code in blocks.items():
                if self.space.verify(self._contexts[number], pc, code) is False:
                    raise WorldwiseError(
                        f"{self.case.id}: at {pc:#x} ({self._where(number)}) the machine executed other instructions "
                        f"than {self.space.image(self._contexts[number], pc)} has there: its names would be wrong"
                    )

    def _where(self, context: int) -> str:
        known = self._contexts[context]
        return f"{known.world} EL{known.el}" if known.world != "monitor" else "EL3"

    def _world(self, context: int) -> World:
        return self._contexts[context].world

    def _frame(self, context: int, address: int) -> StackFrame:
        symbol = self.space.lookup(self._contexts[context], address)
        key = (
            (symbol.image, symbol.source, symbol.function) if symbol else (address,),
            self._world(context),
            context in self._others and self._contexts[context].el == 0,
        )
        if key not in self._frames:
            layer = self.rules.layer(symbol.image, symbol.source, symbol.function) if symbol else UNKNOWN
            if key[2] and symbol:
                layer = OTHER_PROCESS
            name = symbol.function if symbol else f"[{address:#x}]"
            image = symbol.image if symbol else self.space.image(self._contexts[context], address) or "no image"
            self._frames[key] = StackFrame(name, image, layer, self._world(context))
        return self._frames[key]

    def _functions_of(self, frame: int, block: int) -> list[tuple[int, int]]:
        """The functions in a block: an address in each, and how many instructions."""
        context = self.trace.frames[frame].context
        key = (context, block)
        if key not in self._runs:
            self._runs[key] = list(self._split(self._contexts[context], self.trace.blocks[block]))
        return self._runs[key]

    def _split(self, context: Level, block: Block) -> Iterator[tuple[int, int]]:
        addresses = block.addresses
        symbol = self.space.lookup(context, block.pc)
        if not self.inline and symbol and addresses[-1] <= symbol.start + symbol.size:
            yield block.pc, block.instructions
            return
        begin, last = 0, self._owner(context, block.pc)
        for number in range(1, block.instructions):
            owner = self._owner(context, addresses[number])
            if owner != last:
                yield addresses[begin], number - begin
                begin, last = number, owner
        yield addresses[begin], block.instructions - begin

    def _owner(self, context: Level, pc: int) -> tuple[str, int, tuple[str, ...]]:
        symbol = self.space.lookup(context, pc)
        image, start = (symbol.image, symbol.start) if symbol else ("", 0)
        return image, start, tuple(self.space.inline_chain(context, pc)) if self.inline else ()

    def _path(self, number: int, address: int) -> tuple[StackFrame, ...]:
        """The stack when the instruction at `address` is executed on a frame."""
        key = (number, address)
        if key not in self._paths:
            context = self._contexts[self.trace.frames[number].context]
            leaf = self._leaf(number, address)
            names = tuple(self.space.inline_chain(context, address)) if self.inline else ()
            same = (number, leaf, names)
            if same not in self._stacks:
                inlined = [StackFrame(f"{name} [inlined]", leaf.image, leaf.layer, leaf.world) for name in names]
                self._stacks[same] = (*self._base(number), leaf, *inlined)
            self._paths[key] = self._stacks[same]
        return self._paths[key]

    def _leaf(self, number: int, address: int) -> StackFrame:
        """The function that `address` is in, when it is executed on a frame."""
        leaf = self._frame(self.trace.frames[number].context, address)
        return StackFrame(leaf.function, leaf.image, UNKNOWN, leaf.world) if self._is_lost(number) else leaf

    def _is_lost(self, number: int) -> bool:
        """Whether the stack below a frame was not followed."""
        if number not in self._lost:
            self._lost[number] = any(one.function == LOST for one in self._base(number))
        return self._lost[number]

    def _base(self, number: int) -> tuple[StackFrame, ...]:
        """The stack below a frame's own function."""
        if number not in self._bases:
            frame = self.trace.frames[number]
            if frame.kind == "region":
                base: tuple[StackFrame, ...] = ()
            elif frame.kind == "task":
                base = (self._task(frame),)
            else:
                base = self._at_site(frame)
                if frame.kind == "lost":
                    base = (*base, StackFrame(LOST, "worldwise", UNKNOWN, self._world(frame.context)))
            self._bases[number] = base
        return self._bases[number]

    def _at_site(self, frame: Frame) -> tuple[StackFrame, ...]:
        parent = self.trace.frames[frame.parent]
        if frame.site:
            return self._path(frame.parent, frame.site)
        if parent.kind == "task":
            return self._base(frame.parent)
        return self._path(frame.parent, parent.target)

    def _task(self, frame: Frame) -> StackFrame:
        """The frame of a task other than the region's own: its program, or the kernel's threads."""
        names = {
            self._contexts[number].process
            for number, context in self.trace.contexts.items()
            if context.task == frame.target and context.el == 0 and not context.secure
        } - {""}
        name = min(names) if names else "kernel thread"
        return StackFrame(f"[task: {name}]", "linux", OTHER_PROCESS, "normal")

    # --- the path through the levels ---

    def _steps(self, of: Pass) -> tuple[list[LevelStep], int]:
        outermost = self.trace.outermost(of)
        offset = of.at
        first = self._first_context(of)
        steps: list[LevelStep] = []
        at, how, context, target = 0, "region", first, of.mark
        for event in self.trace.events.get(outermost.id, ()):
            moment = event.at - offset
            if moment <= 0:
                how, context, target = event.what, event.context, event.target
                continue
            if moment > of.instructions:
                break
            steps.append(LevelStep(at, moment - at, how, self._where(context), self._frame(context, target)))
            at, how, context, target = moment, event.what, event.context, event.target
        if offset:
            how = "region" if not steps else how
        steps.append(LevelStep(at, of.instructions - at, how, self._where(context), self._frame(context, target)))
        return steps, outermost.events_dropped

    def _first_context(self, of: Pass) -> int:
        for row in self.trace.own.get(of.id, ()):
            return self.trace.frames[row.frame].context
        return next(iter(self.trace.contexts))
