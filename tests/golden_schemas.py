# SPDX-License-Identifier: BSD-2-Clause
"""The golden file of the JSON schemas of all that is written or read: a line for each key of each kind of object."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from worldwise.families.echo import host_times as echo_host
from worldwise.libraries import portable
from worldwise.libraries.boards import Board, Core
from worldwise.plan.user_code import project
from worldwise.read import models, published
from worldwise.read.compared.baseline import Baseline
from worldwise.read.compared.comparison import Comparison
from worldwise.records import parse as record
from worldwise.records import trace
from worldwise.run.folder import manifests
from worldwise.validation import figures

_SCHEMAS: Mapping[str, Any] = {
    "a line of the host's times": echo_host.HostStart | echo_host.HostSample | echo_host.HostEnd,
    "run.json": manifests.RunManifest,
    "case.json": manifests.CaseManifest,
    "finished.json": manifests.Finished,
    "a report": models.Reading,
    "a comparison": Comparison,
    "a baseline": Baseline,
    "a published figure": published.Figure,
    "implementation.toml": portable.Manifest,
    "a board": Board,
    "a core": Core,
}
# How pydantic tells classes of one name apart.
_QUALIFIED = re.compile(r"\b[a-z_]+(?:__[a-z_]+)*__(?=_*[A-Z])")


def schemas() -> str:
    """The JSON schemas of all that is written or read, with what `worldwise schema` prints."""
    found = {name: TypeAdapter(model).json_schema() for name, model in _SCHEMAS.items()}
    found |= {"worldwise schema records": record.json_schema(), "worldwise schema trace": trace.json_schema()}
    found |= {"worldwise schema hardware": figures.json_schema(), "worldwise schema project": project.json_schema()}
    lines = ["A key with a * is required."]
    for name, schema in sorted(found.items()):
        lines += ["", *_told(name, _untitled(schema))]
    return _QUALIFIED.sub("", "\n".join(lines)) + "\n"


def _untitled(schema: Any, name: str = "") -> Any:
    """A schema without the titles that pydantic makes of the names themselves."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name, name.replace("_", " ").title()}
    return {
        key: _untitled(value, key)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str) and _QUALIFIED.sub("", value) in made)
    }


def _told(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """What a schema says of its object, then its keys; the same of each kind of object in it."""
    rest = dict(schema)
    definitions, properties = rest.pop("$defs", {}), rest.pop("properties", None)
    required = rest.pop("required", []) if properties is not None else []
    # Both are in the order of the class.
    assert required == [key for key in properties or () if key in required], name
    yield f"{name}: {_line(rest)}"
    for key, value in (properties or {}).items():
        yield f"  {key}{'*' if key in required else ''}: {_line(value)}"
    for key, value in sorted(definitions.items()):
        yield from _told(f"{name}, {key}", value)


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
