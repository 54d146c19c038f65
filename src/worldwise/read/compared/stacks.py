# SPDX-License-Identifier: BSD-2-Clause
"""Which settings of OP-TEE differ between two runs, by what their builds ended with."""

from collections.abc import Iterable
from pathlib import Path

from worldwise.libraries.stacks.config import config_of, differing
from worldwise.read.compared.comparison import Setting
from worldwise.run.folder.manifests import CaseManifest

# Every core's image is named so; its settings are in it.
_OPTEE = "optee-"
_NO_CORE = ("optee-source", "optee-objects", "optee-names")


def changed_settings(
    pairs: Iterable[tuple[CaseManifest, CaseManifest]], images: Path
) -> tuple[list[Setting], list[str]]:
    """The settings in which the two sides differ, of each OP-TEE that both have, and a sentence for each of these.

    `images` is the cache's folder of images: one that is no longer there is named.
    """
    settings: list[Setting] = []
    notes: dict[str, str] = {}
    for a, b in pairs:
        for name in a.images.keys() & b.images.keys():
            if not name.startswith(_OPTEE) or name.startswith(_NO_CORE) or name in notes:
                continue
            configs = [config_of(images / f"{name}-{each.images[name][:12]}") for each in (a, b)]
            if not all(configs):
                notes[name] = f"{name}: the cache no longer has both images, so their settings are unknown."
                continue
            found = [Setting(image=name, setting=setting, a=old, b=new) for setting, old, new in differing(*configs)]
            settings += found
            notes[name] = (
                f"{name}: {len(found)} settings of OP-TEE differ."
                if found
                else f"{name}: all {len(configs[0])} settings of OP-TEE are the same."
            )
    return settings, list(notes.values())
