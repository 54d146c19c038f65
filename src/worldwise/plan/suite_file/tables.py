# SPDX-License-Identifier: BSD-2-Clause
"""The tables of a suite's TOML file: their keys, and the types of the values."""

import functools
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model

from worldwise.base.toml.toml_model import StrictModel
from worldwise.plan.catalogue import parameters
from worldwise.plan.parameters import GRID
from worldwise.plan.spec import Parameter

# Far above any use; they keep a slip of the finger from filling a disk.
MAX_SAMPLES = 100_000
MAX_WARMUP = 10_000
_MAX_TEXT = 1000


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


Text = Annotated[str, Field(max_length=_MAX_TEXT), AfterValidator(_said)]
Names = Annotated[list[Text], Field(description="a list of strings")]
Samples = Annotated[int, Field(ge=1, le=MAX_SAMPLES)]
Warmup = Annotated[int, Field(ge=0, le=MAX_WARMUP)]


class CasesTable(StrictModel):
    """A [[cases]] block without its parameters, which `suite_table` adds."""

    targets: Names
    operations: Names
    implementations: Names
    optimisations: Names
    samples: Samples | None = None
    warmup: Warmup | None = None

    def listed(self, parameter: Parameter) -> list[Any] | None:
        """The values that the block lists for a parameter; None if it does not name it."""
        values: list[Any] | None = getattr(self, parameter.suite_key)
        return values

    def has(self, parameter: Parameter) -> bool:
        """Whether the block names a parameter."""
        return parameter.suite_key in self.model_fields_set


class BudgetTable(StrictModel):
    """The [budget] table."""

    limit: Text
    clock: Text
    measures: Names | None = None
    place: Text | None = None


class PublishedTable(StrictModel):
    """The [published] table."""

    source: Text


class RecommendedTable(StrictModel):
    """The [recommended] table."""

    case: Text


class SuiteTable(StrictModel):
    """The whole file; see `suite_table` for the blocks."""

    format: Any
    name: Text
    title: Text
    samples: Samples
    warmup: Warmup
    cases: Annotated[list[CasesTable], Field(description="one or more [[cases]] blocks")]
    include: Annotated[list[Text], Field(description="a list of names of suites", default_factory=list)]
    first: Annotated[list[Text], Field(description="a list of cases", default_factory=list)]
    budget: Annotated[BudgetTable, Field(description="a [budget] table")] | None = None
    published: Annotated[PublishedTable, Field(description="a [published] table")] | None = None
    recommended: Annotated[RecommendedTable, Field(description="a [recommended] table")] | None = None


def words_of(parameter: Parameter) -> str:
    """What the value of a parameter's key must be, in words."""
    if parameter.values:
        return "a list of strings"
    if parameter.pattern:
        return f"a list of strings such as ['{GRID}']"
    if parameter.most is not None:
        return "a list of whole numbers such as [1000]"
    return "a list of sizes such as ['64KiB', '4MiB']"


def _values(parameter: Parameter) -> Any:
    """The type of a parameter's values in a block."""
    one = Annotated[int, Field(ge=1, le=parameter.most)] if parameter.most is not None else Text
    return Annotated[list[one], Field(description=words_of(parameter))]  # type: ignore[valid-type]


@functools.cache
def suite_table() -> type[SuiteTable]:
    """The whole file, whose blocks have a key for each parameter of the catalogue."""
    keys: dict[str, Any] = {
        parameter.suite_key: (_values(parameter) | None, None) for parameter in parameters().values()
    }
    block = create_model("Cases", __base__=CasesTable, **keys)
    cases = Annotated[list[block], Field(description="one or more [[cases]] blocks")]  # type: ignore[valid-type]
    return create_model("Suite", __base__=SuiteTable, cases=(cases, ...))
