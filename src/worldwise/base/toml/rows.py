# SPDX-License-Identifier: BSD-2-Clause
"""Lists of tables whose entries say once what they share: one with `columns` and `rows` stands for an entry a row.

[[figure]]
core = "cortex-a53"
columns = ["what", "value"]
rows = [
  ["aes", 12],
  ["sha256", 34],
]
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml import key_lines, toml_model

COLUMNS, ROWS = "columns", "rows"
# Far more than any file of ours has. A row takes three characters of a stranger's file, and kilobytes of memory.
MOST_ENTRIES = 20_000
_M = TypeVar("_M", bound=BaseModel)


@dataclass(frozen=True)
class Entries:
    """A document whose list `name` is written out, an entry a row.

    `origins`: of each entry the number of its table; of a row's entry also the row's number, and the columns.
    """

    document: dict[str, Any]
    name: str
    origins: list[tuple[int, int, list[str]]]

    def place(self, path: key_lines.Path) -> key_lines.Path:
        """Where in the text stands what is at a path of the document."""
        if path[:1] != (self.name,) or len(path) < 2 or not isinstance(path[1], int):
            return path
        number, row, columns = self.origins[path[1]]
        if row < 0 or (len(path) > 2 and path[2] not in columns):
            return (self.name, number, *path[2:])
        return (self.name, number, ROWS, row)


def parse_rows(model: type[_M], name: str, text: str, file: Path) -> _M:
    """The object that a TOML text describes, whose list `name` may have rows. Raises WorldwiseError as `parse` does."""
    entries = load_rows(name, text, file)
    return toml_model.check(model, entries.document, text, file, place=entries.place)


def load_rows(name: str, text: str, file: Path) -> Entries:
    """The document of a TOML text, with its list `name` written out. Raises WorldwiseError naming file and line."""
    document = toml_model.load(text, str(file))
    listed = document.get(name)
    if not isinstance(listed, list):
        return Entries(document, name, [])
    if sum(_size(table) for table in listed) > MOST_ENTRIES:
        raise WorldwiseError(f"{file}: {name}: has more than {MOST_ENTRIES:,} entries.", "split the file")
    entries: list[Any] = []
    origins: list[tuple[int, int, list[str]]] = []
    for number, table in enumerate(listed):
        if not isinstance(table, dict) or not {COLUMNS, ROWS} & set(table):
            entries.append(table)
            origins.append((number, -1, []))
            continue
        shared = {key: value for key, value in table.items() if key not in (COLUMNS, ROWS)}
        columns, rows = table.get(COLUMNS), table.get(ROWS)
        if wrong := _problem(shared, columns, rows):
            path, problem = wrong
            line = key_lines.TomlLines(text).line((name, number, *path))
            raise WorldwiseError(f"{file}:{line}: {name}: {problem}")
        for at, row in enumerate(rows or []):
            entries.append(shared | dict(zip(columns or [], row, strict=True)))
            origins.append((number, at, columns or []))
    return Entries(document | {name: entries}, name, origins)


def with_rows(schema: dict[str, Any], name: str, entry: str) -> dict[str, Any]:
    """A JSON schema that allows entries with rows in a list `name` of the definition `entry`."""
    one = schema["$defs"][entry]
    cell = {"type": ["string", "number", "array"]}
    properties = one["properties"] | {
        COLUMNS: {"items": {"enum": sorted(one["properties"])}, "type": "array"},
        ROWS: {"items": {"items": cell, "type": "array"}, "type": "array"},
    }
    rows = {
        "additionalProperties": False,
        "description": f"Many of {entry}: each of `rows` is one, with the keys of `columns`; other keys are of all.",
        "properties": properties,
        "required": [COLUMNS, ROWS],
        "type": "object",
    }
    several = f"{entry}Rows"
    items = {"anyOf": [{"$ref": f"#/$defs/{entry}"}, {"$ref": f"#/$defs/{several}"}]}
    listed = schema["properties"][name] | {"items": items}
    return schema | {
        "$defs": schema["$defs"] | {several: rows},
        "properties": schema["properties"] | {name: listed},
    }


def _size(table: Any) -> int:
    """How many entries a table of the list stands for."""
    rows = table.get(ROWS) if isinstance(table, dict) else None
    return len(rows) if isinstance(rows, list) else 1


def _problem(shared: dict[str, Any], columns: Any, rows: Any) -> tuple[key_lines.Path, str] | None:
    """What is wrong with a table of rows, and where in it."""
    if not isinstance(columns, list) or not all(isinstance(one, str) for one in columns):
        return (COLUMNS,), f"'{COLUMNS}' must be a list of keys, beside '{ROWS}'."
    if twice := [key for key in columns if key in shared or columns.count(key) > 1]:
        return (COLUMNS,), f"the key '{twice[0]}' is given twice."
    if not isinstance(rows, list) or not rows or not all(isinstance(one, list) for one in rows):
        return (ROWS,), f"'{ROWS}' must be a list of rows, each a list of values."
    for at, row in enumerate(rows):
        if len(row) != len(columns):
            return (ROWS, at), f"the row has {len(row)} values for {len(columns)} columns: {', '.join(columns)}."
    return None
