# SPDX-License-Identifier: BSD-2-Clause
"""Reading records: one line of JSON each, as the measured program sends them back. See check.py for their meaning."""

import functools
import io
import operator
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationError

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.records.evidence import CallRecord, EvidenceRecord, call_models, evidence_models
from worldwise.records.models import Check, Conditions, End, Failure, Fault, Memory, Outcome, Overhead, Sample, Start

# No case has more: one of MAX_SAMPLES samples has some 200 MB in 1,500,000 records.
MOST_BYTES = 256 * 2**20
MOST_RECORDS = 2_000_000
# A guest's line has some hundred bytes.
MOST_LINE = 2**16

Record = (
    Start
    | Overhead
    | Sample
    | EvidenceRecord
    | Memory
    | Conditions
    | CallRecord
    | Fault
    | Check
    | Outcome
    | Failure
    | End
)


def json_schema() -> dict[str, Any]:
    """The JSON schema of one record."""
    return record_adapter().json_schema()


def parse_line(line: str | bytes, file: str, number: int) -> Record:
    """The record on one line. Raises WorldwiseError naming `file`, the line `number` and the field."""
    try:
        return record_adapter().validate_json(line)
    except ValidationError as error:
        raise _refusal(error, line, file, number) from error


def read_records(path: Path) -> list[Record]:
    """Every record of a file, in order: record i is on line i + 1. Raises WorldwiseError."""
    return parse_records(read_content(path), str(path))


def read_content(path: Path) -> bytes:
    """The content of a file of records. Raises WorldwiseError."""
    try:
        return files.read_bytes(path, MOST_BYTES, path.parent)
    except OSError as error:
        raise WorldwiseError(f"{path}: cannot be read: {error.strerror}.") from error


def parse_records(data: bytes, file: str) -> list[Record]:
    """Every record in a file's content, in order. Raises WorldwiseError naming `file` and the line."""
    if not data:
        raise WorldwiseError(f"{file}: empty: the measured program sent nothing.")
    records: list[Record] = []
    validate = record_adapter().validate_json
    stream = io.BytesIO(data)
    while line := stream.readline(MOST_LINE):
        number = len(records) + 1
        if number > MOST_RECORDS:
            raise WorldwiseError(f"{file}: has more than {MOST_RECORDS:,} records.")
        if not line.endswith(b"\n"):
            long = len(line) == MOST_LINE
            problem = f"the line has more than {MOST_LINE:,} bytes" if long else "the last line is cut off"
            raise WorldwiseError(f"{file}:{number}: {problem}.")
        try:
            records.append(validate(line[:-1]))
        except ValidationError as error:
            raise _refusal(error, line[:-1], file, number) from error
    return records


def _refusal(error: ValidationError, line: str | bytes, file: str, number: int) -> WorldwiseError:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    # The location begins with the discriminators' values; only the last part names the field. A problem of several
    # fields at once has no field.
    name = str(first["loc"][-1]) if len(first["loc"]) > 1 and first["type"] != "value_error" else ""
    problem = first["msg"].removeprefix("Value error, ")
    where = f"{files.quoted(name, 40)}: " if name else ""
    return WorldwiseError(
        f"{file}:{number}: not a record: {where}{files.quoted(problem, 400)}.",
        details=files.quoted(line.rstrip(b"\n") if isinstance(line, bytes) else line.rstrip("\n")),
    )


@functools.cache
def record_adapter() -> TypeAdapter[Record]:
    """Reads any record: those that every case can have, and those that the families declare."""
    kinds = (Annotated[model, Tag(model.tag)] for model in evidence_models())
    evidence: Any = Annotated[_any_of(kinds), Discriminator(_evidence_kind)]
    # In the order in which messages and the JSON schema list them.
    models = (
        Start,
        Overhead,
        Sample,
        evidence,
        Memory,
        Conditions,
        *call_models(),
        Fault,
        Check,
        Outcome,
        Failure,
        End,
    )
    record: Any = Annotated[_any_of(models), Field(discriminator="type")]
    return TypeAdapter(record)


def _any_of(kinds: Iterable[Any]) -> Any:
    return functools.reduce(operator.or_, kinds)


def _evidence_kind(value: Any) -> str | None:
    """The tag of an evidence record's model: by its measure, and by its mark if several models share the measure."""
    fields = value if isinstance(value, dict) else vars(value)
    measure = fields.get("measure")
    tags, marks = evidence_tags()
    return tags.get((str(measure), not marks.isdisjoint(fields)), measure)


@functools.cache
def evidence_tags() -> tuple[Mapping[tuple[str, bool], str], frozenset[str]]:
    """The tags of evidence by (measure, has a mark), and all marks. Raises TypeError if two models look the same."""
    own: dict[tuple[str, bool], str] = {}
    for model in evidence_models():
        for measure in get_args(model.model_fields["measure"].annotation):
            if own.setdefault((measure, bool(model.mark)), model.tag) != model.tag:
                raise TypeError(f"{model.__name__}: evidence of '{measure}' without anything to tell it apart")
    # A measure's only model gets records with and without its mark, so that it can report wrong fields itself.
    alone = {(measure, not marked): tag for (measure, marked), tag in own.items()}
    return alone | own, frozenset(model.mark for model in evidence_models() if model.mark)
