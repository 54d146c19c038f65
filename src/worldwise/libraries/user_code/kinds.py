# SPDX-License-Identifier: BSD-2-Clause
"""What kinds of own code there are, how its files are called, and how it is called in cases."""

import re
from collections.abc import Iterable

ARCHIVE = "files.cpio"
FIND, COUNT = "find", "count"
# What it is given besides its libraries: a line for each file, with its SHA-256.
INPUTS = "inputs"
# The kinds of own code.
PROGRAM, TA, FIRMWARE = "program", "ta", "firmware"
# What a TA is built for, as OP-TEE calls it.
TA_TARGETS = TA_ARM64, TA_ARM32 = "ta_arm64", "ta_arm32"
# The architectures of programs.
ARMV8, ARMV7 = "armv8", "armv7"
# The file of firmware in its folder.
FIRMWARE_ELF = "firmware.elf"
# Behind it the UUID of a TA that is there besides: how its ELF file and its code are called.
OTHER_TA = "ta-"
# Characters of a case's name.
_MOST_NAME = 63


def case_name(name: str) -> str:
    """The name of a case for a file's name: small letters, digits and dashes."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:_MOST_NAME] or "program"


def case_names(names: Iterable[str]) -> list[str]:
    """The names of cases for these names, each another one: two names can differ by signs alone, or far behind."""
    found: list[str] = []
    for called in map(case_name, names):
        number, name = 1, called
        while name in found:
            number += 1
            end = f"-{number}"
            name = called[: _MOST_NAME - len(end)] + end
        found.append(name)
    return found
