# SPDX-License-Identifier: BSD-2-Clause
"""The forms of answers to questions about ELF files."""

import functools
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter

_Number = Annotated[int, Field(ge=0, lt=2**66)]
_Text = Annotated[str, Field(max_length=2**16)]
_Texts = Annotated[list[_Text], Field(max_length=1000)]
_Rule = tuple[_Number, int, list[tuple[_Number, int]]]


@dataclass
class ReadElf:
    """What is kept of an ELF file: functions as (name, start, size, index of the source), executable sections as
    (address, file offset, size), executable segments as (file offset, address, size)."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    build_id: _Text
    functions: list[tuple[_Text, _Number, _Number, _Number]]
    sources: list[_Text]
    code: list[tuple[_Number, _Number, _Number]]
    segments: list[tuple[_Number, _Number, _Number]]


# The answers' forms, by the question.
_FORMS: dict[str, Any] = {
    "segments": list[tuple[_Number, _Number, _Number, _Number, _Number]],
    "machine": _Text,
    "arm_architecture": _Number | None,
    "program": tuple[_Text, _Text, _Number, _Text, _Texts, _Texts],
    "named_functions": list[tuple[_Text, _Number, _Number]],
    "interpreted": bool,
    "loaded_bytes": _Number,
    "marks": list[tuple[_Number, bool, _Text]],
    "returns_of": tuple[list[_Number], bool],
    "memory": tuple[_Number, _Number, _Number, _Number],
    "ta_memory": tuple[_Number, _Number, _Number, _Number, _Number],
    "symbol_address": _Number | None,
    "function_code": tuple[_Number, Annotated[str, Field(pattern="^[0-9a-f]*$")]] | None,
    "places": list[tuple[_Number, _Number, _Text]],
    "build_id": _Text,
    "debugged": bool,
    "address_name": _Text,
    "variable": tuple[_Number, _Number, dict[_Text, tuple[_Number, _Number]]] | None,
    "inlined_into": list[tuple[_Text, _Text]],
    "ztest_benchmarks": list[tuple[_Text, _Text, _Text, _Number]],
    "frames": list[tuple[_Number, _Number, list[tuple[_Number, _Rule | None]] | _Text]],
    "table": ReadElf,
}


# Making all of them takes longer than most answers.
@functools.cache
def form(question: str) -> TypeAdapter[Any]:
    """What an answer to a question must be."""
    return TypeAdapter(_FORMS[question])
