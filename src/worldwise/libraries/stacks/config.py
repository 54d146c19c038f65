# SPDX-License-Identifier: BSD-2-Clause
"""How an OP-TEE was configured: the settings that its build ended with, as its conf.h has them."""

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.stacks.stack import BroughtStack

_ARCHIVE, _CONF = "flags.tar", "include/generated/conf.h"
_MOST_CONF = 2**20
_SET = re.compile(r"#define (CFG_\w+) (.*)")
_UNSET = re.compile(r"/\* (CFG_\w+) is not set \*/")
# What conf.h has for y and n.
_YES, _NO = "1", "n"


def config_of(image: Path) -> dict[str, str]:
    """Setting -> value (`n` for one that is not set) of the OP-TEE in an image's folder; empty if it is unknown."""
    try:
        with tarfile.open(image / _ARCHIVE, "r:") as archive:
            member = next(one for one in archive if one.name.removeprefix("./") == _CONF)
            content = archive.extractfile(member)
            text = content.read(_MOST_CONF).decode(errors="replace") if content else ""
    except (OSError, tarfile.TarError, StopIteration, ValueError):
        return {}
    found = dict.fromkeys(_UNSET.findall(text), _NO)
    return found | {name: value.strip() for name, value in _SET.findall(text)}


def require_known(stack: BroughtStack, names: Path) -> None:
    """Refuse a setting that OP-TEE's source does not know: make would ignore it. `names` has those that it knows.

    Raises WorldwiseError with the names that are close.
    """
    known = names.read_text(encoding="utf-8").split()
    for name in stack.stack.optee.settings:
        if name not in known:
            raise WorldwiseError(
                f"{stack.origin}: optee.settings: {name} is in no file of this OP-TEE, so it would change nothing",
                did_you_mean(name, known) or "docs/use/stack.md says where OP-TEE lists its settings",
            )


def require_settings(stack: BroughtStack, image: Path) -> None:
    """Refuse an OP-TEE that was not built as its stack says. Raises WorldwiseError naming the setting and its value."""
    found = config_of(image)
    for name, value in stack.stack.optee.settings.items():
        wanted = {"y": _YES, "": _NO}.get(value, value)
        # Some settings steer the build alone, and conf.h has none of them.
        if name in found and found[name] not in (wanted, f'"{wanted}"', f"({wanted})"):
            raise WorldwiseError(
                f"{stack.origin}: optee.settings: {name}={value} has no effect: OP-TEE's own makefiles made it "
                f"{'y' if found[name] == _YES else found[name]}",
                "another setting forces it: `grep -rn NAME` in OP-TEE's mk/ and core/ says which",
            )


def differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """The settings in which two OP-TEEs differ, `CFG_TEE_CORE_DEBUG y / n` each."""
    return [
        f"{name} {_shown(a.get(name))} / {_shown(b.get(name))}"
        for name in sorted(a.keys() | b.keys())
        if a.get(name, _NO) != b.get(name, _NO)
    ]


def _shown(value: str | None) -> str:
    return {None: "absent", _YES: "y"}.get(value, value or "")
