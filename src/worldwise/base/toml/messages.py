# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a TOML file that pydantic refuses, in the words of those who write such files.

A field's `description` says what its value must be, where the type alone does not: "a list of sizes such as ['1KiB']".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.toml.key_lines import Path

# By pydantic's name of an error: what the value must be.
_MUST_BE: Mapping[str, str] = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}


@dataclass(frozen=True)
class Refusal:
    """The first thing that is wrong: where, what, and the way out if one is known.

    `is_table`: what stands at the path is a table of a list of tables.
    """

    path: Path
    problem: str
    hint: str = ""
    is_table: bool = False


@dataclass(frozen=True)
class _Place:
    """What the model says of a place in the document: its type, limits, and what it must be in words."""

    kind: Any
    limits: tuple[Any, ...] = ()
    words: str = ""

    @property
    def model(self) -> type[BaseModel] | None:
        return self.kind if isinstance(self.kind, type) and issubclass(self.kind, BaseModel) else None


def said(model: type[BaseModel], error: ValidationError) -> Refusal:
    """The first thing that is wrong with a document. A key that is not known comes before all else.

    Who mistypes a key lacks the right one too, and is helped by hearing of the wrong one.
    """
    errors = error.errors(include_url=False, include_context=False)
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    path: Path = tuple(first["loc"])
    kind, value = first["type"], first["input"]
    place = _place(model, path)
    if kind in ("extra_forbidden", "missing"):
        table = _place(model, path[:-1]).model
        return _of_key(kind, path, list(table.model_fields) if table else [], _required(table))
    is_table = isinstance(value, dict) or kind == "model_type"
    if kind in _MUST_BE:
        # Of a list of tables the list says what its items must be.
        words = place.words or (_place(model, path[:-1]).words if kind == "model_type" and path[:-1] else "")
        problem = f"must be {words or _MUST_BE[kind]}, is {kind_text(value)}.{_bounds(place)}"
        return Refusal(path, problem, is_table=is_table)
    return Refusal(path, _of_value(kind, value, place, first["msg"]), _hint(kind, value, place), is_table)


def _of_key(kind: str, path: Path, known: list[str], required: list[str]) -> Refusal:
    key = str(path[-1])
    if kind == "missing":
        return Refusal(path[:-1], f"the key '{key}' is missing. Required: {', '.join(required)}.", is_table=True)
    allowed = f" Allowed: {', '.join(known)}." if known else ""
    return Refusal(path, f"there is no such key.{allowed}", did_you_mean(key, known))


def _required(table: type[BaseModel] | None) -> list[str]:
    return [name for name, field in table.model_fields.items() if field.is_required()] if table else []


def _of_value(kind: str, value: Any, place: _Place, message: str) -> str:
    """What is wrong with a value of the right type."""
    if kind in ("greater_than_equal", "less_than_equal") and (allowed := _bounds(place)):
        return f"{value} is out of range.{allowed}"
    if kind == "literal_error":
        return f"{files.quoted(repr(value))} is not known. Allowed: {', '.join(map(str, get_args(place.kind)))}."
    if kind == "string_too_short":
        return "is empty."
    if kind == "string_too_long" and (limit := _limit(place, "max_length")):
        return f"has {len(value):,} characters. Allowed: up to {limit:,}."
    return f"{message.removeprefix('Value error, ')}."


def _hint(kind: str, value: Any, place: _Place) -> str:
    return did_you_mean(str(value), map(str, get_args(place.kind))) if kind == "literal_error" else ""


def _limit(place: _Place, name: str) -> Any:
    return next((getattr(one, name) for one in place.limits if getattr(one, name, None) is not None), None)


def _bounds(place: _Place) -> str:
    least, most = _limit(place, "ge"), _limit(place, "le")
    return "" if least is None or most is None else f" Allowed: whole numbers from {least} to {most}."


def _place(model: type[BaseModel], path: Sequence[int | str]) -> _Place:
    place = _Place(model)
    for part in path:
        table = place.model
        if table:
            field = table.model_fields.get(str(part))
            place = _of_field(field) if field else _Place(None)
        else:
            inner = [one for one in get_args(place.kind) if one is not Ellipsis]
            place = _plain(inner[-1]) if inner else _Place(None)
    return place


def _of_field(field: FieldInfo) -> _Place:
    place = _plain(field.annotation)
    return _Place(place.kind, (*place.limits, *field.metadata), field.description or place.words)


def _plain(kind: Any) -> _Place:
    """A type without what is around it: Annotated, or None as another choice."""
    limits: tuple[Any, ...] = ()
    words = ""
    while True:
        if get_origin(kind) is Annotated:
            for one in kind.__metadata__:
                limits += tuple(one.metadata) if isinstance(one, FieldInfo) else (one,)
                words = words or (one.description or "" if isinstance(one, FieldInfo) else "")
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, UnionType):
            choices = [one for one in get_args(kind) if one is not type(None)]
            if len(choices) != 1:
                return _Place(kind, limits, words)
            kind = choices[0]
        else:
            return _Place(kind, limits, words)


def path_text(path: Path, is_table: bool = False) -> str:
    """`cases[2].targets`: counted from 1, as people do. Only tables are numbered: for other items the line says it."""
    text = ""
    for number, part in enumerate(path):
        if isinstance(part, str):
            text += f".{part}" if text else part
        elif number < len(path) - 1 or is_table:
            text += f"[{part + 1}]"
    return text


def kind_text(value: Any) -> str:
    """What a TOML value is, in words."""
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")
