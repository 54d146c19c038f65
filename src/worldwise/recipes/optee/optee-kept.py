# SPDX-License-Identifier: BSD-2-Clause
"""Of the objects of another OP-TEE, keep those that this one's configuration leaves the same.

OP-TEE includes the whole configuration, conf.h, into every file, so that make recompiles everything if one setting
differs. An object stays the same if none of the settings that differ is named in its source, or in a header that the
source includes, but for their comments: one in a header of nearly all files names CFG_RPMB_FS. Objects that do name one
are deleted; the others become younger than conf.h, and make recompiles them only if their command line differs.

    python3 optee-kept.py OUT OLD-CONF.H
"""

import functools
import os
import re
import sys
from pathlib import Path

CONF = "include/generated/conf.h"
_WORD = re.compile(rb"\w+")
# What is no such comment is found too, so that none begins in it.
_COMMENT = re.compile(
    rb""" "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | //[^\n]* | (/\*.*?\*/) """, re.DOTALL | re.VERBOSE
)
# A setting is defined, or a comment says that it is not set.
_SETTING = re.compile(r"^(?:#define|/\*) (_?CFG_\w+).*$", re.MULTILINE)


def settings(path: Path) -> dict[str, str]:
    """Each setting of a conf.h with its line."""
    return {match[1]: match[0] for match in _SETTING.finditer(path.read_text(encoding="utf-8"))}


@functools.cache
def words(path: str) -> frozenset[bytes]:
    """The identifiers of a file, without those that only its comments have."""
    text = _COMMENT.sub(lambda found: b" " if found[1] else found[0], Path(path).read_bytes())
    return frozenset(_WORD.findall(text))


def included(depends: Path) -> list[str]:
    """The files that an object was made of, as the compiler listed them, without conf.h."""
    text = depends.read_text(encoding="utf-8").partition("\n\n")[0].replace("\\\n", " ")
    rule = text.splitlines()[0].partition(": ")[2]
    return [name for name in rule.split() if not name.endswith(CONF)]


def main() -> None:
    out, old = Path(sys.argv[1]), settings(Path(sys.argv[2]))
    new = settings(out / CONF)
    differ = {name.encode() for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    kept = left = 0
    for depends in out.rglob(".*.o.d"):
        made = depends.with_name(depends.name[1:-2])
        if not made.exists():
            continue
        # A header that the other build generated is not there, or not the same, before this one has made its own.
        if any(not Path(name).exists() or not differ.isdisjoint(words(name)) for name in included(depends)):
            made.unlink()
            left += 1
        else:
            os.utime(made)
            kept += 1
    sys.stdout.write(f"== {len(differ)} settings differ: {kept} objects are kept, {left} are compiled anew\n")


main()
