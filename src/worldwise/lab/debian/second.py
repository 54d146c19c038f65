# SPDX-License-Identifier: BSD-2-Clause
"""Second sources: folders and HTTP stores that have the lab's files by their SHA-256, for when no mirror has them."""

import os
from pathlib import Path

SOURCES_VARIABLE = "WORLDWISE_SOURCES"

# Where files are in a second source, in an archive of `lab export`, and in the folder that machines share.
PACKAGES = "downloads/sha256"
CRATES = "downloads/crates"

# The ways out of an error about a file that no mirror has.
BUNDLE = (
    "`worldwise lab import FILE` takes it from an archive that `lab export` made while it was there, and "
    f"{SOURCES_VARIABLE} names folders and addresses that have such an archive unpacked"
)


def second_sources() -> list[str]:
    """The addresses of WORLDWISE_SOURCES, in order; of a folder it is `file:` and the path."""
    found = []
    for word in os.environ.get(SOURCES_VARIABLE, "").split():
        address = word if ":" in word.partition("/")[0] else f"file://{Path(word).expanduser().absolute()}"
        found.append(address.rstrip("/"))
    return list(dict.fromkeys(found))
