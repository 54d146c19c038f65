# SPDX-License-Identifier: BSD-2-Clause
"""The cost of hashing in the TEE by parts: where the instructions go, and how they grow with the message."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from worldwise.read.family_fields import Result
from worldwise.read.line_fit import FittedLine, fit_line
from worldwise.read.published import Figure

# The clock of a Raspberry Pi 3 model B, the board of the published figures. At one instruction per cycle.
CLOCK_GHZ = 1.2

# The operations whose rows are looked at here.
HASHING = ("sha256", "sha256sum")


class HashCost(Result):
    """One size of message in the TEE, in instructions; all from the medians of one case.

    `total` is what the client waits for: the sum of these parts:

    - `algorithm`: the calls of the GlobalPlatform API in the TA, with the work of OP-TEE's core behind them;
    - `wrapper`: the rest of the TA's command;
    - `memory`: bringing message and digest over: as many calls with the same memory, less as many without;
    - `switch`: the way into the TA and back: as many calls without parameters;
    - `rest`: what is left: the monitor's part of the TA's system calls, which its counter does not see, interrupts that
      waited in Linux until the TA returned, and what differs between the calls.

    `linux` is the same library in Linux, `sha256sum` the command, for a message of the same size; None if the run has
    no such case.
    """

    case: str
    variant: str
    parameters: str
    size: int
    chunk: int | None
    calls: int
    total: float
    algorithm: float
    wrapper: float
    memory: float
    switch: float
    rest: float
    linux: float | None
    sha256sum: float | None

    @property
    def inside(self) -> float:
        """The instructions of the whole command inside the TA."""
        return self.algorithm + self.wrapper


class SizeFit(Result):
    """A straight line through the medians of several sizes: `fixed` + `per_byte` * size, by least squares.

    `residuals` are measured less fitted, by size. `what` names the place of the cost, or `sha256sum`.
    """

    variant: str
    what: str
    chunk: int | None
    fixed: float
    per_byte: float
    residuals: dict[int, float]
    relative: dict[int, float]

    @property
    def line(self) -> FittedLine:
        """The line alone."""
        return FittedLine(self.fixed, self.per_byte, self.residuals, self.relative)


class HashFigure(Result):
    """A published figure and ours, both in its unit; ours at CLOCK_GHZ and one instruction per cycle."""

    quantity: str
    variant: str
    ours: float
    of: str
    source: str
    value: float
    unit: str
    statistic: str
    conditions: str
    note: str
    ratio: float


class HashReading(Result):
    """All of it; empty where a run has no case that hashes."""

    clock_ghz: float
    costs: tuple[HashCost, ...]
    fits: tuple[SizeFit, ...]
    published: tuple[HashFigure, ...]
    published_reason: str


@dataclass(frozen=True)
class Series:
    """The fields of a reading's row that this module uses."""

    case: str
    variant: str
    operation: str
    measure: str
    place: str
    parameters: tuple[tuple[str, str], ...]
    size: int
    chunk: int | None
    calls: int
    median: float

    @property
    def disturbed(self) -> str:
        """The parameters except size and chunk; only rows that agree in them are compared."""
        return ",".join(f"{key}={value}" for key, value in self.parameters if key not in ("size", "chunk"))


def read_hashing(series: Sequence[Series], figures: Mapping[str, Figure], reason: str) -> HashReading:
    """Everything that the rows of hashing cases say. `figures` are published ones by quantity, `reason` their text."""
    costs = tuple(_costs(series))
    published = tuple(_beside(costs, figures))
    return HashReading(
        clock_ghz=CLOCK_GHZ,
        costs=costs,
        fits=tuple(_fits(series)),
        published=published,
        published_reason=reason if published else "",
    )


def throughput(size: int, instructions: float, clock_ghz: float = CLOCK_GHZ) -> float:
    """Megabytes (10^6) a second at a clock and one instruction per cycle."""
    return size / (instructions / clock_ghz / 1000)


