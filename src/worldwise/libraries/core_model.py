# SPDX-License-Identifier: BSD-2-Clause
"""What a model of a core knows: `[model]` of cores/*.toml, `[memory]` of boards/*.toml, and the table that C reads."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from worldwise.base.toml_model import StrictModel

Text = Annotated[str, Field(min_length=1)]
Kind = Literal["out-of-order", "in-order", "mcu"]

_NAME = re.compile(r"[a-z0-9_]{1,40}")
# What a source may begin with besides the name of a document.
_OTHER_SOURCES = ("measured", "fitted", "chosen")


@dataclass(frozen=True)
class Names:
    """The names that a kind of core has. None: any.

    Attributes:
        numbers: of `[model.numbers]`.
        classes: of `[model.classes]`.
        keys: in each class, besides `source`; each with the words it may have, or none if it is a number.
    """

    numbers: frozenset[str] | None = None
    classes: frozenset[str] | None = None
    keys: Mapping[str, tuple[str, ...]] | None = None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# As plugin/model/mcu_table.c and t32.c read them.
_MCU = Names(
    numbers=_words(
        "width load_pipelined store_pipelined store_indexed updates_chain store_hides load_after_store address_wait"
        " address_early sum_late wide_group wide_stores wide_target it_folded refill refill_call refill_register"
        " refill_load predictor_bits mispredict returns alus multipliers memories others"
    ),
    classes=_words(
        "alu shift shifted dsp mul mla mull mlal div load store loads stores exclusive branch call jump table system"
        " barrier hint trap fp fpmul fpmla fpdiv fpmove fpdouble"
    ),
    keys={
        "cycles": (),
        "per_register": (),
        "together": (),
        "latency": (),
        "unit": ("alu", "multiplier", "memory", "other"),
        "outside": (),
        "least": (),
        "most": (),
    },
)
KINDS: Mapping[str, Names] = {"mcu": _MCU, "in-order": Names(), "out-of-order": Names()}
# Of a class, for the reader alone: the engine takes `cycles` between the two.
_BOUNDS = ("least", "most")


class Number(StrictModel):
    """A number with where it comes from."""

    value: Annotated[int, Field(ge=0, le=100_000)]
    source: Text


class Memory(StrictModel):
    """A board's memory for code, which is its flash. Its wait states stand in the board's `flash_wait_states`.

    Attributes:
        line: bytes that a read brings.
        buffers: lines that a buffer for instructions holds, where there is no cache.
        cache: lines of a cache of instructions.
        data_cache: lines of a cache of data.
        ahead: 1 if the next line is read before it is asked for.
    """

    line: Number
    buffers: Number | None = None
    cache: Number | None = None
    data_cache: Number | None = None
    ahead: Number | None = None


class CoreModel(StrictModel):
    """A core's pipeline.

    Attributes:
        kind: which engine takes it.
        validated: whether its error is known from hardware figures; else the core is called unvalidated.
        sources: documents by the names that the numbers' sources begin with.
        numbers: its numbers by name.
        classes: what instructions of each class cost; each has a `source`.
    """

    kind: Kind
    validated: bool = False
    sources: dict[str, Text]
    numbers: dict[str, Number]
    classes: dict[str, dict[str, int | str]]

    @model_validator(mode="after")
    def _known(self) -> "CoreModel":
        names = KINDS[self.kind]
        for name, number in self.numbers.items():
            _require_name(name, names.numbers, f"numbers.{name}")
            self._require_source(number.source, f"numbers.{name}")
        for name, entry in self.classes.items():
            _require_name(name, names.classes, f"classes.{name}")
            self._require_source(entry.get("source"), f"classes.{name}")
            for key, value in entry.items():
                if key != "source":
                    _require_key(names, key, value, f"classes.{name}.{key}")
        return self

    def _require_source(self, source: Any, where: str) -> None:
        if not isinstance(source, str):
            raise ValueError(f"{where} has no source")
        first = re.split("[,:]", source)[0].strip()
        if first not in self.sources and first not in _OTHER_SOURCES:
            raise ValueError(f"{where}.source begins with '{first}', which is not in sources")
        if "validation.toml" in source:
            raise ValueError(f"{where}.source: no number may be fitted to validation.toml")


def _require_name(name: str, known: frozenset[str] | None, where: str) -> None:
    if not _NAME.fullmatch(name) or (known is not None and name not in known):
        raise ValueError(f"{where}: this kind of core has no such name")


def _require_key(names: Names, key: str, value: int | str, where: str) -> None:
    if not _NAME.fullmatch(key) or (names.keys is not None and key not in names.keys):
        raise ValueError(f"{where}: a class has no such key")
    words = names.keys[key] if names.keys is not None else None
    if isinstance(value, int):
        if words or not 0 <= value <= 100_000:
            raise ValueError(f"{where} must be " + (" or ".join(words) if words else "from 0 to 100,000"))
    elif (words is None and not _NAME.fullmatch(value)) or (words is not None and value not in words):
        raise ValueError(f"{where} must be " + (" or ".join(words) if words else "a number"))


def flat_table(name: str, model: CoreModel, memory: Memory | None = None, wait_states: int = 0) -> str:
    """The table that plugin/model reads: a line each for the core, its kind, its numbers, classes and memory."""
    lines = [f"core {name}", f"kind {model.kind}"]
    lines += [f"number {key} {number.value}" for key, number in model.numbers.items()]
    for key, entry in model.classes.items():
        pairs = [f"{what} {value}" for what, value in entry.items() if what != "source" and what not in _BOUNDS]
        lines.append(" ".join([f"class {key}", *pairs]))
    if memory is not None and wait_states:
        lines.append(f"memory wait {wait_states}")
        lines += [f"memory {key} {number.value}" for key, number in memory if number is not None]
    return "\n".join(lines) + "\n"
