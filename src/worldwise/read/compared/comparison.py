# SPDX-License-Identifier: BSD-2-Clause
"""A comparison of two runs, or of two variants of one: what every call costs in both, and a gate's verdict on it."""

from typing import Any, Literal, get_args

from pydantic import SerializerFunctionWrapHandler, model_serializer

from worldwise.read.family_fields import Result, without_empty

FORMAT: Literal[1] = 1
# These must agree unless `--allow` lets them differ.
Allowance = Literal["lab", "stack", "images", "worldwise", "inputs", "samples", "cases"]
ALLOWANCES: tuple[Allowance, ...] = get_args(Allowance)
Verdict = Literal["same", "faster", "slower", "mixed"]
Judge = Literal["auto", "median", "calls"]
JUDGES: tuple[Judge, ...] = get_args(Judge)


class Figures(Result):
    """The counts of one side, in instructions; `n` samples after the first call and `warmup` others."""

    n: int
    warmup: int
    first: int
    median: float
    min: int
    max: int


class ComparedCall(Result):
    """One call in A and in B: its number (0 is the first one, before the warm-up), and its counts in instructions."""

    index: int
    a: int
    b: int


class ComparedRow(Result):
    """One measure of one case at one place, in A and in B.

    `case_b` and `place_b` are B's; they differ from A's if variants are compared. `difference` is B's median less A's,
    in instructions; `ratio` is B's median divided by A's, None if A's is 0. `same_inputs` says whether both sides did
    the same work call by call: as many calls, with the same results. Only then are single calls compared:
    `calls_differ` of them have another count, and `worst` is the call whose count has grown the most, as a fraction of
    A's; otherwise both are None. `identical` says whether the case's records are the same to the byte.

    The verdict is `slower` if some calls took more and none took less, `faster` the other way round. If there are both,
    or if the inputs differ, the medians decide; the verdict is `mixed` if the medians agree and the calls do not.

    `judged` is the call or median that the gate looks at, `exceeds` whether it is over the limit; both are None
    without a gate.
    """

    case: str
    case_b: str
    target: str
    variant: str
    operation: str
    parameters: str
    measure: str
    place: str
    place_b: str
    unit: Literal["instructions"] = "instructions"
    a: Figures
    b: Figures
    difference: float
    ratio: float | None
    same_inputs: bool
    calls_differ: int | None
    worst: ComparedCall | None
    identical: bool
    verdict: Verdict
    judged: Literal["median", "calls"] | None = None
    exceeds: bool | None = None

    @property
    def name(self) -> str:
        """The row's name, the same in every run: case, measure, place."""
        return f"{self.case} {self.measure} {self.place}"

    @property
    def finding(self) -> str:
        """The verdict as people read it."""
        return self.verdict if self.same_inputs else f"{self.verdict}, other inputs"


class Side(Result):
    """One side: a run, and the selection of its cases. `own` has the digests of the user's own libraries."""

    run: str
    selection: str
    title: str
    state: str
    started: str
    worldwise: str
    git: str
    lab: str
    own: dict[str, str]
    # What its lab has for what the lock names; JSON has it if there is any.
    drift: tuple[str, ...] = ()
    # The file of a baseline; JSON has it if it is one.
    baseline: str = ""

    @model_serializer(mode="wrap")
    def _without_rare(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_empty(without_empty(handler(self), "drift"), "baseline")

    @property
    def label(self) -> str:
        """How the side is named in a heading."""
        return self.selection or self.run


class Unpaired(Result):
    """A case that is not compared, and why; `lost` if A has figures for it and B has none."""

    case: str
    side: Literal["a", "b", "both"]
    reason: str
    lost: bool


class Disagreement(Result):
    """A property that must agree and differs."""

    what: Allowance
    detail: str


class Moved(Result):
    """A function whose own instructions in the median call changed, as `function (file)`.

    `line` is the line of the repository that takes most of them in B, as `path:number`; empty where none is known.
    """

    case: str
    function: str
    a: int
    b: int
    line: str = ""

    @model_serializer(mode="wrap")
    def _without_line(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_empty(handler(self), "line")


class Setting(Result):
    """A setting of OP-TEE that differs, and the image that it is of; `absent` is the value of one that a side lacks."""

    image: str
    setting: str
    a: str
    b: str


class Gate(Result):
    """The gate: `limit` as it was given; how many rows were judged, are over it, and how many cases were lost."""

    limit: str
    judge: Judge
    judged: int
    exceeded: int
    lost: int
    passed: bool


class Comparison(Result):
    """All results of comparing two sides; every format is made from this. `disagreements` are the allowed ones.

    `outcomes` says of each pair of cases without counts whether their records are the same. `moved` are the functions
    that changed, the most first, of own code beside a baseline, which keeps them. `settings` are those of OP-TEE that
    differ if the stacks do.
    """

    format: Literal[1]
    a: Side
    b: Side
    rows: tuple[ComparedRow, ...]
    outcomes: dict[str, bool]
    unpaired: tuple[Unpaired, ...]
    disagreements: tuple[Disagreement, ...]
    notes: tuple[str, ...]
    gate: Gate | None
    moved: tuple[Moved, ...] = ()
    settings: tuple[Setting, ...] = ()

    @model_serializer(mode="wrap")
    def _without_rare(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_empty(without_empty(handler(self), "moved"), "settings")

    @property
    def exceeding(self) -> list[ComparedRow]:
        """The rows over the gate's limit, the worst first."""
        return sorted((row for row in self.rows if row.exceeds), key=lambda row: -(row.ratio or 0))