def _costs(series: Sequence[Series]) -> Iterator[HashCost]:
    in_linux: dict[tuple[str, int, str], float] = {}
    command: dict[tuple[int, str], float] = {}
    cases: dict[str, dict[tuple[str, str], Series]] = {}
    for row in series:
        if row.operation == "sha256sum":
            command.setdefault((row.size, row.disturbed), row.median)
        elif row.place == "linux":
            # In one call if that was measured, else in pieces.
            if row.chunk is None or (row.variant, row.size, row.disturbed) not in in_linux:
                in_linux[row.variant, row.size, row.disturbed] = row.median
        else:
            cases.setdefault(row.case, {})[row.measure, row.place] = row
    for found in cases.values():
        client, ta, api = (found["hash", place] for place in ("client", "ta", "api"))
        touch, empty = found["touch", "client"].median, found["empty", "client"].median
        yield HashCost(
            case=client.case,
            variant=client.variant,
            parameters=client.disturbed,
            size=client.size,
            chunk=client.chunk,
            calls=client.calls,
            total=client.median,
            algorithm=api.median,
            wrapper=ta.median - api.median,
            memory=touch - empty,
            switch=empty,
            rest=client.median - touch - ta.median,
            linux=in_linux.get((client.variant, client.size, client.disturbed)),
            sha256sum=command.get((client.size, client.disturbed)),
        )


def _fits(series: Iterable[Series]) -> Iterator[SizeFit]:
    lines: dict[tuple[str, str, int | None], dict[int, float]] = {}
    for row in series:
        if row.measure == "hash" and not row.disturbed and row.place != "ta":
            what = "sha256sum" if row.operation == "sha256sum" else row.place
            lines.setdefault((row.variant, what, row.chunk), {})[row.size] = row.median
    for (variant, what, chunk), points in lines.items():
        line = fit_line(points)
        if line:
            yield SizeFit(
                variant=variant,
                what=what,
                chunk=chunk,
                fixed=line.fixed,
                per_byte=line.slope,
                residuals=line.residuals,
                relative=line.relative,
            )


def _beside(costs: Sequence[HashCost], figures: Mapping[str, Figure]) -> Iterator[HashFigure]:
    variants = dict.fromkeys(cost.variant for cost in costs)
    for quantity, figure in figures.items():
        for variant in variants:
            mine = [cost for cost in costs if cost.variant == variant and not cost.parameters]
            for ours, of in _ours(quantity, mine):
                yield HashFigure(
                    quantity=quantity,
                    variant=variant,
                    ours=ours,
                    of=of,
                    source=figure.source,
                    value=figure.value,
                    unit=figure.unit,
                    statistic=figure.statistic,
                    conditions=figure.conditions,
                    note=figure.note,
                    ratio=ours / figure.value,
                )


def _ours(quantity: str, costs: Sequence[HashCost]) -> Iterator[tuple[float, str]]:
    """Our figure for a published quantity, in its unit, and its source; nothing if the run has no case for it."""

    def microseconds(instructions: float) -> float:
        return instructions / CLOCK_GHZ / 1000

    whole = [cost for cost in costs if cost.chunk is None]
    streamed = [cost for cost in costs if cost.chunk is not None and cost.calls > 1]
    least = min(whole, key=lambda cost: cost.size, default=None)
    greatest = max(streamed, key=lambda cost: (cost.size, cost.chunk), default=None)
    if quantity == "throughput" and greatest:
        yield throughput(greatest.size, greatest.inside), f"{greatest.case}, inside the TA"
    elif quantity == "slow-down" and greatest:
        if greatest.sha256sum:
            yield greatest.total / greatest.sha256sum, f"{greatest.case}, against sha256sum"
        if greatest.linux:
            yield greatest.total / greatest.linux, f"{greatest.case}, against the same library in Linux"
    elif quantity == "switch" and least:
        yield microseconds(least.switch / least.calls), "an empty invoke"
    elif quantity == "wrapper" and least:
        yield microseconds(least.wrapper / least.calls), f"{least.case}: ta less api"
    elif quantity == "empty message" and least and least.size == 0:
        yield microseconds(least.algorithm), f"{least.case}: api"
