# SPDX-License-Identifier: BSD-2-Clause
"""Second sources: whatever has the lab's files by their SHA-256, for when no mirror has them.

A folder or an HTTP store has an archive of `lab export` unpacked, a `.tar` file is one, and an artefact of a registry
(lab.debian.artefact) has each file as a blob.
"""

import os
import re
from pathlib import Path

SOURCES_VARIABLE = "WORLDWISE_SOURCES"

# Where files are in a second source, in an archive of `lab export`, and in the folder that machines share.
PACKAGES = "downloads/sha256"
CRATES = "downloads/crates"

# The ways out of an error about a file that no mirror has.
BUNDLE = (
    "`worldwise lab import FILE` takes the file from an archive that `lab export` made while a mirror had it, and "
    f"{SOURCES_VARIABLE} names such archives, folders and addresses that have one unpacked, and artefacts of registries"
)


def second_sources() -> list[str]:
    """The addresses of WORLDWISE_SOURCES, in order; of a folder it is `file:` and the path."""
    found = []
    for word in os.environ.get(SOURCES_VARIABLE, "").split():
        address = word if ":" in word.partition("/")[0] else f"file://{Path(word).expanduser().absolute()}"
        found.append(address.rstrip("/"))
    return list(dict.fromkeys(found))


def is_artefact(source: str) -> bool:
    """Whether a second source is an artefact of a registry."""
    return source.startswith(("oci://", "oci+http://"))


def archive_of(source: str) -> Path | None:
    """The archive of `lab export` that a second source is; None for another source."""
    return Path(source.removeprefix("file://")) if re.fullmatch(r"file://.*\.tar", source) else None
