# SPDX-License-Identifier: BSD-2-Clause
"""Which settings of OP-TEE differ between two runs, by what their builds ended with."""

from collections.abc import Iterable
from pathlib import Path

from worldwise.libraries.stacks.config import config_of, differing
from worldwise.read.selection import named_list
from worldwise.run.manifests import CaseManifest

# Every core's image is named so; its settings are in it.
_OPTEE = "optee-"
_NO_CORE = ("optee-source", "optee-objects", "optee-names")


def settings_notes(pairs: Iterable[tuple[CaseManifest, CaseManifest]], images: Path) -> list[str]:
    """A sentence for each OP-TEE that both sides have: the settings in which the two differ.

    `images` is the cache's folder of images: one that is no longer there is named.
    """
    notes: dict[str, str] = {}
    for a, b in pairs:
        for name in a.images.keys() & b.images.keys():
            if not name.startswith(_OPTEE) or name.startswith(_NO_CORE) or name in notes:
                continue
            configs = [config_of(images / f"{name}-{each.images[name][:12]}") for each in (a, b)]
            if not all(configs):
                notes[name] = f"{name}: the cache no longer has both images, so their settings are unknown."
            elif differ := differing(*configs):
                notes[name] = f"{name}: of OP-TEE's settings differ {named_list(differ)}."
            else:
                notes[name] = f"{name}: all {len(configs[0])} settings of OP-TEE are the same."
    return list(notes.values())
