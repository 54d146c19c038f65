# SPDX-License-Identifier: BSD-2-Clause
"""Explaining flat programs: those of microcontrollers, and those of Linux on Armv7-A."""

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from itertools import pairwise

from worldwise.base.errors import WorldwiseError
from worldwise.explain import unwound_stacks
from worldwise.explain.explanation import Explanation
from worldwise.explain.frame_records import Agreement
from worldwise.explain.instruction_mix import PeakStack
from worldwise.explain.owners import Explainer
from worldwise.explain.stacks import StackFrame
from worldwise.plan.catalogue import is_board
from worldwise.records.models import Sample
from worldwise.records.trace_records import Pass, Row, Witness

# The function that counts how often a board's counter came round: what it executes, the counter leaves out.
_HANDLER = "SysTick_Handler"

_Key = tuple[str, str, int]


class FlatExplainer(Explainer):
    """Reads one trace of a flat program.

    Its passes are the stretches between two readings of the counter, of which the program says no value that the plugin
    could see. A sample is the next stretch that has its instructions, to the last one.
    """

    step = 2

    def check(self, closed: bool = True) -> int:
        """Check that each sample has a pass of exactly its instructions, which ends on the stack it began on.

        Returns how many there are. Raises WorldwiseError at the first that does not add up.
        """
        for one in self._samples.values():
            if closed and not one.closed:
                raise WorldwiseError(
                    f"{self.case.id}: the region at {one.mark:#x} ended with another stack than it began with: "
                    f"{one.depth} frames"
                )
        return len(self._samples)

    def regions(self, sample: Sample) -> list[Pass]:
        """The pass of a sample."""
        return [self._samples[_key(sample)]]

    def explain(self, sample: Sample) -> Explanation:
        """The owners of one sample's instructions and, on a board, the peak of the stack."""
        return super().explain(sample).with_peak(self._peak(sample))

    def agreement(self) -> Agreement:
        """Compare the plugin's callers with those that unwinding finds, at every moment the plugin sampled."""

        def rules(witness: Witness) -> unwound_stacks.Rules:
            return partial(self.space.frame_rule, self._contexts[witness.context])

        return unwound_stacks.agreement(self.trace.witnesses, rules, self._named)

    @cached_property
    def _samples(self) -> Mapping[_Key, Pass]:
        """The pass of each sample, in the order of time. Raises WorldwiseError if one has none."""
        rest = iter(self.trace.passes)
        every = sorted((one for series in self.records.samples.values() for one in series), key=lambda one: one.begin)
        return {_key(sample): self._next(sample, rest) for sample in every}

    def _next(self, sample: Sample, rest: Iterator[Pass]) -> Pass:
        for one in rest:
            # Cheap first: the handler's part is not known without a look at all rows.
            if one.instructions >= sample.raw and one.instructions - self._unseen(one) == sample.raw:
                return one
        raise WorldwiseError(
            f"{self.case.id}: under the plugin no stretch between two readings has the {sample.raw:,} instructions of "
            f"{sample.measure} {sample.index}"
        )

    def _unseen(self, of: Pass) -> int:
        """The instructions that a board's counter leaves out: those of its own interrupt."""
        if not is_board(self.case.target):
            return 0
        return sum(row.times * count for row in self.trace.rows(of) for count in [self._handler_part(row)] if count)

    def _handler_part(self, row: Row) -> int:
        """How many instructions of a block are the counter's interrupt's."""
        context = self.trace.frames[row.frame].context
        if not self.trace.contexts[context].el:
            return 0
        block = self.trace.blocks[row.block]
        symbol = self.space.lookup(self._contexts[context], block.pc)
        return block.instructions if symbol and symbol.function == _HANDLER else 0

    def _within(self, _of: Pass, stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
        """The whole stack: in Linux a pass begins within a system call, on boards at the root."""
        return stack

    def _where(self, context: int) -> str:
        handler = self.trace.contexts[context].el
        if is_board(self.case.target):
            return "handler" if handler else "thread"
        return "Linux" if handler else "user"

    def _peak(self, sample: Sample) -> PeakStack | None:
        of = self._samples[_key(sample)]
        memory = self.records.memory.get(sample.measure)
        if of.stack is None or memory is None:
            return None
        frames = self._path_to(of.stack_frame, of.stack_pc)
        depths = [*of.stack_path, of.stack]
        own = [after - before for before, after in pairwise(depths)]
        if len(frames) != len(own):
            raise WorldwiseError(
                f"{self.case.id}: the path to the deepest stack has {len(frames)} of {len(own)} frames"
            )
        return PeakStack(
            bytes=of.stack,
            path=list(zip(frames, own, strict=True)),
            written=of.stack_written if self.stores_seen else None,
            painted=memory.stack,
            like_painted=sample.index == 0,
        )

    def _path_to(self, number: int, pc: int) -> list[StackFrame]:
        """One function for each frame of the trace, from the region's down to the one that executes `pc`."""
        address, way = pc, []
        while number in self.trace.frames:
            frame = self.trace.frames[number]
            way.append(self._frame(frame.context, address))
            number, address = frame.parent, frame.site
        return way[::-1]

    @property
    def stores_seen(self) -> bool:
        """Whether the plugin looked at stores."""
        return any(one.stack_written for one in self._samples.values())


def _key(sample: Sample) -> _Key:
    return sample.measure, sample.place, sample.index
