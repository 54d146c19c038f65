# SPDX-License-Identifier: BSD-2-Clause
"""What a model of a core knows: `[model]` of cores/*.toml, `[memory]` of boards/*.toml, and the table that C reads."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from worldwise.base.toml.toml_model import StrictModel, Text
from worldwise.libraries.fittable import Fittable

Kind = Literal["out-of-order", "in-order", "mcu", "mcu-dual"]

_MOST_PORTS = 16
_NAME = re.compile(r"[a-z0-9_]{1,40}")
# What a source may begin with besides the name of a document.
_OTHER_SOURCES = ("measured", "fitted", "chosen")


@dataclass(frozen=True)
class Names:
    """The names that a kind of core has. None: any.

    Attributes:
        numbers: of `[model.numbers]`.
        classes: of `[model.classes]`.
        keys: of the numbers in each class, besides `source`.
        ports: keys, and numbers, that name ports of the core, with blanks between.
    """

    numbers: frozenset[str] | None = None
    classes: frozenset[str] | None = None
    keys: frozenset[str] | None = None
    ports: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# As plugin/model/mcu_table.c and t32.c read them.
_MCU = Names(
    numbers=_words(
        "width load_pipelined store_pipelined store_indexed updates_chain store_hides store_waits load_after_store"
        " loads_after_store address_wait address_early sum_late data_late flags_late rotated_latency"
        " wide_group wide_target it_folded branch_pairs refill refill_call refill_register refill_load compare_late"
    ),
    classes=_words(
        "alu shift shifted dsp mul mla mull mlal div load store loads stores exclusive branch call jump table system"
        " barrier hint trap fp fpmul fpmla fpdiv fpmove fpdouble"
    ),
    keys=_words("cycles per_register together latency outside least most"),
)
# As plugin/model/table.c and operation.h read them; tests/unit/test_model.py compares.
_BIG = Names(
    numbers=_words(
        "width fetch retire window mispredict taken call_taken buses bind writeback_latency forward_latency"
        " forward_fail store_boundary line_bytes data_kib data_ways code_kib code_ways second_kib second_ways"
        " second_latency memory_latency prefetch_lines returns misses unaligned flags_latency"
    ),
    classes=_words(
        "alu alu_flags alu_carry alu_shift_small alu_shift logic logic_flags logic_shift move address bitfield insert"
        " extract rotate shift select compare_if count reverse mul32 mul64 mull mulh div32 div64 crc pointer_code load"
        " load_index load_pair store store_index store_pair vload vload_pair vload_multi vload_lane vload_struct vstore"
        " vstore_pair vstore_multi vstore_lane vstore_struct prefetch branch branch_if branch_zero call ret jump v_add"
        " v_logic v_move v_immediate v_select v_compare v_minmax v_abs v_absdiff v_absdiff_acc v_pairwise"
        " v_pairwise_long v_pairwise_acc v_reduce v_long v_high_narrow v_shift_imm v_shift_long v_shift_narrow"
        " v_shift_acc v_shift_insert v_shift_reg v_saturate v_narrow v_mul v_mla v_mull v_mlal v_mulh v_pmull v_pmull64"
        " v_extract v_zip v_trn v_reverse v_table v_count v_dup v_from_core v_insert_core v_insert v_to_core f_move"
        " f_add f_compare f_mul f_mac f_div32 f_div64 f_convert f_to_core f_from_core aes aes_mix sha1 sha256"
        " sha256_schedule sha3 sha512 hint barrier exclusive system trap unknown alu_imm alu_shift_reg shift_imm extend"
        " extend_add pack parallel saturate mla32 mul16 mlal umaal load_shift load_byte load_byte_index load_byte_shift"
        " load_multi store_multi f_flags vload_struct64"
    ),
    keys=_words(
        "latency second_latency busy uops each pairs early forward multiplies alone holds hurry behind gives takes"
        " need_value need_shifted need_accumulate need_address need_data"
    ),
    ports=_words("ports second"),
)
# As plugin/model/dual_table.c and operation.h read them; tests/unit/test_dual.py compares.
_DUAL = Names(
    numbers=_words(
        "width narrow_pairs writeback_latency flags_latency mispredict flags_ahead mispredict_early fetch_bytes"
        " fetch_queue taken banks unaligned aligned_pairs mve store_to_load index_late product_address conditional_late"
        " reverse_late line_bytes line_first bus_bytes bus_cycles code_kib code_ways data_kib data_ways"
    ),
    classes=_BIG.classes,
    keys=_words(
        "cycles together latency early need_value need_shifted need_accumulate need_address need_data first"
        " alone pairs bypassed quick multiplies busy outside least most"
    ),
    ports=_words("units second"),
)
KINDS: Mapping[str, Names] = {"mcu": _MCU, "mcu-dual": _DUAL, "in-order": _BIG, "out-of-order": _BIG}
# The number of cycles that each stored word waits, and the engines that have it.
STORE_WAITS = "store_waits"
KINDS_OF_STORE_WAITS = ("mcu",)
# What a class's form on 128 bits is called: the class's name and this.
_WIDE = "_q"
# Of a class, for the reader alone: the engine takes `cycles` between the two.
_BOUNDS = ("least", "most")


class Number(StrictModel):
    """A number with where it comes from."""

    value: Annotated[int, Field(ge=0, le=100_000)]
    source: Text


class Limit(StrictModel):
    """What waits for some ports of an out-of-order core.

    Attributes:
        ports: the ports, with blanks between.
        most: micro-operations for them that are dispatched in a cycle.
        queue: of them, how many wait at each of the ports.
    """

    ports: Text
    most: Annotated[int, Field(ge=0, le=64)]
    queue: Annotated[int, Field(ge=0, le=64)]
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
        sources: documents by the names that the numbers' sources begin with.
        ports: the names of its ports, with blanks between, at most 16; a microcontroller has none.
        writeback: ports that write an address register back.
        limits: dispatch and queues, by ports; the first that has all ports of a class is its own.
        numbers: its numbers by name.
        classes: what instructions of each class cost; each has a `source`. Several that cost the same can stand in one
            line, with blanks between their names.
        fittable: the numbers that `worldwise calibrate` may fit to a run on silicon, and between which values.
    """

    kind: Kind
    sources: dict[str, Text]
    ports: str = ""
    writeback: str = ""
    limits: dict[str, Limit] = Field(default_factory=dict)
    numbers: dict[str, Number]
    classes: dict[str, dict[str, int | str]]
    fittable: dict[str, Fittable] = Field(default_factory=dict)

    @field_validator("classes", mode="before")
    @classmethod
    def _each_class(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        each = [(name, entry) for names, entry in given.items() for name in names.split() or [names]]
        twice = [name for name, times in Counter(name for name, _ in each).items() if times > 1]
        if twice:
            raise ValueError(f"{twice[0]} stands there twice")
        return dict(each)

    @model_validator(mode="after")
    def _known(self) -> "CoreModel":
        names = KINDS[self.kind]
        for name, number in self.numbers.items():
            _require_name(name, names.numbers, f"numbers.{name}")
            self._require_source(number.source, f"numbers.{name}")
        for name, limit in self.limits.items():
            self._require_source(limit.source, f"limits.{name}")
            self.mask(limit.ports, f"limits.{name}.ports")
        self.mask(self.writeback, "writeback")
        for name, entry in self.classes.items():
            _require_name(name.removesuffix(_WIDE), names.classes, f"classes.{name}")
            self._require_source(entry.get("source"), f"classes.{name}")
            for key, value in entry.items():
                if key in names.ports:
                    self.mask(value, f"classes.{name}.{key}")
                elif key != "source" and not (key == "group" and names.ports):
                    _require_key(names, key, value, f"classes.{name}.{key}")
        for name, bounds in self.fittable.items():
            if name not in self.numbers:
                raise ValueError(f"fittable.{name}: the core has no such number")
            if self.numbers[name].value not in bounds.values():
                raise ValueError(
                    f"fittable.{name}: numbers.{name} is {self.numbers[name].value}, not between its bounds"
                )
            self._require_source(bounds.source, f"fittable.{name}")
        return self

    def mask(self, ports: Any, where: str) -> int:
        """Bits of ports, the first port's lowest. Raises ValueError if the core has no such port."""
        known = self.ports.split()
        if len(known) > _MOST_PORTS or not isinstance(ports, str):
            raise ValueError(f"{where}: at most {_MOST_PORTS} ports, named")
        unknown = [port for port in ports.split() if port not in known]
        if unknown:
            raise ValueError(f"{where}: the core has no port '{unknown[0]}'; its ports are {self.ports}")
        return sum(1 << known.index(port) for port in set(ports.split()))

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
    if isinstance(value, int):
        if not 0 <= value <= 100_000:
            raise ValueError(f"{where} must be from 0 to 100,000")
    elif names.keys is not None or not _NAME.fullmatch(value):
        raise ValueError(f"{where} must be a number")


def flat_table(
    name: str,
    model: CoreModel,
    memory: Memory | None = None,
    wait_states: int = 0,
    store_waits: int = 0,
    *,
    misses: bool = True,
) -> str:
    """The table that plugin/model reads: a line each for the core, its kind, its numbers, classes and memory.

    `store_waits` are the cycles that each stored word waits, of a Cortex-M that begins one instruction a cycle.
    Without `misses` a microcontroller's own caches always hit, as code in a memory that never waits needs none.
    """
    lines = [f"core {name}", f"kind {model.kind}"]
    numbers = {key: number.value for key, number in model.numbers.items()}
    if store_waits:
        numbers[STORE_WAITS] = store_waits
    if not misses and model.kind == "mcu-dual":
        numbers.pop("line_bytes", None)
    lines += [f"number {key} {value}" for key, value in numbers.items()]
    if model.writeback:
        lines.append(f"number writeback {model.mask(model.writeback, 'writeback')}")
    lines += [
        f"limit ports {model.mask(limit.ports, key)} most {limit.most} queue {limit.queue}"
        for key, limit in model.limits.items()
    ]
    # The form on 128 bits overwrites what the class says of both forms.
    lines += [_class_line(model, key) for key in sorted(model.classes, key=lambda key: key.endswith(_WIDE))]
    if memory is not None and wait_states:
        lines.append(f"memory wait {wait_states}")
        lines += [f"memory {key} {number.value}" for key, number in memory if number is not None]
    return "\n".join(lines) + "\n"


def _class_line(model: CoreModel, name: str) -> str:
    groups = sorted({str(entry["group"]) for entry in model.classes.values() if "group" in entry})
    ports = KINDS[model.kind].ports
    pairs = []
    for key, value in model.classes[name].items():
        if key in ports:
            pairs.append(f"{key} {model.mask(value, name)}")
        elif key == "group" and ports:
            pairs.append(f"group {groups.index(str(value)) + 1}")
        elif key != "source" and key not in _BOUNDS:
            pairs.append(f"{key} {value}")
    return " ".join([f"class {name}", *pairs])
