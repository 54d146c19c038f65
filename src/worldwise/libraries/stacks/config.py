# SPDX-License-Identifier: BSD-2-Clause
"""How an OP-TEE was configured: the settings that its build ended with, as its conf.h has them."""

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from worldwise.base import archives, files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.stacks.stack import BroughtStack

_ARCHIVE, _CONF = "flags.tar", "include/generated/conf.h"
_MOST_CONF = 2**20
_MOST_ARCHIVE, _MOST_MEMBERS = 256 * 2**20, 100_000
_SET = re.compile(r"#define (CFG_\w+) (.*)")
_UNSET = re.compile(r"/\* (CFG_\w+) is not set \*/")
# A parameter of Linux's command line among the texts of its image.
_WORD = re.compile(rb"(?<=\0)([A-Za-z][A-Za-z0-9_.-]{1,60})(?==?\0)")
# What conf.h has for y and n.
_YES, _NO = "1", "n"


@functools.cache
def config_of(image: Path) -> Mapping[str, str]:
    """Setting -> value (`n` for one that is not set) of the OP-TEE in an image's folder; empty if it is unknown.

    An image's folder has its digest in its name, so each is read once.
    """
    text = _conf(image / _ARCHIVE)
    found = dict.fromkeys(_UNSET.findall(text), _NO)
    return found | {name: value.strip() for name, value in _SET.findall(text)}


def _conf(path: Path) -> str:
    """The conf.h in an archive that a build has left, perhaps of a stranger's code; empty if it cannot be read."""
    try:
        with files.open_regular(path, _MOST_ARCHIVE, path.parent) as archive:
            for member in archives.members(archive, _MOST_ARCHIVE, _MOST_MEMBERS):
                if member.name.removeprefix("./") == _CONF and member.size <= _MOST_CONF:
                    return b"".join(member.pieces()).decode(errors="replace")
    except (OSError, archives.ArchiveError):
        pass
    return ""


def require_known(stack: BroughtStack, key: str, settings: Iterable[str], names: Path) -> None:
    """Refuse a setting that the source does not know: make would ignore it. `names` has those that it knows.

    `key` is the table of the stack that has the settings. Raises WorldwiseError with the names that are close.
    """
    known = names.read_text(encoding="utf-8").split()
    where = {"optee.settings": "file of this OP-TEE", "tf-a.settings": "makefile of TF-A"}[key]
    for name in settings:
        if name not in known:
            raise WorldwiseError(
                f"{stack.origin}: {key}: {name} is in no {where}, so it would change nothing",
                did_you_mean(name, known) or "docs/use/stack.md says where settings are listed",
            )


def require_words(stack: BroughtStack, kernel: Path) -> None:
    """Refuse a word that Linux would ignore; `kernel` is its uncompressed image.

    A word for a module, `module.parameter`, is the module's to know. Raises WorldwiseError with words that are close.
    """
    # Linux takes a hyphen for an underscore. A parameter stands in its image as text, with or without the sign.
    known = {text.replace(b"-", b"_") for text in _WORD.findall(kernel.read_bytes())}
    for word in stack.stack.linux.words:
        name = word.partition("=")[0]
        if "." not in name and name.replace("-", "_").encode() not in known:
            near = sorted(text.decode() for text in known if text[:1] == name[:1].encode())
            raise WorldwiseError(
                f"{stack.origin}: linux.words: Linux has no parameter '{name}', so it would change nothing",
                did_you_mean(name, near) or "Documentation/admin-guide/kernel-parameters.txt of Linux lists them",
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


def differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The settings in which two OP-TEEs differ, sorted: name, value in each. What is not set is as n."""
    return [
        (name, _shown(a.get(name)), _shown(b.get(name)))
        for name in sorted(a.keys() | b.keys())
        if a.get(name, _NO) != b.get(name, _NO)
    ]


def _shown(value: str | None) -> str:
    # What a stranger's makefiles wrote.
    return {None: "absent", _YES: "y"}.get(value, files.quoted(value or "", 60))
