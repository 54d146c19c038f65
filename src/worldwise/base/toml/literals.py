# SPDX-License-Identifier: BSD-2-Clause
"""Values as TOML writes them, for files that worldwise writes and a person reads."""

import json
from collections.abc import Mapping, Sequence

_Scalar = str | int | float | bool
Value = _Scalar | Sequence[_Scalar] | Mapping[str, _Scalar]

# A list of more is written with a line for each of its parts.
_SHORT = 100


def toml_line(key: str, value: Value) -> str:
    """`key = value`; a long list has a line for each part."""
    return f"{key} = {_text(value)}"


def _text(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # A basic string of TOML is one of JSON, but for DEL.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case Mapping():
            return "{ " + ", ".join(toml_line(key, one) for key, one in value.items()) + " }"
    parts = [_text(one) for one in value]
    line = f"[{', '.join(parts)}]"
    return line if len(line) <= _SHORT else "\n".join(["[", *(f"  {part}," for part in parts), "]"])
