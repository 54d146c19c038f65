# SPDX-License-Identifier: BSD-2-Clause
"""Records in a row or a reading: fields that belong together, and those that only some families add. They have types
here; in JSON they stand among the other keys, which this module alone sees to."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializationInfo,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from worldwise.base import family_stages


class Result(BaseModel):
    """A part of a reading; it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def without_empty(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """The JSON of a part without fields that are empty, so that readers who do not know a field are not stopped."""
    for name in names:
        if not found.get(name):
            found.pop(name, None)
    return found


class Nested(Result):
    """Fields of a model that belong together: a record in it, and in JSON they stand among its own."""


class Part(Result):
    """Fields that one family fills. Each has a default; JSON has the default where the family fills nothing."""


class Footprint(Part):
    """The memory of a row, in bytes: `stack` and `heap` are the peaks of one call, `flash` and `ram` the operation's
    share (static RAM, without stack and heap). In a TA `stack` is the peak of one call, at place ta, and `heap` the
    least free heap with which the call succeeds.
    """

    stack: int | None = None
    heap: int | None = None
    flash: int | None = None
    ram: int | None = None


class Recommended(Part):
    """The id of the case that the suite recommends; empty for none."""

    recommended: str = ""


class TaSize(Part):
    """A TA that is one of several that do the same, in bytes: its code, constants and initial values as they are
    loaded, and its signed file.
    """

    ta_loaded: int | None = None
    ta_file: int | None = None


class OnBoard(Part):
    """The fields of a row on a board.

    `rank` is 1 for the fewest instructions by the median among the libraries that do the same on the same board at the
    same optimisation; those with the same count have the same rank, and a library alone has none. `clock_mhz` is the
    board's clock. `runs` is how often the benchmark's loop was gone through, None of other operations.
    """

    rank: int | None = None
    clock_mhz: float | None = None
    runs: int | None = None


class BoardTimes(Part):
    """What the times of boards assume; empty if the run has no board."""

    board_assumption: str = ""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Which part a family adds to a whole reading; None if it adds none."""

    of_reading: type[Part] | None = None


@functools.cache
def _kinds(of: str) -> tuple[type[Part], ...]:
    """The kinds of parts there are, of a row or of a reading."""
    if of == "of_row":
        return (Footprint, TaSize, OnBoard)
    declared = (parts.of_reading for parts in family_stages.declared("readings", Parts).values())
    return (Recommended, BoardTimes, *(kind for kind in declared if kind))


@functools.cache
def _records(model: type[Result]) -> dict[str, type[Nested]]:
    """The records that a model has, by field."""
    kinds = {name: field.annotation for name, field in model.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Nested)}


def _taken(kind: type[Result], fields: dict[str, Any]) -> dict[str, Any]:
    """Those of some fields that are of this kind, taken out of them."""
    return {name: fields.pop(name) for name in kind.model_fields if name in fields}


def _order(of: str, part: Part) -> int:
    return _kinds(of).index(type(part))


P = TypeVar("P", bound=Part)


@functools.lru_cache(maxsize=256)
def _ordered(names: tuple[str, ...], first: tuple[str, ...]) -> list[str]:
    """The names in the order of `first`; those that it has not stay behind, as they are."""
    order = {name: number for number, name in enumerate(first)}
    return sorted(names, key=lambda name: order.get(name, len(order)))


@functools.cache
def _empty(kind: type[Part]) -> Part:
    return kind()


class WithParts(Result):
    """A model with records, and to which families add fields. In JSON their fields stand among its own.

    KEYS is the order of the keys in JSON; a field that is not in it comes last. OF says which parts there can be.
    """

    KEYS: ClassVar[tuple[str, ...]] = ()
    OF: ClassVar[str] = ""

    parts: tuple[SerializeAsAny[Part], ...] = Field(default=(), exclude=True)

    def part(self, kind: type[P]) -> P:
        """One family's part; empty if the family added nothing."""
        for part in self.parts:
            if isinstance(part, kind):
                return part
        empty = _empty(kind)
        assert isinstance(empty, kind)
        return empty

    def with_part(self, part: Part) -> Self:
        """The same with another part of this kind."""
        others = [each for each in self.parts if type(each) is not type(part)]
        return self.model_copy(update={"parts": tuple(sorted((*others, part), key=lambda each: _order(self.OF, each)))})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other fields, those of its records by their own names. Raises TypeError for any it lacks."""
        rest = dict(update or {})
        for name, record in _records(type(self)).items():
            if own := _taken(record, rest):
                rest[name] = getattr(self, name).model_copy(update=own)
        if lacks := rest.keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(lacks))}")
        return super().model_copy(update=rest, deep=deep)

    @model_validator(mode="before")
    @classmethod
    def _from_flat(cls, data: Any) -> Any:
        """Takes JSON as `_to_flat` writes it."""
        if not isinstance(data, Mapping):
            return data
        rest = dict(data)
        for name, record in _records(cls).items():
            rest.setdefault(name, _taken(record, rest))
        parts = [*rest.pop("parts", ())]
        for kind in _kinds(cls.OF):
            own = _taken(kind, rest)
            if own and (part := kind.model_validate(own)) != _empty(kind):
                parts.append(part)
        return {**rest, "parts": parts}

    @model_serializer(mode="wrap")
    def _to_flat(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        found = handler(self)
        for name in _records(type(self)):
            found |= found.pop(name)
        for kind in _kinds(self.OF):
            found |= self.part(kind).model_dump(mode=info.mode)
        return {name: found[name] for name in _ordered(tuple(found), self.KEYS)}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the JSON as it is, with the fields of all parts."""
        flat = handler(schema)
        own = handler.resolve_ref_schema(flat)
        found: dict[str, Any] = {}
        for name, one in own["properties"].items():
            if record := _records(cls).get(name):
                nested = handler.resolve_ref_schema(handler(record.__pydantic_core_schema__))
                found |= nested["properties"]
                own["required"] = [key for key in own["required"] if key != name] + nested["required"]
            elif name != "parts":
                found[name] = one
        own["properties"] = found
        for kind in _kinds(cls.OF):
            own["properties"] |= handler.resolve_ref_schema(handler(kind.__pydantic_core_schema__))["properties"]
        return flat
